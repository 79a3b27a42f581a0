"""How values are spread over episodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.analysis.numbers import exponents, refuse_not_finite
from core.analysis.statistics.sample import Floats
from core.errors import InvalidInput


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
    """Of at least one value. Quartiles lie between neighbours in proportion. Raises InvalidInput."""
    if not len(values):
        raise InvalidInput("No values were given; a distribution needs one or more.")
    refuse_not_finite(values, "values")
    exponent = exponents(values)
    scaled = np.ldexp(values, -exponent)
    mean, deviation = (float(np.ldexp(value, exponent)) for value in (scaled.mean(), scaled.std()))
    # NumPy subtracts neighbours from each other, and the difference of two halves is never too large.
    least, lower, median, upper, most = (2 * float(half) for half in np.quantile(values / 2, (0, 0.25, 0.5, 0.75, 1)))
    return Distribution(len(values), mean, deviation, least, lower, median, upper, most)
