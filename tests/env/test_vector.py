"""A vector environment plays the same worlds as single environments."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from core.env import CrafterEnv, CrafterVectorEnv
from core.errors import InvalidConfig, InvalidInput, InvalidSeeds
from tests.support.tensors import Tensor

AREA = (24, 24)  # small worlds are made quickly
SEEDS: list[int | None] = [3, 11, 5]


def _actions(steps: int) -> np.ndarray:
    return np.random.RandomState(0).randint(0, 17, (steps, len(SEEDS)))


def test_a_batch_plays_the_worlds_of_single_environments():
    batch = CrafterVectorEnv(len(SEEDS), AREA, length=40)
    singles = [CrafterEnv(AREA, length=40) for _ in SEEDS]
    observations, _ = batch.reset(seed=SEEDS)
    expected = [env.reset(seed=seed)[0] for env, seed in zip(singles, SEEDS, strict=True)]
    assert np.array_equal(observations, expected)
    is_over = [False] * len(SEEDS)
    for actions in _actions(90):
        observations, rewards, terminated, truncated, infos = batch.step(actions)
        for at, (env, action) in enumerate(zip(singles, actions, strict=True)):
            if is_over[at]:  # the step after an end is the reset
                observation, info = env.reset()
                reward, ended, cut = 0.0, False, False
            else:
                observation, reward, ended, cut, info = env.step(action)
            is_over[at] = ended or cut
            assert np.array_equal(observations[at], observation)
            assert (rewards[at], terminated[at], truncated[at]) == (reward, ended, cut)
            assert infos["inventory"]["food"][at] == info["inventory"]["food"]
            assert np.array_equal(infos["semantic"][at], info["semantic"])
        assert batch.call("state_digest") == tuple(env.state_digest() for env in singles)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_infos_have_gymnasiums_form(mode: str):
    ours = CrafterVectorEnv(len(SEEDS), AREA, length=5, autoreset_mode=mode)
    gymnasiums = SyncVectorEnv([lambda: CrafterEnv(AREA, length=5)] * len(SEEDS), autoreset_mode=mode)
    _assert_same(ours.reset(seed=SEEDS)[1], gymnasiums.reset(seed=SEEDS)[1])
    for actions in _actions(12):
        _assert_same(ours.step(actions)[4], gymnasiums.step(actions)[4])


def _assert_same(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for name in theirs:
            _assert_same(ours[name], theirs[name])
    elif theirs.dtype == object:
        for one, other in zip(ours, theirs, strict=True):
            assert np.array_equal(one, other)
    else:
        assert ours.dtype == theirs.dtype and np.array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"num_envs": 0}, "The number of environments is 0"),
        ({"num_envs": 2.0}, "The number of environments"),
        ({"num_envs": True}, "The number of environments"),
        ({"num_envs": 2, "max_episode_steps": 0}, "The max_episode_steps"),
        ({"num_envs": 2, "max_episode_steps": "5"}, "The max_episode_steps"),
        ({"num_envs": 2, "autoreset_mode": "same_step"}, "SameStep"),
        ({"num_envs": 2, "render_mode": "human"}, "The render mode"),
    ],
)
def test_invalid_arguments_are_refused(arguments: dict[str, Any], sentence: str):
    with pytest.raises(InvalidConfig, match=sentence):
        CrafterVectorEnv(**arguments)


@pytest.mark.parametrize(
    "actions",
    [np.array([3, 5, 1], np.int8), Tensor([3, 5, 1]), [Tensor(3), np.int64(5), 1], (3, 5, 1)],
    ids=repr,
)
def test_actions_may_be_anything_with_an_index(actions: Any):
    batch, other = CrafterVectorEnv(len(SEEDS), AREA), CrafterVectorEnv(len(SEEDS), AREA)
    batch.reset(seed=SEEDS)
    other.reset(seed=SEEDS)
    batch.step([3, 5, 1])
    other.step(actions)
    assert other.call("state_digest") == batch.call("state_digest")


INVALID = [[0, 0, 99], [0, 0], 5, None, [[0], [0], [0]], [0, 0, "do"], [0, 1.5, 2], "012", Tensor([0, 0])]
BOOLS = [[0, 0, True], np.array([True, False, True]), Tensor([True, False, True], "torch.bool"), [0, 0, np.True_]]


@pytest.mark.parametrize("actions", [*INVALID, *BOOLS], ids=repr)
def test_invalid_actions_are_refused_and_no_world_moves(actions: Any):
    batch = CrafterVectorEnv(len(SEEDS), AREA)
    batch.reset(seed=SEEDS)
    before = batch.call("state_digest")
    with pytest.raises(InvalidInput):
        batch.step(actions)
    assert batch.call("state_digest") == before


@pytest.mark.parametrize("seed", [[1, -1, 3], [1, 2], 1.5, True, "1", 2**31 - 2, [1, 2, None, 4]])
def test_invalid_seeds_are_refused_and_no_world_is_reset(seed: Any):
    batch = CrafterVectorEnv(len(SEEDS), AREA)
    batch.reset(seed=SEEDS)
    before = batch.call("state_digest")
    with pytest.raises(InvalidSeeds):
        batch.reset(seed=seed)
    assert batch.call("state_digest") == before


def test_a_single_seed_is_counted_up_also_in_a_pickled_batch():
    batch: CrafterVectorEnv = pickle.loads(pickle.dumps(CrafterVectorEnv(len(SEEDS), AREA)))
    first, _ = batch.reset(seed=np.int64(3))
    again, _ = batch.reset(seed=[3, 4, 5])
    assert np.array_equal(first, again)


def test_a_reset_mask_resets_only_the_chosen_worlds():
    batch = CrafterVectorEnv(len(SEEDS), AREA)
    batch.reset(seed=SEEDS)
    before = batch.call("state_digest")
    options = {"reset_mask": np.array([False, True, False])}
    batch.reset(options=options)
    after = batch.call("state_digest")
    assert "reset_mask" in options
    assert [one == other for one, other in zip(before, after, strict=True)] == [True, False, True]
    for mask in ([True], np.zeros(3, bool), "all"):
        with pytest.raises(InvalidConfig, match="reset mask"):
            batch.reset(options={"reset_mask": mask})


@pytest.mark.parametrize(("length", "max_episode_steps"), [(3, None), (3, -1), (3, 5), (10_000, 3)])
def test_an_episode_is_truncated_at_its_length_or_max_episode_steps(length: int, max_episode_steps: int | None):
    batch = CrafterVectorEnv(2, AREA, length=length, max_episode_steps=max_episode_steps)
    batch.reset(seed=3)
    assert [batch.step([0, 0])[3].tolist() for _ in range(3)] == [[False, False], [False, False], [True, True]]


def test_a_batch_renders():
    batch = CrafterVectorEnv(2, AREA, render_mode="rgb_array")
    batch.reset(seed=3)
    assert batch.render_mode == "rgb_array"
    pictures: Any = batch.render()
    assert np.shape(pictures) == (2, 64, 64, 3)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_pickled_batch_continues_exactly_even_before_an_automatic_reset(mode: str):
    batch = CrafterVectorEnv(len(SEEDS), AREA, length=5, autoreset_mode=mode)
    batch.reset(seed=SEEDS)
    batch.action_space.seed(1)
    for _ in range(5):  # all have ended now
        batch.step(batch.action_space.sample())
    copied: CrafterVectorEnv = pickle.loads(pickle.dumps(batch))
    for _ in range(12):
        actions = batch.action_space.sample()
        assert np.array_equal(copied.action_space.sample(), actions)
        ours, theirs = batch.step(actions), copied.step(actions)
        for one, other in zip(ours[:4], theirs[:4], strict=True):
            assert np.array_equal(one, other)
        assert copied.call("state_digest") == batch.call("state_digest")


def test_the_masks_of_infos_do_not_share_memory():
    batch = CrafterVectorEnv(len(SEEDS), AREA)
    _, infos = batch.reset(seed=SEEDS)
    infos["inventory"]["_health"][0] = False
    assert infos["inventory"]["_food"].all()
