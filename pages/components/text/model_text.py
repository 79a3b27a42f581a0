"""Texts about model calls: kinds of error, attempts, tokens, dollars."""

from __future__ import annotations

from collections.abc import Mapping

from core.policies.tools import ended_by_a_limit
from core.types import Attempt, LeftOut, ModelCall, ToolCall
from pages.components.text.escape import one_line
from pages.components.text.format import ms, number

_MAX_KIND_LENGTH = 60
_MIN_USD = 0.00001
_MAX_REASON_LENGTH = 300
INSTEAD = "The answer was invalid, so the policy did nothing for one step, as configured."
_KINDS = {
    "bad_arguments": "invalid arguments",
    "truncated": "incomplete call",
    "no_tool_call": "no tool call",
    "tool_use_failed": "the server could not parse the call",
    "refusal": "the model refused",
    "content_filter": "stopped by the content filter",
    "provider_error": "server error",
    "rate_limited": "too many requests",
    "unknown_tool": "unknown tool",
    "empty_choices": "empty response",
    "auth": "API key not accepted",
    "timeout": "timed out",
    "connection": "server not reached",
    "invalid_body": "not a chat completion",
    "context_overflow": "longer than the model's context",
    "unknown_action": "no valid action in the call",
    "not_found": "URL not found",
    "model_not_found": "model not found",
    "quota_exhausted": "quota used up",
    "out_of_time": "the episode's time limit was reached",
    "stopped": "stopped",
    "special_tokens": "special tokens or call markup left in the answer",
}


def error_kind_text(kind: str) -> str:
    """Why an answer is invalid; an unknown kind unchanged. Plain text, not Markdown."""
    return _KINDS.get(kind) or one_line(kind.replace("_", " "), _MAX_KIND_LENGTH) or "unknown"


def invalid_answer_text(call: ModelCall) -> str:
    """Why this answer is invalid; empty if it is valid. Says whether a token limit cut an incomplete call."""
    if call.error_kind is None:
        return ""
    if call.error_kind == "truncated" and ended_by_a_limit(call.finish_reason):
        return "cut off by the token limit"
    return error_kind_text(call.error_kind)


def left_out_text(field: LeftOut) -> str:
    """Which field a server refused, how it is sent instead, and the server's message. Plain text, not Markdown."""
    name, reason = one_line(field.name, _MAX_KIND_LENGTH), one_line(field.reason, _MAX_REASON_LENGTH)
    instead = f"sent as {one_line(field.sent_as, _MAX_KIND_LENGTH)}" if field.sent_as else "left out"
    return f"{name} is {instead}: the server refuses it ({reason})"


def warning_text(warning: str) -> str:
    """A warning of a decision: either a kind of error or already a sentence."""
    return _KINDS.get(warning, warning)


def is_replacement(call: ToolCall) -> bool:
    """Whether the policy added this in place of an invalid call: calls of a model have arguments."""
    return bool(call.actions) and not call.arguments.strip()


def reasoning_of(call: ToolCall) -> str:
    return INSTEAD if is_replacement(call) else call.reasoning


def error_counts_text(errors: Mapping[str, int]) -> str:
    """`2 no tool call, 1 timed out`."""
    return ", ".join(f"{number(count)} {error_kind_text(kind)}" for kind, count in errors.items())


def usd(cost: float | None) -> str:
    """US dollars with as many digits as they need; `n/a` for an unknown price."""
    return "n/a" if cost is None else f"{usd_figure(cost)} USD"


def usd_figure(cost: float | None) -> str:
    """As `usd`, without the unit: for narrow places that show it elsewhere."""
    if cost is None:
        return "n/a"
    if cost == 0:
        return "0"
    if cost < _MIN_USD:
        return f"< {_MIN_USD:.5f}"
    digits = 2 if cost >= 10 else 3 if cost >= 0.1 else 4 if cost >= 0.01 else 5
    return f"{cost:,.{digits}f}"


def tokens(count: int | None) -> str:
    """A count of tokens; `n/a` if the server did not report it."""
    return "n/a" if count is None else number(count)


def attempts_text(attempts: tuple[Attempt, ...]) -> tuple[str, ...]:
    """A line for each HTTP request: its result, its duration, and the wait before the next one."""
    lines: list[str] = []
    for at, attempt in enumerate(attempts):
        result = f"HTTP {attempt.status}" if attempt.status is not None else "no answer"
        if attempt.error:
            result += f" ({one_line(attempt.error, _MAX_KIND_LENGTH)})"
        line = f"{at + 1}. {result} after {ms(attempt.duration_ms)}"
        if at + 1 < len(attempts):
            waited = attempts[at + 1].start_ms - attempt.start_ms - attempt.duration_ms
            line += f", then waited {ms(max(0.0, waited))}"
        lines.append(line)
    return tuple(lines)


def cost_note(call: ModelCall) -> str:
    """Which price table the cost is from, or why it is unknown."""
    if call.cost_usd is None:
        return "No price is known for this model at this server, or the server reported no tokens."
    return f"Price table: {one_line(call.price_version or 'unknown', _MAX_KIND_LENGTH)}"
