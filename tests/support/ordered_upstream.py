"""The installed `crafter` with ordered chunks: what the engine must be equal to.

Everything is upstream's own code except that chunks keep the order in which things entered them, and that the state can
be read as a `WorldState`. Only this file knows how upstream holds its state, hence the private names.

    walked = walk_both(config, seed=1, actions=actions)     # raises AssertionError where the two differ
"""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, cast

import crafter
import numpy as np
from crafter import constants, engine, objects
from numpy.typing import NDArray

from core.env.rules import ACHIEVEMENTS, CHUNK_SIZE
from core.env.simulation import AGENT_SIZE, Simulation, local_grid
from core.env.state import (
    ARROW,
    COW,
    PLANT,
    PLAYER,
    SKELETON,
    ZOMBIE,
    Chunk,
    GeneratorState,
    PlayerState,
    Thing,
    WorldState,
)
from core.types import EnvConfig

# Semantic id of each class, and the name of the counter that it keeps, if any.
_KINDS: dict[type[objects.Object], tuple[int, str | None]] = {
    objects.Player: (PLAYER, None),
    objects.Cow: (COW, None),
    objects.Zombie: (ZOMBIE, "cooldown"),
    objects.Skeleton: (SKELETON, "reload"),
    objects.Arrow: (ARROW, None),
    objects.Plant: (PLANT, "grown"),
}


class Members:
    """The things of one chunk in the order in which they entered: upstream's set, made ordered."""

    def __init__(self) -> None:
        self._things: dict[objects.Object, None] = {}

    def add(self, thing: objects.Object) -> None:
        self._things[thing] = None

    def remove(self, thing: objects.Object) -> None:
        del self._things[thing]

    def __iter__(self) -> Iterator[objects.Object]:
        return iter(self._things)


