"""The simulation: upstream's `crafter.Env`, made deterministic.

This is the inside that another engine may replace: it must have the methods of `Simulation` and give the same
`WorldState` after the same actions. It is the one file that knows how upstream keeps its state, hence its private
names.
"""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import crafter
import numpy as np
from crafter import constants, engine, objects
from numpy.typing import NDArray

from core.env.generator import read_generator, set_generator
from core.env.rules import ACHIEVEMENTS, ITEMS
from core.env.world import (
    ARROW,
    CHUNK_SIZE,
    COW,
    PLANT,
    PLAYER,
    SKELETON,
    ZOMBIE,
    Chunk,
    PlayerState,
    Thing,
    WorldState,
)
from core.types import EnvConfig

# The agent's picture, width and height in pixels. At night each pixel of its local view is a draw from the world's
# generator, so this size is part of the rules.
AGENT_SIZE = (64, 64)

# Semantic id of each class, and the name of the counter that it keeps, if any.
_KINDS: dict[type[objects.Object], tuple[int, str | None]] = {
    objects.Player: (PLAYER, None),
    objects.Cow: (COW, None),
    objects.Zombie: (ZOMBIE, "cooldown"),
    objects.Skeleton: (SKELETON, "reload"),
    objects.Arrow: (ARROW, None),
    objects.Plant: (PLANT, "grown"),
}
_COUNTERS = dict(_KINDS.values())


class Members:
    """The things of one chunk, in order of their entering: upstream's set, made ordered."""

    def __init__(self) -> None:
        self._things: dict[objects.Object, None] = {}

    def add(self, thing: objects.Object) -> None:
        """Put `thing` last."""
        self._things[thing] = None

    def remove(self, thing: objects.Object) -> None:
        """Take `thing` out. Raises KeyError where it is not in."""
        del self._things[thing]

    def __iter__(self) -> Iterator[objects.Object]:
        return iter(self._things)


class OrderedWorld(engine.World):
    """Upstream's world, whose chunks keep the order in which things entered them.

    Upstream's are sets of objects that hash by their address, and balancing picks from them by number: the same seed
    and actions would give another course in every process.
    """

    _chunks: defaultdict[engine.Chunk, Members]

    def reset(self, seed: int | None = None) -> None:
        """As upstream, with ordered chunks."""
        super().reset(seed)
        self._chunks = defaultdict(Members)

    def chunk_key(self, pos: Sequence[int] | NDArray[np.int_]) -> engine.Chunk:
        """As upstream, in plain ints."""
        return super().chunk_key((int(pos[0]), int(pos[1])))

    @property
    def materials(self) -> NDArray[np.uint8]:
        """A copy of the material ids, uint8 (width, height), not to be written to."""
        materials = self._mat_map.copy()
        materials.flags.writeable = False
        return materials

    def chunk_members(self) -> Iterator[tuple[engine.Chunk, Members]]:
        """Every chunk that ever held a thing, in order of first insertion."""
        return iter(self._chunks.items())

    def fill(self, materials: NDArray[np.uint8], things: list[objects.Object], chunks: tuple[Chunk, ...]) -> None:
        """Take over what `WorldState` says of materials, things and chunks."""
        self._mat_map = materials.copy()
        self._objects = [None, *things]
        self._obj_map = np.zeros(self.area, np.uint32)
        for index, thing in enumerate(things, start=1):
            self._obj_map[tuple(thing.pos)] = index
        self._chunks = defaultdict(Members)
        for chunk in chunks:
            members = self._chunks[self.chunk_key((chunk.x, chunk.y))]
            for rank in chunk.members:
                members.add(things[rank])


