"""How values are spread."""

from __future__ import annotations

import numpy as np
import pytest

from core.analysis.statistics import distribution


def test_quartiles_and_moments_by_hand():
    spread = distribution(np.array([4.0, 1.0, 3.0, 2.0, 10.0]))
    assert (spread.n, spread.least, spread.lower, spread.median, spread.upper, spread.most) == (5, 1, 2, 3, 4, 10)
    assert spread.mean == 4.0
    assert spread.deviation == pytest.approx(np.sqrt(50 / 5))


def test_one_value_is_all_of_them():
    spread = distribution(np.array([2.5]))
    assert (spread.least, spread.median, spread.most, spread.deviation) == (2.5, 2.5, 2.5, 0.0)
