"""What belongs to a model call, in words: kinds of error, attempts, tokens, dollars."""

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
    "bad_arguments": "arguments that cannot be read",
    "truncated": "a call that is not whole",
    "no_tool_call": "no tool call",
    "tool_use_failed": "the server could not read the call",
    "refusal": "the model refused",
    "content_filter": "stopped by the content filter",
    "provider_error": "the server failed",
    "rate_limited": "too many requests",
    "unknown_tool": "a tool that was not offered",
    "empty_choices": "no answer in the response",
    "auth": "key not accepted",
    "timeout": "no answer in time",
    "connection": "server not reached",
    "invalid_body": "no chat completion",
    "context_overflow": "longer than the model's context",
    "unknown_action": "no valid action in the call",
    "not_found": "no such address",
    "model_not_found": "no such model",
    "quota_exhausted": "quota used up",
    "out_of_time": "the episode's time was over",
    "stopped": "stopped",
    "special_tokens": "special tokens or marks of a call are left in the answer",
}


def error_kind_text(kind: str) -> str:
    """Why an answer could not be used. A kind that is not known is shown as it is: text, not to be read as Markdown."""
    return _KINDS.get(kind) or one_line(kind.replace("_", " "), _MAX_KIND_LENGTH) or "unknown"


def invalid_answer_text(call: ModelCall) -> str:
    """Why this answer could not be used: of one that is not whole, whether a limit cut it. Empty where it could."""
    if call.error_kind is None:
        return ""
    if call.error_kind != "truncated":
        return error_kind_text(call.error_kind)
    return "cut by the token limit" if ended_by_a_limit(call.finish_reason) else "its call is not whole"


def left_out_text(field: LeftOut) -> str:
    """Which field a server refused, what became of it, and the server's words: text, not to be read as Markdown."""
    name, reason = one_line(field.name, _MAX_KIND_LENGTH), one_line(field.reason, _MAX_REASON_LENGTH)
    became = f"sent as {one_line(field.sent_as, _MAX_KIND_LENGTH)}" if field.sent_as else "left out"
    return f"{name} is {became}, as the server refused it: {reason}"


def warning_text(warning: str) -> str:
    """A warning of a decision: a kind of error, or a sentence already."""
    return _KINDS.get(warning, warning)


def is_replacement(call: ToolCall) -> bool:
    """Whether the policy put this in the place of a call that could not be used: no model asks without arguments."""
    return bool(call.actions) and not call.arguments.strip()


def reasoning_of(call: ToolCall) -> str:
    """What a call gives as its reason; for what the policy did instead of one, a sentence of ours."""
    return INSTEAD if is_replacement(call) else call.reasoning


def error_counts_text(errors: Mapping[str, int]) -> str:
    """`2 no tool call, 1 no answer in time`."""
    return ", ".join(f"{number(count)} {error_kind_text(kind)}" for kind, count in errors.items())


def usd(cost: float | None) -> str:
    """US dollars with as many digits as they need; `n/a` where the price is not known."""
    if cost is None:
        return "n/a"
    if 0 < cost < _MIN_USD:
        return f"under {_MIN_USD:.5f} USD"
    return f"{usd_figure(cost)} USD"


def usd_figure(cost: float | None) -> str:
    """The same without its unit, for where there is little room and the unit stands beside it."""
    if cost is None:
        return "n/a"
    if cost == 0:
        return "0"
    if cost < _MIN_USD:
        return f"< {_MIN_USD:.5f}"
    digits = 2 if cost >= 10 else 3 if cost >= 0.1 else 4 if cost >= 0.01 else 5
    return f"{cost:,.{digits}f}"


def tokens(count: int | None) -> str:
    """A count of tokens; `n/a` where the server did not say."""
    return "n/a" if count is None else number(count)


def attempts_text(attempts: tuple[Attempt, ...]) -> tuple[str, ...]:
    """A line for each HTTP request: what came, how long it took, and how long was waited before the next."""
    lines: list[str] = []
    for at, attempt in enumerate(attempts):
        came = f"HTTP {attempt.status}" if attempt.status is not None else "no answer"
        if attempt.error:
            came += f" ({one_line(attempt.error, _MAX_KIND_LENGTH)})"
        line = f"{at + 1}. {came} after {ms(attempt.duration_ms)}"
        if at + 1 < len(attempts):
            waited = attempts[at + 1].start_ms - attempt.start_ms - attempt.duration_ms
            line += f", then waited {ms(max(0.0, waited))}"
        lines.append(line)
    return tuple(lines)


def cost_note(call: ModelCall) -> str:
    """Where the cost is from, or why there is none."""
    if call.cost_usd is None:
        return "No price is known for this model at this server, or the server did not count the tokens."
    table = one_line(call.price_version or "a table that is not named", _MAX_KIND_LENGTH)
    return f"By the price table {table}."
