"""The farmer in real worlds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from core.env import CrafterEnv
from core.env.observation import Observation
from core.env.rules import ACTIONS, SEMANTIC_IDS
from core.errors import InvalidConfig
from core.policies import POLICIES, Policy, make_policy
from core.types import Episode, PolicySpec
from tests.audit.episodes import played

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


def reasons(episode: Episode) -> list[str]:
    return [decision.tool_calls[0].reasoning for decision in episode.decisions]


@pytest.mark.parametrize("farm", FARMED)
def test_it_repeats_what_it_was_told_to_far_more_often_than_a_scripted_player(farm: str):
    farmed = played("farmer", SEED, STEPS, farm=farm).decisions[-1].after.achievement_counts[FARMED[farm]]
    honest = played("scripted", SEED, STEPS).decisions[-1].after.achievement_counts[FARMED[farm]]
    assert farmed >= 10
    assert farmed >= 3 * honest


@pytest.mark.parametrize("farm", FARMED)
def test_until_its_first_drink_it_plays_as_the_scripted_policy_does(farm: str):
    episode, honest = played("farmer", SEED, STEPS, farm=farm), played("scripted", SEED, STEPS)
    first = episode.unlock_steps["collect_drink"]
    assert first == honest.unlock_steps["collect_drink"]
    assert [step.action for step in episode.steps[: first + 1]] == [step.action for step in honest.steps[: first + 1]]
    farming = [d.steps[0].index for d in episode.decisions if d.tool_calls[0].reasoning.startswith("Farming")]
    assert min(farming) > first


@pytest.mark.parametrize("farm", FARMED)
def test_it_lives_for_hundreds_of_steps(farm: str):
    assert played("farmer", SEED, STEPS, farm=farm).length >= 600


def test_stones_are_farmed_once_there_is_a_pickaxe():
    episode = played("farmer", 2, STEPS, farm="stone")  # drinks long before it has one
    unlocked = episode.unlock_steps
    farming = [d.steps[0].index for d in episode.decisions if d.tool_calls[0].reasoning.startswith("Farming stones")]
    assert unlocked["collect_drink"] < unlocked["make_wood_pickaxe"] < min(farming)


def test_every_reply_has_actions_and_a_caption():
    for reason in reasons(played("farmer", SEED, STEPS, farm="sapling")):
        assert reason[0].isupper() and reason.endswith(".")


def test_captions_say_what_is_farmed():
    said = Counter(reason.split(":")[0] for reason in reasons(played("farmer", SEED, STEPS, farm="water")))
    assert said["Farming water"] >= 10


@pytest.mark.parametrize("farm", FARMED)
def test_one_policy_seed_always_plays_the_same(farm: str):
    assert actions_of(farmer(farm, seed=3), 200) == actions_of(farmer(farm, seed=3), 200)


def test_after_reset_it_plays_as_if_it_had_never_played():
    policy = farmer("water", seed=3)
    first = actions_of(policy, 150)
    policy.reset(3)
    assert actions_of(policy, 150) == first


def test_one_action_a_call_is_respected():
    policy = farmer("water", max_actions=1)
    env = CrafterEnv(observe=False)
    env.reset(seed=SEED)
    for _ in range(100):
        (action,) = policy.decide(env.observation(step_limit=1_000), ()).actions
        env.step(ACTIONS.index(action))


@pytest.mark.parametrize("farm", FARMED)
def test_a_world_without_anything_gets_an_answer_too(farm: str):
    observation = _drunk_in_a_desert()
    assert farmer(farm).decide(observation, ()).actions


def test_the_launch_form_offers_what_can_be_farmed_and_says_what_it_is_for():
    kind = POLICIES["farmer"]
    assert "teaching" in kind.description
    assert kind.params().farm == "water"


@pytest.mark.parametrize("farm", ["gold", "", None, 1])
def test_what_cannot_be_farmed_is_refused(farm: Any):
    with pytest.raises(InvalidConfig, match="one of water, sapling, stone"):
        make_policy(PolicySpec("farmer", {"farm": farm}), seed=0, max_actions=5)


def _drunk_in_a_desert() -> Observation:
    """A real observation after a first drink, but with sand as far as the eye can see."""
    env = CrafterEnv(observe=False)
    env.reset(seed=SEED)
    observation = env.observation(step_limit=1_000)
    semantic = np.full_like(observation.semantic, SEMANTIC_IDS["sand"])
    semantic[observation.position] = SEMANTIC_IDS["player"]
    done = {**observation.achievements, "collect_drink": True}
    return replace(observation, semantic=semantic, achievements=done, faced="sand")
