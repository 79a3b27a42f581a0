"""The plain values of a reward configuration, read one by one. Whatever cannot be read raises InvalidReward, with a
sentence: what is wrong, where, what to do."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from numbers import Integral, Real
from typing import cast

from core.errors import InvalidReward, did_you_mean
from core.params import quoted
from core.rewards.limits import LARGEST, MOST_CREDITS, MOST_ENTRIES, MOST_OF_A_NAME


def read_text(value: object, where: str) -> str:
    """A text that is not empty and not longer than a name, as it was given."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidReward(f"{where} is {quoted(value)}; give a text that is not empty.")
    n = len(value.strip().casefold())  # as it will be kept
    if n > MOST_OF_A_NAME:
        raise InvalidReward(f"{where} is {quoted(value)}, of {n:,} characters; give at most {MOST_OF_A_NAME}.")
    return whole_characters(value, where)


def whole_characters(value: str, where: str) -> str:
    """The text. Halves of characters (lone surrogates) are refused: no file and no page can hold them."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidReward(
            f"{where} is {quoted(value)}, which holds half a character (a lone surrogate); leave it out."
        ) from None
    return value


def read_flag(value: object, where: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise InvalidReward(f"{where} is {quoted(value)}; give true or false.")
    return value


def read_number(value: object, where: str) -> float:
    """A number of at most `LARGEST` in size; never -0.0, which is equal to 0.0 and would have another hash."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidReward(f"{where} is {quoted(value)}; give a number, such as 0.5.")
    number = _as_float(value)
    if not -LARGEST <= number <= LARGEST:
        raise InvalidReward(f"{where} is {quoted(value)}; give a finite number from -{LARGEST:,.0f} to {LARGEST:,.0f}.")
    return number or 0.0


def read_whole(value: object, where: str, meaning: str) -> int:
    """A whole number of at most `MOST_CREDITS` in size."""
    given = without_fraction(value)
    if isinstance(given, bool) or not isinstance(given, Integral):
        raise InvalidReward(f"{where} is {quoted(value)}; give a whole number ({meaning}).")
    number = int(given)
    if abs(number) > MOST_CREDITS:
        raise InvalidReward(f"{where} is {quoted(value)}; give at most {MOST_CREDITS:,} ({meaning}).")
    return number


def without_fraction(value: object) -> object:
    """2 for 2.0, everything else as it is: tables edited in a browser hand back 2.0 where a person typed 2."""
    if isinstance(value, Real) and not isinstance(value, bool | Integral) and _as_float(value).is_integer():
        return int(_as_float(value))
    return value


def read_table(given: object, where: str, what: str, accepted: Collection[str] | None) -> dict[str, float]:
    """A table of names and numbers."""
    named = read_named(given, where, what, accepted)
    return {name: read_number(value, f'{where}["{name}"]') for name, value in named.items()}


def read_named(given: object, where: str, what: str, accepted: Collection[str] | None) -> dict[str, object]:
    """The entries under canonical names, each known and given once."""
    if not isinstance(given, Mapping):
        raise InvalidReward(f"{where} is {quoted(given)}; give a table of names and numbers.")
    if len(cast(Mapping[object, object], given)) > MOST_ENTRIES:
        raise InvalidReward(
            f"{where} has {len(cast(Mapping[object, object], given)):,} entries; give at most {MOST_ENTRIES:,}."
        )
    entries: dict[str, object] = {}
    for raw_name, value in cast(Mapping[object, object], given).items():
        name = read_text(raw_name, f"A name in {where}").strip().casefold()
        if accepted is not None and name not in accepted:
            hint = did_you_mean(name, accepted) or "."
            names = ", ".join(dict.fromkeys(accepted))
            raise InvalidReward(f'{where} names the {what} "{name}", which is not known{hint} Known are: {names}.')
        if name in entries:
            raise InvalidReward(f'{where} names "{name}" twice (case and outer spaces do not count); keep one of them.')
        entries[name] = value
    return entries


def _as_float(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:  # an int with hundreds of digits
        return math.inf
