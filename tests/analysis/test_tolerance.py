"""Which numbers count as equal depends only on the two that are compared."""

from __future__ import annotations

import numpy as np
import pytest

from core.analysis.tolerance import is_equal, value_ranks


def test_sums_that_differ_by_rounding_are_equal_but_the_smallest_rewards_are_not():
    total = sum([0.1] * 5_000)
    assert total != 500.0
    assert value_ranks(np.array([total, 500.0, 500.1])).tolist() == [0, 0, 1]


@pytest.mark.parametrize("outlier", [1e10, -1e10, 1e15])
def test_an_outlier_hides_no_difference(outlier: float):
    found = value_ranks(np.array([outlier, 0.3, 0.9, 1.1, 0.1 + 0.2]))
    assert (found[1:] - found[1]).tolist() == [0, 1, 2, 0]
    assert found[0] == (0 if outlier < 0 else 3)


def test_large_numbers_are_equal_by_their_own_size():
    assert value_ranks(np.array([1e12, 1e12 + 1, -1e12, -1e12 - 1, 1e12 + 1e5])).tolist() == [1, 1, 0, 0, 2]


def test_a_row_of_small_gaps_makes_several_levels():
    assert value_ranks(np.array([0.0, 0.6e-9, 1.2e-9, 1.8e-9, 2.4e-9])).tolist() == [0, 0, 1, 1, 2]


def test_two_numbers_are_equal_if_they_are_on_one_level():
    draw = np.random.default_rng(4)
    one = draw.normal(size=2_000) * 10.0 ** draw.integers(-3, 15, 2_000)
    other = one + draw.normal(size=2_000) * 1e-9 * np.maximum(1.0, np.abs(one))
    expected = [len(set(value_ranks(np.array(pair)).tolist())) == 1 for pair in zip(one, other, strict=True)]
    assert 100 < sum(expected) < 1_900
    assert is_equal(one, other).tolist() == is_equal(other, one).tolist() == expected
