"""Rank correlation: SciPy's value, an interval over seeds, and a reason where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from core.analysis.statistics import NoCorrelation, SeedBootstrap, rank_correlation
from core.analysis.statistics.association import _resampled

DRAW = np.random.default_rng(8)


def test_perfect_order_is_one_and_its_reverse_minus_one():
    values = np.arange(6.0)
    assert rank_correlation(values, values**3, np.arange(6)).value == pytest.approx(1)
    assert rank_correlation(values, -values, np.arange(6)).value == pytest.approx(-1)


def test_each_resample_is_scipys_correlation_of_the_episodes_that_were_drawn():
    seeds = DRAW.integers(0, 6, 25)
    first, second = DRAW.integers(0, 5, 25).astype(float), DRAW.normal(size=25).round(1)
    bootstrap = SeedBootstrap(seeds, resamples=60)
    weights = np.concatenate(list(bootstrap.weights()))
    for weight, found in zip(weights, _resampled(first, second, bootstrap), strict=True):
        drawn = np.repeat(np.arange(25), weight[bootstrap.index].astype(int))
        assert found == pytest.approx(spearmanr(first[drawn], second[drawn]).statistic)


def test_the_interval_holds_the_value_and_narrows_with_more_seeds():
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
def test_where_there_is_none_it_says_why(first: list[float], second: list[float], problem: NoCorrelation):
    found = rank_correlation(np.array(first), np.array(second), np.arange(len(first)))
    assert (found.value, found.low, found.problem) == (None, None, problem)
    assert found.n_episodes == len(first)


def test_two_seeds_have_a_value_and_no_interval():
    found = rank_correlation(np.arange(5.0), np.arange(5.0), np.array([3, 3, 3, 3, 4]))
    assert found.value == pytest.approx(1)
    assert (found.low, found.high, found.n_seeds) == (None, None, 2)


def test_resamples_without_a_correlation_of_their_own_are_left_out():
    """A third of the resamples is constant, without the last seed or with nothing else."""
    found = rank_correlation(np.array([1.0, 1, 2]), np.array([1.0, 1, 2]), np.arange(3))
    assert (found.value, found.low, found.high) == pytest.approx((1, 1, 1))


def test_values_that_differ_by_rounding_are_ties():
    draw = np.random.default_rng(2)
    first = draw.integers(0, 4, 40) / 10
    second = draw.integers(0, 4, 40).astype(float)
    noisy = first + draw.normal(size=40) * 1e-14
    assert rank_correlation(noisy, second, np.arange(40)) == rank_correlation(first, second, np.arange(40))
    assert rank_correlation(second, noisy, np.arange(40)) == rank_correlation(second, first, np.arange(40))


def test_what_differs_by_rounding_only_is_constant():
    found = rank_correlation(np.array([0.1 + 0.2, 0.3, 0.3, 0.1 + 0.2, 0.3]), np.arange(5.0), np.arange(5))
    assert (found.value, found.problem) == (None, NoCorrelation.FIRST_IS_CONSTANT)
