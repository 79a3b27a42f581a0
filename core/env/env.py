"""`CrafterEnv`: a deterministic Crafter as a gymnasium environment."""

from __future__ import annotations

from typing import Any, ClassVar, cast

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from core.env.checks import checked_action, checked_config, checked_episode, checked_number, checked_seed, checked_size
from core.env.digest import digests
from core.env.observation import Observation, find_nearest, local_names
from core.env.render import draw_scene, draw_world
from core.env.rules import ACHIEVEMENTS, ACTIONS, ITEMS, SEMANTIC_NAMES
from core.env.scene import scene_of
from core.env.simulation import AGENT_SIZE, Simulation, local_grid
from core.env.snapshot import pack_snapshot, unpack_snapshot
from core.env.state import WorldState
from core.errors import EngineError, InvalidConfig, did_you_mean
from core.types import EnvConfig, Scene, StateFacts, StateRecord


class CrafterEnv(gymnasium.Env[NDArray[np.uint8], int]):
    """Crafter whose trajectory depends on nothing but configuration, seed, episode and actions.

    area, view: width and height in cells. size: width and height of the agent's picture in pixels. A single number
    means both. length: steps until truncation. observe=False: the same trajectory, but no picture is drawn and the
    observation is zeros. render_mode: None or "rgb_array"; `render` works with either.
    Raises InvalidConfig for an invalid value.

    Observation: uint8 (height, width, 3), C-contiguous. At 64x64 it is byte for byte what upstream draws; upstream's
    night draws from the world's generator for each pixel of it. At any other size the trajectory stays that of 64x64,
    and the picture is what `render` gives.

    The end of an episode is reported, not enforced: as in upstream, further steps are possible.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 10}  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(
        self,
        area: tuple[int, int] = (64, 64),
        view: tuple[int, int] = (9, 9),
        size: tuple[int, int] = AGENT_SIZE,
        length: int = 10_000,
        observe: bool = True,
        *,
        render_mode: str | None = None,
    ) -> None:
        self.config = checked_config(area, view, length)
        self.size = checked_size(size, self.config.view)
        if render_mode not in (None, "rgb_array"):
            raise InvalidConfig(f'The render mode is {render_mode!r}; give "rgb_array" or None.')
        self.render_mode = render_mode
        self.observe = bool(observe)
        self.observation_space = Box(0, 255, (self.size[1], self.size[0], 3), np.uint8)
        self.action_space = cast(gymnasium.Space[int], Discrete(len(ACTIONS)))
        self._grid = local_grid(self.config.view)
        self._simulation = self._new_simulation()
        self._seed: int | None = None
        self._episode = 0
        self._current: WorldState | None = None  # the current state, once it has been asked for

    @property
    def seed_and_episode(self) -> tuple[int, int]:
        """The seed, and which world of it, from 1. Raises EngineError before the first reset."""
        self._require_world()
        return cast(int, self._seed), self._episode

    @classmethod
    def from_config(cls, config: EnvConfig, observe: bool = True) -> CrafterEnv:
        """Raises InvalidConfig."""
        return cls(config.area, config.view, length=config.length, observe=observe)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        """Start the first world of `seed`, or without a seed the next world of the current one.

        seed: 0 to 2**31 - 1; the very first reset without one draws it. options: {"episode": k} starts the k-th world
        of the seed, k from 1. Returns observation and info with the keys of `step`.
        Raises InvalidSeeds for an invalid seed or episode, InvalidConfig for an unknown option.
        """
        seed = None if seed is None else checked_seed(seed)
        episode = _episode_option(options)
        super().reset(seed=seed)
        if seed is None and self._seed is None:
            seed = int(self.np_random.integers(2**31))
        following = 1 if seed is not None else self._episode + 1
        episode = checked_episode(following if episode is None else episode)
        self._seed, self._episode = self._seed if seed is None else seed, episode
        self._current = None
        picture = self._simulation.start(cast(int, self._seed), self._episode)
        return self._observed(picture), self._info(0.0)

    def step(self, action: int) -> tuple[NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        """One step. action: index into `rules.ACTIONS`.

        Returns observation, reward, terminated (the player died), truncated (the length is reached) and info: copies
        of inventory, achievements (counts), discount, semantic (uint8 (width, height), indexed [x][y]), player_pos
        (int64 (2,)) and reward.
        Raises InvalidInput for an invalid action, EngineError before the first reset.
        """
        number = checked_action(action)
        self._require_world()
        self._current = None
        picture, reward = self._simulation.advance(number)
        truncated = self._simulation.step_count >= self.config.length
        return self._observed(picture), reward, self._simulation.is_dead, truncated, self._info(reward)

    def render(self, size: int | tuple[int, int] | None = None) -> NDArray[np.uint8]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """A picture for people: uint8 (height, width, 3). Never changes the trajectory.

        size: width and height in pixels, one number for a square; None: the observation's size. The night's noise is
        seeded by seed, episode and step, so a state always looks the same. Raises InvalidConfig for an invalid size,
        EngineError before the first reset.
        """
        checked = self.size if size is None else checked_size(size, self.config.view)
        return self._draw(self._state(), checked)

    def world_image(self, cell: int = 4) -> NDArray[np.uint8]:
        """The whole world by daylight, `cell` (1 to 64) pixels a cell: uint8 (height * cell, width * cell, 3)."""
        return draw_world(self._state(), checked_number(cell, "cell size", 64, " of pixels"))

    def scene(self) -> Scene:
        return scene_of(self._state(), self._grid)

    def facts(self) -> StateFacts:
        return _facts(self._state())

    def state(self) -> StateRecord:
        """Facts, scene and both digests of this state."""
        state = self._state()
        found = digests(state)
        return StateRecord(_facts(state), scene_of(state, self._grid), found.state, found.world)

    def state_digest(self) -> str:
        """32 hex digits; equal digests, equal futures. Defined in `core.env.digest`."""
        return digests(self._state()).state

    def world_digest(self) -> str:
        """32 hex digits of what an observer can see of this state. Defined in `core.env.digest`."""
        return digests(self._state()).world

    def snapshot(self) -> bytes:
        """This state as bytes, in the format of `core.env.snapshot`."""
        return pack_snapshot(self._state(), self.config)

    def restore(self, blob: bytes) -> None:
        """Continue from a snapshot of an environment with the same area, view and length.

        Raises InvalidSnapshot, and then leaves this environment as it was.
        """
        state = unpack_snapshot(blob, self.config)
        self._current = None
        self._simulation.load(state)
        self._seed, self._episode = state.seed, state.episode

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copy: a snapshot in place of the world."""
        snapshot = None if self._seed is None else self.snapshot()
        return {**self.__dict__, "_current": None, "_simulation": snapshot}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._simulation = self._new_simulation()
        if state["_simulation"] is not None:
            self.restore(state["_simulation"])

    def observation(
        self,
        *,
        step_limit: int,
        last_env_reward: float = 0.0,
        env_return: float = 0.0,
        terminated: bool = False,
        truncated: bool = False,
        picture_px: int = 0,
    ) -> Observation:
        """What a policy sees of this state; the arguments are what the environment does not know.

        picture_px: width and height of a picture by `render`; 0 for no picture.
        """
        state = self._state()
        facts = _facts(state)
        semantic = state.semantic()
        return Observation(
            step=state.step,
            step_limit=step_limit,
            inventory=facts.inventory,
            achievements=facts.achievements,
            achievement_counts=facts.achievement_counts,
            position=state.position,
            facing=state.facing,
            faced=_faced(state, semantic),
            sleeping=state.player.sleeping,
            daylight=scene_of(state, self._grid).daylight,
            semantic=semantic,
            local=local_names(semantic, state.position, self._grid),
            nearest=find_nearest(semantic, state.position),
            last_env_reward=last_env_reward,
            env_return=env_return,
            terminated=terminated,
            truncated=truncated,
            picture=self.render(picture_px) if picture_px else None,
        )

    def _new_simulation(self) -> Simulation:
        return Simulation(self.config, draws_picture=self.observe and self.size == AGENT_SIZE)

    def _state(self) -> WorldState:
        self._require_world()
        if self._current is None:
            self._current = self._simulation.state()
        return self._current

    def _require_world(self) -> None:
        if self._seed is None:
            raise EngineError("There is no world yet; call reset() first.")

    def _observed(self, picture: NDArray[np.uint8] | None) -> NDArray[np.uint8]:
        if picture is not None:
            return picture
        if not self.observe:
            return np.zeros((self.size[1], self.size[0], 3), np.uint8)
        return self._draw(self._state(), self.size)

    def _draw(self, state: WorldState, size: tuple[int, int]) -> NDArray[np.uint8]:
        noise_seed = (state.seed, state.episode, state.step)
        return draw_scene(scene_of(state, self._grid), self.config.view, size, noise_seed)

    def _info(self, reward: float) -> dict[str, Any]:
        player = self._simulation.player
        return {
            "inventory": player.inventory_now().copy(),
            "achievements": player.achievements.copy(),
            "discount": 1 - float(self._simulation.is_dead),
            "semantic": self._simulation.world.semantics.copy(),
            "player_pos": np.array((player.x, player.y), np.int64),
            "reward": reward,
        }


def _episode_option(options: dict[str, Any] | None) -> int | None:
    for name in options or {}:
        if name != "episode":
            hint = did_you_mean(str(name), ["episode"])
            raise InvalidConfig(f'reset has no option {name!r}{hint}; give "episode" or nothing.')
    return checked_episode(options["episode"]) if options else None


def _facts(state: WorldState) -> StateFacts:
    counts = dict(zip(ACHIEVEMENTS, state.player.achievement_counts, strict=True))
    return StateFacts(
        achievements={name: count > 0 for name, count in counts.items()},
        inventory=dict(zip(ITEMS, state.player.inventory, strict=True)),
        achievement_counts=counts,
        position=state.position,
    )


def _faced(state: WorldState, semantic: NDArray[np.uint8]) -> str:
    x, y = state.position[0] + state.facing[0], state.position[1] + state.facing[1]
    width, height = state.area
    return SEMANTIC_NAMES[semantic[x, y] if 0 <= x < width and 0 <= y < height else 0]
