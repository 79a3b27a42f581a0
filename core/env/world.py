"""The world while it is played: materials, things and chunks.

Must equal upstream's `engine.World` with ordered chunks in what stands where, in the order of things (by creation) and
in the order of each chunk's members (as they entered; one that comes back goes last). Balancing picks a member
by number, so another order would be another trajectory.

Cells are numbers: the maps are flat and padded with cells of no material, so that a step in any direction from any cell
is one addition and needs no check for the edge.
"""

from __future__ import annotations

import functools
from array import array

import numpy as np
from numpy.typing import NDArray

from core.env.generator import WorldRandom
from core.env.objects import Thing
from core.env.rules import CHUNK_SIZE, SEMANTIC_IDS, SEMANTIC_NAMES

_GRASS, _PATH = SEMANTIC_IDS["grass"], SEMANTIC_IDS["path"]


class Chunk:
    """A part of the world with its own population balance.

    members: the things in it, in the order in which they entered. counts: how many of them are of each kind.
    grass, path: how many cells of that material it has.
    """

    __slots__ = ("counts", "grass", "members", "path", "x", "x_end", "y", "y_end")

    def __init__(self, x: int, y: int, x_end: int, y_end: int, grass: int, path: int) -> None:
        self.x, self.y, self.x_end, self.y_end = x, y, x_end, y_end
        self.grass, self.path = grass, path
        self.counts = [0] * len(SEMANTIC_NAMES)
        self.members: dict[Thing, None] = {}


