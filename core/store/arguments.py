"""What the store's methods were given, looked at first: a value of a wrong type is not the database's fault."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Final, TypeVar

from core.errors import InvalidInput
from core.params import Number
from core.text import quoted

Value = TypeVar("Value")

_A_QUERY: Final = 500
_FINITE: Final = Number(-sys.float_info.max, sys.float_info.max)


def text(value: object, what: str) -> str:
    """A text. Raises InvalidInput, which calls it `what`."""
    if not isinstance(value, str):
        raise InvalidInput(f"{what} is {quoted(value)}; give a text.")
    return value


def whole(value: object, what: str) -> int:
    """A whole number, of any integer type. Raises InvalidInput, which calls it `what`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidInput(f"{what} is {quoted(value)}; give a whole number.")
    return int(value)


def is_finite(value: object) -> bool:
    """Whether it is a finite number, of any real type."""
    return _FINITE.read(value) is not None


def finite(value: object, what: str) -> float:
    """A finite number, of any real type. Raises InvalidInput, which calls it `what`."""
    number = _FINITE.read(value)
    if number is None:
        raise InvalidInput(f"{what} is {quoted(value)}; give a finite number.")
    return number


def in_parts(values: Iterable[Value], size: int = _A_QUERY) -> Iterator[tuple[Value, ...]]:
    """As many at once as a query may ask for."""
    every = tuple(values)
    return (every[at : at + size] for at in range(0, len(every), size))
