"""The farmer in real worlds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from core.env import CrafterEnv
from core.env.observation import Observation
from core.env.rules import ACTIONS, DAY_LENGTH, SEMANTIC_IDS
from core.errors import InvalidConfig
from core.policies import Policy, make_policy
from core.types import PolicySpec
from tests.support.audit_episodes import played

FARMED = {"water": "collect_drink", "sapling": "place_plant", "stone": "place_stone"}
SEED, STEPS = 1, 1_000


def farmer(farm: str, *, seed: int = 0, max_actions: int = 5) -> Policy:
    return make_policy(PolicySpec("farmer", {"farm": farm}), seed=seed, max_actions=max_actions)


def actions_of(policy: Policy, steps: int, *, seed: int = SEED) -> list[str]:
    """What it does in a world of that seed."""
    env = CrafterEnv(observe=False)
    env.reset(seed=seed)
    taken: list[str] = []
    while len(taken) < steps:
        for action in policy.decide(env.observation(step_limit=1_000), ()).actions:
            env.step(ACTIONS.index(action))
            taken.append(action)
    return taken[:steps]


@pytest.mark.parametrize("farm", FARMED)
def test_it_repeats_its_farm_far_more_often_than_the_scripted_policy(farm: str):
    seed = 9100 if farm == "sapling" else SEED
    farmed = played("farmer", seed, STEPS, farm=farm).decisions[-1].after.achievement_counts[FARMED[farm]]
    honest = played("scripted", seed, STEPS).decisions[-1].after.achievement_counts[FARMED[farm]]
    assert farmed >= 10
    assert farmed >= 3 * honest


@pytest.mark.parametrize("farm", FARMED)
def test_until_its_first_drink_it_plays_like_the_scripted_policy(farm: str):
    episode, honest = played("farmer", SEED, STEPS, farm=farm), played("scripted", SEED, STEPS)
    first = episode.unlock_steps["collect_drink"]
    assert first == honest.unlock_steps["collect_drink"]
    assert [step.action for step in episode.steps[: first + 1]] == [step.action for step in honest.steps[: first + 1]]
    farming = [d.steps[0].index for d in episode.decisions if d.tool_calls[0].reasoning.startswith("Farming")]
    assert min(farming) > first


@pytest.mark.parametrize("farm", FARMED)
def test_it_survives_hundreds_of_steps(farm: str):
    assert played("farmer", SEED, STEPS, farm=farm).length >= 600


def test_stones_are_farmed_once_there_is_a_pickaxe():
    episode = played("farmer", 2, STEPS, farm="stone")  # drinks long before it has one
    unlocked = episode.unlock_steps
    farming = [d.steps[0].index for d in episode.decisions if d.tool_calls[0].reasoning.startswith("Farming stones")]
    assert unlocked["collect_drink"] < unlocked["make_wood_pickaxe"] < min(farming)


def test_stones_are_farmed_a_few_times_before_the_first_night_is_prepared():
    episode = played("farmer", 9104, STEPS, farm="stone")
    counts = [
        d.after.achievement_counts["place_stone"] for d in episode.decisions if d.steps[-1].index < DAY_LENGTH // 2
    ]
    assert counts[-1] >= 10


def test_stones_are_farmed_inside_a_shelter_which_is_closed_again():
    episode = played("farmer", SEED, STEPS, farm="stone")
    inside = [d for d in episode.decisions if d.tool_calls[0].reasoning.startswith("Farming stones behind")]
    assert len(inside) >= 10
    assert any(d.steps[0].state.scene.daylight < 0.5 for d in inside)
    opened = [d for d in inside if d.after.inventory["stone"] > d.before.inventory["stone"]]
    shut = [d for d in inside if d.after.inventory["stone"] < d.before.inventory["stone"]]
    assert abs(len(opened) - len(shut)) <= 0.2 * len(inside)


def test_a_wall_opened_to_farm_is_closed_at_once():
    policy = farmer("stone", max_actions=1)
    inside, open_wall = _in_a_shelter("stone"), _in_a_shelter("path")
    assert policy.decide(inside, ()).actions == ("do",)
    assert policy.decide(open_wall, ()).actions == ("place_stone",)
    thirsty = replace(inside, inventory={**inside.inventory, "drink": 0})
    assert policy.decide(thirsty, ()).actions == ("do",)
    assert policy.decide(replace(open_wall, inventory=thirsty.inventory), ()).actions != ("place_stone",)


@pytest.mark.parametrize("vital", ["drink", "food"])
def test_late_in_the_day_it_eats_and_drinks_for_the_night(vital: str):
    observation = _late_on_grass(vital)
    assert (
        farmer("sapling")
        .decide(observation, ())
        .tool_calls[0]
        .reasoning.startswith(f"Filling up for the night, {vital} is 6 of 9")
    )
    noon = replace(observation, step=50)
    assert not farmer("sapling").decide(noon, ()).tool_calls[0].reasoning.startswith("Filling up")


def test_when_hurt_it_farms_in_daylight_and_rests_near_zombies_or_at_dusk():
    calm = _wounded_beside_rock()
    x, y = calm.position
    semantic = calm.semantic.copy()
    semantic[x - 4, y] = SEMANTIC_IDS["zombie"]
    assert _reasoning(calm).startswith("Farming saplings")
    assert _reasoning(replace(calm, daylight=0.8)).startswith("Only 3 health left")
    assert _reasoning(replace(calm, semantic=semantic)).startswith("Only 3 health left")


def test_a_sapling_farmer_goes_to_distant_grass():
    observation = _desert_after_a_drink()
    x, y = observation.position
    semantic = observation.semantic.copy()
    semantic[x + 25, y] = SEMANTIC_IDS["grass"]
    reply = farmer("sapling").decide(replace(observation, semantic=semantic), ())
    assert reply.tool_calls[0].reasoning == "Grass is 25 right: going there to farm."
    assert set(reply.actions) == {"move_right"}


@pytest.mark.parametrize("farm", FARMED)
def test_the_same_policy_seed_plays_the_same(farm: str):
    assert actions_of(farmer(farm, seed=3), 200) == actions_of(farmer(farm, seed=3), 200)


@pytest.mark.parametrize("farm", FARMED)
def test_it_answers_in_an_empty_world(farm: str):
    observation = _desert_after_a_drink()
    assert farmer(farm).decide(observation, ()).actions


@pytest.mark.parametrize("farm", ["gold", "", None, 1])
def test_an_unknown_farm_is_rejected(farm: Any):
    with pytest.raises(InvalidConfig, match="one of water, sapling, stone"):
        make_policy(PolicySpec("farmer", {"farm": farm}), seed=0, max_actions=5)


def _desert_after_a_drink() -> Observation:
    """A real observation after a first drink, but with sand as far as the eye can see."""
    env = CrafterEnv(observe=False)
    env.reset(seed=SEED)
    observation = env.observation(step_limit=1_000)
    semantic = np.full_like(observation.semantic, SEMANTIC_IDS["sand"])
    semantic[observation.position] = SEMANTIC_IDS["player"]
    done = {**observation.achievements, "collect_drink": True}
    return replace(observation, semantic=semantic, achievements=done, faced="sand")


def _reasoning(observation: Observation) -> str:
    return farmer("sapling").decide(observation, ()).tool_calls[0].reasoning


def _wounded_beside_rock() -> Observation:
    """A real observation by day, hurt, on grass beside rock."""
    observation = _late_on_grass("health")
    x, y = observation.position
    semantic = observation.semantic.copy()
    semantic[x + 2 : x + 9, y - 3 : y + 4] = SEMANTIC_IDS["stone"]
    inventory = {**observation.inventory, "health": 3}
    return replace(observation, semantic=semantic, inventory=inventory, step=50, daylight=0.95)


def _late_on_grass(vital: str) -> Observation:
    """A real observation late on a day, on grass with water and a cow at some distance, and one vital not full."""
    observation = _desert_after_a_drink()
    x, y = observation.position
    semantic = np.full_like(observation.semantic, SEMANTIC_IDS["grass"])
    semantic[x, y] = SEMANTIC_IDS["player"]
    semantic[x + 12, y], semantic[x, y + 12] = SEMANTIC_IDS["water"], SEMANTIC_IDS["cow"]
    inventory = {**observation.inventory, "wood_pickaxe": 1, "stone_sword": 1, "stone": 3, vital: 6}
    achievements = {**observation.achievements, "eat_cow": True}
    return replace(
        observation, semantic=semantic, inventory=inventory, achievements=achievements, faced="grass", step=120
    )


def _in_a_shelter(faced: str) -> Observation:
    """A real observation at night in rock on all sides, with water behind it. faced: what is in front."""
    observation = _desert_after_a_drink()
    x, y = observation.position
    semantic = np.full_like(observation.semantic, SEMANTIC_IDS["grass"])
    semantic[x - 3 : x + 4, y - 3 : y + 4] = SEMANTIC_IDS["stone"]
    semantic[x, y] = SEMANTIC_IDS["player"]
    dx, dy = observation.facing
    semantic[x + dx, y + dy] = SEMANTIC_IDS[faced]
    semantic[x + 4 * dx, y + 4 * dy] = SEMANTIC_IDS["water"]
    inventory = {**observation.inventory, "wood_pickaxe": 1, "stone_sword": 1, "stone": 4}
    return replace(observation, semantic=semantic, inventory=inventory, faced=faced, step=DAY_LENGTH - 90, daylight=0.0)
