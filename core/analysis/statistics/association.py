"""Whether two values rise together over episodes: rank correlation with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from scipy.stats import spearmanr

from core.analysis.statistics.bootstrap import CONFIDENCE, MIN_SEEDS, SeedBootstrap
from core.analysis.tolerance import value_ranks
from core.types import Floats, Ints

_MIN_EPISODES: Final = 3
_ROUNDING: Final = 1e-12
_CELLS_AT_ONCE: Final = 1 << 19  # resamples x episodes: small enough for a processor's cache


class NoCorrelation(StrEnum):
    TOO_FEW = "too few episodes"
    FIRST_IS_CONSTANT = "the first is the same in all episodes"
    SECOND_IS_CONSTANT = "the second is the same in all episodes"


@dataclass(frozen=True, slots=True)
class RankCorrelation:
    """Spearman's rho, -1 to 1. If it is undefined, `value` is None and `problem` says why.

    low, high: 95 %, percentiles of a bootstrap over seeds; None with fewer than `MIN_SEEDS` seeds, or if most
    resamples have no correlation themselves.
    """

    n_episodes: int
    n_seeds: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    problem: NoCorrelation | None = None


def rank_correlation(first: Floats, second: Floats, seeds: Ints) -> RankCorrelation:
    """Spearman's rank correlation of two values of E episodes. first, second: (E,).

    Values that differ by rounding only (`core.analysis.tolerance`) are ties, and ties get their mean rank.
    """
    ties = value_ranks(first), value_ranks(second)
    bootstrap = SeedBootstrap(seeds)
    size = len(first), bootstrap.n_seeds
    problem = _problem(*ties)
    if problem is not None:
        return RankCorrelation(*size, problem=problem)
    value = float(spearmanr(*ties).statistic)
    if bootstrap.n_seeds < MIN_SEEDS:
        return RankCorrelation(*size, value)
    drawn = resampled(*ties, bootstrap)
    defined = drawn[~np.isnan(drawn)]
    if len(defined) < len(drawn) / 2:
        return RankCorrelation(*size, value)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(defined, (tail, 1 - tail)).tolist()
    return RankCorrelation(*size, value, low, high)


def resampled(first: Ints, second: Ints, bootstrap: SeedBootstrap) -> Floats:
    """The correlation of two `value_ranks` in each resample: float64 (B,), NaN if one of the two is constant.

    An episode whose seed is drawn k times counts k times in the ranks and in the sums: the same as SciPy's correlation
    of the drawn episodes, but for all resamples at once.
    """
    order = np.argsort(first, kind="stable")  # then the ranks of `first` need no sorting in each resample
    first, second, seed = first[order], second[order], bootstrap.index[order]
    drawn: list[Floats] = []
    for weights in bootstrap.weights(max(1, _CELLS_AT_ONCE // len(seed))):
        weight = weights[:, seed]
        drawn.append(_correlations(weight, _ranks(weight, first), _ranks(weight, second)))
    return np.concatenate(drawn)


def _problem(first: Ints, second: Ints) -> NoCorrelation | None:
    if len(first) < _MIN_EPISODES:
        return NoCorrelation.TOO_FEW
    if not first.any():
        return NoCorrelation.FIRST_IS_CONSTANT
    return None if second.any() else NoCorrelation.SECOND_IS_CONSTANT


def _ranks(weight: Floats, level: Ints) -> Floats:
    """The rank of each episode, ties with their mean, less 1/2, which does not change a correlation: float64 (b, E).

    weight: float64 (b, E), how often each episode counts.
    """
    order = np.argsort(level, kind="stable")
    starts = np.cumsum(np.bincount(level)) - np.bincount(level)
    of_level = np.add.reduceat(weight[:, order], starts, axis=1)
    middle = np.cumsum(of_level, axis=1) - of_level / 2
    return np.asarray(middle[:, level], np.float64)


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
