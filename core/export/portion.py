"""The first of many lines, written or only counted, without holding more than one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Portion:
    """How many lines were taken and their bytes. is_all: whether there was none after them."""

    lines: int
    size: int
    is_all: bool


def first_of(
    lines: Iterable[bytes], put: Callable[[bytes], object] | None = None, *, most_lines: int, most_bytes: int
) -> Portion:
    """Hand whole lines to `put`, one after another, for as long as there is room. Without it they are counted."""
    count = size = 0
    for line in lines:
        if count == most_lines or size + len(line) > most_bytes:
            return Portion(count, size, is_all=False)
        if put is not None:
            put(line)
        count, size = count + 1, size + len(line)
    return Portion(count, size, is_all=True)
