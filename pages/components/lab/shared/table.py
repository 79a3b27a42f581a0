"""Tables of the Lab: low rows, and at most one row chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import streamlit as st

_ROW_PX = 33


def show_table(
    table: pd.DataFrame,
    columns: dict[str, Any],
    *,
    rows_in_sight: int,
    key: str,
    alt: str | None = None,
    formats: Mapping[str, str | Callable[[Any], str]] | None = None,
    marked: int | None = None,
    on_pick: Callable[[int | None], None] | None = None,
) -> None:
    """Shows a table; one with more than `rows_in_sight` rows scrolls.

    formats: of columns whose cells stay numbers, so that the browser sorts them. marked: the row that is chosen at
    first. on_pick: called with the chosen row, or None if no row is chosen now. The browser reports row numbers, so a
    table of other rows needs another key.
    """
    more: dict[str, Any] = {}
    if on_pick is not None:

        def pick() -> None:
            rows = st.session_state[key]["selection"]["rows"]
            on_pick(rows[0] if rows else None)

        default = {"selection": {"rows": [marked]}} if marked is not None else None
        more = {"on_select": pick, "selection_mode": "single-row", "selection_default": default}
    style = table.style
    style.format(formats, na_rep="n/a")
    st.dataframe(
        style if formats else table,
        key=key,
        hide_index=True,
        row_height=_ROW_PX,
        height="content" if len(table.index) <= rows_in_sight else _ROW_PX * (rows_in_sight + 1) + 2,
        column_config=columns,
        alt=alt,
        **more,
    )
