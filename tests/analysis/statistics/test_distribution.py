"""How values are spread."""

from __future__ import annotations

import numpy as np
import pytest

from core.analysis.statistics import distribution
from core.errors import InvalidInput


def test_quartiles_and_moments_by_hand():
    spread = distribution(np.array([4.0, 1.0, 3.0, 2.0, 10.0]))
    assert (spread.n, spread.least, spread.lower, spread.median, spread.upper, spread.most) == (5, 1, 2, 3, 4, 10)
    assert spread.mean == 4.0
    assert spread.deviation == pytest.approx(np.sqrt(50 / 5))


def test_one_value_is_all_of_them():
    spread = distribution(np.array([2.5]))
    assert (spread.least, spread.median, spread.most, spread.deviation) == (2.5, 2.5, 2.5, 0.0)


def test_huge_values_have_a_spread_like_others():
    for size in (1e160, 1.7e307):
        spread = distribution(np.array([4.0, 1.0, 3.0, 2.0, 10.0]) * size)
        assert (spread.mean, spread.deviation) == pytest.approx((4 * size, np.sqrt(10) * size))
        assert (spread.least, spread.lower, spread.most) == pytest.approx((size, 2 * size, 10 * size))
    wide = distribution(np.array([-1.7e308, 1.7e308]))
    assert (wide.mean, wide.median, wide.deviation) == pytest.approx((0.0, 0.0, 1.7e308))


def test_no_values_and_values_that_are_not_finite_are_refused():
    with pytest.raises(InvalidInput, match="No values were given"):
        distribution(np.zeros(0))
    for wrong in (np.nan, np.inf, -np.inf):
        with pytest.raises(InvalidInput, match="Of 2 values, 1 is no finite number"):
            distribution(np.array([1.0, wrong]))
