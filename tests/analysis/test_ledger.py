"""The ledger says what each component paid in each decision, in one order, and whether the books agree."""

from __future__ import annotations

import random

import numpy as np
import pytest

from core.analysis.ledger import Ledger, LedgerColumn, Mismatch, cumulative, return_to_go
from core.types import RewardBreakdown, RewardComponent

UNLOCK = RewardComponent("achievement", "collect_wood", 1, 1.0, 1.0)
WOOD = RewardComponent("inventory", "wood", 2, 0.1, 0.2)
DRINK = RewardComponent("inventory", "drink", 1, 0.07, 0.07)
COUNT = RewardComponent("achievement_count", "collect_wood", 2, 0.08, 0.16)
OWN = RewardComponent("my_own", "bonus", 1, -0.5, -0.5)


def paid(*parts: RewardComponent, by: float = 1.0) -> RewardBreakdown:
    return RewardBreakdown("per_achievement", by, parts)


EPISODE = (paid(COUNT, WOOD, UNLOCK), paid(), paid(OWN, DRINK), paid(WOOD, WOOD, by=0.5))


def test_components_stand_in_the_same_order_whichever_paid_first():
    columns = Ledger.of(EPISODE).columns
    assert columns == (
        LedgerColumn("achievement", "collect_wood"),
        LedgerColumn("inventory", "drink"),
        LedgerColumn("inventory", "wood"),
        LedgerColumn("achievement_count", "collect_wood"),
        LedgerColumn("my_own", "bonus"),
    )
    assert Ledger.of(EPISODE[::-1]).columns == columns


def test_each_cell_is_what_that_component_paid_there():
    ledger = Ledger.of(EPISODE)
    assert ledger.values.dtype == np.float64
    assert ledger.values.tolist() == [
        [1.0, 0.0, 0.2, 0.16, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.07, 0.0, 0.0, -0.5],
        [0.0, 0.0, 0.4, 0.0, 0.0],
    ]
    assert ledger.paid[3].tolist() == [0.0, 0.0, 0.2, 0.0, 0.0]
    assert ledger.by_column == pytest.approx([1.0, 0.07, 0.4, 0.16, -0.5])
    assert ledger.earning.tolist() == [0, 2, 3]


def test_the_totals_are_what_the_breakdowns_say():
    draw = random.Random(1)
    breakdowns = [
        paid(*(RewardComponent("inventory", draw.choice("abc"), 1, w, w) for w in (draw.uniform(-3, 3),) * 4), by=0.3)
        for _ in range(200)
    ]
    ledger = Ledger.of(breakdowns)
    assert ledger.totals == pytest.approx([breakdown.total for breakdown in breakdowns])
    assert ledger.paid.sum(axis=1) == pytest.approx(ledger.totals)
    assert ledger.first_mismatch([breakdown.total for breakdown in breakdowns]) is None


def test_an_episode_without_decisions_or_without_parts_has_an_empty_ledger():
    assert len(Ledger.of(())) == 0
    assert Ledger.of(()).first_mismatch([]) is None
    silent = Ledger.of((paid(), paid()))
    assert (silent.columns, silent.values.shape, silent.totals.tolist()) == ((), (2, 0), [0.0, 0.0])


def test_the_first_decision_that_does_not_add_up_is_named_with_both_numbers():
    ledger = Ledger.of(EPISODE)
    logged = ledger.totals.copy()
    logged[2:] += 0.5
    found = ledger.first_mismatch(logged)
    assert found is not None
    assert found == Mismatch(2, float(logged[2]), float(ledger.totals[2]))
    assert (found.logged, found.parts) == pytest.approx((0.07, -0.43))


@pytest.mark.parametrize(("size", "slip", "agrees"), [(1.0, 5e-10, True), (1.0, 2e-9, False), (1e6, 1e-5, True)])
def test_the_tolerance_is_for_rounding_only(size: float, slip: float, agrees: bool):
    large = RewardComponent("inventory", "wood", 1, size, size)
    ledger = Ledger.of((paid(large),))
    assert (ledger.first_mismatch([size + slip]) is None) == agrees


def test_curves_end_at_the_sums():
    ledger = Ledger.of(EPISODE)
    assert cumulative(ledger.paid)[-1] == pytest.approx(ledger.by_column)
    assert cumulative(ledger.totals).tolist() == pytest.approx([1.36, 1.36, 0.93, 1.13])


def test_return_to_go_sums_from_here_to_the_end():
    rewards = [1.0, 0.0, -0.5, 2.0]
    assert return_to_go(rewards).tolist() == [2.5, 1.5, 1.5, 2.0]
    assert return_to_go(rewards, 0.5) == pytest.approx([1.0 - 0.125 + 0.25, -0.25 + 0.5, -0.5 + 1.0, 2.0])
    assert return_to_go(rewards, 0.0).tolist() == rewards
    assert return_to_go([]).tolist() == return_to_go([], 0.9).tolist() == []
