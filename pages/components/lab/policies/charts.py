"""Charts that compare policies by achievements and by reward components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from core.analysis.statistics import ComponentPay, Estimate, PublishedRow, Summary
from core.env.rules import ACHIEVEMENTS
from core.text import plural
from core.types import RewardComponent
from pages.components.charts.component_colours import component_colour
from pages.components.charts.figure import COLOURS, Theme, inert, styled
from pages.components.lab.policies.policies_text import percent, with_interval
from pages.components.lab.shared.policy_colours import policy_colour, policy_shape, published_mark
from pages.components.text.escape import one_line
from pages.components.text.format import signed, words
from pages.components.text.sentences import component_label

MAX_POLICIES = 8  # in charts with a mark of each policy in every row; the table has all
MAX_COMPONENTS = 48

_MAX_LEGEND_ENTRIES = 10
_MAX_NAME_LENGTH = 60
_ROW_PX = 30
_THIN_ROW_PX = 25
_SMALL_PX = 8
_LINE_PX = 8  # between marks of a row that may have equal values
_SPREAD = 0.56  # part of a row's height over which the marks of all policies are spread

ABOVE_PX = 30  # for the download buttons of a chart without a legend

Panel = tuple[str, str]
"""The name of an x axis in a trace, and in the layout."""

Component = tuple[str, str]
"""Kind and name."""

LEFT: Panel = ("x", "xaxis")
RIGHT: Panel = ("x2", "xaxis2")


def scores(
    summaries: Mapping[str, Summary], places: Mapping[str, int], published: Sequence[PublishedRow], theme: Theme
) -> go.Figure:
    """Crafter score and achievements: a row for each policy, and below them, on grey, for each published result.

    summaries: from top to bottom. places: see `policy_places`.
    """
    n = len(summaries)
    below = [n + 0.6 + place for place in range(len(published))]
    traces: list[dict[str, Any]] = []
    for row, (policy, summary) in enumerate(summaries.items()):
        for axis, estimate, text, unit in (
            (LEFT, summary.score, f"Crafter score {summary.score.value:.1f}%", "%"),
            (RIGHT, summary.achievements, f"{summary.achievements.value:.1f} achievements in the mean episode", ""),
        ):
            interval = with_interval(estimate, summary.n_seeds, unit=unit)
            hover = f"<b>{inert(policy)}</b>: {text}<br>{interval}, {plural(summary.n_episodes, 'episode')}"
            traces.append(_dot([estimate], [row], axis, policy, places[policy], theme, [hover]) | {"showlegend": False})
    for place, its in enumerate(published):
        hover = f"<b>{inert(its.label)}</b>, published: {{}}<br>{plural(its.episodes, 'episode')}; another protocol"
        values = (
            (LEFT, its.score, f"Crafter score {its.score or 0:.1f}%"),
            (RIGHT, its.progress * len(ACHIEVEMENTS), f"{its.progress * len(ACHIEVEMENTS):.1f} achievements"),
        )
        for (axis, _), value, text in values:
            if value is not None:
                mark = published_mark(place, theme)
                traces.append(_mark(axis, value, below[place], mark, hover.format(text)))
    last = below[-1] + 0.6 if published else n - 0.4
    highest = [summary.score.high or summary.score.value for summary in summaries.values()]
    highest += [its.score for its in published if its.score is not None]
    labels = [inert(policy) for policy in summaries] + [inert(its.label) for its in published]
    return styled(
        traces,
        theme,
        height=round(_ROW_PX * (last + 0.6)) + 68 + ABOVE_PX,
        x={"title": {"text": "Crafter score, %"}, "range": [0, 1.08 * max([1.0, *highest])], "domain": [0, 0.48]},
        y=_rows([*range(n), *below], labels, last) | {"range": [last, -1.0 if published else -0.6]},
        xaxis2=second_axis(theme, f"achievements of {len(ACHIEVEMENTS)}, mean of an episode", [0, len(ACHIEVEMENTS)]),
        shapes=[_background(n - 0.2, last, theme)] if published else [],
        annotations=[_note("published", n - 0.2, theme), _note("stored here", -1.0, theme)] if published else [],
        margin={"l": 4, "r": 12, "t": ABOVE_PX, "b": 4},
    )


def success_rates(
    summaries: Mapping[str, Summary], places: Mapping[str, int], published: Sequence[PublishedRow], theme: Theme
) -> go.Figure:
    """A row for each achievement, the most often unlocked on top, with the marks of policies and published results."""
    means = [sum(summary.success[place].value for summary in summaries.values()) for place in range(len(ACHIEVEMENTS))]
    rows = sorted(range(len(ACHIEVEMENTS)), key=lambda place: -means[place])
    traces: list[dict[str, Any]] = []
    known = [its for its in published if its.success is not None]
    n = len(summaries) + len(known)
    row_px = max(_THIN_ROW_PX, _LINE_PX * (n + 1))
    offsets = [_LINE_PX / row_px * (place - (n - 1) / 2) for place in range(n)]
    for place, its in enumerate(known):
        rates = its.success or {}
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "cliponaxis": False,
                "name": f"{inert(its.label)}, published",
                "x": [100 * rates.get(ACHIEVEMENTS[at], 0.0) for at in rows],
                "y": [row + offsets[len(summaries) + place] for row in range(len(rows))],
                "marker": published_mark(place, theme) | {"size": _SMALL_PX},
                "hovertext": [
                    f"<b>{words(ACHIEVEMENTS[at])}</b>: {inert(its.label)} (published) in "
                    f"{percent(rates.get(ACHIEVEMENTS[at], 0.0), 1)} of {plural(its.episodes, 'episode')}"
                    for at in rows
                ],
                "hovertemplate": "%{hovertext}<extra></extra>",
            }
        )
    for offset, (policy, summary) in zip(offsets, summaries.items(), strict=False):
        hovers = [
            f"<b>{words(ACHIEVEMENTS[at])}</b>: {inert(policy)} in {summary.n_successes[at]:,} of "
            f"{plural(summary.n_episodes, 'episode')} ({percent(summary.success[at].value)})<br>"
            f"{with_interval(summary.success[at], summary.n_seeds, 0, 100, '%')}"
            for at in rows
        ]
        estimates = [summary.success[at].times(100) for at in rows]
        heights = [row + offset for row in range(len(rows))]
        dots = _dot(estimates, heights, LEFT, policy, places[policy], theme, hovers)
        traces.append(dots | {"marker": dots["marker"] | {"size": _SMALL_PX}})
    return styled(
        traces,
        theme,
        height=row_px * len(rows) + 110,
        x={"title": {"text": "episodes that unlocked it, %"}, "range": [-2, 102], "ticksuffix": "%"},
        y=_rows(range(len(rows)), [words(ACHIEVEMENTS[at]) for at in rows], len(rows) - 0.5) | {"showgrid": True},
    )


def component_bars(pays: Mapping[str, Sequence[ComponentPay]], as_shares: bool, theme: Theme) -> go.Figure:
    """What each component paid, a stacked bar for each group: means of an episode, or shares of the total paid.

    Components are sorted by kind. The legend lists only the largest.
    """
    groups = list(pays)
    weight = _weights(pays)
    in_legend = sorted(weight, key=lambda component: -weight[component])[:_MAX_LEGEND_ENTRIES]
    shown, rest = _in_order(weight)
    traces: list[dict[str, Any]] = []
    for component in shown:
        label = component_name(*component)
        parts = [_part(pays[group], component) for group in groups]
        hovers = [
            "" if part is None else f"<b>{inert(label)}</b>: {_paid_in_words(part)}<br>{inert(group)}"
            for group, part in zip(groups, parts, strict=True)
        ]
        values = [0.0 if part is None else _bar(part, as_shares) for part in parts]
        colour = component_colour(*component, theme)
        traces.append(_bars(values, inert(label), colour, hovers, theme) | {"showlegend": component in in_legend})
    if rest:
        others = {group: [part for part in pays[group] if (part.kind, part.name) in rest] for group in groups}
        values = [sum(_bar(part, as_shares) for part in others[group]) for group in groups]
        hovers = [f"<b>{len(others[group])} others</b> together<br>{inert(group)}" for group in groups]
        traces.append(_bars(values, "others", COLOURS["axis"].on(theme), hovers, theme))
    unit = "share of the total paid, %" if as_shares else "shaped reward, mean of an episode"
    return styled(
        traces,
        theme,
        height=46 * len(groups) + 150,
        x={"title": {"text": unit}, "zeroline": True},
        y=_rows(range(len(groups)), [inert(group) for group in groups], len(groups) - 0.5),
        barmode="relative",
        bargap=0.3,
        uniformtext={"minsize": 10, "mode": "hide"},
    )


def dots_by_group(
    estimates: Mapping[str, Mapping[str, tuple[Estimate, str]]],
    policies: Sequence[str],
    places: Mapping[str, int],
    title: str,
    theme: Theme,
) -> go.Figure:
    """A row for each group, with a mark for each policy. estimates: group -> policy -> (estimate, hover text).

    policies: from top to bottom in each row. places: see `policy_places`.
    """
    groups = list(estimates)
    traces: list[dict[str, Any]] = []
    for offset, policy in zip(_offsets(len(policies)), policies, strict=True):
        rows = [row for row, group in enumerate(groups) if policy in estimates[group]]
        found = [estimates[groups[row]][policy] for row in rows]
        heights = [row + offset for row in rows]
        dots = _dot(
            [it for it, _ in found], heights, LEFT, policy, places[policy], theme, [hover for _, hover in found]
        )
        traces.append(dots)
    return styled(
        traces,
        theme,
        height=max(44, 16 * len(policies)) * len(groups) + 110,
        x={"title": {"text": title}, "rangemode": "tozero"},
        y=_rows(range(len(groups)), groups, len(groups) - 0.5) | {"showgrid": True},
    )


def component_name(kind: str, name: str) -> str:
    """The label of a component, as on the episode page, cut."""
    return one_line(component_label(RewardComponent(kind, name, 0.0, 0.0, 0.0)), _MAX_NAME_LENGTH)


def second_axis(theme: Theme, title: str, limits: Sequence[float] | None = None) -> dict[str, Any]:
    """The x axis of the right panel, in the style of the left one."""
    text = COLOURS["text"].on(theme)
    return {
        "title": {"text": title, "font": {"size": 12, "color": text}},
        "domain": [0.53, 1],
        "anchor": "y",
        "gridcolor": COLOURS["grid"].on(theme),
        "zerolinecolor": COLOURS["axis"].on(theme),
        "tickfont": {"color": text},
        "fixedrange": True,
        **({"range": list(limits)} if limits else {}),
    }


def _dot(
    estimates: Sequence[Estimate],
    rows: Sequence[float],
    axis: Panel,
    policy: str,
    place: int,
    theme: Theme,
    hovers: Sequence[str],
) -> dict[str, Any]:
    """The marks of one policy, with their intervals as error bars."""
    colour = policy_colour(place, theme)
    return {
        "type": "scatter",
        "mode": "markers",
        "cliponaxis": False,  # otherwise marks at 0 are cut in half
        "name": inert(policy),
        "xaxis": axis[0],
        "x": [estimate.value for estimate in estimates],
        "y": list(rows),
        "marker": {
            "size": 9,
            "color": colour,
            "symbol": policy_shape(place),
            "line": {"width": 1, "color": COLOURS["ground"].on(theme)},
        },
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [max(0.0, (e.value if e.high is None else e.high) - e.value) for e in estimates],
            "arrayminus": [max(0.0, e.value - (e.value if e.low is None else e.low)) for e in estimates],
            "color": colour,
            "thickness": 1.8,
            "width": 0,
        },
        "hovertext": list(hovers),
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _mark(axis: str, x: float, y: float, marker: dict[str, object], hover: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "cliponaxis": False,
        "xaxis": axis,
        "x": [x],
        "y": [y],
        "marker": marker,
        "hovertext": [hover],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "showlegend": False,
    }


def _bars(values: list[float], name: str, colour: str, hovers: list[str], theme: Theme) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "x": values,
        "y": list(range(len(values))),
        "name": name,
        "text": [name] * len(values),
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "insidetextfont": {"size": 11, "color": COLOURS["ground"].on(theme)},
        "marker": {"color": colour, "line": {"width": 0.6, "color": COLOURS["ground"].on(theme)}},
        "hovertext": hovers,
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _bar(part: ComponentPay, as_shares: bool) -> float:
    return 100 * part.share * (-1 if part.total < 0 else 1) if as_shares else part.mean


def _paid_in_words(part: ComponentPay) -> str:
    mean, total = signed(part.mean), signed(part.total)
    return f"{mean} in the mean episode, {percent(part.share)} of the total paid, {total} in total"


def _part(parts: Sequence[ComponentPay], component: Component) -> ComponentPay | None:
    return next((part for part in parts if (part.kind, part.name) == component), None)


def _weights(pays: Mapping[str, Sequence[ComponentPay]]) -> dict[Component, float]:
    """For each component its largest share in any group."""
    weight: dict[Component, float] = {}
    for part in (part for parts in pays.values() for part in parts):
        weight[part.kind, part.name] = max(weight.get((part.kind, part.name), 0.0), part.share)
    return weight


def _in_order(weight: Mapping[Component, float]) -> tuple[list[Component], set[Component]]:
    """Returns the components to show, by kind and largest first; and the rest."""
    of_kind: dict[str, float] = {}
    for (kind, _), share in weight.items():
        of_kind[kind] = of_kind.get(kind, 0.0) + share
    largest = sorted(weight, key=lambda component: -weight[component])[:MAX_COMPONENTS]
    shown = sorted(largest, key=lambda component: (-of_kind[component[0]], component[0], -weight[component]))
    return shown, weight.keys() - set(shown)


def _rows(places: Sequence[float], labels: Sequence[str], last: float) -> dict[str, Any]:
    """A y axis with row 0 on top."""
    return {
        "tickvals": list(places),
        "ticktext": list(labels),
        "range": [last, -0.6],
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
    }


def _offsets(n: int) -> list[float]:
    """Vertical offsets of n marks from the middle of their row."""
    return [0.0] if n == 1 else [_SPREAD * (place / (n - 1) - 0.5) for place in range(n)]


def _background(top: float, bottom: float, theme: Theme) -> dict[str, Any]:
    return {
        "type": "rect",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": top,
        "y1": bottom,
        "fillcolor": COLOURS["axis"].on(theme),
        "opacity": 0.16,
        "line": {"width": 0},
        "layer": "below",
    }


def _note(text: str, row: float, theme: Theme) -> dict[str, Any]:
    return {
        "xref": "paper",
        "x": 1,
        "xanchor": "right",
        "y": row,
        "yanchor": "top",
        "text": text,
        "showarrow": False,
        "font": {"size": 11, "color": COLOURS["text"].on(theme)},
    }
