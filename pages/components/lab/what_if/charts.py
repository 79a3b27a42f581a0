"""Charts of the What if view: returns before and after, and what each component pays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import plotly.graph_objects as go

from core.text import plural
from core.types import RewardBreakdown, RewardComponent
from pages.components.charts.component_colours import component_colour
from pages.components.charts.figure import COLOURS, Theme, inert, styled
from pages.components.text.format import signed
from pages.components.text.sentences import component_label

MAX_PARTS = 8

_ROW_PX = 34
_ABOVE_PX = 90  # for the titles, and the download buttons above them
_FAINT = 0.32
_OTHERS = ("", "all others")
_UNLOCKS = ("achievement", "")


@dataclass(frozen=True, slots=True)
class ReturnPoint:
    """An episode in the scatter chart. hover: its hover text, in lines."""

    id: str
    policy: str
    before: float
    after: float
    hover: str


def returns_scatter(
    points: Sequence[ReturnPoint],
    colours: Mapping[str, str],
    chosen: str | None,
    before: str,
    after: str,
    theme: Theme,
) -> go.Figure:
    """x: return before, y: return now, one point an episode; on the dotted line nothing changes.

    colours: by policy. chosen: the id of the episode that gets a ring. before, after: labels of the two scorings.
    """
    values = [value for point in points for value in (point.before, point.after)]
    low, high = min(0.0, *values), max(0.0, *values)
    room = 0.05 * ((high - low) or 1.0)
    span = [low - room, high + room]
    line: dict[str, Any] = {
        "type": "scatter",
        "x": span,
        "y": span,
        "mode": "lines",
        "name": "unchanged",
        "line": {"color": COLOURS["axis"].on(theme), "width": 1, "dash": "dot"},
        "hoverinfo": "skip",
    }
    marks = [
        _marks([point for point in points if point.policy == policy], policy, colours[policy], theme)
        for policy in sorted({point.policy for point in points})
    ]
    ring = [_ring(point, theme) for point in points if point.id == chosen]
    return styled(
        [line, *marks, *ring],
        theme,
        height=360,
        x={"title": {"text": f"return {inert(before)}"}, "range": span, "zeroline": True},
        y={"title": {"text": f"return {inert(after)}"}, "range": span, "zeroline": True},
    )


def _marks(points: Sequence[ReturnPoint], policy: str, colour: str, theme: Theme) -> dict[str, Any]:
    return {
        "type": "scatter",
        "x": [point.before for point in points],
        "y": [point.after for point in points],
        "customdata": [point.id for point in points],
        "hovertext": ["<br>".join(map(inert, point.hover.split("\n"))) for point in points],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "mode": "markers",
        "name": inert(policy),
        "marker": {"size": 9, "color": colour, "line": {"width": 1, "color": COLOURS["ground"].on(theme)}},
        "unselected": {"marker": {"opacity": 1}},
    }


def _ring(point: ReturnPoint, theme: Theme) -> dict[str, Any]:
    return {
        "type": "scatter",
        "x": [point.before],
        "y": [point.after],
        "mode": "markers",
        "showlegend": False,
        "hoverinfo": "skip",
        "marker": {
            "size": 17,
            "symbol": "circle-open",
            "color": COLOURS["ink"].on(theme),
            "line": {"width": 2, "color": COLOURS["ink"].on(theme)},
        },
    }


@dataclass(frozen=True, slots=True)
class PartTotal:
    """What one component paid in an episode, lambda included, and in how many decisions."""

    value: float = 0.0
    decisions: int = 0


Parts = dict[tuple[str, str], PartTotal]


def part_totals(parts: Iterable[RewardBreakdown]) -> Parts:
    """(kind, name) -> total."""
    found: dict[tuple[str, str], tuple[float, int]] = {}
    for breakdown in parts:
        for part in breakdown.components:
            value, count = found.get((part.kind, part.name), (0.0, 0))
            found[part.kind, part.name] = value + part.value * breakdown.effective_lambda, count + 1
    return {key: PartTotal(*total) for key, total in found.items()}


@dataclass(frozen=True, slots=True)
class PaidEpisode:
    """One panel of the chart of components. title: in lines."""

    title: str
    before: Parts
    after: Parts


def largest_parts(episodes: Sequence[PaidEpisode], most: int = MAX_PARTS) -> list[tuple[str, str]]:
    """The components that pay most, before or after, in any of the episodes."""
    sizes: dict[tuple[str, str], float] = {}
    for episode in episodes:
        for parts in (episode.before, episode.after):
            for key, total in parts.items():
                sizes[key] = max(sizes.get(key, 0.0), abs(total.value))
    return sorted(sizes, key=lambda key: -sizes[key])[:most]


def part_label(key: tuple[str, str]) -> str:
    if key == _OTHERS:
        return key[1]
    return "all unlocks" if key == _UNLOCKS else component_label(RewardComponent(*key, 0.0, 0.0, 0.0))


def paid_parts(episodes: Sequence[PaidEpisode], theme: Theme) -> go.Figure:
    """For one or two episodes side by side: what each component paid before (faint) and pays now (full)."""
    episodes = [
        replace(each, before=_unlocks_as_one(each.before), after=_unlocks_as_one(each.after)) for each in episodes
    ]
    keys = largest_parts(episodes)
    rows = [*keys, _OTHERS]
    split = [_with_others(episode, keys) for episode in episodes]
    if not any(parts[_OTHERS].value for episode in split for parts in (episode.before, episode.after)):
        rows.remove(_OTHERS)
    values = [total.value for episode in split for parts in (episode.before, episode.after) for total in parts.values()]
    low, high = min(0.0, *values), max(0.0, *values)
    room = 0.22 * ((high - low) or 1.0)
    span = [low - room if low < 0 else 0.0, high + room]
    changes = any(episode.before != episode.after for episode in split)
    traces: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    gap = 0.04
    for at, episode in enumerate(split):
        axis = "x" if at == 0 else f"x{at + 1}"
        width = (1 - gap * (len(split) - 1)) / len(split)
        start = at * (width + gap)
        axes["xaxis" if at == 0 else f"xaxis{at + 1}"] = {
            "domain": [start, start + width],
            "range": span,
            "zeroline": True,
            "title": {"text": "total paid: pale before, full now" if changes else "total paid"},
            "nticks": 5,
        }
        paid = {at: key for at, key in enumerate(rows) if episode.before[key].value or episode.after[key].value}
        if changes:
            traces.append(_bars(episode.before, paid, axis, theme, place=-0.19, faint=True))
        traces.append(_bars(episode.after, paid, axis, theme, place=0.19 if changes else 0.0))
        annotations.append(_title(episode.title, start, theme))
    return styled(
        traces,
        theme,
        height=_ROW_PX * len(rows) + 54 + _ABOVE_PX,
        x=axes.pop("xaxis"),
        y={
            "tickvals": list(range(len(rows))),
            "ticktext": [inert(part_label(key)) for key in rows],
            "range": [len(rows) - 0.5, -0.5],
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
        },
        barmode="overlay",
        showlegend=False,
        annotations=annotations,
        margin={"l": 4, "r": 12, "t": _ABOVE_PX, "b": 4},
        **axes,
    )


def _with_others(episode: PaidEpisode, keys: Sequence[tuple[str, str]]) -> PaidEpisode:
    return PaidEpisode(episode.title, _rest_as_one(episode.before, keys), _rest_as_one(episode.after, keys))


def _rest_as_one(parts: Parts, keys: Sequence[tuple[str, str]]) -> Parts:
    rest = [total for key, total in parts.items() if key not in keys]
    shown = {key: parts.get(key, PartTotal()) for key in keys}
    return shown | {_OTHERS: _sum(rest)}


def _bars(
    parts: Parts, rows: Mapping[int, tuple[str, str]], axis: str, theme: Theme, *, place: float, faint: bool = False
) -> dict[str, Any]:
    what = "paid before" if faint else "pays now"
    return {
        "type": "bar",
        "orientation": "h",
        "y": [at + place for at in rows],
        "x": [round(parts[key].value, 6) for key in rows.values()],
        "xaxis": axis,
        "width": 0.36 if place else 0.56,
        "marker": {
            "color": [_colour(key, theme) for key in rows.values()],
            "opacity": _FAINT if faint else 1.0,
            "line": {"width": 0},
        },
        "text": [signed(parts[key].value) for key in rows.values()],
        "textposition": "outside",
        "textfont": {"size": 11, "color": COLOURS["text" if faint else "ink"].on(theme)},
        "cliponaxis": False,
        "hovertext": [
            inert(f"{part_label(key)} {what} {signed(parts[key].value)} in {plural(parts[key].decisions, 'decision')}")
            for key in rows.values()
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _colour(key: tuple[str, str], theme: Theme) -> str:
    if key == _OTHERS:
        return COLOURS["total"].on(theme)
    return component_colour("indicator", "any_achievement", theme) if key == _UNLOCKS else component_colour(*key, theme)


def _unlocks_as_one(parts: Parts) -> Parts:
    """Adds up the some twenty unlocks, which pay about the same, to compare them with the other components."""
    unlocks = [total for key, total in parts.items() if key[0] == _UNLOCKS[0]]
    others = {key: total for key, total in parts.items() if key[0] != _UNLOCKS[0]}
    return others if not unlocks else {_UNLOCKS: _sum(unlocks)} | others


def _sum(totals: Sequence[PartTotal]) -> PartTotal:
    return PartTotal(sum(total.value for total in totals), sum(total.decisions for total in totals))


def _title(text: str, start: float, theme: Theme) -> dict[str, Any]:
    return {
        "text": f"<b>{'<br>'.join(map(inert, text.splitlines()))}</b>",
        "align": "left",
        "x": start,
        "xref": "paper",
        "xanchor": "left",
        "y": 1,
        "yref": "paper",
        "yanchor": "bottom",
        "yshift": 8,
        "showarrow": False,
        "font": {"size": 13, "color": COLOURS["ink"].on(theme)},
    }
