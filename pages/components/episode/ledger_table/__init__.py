"""The ledger as a table: decisions as rows, components as columns.

A click on a row moves the player in the browser, without a round trip. Names come from a trace: table.js writes them
as text nodes and attributes only.
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
    """A component. group: heading over adjacent columns of one kind. colour: `#rrggbb`."""

    name: str
    group: str
    colour: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One component's reward. column: index. strength: of the colour, 0 to 1. tooltip: text."""

    column: int
    text: str
    strength: float
    tooltip: str


@dataclass(frozen=True, slots=True)
class Row:
    """One decision; rewards are formatted text, env is empty for 0. to_go: the shaped return-to-go."""

    decision: int
    label: str
    shaped: str
    to_go: str
    env: str
    cells: tuple[Cell, ...] = ()


def ledger_table(
    columns: tuple[Column, ...], rows: tuple[Row, ...], current: int, env_colour: str, *, key: str
) -> None:
    """current: index of the decision to mark."""
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
