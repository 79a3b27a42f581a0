"""Figures of the "Reward" tab."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from core.store import DecisionSummary
from core.types import RewardBreakdown
from pages.components.charts.component_colours import component_colour
from pages.components.charts.figure import COLOURS, Theme, inert, styled, vertical_line
from pages.components.text.escape import one_line
from pages.components.text.format import exact, signed
from pages.components.text.sentences import component_label, component_phrase

_ROW_PX = 30
_MAX_NUMBER_NAME = 24
_NUMBER_COLOURS = ("inference", "waiting", "overhead", "parsing", "storing", "against")


def reward_waterfall(reward: RewardBreakdown, theme: Theme) -> go.Figure:
    """The components of one decision's reward, top to bottom, then the total."""
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
    """Both returns by step, with unlocks and the current frame marked.

    shaped_totals: cumulative, after each decision. env_totals: cumulative, at each frame. unlocks: achievement -> index
    of its step.
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
        shapes=[vertical_line(here, COLOURS["ink"].on(theme))],
    )


def agent_numbers(decisions: Sequence[DecisionSummary], frame: int, theme: Theme) -> go.Figure | None:
    """The agent's own numbers by step: value, log-probability, and the first few others. None without any."""
    series = {"value": [each.value for each in decisions], "log-probability": [each.logprob for each in decisions]}
    names = dict.fromkeys(name for each in decisions for name in each.numbers)
    series |= {name: [each.numbers.get(name) for each in decisions] for name in names}
    known = {name: values for name, values in series.items() if any(value is not None for value in values)}
    if not known:
        return None
    steps = [each.step_end for each in decisions]
    lines = [
        {
            "type": "scatter",
            "x": steps,
            "y": values,
            "mode": "lines",
            "name": one_line(name, _MAX_NUMBER_NAME),
            "line": {"color": COLOURS[colour].on(theme), "width": 2},
            "hovertemplate": "%{fullData.name} %{y:.4g}<br>after step %{x}<extra></extra>",
        }
        for (name, values), colour in zip(known.items(), _NUMBER_COLOURS, strict=False)
    ]
    last = steps[-1]
    return styled(
        lines,
        theme,
        height=180,
        x={"title": {"text": "step (click to go there)"}, "range": [0, max(last, 1)], "showgrid": False},
        y={"title": {"text": "agent's numbers"}},
        shapes=[vertical_line(min(frame, last), COLOURS["ink"].on(theme))],
    )


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    start: float
    width: float
    colour: str
    text: str
    hover: str
    joins: bool = True  # whether a dotted line joins it to the next row

    @property
    def end(self) -> float:
        return self.start + self.width


def _waterfall_rows(reward: RewardBreakdown, theme: Theme) -> list[_Row]:
    rows: list[_Row] = []
    reached = 0.0
    for part in reward.components:
        colour = component_colour(part.kind, part.name, theme)
        hover = inert(f"{component_phrase(part)} = {signed(part.value)}")
        rows.append(
            _Row(inert(component_label(part.kind, part.name)), reached, part.value, colour, signed(part.value), hover)
        )
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
    """Axis range with 0 and with room for the numbers at the ends of the bars."""
    low, high = min(0.0, *edges), max(0.0, *edges)
    span = (high - low) or 1.0
    return low - (0.16 * span if low < 0 else 0.0), high + 0.16 * span


def _where_changed(totals: Sequence[float]) -> list[int]:
    """Indexes at which a sum changed, and the last: all that a step line needs."""
    moved = [index for index, total in enumerate(totals) if total != (totals[index - 1] if index else 0.0)]
    return moved if moved and moved[-1] == len(totals) - 1 else [*moved, len(totals) - 1]


def _unlock_marks(
    decisions: Sequence[DecisionSummary], env_totals: Sequence[float], unlocks: dict[str, int]
) -> list[tuple[int, float, str]]:
    """(frame, environment return, tooltip) of each step with an unlock."""
    names: dict[int, list[str]] = {}
    for name, step in unlocks.items():
        names.setdefault(step, []).append(inert(name.replace("_", " ")))
    marks: list[tuple[int, float, str]] = []
    for step, unlocked in names.items():
        at = max(0, bisect_right(decisions, step, key=lambda decision: decision.step_start) - 1)
        hover = f"{', '.join(unlocked)}<br>step {step + 1}, decision {decisions[at].index}"
        marks.append((step + 1, env_totals[step + 1], hover))
    return marks


def _shaped_line(decisions: Sequence[DecisionSummary], totals: Sequence[float], colour: str) -> dict[str, Any]:
    kept = _where_changed(totals)
    line = _steps_line([(decisions[index].step_end, totals[index]) for index in kept], "shaped", colour)
    hover = "shaped return %{y:+.2f}<br>after decision %{customdata}, step %{x}<extra></extra>"
    return line | {"customdata": [-1, *kept], "hovertemplate": hover}


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
