"""Pictures for people look like upstream's, at any size."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest

from core.env.render import textures
from core.env.state import Chunk, WorldState
from core.errors import InvalidConfig
from core.types import EnvConfig
from tests.support.ordered_upstream import OrderedUpstream
from tests.support.worlds import SEED, EnvMaker


def _in_the_corner(state: WorldState) -> WorldState:
    player = state.things[0]._replace(x=0, y=0)
    return replace(state, things=(player,), chunks=(Chunk(0, 0, (0,)),))


def _asleep(state: WorldState) -> WorldState:
    tired = (9, 9, 9, 3, *state.player.inventory[4:])
    return replace(state, player=replace(state.player, sleeping=True, inventory=tired))


@pytest.mark.parametrize("change", [None, _in_the_corner, _asleep], ids=["in the open", "in the corner", "asleep"])
def test_by_day_a_picture_of_64_pixels_equals_the_observation(env_at: EnvMaker, change: object):
    env = env_at(20, change=change)
    for action in (0, 4, 2, 5, 0, 3):
        observation, *_ = env.step(action)
        assert np.array_equal(env.render(64), observation)


def test_at_night_only_the_noise_differs_from_the_observation(env_at: EnvMaker):
    env = env_at(200)
    observation, *_ = env.step(0)
    picture = env.render(64)
    assert not np.array_equal(picture, observation)
    assert np.array_equal(picture[49:], observation[49:])  # the inventory
    assert abs(picture.mean() - observation.mean()) < 2.0


@functools.cache
def _first_world_of_upstream() -> OrderedUpstream:
    upstream = OrderedUpstream(EnvConfig(), draws_picture=False)
    upstream.start(SEED, 1)
    return upstream


@pytest.mark.parametrize("step", [20, 200], ids=["by day", "by night"])
@pytest.mark.parametrize("size", [(18, 18), (64, 64), (512, 512), (301, 200)], ids=str)
def test_at_any_size_a_picture_equals_upstream(env_at: EnvMaker, step: int, size: tuple[int, int]):
    expected = _first_world_of_upstream().picture_at(step, size, np.random.RandomState([SEED, 1, step]))
    assert np.array_equal(env_at(step).render(size), expected)


def test_a_state_always_looks_the_same(env_at: EnvMaker):
    env, other = env_at(200), env_at(200, observe=False)
    assert np.array_equal(env.render(270), env.render(270))
    assert np.array_equal(env.render(270), other.render(270))
    env.step(0)
    assert not np.array_equal(env.render(270), other.render(270))


def test_a_large_picture_shows_whole_textures(env_at: EnvMaker):
    env = env_at(40, size=(144, 144))  # 16 pixels a cell, as the textures are
    health = env.render()[7 * 16 :, :16]
    icon = textures().get("health", (12, 12))[..., :3].transpose(1, 0, 2)
    assert np.array_equal(health[1:6, 1:6], icon[:5, :5])


@pytest.mark.parametrize("size", [17, 0, -5, 5000, "big", (64,), (64, 64, 3), True])
def test_an_invalid_size_is_refused(env_at: EnvMaker, size: object):
    with pytest.raises(InvalidConfig, match="The size"):
        env_at().render(size)  # pyright: ignore[reportArgumentType]


def test_the_whole_world_is_drawn_cell_by_cell(env_at: EnvMaker):
    env = env_at()
    picture = env.world_image(16)
    assert picture.shape == (1024, 1024, 3) and picture.dtype == np.uint8
    semantic = env.observation(step_limit=1).semantic
    for name, id_ in (("water", 1), ("grass", 2), ("stone", 3)):
        x, y = np.argwhere(semantic == id_)[0]
        tile = textures().get(name, (16, 16))[..., :3].transpose(1, 0, 2)
        assert np.array_equal(picture[y * 16 : y * 16 + 16, x * 16 : x * 16 + 16], tile)
    player = picture[32 * 16 : 33 * 16, 32 * 16 : 33 * 16]
    assert not np.array_equal(player, textures().get("grass", (16, 16))[..., :3].transpose(1, 0, 2))
    assert env.world_image().shape == (256, 256, 3)


@pytest.mark.parametrize("cell", [0, 65, 1.5, "4"])
def test_an_invalid_cell_size_is_refused(env_at: EnvMaker, cell: object):
    with pytest.raises(InvalidConfig, match="The cell size"):
        env_at().world_image(cell)  # pyright: ignore[reportArgumentType]
