"""What configurations pay for unlocks and laps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.analysis.audit.crafter import LOOPS, UNLOCKS
from core.analysis.audit.worth import lap_pay, unlock_worth, unlocks_pay
from core.env.rules import ACHIEVEMENTS
from core.rewards import RewardConfig
from tests.support.audit_episodes import DEFAULT

BY_NAME = {loop.name: loop for loop in LOOPS}


def test_unlocks_pay_once_each():
    assert unlocks_pay(RewardConfig("consistent")) == 22
    assert unlocks_pay(RewardConfig("environment")) == 22
    assert unlock_worth(RewardConfig("consistent")) == 1


def test_under_the_default_weights_an_unlock_pays_what_it_brings_as_well():
    counts = sum(DEFAULT.achievement_count_weights.get(name, 0.05) for name in ACHIEVEMENTS)
    brought = sum(
        n * DEFAULT.inventory_weights.get(item, 0.05) for gains in UNLOCKS.values() for item, n in gains.items()
    )
    assert unlocks_pay(DEFAULT) == pytest.approx(22 + counts + brought)


def test_lambda_and_weights_count():
    assert unlocks_pay(replace(DEFAULT, indicator_lambda=-2.0)) == pytest.approx(-2 * unlocks_pay(DEFAULT))
    heavier = replace(DEFAULT, weights={"collect_wood": 11.0})
    assert unlocks_pay(heavier) == pytest.approx(unlocks_pay(DEFAULT) + 10)


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
def test_a_lap_pays_for_everything_that_rises_on_the_way(name: str, pay: float):
    assert lap_pay(DEFAULT, BY_NAME[name]) == pytest.approx(pay)


def test_a_lap_counts_as_one_decision_where_that_pays_more():
    punishing = replace(DEFAULT, inventory_weights={"stone": -1.0})
    stone = BY_NAME["placing a stone and taking it up again"]
    assert lap_pay(punishing, stone) == pytest.approx(0.05 + 0.10)


def test_steps_in_which_nothing_happens_are_scored_too():
    config = RewardConfig("potential_based")  # gamma 0.99 of 22 achievements: 0.22 less for each step
    assert lap_pay(config, BY_NAME["drinking with no thirst"]) == pytest.approx(-0.22)


def test_the_environment_itself_pays_for_health_alone():
    assert lap_pay(RewardConfig("environment"), BY_NAME["being hurt and healing"]) == pytest.approx(0.0)
