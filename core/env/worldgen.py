"""A new world: its terrain and the first creatures.

Must equal upstream's `worldgen.generate_world` cell for cell and draw for draw. Two things decide that:

- the arithmetic on the noise fields, whose order of operations is upstream's (`2 * x / 3`, `y / 5 / 3`, the sums and
  the division by the weights' sum at the end);
- the draws. Cells are visited x-major. A cell draws only in its branch: for coal where its field allows it, for iron if
  that gave no coal, for diamond if neither; once for a tree. Creatures follow in a second pass in the same order.

So the fields are computed as arrays, each only for the cells whose branch needs it; the draws are made cell by cell.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.env.generator import WorldRandom
from core.env.noise import Noise
from core.env.rules import SEMANTIC_IDS, WALKABLE
from core.env.state import COW, SKELETON, ZOMBIE
from core.types import Floats

Bools = NDArray[np.bool_]

_ID = SEMANTIC_IDS
_MAX_DRAWS_PER_CELL = 3


@dataclass(frozen=True, slots=True, eq=False)
class _Fields:
    """Noise fields that decide a cell's material, each float64 (cells,), x-major."""

    start: Floats
    water: Floats
    mountain: Floats


def generate_materials(
    random: WorldRandom, area: tuple[int, int], home: tuple[int, int]
) -> tuple[NDArray[np.uint8], Bools]:
    """Material ids uint8 (width, height), and where tunnels are, bool of the same shape. home: the player's cell."""
    noise = Noise(random.below(0, 2**31 - 1))
    xs, ys = _coordinates(area)
    fields = _fields(noise, xs, ys, home)
    materials = np.full(len(xs), _ID["grass"], np.uint8)
    tunnels = np.zeros(len(xs), np.bool_)
    is_start = fields.start > 0.5
    is_mountain = ~is_start & (fields.mountain > 0.15)
    choices = np.zeros(len(xs), np.uint8)  # what a cell may become by a draw, as a set of bits
    _shape_mountains(noise, xs, ys, fields, np.flatnonzero(is_mountain), materials, tunnels, choices)
    _shape_lowland(noise, xs, ys, fields, np.flatnonzero(~is_start & ~is_mountain), materials, choices)
    _draw_materials(random, materials, choices)
    return materials.reshape(area), tunnels.reshape(area)