class Simulation(crafter.Env):
    """One world after another of a seed.

    `draws_picture=False` spends the same random draws without drawing; the course is the same.
    """

    _world: OrderedWorld

    def __init__(self, config: EnvConfig, *, draws_picture: bool) -> None:
        super().__init__(config.area, config.view, AGENT_SIZE, True, config.length, seed=0)
        self._draws_picture = draws_picture
        self._world = OrderedWorld(config.area, constants.materials, CHUNK_SIZE)
        self._grid = local_grid(config.view)
        self._local_view = engine.LocalView(self._world, self._textures, self._grid)
        self._sem_view = engine.SemanticView(self._world, list(_KINDS))
        unit_x, unit_y = AGENT_SIZE[0] // config.view[0], AGENT_SIZE[1] // config.view[1]
        self._noise_draws = self._grid[0] * unit_x * self._grid[1] * unit_y

    def start(self, seed: int, episode: int) -> NDArray[np.uint8] | None:
        """Make the world of `episode` (from 1) of `seed`. Returns the agent's picture, None where none is drawn."""
        self._seed = seed
        self._episode = episode - 1  # upstream's reset counts up
        return self._picture(self.reset())

    def advance(self, action: int) -> tuple[NDArray[np.uint8] | None, float]:
        """One step. Returns the agent's picture, None where none is drawn, and the reward."""
        picture, reward, _, _ = self.step(action)
        return self._picture(picture), float(reward)

    @property
    def is_dead(self) -> bool:
        """True where the player has no health left."""
        return self._player.health <= 0

    @property
    def step_count(self) -> int:
        """Steps taken since `start`."""
        return self._step

    def inventory(self) -> dict[str, int]:
        """A copy of what the player carries."""
        return self._player.inventory.copy()

    def achievement_counts(self) -> dict[str, int]:
        """A copy of how often the player did what."""
        return self._player.achievements.copy()

    def position(self) -> tuple[int, int]:
        """Where the player stands, (x, y)."""
        x, y = self._player.pos.tolist()
        return x, y

    def semantic(self) -> NDArray[np.uint8]:
        """A new uint8 (width, height) map of materials and things, indexed [x][y]."""
        return self._sem_view()

    def state(self) -> WorldState:
        """All that decides how the episode goes on."""
        things = self._world.objects
        ranks = {thing: rank for rank, thing in enumerate(things)}
        player = self._player
        return WorldState(
            seed=self._seed,
            episode=self._episode,
            step=self._step,
            generator=read_generator(self._world.random),
            materials=self._world.materials,
            things=tuple([_as_values(thing) for thing in things]),
            chunks=tuple(
                [
                    Chunk(key[0], key[2], tuple([ranks[thing] for thing in members]))
                    for key, members in self._world.chunk_members()
                ]
            ),
            player=PlayerState(
                inventory=tuple(player.inventory.values()),
                achievement_counts=tuple(player.achievements.values()),
                sleeping=player.sleeping,
                hunger=float(player._hunger),
                thirst=float(player._thirst),
                fatigue=float(player._fatigue),
                recover=float(player._recover),
                last_health=player._last_health,
            ),
            unlocked=tuple([name in self._unlocked for name in ACHIEVEMENTS]),
            rewarded_health=self._last_health,
        )

    def load(self, state: WorldState) -> None:
        """Go on from `state`, which must have this simulation's area."""
        self._seed, self._episode, self._step = state.seed, state.episode, state.step
        self._world.reset()
        set_generator(self._world.random, state.generator)
        self._update_time()
        self._player = self._make_player(state)
        things = [self._player, *(self._make_thing(thing) for thing in state.things[1:])]
        self._world.fill(state.materials, things, state.chunks)
        self._unlocked = {name for name, unlocked in zip(ACHIEVEMENTS, state.unlocked, strict=True) if unlocked}
        self._last_health = state.rewarded_health

    def _obs(self) -> NDArray[np.uint8]:
        if self._draws_picture:
            return super()._obs()
        if self._world.daylight < 0.5:  # upstream's night noise, one draw a pixel
            self._world.random.random_sample(self._noise_draws)
        return _NO_PICTURE

    def _picture(self, drawn: NDArray[np.uint8]) -> NDArray[np.uint8] | None:
        return np.ascontiguousarray(drawn) if self._draws_picture else None

    def _make_player(self, state: WorldState) -> objects.Player:
        values = state.player
        player = objects.Player(self._world, state.position)
        player.facing = state.facing
        player.inventory = dict(zip(ITEMS, values.inventory, strict=True))
        player.achievements = dict(zip(ACHIEVEMENTS, values.achievement_counts, strict=True))
        player.sleeping = values.sleeping
        player._hunger, player._thirst = values.hunger, values.thirst
        player._fatigue, player._recover = values.fatigue, values.recover
        player._last_health = values.last_health
        return player

    def _make_thing(self, values: Thing) -> objects.Object:
        thing = self._new_thing(values)
        thing.health = values.health
        if counter := _COUNTERS[values.kind]:
            setattr(thing, counter, values.counter)
        return thing

    def _new_thing(self, values: Thing) -> objects.Object:
        position = (values.x, values.y)
        if values.kind == COW:
            return objects.Cow(self._world, position)
        if values.kind == ZOMBIE:
            return objects.Zombie(self._world, position, self._player)
        if values.kind == SKELETON:
            return objects.Skeleton(self._world, position, self._player)
        if values.kind == ARROW:
            return objects.Arrow(self._world, position, np.array((values.facing_x, values.facing_y)))
        return objects.Plant(self._world, position)


_NO_PICTURE = np.zeros((0, 0, 3), np.uint8)


def local_grid(view: tuple[int, int]) -> tuple[int, int]:
    """Width and height in cells of the part of `view` that shows the world; the rest is the inventory."""
    item_rows = -(-len(ITEMS) // view[0])
    return view[0], view[1] - item_rows


def _as_values(thing: objects.Object) -> Thing:
    kind, counter = _KINDS[type(thing)]
    x, y = thing.pos.tolist()
    facing_x = facing_y = 0
    if kind == PLAYER or kind == ARROW:
        facing_x, facing_y = int(thing.facing[0]), int(thing.facing[1])
    count = getattr(thing, counter) if counter else 0
    return Thing(kind, x, y, thing.inventory["health"], facing_x, facing_y, count)
