"""The values that determine the rest of an episode. Everything else is derived from them.

A simulation returns its state as a `WorldState` and continues from one. Digests, snapshots, scenes and observations use
nothing else, so another engine inside would not change them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.env.rules import SEMANTIC_IDS

PLAYER = SEMANTIC_IDS["player"]
COW = SEMANTIC_IDS["cow"]
ZOMBIE = SEMANTIC_IDS["zombie"]
SKELETON = SEMANTIC_IDS["skeleton"]
ARROW = SEMANTIC_IDS["arrow"]
PLANT = SEMANTIC_IDS["plant"]


class Thing(NamedTuple):
    """The player, a creature, an arrow or a plant.

    kind: its semantic id. facing: (0, 0) for what has none.
    counter: a zombie's cooldown, a skeleton's reload time, a plant's age; 0 for others.
    """

    kind: int
    x: int
    y: int
    health: int
    facing_x: int
    facing_y: int
    counter: int


class Chunk(NamedTuple):
    """A chunk that has ever held a thing: its upper left cell, and the ranks in `WorldState.things` of those
    that are in it now, in the order in which they entered."""

    x: int
    y: int
    members: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GeneratorState:
    """State of a Mersenne twister: `key` is 624 little-endian uint32, `position` 0 to 624."""

    key: bytes
    position: int


@dataclass(frozen=True, slots=True)
class PlayerState:
    """Tuples are in the order of `rules.ITEMS` and `rules.ACHIEVEMENTS`."""

    inventory: tuple[int, ...]
    achievement_counts: tuple[int, ...]
    sleeping: bool
    hunger: float
    thirst: float
    fatigue: float
    recover: float
    last_health: int  # at the end of the player's last update, before creatures could hit


@dataclass(frozen=True, slots=True, eq=False)
class WorldState:
    """The whole state of a world, as values only.

    materials: uint8 (width, height), indexed [x][y], ids 1 to 12 as in `rules.SEMANTIC_NAMES`.
    things: in order of creation, the player first.
    chunks: in order of first insertion; chunks that never held a thing are absent, empty ones are present.
    unlocked: achievements for which the environment has paid, in the order of `rules.ACHIEVEMENTS`.
    rewarded_health: the next reward counts the change of health from this value.
    """

    seed: int
    episode: int
    step: int
    generator: GeneratorState
    materials: NDArray[np.uint8]
    things: tuple[Thing, ...]
    chunks: tuple[Chunk, ...]
    player: PlayerState
    unlocked: tuple[bool, ...]
    rewarded_health: int

    @property
    def position(self) -> tuple[int, int]:
        """The player's cell, (x, y)."""
        return self.things[0].x, self.things[0].y

    @property
    def facing(self) -> tuple[int, int]:
        """The player's direction, (dx, dy)."""
        return self.things[0].facing_x, self.things[0].facing_y

    @property
    def area(self) -> tuple[int, int]:
        """Width and height of the world in cells."""
        return self.materials.shape[0], self.materials.shape[1]

    def semantic(self) -> NDArray[np.uint8]:
        """A new uint8 (width, height) map of materials with the things on them, indexed [x][y]."""
        semantic = self.materials.copy()
        for thing in self.things:
            semantic[thing.x, thing.y] = thing.kind
        return semantic
