"""Charts of the What if view: returns before and after, and what each component pays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from core.text import plural
from core.types import RewardBreakdown
from pages.components.charts.component_colours import component_colour
from pages.components.charts.figure import COLOURS, Theme, inert, styled
from pages.components.lab.shared.lab_text import episode_title, from_to
from pages.components.lab.shared.marks import PolicyStyle, marks, row_axis
from pages.components.lab.what_if.rescored import Rescored
from pages.components.text.format import number, signed
from pages.components.text.sentences import component_label

_MAX_PARTS = 8
_ROW_PX = 34
_ABOVE_PX = 90  # for the titles, and the download buttons above them
_FAINT = 0.32
_GAP = 0.04  # between two panels
_OTHERS = ("", "all others")
_UNLOCKS = ("achievement", "")


def returns_scatter(
    result: Rescored, places: Sequence[int], policies: Mapping[str, str], chosen: int, label: str, style: PolicyStyle
) -> go.Figure:
    """x: return before, y: return now, one point an episode; on the dotted line nothing changes.

    places: of the episodes drawn. policies: the policy of each episode, by its id. chosen: gets a ring. label: of the
    scoring before.
    """
    before, after = (np.round(scores.returns, 6).tolist() for scores in (result.before, result.after))
    values = [returns[at] for at in places for returns in (before, after)]
    low, high = min(0.0, *values), max(0.0, *values)
    room = 0.05 * ((high - low) or 1.0)
    span = [low - room, high + room]
    ink = COLOURS["ink"].on(style.theme)
    line: dict[str, Any] = {
        "type": "scatter",
        "x": span,
        "y": span,
        "mode": "lines",
        "name": "unchanged",
        "line": {"color": COLOURS["axis"].on(style.theme), "width": 1, "dash": "dot"},
        "hoverinfo": "skip",
    }
    ring = {"size": 17, "symbol": "circle-open", "color": ink, "line": {"width": 2, "color": ink}}
    by_policy: dict[str, list[int]] = {}
    for at in places:
        by_policy.setdefault(policies[result.episodes[at].id], []).append(at)
    points = [
        marks(
            [before[at] for at in own],
            [after[at] for at in own],
            style.marker(policy),
            [_hover_text(result, at) for at in own],
            customdata=[[result.episodes[at].id] for at in own],
            name=inert(policy),
            unselected={"marker": {"opacity": 1}},
        )
        for policy, own in sorted(by_policy.items())
    ]
    if chosen in places:
        points.append(
            marks([before[chosen]], [after[chosen]], ring, [], showlegend=False, hoverinfo="skip", hovertemplate=None)
        )
    return styled(
        [line, *points],
        style.theme,
        height=360,
        x={"title": {"text": f"return {inert(label)}"}, "range": span, "zeroline": True},
        y={"title": {"text": "return under this configuration"}, "range": span, "zeroline": True},
    )


def _hover_text(result: Rescored, at: int) -> str:
    lines = (
        episode_title(result.episodes[at]),
        f"return {from_to(result.before.returns[at], result.after.returns[at])}",
        f"rank {number(result.ranks_before[at])} → {number(result.ranks_after[at])}",
    )
    return "<br>".join(map(inert, lines))


@dataclass(frozen=True, slots=True)
class PartTotal:
    """What one component paid in an episode, lambda included, and in how many decisions."""

    value: float = 0.0
    decisions: int = 0

    def __add__(self, other: PartTotal) -> PartTotal:
        return PartTotal(self.value + other.value, self.decisions + other.decisions)


Component = tuple[str, str]
"""Kind and name."""

Parts = dict[Component, PartTotal]


def part_totals(breakdowns: Iterable[RewardBreakdown]) -> Parts:
    return _sums(
        ((part.kind, part.name), PartTotal(part.value * breakdown.effective_lambda, 1))
        for breakdown in breakdowns
        for part in breakdown.components
    )


def _sums(parts: Iterable[tuple[Component, PartTotal]]) -> Parts:
    found: Parts = {}
    for component, total in parts:
        found[component] = found.get(component, PartTotal()) + total
    return found


@dataclass(frozen=True, slots=True)
class PaidEpisode:
    """One panel of the chart of components. title: in lines."""

    title: tuple[str, ...]
    before: Parts
    after: Parts

    def grouped(self, group_of: Callable[[Component], Component]) -> PaidEpisode:
        """Adds up the components of each group."""
        before, after = (
            _sums((group_of(component), total) for component, total in parts.items())
            for parts in (self.before, self.after)
        )
        return PaidEpisode(self.title, before, after)


def largest_parts(episodes: Sequence[PaidEpisode], max_parts: int = _MAX_PARTS) -> list[Component]:
    """The components that pay most, before or after, in any of the episodes."""
    sizes: dict[Component, float] = {}
    for episode in episodes:
        for parts in (episode.before, episode.after):
            for key, total in parts.items():
                sizes[key] = max(sizes.get(key, 0.0), abs(total.value))
    return sorted(sizes, key=lambda key: -sizes[key])[:max_parts]


def part_label(key: Component) -> str:
    if key == _OTHERS:
        return key[1]
    return "all unlocks" if key == _UNLOCKS else component_label(*key)


def paid_parts(episodes: Sequence[PaidEpisode], theme: Theme) -> go.Figure:
    """For one or two episodes side by side: what each component paid before (faint) and pays now (full)."""
    # The some twenty unlocks pay about the same. Together they can be compared with the other components.
    with_unlocks = [episode.grouped(lambda key: _UNLOCKS if key[0] == _UNLOCKS[0] else key) for episode in episodes]
    keys = largest_parts(with_unlocks)
    shown = [episode.grouped(lambda key: key if key in keys else _OTHERS) for episode in with_unlocks]
    sides = [parts for episode in shown for parts in (episode.before, episode.after)]
    rows = [*keys, _OTHERS] if any(_OTHERS in parts and parts[_OTHERS].value for parts in sides) else keys
    values = [total.value for parts in sides for total in parts.values()]
    low, high = min(0.0, *values), max(0.0, *values)
    room = 0.22 * ((high - low) or 1.0)
    span = [low - room if low < 0 else 0.0, high + room]
    changes = any(episode.before != episode.after for episode in shown)
    traces: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    width = (1 - _GAP * (len(shown) - 1)) / len(shown)
    for at, episode in enumerate(shown):
        suffix = "" if at == 0 else str(at + 1)
        start = at * (width + _GAP)
        axes[f"xaxis{suffix}"] = {
            "domain": [start, start + width],
            "range": span,
            "zeroline": True,
            "title": {"text": "total paid: pale before, full now" if changes else "total paid"},
            "nticks": 5,
        }
        paid = {
            row: key
            for row, key in enumerate(rows)
            if any(key in parts and parts[key].value for parts in (episode.before, episode.after))
        }
        if changes:
            traces.append(_bars(episode.before, paid, f"x{suffix}", theme, place=-0.19, faint=True))
        traces.append(_bars(episode.after, paid, f"x{suffix}", theme, place=0.19 if changes else 0.0))
        annotations.append(_title(episode.title, start, theme))
    return styled(
        traces,
        theme,
        height=_ROW_PX * len(rows) + 54 + _ABOVE_PX,
        x=axes.pop("xaxis"),
        y=row_axis([part_label(key) for key in rows], range=[len(rows) - 0.5, -0.5]),
        barmode="overlay",
        showlegend=False,
        annotations=annotations,
        margin={"l": 4, "r": 12, "t": _ABOVE_PX, "b": 4},
        **axes,
    )


def _bars(
    parts: Parts, rows: Mapping[int, Component], axis: str, theme: Theme, *, place: float, faint: bool = False
) -> dict[str, Any]:
    """rows: row -> its component. place: vertical offset from the middle of the row."""
    totals = [parts.get(key, PartTotal()) for key in rows.values()]
    what = "paid before" if faint else "pays now"
    return {
        "type": "bar",
        "orientation": "h",
        "y": [row + place for row in rows],
        "x": [round(total.value, 6) for total in totals],
        "xaxis": axis,
        "width": 0.36 if place else 0.56,
        "marker": {
            "color": [_colour(key, theme) for key in rows.values()],
            "opacity": _FAINT if faint else 1.0,
            "line": {"width": 0},
        },
        "text": [signed(total.value) for total in totals],
        "textposition": "outside",
        "textfont": {"size": 11, "color": COLOURS["text" if faint else "ink"].on(theme)},
        "cliponaxis": False,
        "hovertext": [
            inert(f"{part_label(key)} {what} {signed(total.value)} in {plural(total.decisions, 'decision')}")
            for key, total in zip(rows.values(), totals, strict=True)
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _colour(key: Component, theme: Theme) -> str:
    if key == _OTHERS:
        return COLOURS["total"].on(theme)
    return component_colour("indicator", "any_achievement", theme) if key == _UNLOCKS else component_colour(*key, theme)


def _title(lines: Sequence[str], start: float, theme: Theme) -> dict[str, Any]:
    return {
        "text": f"<b>{'<br>'.join(map(inert, lines))}</b>",
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
