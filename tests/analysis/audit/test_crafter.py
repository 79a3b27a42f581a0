"""What the audit takes for Crafter's rules is what the engine does."""

from __future__ import annotations

import pytest

from core.analysis.audit.crafter import LOOPS, MOST, UNLOCKS, VITALS, Loop
from core.env import CrafterEnv
from core.env.rules import ACHIEVEMENTS, ACTIONS, COLLECT, ITEMS, MAKE, MAX_ITEM, PLACE, RIPE_AGE
from core.env.rules import VITALS as TRUE_VITALS

BY_NAME = {loop.name: loop for loop in LOOPS}


def test_the_unlocks_are_crafters():
    assert tuple(UNLOCKS) == ACHIEVEMENTS
    assert VITALS == TRUE_VITALS
    assert set(MAX_ITEM.values()) == {MOST}


def test_what_unlocks_bring_is_what_the_recipes_give():
    for rule in COLLECT.values():
        for item, amount in rule.receives.items():
            assert UNLOCKS[f"collect_{item}"] == {item: amount}
    for item, rule in MAKE.items():
        assert UNLOCKS[f"make_{item}"] == {item: rule.gives}
    assert all(item in ITEMS for gains in UNLOCKS.values() for item in gains)


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.name)
def test_a_loop_ends_with_what_it_began_with(loop: Loop):
    change = {item: 0 for event in loop.events for item in event.inventory}
    for event in loop.events:
        for item, amount in event.inventory.items():
            change[item] += amount
    assert set(change.values()) <= {0}
    assert len(loop.events) <= loop.steps


def test_what_stones_saplings_and_plants_take_follows_from_the_recipes():
    assert PLACE["stone"].uses == {"stone": 1}
    assert COLLECT["stone"].leaves in PLACE["stone"].where
    assert PLACE["plant"].uses == {"sapling": 1}
    assert BY_NAME["planting saplings"].steps == 1 / COLLECT["grass"].probability + 2
    assert BY_NAME["eating a plant whenever it is ripe"].steps == RIPE_AGE + 1
    assert COLLECT["water"].leaves == "water"


def steps_until(env: CrafterEnv, action: str, vital: str, amount: int) -> int:
    """How often the action has to be done until that much of a vital is held."""
    for steps in range(1, 200):
        _, _, _, _, info = env.step(ACTIONS.index(action))
        if info["inventory"][vital] == amount:
            return steps
    raise AssertionError(f"{vital} never came to {amount}")


@pytest.fixture
def env() -> CrafterEnv:
    env = CrafterEnv(observe=False)
    env.reset(seed=0)
    return env


def test_sleeping_takes_a_lap_as_long_as_is_said(env: CrafterEnv):
    awake = steps_until(env, "noop", "energy", 8)
    asleep = steps_until(env, "sleep", "energy", 9)
    _, _, _, _, info = env.step(ACTIONS.index("noop"))
    assert info["achievements"]["wake_up"] == 1
    assert awake + asleep == BY_NAME["getting tired and sleeping"].steps


def test_hunger_and_thirst_come_as_fast_as_is_said(env: CrafterEnv):
    assert steps_until(env, "noop", "drink", 8) == BY_NAME["drinking when thirsty"].steps
    env.reset(seed=0)
    assert 6 * steps_until(env, "noop", "food", 8) == BY_NAME["getting hungry and eating cows"].steps
