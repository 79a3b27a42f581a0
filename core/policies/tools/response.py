"""A server's whole answer to a chat-completions request, read without ever raising.

call = parse_response({"status": 200, "headers": {}, "body": {...}}, tools=("interact",), max_actions=5)
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.policies.tools.calls import read_tool_calls
from core.policies.tools.failures import ADVICE, Failure, described, error_in, failure_of
from core.policies.tools.message import read_message
from core.policies.tools.schema import TOOL_NAME
from core.policies.tools.stream import CUT_STREAM, events, joined
from core.policies.tools.text import find_calls
from core.policies.tools.thinking import split_thinking
from core.policies.tools.untrusted import as_count, as_dict, as_list, is_dict, is_list, name_of, short, str_of
from core.types import ModelCall, PolicyReply, ToolCall

_CUT = ("length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded", CUT_STREAM)
_FILTERED = ("content_filter", "safety", "prohibited_content", "blocklist", "recitation", "spii", "sensitive")
_UNPARSED = re.compile(r"failed to parse input at pos \d{1,9}: (?P<text>.*)", re.IGNORECASE | re.DOTALL)
_MAX_DETAIL = 2_000
_MAX_COST_USD = 1e6  # more cannot be the cost of one call
_UNFINISHED = (
    "The arguments of the call end in the middle or are not JSON, although {finished}: ask again, or look at the "
    "server's tool-call parser."
)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the server counted them; None where it did not say. Cached ones are part of `tokens_in`, those of
    reasoning part of `tokens_out`. cost_usd: what the server says it cost."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    tokens_reasoning: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class ParsedResponse:
    """What a server answered. `error_kind` is None exactly where there are actions to execute.

    warning: the actions stand, but something beside them was wrong: `truncated`, `content_filter`,
        `tool_use_failed`, or the kind of error of another call.
    error_detail: a sentence, what is wrong and what to do.
    retry_after_s: seconds to wait, where the server said so.
    content: the assistant's text without its thinking. reasoning: its thinking, wherever it stood.
    """

    tool_calls: tuple[ToolCall, ...] = ()
    warning: str | None = None
    error_kind: str | None = None
    error_detail: str = ""
    retry_after_s: float | None = None
    content: str = ""
    reasoning: str = ""
    finish_reason: str | None = None
    response_id: str | None = None
    model: str | None = None
    usage: Usage = Usage()

    @property
    def actions(self) -> tuple[str, ...]:
        """All valid actions of all calls, in order."""
        return tuple(action for call in self.tool_calls for action in call.actions)

    @property
    def dropped(self) -> tuple[str, ...]:
        """The names of the actions that were dropped, as they came; the calls hold the reasons."""
        return tuple(dropped.name for call in self.tool_calls for dropped in call.dropped)

    def reply(self, model_call: ModelCall | None = None) -> PolicyReply:
        """The same as what a policy answers, with the evidence of the call."""
        return PolicyReply(self.tool_calls, model_call, self.error_kind, self.error_detail, self.warning)


def parse_response(
    response: object, *, tools: Sequence[str] = (TOOL_NAME,), max_actions: int | None = None
) -> ParsedResponse:
    """Reads `{"status", "headers", "body"}`, or `"stream"` with a list of chunks in place of the body.

    response: whatever came; the body is a string where it was not JSON. tools: the names that were offered.
    max_actions: how many actions one call may hold.

    An answer that reports an error has no actions, even if calls came before the error. Calls whose end is missing
    are never completed. Groq answers 400 with `tool_use_failed` and the model's text in `failed_generation` when its
    own parser gave up (huggingface/smolagents#1119): where that text holds only whole calls of offered tools they are
    executed, with the warning `tool_use_failed`, and otherwise that is the error.
    """
    answer = as_dict(response)
    offered = (tools,) if isinstance(tools, str) else tuple(name_of(tool) for tool in tools)
    headers, body = as_dict(answer.get("headers")), _body(answer)
    status = _status(answer, body)
    error = error_in(body) or _choice_error(body)
    if status < 200 or status >= 300 or error:
        failure = failure_of(status, headers, error, body if isinstance(body, str) else "")
        saved = _failed_generation(error, offered, max_actions) if failure.kind == "tool_use_failed" else None
        return saved or _failed(failure, as_dict(body))
    choices = as_dict(body).get("choices")
    if is_list(choices) and choices:
        return _completion(as_dict(body), _choice(as_list(choices)), offered, max_actions)
    return _failed(_without_choices(body, choices), as_dict(body))


def assistant_message(body: str) -> dict[str, Any]:
    """The assistant's message of an answer, with every field as the server sent it; empty where there is none.

    body: the text of the answer. Streamed chunks are joined. The message is not a copy.
    """
    return as_dict(_choice(as_list(as_dict(_body({"body": body})).get("choices"))).get("message"))


def _body(answer: dict[str, Any]) -> Any:
    """The body as a value: a stream is joined, and text is taken for JSON or server-sent events where it is that."""
    if answer.get("stream") is not None and answer.get("body") is None:
        stream = answer["stream"]
        return joined(as_list(stream) if is_list(stream) else [stream]) if stream else None
    body = answer.get("body")
    if not isinstance(body, str | bytes):
        return body
    text = str_of(body)
    if chunks := events(text):
        return joined(chunks)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _status(answer: dict[str, Any], body: Any) -> int:
    """The HTTP status; 0 stands for no answer at all."""
    status = as_count(answer.get("status"))
    if status is None and name_of(answer.get("status")).isdecimal():
        status = int(name_of(answer["status"])[:4])
    return status if status is not None else (200 if body is not None else 0)


def _choice(choices: list[Any]) -> dict[str, Any]:
    """The first choice that has calls, or the first: some gateways give text and calls as two choices."""
    objects = [as_dict(choice) for choice in choices if as_dict(choice)] or [as_dict(None)]
    return next((one for one in objects if as_dict(one.get("message")).get("tool_calls")), objects[0])


def _choice_error(body: Any) -> dict[str, Any]:
    """OpenRouter puts an error that came late into the choice, with `finish_reason` "error"."""
    choice = _choice(as_list(as_dict(body).get("choices")))
    error = error_in({"error": choice.get("error")})
    if not error and name_of(choice.get("finish_reason")).lower() in ("error", "network_error"):
        return {"message": "The answer ended with an error."}
    return error


def _without_choices(body: Any, choices: Any) -> Failure:
    if is_dict(body) and choices is None:
        return Failure("provider_error", f"{ADVICE['provider_error']} It sent neither an answer nor an error.")
    if is_dict(body) and is_list(choices):
        return described("empty_choices")
    text = body.strip() if isinstance(body, str) else ""
    what = "an empty body" if body is None or (isinstance(body, str) and not text) else short(str_of(body), 100)
    what = "HTML" if text.startswith("<") else "JSON that is cut off" if text.startswith(("{", "[")) else what
    return Failure("invalid_body", f"{ADVICE['invalid_body']} It sent {what}.")


def _completion(
    body: dict[str, Any], choice: dict[str, Any], offered: tuple[str, ...], max_actions: int | None
) -> ParsedResponse:
    finish = name_of(choice.get("finish_reason"))
    ended = finish.lower()
    message = as_dict(choice.get("message")) or as_dict(choice.get("delta")) or {"content": choice.get("text")}
    read = read_message(message, ended, offered)
    cut, filtered = ended_by_a_limit(ended), ended in _FILTERED
    reply = read_tool_calls(read.calls, offered=offered, max_actions=max_actions, cut_off=cut)
    failure = Failure(reply.error_kind or "", reply.error_detail)
    if failure.kind and (filtered or read.refusal or ended == "refusal"):
        failure = described("content_filter") if filtered else described("refusal", read.refusal)
    elif failure.kind == "no_tool_call" and "malformed_function_call" in ended:
        failure = described("tool_use_failed")
    elif failure.kind == "no_tool_call":
        failure = described("truncated" if cut else "no_tool_call")
    elif failure.kind == "truncated":
        advice = described("truncated").detail if cut else _unfinished(finish)
        failure = Failure("truncated", f"{advice} {reply.error_detail}")
    return ParsedResponse(
        tool_calls=reply.tool_calls,
        warning=None if failure.kind else "content_filter" if filtered else reply.warning,
        error_kind=failure.kind or None,
        error_detail=short(failure.detail, _MAX_DETAIL),
        content=read.content,
        reasoning=read.reasoning,
        finish_reason=None if finish == CUT_STREAM else finish or None,
        **_facts(body),
    )


def ended_by_a_limit(finish_reason: str | None) -> bool:
    """Whether a server says that it ended an answer for its length."""
    return (finish_reason or "").lower() in _CUT


def _unfinished(finish: str) -> str:
    said = "the server says that the answer was finished" if finish else "the server names no limit that was reached"
    return _UNFINISHED.format(finished=said)


def _failed_generation(
    error: dict[str, Any], offered: tuple[str, ...], max_actions: int | None
) -> ParsedResponse | None:
    """The calls of the text that a server could not parse, if there are any and each of them can be executed: Groq's
    `failed_generation`, or what follows the position in llama.cpp's message."""
    text = error.get("failed_generation")
    if text is None and (said := _UNPARSED.search(name_of(error.get("message")))):
        text = split_thinking(said["text"]).visible
    calls = find_calls(text, offered) if isinstance(text, str) else []
    reply = read_tool_calls(calls, offered=offered, max_actions=max_actions)
    if reply.error_kind or reply.warning:
        return None
    return ParsedResponse(reply.tool_calls, warning="tool_use_failed", content=name_of(text))


def _failed(failure: Failure, body: dict[str, Any]) -> ParsedResponse:
    return ParsedResponse(
        error_kind=failure.kind,
        error_detail=short(failure.detail, _MAX_DETAIL),
        retry_after_s=failure.retry_after_s,
        **_facts(body),
    )


def _facts(body: dict[str, Any]) -> dict[str, Any]:
    return {
        "response_id": name_of(body.get("id")) or None,
        "model": name_of(body.get("model")) or None,
        "usage": _usage(as_dict(body.get("usage")), body),
    }


def _usage(usage: dict[str, Any], body: dict[str, Any]) -> Usage:
    """OpenAI's names, the newer ones of its responses, DeepSeek's for cached tokens. A cost stands in OpenRouter's
    `usage.cost`, Perplexity's `usage.cost.total_cost`, or as `total_cost` in either place."""
    costs = (usage.get("cost"), as_dict(usage.get("cost")).get("total_cost"))
    costs = (*costs, usage.get("total_cost"), body.get("total_cost"))
    into = as_dict(usage.get("prompt_tokens_details")) or as_dict(usage.get("input_tokens_details"))
    out = as_dict(usage.get("completion_tokens_details")) or as_dict(usage.get("output_tokens_details"))
    return Usage(
        tokens_in=_first_count(usage.get("prompt_tokens"), usage.get("input_tokens")),
        tokens_out=_first_count(usage.get("completion_tokens"), usage.get("output_tokens")),
        tokens_cached=_first_count(
            into.get("cached_tokens"), usage.get("prompt_cache_hit_tokens"), usage.get("cached_tokens")
        ),
        tokens_reasoning=_first_count(out.get("reasoning_tokens"), usage.get("reasoning_tokens")),
        cost_usd=next((cost for value in costs if (cost := _as_cost(value)) is not None), None),
    )


def _as_cost(value: Any) -> float | None:
    is_cost = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _MAX_COST_USD
    return float(value) if is_cost else None


def _first_count(*values: Any) -> int | None:
    return next((count for value in values if (count := as_count(value)) is not None), None)
