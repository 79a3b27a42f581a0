"""Figures: one colour for each kind of thing wherever it appears, light and dark, units on every axis."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal

import plotly.graph_objects as go
import streamlit as st

from core.store import DecisionSummary
from core.types import RewardBreakdown
from pages.components.chart_download import Download, chart_with_downloads
from pages.components.component_colours import component_colour
from pages.components.figure import COLOURS, Theme, band, going_to, inert, pointer, styled, theme, upright
from pages.components.format import exact, ms, signed
from pages.components.plain import MOST_IN_A_LINE, shown
from pages.components.sentences import component_label, component_phrase, timing_parts, total_ms

__all__ = [
    "COLOURS",
    "CONFIG",
    "Download",
    "Theme",
    "cumulative_rewards",
    "decision_timing",
    "reward_waterfall",
    "show",
    "theme",
    "timing_strip",
    "world_map",
]

CONFIG: dict[str, Any] = {"displayModeBar": False, "displaylogo": False, "doubleClick": "reset"}
"""What every chart is shown with: no tool bar."""

_MOST_COLUMNS = 240
_MOST_BARS = 60
_ROW_PX = 30


_held_back: ContextVar[bool] = ContextVar("held_back", default=False)


@contextmanager
def held_back() -> Iterator[None]:
    """Charts that are shown within are empty places of their size, for a run of the page that another one follows."""
    token = _held_back.set(True)
    try:
        yield
    finally:
        _held_back.reset(token)


def show(
    figure: go.Figure,
    *,
    key: str,
    alt: str,
    seeks: Literal["steps", "decisions"] | None = None,
    download: Download | None = None,
) -> None:
    """Put a figure on the page. alt: what it says, for those who do not see it.

    seeks: what its horizontal axis counts, from the first to the last, where a click moves the player there. The
    player itself listens, in the browser, for clicks on charts within a container of such a key: no round trip, and
    nothing stays selected, as would be the case with Streamlit's selections. Where a place on the chart stands for
    several decisions, `figure.going_to` says which one a click means.
    download: offers the picture and the data behind it, where the pointer is on the chart.
    """
    config = CONFIG if download is None else CONFIG | download.config
    with chart_with_downloads(key, download) if download else nullcontext():
        with st.container(key=f"seek-{seeks}-{key}") if seeks else nullcontext():
            if _held_back.get():
                layout: Any = figure.layout
                st.container(height=int(layout.height), border=False)
            else:
                st.plotly_chart(figure, key=key, config=config, theme="streamlit", alt=shown(alt, MOST_IN_A_LINE))


def reward_waterfall(reward: RewardBreakdown, theme: Theme) -> go.Figure:
    """The components of one decision's reward, from the first to the total, top to bottom."""
    rows = _waterfall_rows(reward, theme)
    bars: dict[str, Any] = {
        "type": "bar",
        "orientation": "h",
        "y": list(range(len(rows))),
        "x": [row.width for row in rows],
        "base": [row.start for row in rows],
        "width": 0.62,
        "marker": {"color": [row.colour for row in rows], "line": {"width": 0}},
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
    return styled(
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
    return styled(
        [*lines, unlock_marks, dots],
        theme,
        height=236,
        x={"title": {"text": "step (click to go there)"}, "range": [0, max(last, 1)], "showgrid": False},
        y={"title": {"text": "return"}},
        shapes=[upright(here, COLOURS["ink"].on(theme))],
    )


def decision_timing(decision: DecisionSummary, theme: Theme, of_model: bool | None = None) -> go.Figure:
    """The parts of one decision, side by side on one bar. of_model: see `timing_parts`."""
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
        for name, value in timing_parts(decision, of_model)
    ]
    return styled(
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
    of_model = any(decision.model_calls for decision in decisions)
    size = -(-len(decisions) // _MOST_COLUMNS)
    groups = [decisions[start : start + size] for start in range(0, len(decisions), size)]
    shown = [decisions[current] if current // size == at else max(g, key=total_ms) for at, g in enumerate(groups)]
    middles = [at * size + (size - 1) / 2 for at in range(len(groups))]
    split = [timing_parts(decision, of_model) for decision in shown]
    parts = [
        _strip_part(
            middles,
            [round(of_one[part][1] or 0.0, 3) for of_one in split],
            size,
            name,
            COLOURS[name].on(theme),
        )
        for part, (name, _) in enumerate(split[0])
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
    figure = styled(
        [*parts, sayings],
        theme,
        height=220,
        x={
            "title": {"text": "decision (click to go there)"},
            "range": [-0.5, len(groups) * size - 0.5],
            "showgrid": False,
        },
        y={"title": {"text": "milliseconds"}, "rangemode": "tozero"},
        barmode="stack",
        bargap=0,
        showlegend=False,
        hovermode="x",
        margin={"l": 4, "r": 12, "t": 18, "b": 4},
        shapes=[band(here - size / 2, here + size / 2, COLOURS["ink"].on(theme))],
        annotations=[pointer(here, COLOURS["ink"].on(theme))],
    )
    return going_to(figure, {"xy": [[decision.index for decision in shown]]}), size


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
    return styled(
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


def _waterfall_rows(reward: RewardBreakdown, theme: Theme) -> list[_Row]:
    rows: list[_Row] = []
    reached = 0.0
    for part in reward.components:
        colour = component_colour(part.kind, part.name, theme)
        hover = inert(f"{component_phrase(part)} = {signed(part.value)}")
        rows.append(_Row(inert(component_label(part)), reached, part.value, colour, signed(part.value), hover))
        reached += part.value
    if reward.effective_lambda != 1.0 and rows:
        text, colour = signed(reward.base), COLOURS["axis"].on(theme)
        rows.append(_Row("base", 0.0, reward.base, colour, text, f"base: the sum of the parts, {text}", joins=False))
    total = signed(reward.total)
    hover = f"total = λ {exact(reward.effective_lambda)} × {signed(reward.base)} = {total}"
    label = "total" if reward.effective_lambda == 1.0 else f"total (× {exact(reward.effective_lambda)})"
    colour = COLOURS["total"].on(theme)
    return [*rows, _Row(f"<b>{label}</b>", 0.0, reward.total, colour, f"<b>{total}</b>", hover, joins=False)]


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
        names.setdefault(step, []).append(inert(name.replace("_", " ")))
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
