"""How values are spread over episodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.analysis.statistics.sample import Floats


@dataclass(frozen=True, slots=True)
class Distribution:
    """n values: mean, standard deviation (of the population), extremes and quartiles."""

    n: int
    mean: float
    deviation: float
    least: float
    lower: float
    median: float
    upper: float
    most: float


def distribution(values: Floats) -> Distribution:
    """Of at least one value. Quartiles lie between neighbours in proportion."""
    quantiles = (float(value) for value in np.quantile(values, (0, 0.25, 0.5, 0.75, 1)))
    return Distribution(len(values), float(values.mean()), float(values.std()), *quantiles)
