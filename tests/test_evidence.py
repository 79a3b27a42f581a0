"""What the model calls of an episode come to."""

from __future__ import annotations

import pytest

from core.evidence import model_totals, waited_ms
from core.types import Attempt, Decision, ModelCall, RewardBreakdown, StateFacts, Timing


def _decision(call: ModelCall | None) -> Decision:
    return Decision(
        0, "", (), (), (), StateFacts(), RewardBreakdown("consistent", 1), (), (), Timing(0, 0, (), 0), call
    )


def _call(
    latency_ms: float, *, error: str | None = None, earlier: tuple[ModelCall, ...] = (), **known: float
) -> ModelCall:
    return ModelCall("host", "m", {}, "", latency_ms=latency_ms, error_kind=error, earlier=earlier, **known)  # pyright: ignore[reportArgumentType]


def test_where_no_model_was_asked_there_are_no_totals() -> None:
    assert model_totals([_decision(None)]) is None


def test_calls_that_were_asked_again_count() -> None:
    bad = _call(100, error="no_tool_call", tokens_in=10, tokens_out=1)
    totals = model_totals(
        [_decision(_call(300, earlier=(bad, bad), tokens_in=20, cost_usd=0.5)), _decision(_call(200))]
    )
    assert totals is not None
    assert (totals.calls, totals.tokens_in, totals.tokens_out, totals.tokens_cached) == (4, 40, 2, None)
    assert (totals.cost_usd, totals.unpriced) == (0.5, 3)
    assert totals.errors == {"no_tool_call": 2}
    assert (totals.p50_ms, totals.p90_ms) == (200, 300)


def test_the_wait_between_attempts_is_told_from_the_attempts() -> None:
    call = ModelCall("h", "m", {}, "", attempts=(Attempt(0, 50, 429), Attempt(1050, 30, 429), Attempt(1500, 10, 200)))
    assert waited_ms(call) == pytest.approx(1000 + 420)
