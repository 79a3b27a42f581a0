"""The reward ledger: what each component paid in each decision, and whether the components add up."""

from __future__ import annotations

import random

import numpy as np
import pytest

from core.analysis.ledger import Ledger, LedgerColumn, Mismatch, return_to_go
from core.types import RewardBreakdown, RewardComponent

UNLOCK = RewardComponent("achievement", "collect_wood", 1, 1.0, 1.0)
WOOD = RewardComponent("inventory", "wood", 2, 0.1, 0.2)
DRINK = RewardComponent("inventory", "drink", 1, 0.07, 0.07)
COUNT = RewardComponent("achievement_count", "collect_wood", 2, 0.08, 0.16)
OWN = RewardComponent("my_own", "bonus", 1, -0.5, -0.5)


def paid(*parts: RewardComponent, by: float = 1.0) -> RewardBreakdown:
    return RewardBreakdown("per_achievement", by, parts)


EPISODE = (paid(COUNT, WOOD, UNLOCK), paid(), paid(OWN, DRINK), paid(WOOD, WOOD, by=0.5))


def test_columns_have_the_same_order_whichever_component_paid_first():
    columns = Ledger.of(EPISODE).columns
    assert columns == (
        LedgerColumn("achievement", "collect_wood"),
        LedgerColumn("inventory", "drink"),
        LedgerColumn("inventory", "wood"),
        LedgerColumn("achievement_count", "collect_wood"),
        LedgerColumn("my_own", "bonus"),
    )
    assert Ledger.of(EPISODE[::-1]).columns == columns


def test_each_cell_is_what_a_component_paid_in_a_decision():
    ledger = Ledger.of(EPISODE)
    assert ledger.values.dtype == np.float64
    assert ledger.values.tolist() == [
        [1.0, 0.0, 0.2, 0.16, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.07, 0.0, 0.0, -0.5],
        [0.0, 0.0, 0.4, 0.0, 0.0],
    ]
    assert ledger.paid[3].tolist() == [0.0, 0.0, 0.2, 0.0, 0.0]
    assert ledger.earning.tolist() == [0, 2, 3]


def test_totals_equal_those_of_the_breakdowns():
    draw = random.Random(1)
    breakdowns = [
        paid(*(RewardComponent("inventory", draw.choice("abc"), 1, w, w) for w in (draw.uniform(-3, 3),) * 4), by=0.3)
        for _ in range(200)
    ]
    ledger = Ledger.of(breakdowns)
    assert ledger.totals == pytest.approx([breakdown.total for breakdown in breakdowns])
    assert ledger.paid.sum(axis=1) == pytest.approx(ledger.totals)
    assert ledger.first_mismatch([breakdown.total for breakdown in breakdowns]) is None


def test_without_decisions_or_components_the_ledger_is_empty():
    assert len(Ledger.of(())) == 0
    assert Ledger.of(()).first_mismatch([]) is None
    silent = Ledger.of((paid(), paid()))
    assert (silent.columns, silent.values.shape, silent.totals.tolist()) == ((), (2, 0), [0.0, 0.0])


def test_the_first_mismatch_has_the_decision_and_both_numbers():
    ledger = Ledger.of(EPISODE)
    logged = ledger.totals.copy()
    logged[2:] += 0.5
    found = ledger.first_mismatch(logged)
    assert found is not None
    assert found == Mismatch(2, float(logged[2]), float(ledger.totals[2]))
    assert (found.logged, found.parts) == pytest.approx((0.07, -0.43))


@pytest.mark.parametrize(("size", "error", "agrees"), [(1.0, 5e-10, True), (1.0, 2e-9, False), (1e6, 1e-5, True)])
def test_only_rounding_errors_are_tolerated(size: float, error: float, agrees: bool):
    ledger = Ledger.of((paid(RewardComponent("inventory", "wood", 1, size, size)),))
    assert (ledger.first_mismatch([size + error]) is None) == agrees


def test_return_to_go_is_the_discounted_sum_to_the_end():
    rewards = [1.0, 0.0, -0.5, 2.0]
    assert return_to_go(rewards).tolist() == [2.5, 1.5, 1.5, 2.0]
    assert return_to_go(rewards, 0.5) == pytest.approx([1.0 - 0.125 + 0.25, -0.25 + 0.5, -0.5 + 1.0, 2.0])
    assert return_to_go(rewards, 0.0).tolist() == rewards
    assert return_to_go([]).tolist() == return_to_go([], 0.9).tolist() == []
