"""Numbers that can be computed with: infinite ones are refused, huge ones are brought to a size that can be squared."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import InvalidInput

Floats = NDArray[np.float64]


def refuse_not_finite(values: NDArray[Any], what: str) -> None:
    """Raise InvalidInput where some of them are infinite or NaN. what: their name in the plural."""
    n_wrong = int(values.size - np.count_nonzero(np.isfinite(values)))
    if n_wrong:
        verb = "is no finite number" if n_wrong == 1 else "are no finite numbers"
        raise InvalidInput(f"Of {values.size:,} {what}, {n_wrong:,} {verb}. Leave out the episodes that they are of.")


def exponents(values: Floats) -> NDArray[np.int32]:
    """Of each column of finite (n, ...) values: `np.ldexp(values, -exponents)` lies between -1 and 1.

    Powers of two change no digit, so what is computed from scaled values and scaled back is the same number.
    """
    return np.frexp(np.max(np.abs(values), axis=0, initial=0.0))[1]
