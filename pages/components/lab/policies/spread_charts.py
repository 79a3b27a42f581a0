"""Charts of single episodes and of unlock times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.analysis.statistics import Distribution, Rows, Sample, UnlockCurve, UnlockTime
from core.env.rules import ACHIEVEMENTS
from core.store import EpisodeSummary
from core.text import plural
from core.types import Floats
from pages.components.charts.figure import COLOURS, Theme, inert, styled
from pages.components.lab.policies.charts import ABOVE_PX, right_axis, row_offsets
from pages.components.lab.policies.policies_text import percent
from pages.components.lab.shared.marks import PolicyStyle, error_bars, marks, row_axis
from pages.components.text.format import name_text, number, short_id, signed

MAX_POINTS = 300  # episodes drawn of a policy; numbers are computed from all

_MAX_CURVE_STEPS = 400
_GOLDEN = 0.618034  # the fractions of its multiples spread evenly over 0 to 1
_STRIP = 0.5  # part of a row's height over which its points are scattered
_APART = 0.4  # part of an achievement over which points with equal numbers are scattered
_FAINTEST = 0.25
_FEW_POINTS = 100


def thinned(values: Floats, rows: Rows, max_points: int = MAX_POINTS) -> Rows:
    """At most `max_points` rows, evenly picked by their value, so that extremes and shape stay."""
    if len(rows) <= max_points:
        return rows
    return rows[np.argsort(values[rows], kind="stable")][_evenly(len(rows), max_points)]


def returns(
    sample: Sample,
    episodes: Sequence[EpisodeSummary],
    policies: Mapping[str, Rows],
    spreads: Mapping[str, tuple[Distribution, ...]],
    style: PolicyStyle,
) -> go.Figure:
    """Each episode as a point, a row for each policy; shaped returns on the left, environment returns on the right."""
    panels = (("x", sample.shaped_returns, "shaped return"), ("x2", sample.env_returns, "environment return"))
    traces: list[dict[str, Any]] = []
    for row, (policy, rows) in enumerate(policies.items()):
        for (axis, values, name), spread in zip(panels, spreads[policy], strict=True):
            drawn = thinned(values, rows)
            points = _points(
                values[drawn], row + _scattered(drawn, _STRIP), [episodes[at] for at in drawn], policy, style
            )
            quartiles = _quartiles(row, spread, f"<b>{inert(policy)}</b>, {name}", style.theme)
            traces += [trace | {"xaxis": axis} for trace in (points, *quartiles)]
    return styled(
        traces,
        style.theme,
        height=64 * len(policies) + 80 + ABOVE_PX,
        x={"title": {"text": "shaped return of an episode"}, "domain": [0, 0.48], "zeroline": True},
        y=row_axis(list(policies), range=[len(policies) - 0.5, -0.5]),
        xaxis2=right_axis("environment return of an episode", zeroline=True),
        showlegend=False,
        margin={"l": 4, "r": 12, "t": ABOVE_PX, "b": 4},
    )


def unlock_quartiles(times: Mapping[str, Sequence[UnlockTime]], style: PolicyStyle) -> go.Figure:
    """The step of each first unlock, the earliest on top: a line over the middle half, a mark at the median."""
    first: dict[int, float] = {}  # achievement -> the smallest median, if any policy reached it
    for at in range(len(ACHIEVEMENTS)):
        medians = [median for of_policy in times.values() if (median := of_policy[at].median) is not None]
        if medians:
            first[at] = min(medians)
    reached = sorted(first, key=lambda at: first[at])
    traces: list[dict[str, Any]] = []
    for offset, (policy, of_policy) in zip(row_offsets(len(times)), times.items(), strict=True):
        traces.append(
            _time_marks(
                policy, [(row + offset, of_policy[at], ACHIEVEMENTS[at]) for row, at in enumerate(reached)], style
            )
        )
        # An opaque mark for the legend: by default it takes the opacity of the first point.
        traces.append(marks([None], [None], style.marker(policy), [], name=inert(policy)))
    return styled(
        traces,
        style.theme,
        height=25 * max(len(reached), 1) + 110,
        x={"title": {"text": "step of the first unlock, in the episodes that reached it"}, "rangemode": "tozero"},
        y=row_axis([name_text(ACHIEVEMENTS[at]) for at in reached], showgrid=True),
    )


def unlock_curves(
    achievement: str, curves: Mapping[str, UnlockCurve], sizes: Mapping[str, int], style: PolicyStyle
) -> go.Figure:
    """The share of episodes that have unlocked it by each step. sizes: number of episodes of each policy."""
    traces: list[dict[str, Any]] = []
    for policy, curve in curves.items():
        drawn = _evenly(len(curve.steps), _MAX_CURVE_STEPS)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": inert(policy),
                "x": curve.steps[drawn].tolist(),
                "y": (100 * curve.shares[drawn]).tolist(),
                "line": {"color": style.colour(policy), "width": 2, "shape": "hv"},
                "hovertemplate": f"<b>{inert(policy)}</b>: by step %{{x:,}}, %{{y:.0f}}% of "
                f"{plural(sizes[policy], 'episode')} have unlocked {name_text(achievement)}<extra></extra>",
            }
        )
    return styled(
        traces,
        style.theme,
        height=320,
        x={"title": {"text": "step"}, "rangemode": "tozero"},
        y={"title": {"text": "episodes that have it, %"}, "range": [-2, 102], "ticksuffix": "%"},
    )


def return_against_achievements(
    sample: Sample, episodes: Sequence[EpisodeSummary], policies: Mapping[str, Rows], style: PolicyStyle
) -> go.Figure:
    """Each episode as a point."""
    max_points = max(1, MAX_POINTS * 4 // max(len(policies), 1))
    traces: list[dict[str, Any]] = []
    for policy, rows in policies.items():
        drawn = thinned(sample.shaped_returns, rows, max_points)
        heights = sample.n_unlocked[drawn] + _scattered(drawn, _APART)
        points = _points(sample.shaped_returns[drawn], heights, [episodes[at] for at in drawn], policy, style)
        traces.append(points | {"showlegend": True})
    highest = int(sample.n_unlocked[np.concatenate(list(policies.values()))].max(initial=1))
    return styled(
        traces,
        style.theme,
        height=440,
        x={"title": {"text": "shaped return of an episode"}, "zeroline": True},
        y={
            "title": {"text": f"achievements unlocked, of {len(ACHIEVEMENTS)}"},
            "range": [-0.6, highest + 0.8],
            "zeroline": False,
        },
    )


def _points(
    values: Floats, heights: Floats, episodes: Sequence[EpisodeSummary], policy: str, style: PolicyStyle
) -> dict[str, Any]:
    """Clickable points; `customdata` holds the episode id."""
    marker = style.marker(
        policy,
        size=7 if len(episodes) <= _FEW_POINTS else 4.5,
        opacity=0.75,
        line={"width": 0.5, "color": COLOURS["ground"].on(style.theme)},
    )
    return marks(
        values.tolist(),
        heights.tolist(),
        marker,
        [_episode_text(episode, policy) for episode in episodes],
        name=inert(policy),
        customdata=[[episode.id] for episode in episodes],
        selected={"marker": {"opacity": 1.0, "size": 11}},
        unselected={"marker": {"opacity": 0.35}},
        showlegend=False,
    )


def _episode_text(episode: EpisodeSummary, policy: str) -> str:
    return (
        f"<b>{inert(policy)}</b> on seed {episode.seed}, episode {inert(short_id(episode.id))}<br>"
        f"shaped return {signed(episode.shaped_return)}, environment return {signed(episode.env_return)}<br>"
        f"{plural(episode.n_achievements, 'achievement')} in {plural(episode.n_steps, 'step')}"
    )


def _quartiles(row: int, spread: Distribution, title: str, theme: Theme) -> list[dict[str, Any]]:
    """The middle half as a bar below the points, with the median in it."""
    hover = (
        f"{title}<br>median {signed(spread.median)}, middle half {signed(spread.q1)} to {signed(spread.q3)}<br>"
        f"mean {signed(spread.mean)}, standard deviation {number(spread.deviation, 2)}, "
        f"{plural(spread.n, 'episode')}"
    )
    at = row + 0.36
    bar = {"mode": "lines", "line": {"width": 5, "color": COLOURS["axis"].on(theme)}}
    marker = {"symbol": "line-ns", "size": 11, "line": {"width": 2.5, "color": COLOURS["ink"].on(theme)}}
    return [
        marks([spread.q1, spread.q3], [at, at], {}, [hover] * 2, showlegend=False) | bar,
        marks([spread.median], [at], marker, [hover], showlegend=False),
    ]


def _time_marks(policy: str, rows: Sequence[tuple[float, UnlockTime, str]], style: PolicyStyle) -> dict[str, Any]:
    """rows: height, time and name of each achievement; those that the policy did not reach have no mark."""
    reached = [(height, time.median, time, name) for height, time, name in rows if time.median is not None]
    medians = [median for _, median, _, _ in reached]
    lows, highs = [time.q1 for _, _, time, _ in reached], [time.q3 for _, _, time, _ in reached]
    hovers = [
        f"<b>{name_text(name)}</b>: {inert(policy)} at median step {number(median)}, half of them "
        f"between {number(time.q1 or 0)} and {number(time.q3 or 0)}<br>reached in {time.n_reached:,} of "
        f"{plural(time.n_episodes, 'episode')} ({percent(time.share)})"
        for _, median, time, name in reached
    ]
    return marks(
        medians,
        [height for height, _, _, _ in reached],
        style.marker(policy, opacity=[max(_FAINTEST, time.share) for _, _, time, _ in reached]),
        hovers,
        showlegend=False,
        error_x=error_bars(medians, lows, highs, style.colour(policy)),
    )


def _scattered(rows: Rows, over: float) -> Floats:
    """A small fixed shift for each row, so that equal points do not hide each other."""
    return np.asarray(over * ((rows * _GOLDEN) % 1.0 - 0.5), np.float64)


def _evenly(n: int, max_points: int) -> NDArray[np.int64]:
    """At most `max_points` of the places 0 to n - 1, the first and the last included."""
    return np.unique(np.linspace(0, n - 1, min(n, max_points)).round().astype(np.int64))
