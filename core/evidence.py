"""What a model's calls show (`types.ModelCall`): totals over an episode, and the messages of the requests."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from core.types import Decision, sum_known


@dataclass(frozen=True, slots=True)
class ModelTotals:
    """All model calls, retries included.

    tokens_*: as counted by the servers; None if no server counted. cost_usd: of the calls with a known price, None if
    there are none; unpriced: the number of the others. server_cost_usd: as reported by the servers.
    errors: kind -> number of invalid answers. p50_ms, p90_ms: latency of a call. waited_ms: between attempts.
    """

    calls: int
    retries: int
    tokens_in: int | None
    tokens_out: int | None
    tokens_cached: int | None
    tokens_reasoning: int | None
    cost_usd: float | None
    server_cost_usd: float | None
    unpriced: int
    errors: dict[str, int]
    p50_ms: float | None
    p90_ms: float | None
    waited_ms: float


def model_totals(decisions: Iterable[Decision]) -> ModelTotals | None:
    """None if there was no model call."""
    calls = [call for decision in decisions if decision.model_call for call in decision.model_call.all_calls]
    if not calls:
        return None
    latencies = sorted(call.latency_ms for call in calls if call.latency_ms is not None)
    return ModelTotals(
        calls=len(calls),
        retries=sum(call.retries for call in calls),
        tokens_in=sum_known(call.tokens_in for call in calls),
        tokens_out=sum_known(call.tokens_out for call in calls),
        tokens_cached=sum_known(call.tokens_cached for call in calls),
        tokens_reasoning=sum_known(call.tokens_reasoning for call in calls),
        cost_usd=sum_known(call.cost_usd for call in calls),
        server_cost_usd=sum_known(call.server_cost_usd for call in calls),
        unpriced=sum(call.cost_usd is None for call in calls),
        errors=dict(Counter(call.error_kind for call in calls if call.error_kind).most_common()),
        p50_ms=_quantile(latencies, 0.5),
        p90_ms=_quantile(latencies, 0.9),
        waited_ms=sum(call.waited_ms for call in calls),
    )


@dataclass(frozen=True, slots=True)
class SentMessage:
    """One message of a request.

    role: system, user, assistant, tool, or any other text. tool_calls: (name, raw arguments). pictures: mostly `data:`
    URLs. answers: the id of the call that a tool's message answers. other: everything else, as JSON.
    """

    role: str
    text: str = ""
    tool_calls: tuple[tuple[str, str], ...] = ()
    pictures: tuple[str, ...] = ()
    answers: str = ""
    other: str = ""


def sent_messages(request: Mapping[str, Any]) -> tuple[SentMessage, ...]:
    """The messages of a request's body. Never raises: an imported trace may contain anything."""
    given = request.get("messages")
    return tuple(_message(item) for item in cast(list[Any], given)) if isinstance(given, list) else ()


def new_messages(sent: Sequence[SentMessage], before: Sequence[SentMessage]) -> tuple[bool, ...]:
    """For each of `sent`, whether `before` (the messages of an earlier request) lacks it.

    After a common beginning, the oldest earlier messages may have been dropped. A message that is now sent without its
    picture or its observation is not new.
    """
    start = _common(sent, before)
    moved = max((_common(sent[start:], before[at:]) for at in range(start, len(before))), default=0)
    return tuple(at >= start + moved for at in range(len(sent)))


def _common(now: Sequence[SentMessage], earlier: Sequence[SentMessage]) -> int:
    """Length of the common beginning."""
    pairs = zip(now, earlier, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if not _is_same(a, b)), min(len(now), len(earlier)))


def _is_same(now: SentMessage, earlier: SentMessage) -> bool:
    def rest(message: SentMessage) -> tuple[object, ...]:
        return (message.role, message.tool_calls, message.answers, message.other)

    is_shortened = bool(now.text) and earlier.text.startswith(f"{now.text}\n\n")
    return rest(now) == rest(earlier) and (now.text == earlier.text or is_shortened)


def _message(given: Any) -> SentMessage:
    if not isinstance(given, dict):
        return SentMessage("", other=_json(given))
    fields = cast(dict[str, Any], given)
    texts: list[str] = []
    pictures: list[str] = []
    other: list[Any] = []
    content: Any = fields.get("content")
    for part in cast(list[Any], content) if isinstance(content, list) else [content]:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(text := _at(part, "text"), str):
            texts.append(text)
        elif isinstance(url := _at(_at(part, "image_url"), "url"), str):
            pictures.append(url)
        elif part is not None:
            other.append(part)
    calls, odd = _calls(fields.get("tool_calls"))
    return SentMessage(
        role=str(fields.get("role", "")),
        text="\n".join(texts),
        tool_calls=calls,
        pictures=tuple(pictures),
        answers=str(fields.get("tool_call_id") or ""),
        other="\n".join(_json(part) for part in (*other, *odd)),
    )


def _calls(given: Any) -> tuple[tuple[tuple[str, str], ...], list[Any]]:
    """(name, raw arguments) of each call, and the items that are not calls."""
    items = cast(list[Any], given) if isinstance(given, list) else [] if given is None else [given]
    calls: list[tuple[str, str]] = []
    odd: list[Any] = []
    for item in items:
        name, arguments = (_at(_at(item, "function"), key) for key in ("name", "arguments"))
        if isinstance(name, str):
            calls.append((name, arguments if isinstance(arguments, str) else _json(arguments)))
        else:
            odd.append(item)
    return tuple(calls), odd


def _at(value: Any, key: str) -> Any:
    return cast(dict[str, Any], value).get(key) if isinstance(value, dict) else None


def _json(value: Any) -> str:
    return json.dumps(value, default=str)


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    """By nearest rank: a measured latency."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None
