"""Pairs that swap are counted and named as looking at every pair finds them, however many there are."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from core.analysis.rescore.swaps import swapped_pairs


def one_by_one(groups: list[NDArray[np.int64]], before: NDArray[np.float64], after: NDArray[np.float64]) -> list[float]:
    """The smaller gap of every pair that swaps, the largest first."""
    found: list[float] = []
    for members in groups:
        for one, other in combinations(members, 2):
            leads = float(before[one] - before[other]), float(after[one] - after[other])
            if leads[0] * leads[1] < 0 and min(map(abs, leads)) > 1e-6:
                found.append(float(min(map(abs, leads))))
    return sorted(found, reverse=True)


@pytest.mark.parametrize("n_worlds", [1, 3, 60])
@pytest.mark.parametrize("noise", [0.0, 0.1, 5.0])
@pytest.mark.parametrize("on_a_grid", [False, True])
def test_the_clearest_are_named_and_all_are_counted(n_worlds: int, noise: float, on_a_grid: bool):
    draw = np.random.default_rng(n_worlds)
    worlds = draw.integers(0, n_worlds, 300)
    before = draw.normal(size=300) * 5
    after = before + draw.normal(size=300) * noise
    if on_a_grid:  # many are equal
        before, after = np.round(before), np.round(after)
    groups = [np.flatnonzero(worlds == world).astype(np.int64) for world in np.unique(worlds)]
    expected = one_by_one(groups, before, after)
    for most in (3, 40, 100_000):
        pairs, n_swaps, n_pairs = swapped_pairs(groups, before, after, most=most)
        assert n_swaps == len(expected)
        assert n_pairs == sum(len(members) * (len(members) - 1) // 2 for members in groups)
        assert np.allclose(np.min(np.abs(pairs[2:]), axis=0), expected[:most])
    for one, other, lead_before, lead_after in pairs.T.tolist():
        assert before[int(one)] - before[int(other)] == lead_before
        assert after[int(one)] - after[int(other)] == lead_after
        assert lead_before * lead_after < 0


def test_what_differs_by_rounding_does_not_swap():
    many = np.arange(100, dtype=np.int64)
    before = np.full(100, 0.3)
    before[::2] = 0.1 + 0.2
    for members in (many, many[:10]):
        _, n_swaps, _ = swapped_pairs([members], before, before[::-1].copy(), most=10)
        assert n_swaps == 0


@pytest.mark.parametrize("n_episodes", [40, 64, 65, 200])
@pytest.mark.parametrize("outlier", [1e12, -1e12])
def test_an_outlier_hides_no_swap_in_small_and_in_large_worlds(n_episodes: int, outlier: float):
    draw = np.random.default_rng(n_episodes)
    before, after = draw.integers(0, 30, n_episodes) / 10, draw.integers(0, 30, n_episodes) / 10
    before[7] = after[7] = outlier
    members = np.arange(n_episodes, dtype=np.int64)
    expected = one_by_one([members], before, after)
    pairs, n_swaps, _ = swapped_pairs([members], before, after, most=25)
    assert n_swaps == len(expected) > 100
    assert np.allclose(np.min(np.abs(pairs[2:]), axis=0), expected[:25])


def test_small_and_large_worlds_agree_on_what_is_equal():
    """Two and two of them are on one level."""
    for n_episodes in (50, 64, 66, 80):
        values = np.array([at * 0.9e-9 for at in range(n_episodes)])
        members = np.arange(n_episodes, dtype=np.int64)
        _, n_swaps, n_pairs = swapped_pairs([members], values, -values, most=10)
        assert n_swaps == n_pairs - n_episodes // 2
