"""What a policy sees before it decides: an `Observation`, and `observation_text`, the same as English text."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from core.env.rules import ACHIEVEMENTS, DIRECTION_NAMES, MAX_ITEM, SEMANTIC_IDS, SEMANTIC_NAMES, VITALS
from core.env.scene import local_cells

# What `nearest` looks for, in the order in which the text names it.
NEAREST_KINDS: tuple[str, ...] = (
    "water",
    "grass",
    "sand",
    "tree",
    "stone",
    "coal",
    "iron",
    "diamond",
    "lava",
    "table",
    "furnace",
    "cow",
    "zombie",
    "skeleton",
    "arrow",
    "plant",
)


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """The world as a policy sees it. All values are copies.

    step, step_limit: steps taken in this episode, and the most that it may take.
    position: (x, y) in cells, y grows downwards. facing: (dx, dy). faced: name of what stands in that direction,
    "none" beyond the edge of the world.
    daylight: 0 (darkest) to 1.
    semantic: uint8 (width, height), indexed [x][y]; ids as in `rules.SEMANTIC_NAMES`.
    local: the rows of the local view from top to bottom, names from left to right, the player in the middle.
    nearest: for each of NEAREST_KINDS the offset (dx, dy) from the player to the nearest one in the whole world by
    Manhattan distance (at equal distance the one further left, then further up), None if there is none.
    picture: uint8 (height, width, 3), drawn for policies that look at one (`policies.PicturePolicy`), else None.
    """

    step: int
    step_limit: int
    inventory: dict[str, int]
    achievements: dict[str, bool]
    achievement_counts: dict[str, int]
    position: tuple[int, int]
    facing: tuple[int, int]
    faced: str
    sleeping: bool
    daylight: float
    semantic: NDArray[np.uint8]
    local: tuple[tuple[str, ...], ...]
    nearest: dict[str, tuple[int, int] | None]
    last_env_reward: float
    env_return: float
    terminated: bool
    truncated: bool
    picture: NDArray[np.uint8] | None = None


def find_nearest(semantic: NDArray[np.uint8], position: tuple[int, int]) -> dict[str, tuple[int, int] | None]:
    """The offset to the nearest of each of NEAREST_KINDS; see `Observation.nearest`."""
    width, height = semantic.shape
    x, y = position
    away = np.abs(np.arange(width, dtype=np.int16) - x)[:, None] + np.abs(np.arange(height, dtype=np.int16) - y)
    order = np.argsort(away.ravel(), kind="stable")
    sorted_ids = semantic.ravel()[order]
    ids, firsts = np.unique(sorted_ids, return_index=True)
    cells = dict(zip(ids.tolist(), order[firsts].tolist(), strict=True))
    nearest: dict[str, tuple[int, int] | None] = {}
    for name in NEAREST_KINDS:
        cell = cells.get(SEMANTIC_IDS[name])
        nearest[name] = None if cell is None else (cell // height - x, cell % height - y)
    return nearest


def local_names(
    semantic: NDArray[np.uint8], position: tuple[int, int], grid: tuple[int, int]
) -> tuple[tuple[str, ...], ...]:
    """The rows of the local view, `grid` = (width, height) cells around `position`; see `Observation.local`."""
    rows: list[list[int]] = local_cells(semantic, position, grid).T.tolist()
    return tuple(tuple(SEMANTIC_NAMES[id_] for id_ in row) for row in rows)


def observation_text(observation: Observation) -> str:
    """The observation in English; equal observations give equal text in every process."""
    time_of_day = "Day" if observation.daylight >= 0.5 else "Night"
    items = [f"{name} {n}" for name, n in observation.inventory.items() if n > 0 and name not in VITALS]
    counts = observation.achievement_counts
    unlocked = [f"{name} x{counts[name]}" for name, is_unlocked in observation.achievements.items() if is_unlocked]
    lines = [
        f"Step {observation.step} of {observation.step_limit}. "
        f"{time_of_day}, daylight {observation.daylight * 100:.0f} %.",
        _where(observation),
        "Vitals: " + ", ".join(f"{name} {observation.inventory[name]}/{MAX_ITEM[name]}" for name in VITALS) + ".",
        f"Inventory: {', '.join(items) or 'empty'}.",
        f"Achievements ({len(unlocked)} of {len(ACHIEVEMENTS)}): {', '.join(unlocked) or 'none so far'}.",
        "Local view, you in the middle:",
        *_grid_lines(observation.local),
        "Nearest: " + _nearest(observation.nearest) + ".",
        f"Environment reward: last {observation.last_env_reward:+.2f}, total {observation.env_return:+.2f}.",
    ]
    if observation.terminated:
        lines.append("You died: the episode is over.")
    elif observation.truncated:
        lines.append("The step limit of the world is reached: the episode is over.")
    return "\n".join(lines)


def _where(observation: Observation) -> str:
    x, y = observation.position
    faced = "the edge of the world" if observation.faced == SEMANTIC_NAMES[0] else observation.faced
    state = "asleep" if observation.sleeping else "awake"
    return f"You are {state} at x={x}, y={y}, facing {DIRECTION_NAMES[observation.facing]}; in front of you: {faced}."


def _grid_lines(local: tuple[tuple[str, ...], ...]) -> list[str]:
    """`4 grass, player, 4 water`: runs of equal cells are counted, which takes half the tokens of a word for each."""
    return ["  " + ", ".join(_counted(name, len(list(cells))) for name, cells in groupby(row)) for row in local]


def _counted(name: str, count: int) -> str:
    return name if count == 1 else f"{count} {name}"


def _nearest(nearest: dict[str, tuple[int, int] | None]) -> str:
    found = (f"{name} {direction_text(*offset)}" for name, offset in nearest.items() if offset is not None)
    return "; ".join(found) or "nothing"


def direction_text(dx: int, dy: int, between: str = " ") -> str:
    """An offset in cells as "3 left 2 up"."""
    across = f"{abs(dx)} {'right' if dx > 0 else 'left'}" if dx else ""
    down = f"{abs(dy)} {'down' if dy > 0 else 'up'}" if dy else ""
    return between.join(filter(None, (across, down))) or "here"
