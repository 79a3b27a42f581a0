"""`CrafterEnv` as gymnasium and its users expect it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from core.env import CrafterEnv
from core.env.rules import ACHIEVEMENTS, ACTIONS, INITIAL_ITEM
from core.env.state import WorldState
from core.errors import EngineError, InvalidConfig, InvalidInput, InvalidSeeds
from core.types import EnvConfig
from tests.support.tensors import Tensor
from tests.support.worlds import EnvMaker, beside_a_table

SMALL = {"area": (16, 16), "length": 50}
INFO_KEYS = {"inventory", "achievements", "discount", "semantic", "player_pos", "reward"}


@pytest.mark.parametrize("observe", [True, False])
def test_the_environment_passes_gymnasiums_check(observe: bool):
    check_env(gymnasium.make("Craftscope/Crafter-v1", **SMALL, observe=observe).unwrapped)


def test_reset_and_step_return_observations_and_infos_of_one_form():
    env = CrafterEnv(**SMALL)
    observation, info = env.reset(seed=3)
    assert info.keys() == INFO_KEYS
    assert info["inventory"] == INITIAL_ITEM
    assert info["achievements"] == dict.fromkeys(ACHIEVEMENTS, 0)
    assert info["reward"] == 0.0 and info["discount"] == 1.0
    for _ in range(3):
        assert observation.dtype == np.uint8 and observation.shape == (64, 64, 3)
        assert observation.flags.c_contiguous
        assert observation in env.observation_space
        observation, reward, terminated, truncated, info = env.step(0)
        assert info.keys() == INFO_KEYS and info["reward"] == reward
        assert not terminated and not truncated
        assert type(reward) is float


def test_everything_returned_is_a_copy():
    env = CrafterEnv(**SMALL)
    observation, info = env.reset(seed=3)
    for step in range(4):
        before = env.state_digest()
        observation[:] = 0
        info["player_pos"][:] = 1
        info["semantic"][:] = 0
        info["inventory"].update(health=0, diamond=9)
        info["achievements"].clear()
        env.facts().inventory.clear()
        env.scene().inventory.clear()
        env.observation(step_limit=1).semantic[:] = 0
        env.world_image()[:] = 0
        env.render()[:] = 0
        assert env.state_digest() == before
        observation, _, _, _, info = env.step(step)
    assert info["inventory"]["diamond"] == 0 and len(info["achievements"]) == len(ACHIEVEMENTS)


def test_reset_without_a_seed_starts_the_seeds_next_world():
    env = CrafterEnv(**SMALL, observe=False)
    worlds: dict[int, str] = {}
    for episode in (1, 2, 3):
        env.reset(seed=9 if episode == 1 else None)
        worlds[episode] = env.state_digest()
    assert len(set(worlds.values())) == 3
    env.reset(seed=9, options={"episode": 3})
    assert env.state_digest() == worlds[3]
    env.reset(options={"episode": 2})
    assert env.state_digest() == worlds[2]
    env.reset()
    assert env.state_digest() == worlds[3]
    env.reset(seed=np.int64(9))  # pyright: ignore[reportArgumentType]
    assert env.state_digest() == worlds[1]


def test_the_first_reset_without_a_seed_draws_one():
    worlds: set[str] = set()
    for _ in range(2):
        env = CrafterEnv(**SMALL, observe=False)
        env.reset()
        worlds.add(env.world_digest())
    assert len(worlds) == 2


@pytest.mark.parametrize("seed", [True, "42", 4.0, -1, 2**31, [1], np.bool_(True)])
def test_an_invalid_seed_is_refused_and_nothing_changes(seed: Any):
    env = CrafterEnv(**SMALL, observe=False)
    env.reset(seed=5)
    before = env.state_digest()
    with pytest.raises(InvalidSeeds, match="give a whole number from 0 to 2147483647"):
        env.reset(seed=seed)
    assert env.state_digest() == before


@pytest.mark.parametrize("episode", [0, -3, "2", True, None, 1.5])
def test_an_invalid_episode_is_refused(episode: Any):
    env = CrafterEnv(**SMALL)
    with pytest.raises(InvalidSeeds, match="which world of the seed"):
        env.reset(seed=1, options={"episode": episode})


def test_an_unknown_option_is_refused_with_a_suggestion():
    with pytest.raises(InvalidConfig, match=r'"episode"\?'):
        CrafterEnv(**SMALL).reset(options={"episodes": 2})


@pytest.mark.parametrize(
    "action", [np.int8(5), np.uint64(5), np.array(5), Tensor(5), Tensor(5, "torch.uint8")], ids=repr
)
def test_an_action_may_be_anything_with_an_index(env_at: EnvMaker, action: Any):
    env, other = env_at(), env_at()
    env.step(5)
    other.step(action)
    assert other.state_digest() == env.state_digest()


BOOLS = [True, np.True_, np.array(True), Tensor(True, "torch.bool")]
FLOATS = [1.0, np.float32(1), np.array(1.0), Tensor(1.0, "torch.float32")]


@pytest.mark.parametrize("action", [17, -1, Tensor(17), *BOOLS, *FLOATS, None, [1], np.array([1])], ids=repr)
def test_an_invalid_action_is_refused_and_nothing_changes(env_at: EnvMaker, action: Any):
    env = env_at()
    before = env.state_digest()
    with pytest.raises(InvalidInput, match=r"a whole number from 0 \(noop\) to 16 \(make_iron_sword\)"):
        env.step(action)
    assert env.state_digest() == before


def test_an_action_given_by_name_is_refused_with_its_number(env_at: EnvMaker):
    with pytest.raises(InvalidInput, match='"do" has the number 5'):
        env_at().step("do")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInput, match='did you mean "move_left"'):
        env_at().step("moveleft")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("call", ["render", "scene", "state", "snapshot", "state_digest", "world_image", "facts"])
def test_before_the_first_reset_every_call_says_so(call: str):
    env = CrafterEnv(**SMALL)
    with pytest.raises(EngineError, match=r"call reset\(\) first"):
        getattr(env, call)()
    with pytest.raises(EngineError, match=r"call reset\(\) first"):
        env.step(0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"area": (0, 64)}, "The area is"),
        ({"area": (64,)}, "The area is"),
        ({"area": "64x64"}, "The area is"),
        ({"area": (64, 5000)}, "each from 1 to 1024"),
        ({"area": (True, 64)}, "The area is"),
        ({"view": (9, 2)}, "give it a height of 3 or more"),
        ({"view": (33, 9)}, "each from 1 to 32"),
        ({"view": 9.0}, "The view is"),
        ({"size": (10, 64)}, "at least 18 x 18 pixels"),
        ({"size": 100_000}, "each from 1 to 4096"),
        ({"length": 0}, "The length is 0"),
        ({"length": None}, "The length is None"),
        ({"length": 1.5}, "The length is 1.5"),
        ({"render_mode": "human"}, 'give "rgb_array" or None'),
    ],
)
def test_an_invalid_configuration_is_refused(arguments: dict[str, Any], sentence: str):
    with pytest.raises(InvalidConfig, match=sentence):
        CrafterEnv(**arguments)


def test_other_worlds_views_and_sizes_work():
    env = CrafterEnv(area=(20, 14), view=(7, 11), size=(140, 99), length=25)
    observation, info = env.reset(seed=1)
    assert observation.shape == (99, 140, 3) and observation in env.observation_space
    assert info["semantic"].shape == (20, 14)
    assert info["player_pos"].tolist() == [10, 7]
    assert env.scene().grid == (7, 8)
    assert env.config == EnvConfig((20, 14), (7, 11), 25)
    truncations = [env.step(0)[3] for _ in range(25)]
    assert truncations == [False] * 24 + [True]


def test_one_number_means_both_sides():
    env = CrafterEnv(area=np.array([12, 12]), view=9, size=90)  # pyright: ignore[reportArgumentType]
    assert env.config.area == (12, 12) and env.config.view == (9, 9) and env.size == (90, 90)
    env = CrafterEnv.from_config(EnvConfig(area=(8, 8), length=3), observe=False)
    assert env.config.length == 3 and not env.observe


def test_the_smallest_world_can_be_played():
    env = CrafterEnv(area=(1, 1))
    env.reset(seed=0)
    for action in range(len(ACTIONS)):
        env.step(action)
    assert env.observation(step_limit=20).faced == "none"


def test_death_terminates_and_the_length_truncates(env_at: EnvMaker):
    def starving(state: WorldState) -> WorldState:
        player = state.things[0]._replace(health=1)
        values = state.player
        inventory = (1, 0, 0, 0, *values.inventory[4:])
        return replace(
            state,
            things=(player, *state.things[1:]),
            player=replace(values, inventory=inventory, recover=-15.0, last_health=1),
            rewarded_health=1,
        )

    _, reward, terminated, truncated, info = env_at(change=starving).step(0)
    assert terminated and not truncated
    assert info["discount"] == 0.0 and info["inventory"]["health"] == 0
    assert reward == -0.1
    _, _, terminated, truncated, _ = env_at(step=9_999).step(0)
    assert truncated and not terminated


def test_state_and_info_agree(env_at: EnvMaker):
    env = env_at()
    _, _, _, _, info = env.step(6)
    record = env.state()
    assert record.facts == env.facts()
    assert record.scene == env.scene()
    assert record.state_digest == env.state_digest()
    assert record.world_digest == env.world_digest()
    assert record.facts.inventory == info["inventory"]
    assert record.facts.achievement_counts == info["achievements"]
    assert record.facts.position == tuple(info["player_pos"])


@pytest.mark.parametrize(("x", "y", "made"), [(1, 1, 1), (0, 5, 0), (5, 0, 0), (0, 0, 0), (62, 62, 1)])
def test_nothing_can_be_made_at_the_left_and_upper_edge(env_at: EnvMaker, x: int, y: int, made: int):
    env = env_at(change=beside_a_table(x, y))
    *_, info = env.step(ACTIONS.index("make_wood_pickaxe"))
    assert info["inventory"]["wood_pickaxe"] == made
    assert info["inventory"]["wood"] == 1 - made
