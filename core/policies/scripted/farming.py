"""Plants a sapling, fences it with stones, and eats the ripe plant."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.env.observation import Observation
from core.env.rules import DIRECTIONS, SEMANTIC_IDS, WALKABLE
from core.policies.scripted.crafting import standable
from core.policies.scripted.pathfinding import FAR
from core.policies.scripted.shelter import WALLS, retreat
from core.policies.scripted.situation import GROWN, Cell, Mask, Memory, Plan, Situation, around, neighbours, shifted

UPDATE_RADIUS = 18  # plants further away do not grow
FENCE_STONES = 3
STEPS_PER_OPEN_SIDE = 5  # to place a stone there
MAX_STEPS_TO_FIELD = 45  # including those for the fence


def watch_plants(observation: Observation, memory: Memory) -> None:
    """Updates how long each plant has grown; forgets plants that are gone."""
    passed = observation.step - memory.last_step
    memory.last_step = observation.step
    x, y = observation.position
    plants = {(int(px), int(py)) for px, py in np.argwhere(observation.semantic == SEMANTIC_IDS["plant"])}
    for plant in plants:
        is_near = abs(plant[0] - x) + abs(plant[1] - y) < UPDATE_RADIUS
        memory.grown[plant] = memory.grown.get(plant, 0) + (passed if is_near else 0)
    for plant in set(memory.grown) - plants:
        del memory.grown[plant]


def pick_sapling(situation: Situation, memory: Memory) -> Plan | None:
    """Searches the grass for a sapling; 10 % of searches find one."""
    wanted = not situation.done["collect_sapling"] or not (situation.done["eat_plant"] or memory.grown)
    if not wanted or situation.has("sapling") or situation.is_dark:
        return None
    moves = situation.aim_at(situation.where("grass"))
    if moves is None or len(moves) > 3:
        return None
    return Plan((*moves, "do", "do", "do"), "Searching the grass for a sapling; one try in ten finds one.")


def plant_sapling(situation: Situation, memory: Memory) -> Plan | None:
    """Plants where the fence needs few stones, once there are enough."""
    if not situation.has("sapling") or memory.grown or not situation.has("stone", FENCE_STONES):
        return None
    field = _field(situation)
    if field is None:
        return None
    only = np.zeros(situation.map.shape, bool)
    only[field] = True
    moves = situation.aim_at(only)
    if moves is not None:
        return Plan((*moves, "place_plant"), "Planting the sapling where it is easy to fence in.")
    return Plan(situation.use(field)[:-1] or ("noop",), f"A good field for the sapling is {situation.way_to(field)}.")


def fence_plant(situation: Situation, memory: Memory) -> Plan | None:
    """Places stones on the open sides of a plant: cows and zombies next to it destroy it."""
    if situation.done["eat_plant"] or not situation.has("stone"):
        return None
    open_sides = np.zeros(situation.map.shape, bool)
    for plant in memory.grown:
        if situation.cells_to(plant) <= 8:
            for cell in neighbours(plant):
                if situation.is_free(cell) or cell == situation.position:  # false beyond the edge
                    open_sides[cell] = True
    if not open_sides.any():
        return None
    moves = situation.aim_at(open_sides)
    if moves is None:
        return None
    return Plan((*moves, "place_stone"), f"Fencing the plant in; {int(open_sides.sum())} sides are open.")


def harvest(situation: Situation, memory: Memory) -> Plan | None:
    """Eats a ripe plant, by daylight unless the episode is about to end."""
    steps_left = situation.observation.step_limit - situation.observation.step
    if situation.done["eat_plant"] or (situation.is_dark and steps_left > 100):
        return None
    for plant, grown in memory.grown.items():
        if grown >= GROWN and situation.steps[plant] < FAR:
            if situation.cells_to(plant) == 1:
                memory.grown[plant] = GROWN - 10  # if it is still there, it was not ripe
            return Plan(situation.use(plant, "do"), f"The plant {situation.way_to(plant)} should be ripe: eating it.")
    return None


def tend_plant(situation: Situation, memory: Memory) -> Plan | None:
    """Waits near the plant, behind walls."""
    if situation.done["eat_plant"]:
        return None
    for plant, grown in memory.grown.items():
        why = f"Staying near the plant so that it grows ({grown} steps so far)"
        if situation.cells_to(plant) >= UPDATE_RADIUS - 4:
            spot = situation.nearest(_within(situation, plant, UPDATE_RADIUS - 8) & standable(situation))
            return Plan(situation.go_to(spot.cell), f"{why}.") if spot else None
        rest = "sleep" if situation.inventory["energy"] < 8 else "noop"
        return retreat(situation, why, (rest,) * 5) or Plan(("noop",), f"{why}.")
    return None


def _within(situation: Situation, center: Cell, distance: int) -> Mask:
    xs, ys = np.indices(situation.map.shape)
    return np.abs(xs - center[0]) + np.abs(ys - center[1]) <= distance


def _field(situation: Situation) -> Cell | None:
    """The nearest grass cell; open sides and near creatures count as extra steps."""
    walls = _sides(situation.where(*WALLS))
    can_be_fenced = walls + _sides(situation.where("player", *WALKABLE)) == 4
    steps = situation.steps + STEPS_PER_OPEN_SIDE * (4 - walls)
    steps[around(around(situation.where("cow", "zombie")))] += 2 * STEPS_PER_OPEN_SIDE
    steps = np.where(situation.where("grass") & can_be_fenced, steps, FAR)
    x, y = (int(i) for i in np.unravel_index(steps.argmin(), steps.shape))
    return (x, y) if steps[x, y] <= MAX_STEPS_TO_FIELD else None


def _sides(mask: Mask) -> NDArray[np.int64]:
    """How many of the four neighbours of each cell are in the mask."""
    count = np.zeros(mask.shape, np.int64)
    for direction in DIRECTIONS.values():
        count += shifted(mask, direction, fill=False)
    return count
