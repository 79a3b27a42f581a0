"""The reward ledger of one episode: what each component paid in each decision, and whether they add up.

What the environment paid is not in the ledger; `return_to_go` and `cumulative` take it as a column of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.env.rules import ACHIEVEMENTS, ITEMS
from core.types import RewardBreakdown, RewardComponent

Floats = NDArray[np.float64]

TOLERANCE: Final = 1e-9
"""How far a logged reward may be from lambda times the sum of its parts, relative to the largest of these numbers or 1.
Rounding stays far below it."""

_KINDS: Final = ("indicator", "achievement", "inventory", "achievement_count", "environment", "potential")
_NAMES: Final = {name: at for at, name in enumerate((*ACHIEVEMENTS, *ITEMS))}


class LedgerColumn(NamedTuple):
    """A component: its kind and name, as in `RewardComponent`."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A decision whose logged reward is not what its parts come to. parts: lambda times their sum."""

    decision: int
    logged: float
    parts: float


@dataclass(frozen=True)
class Ledger:
    """n decisions, and the k components that paid anything in any of them.

    columns: in the same order for every episode: unlocks, inventory, counts, then what other strategies pay;
    within a kind in Crafter's order, unknown names last and by their letters.
    values: float64 (n, k), before lambda; 0 where a component did not pay. lambdas: float64 (n,).
    """

    columns: tuple[LedgerColumn, ...]
    values: Floats
    lambdas: Floats

    @classmethod
    def of(cls, breakdowns: Sequence[RewardBreakdown]) -> Ledger:
        """The ledger of an episode's decisions, in order. A component that is there twice counts with its sum."""
        found = {_column(part) for breakdown in breakdowns for part in breakdown.components}
        columns = tuple(sorted(found, key=_place))
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
        """What each component paid, times lambda: float64 (n, k). The rows add up to `totals`."""
        return self.values * self.lambdas[:, np.newaxis]

    @cached_property
    def totals(self) -> Floats:
        """Lambda times the sum of the parts: float64 (n,)."""
        return self.lambdas * self.values.sum(axis=1)

    @cached_property
    def earning(self) -> NDArray[np.int64]:
        """The decisions in which any component paid, or charged, something."""
        return np.flatnonzero(np.any(self.values != 0, axis=1)).astype(np.int64)

    @cached_property
    def by_column(self) -> Floats:
        """What each component paid in all, times lambda: float64 (k,)."""
        return self.paid.sum(axis=0)

    def first_mismatch(self, logged: Sequence[float] | Floats) -> Mismatch | None:
        """The first decision whose logged reward, of (n,), is not lambda times the sum of its parts; or None."""
        column = np.asarray(logged, np.float64)
        size = np.maximum(np.abs(self.paid).sum(axis=1), np.abs(column))
        wrong = np.flatnonzero(np.abs(column - self.totals) > TOLERANCE * np.maximum(1.0, size))
        if not len(wrong):
            return None
        at = int(wrong[0])
        return Mismatch(at, float(column[at]), float(self.totals[at]))


def cumulative(rewards: Floats) -> Floats:
    """The sum up to and with each decision: of (n,) values, or of each column of (n, k)."""
    return np.cumsum(rewards, axis=0)


def return_to_go(rewards: Sequence[float] | Floats, gamma: float = 1.0) -> Floats:
    """From each decision to the end: its reward, plus gamma times the next one's, plus gamma squared ...: float64 (n,).

    A decision counts as one step of discounting, however many steps of the environment it took.
    """
    column = np.asarray(rewards, np.float64)
    if gamma == 1.0:
        return np.cumsum(column[::-1])[::-1]
    returns = np.zeros(len(column))
    later = 0.0
    for at in range(len(column) - 1, -1, -1):
        later = float(column[at]) + gamma * later
        returns[at] = later
    return returns


def _column(part: RewardComponent) -> LedgerColumn:
    return LedgerColumn(part.kind, part.name)


def _place(column: LedgerColumn) -> tuple[int, str, int, str]:
    kind = _KINDS.index(column.kind) if column.kind in _KINDS else len(_KINDS)
    return kind, column.kind, _NAMES.get(column.name, len(_NAMES)), column.name
