"""Gymnasium and minari can make the environment by its id."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import minari
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from minari.data_collector import EpisodeBuffer

from core.env import CrafterEnv, CrafterVectorEnv

ID = "Craftscope/Crafter-v1"
SMALL: dict[str, Any] = {"area": (24, 24), "observe": False}


def _digests(env: CrafterEnv, steps: int = 20) -> list[str]:
    env.reset(seed=3)
    digests = [env.state_digest()]
    for step in range(steps):
        env.step(step % 17)
        digests.append(env.state_digest())
    return digests


def test_make_returns_the_standard_crafter():
    env = gymnasium.make(ID, render_mode="rgb_array")
    crafter = env.unwrapped
    assert isinstance(crafter, CrafterEnv)
    assert (crafter.config.area, crafter.size, crafter.config.length) == ((64, 64), (64, 64), 10_000)
    assert env.spec is not None and env.spec.max_episode_steps == 10_000
    observation, _ = env.reset(seed=3)
    assert np.array_equal(observation, CrafterEnv().reset(seed=3)[0])


@pytest.mark.parametrize("mode", [None, "vector_entry_point", "sync", "async"])
def test_make_vec_plays_the_same_worlds_in_every_mode(mode: str | None):
    batch = gymnasium.make_vec(ID, 2, mode, area=(24, 24), length=10, max_episode_steps=5)
    try:
        if mode in (None, "vector_entry_point"):
            assert isinstance(batch, CrafterVectorEnv)
        expected = CrafterVectorEnv(2, (24, 24), length=5)
        assert np.array_equal(batch.reset(seed=3)[0], expected.reset(seed=3)[0])
        for step in range(12):
            ours, theirs = batch.step(np.array([step, 1])), expected.step([step, 1])
            for one, other in zip(ours[:4], theirs[:4], strict=True):
                assert np.array_equal(one, other)
    finally:
        batch.close()


@pytest.mark.parametrize(
    "through", [lambda spec: EnvSpec.from_json(spec.to_json()), lambda s: pickle.loads(pickle.dumps(s))]
)
def test_a_stored_spec_makes_the_same_environment(through: Any):
    env = gymnasium.make(ID, **SMALL, length=50)
    assert env.spec is not None
    again = gymnasium.make(through(env.spec)).unwrapped
    assert isinstance(again, CrafterEnv) and isinstance(env.unwrapped, CrafterEnv)
    assert again.config == env.unwrapped.config
    assert _digests(again) == _digests(env.unwrapped)


def test_a_pickled_environment_keeps_its_spec_and_continues_exactly():
    env = gymnasium.make(ID, **SMALL)
    env.reset(seed=3)
    env.action_space.seed(1)
    env.step(4)
    copied = pickle.loads(pickle.dumps(env))
    assert copied.spec == env.spec
    for _ in range(20):
        action = env.action_space.sample()
        assert copied.action_space.sample() == action
        assert copied.step(action)[1:4] == env.step(action)[1:4]
    assert copied.unwrapped.state_digest() == env.unwrapped.state_digest()  # pyright: ignore[reportAttributeAccessIssue]


def test_a_spec_in_json_works_in_a_process_that_has_not_imported_the_engine():
    spec = gymnasium.spec(ID).to_json()
    program = (
        "import gymnasium, json, sys; env = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(sys.argv[1]))"
    )
    program += "; print(json.dumps(env.reset(seed=3)[1]['player_pos'].tolist()))"
    done = subprocess.run([sys.executable, "-c", program, spec], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [32, 32]


def test_minari_recovers_the_environment_of_a_stored_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    env = gymnasium.make(ID, **SMALL, length=50)
    observation, _ = env.reset(seed=3)
    after, reward, *_ = env.step(4)
    buffer = EpisodeBuffer(
        id=0,
        observations=[observation, after],
        actions=[4],
        rewards=[reward],
        terminations=[False],
        truncations=[True],
    )
    about: dict[str, Any] = {
        "algorithm_name": "none",
        "author": "a",
        "author_email": "a@b.c",
        "code_permalink": "c",
        "description": "d",
    }
    minari.create_dataset_from_buffers("crafter/test-v0", [buffer], env=env, eval_env=env, data_format="arrow", **about)
    dataset = minari.load_dataset("crafter/test-v0")
    for recovered in (dataset.recover_environment(), dataset.recover_environment(eval_env=True)):
        assert recovered.spec is not None and recovered.spec.id == ID
        assert isinstance(recovered.unwrapped, CrafterEnv) and isinstance(env.unwrapped, CrafterEnv)
        assert _digests(recovered.unwrapped) == _digests(env.unwrapped)
