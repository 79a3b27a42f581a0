"""Reads a server's whole answer to a chat-completions request, without ever raising.

call = parse_response({"status": 200, "headers": {}, "body": {...}}, tools=("interact",), max_actions=5)
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from core.policies.tools.calls import TOOL_NAME, RawCall, native_call, read_tool_calls
from core.policies.tools.errors import ADVICE, Failure, described, error_in, failure_of
from core.policies.tools.stream import CUT_STREAM, events, joined
from core.policies.tools.text_calls import find_calls, find_final_calls, has_call_marks, has_leftovers, split_thinking
from core.policies.tools.values import UNREADABLE, as_dict, as_json, as_list, as_text, is_dict, is_list, read_literal
from core.text import cut, storable
from core.types import TokenLogprob, ToolCall

_CUT = ("length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded", CUT_STREAM)
_FILTERED = ("content_filter", "safety", "prohibited_content", "blocklist", "recitation", "spii", "sensitive")
# The model's own text in the error of a parser: llama.cpp's, and Ollama's, which has looked for the call's end before.
_UNPARSED = re.compile(
    r"failed to parse input at pos \d{1,9}: (?P<text>.*)|error parsing tool call: raw='(?P<call>.*)', err=",
    re.IGNORECASE | re.DOTALL,
)
_MAX_DETAIL = 2_000
_MAX_LOGPROBS = 10_000
_MAX_TOKEN = 200
_MAX_COUNT = 100_000_000
_MAX_COST_USD = 1e6  # more cannot be the cost of one call
_MALFORMED = "malformed_function_call"  # Gemini, and Vertex after "function_call_filter: "
_UNFINISHED = (
    "The arguments of the call end in the middle or are not JSON, although the server {reports}: ask again, or look at "
    "the server's tool-call parser."
)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the server counted them, None if it did not. Cached tokens are part of `tokens_in`, reasoning tokens of
    `tokens_out`. cost_usd: the cost that the server reports."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    tokens_reasoning: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class ParsedResponse:
    """A server's answer as read. `error_kind` is None exactly if there are actions to execute.

    warning: the actions are executed, but something else was wrong: `truncated`, `content_filter`, `tool_use_failed`,
        the error kind of another call, or `special_tokens`: marks of calls or tokens that were not read.
    error_detail: what is wrong and what to do, in a sentence or two.
    retry_after_s: seconds to wait, if the server names them.
    content: the assistant's text without its thinking. reasoning: its thinking, from any field or from the text.
    token_logprobs: of the first tokens of the answer, if the server sent them.
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
    token_logprobs: tuple[TokenLogprob, ...] = ()

    @property
    def actions(self) -> tuple[str, ...]:
        """All valid actions of all calls, in order."""
        return tuple(action for call in self.tool_calls for action in call.actions)

    @property
    def dropped(self) -> tuple[str, ...]:
        """The names of the dropped actions as written; the calls have the reasons."""
        return tuple(dropped.name for call in self.tool_calls for dropped in call.dropped)


def parse_response(
    response: object, *, tools: Sequence[str] = (TOOL_NAME,), max_actions: int | None = None
) -> ParsedResponse:
    """Reads `{"status", "headers", "body"}`, or `"stream"` with a list of chunks in place of the body.

    response: any value; the body is a string if it was not JSON. tools: the names that were offered.
    max_actions: the most actions of one call.

    An answer that reports an error has no actions, even if calls came before the error. Cut calls are never completed.
    Groq answers 400 with `tool_use_failed` and the model's text in `failed_generation` when its own parser gave up
    (huggingface/smolagents#1119): if that text contains only complete calls of offered tools they are executed with the
    warning `tool_use_failed`, otherwise that is the error.
    """
    answer = as_dict(response)
    offered = (tools,) if isinstance(tools, str) else tuple(as_text(tool) for tool in tools)
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
    """The assistant's message of an answer, with every field as the server sent it; empty if there is no message.

    body: the text of the answer. Streamed chunks are joined. The message is not a copy.
    """
    return as_dict(_choice(as_list(as_dict(_body({"body": body})).get("choices"))).get("message"))


def _body(answer: dict[str, Any]) -> Any:
    """The body as a value: a stream is joined, text is read as server-sent events or JSON if it is either."""
    if answer.get("stream") is not None and answer.get("body") is None:
        stream = answer["stream"]
        return joined(as_list(stream) if is_list(stream) else [stream]) if stream else None
    body = answer.get("body")
    if not isinstance(body, str | bytes):
        return body
    text = as_text(body)
    if chunks := events(text):
        return joined(chunks)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _status(answer: dict[str, Any], body: Any) -> int:
    """The HTTP status; 0 stands for no answer at all."""
    status = as_text(answer.get("status"))[:4]
    return int(status) if status.isascii() and status.isdigit() else 0 if body is None else 200


