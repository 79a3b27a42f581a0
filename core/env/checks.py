"""What an environment accepts, and the sentences for what it does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsInt, cast

import numpy as np

from core.env.rules import ACTIONS, ITEMS
from core.env.simulation import AGENT_SIZE, local_grid
from core.errors import InvalidConfig, InvalidInput, InvalidSeeds, did_you_mean
from core.types import EnvConfig

MAX_SEED = 2**31 - 1
MAX_AREA = 1024
MAX_LENGTH = 2**31 - 1
MAX_SIZE = 4096
# Upstream's smallest digit is 0.6 of a cell: below two pixels a cell there is none.
MIN_CELL = 2
MAX_VIEW = min(AGENT_SIZE) // MIN_CELL


def checked_seed(seed: object) -> int:
    """`seed` as a plain int. Raises InvalidSeeds where it is no whole number from 0 to 2**31 - 1."""
    number = _whole_number(seed)
    if number is None:
        raise InvalidSeeds(f"The seed is {seed!r}; give a whole number from 0 to {MAX_SEED}.")
    if not 0 <= number <= MAX_SEED:
        raise InvalidSeeds(f"The seed {number} is out of range; give a whole number from 0 to {MAX_SEED}.")
    return number


def checked_episode(episode: object) -> int:
    """`episode` as a plain int. Raises InvalidSeeds where it is no whole number from 1 to 2**31 - 1."""
    number = _whole_number(episode)
    if number is None or not 1 <= number <= MAX_SEED:
        raise InvalidSeeds(
            f"The episode (which world of the seed) is {episode!r}; give a whole number from 1 to {MAX_SEED}."
        )
    return number


def checked_action(action: object) -> int:
    """`action` as a plain int. Raises InvalidInput where it is no index into `rules.ACTIONS`."""
    number = _whole_number(action)
    if number is not None and 0 <= number < len(ACTIONS):
        return number
    hint = ""
    if isinstance(action, str):
        if action in ACTIONS:
            hint = f'; "{action}" has the number {ACTIONS.index(action)}'
        else:
            hint = did_you_mean(action, ACTIONS)
    raise InvalidInput(
        f"The action is {action!r}; give its number, a whole number from 0 ({ACTIONS[0]}) to {len(ACTIONS) - 1} "
        f"({ACTIONS[-1]}){hint}."
    )


def checked_config(area: object, view: object, length: object) -> EnvConfig:
    """An EnvConfig of plain ints. A single number stands for both sides.

    Raises InvalidConfig where a value cannot be used.
    """
    config = EnvConfig(
        area=_pair(area, "area", "cells", 1, MAX_AREA),
        view=_pair(view, "view", "cells", 1, MAX_VIEW),
        length=_length(length),
    )
    if local_grid(config.view)[1] < 1:
        rows = config.view[1] - local_grid(config.view)[1]
        raise InvalidConfig(
            f"The view {config.view} leaves no row for the world: the {len(ITEMS)} inventory entries take {rows} rows "
            f"of {config.view[0]} cells; give it a height of {rows + 1} or more."
        )
    return config


def checked_size(size: object, view: tuple[int, int]) -> tuple[int, int]:
    """Width and height of a picture in pixels. A single number stands for both.

    Raises InvalidConfig where a picture of `view` cannot be drawn at that size.
    """
    checked = _pair(size, "size", "pixels", 1, MAX_SIZE)
    if checked[0] < MIN_CELL * view[0] or checked[1] < MIN_CELL * view[1]:
        raise InvalidConfig(
            f"The size {checked} is too small for a view of {view[0]} x {view[1]} cells; "
            f"give at least {MIN_CELL * view[0]} x {MIN_CELL * view[1]} pixels."
        )
    return checked


def checked_cell(cell: object) -> int:
    """Pixels a cell of a world picture. Raises InvalidConfig where it is no whole number from 1 to 64."""
    number = _whole_number(cell)
    if number is None or not 1 <= number <= 64:
        raise InvalidConfig(f"The cell size is {cell!r}; give a whole number of pixels from 1 to 64.")
    return number


def checked_count(count: object) -> int:
    """How many environments. Raises InvalidConfig where it is no whole number from 1."""
    number = _whole_number(count)
    if number is None or number < 1:
        raise InvalidConfig(f"The number of environments is {count!r}; give a whole number from 1.")
    return number


def _length(length: object) -> int:
    number = _whole_number(length)
    if number is None or not 1 <= number <= MAX_LENGTH:
        raise InvalidConfig(f"The length is {length!r}; give a whole number of steps from 1 to {MAX_LENGTH}.")
    return number


def _pair(value: object, name: str, unit: str, low: int, high: int) -> tuple[int, int]:
    sides: object = value
    if isinstance(value, np.ndarray):
        sides = cast(object, value.tolist())
    elif _whole_number(value) is not None:
        sides = (value, value)
    if isinstance(sides, Sequence) and not isinstance(sides, (str, bytes)):
        numbers = [_whole_number(side) for side in cast(Sequence[Any], sides)]
        if len(numbers) == 2 and all(number is not None and low <= number <= high for number in numbers):
            return cast(tuple[int, int], tuple(numbers))
    raise InvalidConfig(
        f"The {name} is {value!r}; give two whole numbers of {unit} (width, height), each from {low} to {high}."
    )


def _whole_number(value: object) -> int | None:
    """The int in `value`; None for bool, text, floats and everything else that only looks like a number."""
    if type(value) is int:  # nearly always, and asked at every step
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:  # what RL libraries give for a single environment
        value = cast(object, value[()])
    if isinstance(value, np.integer):
        return int(cast(SupportsInt, value))
    return value if isinstance(value, int) and not isinstance(value, bool) else None
