"""Intervals by bootstrap over seeds.

Episodes of one seed play the same world, so they are no independent draws. What is drawn anew, with replacement, are
whole seeds with all of their episodes. Everything resampled here is made of means over episodes, and those need no more
than each seed's sum and count: a resample is a row of weights (how often each seed was drawn), and a thousand resamples
of ten thousand episodes are one product of matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from core.analysis.numbers import exponents, refuse_not_finite
from core.analysis.statistics.sample import Floats
from core.errors import InvalidInput

CONFIDENCE: Final = 0.95
RESAMPLES: Final = 1_000

_WEIGHTS_AT_ONCE: Final = 1 << 20  # as many as stay in a processor's cache
_ROUNDING: Final = 1e-12

# The normal distribution's share below a value, and the value for a share.
_share_below: Callable[[Any], Any] = special.ndtr
_normal_at: Callable[[Any], Any] = special.ndtri


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval; `low` and `high` are None where there is none: one seed shows no spread."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends, or None."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def times(self, factor: float) -> Estimate:
        """The same in another unit; the factor is positive."""
        return Estimate(
            self.value * factor,
            None if self.low is None else self.low * factor,
            None if self.high is None else self.high * factor,
        )


class SeedBootstrap:
    """Resamples the seeds of E episodes. The same seeds, resamples and entropy give the same draws, every time.

    seeds: int64 (E,). n_seeds: G, how many different ones there are. index: int64 (E,), which of them each episode has.
    """

    def __init__(self, seeds: NDArray[np.int64], *, resamples: int = RESAMPLES, entropy: int = 0) -> None:
        distinct, index, counts = np.unique(seeds, return_inverse=True, return_counts=True)
        self.n_seeds = len(distinct)
        self.index = index.astype(np.int64)
        self._counts = counts.astype(np.float64)
        self._order = np.argsort(self.index, kind="stable")
        self._starts = np.cumsum(counts) - counts
        self._resamples = resamples
        self._entropy = entropy

    def weights(self) -> Iterator[Floats]:
        """How often each seed is drawn in each resample: float64 (b, G) in several parts, `resamples` rows in all."""
        draw = np.random.default_rng(self._entropy)
        at_once = max(1, _WEIGHTS_AT_ONCE // max(self.n_seeds, 1))
        for start in range(0, self._resamples, at_once):
            weights = np.empty((min(at_once, self._resamples - start), self.n_seeds))
            for row in weights:
                drawn = draw.integers(0, self.n_seeds, self.n_seeds, dtype=np.int32)
                row[:] = np.bincount(drawn, minlength=self.n_seeds)
            yield weights

    def of_means(
        self, values: Floats, statistic: Callable[[Floats], Floats] = lambda means: means
    ) -> tuple[Estimate, ...]:
        """Estimates of M numbers that are computed from the means over episodes of K columns.

        values: float64 (E, K). statistic: from (..., K) to (..., M). With two seeds or more, each has a BCa interval
        (bias corrected and accelerated; B. Efron, "Better bootstrap confidence intervals", JASA 82, 1987), the
        acceleration from leaving out one seed at a time. Raises InvalidInput without episodes or finite values.
        """
        if not self.n_seeds:
            raise InvalidInput("No episodes were given; a mean needs one or more.")
        refuse_not_finite(values, "values")
        exponent = exponents(values)
        sums = np.add.reduceat(np.ldexp(values, -exponent)[self._order], self._starts, axis=0)
        total, count = sums.sum(axis=0), self._counts.sum()

        def of_means(means: Floats) -> Floats:
            return statistic(np.ldexp(means, exponent))

        point = of_means(total / count)
        if self.n_seeds < 2:
            return tuple(Estimate(float(value)) for value in point)
        resampled = np.concatenate(
            [of_means((weights @ sums) / (weights @ self._counts)[:, None]) for weights in self.weights()]
        )
        without_one = of_means((total - sums) / (count - self._counts)[:, None])
        low, high = bca_interval(point, resampled, without_one)
        return tuple(Estimate(*map(float, ends)) for ends in zip(point, low, high, strict=True))


def bca_interval(point: Floats, resampled: Floats, without_one: Floats) -> tuple[Floats, Floats]:
    """Both ends for M numbers. point: (M,). resampled: (B, M). without_one: (G, M), each with one seed left out.

    All of them are finite.
    """
    distance = resampled / 2 - point / 2  # the difference of two halves is never too large
    rounding = _ROUNDING * np.maximum(0.5, np.maximum(np.abs(point / 2), np.abs(resampled / 2)))
    below = (distance < -rounding).mean(axis=0)
    above = (distance > rounding).mean(axis=0)
    least = 0.5 / len(resampled)
    bias: Floats = _normal_at(np.clip(0.5 + (below - above) / 2, least, 1 - least))  # what equals the point counts half
    acceleration = _acceleration(without_one)
    ordered = np.sort(resampled, axis=0)
    tail = (1 - CONFIDENCE) / 2
    ends: list[Floats] = []
    for share in (tail, 1 - tail):
        shifted = bias + float(_normal_at(share))
        level: Floats = _share_below(bias + shifted / np.maximum(1 - acceleration * shifted, _ROUNDING))
        ends.append(_quantiles(ordered, level))
    return ends[0], ends[1]


def _acceleration(without_one: Floats) -> Floats:
    """A sixth of the skewness of what leaving out a seed changes, which has no unit; so squares need not be large."""
    scaled = np.ldexp(without_one, -exponents(without_one))
    distance = scaled.mean(axis=0) - scaled
    distance = np.ldexp(distance, -exponents(distance))
    spread = (distance**2).sum(axis=0) ** 1.5
    return np.divide((distance**3).sum(axis=0), 6 * spread, out=np.zeros_like(spread), where=spread > 0)


def _quantiles(ordered: Floats, levels: Floats) -> Floats:
    """For each column its own quantile, between neighbours in proportion."""
    place = levels * (len(ordered) - 1)
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, len(ordered) - 1)
    part = place - below
    columns = np.arange(len(levels))
    return np.asarray(ordered[below, columns] * (1 - part) + ordered[above, columns] * part, np.float64)
