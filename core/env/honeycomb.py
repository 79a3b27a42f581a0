"""The lattice under OpenSimplex noise: which vertices contribute to a point.

A point lies in one of three regions of its cell. Each region has its own corners, and two extra vertices outside of
them that depend on which corners are closest. The source (opensimplex 0.4.5.1, `internals._noise3`) finds those two in
nested branches; here the same comparisons give every point a code, and a table has the two vertices of each code.
Ties must fall as in the source, so each `<` and `<=` below is the source's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from opensimplex.constants import SQUISH_CONSTANT3

from core.types import Floats

Ints = NDArray[np.intp]
Vertex = tuple[int, int, int]

# Multiples as the source computes them: 3 * S is not S + 2 * S in floating point.
SQUISH = (0.0, SQUISH_CONSTANT3, 2 * SQUISH_CONSTANT3, 3 * SQUISH_CONSTANT3)

_X, _Y, _Z = 1, 2, 4  # a corner as a set of axes


class _Shift(NamedTuple):
    """One extra vertex of one code: `(offset - first) - squish * S - second` on each axis."""

    first: Vertex
    squish: int
    second: Vertex = (0, 0, 0)


class Extra(NamedTuple):
    """One of the two extra vertices, by code: arrays of float64 (3, codes), `vertex` of int."""

    first: Floats
    squish: Floats  # (codes,)
    second: Floats
    vertex: Ints


@dataclass(frozen=True, slots=True)
class Region:
    """corners: in the order in which the source adds them up. code: (x, y, z, x + y + z) in the cell -> code."""

    corners: tuple[Vertex, ...]
    code: Callable[[Floats, Floats, Floats, Floats], Ints]
    extras: tuple[Extra, Extra]


def _closest_lower(x: Floats, y: Floats, z: Floats, total: Floats) -> Ints:
    """0-7: the origin is among the two closest corners, with the other one; 8-15: it is not, with both."""
    takes_b = (x >= y) & (z > y)
    takes_a = (x < y) & (z > x)
    a_score, b_score = np.where(takes_a, z, x), np.where(takes_b, z, y)
    a, b = np.where(takes_a, _Z, _X), np.where(takes_b, _Z, _Y)
    rest = 1 - total
    is_near = (rest > a_score) | (rest > b_score)
    return np.where(is_near, np.where(b_score > a_score, b, a), 8 + (a | b))


def _closest_upper(x: Floats, y: Floats, z: Floats, total: Floats) -> Ints:
    """0-7: (1, 1, 1) is among the two closest corners, with the other one; 8-15: it is not, with what both share."""
    takes_b = (x <= y) & (z < y)
    takes_a = (x > y) & (z < x)
    a_score, b_score = np.where(takes_a, z, x), np.where(takes_b, z, y)
    a, b = np.where(takes_a, _X | _Y, _Y | _Z), np.where(takes_b, _X | _Y, _X | _Z)
    rest = 3 - total
    is_near = (rest < a_score) | (rest < b_score)
    return np.where(is_near, np.where(b_score < a_score, b, a), 8 + (a & b))


def _closest_middle(x: Floats, y: Floats, z: Floats, total: Floats) -> Ints:
    """0-7: both closest corners are on the side of (1, 1, 1), with what they share; 8-15: both on the side of the
    origin, with their union; 16 + 8 * c1 + c2: c1 on the far side, c2 on the near one."""
    xy, xz, yz = x + y, x + z, y + z
    a_far, b_far, c_far = xy > 1, xz > 1, yz > 1
    a_score, b_score = np.where(a_far, xy - 1, 1 - xy), np.where(b_far, xz - 1, 1 - xz)
    score = np.where(c_far, yz - 1, 1 - yz)
    a, b = np.where(a_far, _X | _Y, _Z), np.where(b_far, _X | _Z, _Y)
    c = np.where(c_far, _Y | _Z, _X)
    b_closer = a_score <= b_score
    takes_a, takes_b = b_closer & (a_score < score), ~b_closer & (b_score < score)
    a, a_far = np.where(takes_a, c, a), np.where(takes_a, c_far, a_far)
    b, b_far = np.where(takes_b, c, b), np.where(takes_b, c_far, b_far)
    same = np.where(a_far, a & b, 8 + (a | b))
    return np.where(a_far == b_far, same, 16 + np.where(a_far, 8 * a + b, 8 * b + a))


def _lower_shifts(code: int) -> tuple[_Shift, _Shift]:
    x, y, z = _bits(code % 8)
    if code < 8:
        first = (x or -1, -1 if x and not y else y, z)
        second = (x, -1 if not x and not y else y, z or -1)
        return _Shift(first, 0), _Shift(second, 0)
    return _Shift((x, y, z), 2), _Shift((2 * x - 1, 2 * y - 1, 2 * z - 1), 1)


def _upper_shifts(code: int) -> tuple[_Shift, _Shift]:
    x, y, z = _bits(code % 8)
    if code < 8:
        return _Shift((2 * x, y, z), 3, (0, y - x * y, 0)), _Shift((x, y, 2 * z), 3, (0, x * y, 0))
    return _Shift((x, y, z), 1), _Shift((2 * x, 2 * y, 2 * z), 2)


def _middle_shifts(code: int) -> tuple[_Shift, _Shift]:
    if code < 8:
        return _Shift((1, 1, 1), 3), _Shift(_on_first_axis(code), 2)
    if code < 16:
        return _Shift((0, 0, 0), 0), _Shift(_off_first_missing_axis(code % 8), 1)
    far, near = divmod(code - 16, 8)
    return _Shift(_off_first_missing_axis(far), 1), _Shift((0, 0, 0), 2, _on_first_axis(near))


def _on_first_axis(corner: int) -> Vertex:
    """2 on the first axis of `corner`, 0 on the others."""
    return (2, 0, 0) if corner & _X else (0, 2, 0) if corner & _Y else (0, 0, 2)


def _off_first_missing_axis(corner: int) -> Vertex:
    """-1 on the first axis that `corner` lacks, 1 on the others."""
    return (-1, 1, 1) if not corner & _X else (1, -1, 1) if not corner & _Y else (1, 1, -1)


def _bits(corner: int) -> Vertex:
    """1 on the axes of `corner`, 0 on the others."""
    return int(bool(corner & _X)), int(bool(corner & _Y)), int(bool(corner & _Z))


def _extras(shifts: Callable[[int], tuple[_Shift, _Shift]], codes: int) -> tuple[Extra, Extra]:
    pairs = [shifts(code) for code in range(codes)]
    first, second = (_extra([pair[which] for pair in pairs]) for which in range(2))
    return first, second


def _extra(shifts: list[_Shift]) -> Extra:
    first = np.array([shift.first for shift in shifts]).T
    second = np.array([shift.second for shift in shifts]).T
    return Extra(
        first=first.astype(np.float64),
        squish=np.array([SQUISH[shift.squish] for shift in shifts]),
        second=second.astype(np.float64),
        vertex=(first + second).astype(np.intp),
    )


LOWER = Region(((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)), _closest_lower, _extras(_lower_shifts, 16))
UPPER = Region(((1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 1, 1)), _closest_upper, _extras(_upper_shifts, 16))
MIDDLE = Region(
    ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 0, 1), (0, 1, 1)), _closest_middle, _extras(_middle_shifts, 80)
)
