"""A shelter of two cells with walls on all sides, so that zombies cannot stand next to a sleeping character.

The character faces a free cell only after moving towards it. So a room is two cells in a line: walk to one, back to the
other, and face the opening. The four cells beside the line must already be walls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.env.rules import WALKABLE
from core.policies.scripted.pathfinding import FAR
from core.policies.scripted.situation import MOVES, Cell, Memory, Plan, Situation, neighbours, shifted, step_towards

WALLS = ("stone", "coal", "iron", "diamond", "table", "furnace", "tree", "water")
DIG_ROOM = ("stone", "coal")
MAX_STEPS_TO_ROOM = 40


@dataclass(frozen=True, slots=True)
class _Room:
    cells: tuple[Cell, Cell]
    direction: Cell  # from the first cell to the second
    steps: int  # to reach and close it


def sleep_safely(situation: Situation, memory: Memory) -> Plan | None:
    energy, health = situation.inventory["energy"], situation.inventory["health"]
    hungry = min(situation.inventory["food"], situation.inventory["drink"]) <= 2
    tired = energy <= 2 or (situation.is_dark and energy <= 7) or (health <= 4 and energy <= 8 and not hungry)
    if not tired:
        return None
    return retreat(situation, f"Energy {energy} and health {health} of 9", ("sleep",) * 5)


def recover(situation: Situation, memory: Memory) -> Plan | None:
    """Rests behind walls until healed, while food and drink last."""
    health = situation.inventory["health"]
    vitals = min(situation.inventory["food"], situation.inventory["drink"])
    memory.resting = vitals > 2 and health <= (6 if memory.resting else 4)
    if not memory.resting:
        return None
    return retreat(situation, f"Only {health} health left", _rest(situation))


def hide_at_night(situation: Situation, memory: Memory) -> Plan | None:
    if not situation.is_dark or _is_deep_in_stone(situation):
        return None
    return retreat(situation, "Zombies roam the grass at night", _rest(situation))


def _rest(situation: Situation) -> tuple[str, ...]:
    """Sleep heals twice as fast as waiting and halves hunger and thirst."""
    return ("noop",) * 5 if situation.has("energy", 9) else ("sleep",) * 5


def _is_deep_in_stone(situation: Situation) -> bool:
    """Whether almost no grass is near, so that working at night is safe."""
    x, y = situation.position
    grass = situation.where("grass")[max(0, x - 8) : x + 9, max(0, y - 8) : y + 9]
    return bool(grass.mean() < 0.1) and not situation.creatures("zombie", within=10)


def retreat(situation: Situation, why: str, rest: tuple[str, ...]) -> Plan | None:
    if all(situation.at(cell) in WALLS for cell in neighbours(situation.position)):
        return Plan(rest, f"{why}: resting, walled in on all sides.")
    room = _nearest_room(situation)
    if room is None:
        return None
    if situation.position not in room.cells:
        nearer = min(room.cells, key=lambda cell: situation.steps[cell])
        return Plan(situation.go_to(nearer), f"{why}: a safe place to rest is {situation.way_to(nearer)}.")
    return _shut(situation, room, why) or Plan(rest, f"{why}: resting behind closed walls.")


def _shut(situation: Situation, room: _Room, why: str) -> Plan | None:
    """The next step to close the room the character is in; None if it is closed."""
    first, second = room.cells
    dx, dy = room.direction
    for inside, outwards, other in ((first, (-dx, -dy), second), (second, (dx, dy), first)):
        if situation.at(step_towards(inside, outwards)) in WALLS:
            continue
        if situation.position != inside and situation.at(inside) in WALLS:
            continue  # not dug yet, so it is a wall itself
        if situation.position != inside:
            return Plan((MOVES[outwards],), f"{why}: turning to the opening of the shelter.")
        if situation.facing == outwards:
            return Plan(("place_stone",), f"{why}: closing the shelter with a stone.")
        inwards = (-outwards[0], -outwards[1])
        if situation.at(other) in WALKABLE:
            return Plan((MOVES[inwards], MOVES[outwards]), f"{why}: turning to the opening.")
        turn = () if situation.facing == inwards else (MOVES[inwards],)
        return Plan((*turn, "do"), f"{why}: digging the shelter one cell deeper.")
    return None


def _nearest_room(situation: Situation) -> _Room | None:
    """The room that takes the fewest steps to reach and close with the available stones."""
    walls = situation.where(*WALLS)
    ground = situation.where(*WALKABLE)
    ground[situation.position] = True
    to_dig = situation.where(*DIG_ROOM) & situation.diggable
    best: _Room | None = None
    for direction in ((1, 0), (0, 1)):
        side = (direction[1], direction[0])
        other = (-direction[0], -direction[1])
        beside = shifted(walls, side, fill=False) & shifted(walls, (-side[0], -side[1]), fill=False)
        room = (ground | to_dig) & beside
        room &= shifted(room, direction, fill=False)
        far_end = (2 * direction[0], 2 * direction[1])
        ends_open = 2 - shifted(walls, other, fill=False).astype(int) - shifted(walls, far_end, fill=False).astype(int)
        ends_fit = shifted(walls | ground, other, fill=False) & shifted(walls | ground, far_end, fill=False)
        stones = situation.inventory["stone"] + to_dig.astype(int) + shifted(to_dig, direction, fill=False).astype(int)
        steps = np.minimum(situation.steps, shifted(situation.steps, direction, fill=FAR)) + 3 * ends_open
        steps = np.where(room & ends_fit & (stones >= ends_open), steps, FAR)
        x, y = (int(i) for i in np.unravel_index(steps.argmin(), steps.shape))
        if steps[x, y] <= MAX_STEPS_TO_ROOM and (best is None or steps[x, y] < best.steps):
            cells = ((x, y), step_towards((x, y), direction))
            best = _Room(cells, direction, int(steps[x, y]))
    return best
