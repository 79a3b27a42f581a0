"""What the audit knows about Crafter: what each unlock adds to the inventory, and what can be repeated forever.

Sources: `data.yaml` of crafter 1.8.3 (recipes, collecting and its probabilities, through `core.env.rules`), its
`objects.py` (hunger, thirst, fatigue) and `Env._balance_chunk` (how often creatures appear). Tests compare the numbers
here with the engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from core.env.rules import ACHIEVEMENTS, BALANCE_INTERVAL, CHUNK_SIZE, COLLECT, DAY_LENGTH, MAKE, MAX_ITEM, max_zombies
from core.types import EnvConfig, Scene

MAX_AMOUNT = max(MAX_ITEM.values())  # of any item

_GAINS: dict[str, dict[str, int]] = {
    **{f"collect_{item}": {item: n} for rule in COLLECT.values() for item, n in rule.receives.items()},
    **{f"make_{item}": {item: rule.gives} for item, rule in MAKE.items()},
    "eat_cow": {"food": 6},
    "eat_plant": {"food": 4},
    "wake_up": {"energy": 1},
}
UNLOCKS: dict[str, dict[str, int]] = {name: _GAINS.get(name, {}) for name in ACHIEVEMENTS}
"""What each unlock adds to the inventory. What it uses up is left out: all of it was collected before."""


@dataclass(frozen=True, slots=True)
class SpawnRate:
    """How often a creature appears in a chunk, each time that the engine balances the chunk.

    probability: of one more, if there are too few. cells: how many cells of its ground a chunk needs.
    share: how often, 0 to 1, the engine wants any at all.
    """

    probability: float
    cells: int
    share: float = 1.0


AREA = EnvConfig().area  # cells


def _share_with_zombies() -> float:
    scenes = [Scene(step, (0, 0), (), (), {}, sleeping=False) for step in range(0, DAY_LENGTH, BALANCE_INTERVAL)]
    return sum(max_zombies(scene.daylight) > 0 for scene in scenes) / len(scenes)


SPAWN_RATES = {
    "zombie": SpawnRate(0.3, 50, _share_with_zombies()),
    "skeleton": SpawnRate(0.1, 6),
    "cow": SpawnRate(0.01, 30),
}


def chunks_with(cells: int) -> int:
    """How many chunks of a world have at least `cells` cells."""
    widths, heights = (
        [min(size, end - start) for start in range(0, end, size)] for size, end in zip(CHUNK_SIZE, AREA, strict=True)
    )
    return sum(width * height >= cells for width in widths for height in heights)


def steps_for_each(creature: str) -> float:
    """Lower bound of the mean number of steps until another creature appears.

    Assumes that every chunk has only the right ground and is emptied at once.
    """
    rate = SPAWN_RATES[creature]
    return BALANCE_INTERVAL / (rate.probability * rate.share * chunks_with(rate.cells))


def spawn_text(creature: str, ground: str) -> str:
    """The derivation of `steps_for_each`. ground: what the creature appears on."""
    rate = SPAWN_RATES[creature]
    at_night = f", {100 * rate.share:.0f}% of the time, when it is dark enough," if rate.share < 1 else ""
    return (
        f"Every {BALANCE_INTERVAL} steps{at_night} each chunk with at least {rate.cells} cells of {ground} brings a "
        f"{creature} with probability {rate.probability:g}. Assumes that all {chunks_with(rate.cells)} large "
        f"enough chunks of a {AREA[0]} x {AREA[1]} world qualify, and that walking takes no time."
    )


@dataclass(frozen=True, slots=True)
class Event:
    """A step that changes something. inventory: increases and decreases. done: the achievement that is counted."""

    inventory: dict[str, int] = field(default_factory=dict[str, int])
    done: str | None = None


@dataclass(frozen=True, slots=True)
class KnownLoop:
    """Something that can be repeated forever and uses nothing up.

    steps: of one repeat, on average if it depends on chance.
    events: the steps that change something, in order; the inventory is the same after them as before.
    derivation: where `steps` comes from, and what is assumed.
    held: inventory entries that are not at `MAX_AMOUNT` at the start.
    """

    name: str
    steps: float
    events: tuple[Event, ...]
    derivation: str
    held: dict[str, int] = field(default_factory=dict[str, int])


KNOWN_LOOPS: tuple[KnownLoop, ...] = (
    KnownLoop("doing nothing", 1, (), "Standing still can go on forever. Assumes no disturbance."),
    KnownLoop(
        "drinking with no thirst",
        1,
        (Event({}, "collect_drink"),),
        "Every do on water counts as a drink and leaves the water where it is; at 9 nothing refills.",
    ),
    KnownLoop(
        "drinking when thirsty",
        21,
        (Event({"drink": -1}), Event({"drink": 1}, "collect_drink")),
        "Thirst takes one drink every 21 steps (it has to exceed 20), the drinking itself included; one do on water "
        "gives it back.",
    ),
    KnownLoop(
        "placing a stone and taking it up again",
        2,
        (Event({"stone": -1}, "place_stone"), Event({"stone": 1}, "collect_stone")),
        "The ground under a collected stone is path, on which a stone can be placed. Needs a wood pickaxe and a stone.",
        held={"stone": 1},
    ),
    KnownLoop(
        "planting saplings",
        12,
        (Event({"sapling": 1}, "collect_sapling"), Event({"sapling": -1}, "place_plant")),
        "A do on grass finds a sapling with probability 0.1, so 10 on average; 1 step plants it and 1 goes "
        "on to grass that is free. Grass is assumed not to run out.",
        held={"sapling": 0},
    ),
    KnownLoop(
        "searching saplings with 9 of them",
        10,
        (Event({}, "collect_sapling"),),
        "A do on grass finds a sapling with probability 0.1, and leaves the grass; at 9 it still counts as collected.",
    ),
    KnownLoop(
        "getting tired and sleeping",
        42,
        (Event({"energy": -1}), Event({"energy": 1}), Event({}, "wake_up")),
        "Awake, fatigue takes one energy every 31 steps (it has to exceed 30); asleep, 11 steps give it back (it has "
        "to fall below -10), and the next step wakes up, which is awake already. Assumes no disturbance.",
    ),
    KnownLoop(
        "getting hungry and eating cows",
        156,
        (Event({"food": -6}), Event({"food": 6}, "eat_cow")),
        "Hunger takes one food every 26 steps (it has to exceed 25), the eating itself included, and a cow gives 6 "
        "back. A cow is assumed to stand there whenever one is wanted, with one blow to go.",
    ),
    KnownLoop(
        "eating a cow at every hunger",
        max(26.0, steps_for_each("cow")),
        (Event({"food": -1}), Event({"food": 1}, "eat_cow")),
        "Hunger takes one food every 26 steps, the eating itself included. " + spawn_text("cow", "grass"),
    ),
    KnownLoop(
        "eating a plant whenever it is ripe",
        301,
        (Event({"food": -4}), Event({"food": 4}, "eat_plant")),
        "A plant that was eaten is ripe again after more than 300 steps, and gives 4 food. One plant, which nothing "
        "else eats.",
    ),
    KnownLoop(
        "eating the plants of a field at every hunger",
        26,
        (Event({"food": -1}), Event({"food": 1}, "eat_plant")),
        "Hunger takes one food every 26 steps, and one of many plants, of which one is always ripe, gives it back. "
        "Nothing else is assumed to eat them.",
    ),
    KnownLoop(
        "eating the plants of a field when hungry",
        104,
        (Event({"food": -4}), Event({"food": 4}, "eat_plant")),
        "Hunger takes 4 food in 104 steps, and one of many plants, of which one is always ripe, gives them back. "
        "Nothing else is assumed to eat them.",
    ),
    KnownLoop(
        "eating the plants of a field with no hunger",
        2,
        (Event({}, "eat_plant"),),
        "A plant that was eaten is not ripe at once, so 1 step looks at another one and 1 step eats it; at 9 nothing "
        "refills. More than 150 plants are assumed to stand along the way, and nothing else to eat them.",
    ),
    KnownLoop(
        "defeating zombies",
        steps_for_each("zombie"),
        (Event({}, "defeat_zombie"),),
        spawn_text("zombie", "grass"),
    ),
    KnownLoop(
        "defeating skeletons",
        steps_for_each("skeleton"),
        (Event({}, "defeat_skeleton"),),
        spawn_text("skeleton", "path"),
    ),
    KnownLoop(
        "eating cows with no hunger",
        steps_for_each("cow"),
        (Event({}, "eat_cow"),),
        spawn_text("cow", "grass") + " At 9 nothing refills.",
    ),
    KnownLoop(
        "being hurt and healing",
        13,
        (Event({"health": -1}), Event({"health": 1})),
        "Health comes back by one every 26 steps (recovery has to exceed 25), asleep every 13. Something is assumed to "
        "hurt as often, and the sleep to go on.",
    ),
)
