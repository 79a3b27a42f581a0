"""Parameters of policies, reward strategies and the like: frozen dataclasses whose fields carry their own label, help
text and bounds, so that forms are drawn from them and plain data is checked against them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from numbers import Integral, Real
from typing import Any, TypeVar, cast

from core.errors import InvalidConfig, did_you_mean
from core.text import quoted

Params = TypeVar("Params")


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number from `low` to `high`; None too where it is optional."""

    low: int
    high: int
    optional: bool = False

    def read(self, value: object) -> int | None:
        """The number; None where it is none of these."""
        if isinstance(value, bool) or not isinstance(value, Integral) or not self.low <= int(value) <= self.high:
            return None
        return int(value)

    def __str__(self) -> str:
        return f"a whole number from {self.low} to {self.high}"


@dataclass(frozen=True, slots=True)
class Number:
    """A finite number from `low` to `high`; None too where it is optional."""

    low: float
    high: float
    optional: bool = False

    def read(self, value: object) -> float | None:
        """The number, never -0.0; None where it is none of these."""
        if isinstance(value, bool) or not isinstance(value, Real):
            return None
        try:
            number = float(value)
        except OverflowError:  # an int with hundreds of digits
            return None
        # Equal numbers are written alike, so that what is made of them has one hash.
        return number or 0.0 if math.isfinite(number) and self.low <= number <= self.high else None

    def __str__(self) -> str:
        return f"a number from {self.low:g} to {self.high:g}"


@dataclass(frozen=True, slots=True)
class Text:
    """Text of at most `most` characters."""

    most: int

    def read(self, value: object) -> str | None:
        """The text; None where it is none or too long."""
        return value if isinstance(value, str) and len(value) <= self.most else None

    def __str__(self) -> str:
        return f"text of at most {self.most:,} characters"


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of a few names."""

    names: tuple[str, ...]

    def read(self, value: object) -> str | None:
        """The name; None where it is another."""
        return value if isinstance(value, str) and value in self.names else None

    def __str__(self) -> str:
        return "one of " + ", ".join(self.names)


Kind = Integer | Number | Text | OneOf


def integer(default: int | None, *, label: str, description: str, low: int, high: int) -> Any:
    """A dataclass field for a whole number from `low` to `high`; forms are drawn from its metadata.

    The default None makes it optional.
    """
    return _field(default, label, description, Integer(low, high, optional=default is None))


def number(default: float | None, *, label: str, description: str, low: float, high: float) -> Any:
    """A dataclass field for a number from `low` to `high`. The default None makes it optional."""
    return _field(default, label, description, Number(low, high, optional=default is None))


def text(default: str, *, label: str, description: str, most: int = 200) -> Any:
    """A dataclass field for text."""
    return _field(default, label, description, Text(most))


def choice(default: str, *, label: str, description: str, names: Sequence[str]) -> Any:
    """A dataclass field for one of `names`."""
    return _field(default, label, description, OneOf(tuple(names)))


def kind_of(spec: Field[Any]) -> Kind:
    """What values a parameter takes. Raises InvalidConfig for a field that was not made here."""
    kind = spec.metadata.get("kind")
    if not isinstance(kind, Kind):
        raise InvalidConfig(
            f'The field "{spec.name}" does not say what it takes; make it with integer, number, text or choice of '
            "core.params."
        )
    return kind


def read_params(kind: type[Params], given: object, *, policy: str, retired: Sequence[str] = ()) -> Params:
    """Builds the parameter record of a policy from plain data.

    retired: parameters of earlier versions, which stored runs still hold; they are ignored.
    Raises InvalidConfig for a name that the policy does not have and for a value that is not of the parameter's kind.
    """
    known: dict[str, Field[Any]] = {f.name: f for f in fields(kind)}  # pyright: ignore[reportArgumentType]
    if not isinstance(given, Mapping):
        raise InvalidConfig(
            f'The parameters of the policy "{policy}" are {quoted(given)}; give a table of names and values.'
        )
    values = cast(Mapping[object, object], given)
    for name in values:
        if name not in known and name not in retired:
            accepted = ", ".join(known) or "none"
            hint = did_you_mean(name[:200], known) if isinstance(name, str) else ""
            shown = quoted(name)[1:-1] if isinstance(name, str) else quoted(name)
            raise InvalidConfig(f'The policy "{policy}" has no parameter "{shown}"{hint or "."} It has: {accepted}.')
    return kind(
        **{str(name): _checked(value, known[str(name)], policy) for name, value in values.items() if name in known}
    )


def _field(default: Any, label: str, description: str, kind: Kind) -> Any:
    if kind.read(default) is None and not _may_be_none(default, kind):
        raise InvalidConfig(f'The parameter "{label}" has the default {quoted(default)}; it must be {kind}.')
    return field(default=default, metadata={"label": label, "description": description, "kind": kind})


def _may_be_none(value: object, kind: Kind) -> bool:
    return value is None and isinstance(kind, Integer | Number) and kind.optional


def _checked(value: object, spec: Field[Any], policy: str) -> int | float | str | None:
    kind = kind_of(spec)
    read = kind.read(value)
    if read is None and not _may_be_none(value, kind):
        raise InvalidConfig(
            f'The parameter "{spec.name}" of the policy "{policy}" is {quoted(value)}; it must be {kind}.'
        )
    return read
