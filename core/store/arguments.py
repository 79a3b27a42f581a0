"""What the store's methods were given, looked at first: a value of a wrong type is not the database's fault."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Final, TypeVar

from core.errors import InvalidInput
from core.params import quoted

Value = TypeVar("Value")

_A_QUERY: Final = 500


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


def in_parts(values: Iterable[Value], size: int = _A_QUERY) -> Iterator[tuple[Value, ...]]:
    """As many at once as a query may ask for."""
    every = tuple(values)
    return (every[at : at + size] for at in range(0, len(every), size))
