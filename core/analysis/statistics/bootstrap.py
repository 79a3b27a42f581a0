"""Intervals by bootstrap over seeds.

Episodes of one seed play the same world, so they are not independent. Whole seeds are resampled, with replacement, with
all of their episodes. Means over episodes need only each seed's sum and count, so a resample is a row of weights (how
often each seed was drawn), and a thousand resamples of ten thousand episodes are one product of matrices.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from core.types import Floats

CONFIDENCE: Final = 0.95
RESAMPLES: Final = 1_000
MIN_SEEDS: Final = 3  # for an interval: two seeds can only be drawn in three ways

_ENTROPY: Final = 0
_WEIGHTS_AT_ONCE: Final = 1 << 20  # small enough for a processor's cache


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval. `low` and `high` are None with fewer than `MIN_SEEDS` seeds."""

    value: float
    low: float | None = None
    high: float | None = None

    def times(self, factor: float) -> Estimate:
        """The same in another unit. `factor` must be positive."""
        low, high = (None if end is None else end * factor for end in (self.low, self.high))
        return Estimate(self.value * factor, low, high)


class SeedBootstrap:
    """Resamples the seeds of E episodes. The same seeds always give the same draws.

    seeds: int64 (E,). n_seeds: G, the number of distinct ones. index: int64 (E,), which of those each episode has.
    """

    def __init__(self, seeds: NDArray[np.int64], *, resamples: int = RESAMPLES) -> None:
        distinct, index, counts = np.unique(seeds, return_inverse=True, return_counts=True)
        self.n_seeds = len(distinct)
        self.index = index.astype(np.int64)
        self._counts = counts.astype(np.float64)
        self._order = np.argsort(self.index, kind="stable")
        self._starts = np.cumsum(counts) - counts
        self._resamples = resamples

    def weights(self, rows: int) -> Iterator[Floats]:
        """How often each seed is drawn in each resample: float64 (b, G) in parts of at most `rows` resamples."""
        draw = np.random.default_rng(_ENTROPY)
        for start in range(0, self._resamples, rows):
            size = min(rows, self._resamples - start), self.n_seeds
            yield _times_drawn(draw.integers(0, self.n_seeds, size), self.n_seeds)

    def of_means(
        self, values: Floats, statistic: Callable[[Floats], Floats] = lambda means: means
    ) -> tuple[Estimate, ...]:
        """Estimates of M numbers that are computed from the means over episodes of K columns.

        values: float64 (E, K), E > 0. statistic: from (..., K) to (..., M). With `MIN_SEEDS` or more, each estimate
        has a BCa interval (bias corrected and accelerated; B. Efron, "Better bootstrap confidence intervals", JASA 82,
        1987), the acceleration from leaving out one seed at a time.
        """
        n = self.n_seeds
        sums = np.add.reduceat(values[self._order], self._starts, axis=0)
        total, count = sums.sum(axis=0), self._counts.sum()
        point = statistic(total / count)
        if n < MIN_SEEDS:
            return tuple(Estimate(float(value)) for value in point)

        def of_drawn(drawn: NDArray[np.int64], axis: int) -> Floats:
            """drawn: int64 (b, n), indices of seeds; from the jackknife (b, n - 1). Returns (M, b)."""
            rows = np.atleast_2d(drawn)
            if rows.shape[1] == n - 1:  # the jackknife; which seed it leaves out follows from the sum of the others
                left_out = n * (n - 1) // 2 - rows.sum(axis=1)
                means = (total - sums[left_out]) / (count - self._counts[left_out])[:, None]
            else:
                weights = _times_drawn(rows, n)
                means = (weights @ sums) / (weights @ self._counts)[:, None]
            of_rows = np.moveaxis(statistic(means), -1, 0)
            return of_rows if drawn.ndim > 1 else of_rows[:, 0]

        with warnings.catch_warnings(), np.errstate(invalid="ignore"):
            warnings.simplefilter("ignore", stats.DegenerateDataWarning)  # all resamples are equal: see below
            result: Any = stats.bootstrap(
                (np.arange(n),),
                of_drawn,
                n_resamples=self._resamples,
                batch=max(1, _WEIGHTS_AT_ONCE // n),
                vectorized=True,
                confidence_level=CONFIDENCE,
                method="BCa",
                rng=np.random.default_rng(_ENTROPY),
            )
        interval: tuple[Floats, Floats] = result.confidence_interval
        # Without spread, BCa is undefined (NaN), and both percentiles are the value itself.
        tail = (1 - CONFIDENCE) / 2
        resampled: Floats = result.bootstrap_distribution
        percentiles = np.quantile(resampled, (tail, 1 - tail), axis=-1)
        low, high = (np.where(np.isnan(interval[at]), percentiles[at], interval[at]) for at in (0, 1))
        return tuple(Estimate(*map(float, ends)) for ends in zip(point, low, high, strict=True))


def _times_drawn(drawn: NDArray[np.int64], n: int) -> Floats:
    """How often each of n seeds is in each row of (b, k) indices: float64 (b, n)."""
    cells = drawn + n * np.arange(len(drawn))[:, None]
    return np.bincount(cells.ravel(), minlength=n * len(drawn)).reshape(-1, n).astype(np.float64)