class World:
    """The maps, things and chunks of one world.

    material: the material id of each padded cell, 0 outside. semantic: the same with things' ids on top.
    materials, semantics: the same of the cells inside, uint8 (width, height): views. Do not change them.
    things: in order of creation. thing_at: padded cell -> thing.
    chunks: those that have ever held a thing, in order of first insertion.
    daylight: 0 (darkest) to 1.
    """

    def __init__(self, materials: NDArray[np.uint8], random: WorldRandom, margin: int) -> None:
        self.random = random
        self.area = width, height = materials.shape[0], materials.shape[1]
        self.margin = margin
        self.stride = height + 2 * margin
        padded = np.zeros((width + 2 * margin, self.stride), np.uint8)
        padded[margin : margin + width, margin : margin + height] = materials
        self.material: bytearray = bytearray(padded)
        self.semantic: bytearray = bytearray(padded)
        self.daylight: float = 0.0
        self.things: dict[Thing, None] = {}
        self.thing_at: dict[int, Thing] = {}
        self.chunks: dict[Chunk, None] = {}
        self.material_map = self._map(self.material)
        inside = slice(margin, margin + width), slice(margin, margin + height)
        self.materials, self.semantics = self.material_map[inside], self._map(self.semantic)[inside]
        self.directions = ((-1, 0, -self.stride), (1, 0, self.stride), (0, -1, -1), (0, 1, 1))
        ids, bounds = _layout(self.area, margin)
        self._chunk_ids = ids
        grass, path = (_count_by_chunk(padded == name, ids, len(bounds)) for name in (_GRASS, _PATH))
        self._all_chunks = [Chunk(*ends, grass[at], path[at]) for at, ends in enumerate(bounds)]

    def cell(self, x: int, y: int) -> int:
        """The padded cell at (x, y)."""
        return (x + self.margin) * self.stride + y + self.margin

    def around(self, x: int, y: int, width: int, height: int) -> NDArray[np.uint8]:
        """A view of the material ids, uint8 (width, height), of the cells around (x, y). Do not keep or change it."""
        left, top = x + self.margin - width // 2, y + self.margin - height // 2
        return self.material_map[left : left + width, top : top + height]

    def nearby(self, x: int, y: int) -> set[int]:
        """The materials within one cell of (x, y).

        Empty if x or y is 0: there upstream's slice begins at -1, the far end, and is empty. So nothing can be made on
        these two edges.
        """
        return set(self.materials[x - 1 : x + 2, y - 1 : y + 2].ravel().tolist())

    def add(self, thing: Thing) -> None:
        """Add a new thing at its own cell, and to its chunk."""
        self.restore_thing(thing)
        self._enter(self.chunk_at(thing.cell), thing)

    def remove(self, thing: Thing) -> None:
        """Remove a thing; does nothing if it is removed already."""
        if thing.is_removed:
            return
        del self.things[thing]
        del self.thing_at[thing.cell]
        self.semantic[thing.cell] = self.material[thing.cell]
        self._leave(self.chunk_at(thing.cell), thing)
        thing.is_removed = True

    def move(self, thing: Thing, direction: tuple[int, int, int]) -> None:
        """Move a thing by one cell to a free one. One that is removed stays where it was."""
        if thing.is_removed:
            return
        old = thing.cell
        new = old + direction[2]
        del self.thing_at[old]
        self.thing_at[new] = thing
        semantic = self.semantic
        semantic[old] = self.material[old]
        semantic[new] = thing.kind
        ids = self._chunk_ids
        if ids[old] != ids[new]:
            self._leave(self._all_chunks[ids[old]], thing)
            self._enter(self._all_chunks[ids[new]], thing)
        thing.x += direction[0]
        thing.y += direction[1]
        thing.cell = new

    def set_material(self, cell: int, material: int) -> None:
        """Change the material of a cell on which no thing stands."""
        chunk, old = self.chunk_at(cell), self.material[cell]
        chunk.grass += (material == _GRASS) - (old == _GRASS)
        chunk.path += (material == _PATH) - (old == _PATH)
        self.material[cell] = self.semantic[cell] = material

    def chunk_at(self, cell: int) -> Chunk:
        """The chunk of a padded cell inside the world."""
        return self._all_chunks[self._chunk_ids[cell]]

    def restore_chunk(self, x: int, y: int, members: list[Thing]) -> None:
        """Register the chunk whose upper left cell is (x, y), with its members in the order in which they entered."""
        chunk = self.chunk_at(self.cell(x, y))
        self.chunks[chunk] = None
        for thing in members:
            self._enter(chunk, thing)

    def restore_thing(self, thing: Thing) -> None:
        """Add a thing at its own cell; its chunk gets it by `restore_chunk`."""
        self.things[thing] = None
        self.thing_at[thing.cell] = thing
        self.semantic[thing.cell] = thing.kind

    def _enter(self, chunk: Chunk, thing: Thing) -> None:
        self.chunks[chunk] = None
        chunk.members[thing] = None
        chunk.counts[thing.kind] += 1

    def _leave(self, chunk: Chunk, thing: Thing) -> None:
        del chunk.members[thing]
        chunk.counts[thing.kind] -= 1

    def _map(self, cells: bytearray) -> NDArray[np.uint8]:
        return np.frombuffer(cells, np.uint8).reshape(-1, self.stride)


@functools.lru_cache(maxsize=16)
def _layout(area: tuple[int, int], margin: int) -> tuple[array[int], tuple[tuple[int, int, int, int], ...]]:
    """The chunk number of each padded cell (-1 outside), and (x, y, x_end, y_end) of each chunk. Do not change it."""
    (width, height), (step_x, step_y) = area, CHUNK_SIZE
    ids = np.full((width + 2 * margin, height + 2 * margin), -1, np.intc)
    bounds: list[tuple[int, int, int, int]] = []
    for x in range(0, width, step_x):
        for y in range(0, height, step_y):
            x_end, y_end = min(x + step_x, width), min(y + step_y, height)
            ids[x + margin : x_end + margin, y + margin : y_end + margin] = len(bounds)
            bounds.append((x, y, x_end, y_end))
    return array("i", ids.tobytes()), tuple(bounds)


def _count_by_chunk(mask: NDArray[np.bool_], ids: array[int], chunks: int) -> list[int]:
    return np.bincount(np.asarray(ids)[np.flatnonzero(mask)], minlength=chunks).tolist()
