"""The ledger as a table: a row for each decision, a column for each component, the current decision marked.

A click on a row asks the player for its decision, in the browser: no round trip. Names come from a trace; they reach
the page as text nodes and attributes only.
"""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from streamlit.components.v2 import component

__all__ = ["Cell", "Column", "Row", "ledger_table"]

_NAME = "craftscope.ledger_table"
_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Column:
    """A component. group: what stands over it and its neighbours of the same kind. colour: `#rrggbb`."""

    name: str
    group: str
    colour: str


@dataclass(frozen=True, slots=True)
class Cell:
    """What one component paid. column: its place. strength: 0 to 1, how strongly it is coloured. says: on hover."""

    column: int
    text: str
    strength: float
    says: str


@dataclass(frozen=True, slots=True)
class Row:
    """One decision: what it earned in all and from here to the end, what the environment paid, and its cells."""

    decision: int
    label: str
    shaped: str
    to_go: str
    env: str
    cells: tuple[Cell, ...] = ()


def ledger_table(
    columns: tuple[Column, ...], rows: tuple[Row, ...], current: int, env_colour: str, *, key: str
) -> None:
    """Draw it. current: the index of the decision that is marked."""
    js, css = _assets()
    table = component(_NAME, js=js, css=css)
    data: dict[str, Any] = {
        "columns": [asdict(column) for column in columns],
        "rows": [asdict(row) for row in rows],
        "current": current,
        "envColour": env_colour,
    }
    table(key=key, data=data)


@functools.cache
def _assets() -> tuple[str, str]:
    return (_HERE / "table.js").read_text(encoding="utf-8"), (_HERE / "table.css").read_text(encoding="utf-8")
