"""What a decision is paid for its unlocks and what beside them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.analysis.audit.unlocks import paid_beside, pay_beside, pay_for
from core.types import Decision, RewardBreakdown, RewardComponent, RewardConfig
from tests.support.audit_episodes import DEFAULT, Story, To

WOOD = To({"wood": 1}, "collect_wood")


def first(*steps: To, config: RewardConfig = DEFAULT, pay: float | None = None) -> Decision:
    return Story(config).decide(*steps, pay=pay).decisions[0]


def paid_by_environment(env_reward: float, *steps: To) -> Decision:
    part = RewardComponent("environment", "env_reward", env_reward, 1.0, env_reward)
    return replace(first(*steps), reward=RewardBreakdown("environment", 1.0, (part,)))


def test_without_an_unlock_everything_is_beside():
    decision = Story().decide(WOOD).decide(WOOD, To({"sapling": 1}, "collect_sapling", at=(1, 1))).decisions[1]
    assert decision.unlocked == ("collect_sapling",)
    quiet = replace(decision, unlocked=())
    assert pay_beside(quiet) == quiet.reward.total
    assert sum(pay for _, _, pay in paid_beside(quiet)) == pytest.approx(quiet.reward.total)


def test_an_unlock_alone_leaves_nothing():
    for strategy in ("per_achievement", "consistent"):
        assert pay_beside(first(WOOD, config=RewardConfig(strategy))) == 0
    assert pay_beside(paid_by_environment(1.0, WOOD)) == 0


def test_what_came_in_the_same_decision_is_left():
    assert pay_beside(first(*[WOOD] * 3)) == pytest.approx(2 * (0.10 + 0.08))
    assert pay_beside(first(WOOD, To({"coal": 1}))) == pytest.approx(0.18)


def test_of_two_unlocks_each_has_its_own():
    decision = first(WOOD, To({"stone": 1}, "collect_stone"), WOOD)
    assert len(decision.unlocked) == 2
    assert pay_beside(decision) == pytest.approx(0.10 + 0.08)


def test_lambda_counts():
    doubled = first(*[WOOD] * 3, config=replace(DEFAULT, indicator_lambda=-2.0))
    assert pay_beside(doubled) == pytest.approx(-4 * (0.10 + 0.08))


def test_the_environment_pays_one_for_each_unlock_and_the_rest_for_health():
    assert pay_beside(paid_by_environment(1.3, WOOD)) == pytest.approx(0.3)
    assert pay_beside(paid_by_environment(0.9, WOOD)) == 0
    assert pay_beside(paid_by_environment(0.3)) == pytest.approx(0.3)


def test_a_component_of_an_unknown_kind_is_taken_to_be_for_the_unlock_where_there_is_one():
    assert pay_beside(first(WOOD, pay=0.5)) == 0
    assert pay_beside(first(To({"wood": 1}), pay=0.5)) == 0.5


def test_what_is_paid_for_a_loop_is_its_counts_and_what_they_bring():
    story = Story().unlock_all().decide(WOOD, To({}, "collect_drink"))
    decision = story.decisions[-1]
    assert pay_for(decision, ("collect_wood",)) == pytest.approx(0.10 + 0.08)
    assert pay_for(decision, ("collect_drink",)) == pytest.approx(0.06)
    assert pay_for(decision, ("eat_cow",)) == 0
    assert pay_for(first(To(at=(1, 1)), pay=0.5), ("eat_cow",)) == 0.5
