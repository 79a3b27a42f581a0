"""Whether two things rise together over episodes: rank correlation, with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from core.analysis.numbers import levels
from core.analysis.statistics.bootstrap import CONFIDENCE, MIN_SEEDS, RESAMPLES, SeedBootstrap
from core.analysis.statistics.sample import Floats

_FEWEST: Final = 3
_ROUNDING: Final = 1e-12


class NoCorrelation(StrEnum):
    """Why there is none."""

    TOO_FEW = "too few episodes"
    FIRST_IS_CONSTANT = "the first is the same in all episodes"
    SECOND_IS_CONSTANT = "the second is the same in all episodes"


@dataclass(frozen=True, slots=True)
class RankCorrelation:
    """Spearman's rho, -1 to 1; `value` is None where there is none, and `problem` says why.

    low, high: 95 %, percentiles of a bootstrap over seeds; None with fewer than `MIN_SEEDS` seeds, or where most
    resamples have no correlation themselves.
    """

    n_episodes: int
    n_seeds: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    problem: NoCorrelation | None = None


def rank_correlation(
    first: Floats, second: Floats, seeds: NDArray[np.int64], *, resamples: int = RESAMPLES, entropy: int = 0
) -> RankCorrelation:
    """Spearman's rank correlation of two values of E episodes. first, second: (E,).

    Values that differ by rounding only (`core.analysis.numbers`) are ties, and ties get their mean rank.
    """
    first, second = (levels(values).astype(np.float64) for values in (first, second))
    bootstrap = SeedBootstrap(seeds, resamples=resamples, entropy=entropy)
    size = len(first), bootstrap.n_seeds
    problem = _problem(first, second)
    if problem is not None:
        return RankCorrelation(*size, problem=problem)
    value = float(spearmanr(first, second).statistic)
    if bootstrap.n_seeds < MIN_SEEDS:
        return RankCorrelation(*size, value)
    drawn = _resampled(first, second, bootstrap)
    defined = drawn[~np.isnan(drawn)]
    if len(defined) < len(drawn) / 2:
        return RankCorrelation(*size, value)
    tail = (1 - CONFIDENCE) / 2
    low, high = (float(end) for end in np.quantile(defined, (tail, 1 - tail)))
    return RankCorrelation(*size, value, low, high)


def _problem(first: Floats, second: Floats) -> NoCorrelation | None:
    if len(first) < _FEWEST:
        return NoCorrelation.TOO_FEW
    if np.ptp(first) == 0:
        return NoCorrelation.FIRST_IS_CONSTANT
    return NoCorrelation.SECOND_IS_CONSTANT if np.ptp(second) == 0 else None


def _resampled(first: Floats, second: Floats, bootstrap: SeedBootstrap) -> Floats:
    """The correlation in each resample: float64 (B,), NaN where one of the two is constant.

    An episode whose seed is drawn k times stands k times: it weighs k in the ranks and in the sums.
    """
    order = np.argsort(first, kind="stable")  # so that the ranks of `first` need no sorting in each resample
    index = bootstrap.index[order]
    ranks_of_first, ranks_of_second = _Ranks(first[order]), _Ranks(second[order])
    drawn: list[Floats] = []
    for weights in bootstrap.weights():
        for some in np.array_split(weights, max(1, len(weights) * len(index) // (1 << 19))):
            weight = some[:, index]
            drawn.append(_correlations(weight, ranks_of_first.under(weight), ranks_of_second.under(weight)))
    return np.concatenate(drawn)


class _Ranks:
    """The ranks of E values under weights; equal values share the mean of theirs."""

    def __init__(self, values: Floats) -> None:
        distinct, self._level = np.unique(values, return_inverse=True)
        self._order = np.argsort(self._level, kind="stable")
        self._is_sorted = bool((np.diff(self._level) >= 0).all())
        self._starts = np.searchsorted(self._level[self._order], np.arange(len(distinct)))

    def under(self, weight: Floats) -> Floats:
        """(b, E) ranks under (b, E) weights, less a half that does not matter to a correlation."""
        ordered = weight if self._is_sorted else weight[:, self._order]
        of_level = np.add.reduceat(ordered, self._starts, axis=1)
        middle = np.cumsum(of_level, axis=1) - of_level / 2
        return np.asarray(middle[:, self._level], np.float64)


def _correlations(weight: Floats, first: Floats, second: Floats) -> Floats:
    total = weight.sum(axis=1)
    first -= (np.einsum("be,be->b", weight, first) / total)[:, None]
    second -= (np.einsum("be,be->b", weight, second) / total)[:, None]
    weighted = weight * first
    together = np.einsum("be,be->b", weighted, second)
    alone = np.einsum("be,be->b", weighted, first), np.einsum("be,be,be->b", weight, second, second)
    spread = np.sqrt(alone[0] * alone[1])
    least = _ROUNDING * total**3
    return np.where(spread > least, together / np.where(spread > least, spread, 1.0), np.nan)
