"""Figures of the "Ledger" tab. The environment's reward has its own panel and colour: it is not a component."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from core.analysis.ledger import Ledger, LedgerColumn
from core.types import Floats, RewardBreakdown
from pages.components.charts.binned import Binned
from pages.components.charts.component_colours import component_colour
from pages.components.charts.figure import COLOURS, Theme, inert, pointer, styled, vertical_line, with_click_targets
from pages.components.text.escape import one_line
from pages.components.text.format import signed
from pages.components.text.sentences import component_label, paid_sentence

MAX_COLUMNS = 120
MAX_ROWS = 22
MAX_CURVES = 6

_ROW_PX = 19
_ENV_PX = 64
_GAP_PX = 14
_ABOVE_PX = 30  # room for the figure's buttons
_CURVES_PX = 540
_FAINTEST = 0.42  # colour strength of the smallest reward, so that it can be seen
_DASHES = ("solid", "dash", "dot", "dashdot")
_KINDS = {"indicator": "unlocks", "achievement": "unlocks", "inventory": "in inventory", "achievement_count": "counts"}
_MAX_KIND_LENGTH = 30
_MAX_LABEL_LENGTH = 34
_CLICK = "decision (click to go there)"


class ReturnToGo(NamedTuple):
    """Return-to-go of each decision, of both rewards: float64 (n,) each."""

    shaped: Floats
    env: Floats


def label_of(column: LedgerColumn) -> str:
    return one_line(component_label(*column), _MAX_LABEL_LENGTH)


def largest_columns(ledger: Ledger, max_columns: int) -> list[int]:
    """Indexes of the `max_columns` components with the largest sum of absolute rewards, in the ledger's order."""
    moved = np.abs(ledger.paid).sum(axis=0)
    return sorted(np.argsort(-moved, kind="stable")[:max_columns].tolist())


