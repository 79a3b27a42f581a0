"""Groups of consecutive decisions, for charts with more decisions than columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Binned:
    """`n` decisions in consecutive groups of `size`; the last group may be smaller."""

    size: int
    n: int

    @classmethod
    def of(cls, n: int, max_groups: int) -> Binned:
        """At most `max_groups` of them."""
        return cls(max(1, -(-n // max_groups)), n)

    @property
    def starts(self) -> NDArray[np.int64]:
        """Index of the first decision of each group: int64 (groups,)."""
        return np.arange(0, self.n, self.size, dtype=np.int64)

    @property
    def middles(self) -> list[float]:
        """Centre of each group on an axis that counts decisions."""
        return (self.starts + (self.size - 1) / 2).tolist()

    @property
    def axis(self) -> list[float]:
        """Range of that axis, with room for a last group of full width."""
        return [-0.5, len(self.starts) * self.size - 0.5]

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum of each group: (n,) -> (groups,), (n, k) -> (groups, k)."""
        return np.add.reduceat(values, self.starts, axis=0) if self.n else values

    def hover_text(self, group: int) -> str:
        """`decision 12`, `decisions 120–124`."""
        first, last = group * self.size, min((group + 1) * self.size, self.n) - 1
        return f"decision {first:,}" if first == last else f"decisions {first:,}–{last:,}"
