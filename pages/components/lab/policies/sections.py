"""The tabs of the Policies view."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from core.analysis.rescore import StoredFacts
from core.analysis.statistics import Estimate, PublishedRow, Rows, Sample, Summary, component_pay, unlock_curve
from core.dataset import RADIUS
from core.env.rules import ACHIEVEMENTS
from core.store import EpisodeSummary, World
from core.text import plural
from core.types import Difficulty, Floats, RewardConfig
from pages.components import charts
from pages.components.charts.download import Download, Table, chart_with_downloads, file_name
from pages.components.charts.figure import inert
from pages.components.lab.policies import numbers
from pages.components.lab.policies.charts import MAX_POLICIES, component_bars, dots_by_group, success_rates
from pages.components.lab.policies.filter import Chosen
from pages.components.lab.policies.policies_text import (
    INTERVALS_HELP,
    config_name,
    correlation_sentence,
    with_interval,
)
from pages.components.lab.policies.rating import offer_rating
from pages.components.lab.policies.spread_charts import (
    MAX_POINTS,
    return_against_achievements,
    returns,
    unlock_curves,
    unlock_quartiles,
)
from pages.components.lab.policies.tables import difficulty_csv, episodes_csv, pay_csv, show_pay, success_csv, times_csv
from pages.components.lab.shared.marks import PolicyStyle
from pages.components.text.escape import MAX_LINE_LENGTH, escape, one_line, safe_text
from pages.components.text.format import listed, name_text, short_id, signed

BY_KEY = "across_by"
AMOUNT_KEY = "across_amount"
ACHIEVEMENT_KEY = "across_achievement"

_BY = ("Policy", "Seed difficulty", "Both")
_AMOUNTS = ("Mean of an episode", "Share of the total paid")
_NOT_RATED = "not rated"
_GROUPS = (*(difficulty.value for difficulty in Difficulty), _NOT_RATED)
_MAX_CONFIGS = 3
_DIFFICULTY_HELP = (
    f"Difficulty depends on what is within {RADIUS} cells of the start: easy has 4 trees or more and no "
    "zombie or skeleton, medium 2 trees or more and at most 2 of them, hard at most 5 of them, custom everything else."
)
_CURVES_HELP = (
    "Cumulative incidence: a character that dies without the achievement never unlocks it; an episode that reaches a "
    "limit or is stopped is not counted after that step (it is censored)."
)


@dataclass(frozen=True)
class Compared:
    """The data of all tabs.

    stored, key, sample: all finished episodes, their cache key, and their numbers as arrays. chosen: those that match
    the filters. policies, summaries: of the chosen, highest score first. published: the published rows to show.
    """

    stored: StoredFacts
    key: str
    chosen: Chosen
    sample: Sample
    policies: Mapping[str, Rows]
    summaries: Mapping[str, Summary]
    published: Sequence[PublishedRow]
    configs: Mapping[str, RewardConfig]
    style: PolicyStyle

    @property
    def drawn(self) -> dict[str, Rows]:
        """The policies shown in charts: those with the most episodes."""
        most = sorted(self.policies, key=lambda policy: -len(self.policies[policy]))[:MAX_POLICIES]
        return {policy: rows for policy, rows in self.policies.items() if policy in most}

    @property
    def episodes(self) -> list[EpisodeSummary]:
        return [self.stored.episodes[row] for row in self.chosen.rows]


def show_achievements(data: Compared) -> None:
    drawn = {policy: data.summaries[policy] for policy in data.drawn}
    _show(
        success_rates(drawn, data.published, data.style),
        "success-rates",
        "The share of episodes that unlocked each achievement, for each policy",
        lambda: success_csv(data.summaries, data.published),
    )
    _note_left_out(data)
    st.caption(f"{INTERVALS_HELP} Hollow marks are published results, made under other protocols.")


def show_rewards(data: Compared) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        by = st.segmented_control("By", _BY, default=_BY[0], required=True, key=BY_KEY, bind="query-params")
        amount = st.segmented_control(
            "Amount", _AMOUNTS, default=_AMOUNTS[0], required=True, key=AMOUNT_KEY, bind="query-params"
        )
    known = {} if by == _BY[0] else _difficulties(data)
    table = numbers.components(data.key, data.stored)
    pays = {group: component_pay(table, rows) for group, rows in _groups(data, str(by), known).items()}
    _warn_of_mixed_configs(data)
    if not any(pays.values()):
        st.info("No reward components: the shaping paid nothing in these episodes.")
        return
    _show(
        component_bars(pays, amount == _AMOUNTS[1], data.style.theme),
        "components",
        "What each reward component paid, stacked for each group",
        lambda: pay_csv(pays),
    )
    if by == _BY[0]:
        _note_left_out(data)
    else:
        offer_rating(data.episodes, known)
    st.caption("Shaped rewards as played, λ included. Shares are of the sum of all absolute amounts.")
    with st.expander("As a table"):
        show_pay(pays)


def show_difficulty(data: Compared) -> None:
    known = _difficulties(data)
    groups = _by_difficulty(data, known)
    # Worlds are only ever added to `known`, so its size tells which episodes are in a group.
    summaries = {
        group: numbers.summaries(f"{data.chosen.key}:{group}:{len(known)}", data.sample, policies)
        for group, policies in groups.items()
    }
    labels = {group: _group_label(data, group, policies) for group, policies in groups.items()}
    titles: dict[str, Callable[[Summary], Estimate]] = {
        "achievements, mean of an episode": lambda summary: summary.achievements,
        "shaped return, mean of an episode": lambda summary: summary.shaped_return,
    }
    for column, (title, value_of) in zip(st.columns(2), titles.items(), strict=True):
        estimates = {
            labels[group]: {policy: _estimate(policy, value_of(its), its) for policy, its in of_group.items()}
            for group, of_group in summaries.items()
        }
        with column:
            _show(
                dots_by_group(estimates, list(data.drawn), title, data.style),
                f"difficulty-{title.split(',')[0]}",
                f"{title} by the difficulty of the seed",
                lambda: difficulty_csv(summaries),
            )
    offer_rating(data.episodes, known)
    _note_left_out(data)
    st.caption(escape(f"{_DIFFICULTY_HELP} {INTERVALS_HELP}"))


def show_returns(data: Compared) -> None:
    drawn = data.drawn
    spreads = numbers.distributions(data.chosen.key, data.sample, data.policies)
    _show_points(
        data,
        returns(data.sample, data.stored.episodes, drawn, spreads, data.style),
        "returns",
        "Both returns of each episode, a row for each policy",
    )
    _note_left_out(data)
    thin = any(len(rows) > MAX_POINTS for rows in drawn.values())
    points = f"At most {MAX_POINTS} episodes of a policy are drawn, evenly by their return. " if thin else ""
    st.caption(
        f"{points}The bar below the points is the middle half of all episodes, the mark in it their median. The two "
        "returns are on different scales."
    )
    _warn_of_mixed_configs(data)


def show_unlock_times(data: Compared) -> None:
    table = numbers.unlocks(data.key, data.stored)
    times = numbers.times(data.chosen.key, table, data.policies)
    left, right = st.columns([1.15, 1])
    with left:
        _show(
            unlock_quartiles({policy: times[policy] for policy in data.drawn}, data.style),
            "unlock-times",
            "The step at which each achievement is first unlocked, for each policy",
            lambda: times_csv(data.chosen.policies, data.episodes, table[data.chosen.rows]),
        )
        st.caption(
            "Mark: median step of the first unlock; line: middle half; both over the episodes that reached it. Paler "
            "marks: fewer episodes reached it."
        )
    with right:
        _show_curves(data, table)
    _note_left_out(data)


def show_association(data: Compared) -> None:
    found = numbers.correlations(data.chosen.key, data.sample, data.policies)
    drawn = data.drawn
    _show_points(
        data,
        return_against_achievements(data.sample, data.stored.episodes, drawn, data.style),
        "association",
        "Shaped return against achievements, a point for each episode",
    )
    with st.container(border=True, gap="xsmall"):
        st.markdown("**Spearman's rank correlation of shaped return and achievements**")
        if len(data.policies) > 1:
            st.text(correlation_sentence("All together", found[numbers.ALL_TOGETHER]))
        for policy in drawn:
            st.text(correlation_sentence(policy, found[policy]))
        others = [policy for policy in data.policies if policy not in drawn]
        if others:
            with st.expander(f"{len(others)} more policies"):
                for policy in others:
                    st.text(correlation_sentence(policy, found[policy]))
        st.caption(
            "1: more achievements always have a higher shaped return; 0: no order; −1: the reverse. All policies "
            "together may differ from each policy alone. Interval: 95%, percentiles of a bootstrap over seeds. Points "
            "with equal numbers are scattered a little, so that all are visible."
        )
    _note_left_out(data)
    _warn_of_mixed_configs(data)


def _difficulties(data: Compared) -> dict[World, Difficulty]:
    return numbers.difficulties(data.chosen.key, data.episodes)


def _by_difficulty(data: Compared, known: Mapping[World, Difficulty]) -> dict[str, dict[str, Rows]]:
    """Difficulty -> policy -> rows, without empty groups."""
    groups: dict[str, dict[str, list[int]]] = {group: {} for group in _GROUPS}
    for policy, rows in data.drawn.items():
        for row in rows:
            difficulty = known.get(numbers.world_of(data.stored.episodes[row]))
            group = difficulty.value if difficulty else _NOT_RATED
            groups[group].setdefault(policy, []).append(int(row))
    return {
        group: {policy: np.array(rows, np.int64) for policy, rows in policies.items()}
        for group, policies in groups.items()
        if policies
    }


def _group_label(data: Compared, group: str, policies: Mapping[str, Rows]) -> str:
    rows = np.concatenate(list(policies.values()))
    return f"{group}<br>{plural(len(np.unique(data.sample.seeds[rows])), 'seed')}, {plural(len(rows), 'episode')}"


def _estimate(policy: str, estimate: Estimate, summary: Summary) -> tuple[Estimate, str]:
    return estimate, (
        f"<b>{inert(policy)}</b>: {signed(estimate.value)}<br>{with_interval(estimate, summary.n_seeds, 2)}, "
        f"{plural(summary.n_episodes, 'episode')}"
    )


def _groups(data: Compared, by: str, known: Mapping[World, Difficulty]) -> dict[str, Rows]:
    """Label of a bar -> its rows: by policy, by difficulty, or by both."""
    if by == _BY[0]:
        groups = data.drawn
    elif by == _BY[1]:
        found = _by_difficulty(data, known)
        groups = {group: np.concatenate(list(policies.values())) for group, policies in found.items()}
    else:
        groups = {
            f"{group}, {policy}": rows
            for group, policies in _by_difficulty(data, known).items()
            for policy, rows in policies.items()
        }
    return {f"{name} ({plural(len(rows), 'episode')})": rows for name, rows in groups.items()}


def _warn_of_mixed_configs(data: Compared) -> None:
    hashes = list(dict.fromkeys(episode.config_hash for episode in data.episodes))
    if len(hashes) > 1:
        names = listed([config_name(name, data.configs) for name in hashes], _MAX_CONFIGS)
        st.caption(escape(f"Mixed: rewards of {len(hashes)} configurations ({names}), which cannot be compared."))


def _show_curves(data: Compared, table: Floats) -> None:
    success = data.sample.unlocked[data.chosen.rows].mean(axis=0)
    default = int(np.argmin(np.abs(success - 0.5)))  # unlocked in about half of the episodes
    if ACHIEVEMENT_KEY not in st.session_state and ACHIEVEMENT_KEY not in st.query_params:
        st.session_state[ACHIEVEMENT_KEY] = ACHIEVEMENTS[default]
    name = st.selectbox("Achievement", ACHIEVEMENTS, key=ACHIEVEMENT_KEY, bind="query-params", format_func=name_text)
    place = ACHIEVEMENTS.index(name) if name in ACHIEVEMENTS else default
    found = {
        policy: unlock_curve(table[rows, place], data.sample.n_steps[rows], data.sample.has_died[rows])
        for policy, rows in data.drawn.items()
    }
    sizes = {policy: len(rows) for policy, rows in data.drawn.items()}
    _show(
        unlock_curves(ACHIEVEMENTS[place], found, sizes, data.style),
        "unlock-curve",
        f"The share of episodes that have unlocked {name_text(ACHIEVEMENTS[place])} by each step",
        lambda: [
            ("who", "step", "share"),
            *((who, int(s), float(p)) for who, c in found.items() for s, p in zip(c.steps, c.shares, strict=True)),
        ],
    )
    st.caption(_CURVES_HELP)


def _show(figure: go.Figure, name: str, alt: str, table: Callable[[], Table]) -> None:
    charts.show(figure, key=f"policies-{name}", alt=alt, download=Download(file_name("policies", name), table))


def _show_points(data: Compared, figure: go.Figure, name: str, alt: str) -> None:
    """Shows a chart whose points are episodes, and below it a link to the clicked one."""
    download = Download(file_name("policies", name), lambda: episodes_csv(data.chosen.policies, data.episodes))
    key = f"policies-{name}-{data.chosen.key}"
    with chart_with_downloads(key, download):
        event = st.plotly_chart(
            figure,
            key=key,
            config=charts.CONFIG | download.config,
            theme="streamlit",
            alt=safe_text(alt, MAX_LINE_LENGTH),
            on_select="rerun",
            selection_mode="points",
        )
    points = cast(Sequence[Mapping[str, Any]], event["selection"]["points"])
    clicked = points[0].get("customdata") if points else None
    picked = next((episode for episode in data.episodes if clicked and episode.id == clicked[0]), None)
    # Link and hint have the same height, so that a click moves nothing.
    with st.container(horizontal=True, vertical_alignment="center", border=True, key="policies-picked"):
        if picked is None:
            st.caption("Click a point to open its episode.", width="content")
            return
        st.page_link(
            "pages/episode.py",
            label=f"Open episode {escape(short_id(picked.id))} →",
            query_params={"id": picked.id},
            width="content",
        )
        st.text(
            f"{one_line(picked.policy, 40)} on seed {picked.seed}: {plural(picked.n_achievements, 'achievement')}, "
            f"shaped return {signed(picked.shaped_return)}, environment return {signed(picked.env_return)}, "
            f"{plural(picked.n_steps, 'step')}"
        )


def _note_left_out(data: Compared) -> None:
    if len(data.policies) > MAX_POLICIES:
        st.caption(
            f"Showing the {MAX_POLICIES} policies with the most episodes; the table above has all {len(data.policies)}."
        )
