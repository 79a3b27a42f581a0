"""Which numbers count as equal: those that may differ by rounding only.

Returns are sums of thousands of rewards, so two that are the same on paper differ by about 1e-12 of their size. Only
the two numbers that are compared matter, never the largest of all: one outlier hides no difference.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.types import Floats

ROUNDING: Final = 1e-9
"""Numbers closer than this share of the lower one's size (at least of 1) count as equal."""


def highest_equal(values: Floats) -> Floats:
    """For each finite number the highest that counts as equal to it."""
    return values + ROUNDING * np.maximum(1.0, np.abs(values))


def is_equal(one: Floats, other: Floats) -> NDArray[np.bool_]:
    """Whether finite numbers, side by side, count as equal."""
    return np.maximum(one, other) <= highest_equal(np.minimum(one, other))


def value_ranks(values: Floats) -> NDArray[np.int64]:
    """The rank of each of (n,) finite values among the distinct ones, from 0 (lowest); equal values share it.

    A level holds its lowest value and all that count as equal to that one, so a row of small gaps makes many levels.
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    next_level: list[int] = np.searchsorted(ordered, highest_equal(ordered), side="right").tolist()
    is_lowest = np.zeros(len(ordered), np.int64)
    at = 0
    while at < len(next_level):
        is_lowest[at] = 1
        at = next_level[at]
    found = np.empty(len(ordered), np.int64)
    found[order] = np.cumsum(is_lowest) - 1
    return found