class OrderedWorld(engine.World):
    """Upstream's world with ordered chunks.

    Upstream's chunks are sets of objects that hash by memory address, and balancing picks from them by number: the same
    seed and actions would give another trajectory in every process.
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


class OrderedUpstream(crafter.Env):
    """The worlds of a seed, one after another; the same methods as `Simulation`.

    `draws_picture=False` spends the same random draws without drawing, so the trajectory is the same.
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

    def picture_at(self, step: int, size: tuple[int, int], random: np.random.RandomState) -> NDArray[np.uint8]:
        """What upstream draws of this world at `size` if `step` is the time and `random` gives the night's noise."""
        self._step, self._world.random, self._size = step, random, np.array(size)
        self._update_time()
        return self.render()

    @property
    def is_dead(self) -> bool:
        return self._player.health <= 0

    @property
    def step_count(self) -> int:
        return self._step

    def state(self) -> WorldState:
        things = self._world.objects
        ranks = {thing: rank for rank, thing in enumerate(things)}
        player = self._player
        return WorldState(
            seed=self._seed,
            episode=self._episode,
            step=self._step,
            generator=_generator_state(self._world.random),
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

    def _obs(self) -> NDArray[np.uint8]:
        if self._draws_picture:
            return super()._obs()
        if self._world.daylight < 0.5:  # upstream's night noise, one draw a pixel
            self._world.random.random_sample(self._noise_draws)
        return _NO_PICTURE

    def _picture(self, drawn: NDArray[np.uint8]) -> NDArray[np.uint8] | None:
        return np.ascontiguousarray(drawn) if self._draws_picture else None


_NO_PICTURE = np.zeros((0, 0, 3), np.uint8)


def _generator_state(random: np.random.RandomState) -> GeneratorState:
    _, key, position, *_ = cast(tuple[Any, ...], random.get_state(legacy=True))
    return GeneratorState(key.astype("<u4").tobytes(), int(position))


def _as_values(thing: objects.Object) -> Thing:
    kind, counter = _KINDS[type(thing)]
    x, y = thing.pos.tolist()
    facing_x = facing_y = 0
    if kind == PLAYER or kind == ARROW:
        facing_x, facing_y = int(thing.facing[0]), int(thing.facing[1])
    count = getattr(thing, counter) if counter else 0
    return Thing(kind, x, y, thing.inventory["health"], facing_x, facing_y, count)


@dataclass(slots=True)
class Walked:
    """What a comparison has covered, to check that it met the situations that it is about."""

    episodes: int = 0
    steps: int = 0
    night_steps: int = 0
    asleep_steps: int = 0
    deaths: int = 0
    arrow_steps: int = 0
    plant_steps: int = 0
    achievements: Counter[str] = field(default_factory=Counter)  # in how many episodes each was unlocked

    def add(self, other: Walked) -> None:
        for part in fields(self):
            mine, theirs = getattr(self, part.name), getattr(other, part.name)
            setattr(self, part.name, mine + theirs)


def walk_both(
    config: EnvConfig, seed: int, actions: Iterable[int], *, draws_picture: bool = True, max_steps: int | None = None
) -> Walked:
    """Give upstream and the engine the same actions and compare everything after each.

    After a death, and after `max_steps` in a world, both continue in the seed's next world. Raises AssertionError,
    naming the first difference.
    """
    theirs, ours = OrderedUpstream(config, draws_picture=draws_picture), Simulation(config, draws_picture=draws_picture)
    walked = Walked(episodes=1)
    _compare(theirs, ours, theirs.start(seed, 1), ours.start(seed, 1), f"seed {seed}, world 1, reset")
    for action in actions:
        where = f"area {config.area}, view {config.view}, seed {seed}, world {walked.episodes}, "
        where += f"step {theirs.step_count + 1}, action {action}"
        their_picture, their_reward = theirs.advance(action)
        our_picture, our_reward = ours.advance(action)
        _expect(their_reward == our_reward, f"{where}: reward {our_reward}, upstream {their_reward}")
        _expect(theirs.is_dead == ours.is_dead, f"{where}: death")
        _compare(theirs, ours, their_picture, our_picture, where)
        _count(walked, theirs)
        if theirs.is_dead or theirs.step_count == max_steps:
            walked.deaths += theirs.is_dead
            _count_achievements(walked, theirs)
            walked.episodes += 1
            their_picture, our_picture = (one.start(seed, walked.episodes) for one in (theirs, ours))
            _compare(theirs, ours, their_picture, our_picture, f"seed {seed}, world {walked.episodes}, reset")
    _count_achievements(walked, theirs)
    return walked


def _compare(
    theirs: OrderedUpstream,
    ours: Simulation,
    their_picture: NDArray[np.uint8] | None,
    our_picture: NDArray[np.uint8] | None,
    where: str,
) -> None:
    their_state, our_state = theirs.state(), ours.state()
    for part in fields(WorldState):
        their_value, our_value = getattr(their_state, part.name), getattr(our_state, part.name)
        if part.name != "materials":
            _expect(our_value == their_value, f"{where}: {part.name} is {our_value}, upstream {their_value}")
    _expect(np.array_equal(our_state.materials, their_state.materials), f"{where}: materials")
    _expect(np.array_equal(ours.world.semantics, theirs._sem_view()), f"{where}: semantic map")
    _expect(list(ours.player.inventory_now()) == list(theirs._player.inventory), f"{where}: order of the inventory")
    if their_picture is None or our_picture is None:
        _expect(their_picture is our_picture, f"{where}: one has a picture")
    else:
        _expect(np.array_equal(our_picture, their_picture), f"{where}: picture")


def _expect(is_so: bool, otherwise: str) -> None:
    """Not an assert statement: with `python -O` that would compare nothing."""
    if not is_so:
        raise AssertionError(otherwise)


def _count(walked: Walked, theirs: OrderedUpstream) -> None:
    kinds = {type(thing) for thing in theirs._world.objects}
    walked.steps += 1
    walked.night_steps += bool(theirs._world.daylight < 0.5)
    walked.asleep_steps += bool(theirs._player.sleeping)
    walked.arrow_steps += objects.Arrow in kinds
    walked.plant_steps += objects.Plant in kinds


def _count_achievements(walked: Walked, theirs: OrderedUpstream) -> None:
    walked.achievements.update(name for name, count in theirs._player.achievements.items() if count)
