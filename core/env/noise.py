"""OpenSimplex noise in three dimensions, many points at once.

Must equal `opensimplex.OpenSimplex(seed).noise3(x, y, z)` bit for bit: worlds compare it with thresholds, and a single
cell that falls on the other side changes every later draw of the world's generator. So the order of the floating-point
operations is the source's (opensimplex 0.4.5.1, `internals._noise3`):

- a vertex at offset v with m lattice units of squish lies at `(d - v) - m * S`, never `d - (v + m * S)`;
- some extra vertices are moved after that by another whole number: `((d - v) - m * S) - w`;
- contributions are added in the source's order, and the sum is divided once, at the end.

What differs is the bookkeeping only: points are sorted by the lattice region they fall in, and which two extra vertices
a point has is read from a table instead of from nested branches. The permutation of a seed is the library's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
import opensimplex
from opensimplex.constants import GRADIENTS3, NORM_CONSTANT3, SQUISH_CONSTANT3, STRETCH_CONSTANT3

from core.env.honeycomb import LOWER, MIDDLE, SQUISH, UPPER, Ints, Region
from core.types import Floats

_T = TypeVar("_T")

# This many points at a time keep the temporary arrays in the processor's cache.
_BLOCK = 8192
# Hashes are looked up at sums of up to two bytes and a small offset; a repeated table needs no masking.
_REPEATS = 4


class _Points(NamedTuple):
    """Points as the lattice sees them: the cell of each, its place in that cell in two frames."""

    cell: tuple[Ints, Ints, Ints]  # each 0 to 255
    inside: tuple[Floats, Floats, Floats]  # in lattice units, 0 to 1
    offset: tuple[Floats, Floats, Floats]  # from the cell's origin, in the units of the input
    in_sum: Floats

    def take(self, chosen: Ints) -> _Points:
        return _Points(
            _each(lambda axis: self.cell[axis][chosen]),
            _each(lambda axis: self.inside[axis][chosen]),
            _each(lambda axis: self.offset[axis][chosen]),
            self.in_sum[chosen],
        )


class Noise:
    def __init__(self, seed: int) -> None:
        library = opensimplex.OpenSimplex(seed=seed)
        permutation: Ints = library._perm.astype(np.intp)  # pyright: ignore[reportPrivateUsage]  # no public name
        gradients = library._perm_grad_index3  # pyright: ignore[reportPrivateUsage]
        self._permutation = np.tile(permutation, _REPEATS)
        self._gradients = tuple(np.tile(GRADIENTS3[gradients + axis].astype(np.float64), _REPEATS) for axis in range(3))

    def at(self, x: Floats, y: Floats, z: Floats) -> Floats:
        """Noise, about -1 to 1, at the points (x[i], y[i], z[i]): flat float64 arrays of one length."""
        value = np.empty(len(x))
        for start in range(0, len(x), _BLOCK):
            part = slice(start, start + _BLOCK)
            value[part] = self._block(x[part], y[part], z[part])
        return value

    def _block(self, x: Floats, y: Floats, z: Floats) -> Floats:
        points = _place(x, y, z)
        value = np.empty(len(x))
        is_lower, is_upper = points.in_sum <= 1, points.in_sum >= 2
        for region, chosen in (
            (LOWER, np.flatnonzero(is_lower)),
            (UPPER, np.flatnonzero(is_upper & ~is_lower)),
            (MIDDLE, np.flatnonzero(~(is_lower | is_upper))),
        ):
            if len(chosen):
                value[chosen] = self._region(points.take(chosen), region)
        value /= NORM_CONSTANT3
        return value

    def _region(self, points: _Points, region: Region) -> Floats:
        value = np.zeros(len(points.in_sum))
        for vertex in region.corners:
            squish = SQUISH[sum(vertex)]
            d = [(offset - v) - squish for offset, v in zip(points.offset, vertex, strict=True)]
            self._contribute(value, d, [cell + v for cell, v in zip(points.cell, vertex, strict=True)])
        code = region.code(*points.inside, points.in_sum)
        for extra in region.extras:
            squish = extra.squish[code]
            d = [
                ((offset - extra.first[axis][code]) - squish) - extra.second[axis][code]
                for axis, offset in enumerate(points.offset)
            ]
            self._contribute(value, d, [cell + extra.vertex[axis][code] for axis, cell in enumerate(points.cell)])
        return value

    def _contribute(self, value: Floats, d: list[Floats], vertex: list[Ints]) -> None:
        """Add what the lattice points `vertex` give to points at distance `d` from them."""
        dx, dy, dz = d
        attenuation = 2 - dx * dx
        attenuation -= dy * dy
        attenuation -= dz * dz
        np.maximum(attenuation, 0, out=attenuation)  # too far: contributes zero, which leaves a sum as it is
        attenuation *= attenuation
        attenuation *= attenuation
        permutation = self._permutation
        index = permutation[vertex[0] + 256]
        index += vertex[1]
        index = permutation[index + 256]
        index += vertex[2]
        index += 256
        gx, gy, gz = self._gradients
        dot = gx[index] * dx
        dot += gy[index] * dy
        dot += gz[index] * dz
        dot *= attenuation
        value += dot


def _place(x: Floats, y: Floats, z: Floats) -> _Points:
    given = x, y, z
    stretch = (x + y + z) * STRETCH_CONSTANT3
    stretched = _each(lambda axis: given[axis] + stretch)
    origin = _each(lambda axis: np.floor(stretched[axis]))
    squish = (origin[0] + origin[1] + origin[2]) * SQUISH_CONSTANT3
    inside = _each(lambda axis: stretched[axis] - origin[axis])
    return _Points(
        cell=_each(lambda axis: origin[axis].astype(np.intp) & 255),
        inside=inside,
        offset=_each(lambda axis: given[axis] - (origin[axis] + squish)),
        in_sum=inside[0] + inside[1] + inside[2],
    )


def _each(make: Callable[[int], _T]) -> tuple[_T, _T, _T]:
    return make(0), make(1), make(2)
