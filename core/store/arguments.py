"""What the store's methods were given, looked at first: a value of a wrong type is not the database's fault."""

from __future__ import annotations

import reprlib
from numbers import Integral

from core.errors import InvalidInput


def text(value: object, what: str) -> str:
    """A text. Raises InvalidInput, which calls it `what`."""
    if not isinstance(value, str):
        raise InvalidInput(f"{what} is {reprlib.repr(value)}; give a text.")
    return value


def whole(value: object, what: str) -> int:
    """A whole number, of any integer type. Raises InvalidInput, which calls it `what`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidInput(f"{what} is {reprlib.repr(value)}; give a whole number.")
    return int(value)
