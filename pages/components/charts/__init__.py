"""Charts: how a figure is put on the page, and what all figures share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, Literal

import plotly.graph_objects as go
import streamlit as st

from pages.components.charts.download import Download, chart_with_downloads
from pages.components.charts.figure import COLOURS, Theme, theme
from pages.components.text.escape import MAX_LINE_LENGTH, safe_text

__all__ = ["COLOURS", "CONFIG", "Download", "Theme", "placeholders", "show", "theme"]

CONFIG: dict[str, Any] = {"displayModeBar": False, "displaylogo": False, "doubleClick": "reset"}
"""Plotly configuration of every chart: no tool bar."""

_placeholders: ContextVar[bool] = ContextVar("placeholders", default=False)


@contextmanager
def placeholders() -> Iterator[None]:
    """Charts in this context are empty placeholders: for a first run of the page, which another one follows."""
    token = _placeholders.set(True)
    try:
        yield
    finally:
        _placeholders.reset(token)


def show(
    figure: go.Figure,
    *,
    key: str,
    alt: str,
    seeks: Literal["steps", "decisions"] | None = None,
    download: Download | None = None,
) -> None:
    """Put a figure on the page. alt: its content in words, for screen readers.

    seeks: the unit of its horizontal axis, if a click should move the player there. The player listens in the browser
    for clicks on charts inside a container with such a key, which needs no round trip and leaves no selection behind.
    Where one place on the chart covers several decisions, `figure.with_click_targets` selects one.
    download: the picture and data offered while the pointer is on the chart.
    """
    config = CONFIG if download is None else CONFIG | download.config
    with chart_with_downloads(key, download) if download else nullcontext():
        with st.container(key=f"seek-{seeks}-{key}") if seeks else nullcontext():
            if _placeholders.get():
                layout: Any = figure.layout
                st.container(height=int(layout.height), border=False)
            else:
                st.plotly_chart(figure, key=key, config=config, theme="streamlit", alt=safe_text(alt, MAX_LINE_LENGTH))
