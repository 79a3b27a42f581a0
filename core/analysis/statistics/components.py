"""What each reward component paid over many episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.analysis.statistics.sample import Rows
from core.facts import EpisodeFacts
from core.types import Floats


@dataclass(frozen=True)
class ComponentTable:
    """components: kind and name of C components. values: float64 (E, C), what each paid in each episode, as played."""

    components: tuple[tuple[str, str], ...]
    values: Floats


@dataclass(frozen=True, slots=True)
class ComponentPay:
    """What one component paid over some episodes.

    share: 0 to 1, of the absolute totals of all components.
    """

    kind: str
    name: str
    total: float
    mean: float
    share: float


def component_table(facts: Sequence[EpisodeFacts], scales: Sequence[float]) -> ComponentTable:
    """scales: the effective lambda of each episode's configuration."""
    places: dict[tuple[str, str], int] = {}
    rows: list[int] = []
    columns: list[int] = []
    paid: list[float] = []
    for row, (its, scale) in enumerate(zip(facts, scales, strict=True)):
        for part in its.components:
            rows.append(row)
            columns.append(places.setdefault((part.kind, part.name), len(places)))
            paid.append(part.value * scale)
    values = np.zeros((len(facts), len(places)))
    np.add.at(values, (rows, columns), paid)
    return ComponentTable(tuple(places), values)


def component_pay(table: ComponentTable, rows: Rows) -> tuple[ComponentPay, ...]:
    """The components that paid in these episodes, the largest total first."""
    totals = table.values[rows].sum(axis=0)
    amounts = np.abs(totals)
    return tuple(
        ComponentPay(
            kind=table.components[place][0],
            name=table.components[place][1],
            total=float(totals[place]),
            mean=float(totals[place] / len(rows)),
            share=float(amounts[place] / amounts.sum()),
        )
        for place in map(int, np.argsort(-amounts, kind="stable"))
        if totals[place] != 0
    )