def _choice(choices: list[Any]) -> dict[str, Any]:
    """The first choice with calls, or the first: some gateways give text and calls as two choices."""
    objects = [as_dict(choice) for choice in choices if as_dict(choice)] or [as_dict(None)]
    return next((one for one in objects if as_dict(one.get("message")).get("tool_calls")), objects[0])


def _choice_error(body: Any) -> dict[str, Any]:
    """OpenRouter puts an error that came late into the choice, with `finish_reason` "error"."""
    choice = _choice(as_list(as_dict(body).get("choices")))
    ended_with_error = as_text(choice.get("finish_reason")).lower() in ("error", "network_error")
    return error_in({"error": choice.get("error") or ("The answer ended with an error." if ended_with_error else None)})


def _without_choices(body: Any, choices: Any) -> Failure:
    if is_dict(body) and choices is None:
        return Failure("provider_error", f"{ADVICE['provider_error']} It sent neither an answer nor an error.")
    if is_dict(body) and is_list(choices):
        return described("empty_choices")
    text = as_text(body).strip()
    cut_json = isinstance(body, str) and text.startswith(("{", "["))
    what = "HTML" if text.startswith("<") else "JSON that is cut off" if cut_json else cut(text, 100) or "an empty body"
    return Failure("invalid_body", f"{ADVICE['invalid_body']} It sent {what}.")


def _completion(
    body: dict[str, Any], choice: dict[str, Any], offered: tuple[str, ...], max_actions: int | None
) -> ParsedResponse:
    finish = as_text(choice.get("finish_reason"))
    ended = finish.lower()
    message = as_dict(choice.get("message")) or as_dict(choice.get("delta")) or {"content": choice.get("text")}
    if _MALFORMED in ended and not message.get("content"):
        message = {**message, "content": choice.get("finish_message")}
    read = read_message(message, ended, offered)
    limited, filtered = ended_by_a_limit(ended), ended in _FILTERED
    reply = read_tool_calls(read.calls, offered=offered, max_actions=max_actions, cut_off=limited)
    failure = Failure(reply.error_kind or "", reply.error_detail)
    if failure.kind and (filtered or read.refusal or ended == "refusal"):
        failure = described("content_filter") if filtered else described("refusal", read.refusal)
    elif failure.kind == "no_tool_call" and _MALFORMED in ended:
        failure = described("tool_use_failed")
    elif failure.kind == "no_tool_call":
        failure = described("truncated" if limited else "no_tool_call")
    elif failure.kind == "truncated":
        reports = "reports the answer as finished" if finish else "reports no limit that was reached"
        advice = ADVICE["truncated"] if limited else _UNFINISHED.format(reports=reports)
        failure = Failure("truncated", f"{advice} {reply.error_detail}")
    of_the_server = "content_filter" if filtered else "tool_use_failed" if _MALFORMED in ended else None
    return ParsedResponse(
        tool_calls=reply.tool_calls,
        warning=None if failure.kind else of_the_server or reply.warning or read.warning,
        error_kind=failure.kind or None,
        error_detail=cut(failure.detail, _MAX_DETAIL),
        content=read.content,
        reasoning=read.reasoning,
        finish_reason=None if finish == CUT_STREAM else finish or None,
        token_logprobs=_token_logprobs(choice),
        **_metadata(body),
    )


def _token_logprobs(choice: dict[str, Any]) -> tuple[TokenLogprob, ...]:
    """Up to the first token that is not as the API has it."""
    read: list[TokenLogprob] = []
    for each in as_list(as_dict(choice.get("logprobs")).get("content"))[:_MAX_LOGPROBS]:
        value = as_dict(each).get("logprob")
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            break
        read.append(TokenLogprob(cut(as_text(as_dict(each).get("token")), _MAX_TOKEN), float(value)))
    return tuple(read)


def ended_by_a_limit(finish_reason: str | None) -> bool:
    """Whether the finish reason says that the answer reached a length limit."""
    return (finish_reason or "").lower() in _CUT


def _failed_generation(
    error: dict[str, Any], offered: tuple[str, ...], max_actions: int | None
) -> ParsedResponse | None:
    """The calls of the text that a server could not parse, if there are any and each of them can be executed: Groq's
    `failed_generation`, or the text in the message of llama.cpp or Ollama."""
    text, mark = error.get("failed_generation"), ""
    if text is None and (unparsed := _UNPARSED.search(as_text(error.get("message")))):
        text, mark = unparsed["text"] or unparsed["call"], "<tool_call>" if unparsed["call"] else ""
    visible = split_thinking(text if isinstance(text, str) else "").visible
    reply = read_tool_calls(find_calls(mark + visible, offered).calls, offered=offered, max_actions=max_actions)
    if reply.error_kind or reply.warning:
        return None
    return ParsedResponse(reply.tool_calls, warning="tool_use_failed", content=visible)


