"""Scoring hand-made decisions, and adding a strategy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest

from core.facts import Change
from core.params import number
from core.rewards import STRATEGIES, RewardConfig, RewardShaper, StateFacts
from core.rewards.base import Strategy
from core.types import RewardComponent

NOTHING = StateFacts()
PER_ACHIEVEMENT = RewardConfig(strategy="per_achievement")


def with_achievements(*names: str) -> StateFacts:
    return StateFacts(achievements=dict.fromkeys(names, True))


def test_consistent_pays_once_for_two_unlocks_in_one_decision():
    breakdown = RewardShaper(RewardConfig()).score(NOTHING, with_achievements("collect_wood", "place_table"))

    assert breakdown.total == 1.0
    assert breakdown.new_achievements == ("collect_wood", "place_table")
    assert breakdown.credited_achievements == ()


@pytest.mark.parametrize(("given_lambda", "paid"), [(None, 1.0), (0, 1.0), (0.0, 1.0), (0.25, 0.25), (-1.5, -1.5)])
def test_a_lambda_of_none_or_zero_counts_as_one(given_lambda: float | None, paid: float):
    breakdown = RewardShaper(RewardConfig(indicator_lambda=given_lambda)).score(NOTHING, with_achievements("wake_up"))

    assert breakdown.total == paid


def test_the_first_drink_is_paid_as_unlock_refill_and_count():
    before = StateFacts(inventory={"drink": 5})
    after = StateFacts({"collect_drink": True}, {"drink": 6}, {"collect_drink": 1})
    breakdown = RewardShaper(PER_ACHIEVEMENT).score(before, after)

    assert [(c.kind, c.value) for c in breakdown.components] == [
        ("achievement", 1.0),
        ("inventory", 0.07),
        ("achievement_count", 0.06),
    ]
    assert breakdown.total == pytest.approx(1.13)
    assert breakdown.resource_reward == pytest.approx(0.13)


def test_drinking_without_thirst_still_pays_for_the_count():
    before = StateFacts({"collect_drink": True}, {"drink": 9}, {"collect_drink": 7})
    after = StateFacts({"collect_drink": True}, {"drink": 9}, {"collect_drink": 8})

    assert RewardShaper(PER_ACHIEVEMENT).score(before, after).total == pytest.approx(0.06)


def test_entries_without_a_weight_pay_the_default():
    after = StateFacts(inventory={"diamond": 1, "health": 2}, achievement_counts={"wake_up": 1})

    assert RewardShaper(PER_ACHIEVEMENT).score(NOTHING, after).total == pytest.approx(0.05 + 0.10 + 0.05)


def test_an_unlock_with_a_negative_weight_still_sets_the_indicator():
    config = RewardConfig(strategy="per_achievement", weights={"wake_up": -3.0})
    breakdown = RewardShaper(config).score(NOTHING, with_achievements("wake_up"))

    assert breakdown.total == -3.0
    assert breakdown.indicator == 1


def test_credit_counts_are_copied_in_and_out():
    counts = {"wake_up": 1}
    shaper = RewardShaper(RewardConfig(strategy="per_achievement", k_limits={"wake_up": 0}), credit_counts=counts)
    shaper.credit_counts["wake_up"] = 99
    shaper.score(NOTHING, with_achievements("wake_up"))

    assert counts == {"wake_up": 1}
    assert shaper.credit_counts == {"wake_up": 2}


def test_environment_pays_the_environments_reward_times_lambda_and_nothing_else():
    after = StateFacts({"collect_wood": True}, {"wood": 3}, {"collect_wood": 3})
    breakdown = RewardShaper(RewardConfig("env", indicator_lambda=2.0)).score(NOTHING, after, env_reward=0.9)

    assert breakdown.components == (RewardComponent("environment", "env_reward", 0.9, 1.0, 0.9),)
    assert (breakdown.strategy, breakdown.total) == ("environment", 1.8)
    assert RewardShaper(RewardConfig("environment")).score(NOTHING, after).components == ()


@dataclass(frozen=True, slots=True)
class _StepCostParams:
    cost: float = number(0.01, label="Cost", description="Taken off every decision.", low=0.0, high=1.0)


class _StepCost(Strategy[_StepCostParams]):
    name = "step_cost"
    version = 1
    aliases = ("time_penalty",)
    label = "Step cost"
    description = "Every decision costs."
    params_type = _StepCostParams

    def components(self, change: Change, credits: Mapping[str, int]) -> Iterator[RewardComponent]:
        yield RewardComponent("cost", "decision", 1, -self.params.cost, -self.params.cost)


def test_a_new_strategy_gets_its_parameters_and_may_charge(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(STRATEGIES, _StepCost.name, _StepCost)
    config = RewardConfig(strategy="Time_Penalty", params={"cost": 0.25}, indicator_lambda=2.0)
    breakdown = RewardShaper(config).score(NOTHING, NOTHING)

    assert breakdown.strategy == "step_cost"
    assert breakdown.total == -0.5
    assert breakdown.indicator == 0
