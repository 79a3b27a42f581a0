"""Potential-based shaping pays the difference of a potential and cannot be farmed."""

from __future__ import annotations

import pytest

from core.errors import InvalidReward
from core.rewards import STRATEGIES, RewardConfig, RewardShaper
from core.rewards.potentials import POTENTIALS
from core.types import StateFacts

NOTHING = StateFacts({"collect_wood": False, "wake_up": False}, {"health": 9, "food": 9, "drink": 9, "energy": 9})
WOOD = StateFacts({"collect_wood": True, "wake_up": False}, {"health": 9, "food": 9, "drink": 9, "energy": 9})


def config(**params: object) -> RewardConfig:
    return RewardConfig("potential_based", params=params)


def test_it_pays_the_environments_reward_and_the_difference():
    breakdown = RewardShaper(config(gamma=0.9, scale=2.0, env_weight=0.5)).score(NOTHING, WOOD, env_reward=1.0)
    assert [(part.kind, part.name, part.value) for part in breakdown.components] == [
        ("environment", "env_reward", 0.5),
        ("potential", "achievements", pytest.approx(2.0 * 0.9)),
    ]
    assert breakdown.total == pytest.approx(2.3)


def test_the_potential_is_0_after_the_end():
    shaper = RewardShaper(config(gamma=0.9, env_weight=0.0))
    assert shaper.score(WOOD, WOOD, is_end=True).total == -1.0


@pytest.mark.parametrize("potential", POTENTIALS)
def test_the_discounted_sum_is_minus_the_first_potential(potential: str):
    """Ng, Harada, Russell 1999: the sum telescopes, so no loop pays."""
    gamma = 0.95
    shaper = RewardShaper(config(potential=potential, gamma=gamma, env_weight=0.0))
    tools = {"wood_pickaxe": 1, "stone_sword": 2, "iron_pickaxe": 0}
    states = [WOOD, NOTHING, StateFacts(WOOD.achievements, tools | {"health": 3}), WOOD, NOTHING, WOOD]
    total = sum(
        gamma**at * shaper.score(before, after, is_end=at == len(states) - 2).total
        for at, (before, after) in enumerate(zip(states, states[1:], strict=False))
    )
    assert total == pytest.approx(-POTENTIALS[potential].of(states[0]))


def test_the_best_tool_of_each_kind_counts():
    tier = POTENTIALS["tool_tier"]
    assert tier.of(StateFacts()) == 0
    assert tier.of(StateFacts(inventory={"wood_pickaxe": 3, "wood_sword": 0})) == 1
    assert tier.of(StateFacts(inventory={"wood_pickaxe": 1, "iron_pickaxe": 1, "stone_sword": 1})) == 5


def test_vitals_are_a_share_of_their_maximum():
    assert POTENTIALS["vitals"].of(NOTHING) == 1.0
    assert POTENTIALS["vitals"].of(StateFacts(inventory={"health": 9})) == 0.25


def test_an_unknown_potential_is_an_error():
    with pytest.raises(InvalidReward, match="give one of achievements, tool_tier"):
        RewardShaper(config(potential="tool_teir"))


def test_it_is_the_only_potential_based_strategy():
    assert [kind.name for kind in STRATEGIES.values() if kind.is_potential_based] == ["potential_based"]
