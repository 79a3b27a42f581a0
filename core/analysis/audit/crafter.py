"""Crafter's rules as far as an audit needs them: what each unlock brings, and what can be repeated for ever.

Sources: `data.yaml` of crafter 1.8.3 (recipes, what is collected and how often it succeeds) and its `objects.py`
(hunger, thirst, fatigue). `tests/audit/test_crafter.py` holds this against `core.env.rules` and, where that is quick,
against the engine. How often creatures appear has a file of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from core.analysis.audit.arrivals import arrival_in_words, steps_for_each

VITALS = ("health", "food", "drink", "energy")
MOST = 9  # of anything that is held

# What rises in the inventory when each achievement is unlocked for the first time. What it uses up is left out: in
# the long run all of it was collected before.
UNLOCKS: dict[str, dict[str, int]] = {
    "collect_coal": {"coal": 1},
    "collect_diamond": {"diamond": 1},
    "collect_drink": {"drink": 1},
    "collect_iron": {"iron": 1},
    "collect_sapling": {"sapling": 1},
    "collect_stone": {"stone": 1},
    "collect_wood": {"wood": 1},
    "defeat_skeleton": {},
    "defeat_zombie": {},
    "eat_cow": {"food": 6},
    "eat_plant": {"food": 4},
    "make_iron_pickaxe": {"iron_pickaxe": 1},
    "make_iron_sword": {"iron_sword": 1},
    "make_stone_pickaxe": {"stone_pickaxe": 1},
    "make_stone_sword": {"stone_sword": 1},
    "make_wood_pickaxe": {"wood_pickaxe": 1},
    "make_wood_sword": {"wood_sword": 1},
    "place_furnace": {},
    "place_plant": {},
    "place_stone": {},
    "place_table": {},
    "wake_up": {"energy": 1},
}


@dataclass(frozen=True, slots=True)
class Event:
    """A step that changes something. inventory: what rises or falls. done: the achievement that is counted."""

    inventory: dict[str, int] = field(default_factory=dict[str, int])
    done: str | None = None


@dataclass(frozen=True, slots=True)
class Loop:
    """A way to be paid again and again that uses nothing up.

    steps: how many a lap takes, in the mean where chance plays a part.
    events: its steps that change something, in order; after them all is held that was held before.
    held: what of the inventory is other than `MOST` at its start.
    derivation: where `steps` comes from, and what is assumed.
    """

    name: str
    steps: float
    events: tuple[Event, ...]
    derivation: str
    held: dict[str, int] = field(default_factory=dict[str, int])


LOOPS: tuple[Loop, ...] = (
    Loop("doing nothing", 1, (), "Standing still can go on for ever. Nothing is assumed to disturb."),
    Loop(
        "drinking with no thirst",
        1,
        (Event({}, "collect_drink"),),
        "Every do on water counts as a drink and leaves the water where it is; at 9 nothing refills.",
    ),
    Loop(
        "drinking when thirsty",
        21,
        (Event({"drink": -1}), Event({"drink": 1}, "collect_drink")),
        "Thirst takes one drink every 21 steps (it has to exceed 20), the drinking itself included; one do on water "
        "gives it back.",
    ),
    Loop(
        "placing a stone and taking it up again",
        2,
        (Event({"stone": -1}, "place_stone"), Event({"stone": 1}, "collect_stone")),
        "The ground under a collected stone is path, on which a stone can be placed. Needs a wood pickaxe and a stone.",
        held={"stone": 1},
    ),
    Loop(
        "planting saplings",
        12,
        (Event({"sapling": 1}, "collect_sapling"), Event({"sapling": -1}, "place_plant")),
        "A do on grass finds a sapling with probability 0.1, so 10 of them in the mean; 1 step plants it and 1 goes "
        "on to grass that is free. Grass is assumed not to run out.",
        held={"sapling": 0},
    ),
    Loop(
        "searching saplings with 9 of them",
        10,
        (Event({}, "collect_sapling"),),
        "A do on grass finds a sapling with probability 0.1, and leaves the grass; at 9 it still counts as collected.",
    ),
    Loop(
        "getting tired and sleeping",
        42,
        (Event({"energy": -1}), Event({"energy": 1}), Event({}, "wake_up")),
        "Awake, fatigue takes one energy every 31 steps (it has to exceed 30); asleep, 11 steps give it back (it has "
        "to fall below -10), and the next step wakes up, which is awake already. Nothing is assumed to disturb.",
    ),
    Loop(
        "getting hungry and eating cows",
        156,
        (Event({"food": -6}), Event({"food": 6}, "eat_cow")),
        "Hunger takes one food every 26 steps (it has to exceed 25), the eating itself included, and a cow gives 6 "
        "back. A cow is assumed to stand there whenever one is wanted, with one blow to go.",
    ),
    Loop(
        "eating a cow at every hunger",
        max(26.0, steps_for_each("cow")),
        (Event({"food": -1}), Event({"food": 1}, "eat_cow")),
        "Hunger takes one food every 26 steps, the eating itself included. " + arrival_in_words("cow", "grass"),
    ),
    Loop(
        "eating a plant whenever it is ripe",
        301,
        (Event({"food": -4}), Event({"food": 4}, "eat_plant")),
        "A plant that was eaten is ripe again after more than 300 steps, and gives 4 food. One plant, which nothing "
        "else eats.",
    ),
    Loop(
        "eating the plants of a field at every hunger",
        26,
        (Event({"food": -1}), Event({"food": 1}, "eat_plant")),
        "Hunger takes one food every 26 steps, and one of many plants, of which one is always ripe, gives it back. "
        "Nothing else is assumed to eat them.",
    ),
    Loop(
        "eating the plants of a field when hungry",
        104,
        (Event({"food": -4}), Event({"food": 4}, "eat_plant")),
        "Hunger takes 4 food in 104 steps, and one of many plants, of which one is always ripe, gives them back. "
        "Nothing else is assumed to eat them.",
    ),
    Loop(
        "eating the plants of a field with no hunger",
        2,
        (Event({}, "eat_plant"),),
        "A plant that was eaten is not ripe at once, so 1 step looks at another one and 1 step eats it; at 9 nothing "
        "refills. More than 150 plants are assumed to stand along the way, and nothing else to eat them.",
    ),
    Loop(
        "defeating zombies",
        steps_for_each("zombie"),
        (Event({}, "defeat_zombie"),),
        arrival_in_words("zombie", "grass"),
    ),
    Loop(
        "defeating skeletons",
        steps_for_each("skeleton"),
        (Event({}, "defeat_skeleton"),),
        arrival_in_words("skeleton", "path"),
    ),
    Loop(
        "eating cows with no hunger",
        steps_for_each("cow"),
        (Event({}, "eat_cow"),),
        arrival_in_words("cow", "grass") + " At 9 nothing refills.",
    ),
    Loop(
        "being hurt and healing",
        13,
        (Event({"health": -1}), Event({"health": 1})),
        "Health comes back by one every 26 steps (recovery has to exceed 25), asleep every 13. Something is assumed to "
        "hurt as often, and the sleep to go on.",
    ),
)
