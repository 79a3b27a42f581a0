"""The tabs of the Policies view."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from core.analysis.rescore import StoredFacts
from core.analysis.statistics import Estimate, Floats, PublishedRow, Rows, Sample, Summary, component_pay
from core.dataset import RADIUS, describe_seeds
from core.env.rules import ACHIEVEMENTS
from core.errors import CraftscopeError
from core.store import EpisodeSummary, World
from core.text import plural
from core.types import Difficulty, RewardConfig
from pages.components import charts
from pages.components.charts.download import Download, Table, chart_with_downloads, file_name
from pages.components.charts.figure import Theme, inert
from pages.components.lab.policies import numbers
from pages.components.lab.policies.charts import MAX_POLICIES, component_bars, dots_by_group, success_rates
from pages.components.lab.policies.filter import Chosen
from pages.components.lab.policies.policies_text import (
    INTERVALS_HELP,
    config_name,
    correlation_sentence,
    with_interval,
)
from pages.components.lab.policies.spread_charts import (
    MAX_POINTS,
    return_against_achievements,
    returns,
    unlock_curves,
    unlock_quartiles,
)
from pages.components.lab.policies.tables import pay_csv, show_pay, success_csv
from pages.components.shared.state import store
from pages.components.text.escape import MAX_LINE_LENGTH, escape, one_line, safe_text
from pages.components.text.format import short_id, signed, words

BY_KEY = "across_by"
AMOUNT_KEY = "across_amount"
ACHIEVEMENT_KEY = "across_achievement"

_BY = ("Policy", "Seed difficulty", "Both")
_AMOUNTS = ("Mean of an episode", "Share of the total paid")
_NOT_RATED = "not rated"
_GROUPS = (*(difficulty.value for difficulty in Difficulty), _NOT_RATED)
_RATED_AT_ONCE = 24
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
    theme: Theme

    @property
    def drawn(self) -> dict[str, Rows]:
        """The policies shown in charts: those with the most episodes."""
        most = sorted(self.policies, key=lambda policy: -len(self.policies[policy]))[:MAX_POLICIES]
        return {policy: rows for policy, rows in self.policies.items() if policy in most}

    @property
    def episodes(self) -> list[EpisodeSummary]:
        return [self.stored.episodes[row] for row in self.chosen.rows]


def show_achievements(its: Compared) -> None:
    drawn = {policy: its.summaries[policy] for policy in its.drawn}
    _show(
        success_rates(drawn, its.chosen.places, its.published, its.theme),
        "success-rates",
        "The share of episodes that unlocked each achievement, for each policy",
        lambda: success_csv(its.summaries, its.published),
    )
    _note_left_out(its)
    st.caption(f"{INTERVALS_HELP} Hollow marks are published results, made under other protocols.")


def show_rewards(its: Compared) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        by = st.segmented_control("By", _BY, default=_BY[0], required=True, key=BY_KEY, bind="query-params")
        amount = st.segmented_control(
            "Amount", _AMOUNTS, default=_AMOUNTS[0], required=True, key=AMOUNT_KEY, bind="query-params"
        )
    known = {} if by == _BY[0] else _difficulties(its)
    groups = _groups(its, str(by), known)
    table = numbers.components(its.key, its.stored)
    pays = {group: component_pay(table, rows) for group, rows in groups.items()}
    _warn_of_mixed_configs(its)
    if not any(pays.values()):
        st.info("No reward components: the shaping paid nothing in these episodes.")
        return
    _show(
        component_bars(pays, amount == _AMOUNTS[1], its.theme),
        "components",
        "What each reward component paid, stacked for each group",
        lambda: pay_csv(pays),
    )
    if by == _BY[0]:
        _note_left_out(its)
    else:
        _offer_rating(its, known)
    st.caption("Shaped rewards as played, λ included. Shares are of the sum of all absolute amounts.")
    with st.expander("As a table"):
        show_pay(pays)


def show_difficulty(its: Compared) -> None:
    known = _difficulties(its)
    groups = _by_difficulty(its, known)
    rows = {(group, policy): rows for group, policies in groups.items() for policy, rows in policies.items()}
    key = _digest(its.chosen.key, *(f"{group}:{policy}:{len(r)}:{r.sum()}" for (group, policy), r in rows.items()))
    found = numbers.summaries(key, its.sample, {"\0".join(of): its_rows for of, its_rows in rows.items()})
    summaries = {tuple(joined.split("\0")): summary for joined, summary in found.items()}
    labels = {group: _group_label(its, group, policies) for group, policies in groups.items()}
    left, right = st.columns(2)
    for column, title, what in (
        (left, "achievements, mean of an episode", lambda summary: summary.achievements),
        (right, "shaped return, mean of an episode", lambda summary: summary.shaped_return),
    ):
        of = cast(Callable[[Summary], Estimate], what)
        estimates = {
            labels[group]: {
                policy: _dot(policy, of(summaries[group, policy]), summaries[group, policy]) for policy in its_policies
            }
            for group, its_policies in groups.items()
        }
        with column:
            _show(
                dots_by_group(estimates, list(its.drawn), its.chosen.places, title, its.theme),
                f"difficulty-{title.split(',')[0]}",
                f"{title} by the difficulty of the seed",
                lambda: _difficulty_csv(summaries),
            )
    _offer_rating(its, known)
    _note_left_out(its)
    st.caption(escape(f"{_DIFFICULTY_HELP} {INTERVALS_HELP}"))


def show_returns(its: Compared) -> None:
    drawn = its.drawn
    spreads = numbers.distributions(its.chosen.key, its.sample, its.policies)
    figure = returns(its.sample, its.stored.episodes, drawn, spreads, its.chosen.places, its.theme)
    picked = _show_points(
        figure,
        f"returns-{its.chosen.key}",
        "Both returns of each episode, a row for each policy",
        lambda: _episodes_csv(its),
    )
    _show_picked(its, picked)
    _note_left_out(its)
    thin = any(len(rows) > MAX_POINTS for rows in drawn.values())
    points = f"At most {MAX_POINTS} episodes of a policy are drawn, evenly by their return. " if thin else ""
    st.caption(
        f"{points}The bar below the points is the middle half of all episodes, the mark in it their median. The two "
        "returns are on different scales."
    )
    _warn_of_mixed_configs(its)


def show_unlock_times(its: Compared) -> None:
    table = numbers.unlocks(its.key, its.stored)
    drawn = its.drawn
    times = numbers.times(its.chosen.key, table, its.policies)
    left, right = st.columns([1.15, 1])
    with left:
        _show(
            unlock_quartiles({policy: times[policy] for policy in drawn}, its.chosen.places, its.theme),
            "unlock-times",
            "The step at which each achievement is first unlocked, for each policy",
            lambda: _times_csv(its, table),
        )
        st.caption(
            "Mark: median step of the first unlock; line: middle half; both over the episodes that reached it. Paler "
            "marks: fewer episodes reached it."
        )
    with right:
        _show_curves(its, table, drawn)
    _note_left_out(its)


def show_association(its: Compared) -> None:
    found = numbers.correlations(its.chosen.key, its.sample, its.policies)
    figure = return_against_achievements(its.sample, its.stored.episodes, its.drawn, its.chosen.places, its.theme)
    picked = _show_points(
        figure,
        f"association-{its.chosen.key}",
        "Shaped return against achievements, a point for each episode",
        lambda: _episodes_csv(its),
    )
    _show_picked(its, picked)
    with st.container(border=True, gap="xsmall"):
        st.markdown("**Spearman's rank correlation of shaped return and achievements**")
        if len(its.policies) > 1:
            st.text(correlation_sentence("All together", found[numbers.ALL_TOGETHER]))
        drawn = its.drawn
        for policy in drawn:
            st.text(correlation_sentence(policy, found[policy]))
        others = [policy for policy in its.policies if policy not in drawn]
        if others:
            with st.expander(f"{len(others)} more policies"):
                for policy in others:
                    st.text(correlation_sentence(policy, found[policy]))
        st.caption(
            "1: more achievements always have a higher shaped return; 0: no order; −1: the reverse. All policies "
            "together may differ from each policy alone. Interval: 95%, percentiles of a bootstrap over seeds. Points "
            "with equal numbers are scattered a little, so that all are visible."
        )
    _note_left_out(its)
    _warn_of_mixed_configs(its)


def _difficulties(its: Compared) -> dict[World, Difficulty]:
    return numbers.difficulties(its.chosen.key, its.episodes)


def _group_of(episode: EpisodeSummary, known: Mapping[World, Difficulty]) -> str:
    difficulty = known.get(numbers.world_of(episode))
    return _NOT_RATED if difficulty is None else difficulty.value


def _by_difficulty(its: Compared, known: Mapping[World, Difficulty]) -> dict[str, dict[str, Rows]]:
    """Difficulty -> policy -> rows, without empty groups."""
    groups: dict[str, dict[str, list[int]]] = {group: {} for group in _GROUPS}
    for policy, rows in its.drawn.items():
        for row in rows:
            group = _group_of(its.stored.episodes[row], known)
            groups[group].setdefault(policy, []).append(int(row))
    return {
        group: {policy: np.array(rows, np.int64) for policy, rows in policies.items()}
        for group, policies in groups.items()
        if policies
    }


def _group_label(its: Compared, group: str, policies: Mapping[str, Rows]) -> str:
    rows = np.concatenate(list(policies.values()))
    return f"{group}<br>{plural(len(np.unique(its.sample.seeds[rows])), 'seed')}, {plural(len(rows), 'episode')}"


def _dot(policy: str, estimate: Estimate, summary: Summary) -> tuple[Estimate, str]:
    return estimate, (
        f"<b>{inert(policy)}</b>: {signed(estimate.value)}<br>{with_interval(estimate, summary.n_seeds, 2)}, "
        f"{plural(summary.n_episodes, 'episode')}"
    )


def _offer_rating(its: Compared, known: Mapping[World, Difficulty]) -> None:
    missing = sorted({numbers.world_of(e) for e in its.episodes} - known.keys(), key=lambda world: world[:2])
    if not missing:
        return
    n = min(len(missing), _RATED_AT_ONCE)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"Worlds without a difficulty rating: {len(missing):,}", width="content")
        which = "it" if len(missing) == 1 else f"all {n}" if n == len(missing) else f"the first {n}"
        clicked = st.button(f"Rate {which}", key="across_describe", disabled=store().read_only)
    if clicked:
        _rate(missing[:n])
        numbers.difficulties.clear()
        st.rerun()


def _rate(worlds: Sequence[World]) -> None:
    bar = st.progress(0.0, "Rating worlds…")
    for done, (seed, world_episode, env) in enumerate(worlds, start=1):
        try:
            list(describe_seeds(store(), [seed], world_episode=world_episode, env=env))
        except CraftscopeError as error:
            st.error(escape(f"Cannot rate seed {seed}: {error}"))
            st.stop()
        bar.progress(done / len(worlds), f"Rated {done} of {len(worlds)} worlds")


def _groups(its: Compared, by: str, known: Mapping[World, Difficulty]) -> dict[str, Rows]:
    """Label of a bar -> its rows: by policy, by difficulty, or by both."""
    if by == _BY[0]:
        return {_sized(policy, rows): rows for policy, rows in its.drawn.items()}
    found = _by_difficulty(its, known)
    if by == _BY[1]:
        together = {group: np.concatenate(list(policies.values())) for group, policies in found.items()}
        return {_sized(group, rows): rows for group, rows in together.items()}
    return {
        _sized(f"{group}, {policy}", rows): rows
        for group, policies in found.items()
        for policy, rows in policies.items()
    }


def _sized(name: str, rows: Rows) -> str:
    return f"{name} ({plural(len(rows), 'episode')})"


def _warn_of_mixed_configs(its: Compared) -> None:
    hashes = list(dict.fromkeys(episode.config_hash for episode in its.episodes))
    if len(hashes) > 1:
        names = ", ".join(config_name(name, its.configs) for name in hashes[:3])
        more = f" and {len(hashes) - 3} more" if len(hashes) > 3 else ""
        st.caption(escape(f"Mixed: rewards of {len(hashes)} configurations ({names}{more}), which cannot be compared."))


def _show_curves(its: Compared, table: Floats, drawn: Mapping[str, Rows]) -> None:
    success = its.sample.unlocked[its.chosen.rows].mean(axis=0)
    default = int(np.argmin(np.abs(success - 0.5)))  # unlocked in about half of the episodes
    if ACHIEVEMENT_KEY not in st.session_state and ACHIEVEMENT_KEY not in st.query_params:
        st.session_state[ACHIEVEMENT_KEY] = ACHIEVEMENTS[default]
    name = st.selectbox("Achievement", ACHIEVEMENTS, key=ACHIEVEMENT_KEY, bind="query-params", format_func=words)
    place = ACHIEVEMENTS.index(name) if name in ACHIEVEMENTS else default
    found = numbers.curves(place, table, its.sample, drawn)
    sizes = {policy: len(rows) for policy, rows in drawn.items()}
    _show(
        unlock_curves(ACHIEVEMENTS[place], found, sizes, its.chosen.places, its.theme),
        "unlock-curve",
        f"The share of episodes that have unlocked {words(ACHIEVEMENTS[place])} by each step",
        lambda: [
            ("who", "step", "share"),
            *((who, int(s), float(p)) for who, c in found.items() for s, p in zip(c.steps, c.shares, strict=True)),
        ],
    )
    st.caption(_CURVES_HELP)


def _show(figure: go.Figure, name: str, alt: str, table: Callable[[], Table]) -> None:
    charts.show(figure, key=f"across-{name}", alt=alt, download=Download(file_name("policies", name), table))


def _show_points(figure: go.Figure, name: str, alt: str, table: Callable[[], Table]) -> str | None:
    """Shows a chart whose points are episodes. Returns the id of the clicked one."""
    download = Download(file_name("policies", name.split("-")[0]), table)
    key = f"across-{name}"
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
    data = points[0].get("customdata") if points else None
    return str(data[0]) if isinstance(data, list | tuple) and data else None


def _show_picked(its: Compared, episode_id: str | None) -> None:
    """A link to the clicked episode, or a hint of the same height, so that a click moves nothing."""
    picked = next((e for e in its.stored.episodes if e.id == episode_id), None) if episode_id else None
    with st.container(horizontal=True, vertical_alignment="center", border=True, key="across-picked"):
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


def _note_left_out(its: Compared) -> None:
    if len(its.policies) > MAX_POLICIES:
        st.caption(
            f"Showing the {MAX_POLICIES} policies with the most episodes; the table above has all {len(its.policies)}."
        )


def _episodes_csv(its: Compared) -> Table:
    heading = (
        *("episode", "run", "who", "seed", "world", "reward_configuration"),
        *("achievements", "shaped_return", "env_return", "steps", "ended"),
    )
    rows = (
        (
            *(e.id, e.run_id, who, e.seed, e.world_episode, e.config_hash),
            *(e.n_achievements, e.shaped_return, e.env_return, e.n_steps, e.stop_reason or ""),
        )
        for who, e in zip(its.chosen.policies, its.episodes, strict=True)
    )
    return [heading, *rows]


def _times_csv(its: Compared, table: Floats) -> Table:
    heading = ("episode", "who", *(f"{name}_step" for name in ACHIEVEMENTS))
    rows = (
        (
            its.stored.episodes[row].id,
            who,
            *(None if np.isnan(step) else int(step) for step in table[row]),
        )
        for row, who in zip(its.chosen.rows, its.chosen.policies, strict=True)
    )
    return [heading, *rows]


def _difficulty_csv(summaries: Mapping[tuple[str, ...], Summary]) -> Table:
    heading = (
        *("difficulty", "who", "episodes", "seeds", "mean_achievements", "achievements_low", "achievements_high"),
        *("mean_shaped_return", "shaped_return_low", "shaped_return_high"),
    )
    rows = (
        (
            *(*of, s.n_episodes, s.n_seeds, s.achievements.value, s.achievements.low, s.achievements.high),
            *(s.shaped_return.value, s.shaped_return.low, s.shaped_return.high),
        )
        for of, s in summaries.items()
    )
    return [heading, *rows]


def _digest(*parts: str) -> str:
    return hashlib.blake2b("\n".join(parts).encode("utf-8", "replace"), digest_size=16).hexdigest()
