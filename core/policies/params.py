"""Policy parameters: frozen dataclasses whose fields carry their own label, help text and bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, field, fields
from typing import Any, TypeVar

from core.errors import InvalidConfig, did_you_mean

Params = TypeVar("Params")


def integer(default: int, *, label: str, description: str, low: int, high: int) -> Any:
    """A dataclass field for a whole number from `low` to `high`; a launch form is drawn from its metadata."""
    metadata = {"label": label, "description": description, "low": low, "high": high}
    return field(default=default, metadata=metadata)


def read_params(kind: type[Params], given: Mapping[str, Any], *, policy: str) -> Params:
    """Builds the parameter record of a policy from plain data.

    Raises InvalidConfig for a name that the policy does not have and for a value that is not a whole number in range.
    """
    known: dict[str, Field[Any]] = {f.name: f for f in fields(kind)}  # pyright: ignore[reportArgumentType]
    for name in given:
        if name not in known:
            accepted = ", ".join(known) or "none"
            raise InvalidConfig(
                f'The policy "{policy}" has no parameter "{name}"{did_you_mean(name, known) or "."} It has: {accepted}.'
            )
    return kind(**{name: _checked(value, known[name], policy) for name, value in given.items()})


def _checked(value: Any, spec: Field[Any], policy: str) -> int:
    low, high = spec.metadata["low"], spec.metadata["high"]
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidConfig(
            f'The parameter "{spec.name}" of the policy "{policy}" is {value!r}; it must be a whole number'
            f" from {low} to {high}."
        )
    return value
