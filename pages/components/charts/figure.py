"""What all figures share: style, colours other than those of reward components, and marks around the data."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import plotly.graph_objects as go
import streamlit as st

from pages.components.text.escape import safe_text

Theme = Literal["light", "dark"]


@dataclass(frozen=True, slots=True)
class Colour:
    """One colour for light and dark backgrounds."""

    light: str
    dark: str

    def on(self, theme: Theme) -> str:
        return self.dark if theme == "dark" else self.light


COLOURS: dict[str, Colour] = {
    # sums of reward components; single components: `component_colours`
    "total": Colour("#475569", "#cbd5e1"),
    # the two returns
    "shaped": Colour("#059669", "#34d399"),
    "env": Colour("#2563eb", "#60a5fa"),
    "unlock": Colour("#d97706", "#fbbf24"),
    # penalties and errors
    "against": Colour("#dc2626", "#f87171"),
    # parts of a decision's time
    "inference": Colour("#7c3aed", "#a78bfa"),
    "waiting": Colour("#db2777", "#f472b6"),
    "parsing": Colour("#0891b2", "#22d3ee"),
    "environment": Colour("#059669", "#34d399"),
    "overhead": Colour("#d97706", "#fbbf24"),
    "storing": Colour("#64748b", "#94a3b8"),
    # marks around the data
    "grid": Colour("rgba(23,32,43,0.10)", "rgba(230,234,240,0.10)"),
    "axis": Colour("rgba(23,32,43,0.35)", "rgba(230,234,240,0.35)"),
    "text": Colour("#3b4754", "#b6c0cd"),
    "ink": Colour("#17202b", "#e6eaf0"),
    "ground": Colour("#ffffff", "#0b0e13"),
    "panel": Colour("#f4f6f8", "#151a22"),
}

_MAX_LABEL_LENGTH = 120
_MAX_BARS = 60


def theme() -> Theme:
    """The page's theme, as far as Streamlit knows it."""
    return "dark" if st.context.theme.type == "dark" else "light"


def inert(text: str) -> str:
    """Escapes HTML: Plotly renders some of it in labels, and names come from traces."""
    return html.escape(safe_text(text, _MAX_LABEL_LENGTH), quote=False)


def styled(
    traces: list[dict[str, Any]], theme: Theme, *, height: int, x: dict[str, Any], y: dict[str, Any], **layout: Any
) -> go.Figure:
    """A figure in our style. Built from one dictionary, because calls to Plotly's methods take three times as long and
    panels are redrawn at each step of the player."""
    text = COLOURS["text"].on(theme)
    small = {"size": 12, "color": text}
    axis: dict[str, Any] = {
        "gridcolor": COLOURS["grid"].on(theme),
        "zerolinecolor": COLOURS["axis"].on(theme),
        "fixedrange": True,
        "tickfont": {"color": text},
    }
    base: dict[str, Any] = {
        "height": height,
        "margin": {"l": 4, "r": 12, "t": 30, "b": 4},
        "paper_bgcolor": COLOURS["ground"].on(theme),  # background of a saved picture
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"size": 13, "color": text},
        "hovermode": "closest",
        "dragmode": False,
        "hoverlabel": {
            "align": "left",
            "bgcolor": COLOURS["panel"].on(theme),
            "font": {"color": COLOURS["ink"].on(theme)},
        },
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1.0,
            "yanchor": "bottom",
            "traceorder": "normal",
            "bgcolor": "rgba(0,0,0,0)",
            "font": {"color": text},
        },
        "xaxis": axis | _titled(x, small),
        "yaxis": axis | _titled(y, small),
    }
    more_axes = {
        name: axis | _titled(given, small) for name, given in layout.items() if name.startswith(("xaxis", "yaxis"))
    }
    return go.Figure({"data": traces, "layout": base | layout | more_axes})


def _titled(axis: dict[str, Any], font: dict[str, Any]) -> dict[str, Any]:
    return axis | {"title": axis["title"] | {"font": font}} if "title" in axis else axis


def with_click_targets(figure: go.Figure, decisions: dict[str, Sequence[Sequence[int | None]]]) -> go.Figure:
    """Add to `figure` the decisions that clicks on it lead to, by subplot (`xy`, `xy2`, ...).

    For each subplot: rows from top to bottom, equally high; in each row columns, equally wide. None: use the axis.
    `pages.components.player` reads it.
    """
    return figure.update_layout(meta={"decisions": decisions})


def columns(
    xs: Sequence[float], ys: Sequence[float], width: float, colour: str, *, stacked: bool = False
) -> dict[str, Any]:
    """Columns from zero, or on those drawn before; if there are many, one filled line, which a browser draws ten times
    as fast. They have no hover text: see `hover_line`."""
    common: dict[str, Any] = {"x": xs, "y": ys, "hoverinfo": "skip"}
    if len(xs) <= _MAX_BARS:
        return common | {"type": "bar", "width": width * 0.82, "marker": {"color": colour, "line": {"width": 0}}}
    fill = {"stackgroup": "columns"} if stacked else {"fill": "tozeroy"}
    edge = {"width": 0, "shape": "hvh", "color": colour}
    return common | fill | {"type": "scatter", "mode": "lines", "fillcolor": colour, "line": edge}


def hover_line(xs: Sequence[float], ys: Sequence[float], hovers: Sequence[str]) -> dict[str, Any]:
    """An invisible line with the hover text of each x, at any height of the mouse; for figures with hover mode `x`."""
    return {
        "type": "scatter",
        "x": xs,
        "y": ys,
        "mode": "lines",
        "line": {"width": 0},
        "showlegend": False,
        "hovertext": hovers,
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def vertical_line(x: float, colour: str) -> dict[str, Any]:
    """A vertical line over the full height."""
    return _full_height(x, x) | {"type": "line", "line": {"color": colour, "width": 1.5}}


def band(x0: float, x1: float, colour: str) -> dict[str, Any]:
    """A pale vertical band behind the data."""
    pale = {"fillcolor": colour, "opacity": 0.16, "line": {"width": 0}, "layer": "below"}
    return _full_height(x0, x1) | {"type": "rect", **pale}


def _full_height(x0: float, x1: float) -> dict[str, Any]:
    return {"x0": x0, "x1": x1, "y0": 0, "y1": 1, "yref": "y domain"}


def pointer(x: float, colour: str) -> dict[str, Any]:
    """A small arrow above the data, pointing down."""
    return {
        "x": x,
        "y": 1,
        "yref": "y domain",
        "yanchor": "bottom",
        "text": "▼",
        "showarrow": False,
        "font": {"size": 11, "color": colour},
    }
