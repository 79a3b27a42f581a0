"""How often Crafter lets creatures appear, as a bound on how often they can be defeated.

Source: `Env._balance_chunk` of crafter 1.8.3. `tests/audit/test_arrivals.py` holds this against `core.env.balance`.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.types import EnvConfig, Scene


@dataclass(frozen=True, slots=True)
class Arrival:
    """How often creatures of a kind appear: at each look, in each chunk with room for them (`core.env.balance`).

    probability: of one more, where there are too few. cells: how many of its ground a chunk needs.
    share: of the looks, those at which any are wanted.
    """

    probability: float
    cells: int
    share: float = 1.0


AREA = EnvConfig().area  # cells
CHUNK = (12, 12)  # cells; a chunk at the edge is what is left
EVERY = 10  # steps from one look to the next
DAY = 300  # steps


def zombies_wanted(daylight: float) -> int:
    """How many zombies a chunk of grass is filled up to. daylight: 0 (darkest) to 1."""
    return int(3.5 - 3 * daylight)


def _share_of_looks_with_zombies() -> float:
    looks = [Scene(step, (0, 0), (), (), {}, sleeping=False).daylight for step in range(0, DAY, EVERY)]
    return sum(zombies_wanted(daylight) > 0 for daylight in looks) / len(looks)


ARRIVALS = {
    "zombie": Arrival(0.3, 50, _share_of_looks_with_zombies()),
    "skeleton": Arrival(0.1, 6),
    "cow": Arrival(0.01, 30),
}


def chunks_with(cells: int, area: tuple[int, int] = AREA) -> int:
    """How many chunks of a world are large enough to have so many cells."""
    widths, heights = (
        [min(size, end - at) for at in range(0, end, size)] for size, end in zip(CHUNK, area, strict=True)
    )
    return sum(width * height >= cells for width in widths for height in heights)


def steps_for_each(creature: str) -> float:
    """The fewest steps, in the mean of many days, in which a world brings another creature; at least the blow's one.

    Every chunk is taken to be of the right ground only, and to be emptied at once.
    """
    arrival = ARRIVALS[creature]
    return max(1.0, EVERY / (arrival.probability * arrival.share * chunks_with(arrival.cells)))


def arrival_in_words(creature: str, ground: str) -> str:
    """Where `steps_for_each` comes from. ground: what the creature appears on."""
    arrival = ARRIVALS[creature]
    at_night = f", at {100 * arrival.share:.0f} % of the looks, when it is dark enough," if arrival.share < 1 else ""
    return (
        f"Every {EVERY} steps{at_night} each chunk with at least {arrival.cells} cells of {ground} brings a {creature} "
        f"with probability {arrival.probability:g}. All {chunks_with(arrival.cells)} chunks of a world of "
        f"{AREA[0]} x {AREA[1]} cells that are large enough are assumed to be such, and ways to take no time."
    )
