"""Two searches: the steps to every cell, and the moves to face a given cell.

Cells are flat indices of a map with a border of one cell, so that neighbours need no bounds check.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

FAR = 1_000_000
BLOCKED = 10_000  # the cost of a cell that cannot be entered; its distance is that to the cell before it, plus 1

MAX_AIM_MOVES = 14
MAX_AIM_STATES = 1_200


@dataclass(frozen=True, slots=True)
class Distances:
    """Steps from the start to every cell (`FAR`: unreachable), and each cell's predecessor."""

    start: int
    steps: list[int]
    came_from: list[int]

    def route(self, target: int) -> list[int]:
        """The cells from the start (excluded) to the target (included)."""
        cells = [target]
        while self.came_from[cells[-1]] != self.start:
            cells.append(self.came_from[cells[-1]])
        return cells[::-1]


def flood(costs: Sequence[int], start: int, offsets: Sequence[int]) -> Distances:
    """Dijkstra from `start`, with one bucket per distance, as costs are small whole numbers.

    costs: steps to enter each cell. A `BLOCKED` cell is reached from its neighbours but not passed.
    """
    steps = [FAR] * len(costs)
    came_from = [start] * len(costs)
    steps[start] = 0
    buckets: list[list[int]] = [[start]]
    for distance, bucket in enumerate(buckets):
        for cell in bucket:
            if steps[cell] != distance:
                continue  # a shorter way was found later
            for offset in offsets:
                neighbour = cell + offset
                cost = costs[neighbour]
                total = distance + (1 if cost >= BLOCKED else cost)
                if total >= steps[neighbour]:
                    continue
                steps[neighbour] = total
                came_from[neighbour] = cell
                if cost < BLOCKED:
                    while len(buckets) <= total:
                        buckets.append([])
                    buckets[total].append(neighbour)
    return Distances(start, steps, came_from)


def aim(
    start: int,
    facing: int,
    offsets: Sequence[int],
    *,
    is_free: Sequence[bool],
    is_deadly: Sequence[bool],
    accept: Callable[[int, int], bool],
) -> list[int] | None:
    """The shortest moves (as offsets) after which `accept(cell, faced cell)` is true; None if it is not reachable.

    A move towards a free cell goes there, one towards a blocked cell turns; deadly cells are avoided.
    """
    before: dict[tuple[int, int], tuple[int, int]] = {}
    queue = [((start, facing), 0)]
    seen = {(start, facing)}
    for state, n_moves in queue:  # grows while it is walked
        cell, direction = state
        if accept(cell, cell + direction):
            return _moves_to(state, before)
        if n_moves >= MAX_AIM_MOVES or len(seen) >= MAX_AIM_STATES:
            continue
        for offset in offsets:
            ahead = cell + offset
            after = (ahead if is_free[ahead] else cell, offset)
            if after not in seen and not is_deadly[ahead]:
                seen.add(after)
                before[after] = state
                queue.append((after, n_moves + 1))
    return None


def _moves_to(state: tuple[int, int], before: dict[tuple[int, int], tuple[int, int]]) -> list[int]:
    moves: list[int] = []
    while state in before:
        moves.append(state[1])  # the last move's direction is what the character faces
        state = before[state]
    return moves[::-1]
