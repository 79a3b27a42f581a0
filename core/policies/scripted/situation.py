"""One observation as the script uses it: where things are, how far, and how to get there."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from core.env.observation import Observation, direction_text
from core.env.rules import COLLECT, DAY_LENGTH, DIRECTIONS, SEMANTIC_IDS, SEMANTIC_NAMES, WALKABLE
from core.policies.scripted.pathfinding import BLOCKED, FAR, Distances, aim, flood

Cell = tuple[int, int]
Mask = NDArray[np.bool_]
Number = TypeVar("Number", bound=np.generic)

GROWN = 305  # steps until a plant is ripe, with a margin for steps that were not counted
DUSK_LIGHT = 0.5  # daylight below which zombies begin to gather on grass
DAWN_LIGHT = 0.75  # daylight above which the last of them are leaving
CREATURES = ("cow", "zombie", "skeleton", "arrow")
HOSTILE = ("zombie", "skeleton", "arrow")

# Steps to get past a thing in the way.
_PASS_COSTS = {"cow": 6, "zombie": 9, "skeleton": 7, "arrow": 3}
_BRIDGE_COST = 4  # stone on water, dig it out, walk
_DIG_COST = 2
MOVES = {direction: f"move_{name}" for name, direction in DIRECTIONS.items()}
_SWORD_DAMAGE = {"iron_sword": 5, "stone_sword": 3, "wood_sword": 2}


@dataclass(frozen=True, slots=True)
class Plan:
    """The next actions, and the reason as a sentence for the trace."""

    actions: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Target:
    """A cell to go to, and the steps to it."""

    cell: Cell
    steps: int


@dataclass(slots=True)
class Memory:
    """What the script remembers between decisions; everything else comes from the observation."""

    grown: dict[Cell, int] = field(default_factory=dict[Cell, int])  # own plants: steps they grew
    last_step: int = 0
    resting: bool = False
    random: Random = field(default_factory=lambda: Random(0))  # only breaks ties between equally near cells


class Situation:
    """One observation, with distances computed on demand."""

    def __init__(self, observation: Observation, memory: Memory) -> None:
        self.observation = observation
        self._memory = memory
        self.inventory = observation.inventory
        self.done = observation.achievements
        self.position = observation.position
        self.facing = observation.facing
        self.map = observation.semantic
        self.day_step = observation.step % DAY_LENGTH
        is_morning = self.day_step > 0.7 * DAY_LENGTH  # the darkest step of a day
        self.is_dark = observation.daylight < (DAWN_LIGHT if is_morning else DUSK_LIGHT)

    # ------------------------------------------------------------------------------------------- what there is

    def has(self, item: str, amount: int = 1) -> bool:
        return self.inventory[item] >= amount

    @property
    def damage(self) -> int:
        return max([1, *(damage for sword, damage in _SWORD_DAMAGE.items() if self.has(sword))])

    def at(self, cell: Cell) -> str:
        """The name of the thing or material on a cell; "none" outside the world."""
        x, y = cell
        inside = 0 <= x < self.map.shape[0] and 0 <= y < self.map.shape[1]
        return SEMANTIC_NAMES[int(self.map[x, y])] if inside else "none"

    @property
    def faced(self) -> Cell:
        return step_towards(self.position, self.facing)

    def where(self, *names: str) -> Mask:
        """Cells with one of these things or materials, shape (width, height)."""
        known = np.zeros(len(SEMANTIC_NAMES), bool)
        known[[SEMANTIC_IDS[name] for name in names]] = True
        return known[self.map]

    def is_free(self, cell: Cell) -> bool:
        """Whether the character can walk onto a cell and survive."""
        return self.at(cell) in WALKABLE

    def can_dig(self, name: str) -> bool:
        """Whether `do` removes this material with the available tools and leaves walkable ground."""
        rule = COLLECT.get(name)
        if rule is None or rule.leaves not in WALKABLE or name in WALKABLE:
            return False
        return all(self.has(item, amount) for item, amount in rule.requires.items())

    @cached_property
    def diggable(self) -> Mask:
        """Cells that can be dug away with the available tools and do not fence a growing plant."""
        growing = np.zeros(self.map.shape, bool)
        for plant, grown in self._memory.grown.items():
            growing[plant] = grown < GROWN
        return self.where(*filter(self.can_dig, SEMANTIC_NAMES)) & ~around(growing, corners=False)

    def creatures(self, *names: str, within: int) -> list[Cell]:
        """Cells of these creatures at most `within` cells away (Manhattan), nearest first."""
        cells = [(int(x), int(y)) for x, y in np.argwhere(self.where(*names))]
        return sorted((c for c in cells if self.cells_to(c) <= within), key=self.cells_to)

    def cells_to(self, cell: Cell) -> int:
        return abs(cell[0] - self.position[0]) + abs(cell[1] - self.position[1])

    def way_to(self, cell: Cell) -> str:
        """Where a cell is from the character: "3 left and 2 up"."""
        return direction_text(cell[0] - self.position[0], cell[1] - self.position[1], " and ")

    # --------------------------------------------------------------------------------------- how to get there

    @cached_property
    def distances(self) -> Distances:
        """Steps to every cell, with digging, felling and bridging if the tools are available."""
        costs = _enter_costs(self)
        return flood(bordered(costs, 1, fill=BLOCKED).ravel().tolist(), self._index(self.position), self._offsets)

    @cached_property
    def steps(self) -> NDArray[np.int64]:
        """Steps to each cell, shape (width, height); for a blocked cell, to the cell before it."""
        width, height = self.map.shape
        return np.array(self.distances.steps).reshape(width + 2, height + 2)[1:-1, 1:-1]

    def nearest(self, mask: Mask) -> Target | None:
        """The nearest cell of the mask, a random one of several; None if none can be reached."""
        steps = np.where(mask, self.steps, FAR)
        fewest = int(steps.min())
        if fewest >= FAR:
            return None
        x, y = self._memory.random.choice(np.argwhere(steps == fewest).tolist())
        return Target((x, y), fewest)

    def go_to(self, target: Cell) -> tuple[str, ...]:
        return self._follow(self.distances.route(self._index(target)), "") if target != self.position else ()

    def use(self, target: Cell, *actions: str) -> tuple[str, ...]:
        """Actions that go to the cell, face it, and then do `actions`."""
        return self._follow(self.distances.route(self._index(target)), *actions)

    def aim_at(self, wanted: Mask, *, from_cells: Mask | None = None) -> tuple[str, ...] | None:
        """Moves after which the character faces a cell of `wanted` from one of `from_cells`; None if too far."""
        faces = _flat(wanted)
        stands = None if from_cells is None else _flat(from_cells)
        moves = aim(
            self._index(self.position),
            self._offset(self.facing),
            self._offsets,
            is_free=_flat(self.where("player", *WALKABLE)),
            is_deadly=_flat(self.where("lava")),
            accept=lambda cell, faced: faces[faced] and (stands is None or stands[cell]),
        )
        return None if moves is None else tuple(MOVES[self._direction(offset)] for offset in moves)

    def _follow(self, route: list[int], *final: str) -> tuple[str, ...]:
        """Actions along a route, then `final` in front of its last cell; an empty string enters that cell instead."""
        actions: list[str] = []
        position, facing = self.position, self.facing
        for number, index in enumerate(route, start=1):
            cell = self._cell(index)
            direction = (cell[0] - position[0], cell[1] - position[1])
            name = self.at(cell)
            is_last = number == len(route) and final != ("",)
            if name not in WALKABLE and facing != direction:
                actions.append(MOVES[direction])  # turns only
            facing = direction
            if is_last:
                return (*actions, *final)
            if name in CREATURES:
                return (*actions, "do")  # it must die or leave first; then plan again
            if name == "water":
                actions.append("place_stone")
            if name not in WALKABLE:
                actions.append("do")
            actions.append(MOVES[direction])
            position = cell
        return tuple(actions)

    @cached_property
    def _offsets(self) -> list[int]:
        offsets = [self._offset(direction) for direction in DIRECTIONS.values()]
        self._memory.random.shuffle(offsets)
        return offsets

    def _offset(self, direction: Cell) -> int:
        return direction[0] * (self.map.shape[1] + 2) + direction[1]

    def _direction(self, offset: int) -> Cell:
        return next(direction for direction in DIRECTIONS.values() if self._offset(direction) == offset)

    def _index(self, cell: Cell) -> int:
        return (cell[0] + 1) * (self.map.shape[1] + 2) + cell[1] + 1

    def _cell(self, index: int) -> Cell:
        x, y = divmod(index, self.map.shape[1] + 2)
        return x - 1, y - 1


def step_towards(cell: Cell, direction: Cell) -> Cell:
    return cell[0] + direction[0], cell[1] + direction[1]


def neighbours(cell: Cell) -> list[Cell]:
    return [step_towards(cell, direction) for direction in DIRECTIONS.values()]


def bordered(array: NDArray[Number], cells: int, *, fill: int) -> NDArray[Number]:
    """The map with a border of `fill`. `np.pad` is ten times slower on maps of this size."""
    width, height = array.shape
    framed = np.full((width + 2 * cells, height + 2 * cells), fill, array.dtype)
    framed[cells:-cells, cells:-cells] = array
    return framed


def shifted(array: NDArray[Number], direction: Cell, *, fill: int) -> NDArray[Number]:
    """result[x, y] = array[x + dx, y + dy], with `fill` beyond the edge; dx and dy are at most 2."""
    (dx, dy), (width, height) = direction, array.shape
    padded = bordered(array, 2, fill=fill)
    return padded[2 + dx : 2 + dx + width, 2 + dy : 2 + dy + height]


def around(mask: Mask, *, corners: bool = True) -> Mask:
    """The cells of a mask and their neighbours."""
    wide = np.zeros_like(mask)
    for dx in (-1, 0, 1):
        for dy in (-1, 0, 1):
            if corners or dx == 0 or dy == 0:
                wide |= shifted(mask, (dx, dy), fill=False)
    return wide


def _flat(mask: Mask) -> list[bool]:
    """The mask with a border of False, as a flat list: faster to index than an array."""
    return bordered(mask, 1, fill=False).ravel().tolist()


def _enter_costs(situation: Situation) -> NDArray[np.int64]:
    by_name = {name: BLOCKED for name in SEMANTIC_NAMES}
    by_name |= {"grass": 2 if situation.is_dark else 1, "sand": 1, "path": 1} | _PASS_COSTS
    if situation.has("stone") and situation.has("wood_pickaxe"):
        by_name["water"] = _BRIDGE_COST
    costs = np.array([by_name[name] for name in SEMANTIC_NAMES])[situation.map]
    costs[situation.diggable] = _DIG_COST
    costs[situation.where("tree")] += 2  # felling trees leaves fewer for tools
    costs[around(situation.where("zombie")) & (costs < BLOCKED)] += 2
    return np.minimum(costs, BLOCKED)
