"""Bootstrap intervals: over seeds and not over episodes, reproducible, and equal to SciPy's where SciPy has them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from core.analysis.statistics import Estimate, SeedBootstrap, crafter_score
from core.types import Floats

DRAW = np.random.default_rng(5)


def column(values: Floats) -> Floats:
    return values[:, None]


def test_each_resample_draws_as_many_seeds_as_there_are():
    parts = list(SeedBootstrap(np.array([4, 4, 9, 11]), resamples=500).weights(200))
    weights = np.concatenate(parts)
    assert [len(part) for part in parts] == [200, 200, 100]
    assert weights.shape == (500, 3)
    assert set(weights.sum(axis=1)) == {3.0}
    assert weights.mean(axis=0) == pytest.approx([1, 1, 1], abs=0.15)


def test_the_value_is_the_mean_over_episodes_and_not_over_seeds():
    (estimate,) = SeedBootstrap(np.array([1, 1, 1, 2])).of_means(column(np.array([0.0, 0.0, 0.0, 1.0])))
    assert estimate.value == 0.25


def test_one_seed_has_no_interval_however_many_episodes_it_has():
    (estimate,) = SeedBootstrap(np.full(50, 3)).of_means(column(DRAW.random(50)))
    assert estimate == Estimate(estimate.value, None, None)


def test_equal_values_have_an_interval_without_width():
    (estimate,) = SeedBootstrap(np.arange(6)).of_means(column(np.ones(6)))
    assert estimate == Estimate(1.0, 1.0, 1.0)


def test_the_same_input_gives_the_same_interval():
    seeds, values = np.arange(12), column(DRAW.normal(size=12))
    assert SeedBootstrap(seeds).of_means(values) == SeedBootstrap(seeds).of_means(values)


def test_the_order_of_episodes_and_the_values_of_seeds_do_not_matter():
    seeds, values = DRAW.integers(0, 8, 40), column(DRAW.normal(size=40))
    order = DRAW.permutation(40)
    (one,) = SeedBootstrap(seeds).of_means(values)
    (other,) = SeedBootstrap(seeds[order] * 1000).of_means(values[order])
    assert [other.value, other.low, other.high] == pytest.approx([one.value, one.low, one.high])


def test_equal_episodes_of_one_seed_do_not_narrow_the_interval():
    values = DRAW.normal(size=10)
    (alone,) = SeedBootstrap(np.arange(10)).of_means(column(values))
    (repeated,) = SeedBootstrap(np.repeat(np.arange(10), 30)).of_means(column(np.repeat(values, 30)))
    assert (repeated.low, repeated.high) == pytest.approx((alone.low, alone.high))
    (as_if_independent,) = SeedBootstrap(np.arange(300)).of_means(column(np.repeat(values, 30)))
    assert as_if_independent.low is not None and alone.low is not None
    assert as_if_independent.low > alone.low


@pytest.mark.parametrize("statistic", ["mean", "score"])
def test_with_one_episode_per_seed_it_is_scipys_bca_interval(statistic: str):
    values = (np.random.default_rng(2).random((40, 5)) < (0.9, 0.6, 0.3, 0.1, 0.5)).astype(float)
    function = crafter_score if statistic == "score" else lambda means: means.mean(axis=-1)

    def of_rows(rows: Floats, axis: int) -> Floats:
        return function(values[rows.astype(int)].mean(axis=-2))

    expected = stats.bootstrap(
        (np.arange(40.0),), of_rows, n_resamples=20_000, vectorized=True, method="BCa", rng=np.random.default_rng(1)
    ).confidence_interval
    bootstrap = SeedBootstrap(np.arange(40), resamples=20_000)
    (estimate,) = bootstrap.of_means(values, lambda means: function(means)[..., None])
    width = expected.high - expected.low
    assert [estimate.low, estimate.high] == pytest.approx([expected.low, expected.high], abs=0.03 * width)


def test_95_percent_intervals_contain_the_true_value_in_about_95_percent_of_samples():
    """Two episodes for each of 30 seeds, which share the luck of their seed."""
    draw = np.random.default_rng(7)
    hits = 0
    for _ in range(200):
        luck = np.repeat(draw.normal(size=30), 2)
        values = luck + draw.normal(size=60)
        (estimate,) = SeedBootstrap(np.repeat(np.arange(30), 2), resamples=400).of_means(column(values))
        assert estimate.low is not None and estimate.high is not None
        hits += estimate.low <= 0 <= estimate.high
    assert 0.88 <= hits / 200 <= 0.99
