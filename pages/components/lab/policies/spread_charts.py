"""Charts of single episodes and of unlock times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.analysis.statistics import Distribution, Floats, Rows, Sample, UnlockCurve, UnlockTime
from core.env.rules import ACHIEVEMENTS
from core.store import EpisodeSummary
from core.text import plural
from pages.components.charts.figure import COLOURS, Theme, inert, styled
from pages.components.lab.policies.charts import ABOVE_PX, second_axis
from pages.components.lab.policies.policies_text import percent
from pages.components.lab.shared.policy_colours import policy_colour, policy_shape
from pages.components.text.format import number, short_id, signed, words

MAX_POINTS = 300  # episodes drawn of a policy; numbers are computed from all

_GOLDEN = 0.618034  # the fractions of its multiples spread evenly over 0 to 1
_STRIP = 0.5  # part of a row's height over which its points are scattered
_APART = 0.4  # part of an achievement over which points with equal numbers are scattered
_FAINTEST = 0.25
_FEW_POINTS = 100


def thinned(values: Floats, rows: Rows, most: int = MAX_POINTS) -> Rows:
    """At most so many rows, evenly picked by their value, so that extremes and shape stay."""
    if len(rows) <= most:
        return rows
    in_order = rows[np.argsort(values[rows], kind="stable")]
    return in_order[np.linspace(0, len(in_order) - 1, most).round().astype(np.int64)]


def returns(
    its: Sample,
    episodes: Sequence[EpisodeSummary],
    policies: Mapping[str, Rows],
    spreads: Mapping[str, tuple[Distribution, ...]],
    places: Mapping[str, int],
    theme: Theme,
) -> go.Figure:
    """Each episode as a point, a row for each policy; shaped returns on the left, environment returns on the right."""
    traces: list[dict[str, Any]] = []
    for row, (policy, rows) in enumerate(policies.items()):
        place = places[policy]
        panels = (("x", its.shaped_returns, "shaped return"), ("x2", its.env_returns, "environment return"))
        for (axis, values, name), spread in zip(panels, spreads[policy], strict=True):
            drawn = thinned(values, rows)
            heights = row + _scattered(drawn, _STRIP)
            traces.append(_points(axis, values[drawn], heights, [episodes[at] for at in drawn], policy, place, theme))
            traces += _quartiles(axis, row, spread, f"<b>{inert(policy)}</b>, {name}", theme)
    return styled(
        traces,
        theme,
        height=64 * len(policies) + 80 + ABOVE_PX,
        x={"title": {"text": "shaped return of an episode"}, "domain": [0, 0.48], "zeroline": True},
        y={
            "tickvals": list(range(len(policies))),
            "ticktext": [inert(policy) for policy in policies],
            "range": [len(policies) - 0.5, -0.5],
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
        },
        xaxis2=second_axis(theme, "environment return of an episode") | {"zeroline": True},
        showlegend=False,
        margin={"l": 4, "r": 12, "t": ABOVE_PX, "b": 4},
    )


def unlock_quartiles(times: Mapping[str, Sequence[UnlockTime]], places: Mapping[str, int], theme: Theme) -> go.Figure:
    """The step of each first unlock, the earliest on top: a line over the middle half, a mark at the median."""
    reached = [
        at for at in range(len(ACHIEVEMENTS)) if any(of_policy[at].median is not None for of_policy in times.values())
    ]
    reached.sort(key=lambda at: min(t[at].median for t in times.values() if t[at].median is not None))  # pyright: ignore
    traces: list[dict[str, Any]] = []
    n = len(times)
    for number_of_policy, (policy, of_policy) in enumerate(times.items()):
        offset = 0.0 if n == 1 else 0.56 * (number_of_policy / (n - 1) - 0.5)
        known = [(row + offset, of_policy[at], ACHIEVEMENTS[at]) for row, at in enumerate(reached)]
        traces.append(_time_marks(policy, [entry for entry in known if entry[1].median is not None], places, theme))
        traces.append(_legend_entry(policy, places[policy], theme))
    return styled(
        traces,
        theme,
        height=25 * max(len(reached), 1) + 110,
        x={"title": {"text": "step of the first unlock, in the episodes that reached it"}, "rangemode": "tozero"},
        y={
            "tickvals": list(range(len(reached))),
            "ticktext": [words(ACHIEVEMENTS[at]) for at in reached],
            "range": [len(reached) - 0.4, -0.6],
            "zeroline": False,
            "automargin": True,
        },
    )


def unlock_curves(
    achievement: str,
    curves: Mapping[str, UnlockCurve],
    sizes: Mapping[str, int],
    places: Mapping[str, int],
    theme: Theme,
) -> go.Figure:
    """The share of episodes that have unlocked it by each step. sizes: number of episodes of each policy."""
    traces: list[dict[str, Any]] = []
    for policy, curve in curves.items():
        colour = policy_colour(places[policy], theme)
        steps, shares = _thinned_curve(curve.steps, curve.shares)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": inert(policy),
                "x": steps.tolist(),
                "y": (100 * shares).tolist(),
                "line": {"color": colour, "width": 2, "shape": "hv"},
                "hovertemplate": f"<b>{inert(policy)}</b>: by step %{{x:,}}, %{{y:.0f}}% of "
                f"{plural(sizes[policy], 'episode')} have unlocked {words(achievement)}<extra></extra>",
            }
        )
    return styled(
        traces,
        theme,
        height=320,
        x={"title": {"text": "step"}, "rangemode": "tozero"},
        y={"title": {"text": "episodes that have it, %"}, "range": [-2, 102], "ticksuffix": "%"},
    )


def return_against_achievements(
    its: Sample,
    episodes: Sequence[EpisodeSummary],
    policies: Mapping[str, Rows],
    places: Mapping[str, int],
    theme: Theme,
) -> go.Figure:
    most = max(1, MAX_POINTS * 4 // max(len(policies), 1))
    traces: list[dict[str, Any]] = []
    for policy, rows in policies.items():
        drawn = thinned(its.shaped_returns, rows, most)
        heights = its.n_unlocked[drawn] + _scattered(drawn, _APART)
        values, shown = its.shaped_returns[drawn], [episodes[at] for at in drawn]
        points = _points("x", values, heights, shown, policy, places[policy], theme)
        traces.append(points | {"name": inert(policy), "showlegend": True})
    highest = int(its.n_unlocked[np.concatenate(list(policies.values()))].max(initial=1))
    return styled(
        traces,
        theme,
        height=440,
        x={"title": {"text": "shaped return of an episode"}, "zeroline": True},
        y={
            "title": {"text": f"achievements unlocked, of {len(ACHIEVEMENTS)}"},
            "range": [-0.6, highest + 0.8],
            "zeroline": False,
        },
    )


def _points(
    axis: str,
    values: Floats,
    heights: Floats,
    episodes: Sequence[EpisodeSummary],
    policy: str,
    place: int,
    theme: Theme,
) -> dict[str, Any]:
    """Clickable points; `customdata` holds the episode id."""
    return {
        "type": "scatter",
        "mode": "markers",
        "cliponaxis": False,
        "xaxis": axis,
        "x": values.tolist(),
        "y": heights.tolist(),
        "customdata": [[episode.id] for episode in episodes],
        "marker": {
            "size": 7 if len(episodes) <= _FEW_POINTS else 4.5,
            "color": policy_colour(place, theme),
            "symbol": policy_shape(place),
            "opacity": 0.75,
            "line": {"width": 0.5, "color": COLOURS["ground"].on(theme)},
        },
        "selected": {"marker": {"opacity": 1.0, "size": 11}},
        "unselected": {"marker": {"opacity": 0.35}},
        "hovertext": [_episode_in_words(episode, policy) for episode in episodes],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "showlegend": False,
    }


def _episode_in_words(episode: EpisodeSummary, policy: str) -> str:
    return (
        f"<b>{inert(policy)}</b> on seed {episode.seed}, episode {inert(short_id(episode.id))}<br>"
        f"shaped return {signed(episode.shaped_return)}, environment return {signed(episode.env_return)}<br>"
        f"{plural(episode.n_achievements, 'achievement')} in {plural(episode.n_steps, 'step')}"
    )


def _quartiles(axis: str, row: int, spread: Distribution, who: str, theme: Theme) -> list[dict[str, Any]]:
    """The middle half as a bar below the points, with the median and the mean in it."""
    ink = COLOURS["ink"].on(theme)
    hover = (
        f"{who}<br>median {signed(spread.median)}, middle half {signed(spread.lower)} to {signed(spread.upper)}<br>"
        f"mean {signed(spread.mean)}, standard deviation {number(spread.deviation, 2)}, "
        f"{plural(spread.n, 'episode')}"
    )
    common = {
        "type": "scatter",
        "xaxis": axis,
        "showlegend": False,
        "hovertext": hover,
        "hovertemplate": "%{hovertext}<extra></extra>",
    }
    at = row + 0.36
    bar = {
        "mode": "lines",
        "x": [spread.lower, spread.upper],
        "y": [at, at],
        "line": {"width": 5, "color": COLOURS["axis"].on(theme)},
    }
    middle = {
        "mode": "markers",
        "x": [spread.median],
        "y": [at],
        "marker": {"symbol": "line-ns", "size": 11, "line": {"width": 2.5, "color": ink}},
    }
    return [common | bar, common | middle]


def _time_marks(
    policy: str, known: Sequence[tuple[float, UnlockTime, str]], places: Mapping[str, int], theme: Theme
) -> dict[str, Any]:
    place = places[policy]
    colour = policy_colour(place, theme)
    medians = [time.median or 0.0 for _, time, _ in known]
    return {
        "type": "scatter",
        "mode": "markers",
        "cliponaxis": False,
        "showlegend": False,
        "x": medians,
        "y": [row for row, _, _ in known],
        "marker": {
            "size": 9,
            "color": colour,
            "symbol": policy_shape(place),
            "opacity": [max(_FAINTEST, time.share) for _, time, _ in known],
            "line": {"width": 1, "color": COLOURS["ground"].on(theme)},
        },
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [(time.upper or 0.0) - median for (_, time, _), median in zip(known, medians, strict=True)],
            "arrayminus": [median - (time.lower or 0.0) for (_, time, _), median in zip(known, medians, strict=True)],
            "color": colour,
            "thickness": 1.8,
            "width": 0,
        },
        "hovertext": [
            f"<b>{words(name)}</b>: {inert(policy)} at median step {number(time.median or 0)}, half of them "
            f"between {number(time.lower or 0)} and {number(time.upper or 0)}<br>reached in {time.n_reached:,} of "
            f"{plural(time.n_episodes, 'episode')} ({percent(time.share)})"
            for _, time, name in known
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _legend_entry(policy: str, place: int, theme: Theme) -> dict[str, Any]:
    """An opaque legend mark: by default it takes the opacity of the first point."""
    return {
        "type": "scatter",
        "mode": "markers",
        "name": inert(policy),
        "x": [None],
        "y": [None],
        "marker": {"size": 9, "color": policy_colour(place, theme), "symbol": policy_shape(place)},
    }


def _scattered(rows: Rows, over: float) -> Floats:
    """A small fixed shift for each row, so that equal points do not hide each other."""
    return np.asarray(over * ((rows * _GOLDEN) % 1.0 - 0.5), np.float64)


def _thinned_curve(steps: NDArray[np.int64], shares: Floats, most: int = 400) -> tuple[NDArray[np.int64], Floats]:
    if len(steps) <= most:
        return steps, shares
    kept = np.unique(np.linspace(0, len(steps) - 1, most).round().astype(np.int64))
    return steps[kept], shares[kept]
