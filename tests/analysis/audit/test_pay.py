"""Pay for unlocks, beside them, and for loops."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.analysis.audit.crafter import KNOWN_LOOPS, UNLOCKS
from core.analysis.audit.pay import loop_pay, paid_beside, pay_beside, pay_for, unlock_worth, unlocks_pay
from core.env.rules import ACHIEVEMENTS
from core.types import Decision, RewardBreakdown, RewardComponent, RewardConfig
from tests.support.audit_episodes import DEFAULT, Story, To

BY_NAME = {loop.name: loop for loop in KNOWN_LOOPS}
WOOD = To({"wood": 1}, "collect_wood")


def first(*steps: To, config: RewardConfig = DEFAULT, pay: float | None = None) -> Decision:
    return Story(config).decide(*steps, pay=pay).decisions[0]


def paid_by_environment(env_reward: float, *steps: To) -> Decision:
    part = RewardComponent("environment", "env_reward", env_reward, 1.0, env_reward)
    return replace(first(*steps), reward=RewardBreakdown("environment", 1.0, (part,)))


def test_without_an_unlock_all_pay_is_beside_unlocks():
    decision = Story().decide(WOOD).decide(WOOD, To({"sapling": 1}, "collect_sapling", at=(1, 1))).decisions[1]
    assert decision.unlocked == ("collect_sapling",)
    quiet = replace(decision, unlocked=())
    assert pay_beside(quiet) == quiet.reward.total
    assert sum(pay for _, _, pay in paid_beside(quiet)) == pytest.approx(quiet.reward.total)


def test_an_unlock_alone_has_no_other_pay():
    for strategy in ("per_achievement", "consistent"):
        assert pay_beside(first(WOOD, config=RewardConfig(strategy))) == 0
    assert pay_beside(paid_by_environment(1.0, WOOD)) == 0


def test_other_gains_of_the_decision_remain():
    assert pay_beside(first(*[WOOD] * 3)) == pytest.approx(2 * (0.10 + 0.08))
    assert pay_beside(first(WOOD, To({"coal": 1}))) == pytest.approx(0.18)


def test_two_unlocks_in_one_decision():
    decision = first(WOOD, To({"stone": 1}, "collect_stone"), WOOD)
    assert len(decision.unlocked) == 2
    assert pay_beside(decision) == pytest.approx(0.10 + 0.08)


def test_the_environment_pays_one_per_unlock_and_the_rest_for_health():
    assert pay_beside(paid_by_environment(1.3, WOOD)) == pytest.approx(0.3)
    assert pay_beside(paid_by_environment(0.9, WOOD)) == 0
    assert pay_beside(paid_by_environment(0.3)) == pytest.approx(0.3)


def test_an_unknown_kind_counts_as_pay_for_the_unlock():
    assert pay_beside(first(WOOD, pay=0.5)) == 0
    assert pay_beside(first(To({"wood": 1}), pay=0.5)) == 0.5


def test_a_loop_is_paid_for_its_counts_and_items():
    story = Story().unlock_all().decide(WOOD, To({}, "collect_drink"))
    decision = story.decisions[-1]
    assert pay_for(decision, ("collect_wood",)) == pytest.approx(0.10 + 0.08)
    assert pay_for(decision, ("collect_drink",)) == pytest.approx(0.06)
    assert pay_for(decision, ("eat_cow",)) == 0
    assert pay_for(first(To(at=(1, 1)), pay=0.5), ("eat_cow",)) == 0.5


def test_unlocks_pay_once_each():
    assert unlocks_pay(RewardConfig("consistent")) == 22
    assert unlocks_pay(RewardConfig("environment")) == 22
    assert unlock_worth(RewardConfig("consistent")) == 1


def test_default_weights_also_pay_what_an_unlock_brings():
    counts = sum(DEFAULT.achievement_count_weights.get(name, 0.05) for name in ACHIEVEMENTS)
    brought = sum(
        n * DEFAULT.inventory_weights.get(item, 0.05) for gains in UNLOCKS.values() for item, n in gains.items()
    )
    assert unlocks_pay(DEFAULT) == pytest.approx(22 + counts + brought)


@pytest.mark.parametrize(
    ("name", "pay"),
    [
        ("drinking with no thirst", 0.06),
        ("drinking when thirsty", 0.06 + 0.07),
        ("placing a stone and taking it up again", 0.05 + 0.10 + 0.15),
        ("planting saplings", 0.06 + 0.08 + 0.05),
        ("getting tired and sleeping", 0.04 + 0.05),
        ("getting hungry and eating cows", 6 * 0.07 + 0.05),
        ("eating a plant whenever it is ripe", 4 * 0.07 + 0.05),
        ("defeating zombies", 0.05),
        ("being hurt and healing", 0.05),
    ],
)
def test_a_loop_pays_for_every_increase(name: str, pay: float):
    assert loop_pay(DEFAULT, BY_NAME[name]) == pytest.approx(pay)


def test_a_loop_is_scored_as_one_decision_if_that_pays_more():
    punishing = replace(DEFAULT, inventory_weights={"stone": -1.0})
    stone = BY_NAME["placing a stone and taking it up again"]
    assert loop_pay(punishing, stone) == pytest.approx(0.05 + 0.10)


def test_idle_steps_are_scored_too():
    config = RewardConfig("potential_based")  # gamma 0.99 of 22 achievements: 0.22 less for each step
    assert loop_pay(config, BY_NAME["drinking with no thirst"]) == pytest.approx(-0.22)


def test_the_environment_pays_nothing_for_healing():
    assert loop_pay(RewardConfig("environment"), BY_NAME["being hurt and healing"]) == pytest.approx(0.0)
