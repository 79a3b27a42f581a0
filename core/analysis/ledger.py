"""The reward ledger of one episode: what each component paid in each decision, and whether the components add up.

The environment's own reward is not in it, unless the strategy pays it as a component.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.analysis.tolerance import ROUNDING
from core.env.rules import ACHIEVEMENTS, ITEMS
from core.types import Floats, RewardBreakdown, RewardComponent

_KINDS: Final = ("indicator", "achievement", "inventory", "achievement_count", "environment", "potential")
_NAMES: Final = {name: at for at, name in enumerate((*ACHIEVEMENTS, *ITEMS))}


class LedgerColumn(NamedTuple):
    """Kind and name as in `RewardComponent`."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A decision whose logged reward is not `parts`: lambda times the sum of its components."""

    decision: int
    logged: float
    parts: float


@dataclass(frozen=True)
class Ledger:
    """n decisions, and the k components that occur in any of them.

    columns: sorted by kind (unlocks, inventory, counts, then those of other strategies), then by Crafter's order, with
    unknown names last. values: float64 (n, k), before lambda, 0 where a component did not pay. lambdas: float64 (n,).
    """

    columns: tuple[LedgerColumn, ...]
    values: Floats
    lambdas: Floats

    @classmethod
    def of(cls, breakdowns: Sequence[RewardBreakdown]) -> Ledger:
        """The ledger of an episode's decisions, in order. A component that occurs twice in a decision is summed."""
        found = {_column(part) for breakdown in breakdowns for part in breakdown.components}
        columns = tuple(sorted(found, key=_sort_key))
        places = {column: at for at, column in enumerate(columns)}
        values = np.zeros((len(breakdowns), len(columns)))
        for row, breakdown in zip(values, breakdowns, strict=True):
            for part in breakdown.components:
                row[places[_column(part)]] += part.value
        lambdas = np.array([breakdown.effective_lambda for breakdown in breakdowns], np.float64)
        return cls(columns, values, lambdas)

    def __len__(self) -> int:
        return len(self.lambdas)

    @cached_property
    def paid(self) -> Floats:
        """Lambda times `values`: float64 (n, k)."""
        return self.values * self.lambdas[:, np.newaxis]

    @cached_property
    def totals(self) -> Floats:
        """Lambda times the sum of the components: float64 (n,)."""
        return self.lambdas * self.values.sum(axis=1)

    @cached_property
    def earning(self) -> NDArray[np.int64]:
        """The decisions in which any component is not 0."""
        return np.flatnonzero(np.any(self.values != 0, axis=1)).astype(np.int64)

    def first_mismatch(self, logged: Sequence[float] | Floats) -> Mismatch | None:
        """The first decision whose logged reward, of (n,), is not lambda times the sum of its components; or None."""
        column = np.asarray(logged, np.float64)
        size = np.maximum(np.abs(self.paid).sum(axis=1), np.abs(column))
        wrong = np.flatnonzero(np.abs(column - self.totals) > ROUNDING * np.maximum(1.0, size))
        if not len(wrong):
            return None
        at = int(wrong[0])
        return Mismatch(at, float(column[at]), float(self.totals[at]))


def return_to_go(rewards: Sequence[float] | Floats, gamma: float = 1.0) -> Floats:
    """The discounted sum of the rewards from each decision to the end: float64 (n,).

    A decision counts as one step of discounting, however many steps of the environment it took.
    """
    returns = np.array(rewards, np.float64)
    for at in range(len(returns) - 2, -1, -1):
        returns[at] += gamma * returns[at + 1]
    return returns


def _column(part: RewardComponent) -> LedgerColumn:
    return LedgerColumn(part.kind, part.name)


def _sort_key(column: LedgerColumn) -> tuple[int, str, int, str]:
    kind = _KINDS.index(column.kind) if column.kind in _KINDS else len(_KINDS)
    return kind, column.kind, _NAMES.get(column.name, len(_NAMES)), column.name