def heat_map(
    ledger: Ledger, breakdowns: Sequence[RewardBreakdown], env_rewards: Floats, current: int, theme: Theme
) -> tuple[go.Figure, Binned]:
    """Components as rows, decisions (or groups of them) as columns; below, bars of the environment's reward.

    A click on a cell goes to the decision of its group with the largest reward in that row; on an empty cell, to the
    one with the largest in any row.
    """
    bins = Binned.of(len(ledger), MAX_COLUMNS)
    kept = largest_columns(ledger, MAX_ROWS)
    rest = [at for at in range(len(ledger.columns)) if at not in kept]
    rows = [_HeatRow([at], label_of(ledger.columns[at])) for at in kept]
    rows += [_HeatRow(rest, f"{len(rest)} others")] if rest else []
    sums = np.stack([bins.sums(ledger.paid[:, row.places].sum(axis=1)) for row in rows])
    targets = [_busiest(np.abs(ledger.paid[:, row.places]).sum(axis=1), bins) for row in rows]
    hover = [_heat_hovers(row, sums[at], targets[at], ledger, breakdowns, bins) for at, row in enumerate(rows)]
    colours = [
        component_colour(*ledger.columns[row.places[0]], theme) if len(row.places) == 1 else COLOURS["total"].on(theme)
        for row in rows
    ]
    cells: dict[str, Any] = {
        "type": "heatmap",
        "x": bins.middles,
        "y": list(range(len(rows))),
        "z": _strengths(sums),
        "zmin": 0,
        "zmax": len(rows),
        "colorscale": _scale(colours, theme),
        "showscale": False,
        "hoverongaps": False,
        "hovertext": hover,
        "hovertemplate": "%{hovertext}<extra></extra>",
        "ygap": 1,
    }
    inner = _ROW_PX * len(rows) + _GAP_PX + _ENV_PX
    figure = styled(
        [cells, env_bars(env_rewards, bins, theme)],
        theme,
        height=inner + 44 + _ABOVE_PX,
        x={"title": {"text": _CLICK}, "range": bins.axis, "showgrid": False, "zeroline": False, "anchor": "y2"},
        y={
            "domain": [(_ENV_PX + _GAP_PX) / inner, 1],
            "tickvals": list(range(len(rows))),
            "ticktext": [inert(row.label) for row in rows],
            "range": [len(rows) - 0.5, -0.5],
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
            "ticks": "",
            "tickfont": {"size": 11, "color": COLOURS["text"].on(theme)},
        },
        yaxis2=_env_axis([0, _ENV_PX / inner], env_rewards, bins),
        shapes=[_current_outline(bins, current, theme)],
        annotations=[pointer(bins.middles[current // bins.size], COLOURS["ink"].on(theme)) | {"yref": "paper"}],
        margin={"l": 4, "r": 12, "t": _ABOVE_PX, "b": 4},
        showlegend=False,
        bargap=0,
    )
    env_target = [_busiest(np.abs(env_rewards), bins)]
    anywhere = _busiest(np.abs(ledger.paid).sum(axis=1), bins)
    reached = [[one if own is None else own for own, one in zip(row, anywhere, strict=True)] for row in targets]
    return with_click_targets(figure, {"xy": reached, "xy2": env_target}), bins


def curves(ledger: Ledger, env_rewards: Floats, to_go: ReturnToGo, current: int, theme: Theme) -> go.Figure:
    """Cumulative reward of the largest components and of the rest of each kind; below, the shaped return-to-go; at the
    bottom, the environment's return and return-to-go."""
    kept = largest_columns(ledger, MAX_CURVES)
    seen: dict[str, int] = {}
    lines: list[dict[str, Any]] = []
    for at in kept:
        column = ledger.columns[at]
        dash = _DASHES[seen.setdefault(column.kind, 0) % len(_DASHES)]
        seen[column.kind] += 1
        lines.append(_curve(ledger.paid[:, at], label_of(column), component_colour(*column, theme), dash))
    for kind, places in rest_by_kind(ledger, kept).items():
        several = f"{'other ' if kind in seen else ''}{kind_label(kind, len(places))}"
        label = label_of(ledger.columns[places[0]]) if len(places) == 1 else several
        lines.append(_curve(ledger.paid[:, places].sum(axis=1), label, component_colour(kind, "", theme)))
    shaped, env = COLOURS["shaped"].on(theme), COLOURS["env"].on(theme)
    from_here = "return-to-go %{customdata} from decision %{x}"
    lines += [
        _line(to_go.shaped, "shaped return-to-go", shaped, f"shaped {from_here}") | {"yaxis": "y2"},
        _curve(env_rewards, "environment", env) | {"yaxis": "y3"},
        _line(to_go.env, "environment return-to-go", env, f"environment {from_here}", "dot") | {"yaxis": "y3"},
    ]
    return styled(
        lines,
        theme,
        height=_CURVES_PX,
        x={"title": {"text": _CLICK}, "range": [-0.5, max(len(ledger), 1) - 0.5], "showgrid": False, "anchor": "y3"},
        y={"title": {"text": "cumulative"}, "domain": [0.5, 1]},
        yaxis2={"title": {"text": "return-to-go"}, "domain": [0.25, 0.45], "nticks": 4},
        yaxis3={"title": {"text": "env"}, "domain": [0, 0.2], "nticks": 4},
        shapes=[vertical_line(current, COLOURS["ink"].on(theme)) | {"yref": "paper"}],
    )


def rest_by_kind(ledger: Ledger, kept: Sequence[int]) -> dict[str, list[int]]:
    """Indexes of the components that are not in `kept`, by kind."""
    rest: dict[str, list[int]] = {}
    for at, column in enumerate(ledger.columns):
        if at not in kept:
            rest.setdefault(column.kind, []).append(at)
    return rest


def kind_label(kind: str, count: int) -> str:
    """`21 unlocks`."""
    return f"{count} {_KINDS.get(kind, one_line(kind, _MAX_KIND_LENGTH))}"


def env_bars(env_rewards: Floats, bins: Binned, theme: Theme) -> dict[str, Any]:
    """The environment's reward in each group, on the second vertical axis."""
    sums = bins.sums(env_rewards)
    return {
        "type": "bar",
        "x": bins.middles,
        "y": _rounded(sums),
        "yaxis": "y2",
        "width": bins.size,
        "marker": {"color": COLOURS["env"].on(theme), "line": {"width": 0}},
        "hovertext": [
            f"{bins.hover_text(at)}: environment reward {signed(paid)}" for at, paid in enumerate(sums.tolist())
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


# ------------------------------------------------------------------------------------------------------- parts


@dataclass(frozen=True, slots=True)
class _HeatRow:
    """places: indexes of the row's components; several in the row of the others."""

    places: list[int]
    label: str


def _busiest(moved: Floats, bins: Binned) -> list[int | None]:
    """For each group, the decision with the largest value; None where all are 0."""
    found: list[int | None] = []
    for start in bins.starts.tolist():
        its = moved[start : start + bins.size]
        at = int(np.argmax(its))
        found.append(start + at if its[at] > 0 else None)
    return found


def _strengths(sums: Floats) -> list[list[float | None]]:
    """Each cell's place on the colour scale of `_scale`: row r uses r to r + 1, with 0 at the centre. None: empty.

    By the square root, or one large reward would make the small ones invisible.
    """
    largest = float(np.max(np.abs(sums), initial=0.0)) or 1.0
    strength = _FAINTEST + (1 - _FAINTEST) * np.sqrt(np.abs(sums) / largest)
    places = np.arange(len(sums))[:, np.newaxis] + 0.5 + 0.499 * np.sign(sums) * strength
    return [
        [round(place, 3) if paid else None for place, paid in zip(line, row, strict=True)]
        for line, row in zip(places.tolist(), sums.tolist(), strict=True)
    ]


def _scale(colours: Sequence[str], theme: Theme) -> list[tuple[float, str]]:
    """One ramp for each row: red (negative), background (0), the component's colour (positive)."""
    ground, negative = COLOURS["ground"].on(theme), COLOURS["against"].on(theme)
    count = len(colours)
    stops: list[tuple[float, str]] = []
    for at, colour in enumerate(colours):
        stops += [(at / count, negative), ((at + 0.5) / count, ground), ((at + 0.9999) / count, colour)]
    return [*stops, (1.0, colours[-1])]


def _heat_hovers(
    row: _HeatRow,
    sums: Floats,
    targets: Sequence[int | None],
    ledger: Ledger,
    breakdowns: Sequence[RewardBreakdown],
    bins: Binned,
) -> list[str]:
    hovers: list[str] = []
    for group, (paid, target) in enumerate(zip(sums.tolist(), targets, strict=True)):
        if target is None:
            hovers.append("")
            continue
        columns = [ledger.columns[at] for at in row.places]
        sentences = [
            paid_sentence(target, part, breakdowns[target].effective_lambda)
            for part in breakdowns[target].components
            if LedgerColumn(part.kind, part.name) in columns
        ]
        lines = [inert(each) for each in sentences[:4]]
        if bins.size > 1:
            lines = [f"<b>{bins.hover_text(group)}</b>: {inert(row.label)} {signed(paid)}, most of it in:", *lines]
        hovers.append("<br>".join(lines))
    return hovers


def _curve(rewards: Floats, label: str, colour: str, dash: str = "solid") -> dict[str, Any]:
    hover = f"{inert(label)} %{{customdata}} up to decision %{{x}}"
    return _line(np.cumsum(rewards), label, colour, hover, dash)


def _line(totals: Floats, label: str, colour: str, hover: str, dash: str = "solid") -> dict[str, Any]:
    """A step line with points only where it changes."""
    moved = np.flatnonzero(np.diff(totals, prepend=0.0))
    kept = np.unique(np.concatenate([[0], moved, [len(totals) - 1]])) if len(totals) else moved
    return {
        "type": "scatter",
        "x": kept.tolist(),
        "y": _rounded(totals[kept]),
        "customdata": [signed(total) for total in totals[kept].tolist()],
        "mode": "lines",
        "name": inert(label),
        "line": {"color": colour, "width": 2, "shape": "hv", "dash": dash},
        "hovertemplate": f"{hover}<extra></extra>",
    }


def _env_axis(domain: list[float], env_rewards: Floats, bins: Binned) -> dict[str, Any]:
    sums = bins.sums(env_rewards)
    low, high = float(np.min(sums, initial=0.0)), float(np.max(sums, initial=0.0))
    room = 0.08 * ((high - low) or 1.0)
    return {
        "title": {"text": "env"},
        "domain": domain,
        "range": [low - room, (high or 1.0) + room],
        "nticks": 3,
        "tickfont": {"size": 11},
    }


def _current_outline(bins: Binned, current: int, theme: Theme) -> dict[str, Any]:
    """Around the group of the current decision, in both panels."""
    start = current // bins.size * bins.size - 0.5
    return {
        "type": "rect",
        "x0": start,
        "x1": start + bins.size,
        "y0": 0,
        "y1": 1,
        "yref": "paper",
        "line": {"width": 1, "color": COLOURS["ink"].on(theme)},
        "layer": "above",
    }


def _rounded(values: Floats) -> list[float]:
    return np.round(values, 4).tolist()
