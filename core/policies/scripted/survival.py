"""Goals for survival: fighting, drinking, eating, sleeping."""

from __future__ import annotations

from core.policies.scripted.situation import HOSTILE, MOVES, Memory, Plan, Situation, neighbours

URGENT = 3  # a vital at or below this comes before everything else by day
URGENT_AT_NIGHT = 0  # walking at night costs more health than hunger
DUSK = range(95, 165)  # steps of a day in which stores are filled up for the night
BRIEF_SLEEP_STEPS = (8, 95)  # steps of a day in which the light keeps zombies from appearing


def keep_sleeping(situation: Situation, memory: Memory) -> Plan | None:
    """Continues to sleep until energy is full or the character is hurt."""
    if not situation.observation.sleeping:
        return None
    return Plan(("sleep",) * 5, f"Asleep, energy {situation.inventory['energy']} of 9.")


def fight_back(situation: Situation, memory: Memory) -> Plan | None:
    """Hits a zombie or skeleton next to the character."""
    for cell in neighbours(situation.position):
        name = situation.at(cell)
        if name in ("zombie", "skeleton"):
            direction = (cell[0] - situation.position[0], cell[1] - situation.position[1])
            turn = () if situation.facing == direction else (MOVES[direction],)
            return Plan((*turn, "do"), f"A {name} is next to me ({situation.way_to(cell)}): hitting it.")
    return None


def drink_urgently(situation: Situation, memory: Memory) -> Plan | None:
    """Drinks when thirst is dangerous."""
    return _drink(situation) if situation.inventory["drink"] <= _urgent(situation) else None


def drink_fully(situation: Situation, memory: Memory) -> Plan | None:
    """Continues to drink if water is in front."""
    if situation.at(situation.faced) != "water" or situation.has("drink", 9):
        return None
    return _drink(situation)


def eat_urgently(situation: Situation, memory: Memory) -> Plan | None:
    """Eats when hunger is dangerous."""
    return _hunt(situation, "cow", 60) if situation.inventory["food"] <= _urgent(situation) else None


def drink_if_near(situation: Situation, memory: Memory) -> Plan | None:
    """Drinks when water is near, or for the first time."""
    water = situation.nearest(situation.where("water"))
    missing = 9 - situation.inventory["drink"]
    limit = max((7 if situation.day_step in DUSK else 3) * (missing - 1), 0 if situation.done["collect_drink"] else 6)
    if situation.is_dark:
        limit = 2 * (missing - 2)
    if water is None or water.steps > limit:
        return None
    return _drink(situation)


def eat_if_near(situation: Situation, memory: Memory) -> Plan | None:
    """Eats when a cow is near, or for the first time."""
    missing = 9 - situation.inventory["food"]
    limit = (6 if situation.day_step in DUSK else 2) * missing if missing >= 3 else 0
    if situation.is_dark:
        limit = missing - 2
    return _hunt(situation, "cow", max(limit, 0 if situation.done["eat_cow"] else 14))


def hunt_zombie(situation: Situation, memory: Memory) -> Plan | None:
    """Attacks a zombie to unlock `defeat_zombie`."""
    if situation.done["defeat_zombie"] or situation.damage < 2 or not situation.has("health", 6):
        return None
    return _hunt(situation, "zombie", 9 if situation.is_dark else 18)


def hunt_skeleton(situation: Situation, memory: Memory) -> Plan | None:
    """Attacks a skeleton to unlock `defeat_skeleton`."""
    if situation.done["defeat_skeleton"] or situation.damage < 2 or not situation.has("health", 6):
        return None
    return _hunt(situation, "skeleton", 20)


def hunt_skeleton_anywhere(situation: Situation, memory: Memory) -> Plan | None:
    """Like `hunt_skeleton`, at any distance."""
    if situation.done["defeat_skeleton"] or situation.damage < 3 or not situation.has("health", 6):
        return None
    return _hunt(situation, "skeleton", 90)


def sleep_briefly(situation: Situation, memory: Memory) -> Plan | None:
    """Sleeps in the open in the morning, when no zombies appear, to unlock `wake_up`."""
    if situation.done["wake_up"] or situation.has("energy", 9):
        return None
    first, last = BRIEF_SLEEP_STEPS
    missing = 9 - situation.inventory["energy"]
    if not first <= situation.day_step <= last - 12 * missing:
        return None
    if situation.creatures(*HOSTILE, within=12):
        return None
    return Plan(("sleep",), "A short nap in broad daylight, while no zombie is near.")


def _urgent(situation: Situation) -> int:
    return URGENT_AT_NIGHT if situation.is_dark else URGENT


def _drink(situation: Situation) -> Plan | None:
    water = situation.nearest(situation.where("water"))
    if water is None:
        return None
    drink = situation.inventory["drink"]
    drinks = ("do",) * max(1, 9 - drink)
    reason = f"Drink is {drink} of 9; water is {situation.way_to(water.cell)}."
    return Plan(situation.use(water.cell, *drinks), reason)


def _hunt(situation: Situation, creature: str, limit: int) -> Plan | None:
    target = situation.nearest(situation.where(creature))
    if target is None or target.steps > limit:
        return None
    if creature == "cow":
        reason = f"Food is {situation.inventory['food']} of 9; a cow is {situation.way_to(target.cell)}."
    else:
        reason = f"Going for the {creature} {situation.way_to(target.cell)}; a hit takes {situation.damage} health."
    return Plan(situation.use(target.cell, "do"), reason)
