"""Figures: one colour for each kind of thing wherever it appears, light and dark, units on every axis."""

from __future__ import annotations

import html
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import plotly.graph_objects as go
import streamlit as st

from core.store import DecisionSummary
from core.types import ModelCall, RewardBreakdown
from pages.components.format import ms, signed
from pages.components.plain import MOST_IN_A_LINE, shown
from pages.components.sentences import component_label, component_phrase, timing_parts, total_ms

Theme = Literal["light", "dark"]

CONFIG: dict[str, Any] = {"displayModeBar": False, "displaylogo": False, "doubleClick": "reset"}
"""What every chart is shown with: no tool bar."""


@dataclass(frozen=True, slots=True)
class Colour:
    """One colour on a light and on a dark ground."""

    light: str
    dark: str

    def on(self, theme: Theme) -> str:
        """The colour on that ground."""
        return self.dark if theme == "dark" else self.light


COLOURS: dict[str, Colour] = {
    # kinds of reward components
    "indicator": Colour("#059669", "#34d399"),
    "achievement": Colour("#059669", "#34d399"),
    "inventory": Colour("#2563eb", "#60a5fa"),
    "achievement_count": Colour("#0891b2", "#22d3ee"),
    "other": Colour("#7c3aed", "#a78bfa"),
    "total": Colour("#475569", "#cbd5e1"),
    # the two returns
    "shaped": Colour("#059669", "#34d399"),
    "env": Colour("#2563eb", "#60a5fa"),
    "unlock": Colour("#d97706", "#fbbf24"),
    # parts of a decision's time
    "inference": Colour("#7c3aed", "#a78bfa"),
    "model requests": Colour("#7c3aed", "#a78bfa"),
    "waiting between them": Colour("#db2777", "#f472b6"),
    "rest of inference": Colour("#a78bfa", "#6d5bb5"),
    "environment": Colour("#059669", "#34d399"),
    "overhead": Colour("#d97706", "#fbbf24"),
    "store": Colour("#64748b", "#94a3b8"),
    # what stands around the data
    "grid": Colour("rgba(23,32,43,0.10)", "rgba(230,234,240,0.10)"),
    "axis": Colour("rgba(23,32,43,0.35)", "rgba(230,234,240,0.35)"),
    "text": Colour("#3b4754", "#b6c0cd"),
    "ink": Colour("#17202b", "#e6eaf0"),
    "ground": Colour("#ffffff", "#0b0e13"),
    "panel": Colour("#f4f6f8", "#151a22"),
}

_MOST_IN_A_LABEL = 120
_MOST_COLUMNS = 240
_MOST_BARS = 60
_ROW_PX = 30


def theme() -> Theme:
    """The ground that the page is shown on, as far as Streamlit knows it yet."""
    return "dark" if st.context.theme.type == "dark" else "light"


def show(figure: go.Figure, *, key: str, alt: str, seeks: Literal["steps", "decisions"] | None = None) -> None:
    """Put a figure on the page. alt: what it says, for those who do not see it.

    seeks: what its horizontal axis counts, from the first to the last, where a click moves the player there. The
    player itself listens, in the browser, for clicks on charts within a container of this key: no round trip, and
    nothing stays selected, as would be the case with Streamlit's selections.
    """
    with st.container(key=f"seek-{seeks}") if seeks else nullcontext():
        st.plotly_chart(figure, key=key, config=CONFIG, theme="streamlit", alt=shown(alt, MOST_IN_A_LINE))


