"""Episodes as OpenTelemetry traces, one OTLP/JSON object a line, as a collector's `otlpjsonfile` receiver reads it.

An episode is a trace: `invoke_agent`, within it `chat` for each model call and `execute_tool` for each decision's
actions. Attributes are those of the GenAI semantic conventions, 1.41 (status: development,
https://github.com/open-telemetry/semantic-conventions/blob/v1.41.0/docs/gen-ai/gen-ai-spans.md); what they have no
name for begins with `craftscope.`. Identifiers follow from the episode, so exporting twice gives the same spans.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, cast

from core.exports.calls import arguments_object, request_messages, text_of
from core.policies.tools import TOOL_NAME
from core.policies.tools.values import as_dict, as_list
from core.store import EpisodeSummary, TraceStore
from core.store.blobs import to_json
from core.types import Decision, Episode, EpisodeStatus, ModelCall

_SCHEMA: Final = "https://opentelemetry.io/schemas/1.41.0"
_INTERNAL, _CLIENT = 1, 3  # opentelemetry.proto.trace.v1.Span.SpanKind
_ERROR: Final = 2  # Status.StatusCode
_REQUEST_PARAMETERS: Final = ("temperature", "top_p", "seed", "max_tokens", "frequency_penalty", "presence_penalty")


def otel_lines(store: TraceStore, episodes: Iterable[EpisodeSummary]) -> Iterator[bytes]:
    """A trace for each episode that has started."""
    for summary in episodes:
        if summary.started_at is not None:
            yield to_json(_trace(summary, store.episodes.load(summary.id), summary.started_at)) + b"\n"


def _trace(summary: EpisodeSummary, episode: Episode, started_at: datetime) -> dict[str, Any]:
    spans = [_root(summary, episode, started_at)]
    for decision in episode.decisions:
        spans += _decision_spans(summary.id, decision, started_at)
    scope = {"scope": {"name": "craftscope"}, "spans": spans, "schemaUrl": _SCHEMA}
    resource = {"attributes": _attributes({"service.name": "craftscope"})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scope], "schemaUrl": _SCHEMA}]}


def _root(summary: EpisodeSummary, episode: Episode, started_at: datetime) -> dict[str, Any]:
    last_s = max((decision.timing.decision_ready_s for decision in episode.decisions), default=0.0)
    end = max(_nanoseconds(summary.ended_at) if summary.ended_at else 0, _nanoseconds(started_at, last_s))
    models = [decision.model_call.model for decision in episode.decisions if decision.model_call]
    return _span(
        summary.id,
        "",
        f"invoke_agent {summary.policy}",
        _INTERNAL,
        (_nanoseconds(started_at), end),
        {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": summary.policy,
            "gen_ai.conversation.id": summary.id,
            "gen_ai.request.model": models[0] if models else None,
            "craftscope.run.id": summary.run_id,
            "craftscope.seed": summary.seed,
            "craftscope.stop_reason": summary.stop_reason,
            "craftscope.env_return": summary.env_return,
            "craftscope.shaped_return": summary.shaped_return,
            "craftscope.achievements": list(summary.achievements),
        },
        error=summary.error.kind if summary.error and summary.status is EpisodeStatus.FAILED else None,
    )


def _decision_spans(episode_id: str, decision: Decision, started_at: datetime) -> Iterator[dict[str, Any]]:
    timing = decision.timing
    calls = decision.model_call.all_calls if decision.model_call else ()
    asked_s = timing.agent_request_start_s
    for at, call in enumerate(calls):
        # The calls of one decision follow one another; when each began is not stored.
        is_last = at == len(calls) - 1
        answered_s = timing.agent_response_s if is_last else asked_s + (call.latency_ms or 0.0) / 1000
        span = (_nanoseconds(started_at, asked_s), _nanoseconds(started_at, max(asked_s, answered_s)))
        yield _chat(episode_id, decision, at, call, span)
        asked_s = max(asked_s, answered_s)
    if decision.steps:
        yield _tool(episode_id, decision, started_at)


def _chat(episode_id: str, decision: Decision, at: int, call: ModelCall, span: tuple[int, int]) -> dict[str, Any]:
    is_last = call is decision.model_call
    # An earlier call with an empty request was sent the same one as the last.
    sent = call if call.request or decision.model_call is None else decision.model_call
    model = str(sent.request.get("model") or call.model)
    return _span(
        episode_id,
        f"chat {decision.index} {at}",
        f"chat {model}",
        _CLIENT,
        span,
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": call.provider,
            "server.address": call.provider,
            "gen_ai.conversation.id": episode_id,
            "gen_ai.request.model": model,
            **{f"gen_ai.request.{name}": sent.request.get(name) for name in _REQUEST_PARAMETERS},
            "gen_ai.response.model": call.model,
            "gen_ai.response.id": call.request_id,
            "gen_ai.response.finish_reasons": [call.finish_reason] if call.finish_reason else None,
            "gen_ai.usage.input_tokens": call.tokens_in,
            "gen_ai.usage.output_tokens": call.tokens_out,
            "gen_ai.usage.cache_read.input_tokens": call.tokens_cached,
            "gen_ai.input.messages": json.dumps([_input(message) for message in request_messages(sent)]),
            "gen_ai.output.messages": json.dumps([_output(decision, call, with_calls=is_last)]),
            "craftscope.decision": decision.index,
            "craftscope.cost_usd": call.cost_usd,
        },
        error=call.error_kind,
    )


def _tool(episode_id: str, decision: Decision, started_at: datetime) -> dict[str, Any]:
    timing = decision.timing
    name = decision.tool_calls[-1].name if decision.tool_calls else TOOL_NAME
    given = decision.tool_calls[-1].arguments if decision.tool_calls else json.dumps({"actions": decision.actions})
    return _span(
        episode_id,
        f"tool {decision.index}",
        f"execute_tool {name}",
        _INTERNAL,
        (_nanoseconds(started_at, timing.agent_response_s), _nanoseconds(started_at, timing.decision_ready_s)),
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": decision.tool_calls[-1].call_id if decision.tool_calls else None,
            "gen_ai.tool.call.arguments": given,
            "craftscope.decision": decision.index,
            "craftscope.actions": list(decision.actions),
            "craftscope.unlocked": list(decision.unlocked),
            "craftscope.reward": decision.reward.total,
            "craftscope.env_reward": decision.env_reward,
            "craftscope.value": decision.value,
            "craftscope.logprob": decision.logprob,
        },
        error=decision.error.kind if decision.error else None,
    )


# --------------------------------------------------------------------------------------- messages, as the conventions


def _input(message: Mapping[str, Any]) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    if message.get("role") == "tool":
        response = text_of(message.get("content"))
        parts.append({"type": "tool_call_response", "id": message.get("tool_call_id"), "response": response})
    elif text := text_of(message.get("content")):
        parts.append({"type": "text", "content": text})
    for call in map(as_dict, as_list(message.get("tool_calls"))):
        function = as_dict(call.get("function"))
        parts.append(_call_part(call.get("id"), function.get("name"), function.get("arguments")))
    return {"role": str(message.get("role") or "user"), "parts": parts}


def _output(decision: Decision, call: ModelCall, *, with_calls: bool) -> dict[str, Any]:
    """An answer; the calls were read of the last one only."""
    parts: list[dict[str, Any]] = []
    if call.reasoning:
        parts.append({"type": "reasoning", "content": call.reasoning})
    if call.content:
        parts.append({"type": "text", "content": call.content})
    if with_calls:
        parts += [_call_part(each.call_id, each.name, each.arguments) for each in decision.tool_calls]
    return {"role": "assistant", "parts": parts, "finish_reason": call.finish_reason or "stop"}


def _call_part(call_id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id or None, "name": name, "arguments": arguments_object(arguments)}


# ------------------------------------------------------------------------------------------------------ OTLP/JSON


def _span(
    episode_id: str,
    what: str,
    name: str,
    kind: int,
    times: tuple[int, int],
    attributes: Mapping[str, Any],
    *,
    error: str | None,
) -> dict[str, Any]:
    """what: names it within the episode; empty for the root, whose children all others are."""
    span = {
        "traceId": _identifier(episode_id, 16),
        "spanId": _identifier(f"{episode_id} {what}", 8),
        "name": name,
        "kind": kind,
        "startTimeUnixNano": str(times[0]),
        "endTimeUnixNano": str(times[1]),
        "attributes": _attributes({**attributes, "error.type": error}),
        "status": {"code": _ERROR, "message": error} if error else {},
    }
    return {**span, "parentSpanId": _identifier(f"{episode_id} ", 8)} if what else span


def _identifier(text: str, n_bytes: int) -> str:
    return hashlib.blake2b(text.encode(), digest_size=n_bytes).hexdigest()


def _nanoseconds(at: datetime, seconds: float = 0.0) -> int:
    return int(at.timestamp() * 1e6) * 1_000 + int(seconds * 1e9)


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items() if value is not None]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(entry) for entry in cast(list[Any], value)]}}
    return {"stringValue": str(value)}
