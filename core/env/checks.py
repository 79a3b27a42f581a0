"""Validates the arguments of the environments."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import SupportsIndex, cast

from core.env.rules import ACTIONS, ITEMS
from core.env.simulation import AGENT_SIZE, local_grid
from core.errors import InvalidConfig, InvalidInput, InvalidSeeds, did_you_mean
from core.types import EnvConfig

MAX_SEED = 2**31 - 1
MAX_AREA = 1024
MAX_LENGTH = 2**31 - 1
MAX_SIZE = 4096
# Upstream draws digits at 0.6 of a cell: below two pixels a cell they vanish.
MIN_CELL = 2
MAX_VIEW = min(AGENT_SIZE) // MIN_CELL


def checked_seed(seed: object) -> int:
    """Raises InvalidSeeds unless it is a whole number from 0 to 2**31 - 1."""
    number = _whole_number(seed)
    if number is None:
        raise InvalidSeeds(f"The seed is {seed!r}; give a whole number from 0 to {MAX_SEED}.")
    if not 0 <= number <= MAX_SEED:
        raise InvalidSeeds(f"The seed {number} is out of range; give a whole number from 0 to {MAX_SEED}.")
    return number


def checked_episode(episode: object) -> int:
    """Raises InvalidSeeds unless it is a whole number from 1 to 2**31 - 1."""
    return checked_number(episode, "episode (which world of the seed)", MAX_SEED, error=InvalidSeeds)


def checked_action(action: object) -> int:
    """Raises InvalidInput unless it is an index into `rules.ACTIONS`."""
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
    """A single number means both width and height. Raises InvalidConfig."""
    config = EnvConfig(
        area=_pair(area, "area", "cells", MAX_AREA),
        view=_pair(view, "view", "cells", MAX_VIEW),
        length=checked_length(length),
    )
    if local_grid(config.view)[1] < 1:
        rows = config.view[1] - local_grid(config.view)[1]
        raise InvalidConfig(
            f"The view {config.view} leaves no row for the world: the {len(ITEMS)} inventory entries take {rows} rows "
            f"of {config.view[0]} cells; give it a height of {rows + 1} or more."
        )
    return config


def checked_size(size: object, view: tuple[int, int]) -> tuple[int, int]:
    """Width and height of a picture in pixels; a single number means both. Raises InvalidConfig if it is too small."""
    checked = _pair(size, "size", "pixels", MAX_SIZE)
    if checked[0] < MIN_CELL * view[0] or checked[1] < MIN_CELL * view[1]:
        raise InvalidConfig(
            f"The size {checked} is too small for a view of {view[0]} x {view[1]} cells; "
            f"give at least {MIN_CELL * view[0]} x {MIN_CELL * view[1]} pixels."
        )
    return checked


def checked_length(length: object, name: str = "length") -> int:
    """A number of steps. Raises InvalidConfig, naming the argument."""
    return checked_number(length, name, MAX_LENGTH, " of steps")


def sequence_in(value: object) -> Sequence[object] | None:
    """The elements of a list, tuple, array or tensor; None for text and for a single value."""
    # numpy's and torch's own way to Python numbers: one transfer, however many elements there are.
    tolist = getattr(value, "tolist", None)
    elements: object = value if tolist is None else tolist()
    if isinstance(elements, Sequence) and not isinstance(elements, (str, bytes)):
        return cast(Sequence[object], elements)
    return None


def checked_number(
    value: object, name: str, high: int, of_unit: str = "", error: type[InvalidInput] = InvalidConfig
) -> int:
    """Raises `error` unless it is a whole number from 1 to `high`."""
    number = _whole_number(value)
    if number is None or not 1 <= number <= high:
        raise error(f"The {name} is {value!r}; give a whole number{of_unit} from 1 to {high}.")
    return number


def _pair(value: object, name: str, unit: str, high: int) -> tuple[int, int]:
    sides = (value, value) if _whole_number(value) is not None else sequence_in(value)
    if sides is not None:
        numbers = [_whole_number(side) for side in sides]
        if len(numbers) == 2 and all(number is not None and 1 <= number <= high for number in numbers):
            return cast(tuple[int, int], tuple(numbers))
    raise InvalidConfig(
        f"The {name} is {value!r}; give two whole numbers of {unit} (width, height), each from 1 to {high}."
    )


def _whole_number(value: object) -> int | None:
    """The int that `value` stands for; None for bools, floats, text and everything else without `__index__`."""
    if type(value) is int:  # the usual case, checked at every step
        return value
    if not isinstance(value, SupportsIndex) or _is_bool(value):
        return None
    try:
        return operator.index(value)
    except TypeError:  # arrays and tensors all have the method; those of floats or of several values raise
        return None


def _is_bool(value: object) -> bool:
    """True for bools of Python, numpy, torch, ...: known by the name of their dtype, so that none is imported here."""
    dtype = getattr(value, "dtype", None)
    # torch's dtypes have no name, their text is "torch.bool"
    name = str(getattr(dtype, "name", dtype))
    return isinstance(value, bool) or name.rpartition(".")[2] == "bool"
