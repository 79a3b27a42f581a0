"""Unlock times and curves, compared with SciPy's estimators where those apply."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from core.analysis.statistics import unlock_curve, unlock_table, unlock_times

NEVER = np.nan


def share_at(curve, step: int) -> float:
    return float(curve.shares[np.searchsorted(curve.steps, step, side="right") - 1])


def test_steps_count_from_one_and_unknown_names_and_episodes_are_skipped():
    steps = {"x": {"b": 0, "other": 3}, "z": {"a": 9}}
    table = unlock_table(["x", "y", "z"], steps, ["a", "b"])
    assert np.array_equal(table, [[NEVER, 1], [NEVER, NEVER], [10, NEVER]], equal_nan=True)


def test_quartiles_are_over_the_episodes_that_reached_it():
    once, never = unlock_times(np.array([[10.0, NEVER], [30.0, NEVER], [NEVER, NEVER], [20.0, NEVER]]))
    assert (once.n_episodes, once.n_reached, once.share) == (4, 3, 0.75)
    assert (once.q1, once.median, once.q3) == (15.0, 20.0, 25.0)
    assert (never.n_reached, never.share, never.median) == (0, 0.0, None)


def test_if_all_end_at_the_same_limit_the_curve_is_the_plain_share():
    steps = np.array([5.0, 5.0, 40.0, NEVER])
    curve = unlock_curve(steps, np.full(4, 100), np.zeros(4, np.bool_))
    assert curve.steps.tolist() == [0, 5, 40, 100]
    assert curve.shares.tolist() == [0.0, 0.5, 0.75, 0.75]


def test_the_dead_never_unlock_it_but_stopped_episodes_might_have():
    """Of four, one ends at step 10 without it, and one of the other three unlocks it at 20."""
    steps, n_steps = np.array([NEVER, 20.0, NEVER, NEVER]), np.array([10, 100, 100, 100])
    no_deaths, first = np.zeros(4, np.bool_), np.array([True, False, False, False])
    assert share_at(unlock_curve(steps, n_steps, no_deaths), 100) == pytest.approx(1 / 3)
    assert share_at(unlock_curve(steps, n_steps, first), 100) == pytest.approx(1 / 4)


def test_an_unlock_in_the_last_step_counts():
    steps = np.array([10.0, NEVER])
    for has_died in (True, False):
        curve = unlock_curve(steps, np.array([10, 10]), np.array([True, has_died]))
        assert share_at(curve, 10) == 0.5


def test_without_deaths_it_is_one_minus_the_kaplan_meier_survival():
    draw = np.random.default_rng(3)
    steps = draw.integers(1, 60, 200).astype(float)
    n_steps = draw.integers(1, 60, 200)
    steps[steps > n_steps] = NEVER
    curve = unlock_curve(steps, n_steps, np.zeros(200, np.bool_))
    reached = ~np.isnan(steps)
    expected = stats.ecdf(stats.CensoredData(uncensored=steps[reached], right=n_steps[~reached].astype(float))).cdf
    for step in range(1, 60):
        assert share_at(curve, step) == pytest.approx(float(expected.evaluate(np.array(step))))


def test_if_all_that_end_early_die_it_is_the_plain_share_of_all():
    draw = np.random.default_rng(4)
    steps = draw.integers(1, 60, 300).astype(float)
    deaths = draw.integers(1, 60, 300)
    steps[steps > deaths] = NEVER
    curve = unlock_curve(steps, deaths, np.ones(300, np.bool_))
    for step in (1, 7, 30, 59):
        assert share_at(curve, step) == pytest.approx(float((steps <= step).mean()))


def test_a_curve_without_unlocks_is_flat_and_one_without_episodes_a_point():
    curve = unlock_curve(np.full(3, NEVER), np.array([5, 9, 7]), np.array([True, False, True]))
    assert (curve.steps.tolist(), curve.shares.tolist()) == ([0, 9], [0.0, 0.0])
    empty = unlock_curve(np.empty(0), np.empty(0, np.int64), np.empty(0, np.bool_))
    assert (empty.steps.tolist(), empty.shares.tolist()) == ([0, 0], [0.0, 0.0])
