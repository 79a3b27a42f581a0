"""What the model calls of an episode come to: pure, over decisions that are loaded already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.types import Decision, ModelCall


@dataclass(frozen=True, slots=True)
class ModelTotals:
    """All model calls together, those that were asked again included.

    tokens_*: sums of what the servers said, None where none said anything. cost_usd: of the calls whose price is known,
    None where none is; unpriced: how many of the others. errors: kind -> how many calls could not be used because of
    it. p50_ms, p90_ms: latency of a call. waited_ms: between the attempts of calls that were repeated.
    """

    calls: int
    retries: int
    tokens_in: int | None
    tokens_out: int | None
    tokens_cached: int | None
    tokens_reasoning: int | None
    cost_usd: float | None
    unpriced: int
    errors: dict[str, int]
    p50_ms: float | None
    p90_ms: float | None
    waited_ms: float


def model_totals(decisions: Iterable[Decision]) -> ModelTotals | None:
    """The totals; None where no model was asked."""
    calls = [call for decision in decisions if decision.model_call for call in decision.model_call.all_calls]
    if not calls:
        return None
    latencies = sorted(call.latency_ms for call in calls if call.latency_ms is not None)
    return ModelTotals(
        calls=len(calls),
        retries=sum(call.retries for call in calls),
        tokens_in=_sum([call.tokens_in for call in calls]),
        tokens_out=_sum([call.tokens_out for call in calls]),
        tokens_cached=_sum([call.tokens_cached for call in calls]),
        tokens_reasoning=_sum([call.tokens_reasoning for call in calls]),
        cost_usd=_cost(calls),
        unpriced=sum(call.cost_usd is None for call in calls),
        errors=dict(Counter(call.error_kind for call in calls if call.error_kind).most_common()),
        p50_ms=_quantile(latencies, 0.5),
        p90_ms=_quantile(latencies, 0.9),
        waited_ms=sum(waited_ms(call) for call in calls),
    )


def waited_ms(call: ModelCall) -> float:
    """How long a call waited between its attempts: for a server's Retry-After, or to back off."""
    pairs = zip(call.attempts, call.attempts[1:], strict=False)
    return sum(max(0.0, later.start_ms - earlier.start_ms - earlier.duration_ms) for earlier, later in pairs)


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _cost(calls: Sequence[ModelCall]) -> float | None:
    known = [call.cost_usd for call in calls if call.cost_usd is not None]
    return sum(known) if known else None


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    """The nearest rank: a latency that was really seen."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None
