"""Reads values from a URL's query and writes them. Readers raise ValueError with a sentence for the user."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, cast
from urllib.parse import quote_plus

from core.errors import did_you_mean
from core.params import Integer, Kind, OneOf, Text

MAX_NUMBER: Final = 1_000_000_000
"""Far below 2**53, up to which a browser's numbers are exact."""

_MAX_CHARACTERS = 6_000  # characters of one value in a URL; servers accept about 8,000 for a whole URL
_WHOLE = re.compile(r"[+-]?[0-9]{1,10}")


def one_of(names: Mapping[str, Any]) -> Callable[[str], str]:
    """Reads one of these names."""

    def read(text: str) -> str:
        if text not in names:
            raise ValueError(f"unknown name{did_you_mean(text, names) or '.'}")
        return text

    return read


def parse_names(text: str) -> list[str]:
    """Reads a list of names, as JSON."""
    try:
        names: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError("it is not a list of names.") from error
    if not isinstance(names, list) or not all(isinstance(name, str) for name in cast(list[object], names)):
        raise ValueError("it is not a list of names.")
    return cast(list[str], names)


def parse_whole(text: str) -> int:
    """Reads a whole number."""
    # int() would also read digits of other scripts, spaces and underscores.
    if not _WHOLE.fullmatch(text) or abs(int(text)) > MAX_NUMBER:
        raise ValueError(f"it is not a whole number in the digits 0-9, at most {MAX_NUMBER:,}.")
    return int(text)


def parse_number(text: str) -> float:
    """Reads a finite number."""
    try:
        value = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        value = math.nan
    if not abs(value) <= MAX_NUMBER:  # also False for NaN
        raise ValueError(f"it is not a number, at most {MAX_NUMBER:,}.")
    return value


def reader_of(kind: Kind) -> Callable[[str], Any]:
    """Reads a parameter."""
    if isinstance(kind, OneOf):
        return one_of(dict.fromkeys(kind.names))
    read: Callable[[str], Any] = (
        str if isinstance(kind, Text) else parse_whole if isinstance(kind, Integer) else parse_number
    )

    def within(text: str) -> Any:
        value = kind.read(read(text))
        if value is None:
            raise ValueError(f"it is not {kind}.")
        return value

    return within


def link_text(value: Any) -> str:
    """The shortest text that reads back as the same value."""
    if isinstance(value, list):
        return json.dumps(value, separators=(",", ":"))
    if not isinstance(value, float):
        return str(value)
    short_one = f"{value:g}"
    return short_one if float(short_one) == value else repr(value)


def fits_in_url(text: str) -> bool:
    """Whether it is short enough: servers refuse longer URLs."""
    return len(text) <= _MAX_CHARACTERS and len(quote_plus(text, errors="replace")) <= _MAX_CHARACTERS
