"""Figures of the "Timing" tab."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from core.store import DecisionSummary
from pages.components.charts.figure import COLOURS, Theme, band, going_to, pointer, styled
from pages.components.text.format import ms
from pages.components.text.sentences import timing_parts, total_ms

_MAX_COLUMNS = 240
_MAX_BARS = 60


def decision_timing(decision: DecisionSummary, theme: Theme, of_model: bool | None = None) -> go.Figure:
    """The parts of one decision as one stacked bar. of_model: see `timing_parts`."""
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
    """All decisions as stacked columns, and the number of decisions per column.

    With several decisions per column, it shows the slowest of them, or the current one.
    """
    of_model = any(decision.model_calls for decision in decisions)
    size = -(-len(decisions) // _MAX_COLUMNS)
    groups = [decisions[start : start + size] for start in range(0, len(decisions), size)]
    shown = [decisions[current] if current // size == at else max(g, key=total_ms) for at, g in enumerate(groups)]
    middles = [at * size + (size - 1) / 2 for at in range(len(groups))]
    split = [timing_parts(decision, of_model) for decision in shown]
    parts = [
        _strip_part(
            middles, [round(of_one[part][1] or 0.0, 3) for of_one in split], size, name, COLOURS[name].on(theme)
        )
        for part, (name, _) in enumerate(split[0])
    ]
    # An invisible line along the tops shows one tooltip with all parts, wherever the mouse is on a column.
    hover_line: dict[str, Any] = {
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
        [*parts, hover_line],
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


def _timing_hover(decision: DecisionSummary) -> str:
    parts = "<br>".join(f"{name} {ms(value)}" for name, value in timing_parts(decision))
    return f"decision {decision.index}: {ms(total_ms(decision))}<br>{parts}"


def _share(value: float | None, whole: float) -> str:
    return f" ({(value or 0.0) / whole:.0%})" if whole else ""


def _strip_part(xs: list[float], ys: list[float], width: int, name: str, colour: str) -> dict[str, Any]:
    """One part of all decisions: bars if there are few; else an area, which a browser draws ten times as fast."""
    common: dict[str, Any] = {"x": xs, "y": ys, "name": name, "hoverinfo": "skip"}
    if len(xs) <= _MAX_BARS:
        return common | {"type": "bar", "width": width * 0.82, "marker": {"color": colour, "line": {"width": 0}}}
    edge = {"width": 0, "shape": "hvh", "color": colour}
    return common | {"type": "scatter", "mode": "lines", "stackgroup": "time", "fillcolor": colour, "line": edge}
