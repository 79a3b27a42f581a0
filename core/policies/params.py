"""Policy parameters: frozen dataclasses whose fields carry their own label, help text and bounds."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import Field, field, fields
from numbers import Integral
from typing import Any, TypeVar, cast

from core.errors import InvalidConfig, did_you_mean

Params = TypeVar("Params")


def integer(default: int, *, label: str, description: str, low: int, high: int) -> Any:
    """A dataclass field for a whole number from `low` to `high`; a launch form is drawn from its metadata."""
    metadata = {"label": label, "description": description, "low": low, "high": high}
    return field(default=default, metadata=metadata)


def read_params(kind: type[Params], given: object, *, policy: str) -> Params:
    """Builds the parameter record of a policy from plain data.

    Raises InvalidConfig for a name that the policy does not have and for a value that is not a whole number in range.
    """
    known: dict[str, Field[Any]] = {f.name: f for f in fields(kind)}  # pyright: ignore[reportArgumentType]
    if not isinstance(given, Mapping):
        raise InvalidConfig(
            f'The parameters of the policy "{policy}" are {reprlib.repr(given)}; give a table of names and numbers.'
        )
    values = cast(Mapping[object, object], given)
    for name in map(str, values):
        if name not in known:
            accepted = ", ".join(known) or "none"
            hint = did_you_mean(name, known)
            raise InvalidConfig(
                f'The policy "{policy}" has no parameter "{reprlib.repr(name)[1:-1]}"{hint or "."} It has: {accepted}.'
            )
    return kind(**{str(name): _checked(value, known[str(name)], policy) for name, value in values.items()})


def _checked(value: object, spec: Field[Any], policy: str) -> int:
    low, high = spec.metadata["low"], spec.metadata["high"]
    if isinstance(value, bool) or not isinstance(value, Integral) or not low <= int(value) <= high:
        raise InvalidConfig(
            f'The parameter "{spec.name}" of the policy "{policy}" is {reprlib.repr(value)}; it must be a whole number'
            f" from {low} to {high}."
        )
    return int(value)
