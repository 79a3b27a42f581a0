"""Decisions in groups, for charts with more decisions than columns."""

from __future__ import annotations

import numpy as np

from pages.components.charts.binned import Binned


def test_bins_cover_every_decision_once():
    for n in (1, 2, 119, 120, 121, 9_999):
        bins = Binned.of(n, 120)
        assert bins.sums(np.ones(n)).sum() == n
        assert len(bins.starts) <= 120
    assert Binned.of(121, 120).hover_text(60) == "decision 120"
    assert Binned.of(9_999, 120).hover_text(1) == "decisions 84–167"