def first_creatures(
    random: WorldRandom, materials: NDArray[np.uint8], tunnels: Bools, home: tuple[int, int]
) -> list[tuple[int, int, int]]:
    """(kind, x, y) of each creature in the order of its creation."""
    height = materials.shape[1]
    flat = materials.ravel()
    xs, ys = _coordinates((materials.shape[0], height))
    distance = _distance(xs, ys, home)
    is_grass = flat == _ID["grass"]
    near_cow, near_zombie = distance > 3, distance > 10
    can = (
        np.where(is_grass & near_cow, _COW_BIT, 0)
        + np.where(near_zombie, _ZOMBIE_BIT, 0)
        + np.where((flat == _ID["path"]) & tunnels.ravel(), _SKELETON_BIT, 0)
    )
    can[~np.isin(flat, [_ID[name] for name in WALKABLE])] = 0
    cells = np.flatnonzero(can)
    draws = _Draws(random, _MAX_DRAWS_PER_CELL * len(cells))
    sample = draws.sample
    found: list[tuple[int, int]] = []
    for cell, bits in zip(cells.tolist(), can[cells].tolist(), strict=True):
        if bits & _COW_BIT and sample() > 0.985:
            found.append((COW, cell))
        elif bits & _ZOMBIE_BIT and sample() > 0.993:
            found.append((ZOMBIE, cell))
        elif bits & _SKELETON_BIT and sample() > 0.95:
            found.append((SKELETON, cell))
    draws.settle()
    return [(kind, cell // height, cell % height) for kind, cell in found]


_COW_BIT, _ZOMBIE_BIT, _SKELETON_BIT = 1, 2, 4
_COAL_BIT, _IRON_BIT, _DIAMOND_BIT, _TREE_BIT = 1, 2, 4, 8


class _Draws:
    """Samples drawn at once and used one by one; `settle` leaves the generator as if only those had been drawn."""

    def __init__(self, random: WorldRandom, count: int) -> None:
        self._random = random
        self._before = random.read()
        self._left = iter(random.samples(count).tolist())
        self._count = count
        self.sample = self._left.__next__

    def settle(self) -> None:
        """Call it once, after the last sample."""
        used = self._count - operator.length_hint(self._left)
        self._random.set(self._before)
        self._random.skip_samples(used)


def _fields(noise: Noise, xs: Floats, ys: Floats, home: tuple[int, int]) -> _Fields:
    start_noise, wide_water, fine_water, wide_mountain, fine_mountain = _layers(
        noise, [(xs / 3, ys / 3, 8), *((xs / size, ys / size, z) for z in (3, 0) for size in (15, 5))]
    )
    start = 4 - _distance(xs, ys, home)
    start += 2 * start_noise
    with np.errstate(over="ignore"):  # far from home, in large areas
        start = 1 / (1 + np.exp(-start))
    water = (wide_water + 0.15 * fine_water) + 0.1
    water -= 2 * start
    mountain = (wide_mountain + 0.3 * fine_mountain) / 1.3
    mountain -= 4 * start + 0.3 * water
    return _Fields(start, water, mountain)


def _shape_mountains(
    noise: Noise,
    xs: Floats,
    ys: Floats,
    fields: _Fields,
    cells: NDArray[np.intp],
    materials: NDArray[np.uint8],
    tunnels: Bools,
    choices: NDArray[np.uint8],
) -> None:
    """Caves, tunnels, lava and stone, and where ores may be drawn."""
    x, y, mountain = xs[cells], ys[cells], fields.mountain[cells]
    cave, horizontal, vertical = _layers(
        noise, [(x / 7, y / 7, 6), (2 * x / 3, y / 5 / 3, 7), (x / 5 / 3, 2 * y / 3, 7)]
    )
    is_cave = (cave > 0.15) & (mountain > 0.3)
    is_tunnel = ~is_cave & ((horizontal > 0.4) | (vertical > 0.4))
    materials[cells[is_cave | is_tunnel]] = _ID["path"]
    tunnels[cells[is_tunnel]] = True
    rock = ~(is_cave | is_tunnel)
    cells, x, y, mountain = cells[rock], x[rock], y[rock], mountain[rock]
    coal, iron, lava = _layers(noise, [(x / 8, y / 8, 1), (x / 6, y / 6, 2), (x / 5, y / 5, 6)])
    materials[cells] = np.where((mountain > 0.3) & (lava > 0.35), _ID["lava"], _ID["stone"])
    choices[cells] = (
        np.where(coal > 0, _COAL_BIT, 0)
        + np.where(iron > 0.4, _IRON_BIT, 0)
        + np.where(mountain > 0.18, _DIAMOND_BIT, 0)
    )


def _shape_lowland(
    noise: Noise,
    xs: Floats,
    ys: Floats,
    fields: _Fields,
    cells: NDArray[np.intp],
    materials: NDArray[np.uint8],
    choices: NDArray[np.uint8],
) -> None:
    """Sand, water and grass, and where trees may be drawn."""
    x, y, water = xs[cells], ys[cells], fields.water[cells]
    shore = (0.25 < water) & (water <= 0.35)
    (sand,) = _layers(noise, [(x[shore] / 9, y[shore] / 9, 4)])
    is_sand = np.zeros(len(cells), np.bool_)
    is_sand[shore] = sand > -0.2
    is_water = ~is_sand & (0.3 < water)
    materials[cells[is_sand]] = _ID["sand"]
    materials[cells[is_water]] = _ID["water"]
    meadow = cells[~(is_sand | is_water)]
    (trees,) = _layers(noise, [(xs[meadow] / 7, ys[meadow] / 7, 5)])
    choices[meadow[trees > 0]] = _TREE_BIT


def _draw_materials(random: WorldRandom, materials: NDArray[np.uint8], choices: NDArray[np.uint8]) -> None:
    cells = np.flatnonzero(choices)
    draws = _Draws(random, _MAX_DRAWS_PER_CELL * len(cells))
    sample = draws.sample
    coal, iron, diamond, tree = (_ID[name] for name in ("coal", "iron", "diamond", "tree"))
    for cell, bits in zip(cells.tolist(), choices[cells].tolist(), strict=True):
        if bits & _TREE_BIT:
            if sample() > 0.8:
                materials[cell] = tree
        elif bits & _COAL_BIT and sample() > 0.85:
            materials[cell] = coal
        elif bits & _IRON_BIT and sample() > 0.75:
            materials[cell] = iron
        elif bits & _DIAMOND_BIT and sample() > 0.994:
            materials[cell] = diamond
    draws.settle()


def _layers(noise: Noise, layers: list[tuple[Floats, Floats, int]]) -> list[Floats]:
    """The noise of several layers, each (x, y, z), in one call."""
    x = np.concatenate([layer[0] for layer in layers])
    y = np.concatenate([layer[1] for layer in layers])
    z = np.concatenate([np.full(len(layer[0]), float(layer[2])) for layer in layers])
    return np.split(noise.at(x, y, z), np.cumsum([len(layer[0]) for layer in layers])[:-1])


def _coordinates(area: tuple[int, int]) -> tuple[Floats, Floats]:
    """x and y of every cell, x-major."""
    xs, ys = np.indices(area, np.float64)
    return xs.ravel(), ys.ravel()


def _distance(x: Floats, y: Floats, home: tuple[int, int]) -> Floats:
    return np.sqrt((x - home[0]) ** 2 + (y - home[1]) ** 2)
