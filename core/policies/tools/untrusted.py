"""JSON values of unknown type: a server may send any type in any place."""

from __future__ import annotations

import json
import math
import re
from typing import Any, TypeGuard

from core.text import storable

_MAX_COUNT = 100_000_000
MAX_NAME = 80  # characters of a name that are shown


def is_dict(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether it is an object. Its keys are text if it came from JSON."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether it is a list."""
    return isinstance(value, list)


def as_dict(value: object) -> dict[str, Any]:
    """The object, or an empty one."""
    return value if is_dict(value) else {}


def as_list(value: object) -> list[Any]:
    """The list, or an empty one."""
    return value if is_list(value) else []


def as_count(value: object) -> int | None:
    """A count from 0 to 100,000,000, or None. The limit keeps sums within a database's integers."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= _MAX_COUNT else None


def as_seconds(value: object) -> float | None:
    """Seconds, from a number or its text; None if it is not a number, negative or not finite."""
    if isinstance(value, bool) or not isinstance(value, int | float | str) or len(str_of(value)) > 40:
        return None
    try:
        seconds = float(value)
    except (ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def str_of(value: object) -> str:
    """Text as it is, and anything else as JSON; for showing and keeping, never empty by accident."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    try:
        return storable(json.dumps(value, default=str))
    except (TypeError, ValueError, RecursionError, OverflowError):  # keys that are no text, numbers of 5000 digits
        return f"<{type(value).__name__}>"


def name_of(value: object) -> str:
    """An id, name or model as text; empty for None."""
    return "" if value is None else str_of(value)


def key_of(name: str) -> str:
    """A name without regard to case, spaces, hyphens and underscores."""
    return re.sub(r"[\s_\-]+", "", name.casefold())
