"""Upstream's own `crafter.Env` as a gymnasium environment whose states can be recorded.

Upstream visits a chunk's creatures in the order of a set of objects, which differs from process to process. So its
episodes cannot be simulated again: their states have no digests.
"""
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from importlib.metadata import version
from typing import Any, cast

import crafter
import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from core.env.rules import ACHIEVEMENTS, ACTIONS, ITEMS
from core.env.scene import local_cells
from core.errors import InvalidConfig
from core.types import EnvConfig, Scene, Sprite, StateFacts, StateRecord

UPSTREAM_VERSION = f"crafter-{version('crafter')}/upstream"


class UpstreamEnv(gymnasium.Env[NDArray[np.uint8], int]):
    """`crafter.Env`, with gymnasium's `reset` and `step`. Its seed is the one that it was made with."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  as gymnasium has it

    def __init__(self, env: crafter.Env) -> None:
        self._env: Any = env
        self.observation_space = Box(0, 255, (*tuple(int(n) for n in env._size), 3), np.uint8)
        self.action_space = cast(gymnasium.Space[int], Discrete(len(ACTIONS)))
        self.config = EnvConfig(
            area=cast(tuple[int, int], tuple(int(n) for n in env._area)),
            view=cast(tuple[int, int], tuple(int(n) for n in env._view)),
            length=int(env._length or 10_000),
        )

    @property
    def seed_and_episode(self) -> tuple[int, int]:
        """The seed, and which world of it, from 1."""
        return int(self._env._seed), int(self._env._episode)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        """The next world. Raises InvalidConfig for a seed: upstream takes it when it is made."""
        if seed is not None and seed != self._env._seed:
            raise InvalidConfig("Upstream's environment takes its seed when it is made: crafter.Env(seed=...).")
        return self._env.reset(), {}

    def step(self, action: int) -> tuple[NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        observation, reward, done, info = self._env.step(action)
        is_dead = info["discount"] == 0
        return observation, float(reward), is_dead, bool(done) and not is_dead, info

    def state(self) -> StateRecord:
        """Facts and scene, without digests."""
        player, world = self._env._player, self._env._world
        position = (int(player.pos[0]), int(player.pos[1]))
        grid = (self.config.view[0], self.config.view[1] - int(np.ceil(len(ITEMS) / self.config.view[0])))
        left, top = position[0] - grid[0] // 2, position[1] - grid[1] // 2
        inventory = {name: int(player.inventory[name]) for name in ITEMS}
        counts = {name: int(player.achievements[name]) for name in ACHIEVEMENTS}
        things = ((thing.texture, int(thing.pos[0]) - left, int(thing.pos[1]) - top) for thing in world.objects)
        scene = Scene(
            step=int(self._env._step),
            grid=grid,
            materials=tuple(local_cells(world._mat_map, position, grid).ravel().tolist()),
            sprites=tuple(Sprite(name, x, y) for name, x, y in things if 0 <= x < grid[0] and 0 <= y < grid[1]),
            inventory=inventory,
            sleeping=bool(player.sleeping),
        )
        facts = StateFacts({name: count > 0 for name, count in counts.items()}, inventory, counts, position)
        return StateRecord(facts, scene, "", "")
