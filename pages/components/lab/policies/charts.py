"""Charts that compare policies by achievements and by reward components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from core.analysis.statistics import ComponentPay, Estimate, PublishedRow, Summary
from core.env.rules import ACHIEVEMENTS
from core.text import plural
from pages.components.charts.component_colours import component_colour
from pages.components.charts.figure import COLOURS, Theme, inert, styled
from pages.components.lab.policies.policies_text import percent, with_interval
from pages.components.lab.shared.marks import PolicyStyle, error_bars, marks, published_marker, row_axis
from pages.components.text.escape import one_line
from pages.components.text.format import name_text, signed
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

Component = tuple[str, str]
"""Kind and name."""


def scores(summaries: Mapping[str, Summary], published: Sequence[PublishedRow], style: PolicyStyle) -> go.Figure:
    """Crafter score and achievements: a row for each policy, and below them, on grey, for each published result.

    summaries: from top to bottom.
    """
    n = len(summaries)
    below = [n + 0.6 + place for place in range(len(published))]
    traces: list[dict[str, Any]] = []
    for row, (policy, summary) in enumerate(summaries.items()):
        for axis, estimate, text, unit in (
            ("x", summary.score, f"Crafter score {summary.score.value:.1f}%", "%"),
            ("x2", summary.achievements, f"{summary.achievements.value:.1f} achievements in the mean episode", ""),
        ):
            interval = with_interval(estimate, summary.n_seeds, unit=unit)
            hover = f"<b>{inert(policy)}</b>: {text}<br>{interval}, {plural(summary.n_episodes, 'episode')}"
            dots = _estimate_marks([estimate], [row], policy, [hover], style)
            traces.append(dots | {"xaxis": axis, "showlegend": False})
    for place, result in enumerate(published):
        hover = (
            f"<b>{inert(result.label)}</b>, published: {{}}<br>{plural(result.episodes, 'episode')}; another protocol"
        )
        marker = published_marker(place, style.theme)
        achievements = result.progress * len(ACHIEVEMENTS)
        for axis, value, text in (
            ("x", result.score, f"Crafter score {result.score or 0:.1f}%"),
            ("x2", achievements, f"{achievements:.1f} achievements"),
        ):
            if value is not None:
                its_hover = [hover.format(text)]
                traces.append(marks([value], [below[place]], marker, its_hover, xaxis=axis, showlegend=False))
    last = below[-1] + 0.6 if published else n - 0.4
    highest = [summary.score.high or summary.score.value for summary in summaries.values()]
    highest += [result.score for result in published if result.score is not None]
    notes = [_note("published", n - 0.2, style.theme), _note("stored here", -1.0, style.theme)]
    return styled(
        traces,
        style.theme,
        height=round(_ROW_PX * (last + 0.6)) + 68 + ABOVE_PX,
        x={"title": {"text": "Crafter score, %"}, "range": [0, 1.08 * max([1.0, *highest])], "domain": [0, 0.48]},
        y=row_axis(
            [*summaries, *(result.label for result in published)],
            tickvals=[*range(n), *below],
            range=[last, -1.0 if published else -0.6],
        ),
        xaxis2=right_axis(f"achievements of {len(ACHIEVEMENTS)}, mean of an episode", range=[0, len(ACHIEVEMENTS)]),
        shapes=[_background(n - 0.2, last, style.theme)] if published else [],
        annotations=notes if published else [],
        margin={"l": 4, "r": 12, "t": ABOVE_PX, "b": 4},
    )


def success_rates(summaries: Mapping[str, Summary], published: Sequence[PublishedRow], style: PolicyStyle) -> go.Figure:
    """A row for each achievement, the most often unlocked on top, with the marks of policies and published results."""
    means = [sum(summary.success[place].value for summary in summaries.values()) for place in range(len(ACHIEVEMENTS))]
    rows = sorted(range(len(ACHIEVEMENTS)), key=lambda place: -means[place])
    known = [result for result in published if result.success is not None]
    n = len(summaries) + len(known)
    row_px = max(_THIN_ROW_PX, _LINE_PX * (n + 1))
    heights = [[row + _LINE_PX / row_px * (place - (n - 1) / 2) for row in range(len(rows))] for place in range(n)]
    traces: list[dict[str, Any]] = []
    for place, result in enumerate(known):
        rates = [(result.success or {}).get(ACHIEVEMENTS[at], 0.0) for at in rows]
        hovers = [
            f"<b>{name_text(ACHIEVEMENTS[at])}</b>: {inert(result.label)} (published) in {percent(rate, 1)} of "
            f"{plural(result.episodes, 'episode')}"
            for at, rate in zip(rows, rates, strict=True)
        ]
        marker = published_marker(place, style.theme, _SMALL_PX)
        name = f"{inert(result.label)}, published"
        traces.append(marks([100 * rate for rate in rates], heights[len(summaries) + place], marker, hovers, name=name))
    for place, (policy, summary) in enumerate(summaries.items()):
        hovers = [
            f"<b>{name_text(ACHIEVEMENTS[at])}</b>: {inert(policy)} in {summary.n_successes[at]:,} of "
            f"{plural(summary.n_episodes, 'episode')} ({percent(summary.success[at].value)})<br>"
            f"{with_interval(summary.success[at], summary.n_seeds, 0, 100, '%')}"
            for at in rows
        ]
        estimates = [summary.success[at].times(100) for at in rows]
        traces.append(_estimate_marks(estimates, heights[place], policy, hovers, style, size=_SMALL_PX))
    return styled(
        traces,
        style.theme,
        height=row_px * len(rows) + 110,
        x={"title": {"text": "episodes that unlocked it, %"}, "range": [-2, 102], "ticksuffix": "%"},
        y=row_axis([name_text(ACHIEVEMENTS[at]) for at in rows], showgrid=True),
    )


def component_bars(pays: Mapping[str, Sequence[ComponentPay]], as_shares: bool, theme: Theme) -> go.Figure:
    """What each component paid, a stacked bar for each group: means of an episode, or shares of the total paid.

    Components are sorted by kind. The legend lists only the largest.
    """
    parts = [{(part.kind, part.name): part for part in of_group} for of_group in pays.values()]
    largest_share: dict[Component, float] = {}
    for component, part in (entry for of_group in parts for entry in of_group.items()):
        largest_share[component] = max(largest_share.get(component, 0.0), part.share)
    by_share = sorted(largest_share, key=lambda component: -largest_share[component])
    traces: list[dict[str, Any]] = []
    for component in _by_kind(by_share[:MAX_COMPONENTS], largest_share):
        label = inert(component_name(*component))
        paid = [of_group.get(component) for of_group in parts]
        hovers = [
            f"<b>{label}</b>: {_pay_text(part)}<br>{inert(group)}" if part else ""
            for group, part in zip(pays, paid, strict=True)
        ]
        values = [_bar(part, as_shares) if part else 0.0 for part in paid]
        bars = _bars(values, label, component_colour(*component, theme), hovers, theme)
        traces.append(bars | {"showlegend": component in by_share[:_MAX_LEGEND_ENTRIES]})
    if len(by_share) > MAX_COMPONENTS:
        others = [[of_group[name] for name in by_share[MAX_COMPONENTS:] if name in of_group] for of_group in parts]
        values = [sum(_bar(part, as_shares) for part in rest) for rest in others]
        hovers = [
            f"<b>{len(rest)} others</b> together<br>{inert(group)}" for group, rest in zip(pays, others, strict=True)
        ]
        traces.append(_bars(values, "others", COLOURS["axis"].on(theme), hovers, theme))
    unit = "share of the total paid, %" if as_shares else "shaped reward, mean of an episode"
    return styled(
        traces,
        theme,
        height=46 * len(pays) + 150,
        x={"title": {"text": unit}, "zeroline": True},
        y=row_axis(list(pays)),
        barmode="relative",
        bargap=0.3,
        uniformtext={"minsize": 10, "mode": "hide"},
    )


def dots_by_group(
    estimates: Mapping[str, Mapping[str, tuple[Estimate, str]]], policies: Sequence[str], title: str, style: PolicyStyle
) -> go.Figure:
    """A row for each group, with a mark for each policy. estimates: group -> policy -> (estimate, hover text).

    policies: from top to bottom in each row. Groups may contain HTML.
    """
    groups = list(estimates)
    traces: list[dict[str, Any]] = []
    for offset, policy in zip(row_offsets(len(policies)), policies, strict=True):
        rows = [row for row, group in enumerate(groups) if policy in estimates[group]]
        found = [estimates[groups[row]][policy] for row in rows]
        heights = [row + offset for row in rows]
        hovers = [hover for _, hover in found]
        traces.append(_estimate_marks([estimate for estimate, _ in found], heights, policy, hovers, style))
    return styled(
        traces,
        style.theme,
        height=max(44, 16 * len(policies)) * len(groups) + 110,
        x={"title": {"text": title}, "rangemode": "tozero"},
        y=row_axis(groups, ticktext=groups, showgrid=True),
    )


def component_name(kind: str, name: str) -> str:
    """The label of a component, as on the episode page, cut."""
    return one_line(component_label(kind, name), _MAX_NAME_LENGTH)


def right_axis(title: str, **more: object) -> dict[str, Any]:
    """The x axis of the right one of two panels."""
    return {"title": {"text": title}, "domain": [0.53, 1], "anchor": "y", **more}


def row_offsets(n: int) -> list[float]:
    """Vertical offsets of n marks from the middle of their row."""
    return [0.0] if n == 1 else [_SPREAD * (place / (n - 1) - 0.5) for place in range(n)]


def _estimate_marks(
    estimates: Sequence[Estimate],
    heights: Sequence[float],
    policy: str,
    hovers: Sequence[str],
    style: PolicyStyle,
    **marker: object,
) -> dict[str, Any]:
    """The marks of one policy, with their intervals as error bars."""
    values = [estimate.value for estimate in estimates]
    lows, highs = [estimate.low for estimate in estimates], [estimate.high for estimate in estimates]
    return marks(
        values,
        heights,
        style.marker(policy, **marker),
        hovers,
        name=inert(policy),
        error_x=error_bars(values, lows, highs, style.colour(policy)),
    )


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


def _pay_text(part: ComponentPay) -> str:
    mean, total = signed(part.mean), signed(part.total)
    return f"{mean} in the mean episode, {percent(part.share)} of the total paid, {total} in total"


def _by_kind(components: Sequence[Component], share: Mapping[Component, float]) -> list[Component]:
    """Kinds that pay most first, and in each kind the components that pay most."""
    of_kind: dict[str, float] = {}
    for (kind, _), value in share.items():
        of_kind[kind] = of_kind.get(kind, 0.0) + value
    return sorted(components, key=lambda component: (-of_kind[component[0]], component[0], -share[component]))


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
