"""The random policy."""

from __future__ import annotations

from collections import Counter

import pytest

from core.env import CrafterEnv
from core.env.observation import Observation
from core.env.rules import ACTIONS
from core.policies import make_policy
from core.types import PolicySpec


@pytest.fixture(scope="module")
def observation() -> Observation:
    env = CrafterEnv(observe=False)
    env.reset(seed=3)
    return env.observation(step_limit=100)


def calls(observation: Observation, *, seed: int, count: int, max_actions: int = 5, **params: int):
    policy = make_policy(PolicySpec("random", dict(params)), seed=seed, max_actions=max_actions)
    return [policy.decide(observation, ()).actions for _ in range(count)]


def test_the_policy_seed_decides_the_calls(observation: Observation):
    assert calls(observation, seed=7, count=50) == calls(observation, seed=7, count=50)
    assert calls(observation, seed=7, count=50) != calls(observation, seed=8, count=50)


def test_reset_restarts_the_generator(observation: Observation):
    policy = make_policy(PolicySpec("random"), seed=7, max_actions=5)
    first = [policy.decide(observation, ()) for _ in range(20)]
    policy.reset(7)
    assert [policy.decide(observation, ()) for _ in range(20)] == first


def test_calls_have_min_to_max_actions_and_every_action_occurs(observation: Observation):
    drawn = calls(observation, seed=1, count=500, min_actions=2, max_actions=9)
    assert {len(actions) for actions in drawn} == {2, 3, 4, 5}  # the run's limit is 5
    assert set(Counter(action for actions in drawn for action in actions)) == set(ACTIONS)


def test_the_limit_of_the_run_overrides_min_actions(observation: Observation):
    policy = make_policy(PolicySpec("random", {"min_actions": 4}), seed=1, max_actions=1)
    assert {len(policy.decide(observation, ()).actions) for _ in range(20)} == {1}
