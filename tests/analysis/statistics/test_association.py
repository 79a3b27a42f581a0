"""Rank correlation: SciPy's value, an interval over seeds, and a reason if it is undefined."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from core.analysis.statistics import NoCorrelation, SeedBootstrap, rank_correlation
from core.analysis.statistics.association import resampled
from core.analysis.tolerance import value_ranks

DRAW = np.random.default_rng(8)


def test_the_same_order_gives_1_and_the_reverse_minus_1():
    values = np.arange(6.0)
    assert rank_correlation(values, values**3, np.arange(6)).value == pytest.approx(1)
    assert rank_correlation(values, -values, np.arange(6)).value == pytest.approx(-1)


def test_each_resample_equals_scipys_correlation_of_the_drawn_episodes():
    seeds = DRAW.integers(0, 6, 25)
    first, second = value_ranks(DRAW.integers(0, 5, 25).astype(float)), value_ranks(DRAW.normal(size=25).round(1))
    bootstrap = SeedBootstrap(seeds, resamples=60)
    weights = np.concatenate(list(bootstrap.weights(60)))
    for weight, found in zip(weights, resampled(first, second, bootstrap), strict=True):
        drawn = np.repeat(np.arange(25), weight[bootstrap.index].astype(int))
        assert found == pytest.approx(spearmanr(first[drawn], second[drawn]).statistic)


def test_the_interval_contains_the_value_and_is_narrower_with_more_seeds():
    widths: list[float] = []
    for count in (20, 200):
        first = DRAW.normal(size=count)
        found = rank_correlation(first, first + DRAW.normal(size=count), np.arange(count))
        assert found.value is not None and found.low is not None and found.high is not None
        assert found.low < found.value < found.high
        widths.append(found.high - found.low)
    assert widths[1] < widths[0] / 2


@pytest.mark.parametrize(
    ("first", "second", "problem"),
    [
        ([1.0, 2.0], [1.0, 2.0], NoCorrelation.TOO_FEW),
        ([], [], NoCorrelation.TOO_FEW),
        ([2.0, 2.0, 2.0], [1.0, 2.0, 3.0], NoCorrelation.FIRST_IS_CONSTANT),
        ([1.0, 2.0, 3.0], [2.0, 2.0, 2.0], NoCorrelation.SECOND_IS_CONSTANT),
    ],
)
def test_an_undefined_correlation_has_a_reason(first: list[float], second: list[float], problem: NoCorrelation):
    found = rank_correlation(np.array(first), np.array(second), np.arange(len(first)))
    assert (found.value, found.low, found.problem) == (None, None, problem)
    assert found.n_episodes == len(first)


def test_two_seeds_have_a_value_but_no_interval():
    found = rank_correlation(np.arange(5.0), np.arange(5.0), np.array([3, 3, 3, 3, 4]))
    assert found.value == pytest.approx(1)
    assert (found.low, found.high, found.n_seeds) == (None, None, 2)


def test_resamples_with_an_undefined_correlation_are_left_out():
    """A third of the resamples is constant, without the last seed or with nothing else."""
    found = rank_correlation(np.array([1.0, 1, 2]), np.array([1.0, 1, 2]), np.arange(3))
    assert (found.value, found.low, found.high) == pytest.approx((1, 1, 1))


def test_values_that_differ_by_rounding_are_ties():
    constant = rank_correlation(np.array([0.1 + 0.2, 0.3, 0.3, 0.1 + 0.2, 0.3]), np.arange(5.0), np.arange(5))
    assert constant.problem is NoCorrelation.FIRST_IS_CONSTANT
    draw = np.random.default_rng(2)
    first = draw.integers(0, 4, 40) / 10
    second = draw.integers(0, 4, 40).astype(float)
    noisy = first + draw.normal(size=40) * 1e-14
    assert rank_correlation(noisy, second, np.arange(40)) == rank_correlation(first, second, np.arange(40))
    assert rank_correlation(second, noisy, np.arange(40)) == rank_correlation(second, first, np.arange(40))
