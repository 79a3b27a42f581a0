"""Figure of the "Potential" tab: the shaping, the potential difference, and the deviation between them."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from core.analysis.potential_check import PotentialCheck
from core.types import Floats
from pages.components.charts.binned import Binned
from pages.components.charts.component_colours import component_colour
from pages.components.charts.figure import (
    COLOURS,
    Theme,
    columns,
    hover_line,
    styled,
    vertical_line,
    with_click_targets,
)
from pages.components.text.format import signed

MAX_COLUMNS = 240

_HEIGHT = 380
_NOTHING = 1e-6  # a smaller range is drawn as a flat line


def potential_chart(found: PotentialCheck, potential: str, current: int, theme: Theme) -> tuple[go.Figure, int]:
    """Shaping and potential difference above, deviation below; and the number of decisions per column.

    With several decisions per column, it shows the one that deviates most, or the current one.
    """
    n = len(found.shaping)
    bins = Binned.of(n, MAX_COLUMNS)
    shown = np.array([_shown(found.deviation, start, bins, current) for start in bins.starts.tolist()])
    xs, hovers = bins.middles, [deviation_sentence(found, at) for at in shown.tolist()]
    paid, given, apart = (_rounded(line[shown]) for line in (found.shaping, found.expected, found.deviation))
    second = {"yaxis": "y2"}
    expected: dict[str, Any] = {
        "type": "scatter",
        "x": xs,
        "y": given,
        "name": "potential difference",
        "mode": "lines",
        "line": {"color": component_colour("potential", potential, theme), "width": 1.5, "shape": "hvh"},
        "hoverinfo": "skip",
    }
    traces = [
        columns(xs, paid, bins.size, COLOURS["shaped"].on(theme)) | {"name": "shaping F"},
        expected,
        hover_line(xs, given, hovers),
        columns(xs, apart, bins.size, COLOURS["against"].on(theme)) | {"name": "deviation"} | second,
        hover_line(xs, apart, hovers) | second,
    ]
    upper, lower = _range(found, found.shaping, found.expected), _range(found, found.deviation)
    here = bins.middles[min(current, n - 1) // bins.size]
    figure = styled(
        traces,
        theme,
        height=_HEIGHT,
        x={"title": {"text": "decision (click to go there)"}, "range": bins.axis, "showgrid": False, "anchor": "y2"},
        y={"title": {"text": "per decision"}, "domain": [0.5, 1], "range": upper},
        yaxis2={"title": {"text": "deviation"}, "domain": [0, 0.42], "range": lower},
        barmode="overlay",
        hovermode="x",
        shapes=[vertical_line(here, COLOURS["ink"].on(theme)) | {"yref": "paper"}],
        annotations=_largest_mark(found, bins, COLOURS["against"].on(theme)),
    )
    targets: list[list[int | None]] = [shown.tolist()]
    return with_click_targets(figure, {"xy": targets, "xy2": targets}), bins.size


def deviation_sentence(found: PotentialCheck, decision: int) -> str:
    before, after = found.before[decision], found.after[decision]
    return (
        f"decision {decision:,}: shaping {_signed(found.shaping[decision])}<br>"
        f"potential {before:.4g} → {after:.4g}, difference {_signed(found.expected[decision])}<br>"
        f"deviation {_signed(found.deviation[decision])}"
    ).replace("-", "−")


def _shown(deviation: Floats, start: int, bins: Binned, current: int) -> int:
    """Index of the decision that a column shows."""
    its = np.abs(deviation[start : start + bins.size])
    return current if start <= current < start + bins.size else start + int(np.argmax(its))


def _range(found: PotentialCheck, *lines: Floats) -> list[float]:
    """Axis range. The last decision may exceed it: it pays back the whole potential, which would flatten the rest."""
    values = np.concatenate([line[:-1] if found.ended and len(line) > 1 else line for line in lines])
    low, high = float(np.min(values, initial=0.0)), float(np.max(values, initial=0.0))
    if high - low < _NOTHING:
        return [-1.0, 1.0]
    room = 0.14 * (high - low)
    return [low - room, high + room]


def is_cut(found: PotentialCheck) -> bool:
    """Whether the last decision exceeds the axis."""
    low, high = _range(found, found.deviation)
    return bool(len(found.deviation)) and not low <= float(found.deviation[-1]) <= high


def _largest_mark(found: PotentialCheck, bins: Binned, colour: str) -> list[dict[str, Any]]:
    if found.largest is None:
        return []
    value = float(found.deviation[found.largest])
    low, high = _range(found, found.deviation)
    mark: dict[str, Any] = {
        "x": bins.middles[found.largest // bins.size],
        "y": min(max(value, low), high),
        "yref": "y2",
        "yanchor": "bottom" if value > 0 else "top",
        "text": "▼" if value > 0 else "▲",
        "showarrow": False,
        "font": {"size": 12, "color": colour},
    }
    return [mark]


def _signed(value: float) -> str:
    return signed(float(value), 3)


def _rounded(values: Floats) -> list[float]:
    return np.round(values, 6).tolist()