def reward_waterfall(reward: RewardBreakdown, theme: Theme) -> go.Figure:
    """The components of one decision's reward, from the first to the total, top to bottom."""
    rows = _waterfall_rows(reward)
    bars: dict[str, Any] = {
        "type": "bar",
        "orientation": "h",
        "y": list(range(len(rows))),
        "x": [row.width for row in rows],
        "base": [row.start for row in rows],
        "width": 0.62,
        "marker": {"color": [COLOURS[row.colour].on(theme) for row in rows], "line": {"width": 0}},
        "text": [row.text for row in rows],
        "textposition": "outside",
        "textfont": {"color": COLOURS["ink"].on(theme)},
        "cliponaxis": False,
        "hovertext": [row.hover for row in rows],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }
    joints = [
        {
            "type": "line",
            "x0": row.end,
            "x1": row.end,
            "y0": index + 0.31,
            "y1": index + 0.69,
            "line": {"color": COLOURS["axis"].on(theme), "width": 1, "dash": "dot"},
        }
        for index, row in enumerate(rows[:-1])
        if row.joins
    ]
    low, high = _range([edge for row in rows for edge in (row.start, row.end)])
    return _figure(
        [bars],
        theme,
        height=_ROW_PX * len(rows) + 48,
        x={"title": {"text": "shaped reward"}, "range": [low, high], "zeroline": True},
        y={
            "tickvals": list(range(len(rows))),
            "ticktext": [row.label for row in rows],
            "range": [len(rows) - 0.5, -0.5],
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
        },
        shapes=joints,
        margin={"l": 4, "r": 12, "t": 6, "b": 4},
    )


def cumulative_rewards(
    decisions: Sequence[DecisionSummary],
    shaped_totals: Sequence[float],
    env_totals: Sequence[float],
    unlocks: dict[str, int],
    frame: int,
    theme: Theme,
) -> go.Figure:
    """Both returns as they grew with the steps, unlocks marked at their steps, with a line at the frame.

    shaped_totals: the sum up to and with each decision. env_totals: the sum at each frame. unlocks: achievement ->
    index of its step.
    """
    last = len(env_totals) - 1
    here = min(frame, last)
    ended = bisect_right(decisions, here, key=lambda decision: decision.step_end)
    marks = _unlock_marks(decisions, env_totals, unlocks)
    unlock_marks: dict[str, Any] = {
        "type": "scatter",
        "x": [mark[0] for mark in marks],
        "y": [mark[1] for mark in marks],
        "customdata": [mark[2] for mark in marks],
        "mode": "markers",
        "name": "unlock",
        "marker": {
            "symbol": "diamond",
            "size": 9,
            "color": COLOURS["unlock"].on(theme),
            "line": {"width": 1, "color": COLOURS["ground"].on(theme)},
        },
        "hovertemplate": "%{customdata}<extra></extra>",
    }
    dots: dict[str, Any] = {
        "type": "scatter",
        "x": [here, here],
        "y": [env_totals[here], shaped_totals[ended - 1] if ended else 0.0],
        "mode": "markers",
        "showlegend": False,
        "marker": {"size": 8, "color": [COLOURS["env"].on(theme), COLOURS["shaped"].on(theme)]},
        "hoverinfo": "skip",
    }
    lines = [
        _env_line(env_totals, COLOURS["env"].on(theme)),
        _shaped_line(decisions, shaped_totals, COLOURS["shaped"].on(theme)),
    ]
    return _figure(
        [*lines, unlock_marks, dots],
        theme,
        height=236,
        x={"title": {"text": "step (click to go there)"}, "range": [0, max(last, 1)], "showgrid": False},
        y={"title": {"text": "return"}},
        shapes=[_upright(here, COLOURS["ink"].on(theme))],
    )


def decision_timing(decision: DecisionSummary, theme: Theme, call: ModelCall | None = None) -> go.Figure:
    """The parts of one decision, side by side on one bar. call: its model call, which has parts of its own."""
    whole = total_ms(decision)
    bars: list[dict[str, Any]] = [
        {
            "type": "bar",
            "orientation": "h",
            "x": [value or 0.0],
            "y": [0],
            "name": name,
            "marker": {"color": COLOURS[name].on(theme), "line": {"width": 0}},
            "hovertemplate": f"{name} {ms(value)}{_share(value, whole)}<extra></extra>",
        }
        for name, value in timing_parts(decision, call)
    ]
    return _figure(
        bars,
        theme,
        height=130,
        x={"title": {"text": "milliseconds"}, "range": [0, max(whole, 1e-6)], "showgrid": False},
        y={"visible": False},
        barmode="stack",
        bargap=0,
    )


