"""The ledger says what each component paid in each decision, in one order, and whether the books agree."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from core.analysis.ledger import LARGEST, Ledger, LedgerColumn, Mismatch, cumulative, is_sound, reward_to_go
from core.errors import InvalidInput
from core.rewards import RewardConfig, RewardShaper, limits
from core.types import RewardBreakdown, RewardComponent, StateFacts

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


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_never_adds_up(broken: float):
    ledger = Ledger.of(EPISODE)
    found = ledger.first_mismatch([*ledger.totals[:3], broken])
    assert found is not None and found.decision == 3


def test_rewards_that_cannot_be_summed_are_told_apart():
    endless = RewardComponent("inventory", "wood", 1, math.inf, math.inf)
    ledger = Ledger.of((paid(endless), paid(WOOD), paid(endless, by=-1.0)))
    found = ledger.first_mismatch(ledger.totals)
    assert found is not None and found.decision == 0
    assert not is_sound(ledger.paid)
    assert is_sound(Ledger.of(EPISODE).paid, np.array([-1e59]))
    assert not is_sound(np.array([1.0]), np.array([math.nan]))


def test_rewards_of_another_episode_are_refused():
    with pytest.raises(InvalidInput, match="3 logged rewards"):
        Ledger.of(EPISODE).first_mismatch([0.0] * 3)


def test_curves_end_at_the_sums():
    ledger = Ledger.of(EPISODE)
    assert cumulative(ledger.paid)[-1] == pytest.approx(ledger.by_column)
    assert cumulative(ledger.totals).tolist() == pytest.approx([1.36, 1.36, 0.93, 1.13])


def test_reward_to_go_sums_from_here_to_the_end():
    rewards = [1.0, 0.0, -0.5, 2.0]
    assert reward_to_go(rewards).tolist() == [2.5, 1.5, 1.5, 2.0]
    assert reward_to_go(rewards, 0.5) == pytest.approx([1.0 - 0.125 + 0.25, -0.25 + 0.5, -0.5 + 1.0, 2.0])
    assert reward_to_go(rewards, 0.0).tolist() == rewards
    assert reward_to_go([]).tolist() == reward_to_go([], 0.9).tolist() == []


@pytest.mark.parametrize("gamma", [-0.1, 1.01, math.nan, math.inf, "0.9", None, True])
def test_a_gamma_that_is_none_is_refused(gamma: float):
    with pytest.raises(InvalidInput, match="gamma"):
        reward_to_go([1.0], gamma)


# --------------------------------------------------------------------------- numbers as large as any that can be paid


def test_the_most_that_a_configuration_can_pay_is_sound():
    names = [f"thing_{at}" for at in range(limits.MOST_ENTRIES)]
    config = RewardConfig(
        "per_achievement",
        indicator_lambda=-limits.LARGEST,
        weights=dict.fromkeys(names, limits.LARGEST),
        inventory_weights=dict.fromkeys(names, limits.LARGEST),
        achievement_count_weights=dict.fromkeys(names, limits.LARGEST),
    )
    before = StateFacts({}, dict.fromkeys(names, -limits.MOST_HELD), dict.fromkeys(names, -limits.MOST_HELD))
    after = StateFacts(
        dict.fromkeys(names, True), dict.fromkeys(names, limits.MOST_HELD), dict.fromkeys(names, limits.MOST_HELD)
    )
    breakdown = RewardShaper(config).score(before, after)
    ledger = Ledger.of([breakdown] * 3)
    logged = np.array([breakdown.total] * 3)
    assert is_sound(ledger.paid, ledger.totals, cumulative(ledger.totals), reward_to_go(logged), logged)
    assert ledger.first_mismatch(logged) is None


def test_what_any_strategy_may_pay_and_what_an_environment_may_is_below_the_largest():
    assert limits.MOST_PAID * limits.LARGEST < LARGEST
    assert limits.MOST_HELD * limits.LARGEST < LARGEST
    million_squares = 1e6 * LARGEST**2
    assert math.isfinite(million_squares * million_squares)