def _failed(failure: Failure, body: dict[str, Any]) -> ParsedResponse:
    return ParsedResponse(
        error_kind=failure.kind,
        error_detail=cut(failure.detail, _MAX_DETAIL),
        retry_after_s=failure.retry_after_s,
        **_metadata(body),
    )


def _metadata(body: dict[str, Any]) -> dict[str, Any]:
    return {
        "response_id": as_text(body.get("id")) or None,
        "model": as_text(body.get("model")) or None,
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
    """The first whole number; a bool, or more than a database's integers can sum up, is not a count."""
    whole = (int(value) if isinstance(value, float) and value.is_integer() else value for value in values)
    counts = (value for value in whole if isinstance(value, int) and not isinstance(value, bool))
    return next((count for count in counts if 0 <= count <= _MAX_COUNT), None)


_FINISHED = ("stop", "tool_calls", "tool_use", "function_call", "end_turn", "eos", "eos_token", "stop_sequence")

_THINKING_FIELDS = ("reasoning_content", "reasoning", "thinking")
_TEXT_FIELDS = ("text", "content", "output_text", "thinking", "summary")
_NO_TEXT = ("thinking", "reasoning", "refusal", "tool_use", "tool_call")  # types of parts that are not visible text
_MAX_DEPTH = 5


class Message(NamedTuple):
    """A message as read. `content` is its text without thinking, but with any calls in it. `warning`: `special_tokens`
    if marks of calls or tokens are left that were not read."""

    content: str
    reasoning: str
    refusal: str
    calls: list[RawCall]
    warning: str | None


def read_message(message: dict[str, Any], finish_reason: str, offered: Sequence[str]) -> Message:
    """Reads a message. Calls in the field for them win over the older `function_call`, and both over those in text.

    Calls inside thinking are drafts and not executed. Only if a finished turn is empty outside its reasoning field, the
    calls at the end of that are executed (vllm-project/vllm#39056).
    """
    parts = as_list(message.get("content"))
    written = _written(message.get("content"))
    visible, thinking = split_thinking(written)
    reasoning = next((text for key in _THINKING_FIELDS if (text := _text(message.get(key)))), "")
    reasoning = reasoning or _text(message.get("reasoning_details")) or _text(_of_type(parts, "thinking", "reasoning"))
    refusal = _text(message.get("refusal")) or _text([part.get("refusal") for part in _of_type(parts, "refusal")])
    calls = _native_calls(message, parts)
    leftovers = bool(calls) and (has_call_marks(visible, offered) or any(_has_token(call) for call in calls))
    if not calls and not refusal.strip():
        calls, leftovers = find_calls(visible, offered)
        if not calls and not written.strip() and finish_reason in _FINISHED:
            calls = find_final_calls(reasoning, offered)
    thoughts = "\n".join(text.strip() for text in (reasoning, thinking) if text.strip())
    warning = "special_tokens" if leftovers else None
    return Message(storable(visible.strip()), storable(thoughts), storable(refusal.strip()), calls, warning)


def _has_token(call: RawCall) -> bool:
    """Whether a server left special tokens in a call's name, or unknown ones after its arguments."""
    after = call.arguments.rpartition("}")[2] if isinstance(call.arguments, str) else ""
    return "<|" in call.name or has_leftovers(after)


def _native_calls(message: dict[str, Any], parts: list[Any]) -> list[RawCall]:
    listed = message.get("tool_calls")
    if isinstance(listed, str):  # the list encoded once more
        decoded = read_literal(listed)
        listed = None if decoded is UNREADABLE else decoded
    items = as_list(listed) or ([listed] if as_dict(listed) else []) or _of_type(parts, "tool_use", "tool_call")
    calls = [call for item in items if (call := native_call(item))]
    if not calls and as_dict(message.get("function_call")):
        calls = [call for call in [native_call(message["function_call"])] if call]
    return calls


def _of_type(parts: list[Any], *kinds: str) -> list[dict[str, Any]]:
    return [as_dict(part) for part in parts if as_dict(part).get("type") in kinds]


def _written(content: Any) -> str:
    """A message's content as text: the text of its parts; an object without text as JSON."""
    if is_list(content):
        return _text([part for part in as_list(content) if as_dict(part).get("type") not in _NO_TEXT])
    return _text(content) or (as_json(content) if as_dict(content) else "")


def _text(value: Any, depth: int = 0) -> str:
    """The text of a field that is text, a part with text (Mistral, OpenRouter), or a list of parts."""
    if isinstance(value, str):
        return value
    if depth > _MAX_DEPTH:
        return ""
    if is_list(value):
        return "".join(_text(part, depth + 1) for part in as_list(value))
    part = as_dict(value)
    return next((text for key in _TEXT_FIELDS if key in part and (text := _text(part[key], depth + 1))), "")