def timing_strip(decisions: Sequence[DecisionSummary], current: int, theme: Theme) -> tuple[go.Figure, int]:
    """All decisions as columns of their parts, the current one marked; and how many decisions a column stands for.

    Where there are more decisions than columns, a column shows the slowest of those it stands for.
    """
    size = -(-len(decisions) // _MOST_COLUMNS)
    groups = [decisions[start : start + size] for start in range(0, len(decisions), size)]
    shown = [decisions[current] if current // size == at else max(g, key=total_ms) for at, g in enumerate(groups)]
    middles = [at * size + (size - 1) / 2 for at in range(len(groups))]
    parts = [
        _strip_part(
            middles,
            [round(timing_parts(decision)[part][1] or 0.0, 3) for decision in shown],
            size,
            name,
            COLOURS[name].on(theme),
        )
        for part, (name, _) in enumerate(timing_parts(decisions[0]))
    ]
    # One invisible line along the tops says all parts, wherever on a column the mouse is.
    sayings: dict[str, Any] = {
        "type": "scatter",
        "x": middles,
        "y": [round(total_ms(decision), 3) for decision in shown],
        "mode": "lines",
        "line": {"width": 0},
        "hovertext": [_timing_hover(decision) for decision in shown],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }
    here = middles[current // size]
    figure = _figure(
        [*parts, sayings],
        theme,
        height=220,
        x={"title": {"text": "decision (click to go there)"}, "range": [-0.5, len(decisions) - 0.5], "showgrid": False},
        y={"title": {"text": "milliseconds"}, "rangemode": "tozero"},
        barmode="stack",
        bargap=0,
        showlegend=False,
        hovermode="x",
        margin={"l": 4, "r": 12, "t": 18, "b": 4},
        shapes=[_band(here - size / 2, here + size / 2, COLOURS["ink"].on(theme))],
        annotations=[_pointer(here, COLOURS["ink"].on(theme))],
    )
    return figure, size


def world_map(
    picture_url: str,
    area: tuple[int, int],
    positions: Sequence[tuple[int, int]],
    frame: int,
    theme: Theme,
) -> go.Figure:
    """The world with the path walked up to a frame drawn in yellow, the rest of it in white.

    picture_url: the whole world as a data URL. area: its width and height in cells. positions: (x, y) at each frame.
    """
    width, height = area
    picture = {
        "source": picture_url,
        "xref": "x",
        "yref": "y",
        "x": 0,
        "y": 0,
        "sizex": width,
        "sizey": height,
        "sizing": "stretch",
        "layer": "below",
    }
    walked, ahead = _moves(positions[: frame + 1], 0), _moves(positions[frame:], frame)
    traces = [
        _path(ahead, "rgba(11,14,19,0.6)", 4, is_shadow=True),
        _path(ahead, "#ffffff", 2),
        _path(walked, "rgba(11,14,19,0.75)", 5, is_shadow=True),
        _path(walked, "#fde047", 2.5),
        _place(positions[0], "start", "#ffffff", "circle-open"),
        _place(positions[frame], f"step {frame}", "#f43f5e", "circle"),
    ]
    return _figure(
        traces,
        theme,
        height=600,
        x={"visible": False, "range": [0, width], "constrain": "domain"},
        y={
            "visible": False,
            "range": [height, 0],
            "scaleanchor": "x",
            "constrain": "domain",
            "constraintoward": "top",
        },
        images=[picture],
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        showlegend=False,
    )


# ------------------------------------------------------------------------------------------------------- parts


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    start: float
    width: float
    colour: str
    text: str
    hover: str
    joins: bool = True  # whether the next row goes on where this one ends

    @property
    def end(self) -> float:
        return self.start + self.width


def _waterfall_rows(reward: RewardBreakdown) -> list[_Row]:
    rows: list[_Row] = []
    reached = 0.0
    for part in reward.components:
        colour = part.kind if part.kind in COLOURS else "other"
        hover = _inert(f"{component_phrase(part)} = {signed(part.value)}")
        rows.append(_Row(_inert(component_label(part)), reached, part.value, colour, signed(part.value), hover))
        reached += part.value
    if reward.effective_lambda != 1.0 and rows:
        text = signed(reward.base)
        rows.append(_Row("base", 0.0, reward.base, "axis", text, f"base: the sum of the parts, {text}", joins=False))
    total = signed(reward.total)
    hover = f"total = λ {reward.effective_lambda:g} × {signed(reward.base)} = {total}"
    label = "total" if reward.effective_lambda == 1.0 else f"total (× {reward.effective_lambda:g})"
    return [*rows, _Row(f"<b>{label}</b>", 0.0, reward.total, "total", f"<b>{total}</b>", hover, joins=False)]


def _inert(text: str) -> str:
    """Plotly reads a little HTML in labels; names come from a trace."""
    return html.escape(shown(text, _MOST_IN_A_LABEL), quote=False)


def _range(edges: Sequence[float]) -> tuple[float, float]:
    """Room for the numbers at the bars' ends; zero is always inside."""
    low, high = min(0.0, *edges), max(0.0, *edges)
    span = (high - low) or 1.0
    return low - (0.16 * span if low < 0 else 0.0), high + 0.16 * span


def _where_changed(totals: Sequence[float]) -> list[int]:
    """Indexes at which a sum moved, and the last: all that a line in steps needs."""
    moved = [index for index, total in enumerate(totals) if total != (totals[index - 1] if index else 0.0)]
    return moved if moved and moved[-1] == len(totals) - 1 else [*moved, len(totals) - 1]


def _unlock_marks(
    decisions: Sequence[DecisionSummary], env_totals: Sequence[float], unlocks: dict[str, int]
) -> list[tuple[int, float, str]]:
    """One mark for each step that unlocked something: (its frame, environment return, what it says)."""
    names: dict[int, list[str]] = {}
    for name, step in unlocks.items():
        names.setdefault(step, []).append(_inert(name.replace("_", " ")))
    marks: list[tuple[int, float, str]] = []
    for step, unlocked in names.items():
        at = max(0, bisect_right(decisions, step, key=lambda decision: decision.step_start) - 1)
        says = f"{', '.join(unlocked)}<br>step {step + 1}, decision {decisions[at].index}"
        marks.append((step + 1, env_totals[step + 1], says))
    return marks


def _timing_hover(decision: DecisionSummary) -> str:
    parts = "<br>".join(f"{name} {ms(value)}" for name, value in timing_parts(decision))
    return f"decision {decision.index}: {ms(total_ms(decision))}<br>{parts}"


def _moves(positions: Sequence[tuple[int, int]], first: int) -> list[tuple[int, int, int]]:
    """(x, y, frame) wherever the position changed."""
    return [
        (*position, first + index)
        for index, position in enumerate(positions)
        if index == 0 or position != positions[index - 1]
    ]


def _shaped_line(decisions: Sequence[DecisionSummary], totals: Sequence[float], colour: str) -> dict[str, Any]:
    kept = _where_changed(totals)
    line = _steps_line([(decisions[index].step_end, totals[index]) for index in kept], "shaped", colour)
    says = "shaped return %{y:+.2f}<br>after decision %{customdata}, step %{x}<extra></extra>"
    return line | {"customdata": [-1, *kept], "hovertemplate": says}


def _env_line(totals: Sequence[float], colour: str) -> dict[str, Any]:
    line = _steps_line([(frame, totals[frame]) for frame in _where_changed(totals)], "environment", colour)
    return line | {"hovertemplate": "environment return %{y:+.2f}<br>after step %{x}<extra></extra>"}


def _steps_line(points: list[tuple[int, float]], label: str, colour: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "x": [0, *(x for x, _ in points)],
        "y": [0.0, *(y for _, y in points)],
        "mode": "lines",
        "name": label,
        "line": {"color": colour, "width": 2, "shape": "hv"},
    }


def _share(value: float | None, whole: float) -> str:
    return f" ({(value or 0.0) / whole:.0%})" if whole else ""


def _path(moves: list[tuple[int, int, int]], colour: str, width: float, is_shadow: bool = False) -> dict[str, Any]:
    says: dict[str, Any] = (
        {"hoverinfo": "skip"} if is_shadow else {"hovertemplate": "step %{customdata}<extra></extra>"}
    )
    return {
        "type": "scatter",
        "x": [x + 0.5 for x, _, _ in moves],
        "y": [y + 0.5 for _, y, _ in moves],
        "customdata": [frame for _, _, frame in moves],
        "mode": "lines",
        "line": {"color": colour, "width": width},
        **says,
    }


def _place(cell: tuple[int, int], name: str, colour: str, symbol: str) -> dict[str, Any]:
    x, y = cell
    return {
        "type": "scatter",
        "x": [x + 0.5],
        "y": [y + 0.5],
        "mode": "markers",
        "marker": {"size": 12, "symbol": symbol, "color": colour, "line": {"width": 2.5, "color": "#ffffff"}},
        "hovertemplate": f"{name}, cell ({x}, {y})<extra></extra>",
    }


def _strip_part(xs: list[float], ys: list[float], width: int, name: str, colour: str) -> dict[str, Any]:
    """One part of all decisions: columns where there are few; else an area, which a browser draws in a tenth of the
    time."""
    common: dict[str, Any] = {"x": xs, "y": ys, "name": name, "hoverinfo": "skip"}
    if len(xs) <= _MOST_BARS:
        return common | {"type": "bar", "width": width * 0.82, "marker": {"color": colour, "line": {"width": 0}}}
    edge = {"width": 0, "shape": "hvh", "color": colour}
    return common | {"type": "scatter", "mode": "lines", "stackgroup": "time", "fillcolor": colour, "line": edge}


def _upright(x: float, colour: str) -> dict[str, Any]:
    return {
        "type": "line",
        "x0": x,
        "x1": x,
        "y0": 0,
        "y1": 1,
        "yref": "y domain",
        "line": {"color": colour, "width": 1.5},
    }


def _band(x0: float, x1: float, colour: str) -> dict[str, Any]:
    return {
        "type": "rect",
        "x0": x0,
        "x1": x1,
        "y0": 0,
        "y1": 1,
        "yref": "y domain",
        "fillcolor": colour,
        "opacity": 0.16,
        "line": {"width": 0},
        "layer": "below",
    }


def _pointer(x: float, colour: str) -> dict[str, Any]:
    return {
        "x": x,
        "y": 1,
        "yref": "y domain",
        "yanchor": "bottom",
        "text": "▼",
        "showarrow": False,
        "font": {"size": 11, "color": colour},
    }


def _figure(
    traces: list[dict[str, Any]], theme: Theme, *, height: int, x: dict[str, Any], y: dict[str, Any], **layout: Any
) -> go.Figure:
    """A figure in our style. Made from one dictionary: building it call by call takes three times as long, and the
    panels are drawn anew at each step of the player."""
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
        "paper_bgcolor": "rgba(0,0,0,0)",
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
            "font": {"color": text},
        },
        "xaxis": axis | _titled(x, small),
        "yaxis": axis | _titled(y, small),
    }
    return go.Figure({"data": traces, "layout": base | layout})


def _titled(axis: dict[str, Any], font: dict[str, Any]) -> dict[str, Any]:
    return axis | {"title": axis["title"] | {"font": font}} if "title" in axis else axis
