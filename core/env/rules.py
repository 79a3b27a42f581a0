"""Crafter's rules as data, read from the package's own `data.yaml`: names, ids, recipes.

The order of every tuple is the order of that file, which is also the order of ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version

from crafter import constants


@dataclass(frozen=True, slots=True)
class CollectRule:
    """What `do` on a material needs and gives.

    requires, receives: item -> amount; `requires` is not used up.
    leaves: the material that stands there afterwards.
    probability: how often it succeeds.
    """

    requires: dict[str, int]
    receives: dict[str, int]
    leaves: str
    probability: float


@dataclass(frozen=True, slots=True)
class PlaceRule:
    """What placing a thing uses up (item -> amount), on which materials, and whether it becomes a `material` or an
    `object`."""

    uses: dict[str, int]
    where: tuple[str, ...]
    kind: str


@dataclass(frozen=True, slots=True)
class MakeRule:
    """What making an item uses up (item -> amount), which materials must stand within one cell, how many it gives."""

    uses: dict[str, int]
    nearby: tuple[str, ...]
    gives: int


# A trajectory depends on Crafter's version and on the order in which a chunk's creatures are visited.
# Another implementation keeps this name as long as it gives the same trajectories.
ENGINE_VERSION = f"crafter-{version('crafter')}/ordered-1"

ACTIONS: tuple[str, ...] = tuple(constants.actions)
ACTION_INDEX: dict[str, int] = {name: index for index, name in enumerate(ACTIONS)}
ACHIEVEMENTS: tuple[str, ...] = tuple(constants.achievements)
ITEMS: tuple[str, ...] = tuple(constants.items)
VITALS: tuple[str, ...] = ("health", "food", "drink", "energy")
MAX_ITEM: dict[str, int] = {name: int(item["max"]) for name, item in constants.items.items()}
INITIAL_ITEM: dict[str, int] = {name: int(item["initial"]) for name, item in constants.items.items()}

MATERIALS: tuple[str, ...] = tuple(constants.materials)  # MATERIALS[i] has the id i + 1
WALKABLE: tuple[str, ...] = tuple(constants.walkable)
CREATURES: tuple[str, ...] = ("player", "cow", "zombie", "skeleton", "arrow", "plant")
SEMANTIC_NAMES: tuple[str, ...] = ("none", *MATERIALS, *CREATURES)  # SEMANTIC_NAMES[id]
SEMANTIC_IDS: dict[str, int] = {name: id_ for id_, name in enumerate(SEMANTIC_NAMES)}

# The four directions a player can look in, as (dx, dy); y grows downwards.
DIRECTIONS: dict[str, tuple[int, int]] = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
DIRECTION_NAMES: dict[tuple[int, int], str] = {offset: name for name, offset in DIRECTIONS.items()}

RIPE_AGE = 300  # steps; a plant older than this can be eaten (`Plant.ripe`)
DAY_LENGTH = 300  # steps
CHUNK_SIZE = (12, 12)  # cells, fewer at the edge of the world; the population of each chunk is balanced by itself
BALANCE_INTERVAL = 10  # steps


def max_zombies(daylight: float) -> int:
    """How many zombies the balance fills a chunk of grass up to. daylight: 0 (darkest) to 1."""
    return int(3.5 - 3 * daylight)


COLLECT: dict[str, CollectRule] = {
    material: CollectRule(
        requires=dict(rule["require"]),
        receives=dict(rule["receive"]),
        leaves=rule["leaves"],
        probability=float(rule.get("probability", 1.0)),
    )
    for material, rule in constants.collect.items()
}
PLACE: dict[str, PlaceRule] = {
    name: PlaceRule(uses=dict(rule["uses"]), where=tuple(rule["where"]), kind=rule["type"])
    for name, rule in constants.place.items()
}
MAKE: dict[str, MakeRule] = {
    name: MakeRule(uses=dict(rule["uses"]), nearby=tuple(rule["nearby"]), gives=int(rule["gives"]))
    for name, rule in constants.make.items()
}
