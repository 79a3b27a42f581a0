"""The simulation: the worlds of a seed, one after another, step by step.

Must equal upstream's `crafter.Env` with ordered chunks in every output, and in the state of its generator after every
step. The order within a step is upstream's: time, each thing within reach in order of creation,
every tenth step the balance, the picture (which draws at night), the reward.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import cast

import numpy as np
from numpy.typing import NDArray

from core.env.balance import balance
from core.env.generator import WorldRandom
from core.env.objects import Arrow, Cow, Plant, Skeleton, Thing, Zombie
from core.env.player import Player
from core.env.render import painter
from core.env.rules import ACHIEVEMENTS, BALANCE_INTERVAL, DAY_LENGTH, ITEMS
from core.env.scene import texture_of
from core.env.state import ARROW, COW, PLANT, SKELETON, ZOMBIE, Chunk, PlayerState, WorldState
from core.env.state import Thing as ThingValues
from core.env.world import World
from core.env.worldgen import first_creatures, generate_materials
from core.types import EnvConfig

# The agent's picture, width and height in pixels. At night each pixel of its local view is a draw from the world's
# generator, so this size is part of the rules.
AGENT_SIZE = (64, 64)
_MAX_WORLD_SEED = 2**31 - 1


class Simulation:
    """The worlds of a seed, one after another.

    player, world: of the current one, after `start` or `load`. step_count: steps taken in it.
    `draws_picture=False` spends the same random draws without drawing, so the trajectory is the same.
    """

    player: Player
    world: World
    step_count: int

    def __init__(self, config: EnvConfig, *, draws_picture: bool) -> None:
        self._config = config
        self._draws_picture = draws_picture
        self._grid = local_grid(config.view)
        self._painter = painter(config.view, self._grid, AGENT_SIZE)
        self._night_samples = self._painter.local[0] * self._painter.local[1]
        reach = 2 * max(config.view)
        # With a margin as wide as the reach, each of the differences below means one place only.
        self._margin = reach
        stride = config.area[1] + 2 * self._margin
        self._near = frozenset(
            x * stride + y for x in range(-reach, reach) for y in range(-reach, reach) if 0 < abs(x) + abs(y) < reach
        )
        self._seen = {
            (x - self._grid[0] // 2) * stride + y - self._grid[1] // 2: (x, y)
            for x in range(self._grid[0])
            for y in range(self._grid[1])
        }

    def start(self, seed: int, episode: int) -> NDArray[np.uint8] | None:
        """Make the world of `episode` (from 1) of `seed`. Returns the agent's picture, None where none is drawn."""
        self._seed, self._episode, self.step_count = seed, episode, 0
        # Python's hash of two ints is the same in every process, and what upstream seeds its worlds with.
        random = WorldRandom(hash((seed, episode)) % _MAX_WORLD_SEED)
        home = self._config.area[0] // 2, self._config.area[1] // 2
        materials, tunnels = generate_materials(random, self._config.area, home)
        self.world = World(materials, random, self._margin)
        self.world.daylight = daylight_at(0)
        self.player = Player(self.world, *home)
        self.world.add(self.player)
        for kind, x, y in first_creatures(random, materials, tunnels, home):
            self.world.add(self._creature(kind, x, y))
        self._unlocked: set[str] = set()
        self._rewarded_health = self.player.health
        return self._draw()

    def advance(self, action: int) -> tuple[NDArray[np.uint8] | None, float]:
        """One step. Returns the agent's picture, None where none is drawn, and the reward."""
        self.step_count += 1
        world, player = self.world, self.player
        world.daylight = daylight_at(self.step_count)
        player.action = action
        things = list(world.things)
        player.update()  # always the first thing, and the only one that changes where it stands
        here, near = player.cell, self._near
        for thing in [thing for thing in things if thing.cell - here in near]:
            thing.update()
        if self.step_count % BALANCE_INTERVAL == 0:
            balance(world, player)
        picture = self._draw()
        return picture, self._reward()

    @property
    def is_dead(self) -> bool:
        return self.player.health <= 0

    def state(self) -> WorldState:
        """Everything that determines the rest of the episode."""
        world, player = self.world, self.player
        ranks = {thing: rank for rank, thing in enumerate(world.things)}
        materials = world.materials.copy()
        materials.flags.writeable = False
        return WorldState(
            seed=self._seed,
            episode=self._episode,
            step=self.step_count,
            generator=world.random.read(),
            materials=materials,
            things=tuple([_values_of(thing) for thing in world.things]),
            chunks=tuple(
                [Chunk(chunk.x, chunk.y, tuple([ranks[thing] for thing in chunk.members])) for chunk in world.chunks]
            ),
            player=PlayerState(
                inventory=tuple(player.inventory_now().values()),
                achievement_counts=tuple(player.achievements.values()),
                sleeping=player.sleeping,
                hunger=float(player.hunger),
                thirst=float(player.thirst),
                fatigue=float(player.fatigue),
                recover=float(player.recover),
                last_health=player.last_health,
            ),
            unlocked=tuple([name in self._unlocked for name in ACHIEVEMENTS]),
            rewarded_health=self._rewarded_health,
        )

    def load(self, state: WorldState) -> None:
        """Continue from `state`, which must have this simulation's area."""
        self._seed, self._episode, self.step_count = state.seed, state.episode, state.step
        random = WorldRandom(0)
        random.set(state.generator)
        self.world = World(state.materials, random, self._margin)
        self.world.daylight = daylight_at(state.step)
        self.player = self._player_of(state)
        things: list[Thing] = [self.player, *(self._thing_of(values) for values in state.things[1:])]
        for thing in things:
            self.world.restore_thing(thing)
        for chunk in state.chunks:
            self.world.restore_chunk(chunk.x, chunk.y, [things[rank] for rank in chunk.members])
        self._unlocked = {name for name, unlocked in zip(ACHIEVEMENTS, state.unlocked, strict=True) if unlocked}
        self._rewarded_health = state.rewarded_health

    def _draw(self) -> NDArray[np.uint8] | None:
        world = self.world
        if not self._draws_picture:
            if world.daylight < 0.5:
                world.random.skip_samples(self._night_samples)
            return None
        (width, height), player = self._grid, self.player
        here, seen = player.cell, self._seen
        sprites = [
            (*seen[thing.cell - here], texture_of(_values_of(thing), player.sleeping))
            for thing in world.things
            if thing.cell - here in seen
        ]
        return self._painter.draw(
            world.around(player.x, player.y, width, height),
            sprites,
            tuple(player.inventory_now().values()),
            world.daylight,
            player.sleeping,
            world.random.samples,
        )

    def _reward(self) -> float:
        """The change of health in tenths, and 1 where anything was achieved for the first time."""
        player = self.player
        reward = (player.health - self._rewarded_health) / 10
        self._rewarded_health = player.health
        if player.achieved:
            if not self._unlocked.issuperset(player.achieved):
                self._unlocked.update(player.achieved)
                reward += 1.0
            player.achieved.clear()
        return reward

    def _creature(self, kind: int, x: int, y: int) -> Thing:
        if kind == COW:
            return Cow(self.world, x, y)
        return Zombie(self.world, x, y, self.player) if kind == ZOMBIE else Skeleton(self.world, x, y, self.player)

    def _player_of(self, state: WorldState) -> Player:
        values = state.player
        player = Player(self.world, *state.position)
        player.face(*state.facing)
        player.inventory = dict(zip(ITEMS, values.inventory, strict=True))
        player.health = player.inventory["health"]
        player.achievements = dict(zip(ACHIEVEMENTS, values.achievement_counts, strict=True))
        player.sleeping = values.sleeping
        player.hunger, player.thirst = values.hunger, values.thirst
        player.fatigue, player.recover = values.fatigue, values.recover
        player.last_health = values.last_health
        return player

    def _thing_of(self, values: ThingValues) -> Thing:
        world, player = self.world, self.player
        kind, x, y, health, facing_x, facing_y, counter = values
        make: dict[int, Callable[[], Thing]] = {
            COW: lambda: Cow(world, x, y, health),
            ZOMBIE: lambda: Zombie(world, x, y, player, health, counter),
            SKELETON: lambda: Skeleton(world, x, y, player, health, counter),
            ARROW: lambda: Arrow(world, x, y, (facing_x, facing_y), health),
            PLANT: lambda: Plant(world, x, y, health, counter),
        }
        return make[kind]()


@functools.lru_cache(maxsize=1 << 15)
def daylight_at(step: int) -> float:
    """0 (darkest) to 1 (brightest). Upstream's arithmetic on numpy's scalars: the last bit decides pixels."""
    progress = (step / DAY_LENGTH) % 1 + 0.3
    return cast(float, 1 - np.abs(np.cos(np.pi * progress)) ** 3)


def local_grid(view: tuple[int, int]) -> tuple[int, int]:
    """Width and height in cells of the part of `view` that shows the world; the rest is the inventory."""
    item_rows = -(-len(ITEMS) // view[0])
    return view[0], view[1] - item_rows


def _values_of(thing: Thing) -> ThingValues:
    facing_x, facing_y = thing.facing
    return ThingValues(thing.kind, thing.x, thing.y, thing.health, facing_x, facing_y, thing.counter)
