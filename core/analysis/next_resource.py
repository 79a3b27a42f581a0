"""The potential "distance to the next resource": how near the character is to what it has to collect next.

phi = -d, where d is the Manhattan distance, in cells, from the character to the nearest cell in view of the resource
that is needed next. If no such cell is in view, d is the distance to the view's farthest corner: half its width plus
half its height, 7 in the usual view of 9 x 7. Obstacles do not count. If nothing is needed any more, phi is 0.

The first of these that is lacking is needed next:

| resource | cells   | until                                                                                        |
|----------|---------|----------------------------------------------------------------------------------------------|
| wood     | tree    | a pickaxe is held, or wood for a table (unless one was placed) and for a wooden pickaxe      |
| stone    | stone   | a stone or iron pickaxe is held, or stone for a furnace (unless one was placed) and for a    |
|          |         | stone pickaxe                                                                                |
| coal     | coal    | an iron pickaxe is held, or coal for one                                                     |
| iron     | iron    | an iron pickaxe is held, or iron for one                                                     |
| diamond  | diamond | a diamond is held                                                                            |

Amounts are Crafter's own recipes. It reads the map, which reward strategies cannot, so it can be compared with a
stored episode but cannot reward a running one.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.env.rules import MAKE, PLACE, SEMANTIC_IDS
from core.errors import InvalidInput
from core.facts import INVENTORY, UNLOCK
from core.facts.columns import FactColumns
from core.scenes import PackedScenes
from core.types import Floats

RESOURCES: Final = ("wood", "stone", "coal", "iron", "diamond")
_CELLS: Final = ("tree", "stone", "coal", "iron", "diamond")
_NOTHING: Final = len(RESOURCES)


class NextResource:
    name = "next_resource"
    label = "Distance to the next resource"
    description = (
        "Minus the distance, in cells along both axes, to the nearest cell in view of what is needed next: trees until "
        "there is wood for table and pickaxe, then stone, coal, iron, diamond. If none is in view, the view's range."
    )

    def __init__(self, scenes: PackedScenes) -> None:
        """scenes: all of one episode, that of the reset first."""
        self._scenes = scenes

    def around(self, columns: FactColumns) -> tuple[Floats, Floats]:
        """phi before and after each decision of that episode: two float64 (N,).

        Raises InvalidInput if there are fewer scenes than steps.
        """
        ends, n_scenes = columns.step_ends, len(self._scenes)
        if len(ends) and int(ends.max()) >= n_scenes:
            raise InvalidInput(f"The decisions took {int(ends.max())} steps, but only {n_scenes} scenes are stored.")
        frames = np.concatenate([np.zeros(1, np.int32), ends])
        distances = _distances(self._scenes)
        needed_before, needed_after = needed_next(columns)
        # 0.0 - x and not -x, which would make the potential -0.0 at the resource.
        return 0.0 - distances[needed_before, frames[:-1]], 0.0 - distances[needed_after, frames[1:]]


def needed_next(columns: FactColumns) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What is needed next before and after each decision: indices in `RESOURCES`; its length if nothing is."""
    return _lacking(columns, 0), _lacking(columns, 1)


def _lacking(columns: FactColumns, at: int) -> NDArray[np.int64]:
    """at: 0 before, 1 after each decision."""

    def held(item: str) -> Floats:
        return columns.levels(INVENTORY, item)[at]

    def to_place(thing: str, item: str) -> Floats:
        placed = columns.levels(UNLOCK, f"place_{thing}")[at]
        return PLACE[thing].uses[item] * (1.0 - placed)

    iron_pickaxe = held("iron_pickaxe") > 0
    stone_pickaxe = (held("stone_pickaxe") > 0) | iron_pickaxe
    wood_pickaxe = (held("wood_pickaxe") > 0) | stone_pickaxe
    for_iron = MAKE["iron_pickaxe"].uses
    has = (
        wood_pickaxe | (held("wood") >= to_place("table", "wood") + MAKE["wood_pickaxe"].uses["wood"]),
        stone_pickaxe | (held("stone") >= to_place("furnace", "stone") + MAKE["stone_pickaxe"].uses["stone"]),
        iron_pickaxe | (held("coal") >= for_iron["coal"]),
        iron_pickaxe | (held("iron") >= for_iron["iron"]),
        held("diamond") > 0,
    )
    lacks = np.array([*(~there for there in has), np.ones(columns.n_decisions, np.bool_)])
    return np.argmax(lacks, axis=0).astype(np.int64)


def _distances(scenes: PackedScenes) -> Floats:
    """The distance to the nearest cell of each resource in each scene, and a last row of 0: float64 (6, n)."""
    width, height = scenes.grid
    xs, ys = np.meshgrid(np.arange(width), np.arange(height), indexing="ij")  # cells are stored x-major
    away = (np.abs(xs - width // 2) + np.abs(ys - height // 2)).ravel()
    view_range = width // 2 + height // 2
    distances = np.zeros((_NOTHING + 1, len(scenes)))
    for at, cell in enumerate(_CELLS):
        seen = np.where(scenes.materials == SEMANTIC_IDS[cell], away, view_range)
        distances[at] = seen.min(axis=1, initial=view_range)
    return distances
