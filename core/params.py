"""Parameters of policies, reward strategies and the like: frozen dataclasses whose fields carry their own label, help
text and bounds, so that forms are drawn from them and plain data is checked against them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from typing import Annotated, Any, Final, TypeVar, cast

import msgspec
import numpy as np
from msgspec import Meta

from core.errors import InvalidConfig, did_you_mean
from core.text import quoted

Params = TypeVar("Params")

MAX_NAME: Final = 100
"""Characters of a name in a table of names and values."""


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number from `low` to `high`; None too where it is optional."""

    low: int
    high: int
    optional: bool = False

    def read(self, value: object) -> int | None:
        """The number; None where it is none of these. 2.0 is 2: tables that are edited in a browser hold floats."""
        given = int(value) if isinstance(value, float) and value.is_integer() else value
        return _converted(given, Annotated[int, Meta(ge=self.low, le=self.high)])

    def __str__(self) -> str:
        return f"a whole number from {self.low:,} to {self.high:,}"


@dataclass(frozen=True, slots=True)
class Number:
    """A finite number from `low` to `high`; None too where it is optional."""

    low: float
    high: float
    optional: bool = False

    def read(self, value: object) -> float | None:
        """The number, never -0.0; None where it is none of these."""
        number = _converted(value, Annotated[float, Meta(ge=self.low, le=self.high)])
        return None if number is None else number + 0.0  # 0.0 and -0.0 are equal and would have different hashes

    def __str__(self) -> str:
        return f"a number from {self.low:,.12g} to {self.high:,.12g}"


@dataclass(frozen=True, slots=True)
class Text:
    """Text of at most `most` characters."""

    most: int

    def read(self, value: object) -> str | None:
        """The text; None where it is none or too long."""
        return _converted(value, Annotated[str, Meta(max_length=self.most)])

    def __str__(self) -> str:
        return f"text of at most {self.most:,} characters"


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of a few names."""

    names: tuple[str, ...]

    def read(self, value: object) -> str | None:
        """The name, found without regard to case and outer spaces; None where it is another."""
        by_name = {name.casefold(): name for name in self.names}
        return by_name.get(value.strip().casefold()) if isinstance(value, str) else None

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


def read_params(kind: type[Params], given: object, owner: str, retired: Sequence[str] = ()) -> Params:
    """Builds a parameter record from plain data. owner: whose parameters they are, such as `policy "random"`.

    retired: names that earlier versions stored, which are ignored.
    Raises InvalidConfig for a name that the owner does not have and for a value that is not of the parameter's kind.
    """
    known: dict[str, Field[Any]] = {f.name: f for f in fields(kind)}  # pyright: ignore[reportArgumentType]
    table = read_table(given, f"params of the {owner}")
    values = {name: value for name, value in table.items() if name not in retired}
    for name, value in values.items():
        if name not in known:
            accepted = ", ".join(known) or "none"
            raise InvalidConfig(
                f'The {owner} has no parameter "{name}"{did_you_mean(name, known) or "."} It has: {accepted}.'
            )
        values[name] = read_value(value, kind_of(known[name]), f'The parameter "{name}" of the {owner}')
    return kind(**values)


def read_value(value: object, kind: Kind, where: str) -> Any:
    """The value as its kind has it. Raises InvalidConfig, which calls the value `where`."""
    if value is None and isinstance(kind, Integer | Number) and kind.optional:
        return None
    read = kind.read(value)
    if read is None:
        raise InvalidConfig(f"{where} is {quoted(value)}; give {kind}.")
    return read


def read_table(given: object, where: str) -> dict[str, Any]:
    """The values by their names, trimmed and in lower case. Raises InvalidConfig, which calls the table `where`."""
    if not isinstance(given, Mapping):
        raise InvalidConfig(f"{where} is {quoted(given)}; give a table of names and values.")
    table: dict[str, Any] = {}
    for raw_name, value in cast(Mapping[object, object], given).items():
        name = read_name(raw_name, f"A name in {where}")
        if name in table:
            raise InvalidConfig(f'{where} has the name "{name}" twice (case and outer spaces do not count); keep one.')
        table[name] = value
    return table


def read_name(given: object, where: str) -> str:
    """The name, trimmed and in lower case. Raises InvalidConfig, which calls the name `where`."""
    name = given.strip().casefold() if isinstance(given, str) else ""
    if not 0 < len(name) <= MAX_NAME or not name.isprintable():
        raise InvalidConfig(f"{where} is {quoted(given)}; give text of 1 to {MAX_NAME} printable characters.")
    return name


def _converted(value: object, kind: Any) -> Any | None:
    try:
        return msgspec.convert(value.item() if isinstance(value, np.generic) else value, kind)
    except msgspec.ValidationError:
        return None


def _field(default: Any, label: str, description: str, kind: Kind) -> Any:
    read_value(default, kind, f'The default of the parameter "{label}"')
    return field(default=default, metadata={"label": label, "description": description, "kind": kind})
