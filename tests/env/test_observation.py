"""What a policy sees is true."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.env.observation import NEAREST_KINDS, find_nearest, local_names, observation_text
from core.env.rules import SEMANTIC_IDS
from core.env.state import Chunk, WorldState
from tests.support.worlds import EnvMaker, first_state


def test_nearest_finds_the_closest_of_each_kind():
    semantic = first_state().semantic()
    for position in ((32, 32), (0, 0), (63, 10), (5, 63)):
        nearest = find_nearest(semantic, position)
        assert tuple(nearest) == NEAREST_KINDS
        for name, offset in nearest.items():
            cells = np.argwhere(semantic == SEMANTIC_IDS[name]) - position
            if not len(cells):
                assert offset is None
                continue
            assert offset is not None
            assert list(offset) in cells.tolist()
            assert abs(offset[0]) + abs(offset[1]) == np.abs(cells).sum(axis=1).min()


def test_at_equal_distance_the_left_then_the_upper_one_is_nearest():
    semantic = np.full((5, 5), SEMANTIC_IDS["grass"], np.uint8)
    for x, y in ((2, 1), (1, 2), (3, 2), (2, 3)):
        semantic[x, y] = SEMANTIC_IDS["tree"]
    semantic[2, 0] = semantic[2, 4] = SEMANTIC_IDS["coal"]
    nearest = find_nearest(semantic, (2, 2))
    assert nearest["tree"] == (-1, 0)
    assert nearest["coal"] == (0, -2)
    assert nearest["iron"] is None


def test_local_rows_run_from_top_to_bottom_and_left_to_right():
    semantic = first_state().semantic()
    rows = local_names(semantic, (32, 32), (9, 7))
    assert len(rows) == 7 and {len(row) for row in rows} == {9}
    for row, names in enumerate(rows):
        assert [SEMANTIC_IDS[name] for name in names] == semantic[28:37, 29 + row].tolist()
    assert rows[3][4] == "player"


@pytest.mark.parametrize("position", [(0, 0), (63, 63), (0, 63), (63, 0)])
def test_local_rows_say_none_outside_the_world(position: tuple[int, int]):
    rows = local_names(first_state().semantic(), position, (9, 7))
    assert len(rows) == 7 and {len(row) for row in rows} == {9}
    inside = [(x, y) for y, row in enumerate(rows) for x, name in enumerate(row) if name != "none"]
    assert len(inside) == 5 * 4
    assert (4, 3) in inside


def test_a_view_larger_than_the_world_has_all_its_rows():
    rows = local_names(np.full((2, 1), SEMANTIC_IDS["sand"], np.uint8), (1, 0), (9, 7))
    assert len(rows) == 7 and {len(row) for row in rows} == {9}
    assert rows[3] == ("none",) * 3 + ("sand",) * 2 + ("none",) * 4


def test_an_observation_agrees_with_the_environment(env_at: EnvMaker):
    env = env_at(30)
    _, reward, _, _, info = env.step(3)
    observation = env.observation(step_limit=500, last_env_reward=reward, env_return=1.5)
    assert observation.step == 31 and observation.step_limit == 500
    assert observation.inventory == info["inventory"]
    assert observation.achievement_counts == info["achievements"]
    assert observation.position == tuple(info["player_pos"])
    assert observation.facing == (0, -1)
    x, y = observation.position
    assert SEMANTIC_IDS[observation.faced] == info["semantic"][x, y - 1]
    assert np.array_equal(observation.semantic, info["semantic"])
    assert observation.daylight == env.scene().daylight
    assert observation.local[3][4] == "player"
    assert (observation.last_env_reward, observation.env_return) == (reward, 1.5)


def _busy(state: WorldState) -> WorldState:
    inventory = (9, 5, 9, 9, 1, 3, *state.player.inventory[6:])
    counts = (0, 0, 4, *state.player.achievement_counts[3:])
    player = replace(state.player, inventory=inventory, achievement_counts=counts, sleeping=True)
    corner = state.things[0]._replace(x=0, y=0, facing_x=-1, facing_y=0)
    return replace(state, player=player, things=(corner,), chunks=(Chunk(0, 0, (0,)),))


def test_the_text_describes_the_observation(env_at: EnvMaker):
    env = env_at(200, change=_busy)
    text = observation_text(env.observation(step_limit=1000, last_env_reward=-0.1, env_return=0.9))
    assert "Step 200 of 1000. Night, daylight" in text
    assert "You are asleep at x=0, y=0, facing left; in front of you: the edge of the world." in text
    assert "Vitals: health 9/9, food 5/9, drink 9/9, energy 9/9." in text
    assert "Inventory: sapling 1, wood 3." in text
    assert "Achievements (1 of 22): collect_drink x4." in text
    assert "Environment reward: last -0.10, total +0.90." in text
    assert text.count("player") == 1


def test_the_text_names_offsets_exactly(env_at: EnvMaker):
    offsets = {"water": (3, -2), "tree": (-1, 0), "cow": (0, 4), "grass": None}
    observation = replace(env_at().observation(step_limit=9), nearest=offsets)
    assert "Nearest: water 3 right 2 up; tree 1 left; cow 4 down." in observation_text(observation)


def test_the_text_says_when_the_episode_is_over(env_at: EnvMaker):
    env = env_at()
    assert "over" not in observation_text(env.observation(step_limit=9))
    assert observation_text(env.observation(step_limit=9, terminated=True)).endswith("You died: the episode is over.")
    assert "limit of the world is reached" in observation_text(env.observation(step_limit=9, truncated=True))
