"""Parameters of policies, reward strategies and the like: frozen dataclasses whose fields carry label, help text and
bounds, which forms show and plain data is validated against."""

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


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number from `low` to `high`, or None if optional."""

    low: int
    high: int
    optional: bool = False

    def read(self, value: object) -> int | None:
        """None if `value` is invalid. 2.0 is read as 2: tables edited in a browser hold floats."""
        given = int(value) if isinstance(value, float) and value.is_integer() else value
        return _converted(given, Annotated[int, Meta(ge=self.low, le=self.high)])

    def __str__(self) -> str:
        return f"a whole number from {self.low:,} to {self.high:,}"


@dataclass(frozen=True, slots=True)
class Number:
    """A number from `low` to `high`, or None if optional."""

    low: float
    high: float
    optional: bool = False

    def read(self, value: object) -> float | None:
        """None if `value` is invalid."""
        number = _converted(value, Annotated[float, Meta(ge=self.low, le=self.high)])
        return None if number is None else number + 0.0  # 0.0 and -0.0 are equal and would have different hashes

    def __str__(self) -> str:
        return f"a number from {self.low:,.12g} to {self.high:,.12g}"


@dataclass(frozen=True, slots=True)
class Text:
    max_length: int

    def read(self, value: object) -> str | None:
        return _converted(value, Annotated[str, Meta(max_length=self.max_length)])

    def __str__(self) -> str:
        return f"text of at most {self.max_length:,} characters"


@dataclass(frozen=True, slots=True)
class OneOf:
    names: tuple[str, ...]

    def read(self, value: object) -> str | None:
        """The name, ignoring case and outer spaces; None if it is not one of `names`."""
        by_name = {name.casefold(): name for name in self.names}
        return by_name.get(value.strip().casefold()) if isinstance(value, str) else None

    def __str__(self) -> str:
        return "one of " + ", ".join(self.names)


Kind = Integer | Number | Text | OneOf


def integer(default: int | None, *, label: str, description: str, low: int, high: int) -> Any:
    """A dataclass field. The default None makes it optional."""
    return _field(default, label, description, Integer(low, high, optional=default is None))


def number(default: float | None, *, label: str, description: str, low: float, high: float) -> Any:
    """A dataclass field. The default None makes it optional."""
    return _field(default, label, description, Number(low, high, optional=default is None))


def text(default: str, *, label: str, description: str, max_length: int = 200) -> Any:
    return _field(default, label, description, Text(max_length))


def choice(default: str, *, label: str, description: str, names: Sequence[str]) -> Any:
    return _field(default, label, description, OneOf(tuple(names)))


def kind_of(spec: Field[Any]) -> Kind:
    """The kind of a field that was made by `integer`, `number`, `text` or `choice`."""
    return spec.metadata["kind"]


def read_params(kind: type[Params], given: object, owner: str, retired: Sequence[str] = ()) -> Params:
    """A parameter record from plain data, with defaults. owner: for messages, such as `policy "random"`.

    retired: names that earlier versions stored; they are ignored.
    Raises InvalidConfig for an unknown name or an invalid value.
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
    """The value as its kind. Raises InvalidConfig, which names the value as `where`."""
    if value is None and isinstance(kind, Integer | Number) and kind.optional:
        return None
    read = kind.read(value)
    if read is None:
        raise InvalidConfig(f"{where} is {quoted(value)}; give {kind}.")
    return read


def read_table(given: object, where: str) -> dict[str, Any]:
    """The values by trimmed, lower-case name. Raises InvalidConfig, which names the table as `where`."""
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
    """The trimmed, lower-case name. Raises InvalidConfig, which names it as `where`."""
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
