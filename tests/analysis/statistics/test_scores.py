"""Samples, success rates, Crafter score and progress, compared with examples by hand and published results."""

from __future__ import annotations

import math

import numpy as np
import pytest

from core.analysis.statistics import HUMAN, crafter_score, distribution, published_rows, sample_of, summarise
from core.types import StopReason
from tests.support.statistics_samples import facts, played, sample

PUBLISHED = [row for row in published_rows() if row.success is not None]


def test_the_score_is_a_geometric_mean_of_rates_in_percent_with_one_added():
    assert crafter_score(np.array([0.0, 0.0])) == 0.0
    assert crafter_score(np.array([1.0, 1.0])) == pytest.approx(100.0)
    assert crafter_score(np.array([1.0, 0.0])) == pytest.approx(math.sqrt(101) - 1)


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: row.entry)
def test_published_success_rates_give_the_published_score_and_progress(row):
    rates = np.array(list(row.success.values()))
    assert len(rates) == 22
    assert 100 * rates.mean() == pytest.approx(100 * row.progress, abs=0.006)
    assert rates.sum() == pytest.approx(row.mean_achievements, abs=0.006)
    if row.entry == HUMAN:  # published as the mean of the scores of several runs, which is lower than that of all
        assert crafter_score(rates) == pytest.approx(52.05, abs=0.01)
        assert row.score < crafter_score(rates) < row.score + row.score_deviation
    else:
        assert crafter_score(rates) == pytest.approx(row.score, abs=0.01)


def test_a_summary_by_hand():
    """Seed 1: two episodes; seed 2: two. a is unlocked in 3 of 4, b in 1, c in none."""
    summary = summarise(sample([1, 1, 2, 2], [[1, 0, 0], [1, 1, 0], [1, 0, 0], [0, 0, 0]], [1.0, 2.0, 1.0, -0.4]))
    assert (summary.n_episodes, summary.n_seeds) == (4, 2)
    assert summary.n_successes == (3, 1, 0)
    assert [rate.value for rate in summary.success] == [0.75, 0.25, 0.0]
    assert summary.score.value == pytest.approx((76 * 26 * 1) ** (1 / 3) - 1)
    assert summary.achievements.value == 1.0
    assert summary.progress.value == pytest.approx(1 / 3)
    assert summary.env_return.value == pytest.approx(0.9)
    assert summary.shaped_return.value == pytest.approx(1.8)
    assert summary.steps.value == 100.0


@pytest.mark.parametrize("seeds", [[5, 5, 5], [5, 5, 6]])
def test_one_or_two_seeds_have_no_interval(seeds: list[int]):
    summary = summarise(sample(seeds, [[1, 0], [0, 0], [1, 1]]))
    estimates = (*summary.success, summary.score, summary.progress, summary.env_return, summary.shaped_return)
    assert all(estimate.low is estimate.high is None for estimate in estimates)


def test_the_score_of_few_episodes_is_too_low():
    """As the page's caption says."""
    rates = np.array(list(next(row for row in PUBLISHED if row.entry == HUMAN).success.values()))  # pyright: ignore
    draw = np.random.default_rng(1)
    few, many = (
        np.mean([crafter_score((draw.random((n, 22)) < rates).mean(axis=0)) for _ in range(300)]) for n in (5, 50)
    )
    assert few < many < crafter_score(rates)
    assert crafter_score(rates) - few > 5
    assert crafter_score(rates) - many < 2


def test_a_distribution_by_hand():
    spread = distribution(np.array([4.0, 1.0, 3.0, 2.0, 10.0]))
    assert (spread.n, spread.q1, spread.median, spread.q3) == (5, 2, 3, 4)
    assert spread.mean == 4.0
    assert spread.deviation == pytest.approx(np.sqrt(50 / 5))


def test_unlocks_are_in_the_order_of_the_achievements_and_others_do_not_count():
    episodes = [played(7, env_return=2.0, shaped_return=-1.0), played(8, stop_reason=StopReason.TERMINATED, n_steps=3)]
    its = sample_of(episodes, [facts(["b", "unknown", "a"]), facts(["c"])], ["a", "b", "c"])
    assert its.unlocked.tolist() == [[True, True, False], [False, False, True]]
    assert its.n_unlocked.tolist() == [2, 1]
    assert its.seeds.tolist() == [7, 8]
    assert its.env_returns.tolist() == [2.0, 1.9]
    assert its.shaped_returns.tolist() == [-1.0, 3.5]
    assert (its.n_steps.tolist(), its.has_died.tolist()) == ([100, 3], [False, True])


def test_rows_are_selected_in_the_given_order():
    its = sample_of([played(number) for number in range(4)], [facts("a")] * 4, ["a"]).at(np.array([3, 1]))
    assert its.seeds.tolist() == [3, 1]
    assert its.n_episodes == 2


def test_no_episodes_give_an_empty_sample():
    its = sample_of([], [], ["a", "b"])
    assert its.n_episodes == 0
    assert its.unlocked.shape == (0, 2)
