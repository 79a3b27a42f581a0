"""Across episodes: policies compared with each other and with what others have published, as fairly as that goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from core.analysis.rescore import StoredFacts
from core.analysis.statistics import HUMAN, RANDOM, Difference, PublishedRow, Rows, SeedOverlap, Summary, published_rows
from core.errors import InvalidInput, StoreError
from core.types import RewardConfig
from pages.components import charts
from pages.components.charts.download import Download, file_name
from pages.components.lab.policies import numbers
from pages.components.lab.policies.charts import scores
from pages.components.lab.policies.filter import Chosen, clear_filters, filter_bar, only_seeds
from pages.components.lab.policies.policies_text import (
    HOW_INTERVALS_ARE_MADE,
    HOW_THE_SCORE_IS_MADE,
    counted,
    summary_sentence,
    unfair_sentences,
    unfair_title,
    without_decision_in_words,
)
from pages.components.lab.policies.sections import (
    Compared,
    show_achievements,
    show_association,
    show_difficulty,
    show_returns,
    show_rewards,
    show_unlock_times,
)
from pages.components.lab.policies.tables import scores_csv, show_published, show_stored, step_limits
from pages.components.shared.state import stop_with, store
from pages.components.text.escape import MAX_LINE_LENGTH, escape, safe_text
from pages.components.text.format import number

SECTION_KEY = "across_section"
PUBLISHED_KEY = "across_published"

_MODELS_AT_FIRST = 2
_MAX_PLAYERS_IN_THE_CHART = 16
_SECTIONS = {
    "Achievements": show_achievements,
    "Rewards": show_rewards,
    "Seed difficulty": show_difficulty,
    "Returns": show_returns,
    "Unlock times": show_unlock_times,
    "Return and achievements": show_association,
}


def show_policies(stored: StoredFacts) -> None:
    """Draw the view of all that is stored and over."""
    if not stored.episodes:
        _show_nothing()
        return
    key = numbers.key_of(stored)
    chosen = filter_bar(stored.episodes, key)
    if not len(chosen.rows):
        st.info("No finished episode matches these filters. Loosen one, or clear all filters.")
        st.button("Clear filters", on_click=clear_filters, key="across_clear")
        return
    try:
        _show_chosen(stored, key, chosen)
    except (StoreError, InvalidInput) as error:
        stop_with("Cannot read the comparison", error)


def _show_chosen(stored: StoredFacts, key: str, chosen: Chosen) -> None:
    sample = numbers.sample(key, stored)
    summaries = _best_first(numbers.summaries(chosen.key, sample, chosen.by_policy()))
    policies = {policy: rows for policy, rows in _rows(chosen, summaries).items()}
    configs = numbers.configs(key, stored.episodes)
    found = numbers.unfairness(chosen.key, [stored.episodes[row] for row in chosen.rows], chosen.policies)
    _show_what_is_compared(chosen, summaries)
    _show_unfairness(*found, configs)
    overview = st.container()
    with st.container(border=True):
        published = _choose_published()
        if published:
            first = stored.episodes[chosen.rows[0]]
            show_published(published, step_limits(found[0], min(first.limits.max_steps, first.env.length)))
    its = Compared(stored, key, chosen, sample, policies, summaries, published, configs, charts.theme())
    with overview:
        _show_overview(its)
    tabs = st.tabs(list(_SECTIONS), key=SECTION_KEY, on_change="rerun", bind="query-params")
    at = next((at for at, tab in enumerate(tabs) if tab.open), 0)
    with tabs[at]:
        _SECTIONS[list(_SECTIONS)[at]](its)


def _best_first(summaries: Mapping[str, Summary]) -> dict[str, Summary]:
    return dict(sorted(summaries.items(), key=lambda entry: -entry[1].score.value))


def _rows(chosen: Chosen, summaries: Mapping[str, Summary]) -> dict[str, Rows]:
    rows = chosen.by_policy()
    return {policy: rows[policy] for policy in summaries}


def _show_nothing() -> None:
    with st.container(border=True):
        st.subheader("Nothing to compare yet", anchor=False)
        st.write(
            "This view compares policies over many episodes: success rates, rewards by component, and intervals. It "
            "needs finished episodes, ideally of two or more policies on the same seeds."
        )
        with st.container(horizontal=True):
            for label, policy in (
                ("Launch the scripted policy on ten seeds", "scripted"),
                ("… and a random one", "random"),
            ):
                st.page_link("pages/launch.py", label=label, query_params={"play": "42-51", "by": policy})


def _show_what_is_compared(chosen: Chosen, summaries: Mapping[str, Summary]) -> None:
    policies = "policy" if len(summaries) == 1 else "policies"
    compared = f"{counted(len(chosen.rows), 'episode')} by {number(len(summaries))} {policies}"
    st.caption(escape(compared + without_decision_in_words(store().rewards.without_decision())))


def _show_unfairness(found: Sequence[Difference], overlap: SeedOverlap, configs: Mapping[str, RewardConfig]) -> None:
    title = unfair_title(found, overlap)
    if not title:
        return
    st.warning(escape(title))
    with st.expander("What differs, and what it means"):
        for sentence in unfair_sentences(found, overlap, configs):
            st.text(safe_text(sentence, MAX_LINE_LENGTH))
        if overlap.common and not overlap.is_the_same:
            st.button(
                f"Compare on the {counted(len(overlap.common), 'seed')} that all of them played",
                on_click=only_seeds,
                args=(overlap.common,),
                key="across_common",
            )


def _choose_published() -> tuple[PublishedRow, ...]:
    """Which published rows to show: random, human and the furthest models, where nobody chose others."""
    rows = {row.entry: row for row in published_rows()}
    models = [row.entry for row in rows.values() if row.is_of_a_model and row.score is not None]
    wanted = st.multiselect(
        "Published results beside them",
        list(rows),
        default=[RANDOM, HUMAN, *models[:_MODELS_AT_FIRST]],
        key=PUBLISHED_KEY,
        bind="query-params",
        format_func=lambda entry: rows[entry].label,
        placeholder="None",
    )
    return tuple(row for entry, row in rows.items() if entry in wanted)


def _show_overview(its: Compared) -> None:
    drawn = dict(list(its.summaries.items())[:_MAX_PLAYERS_IN_THE_CHART])
    alt = ". ".join(summary_sentence(policy, summary) for policy, summary in drawn.items())
    charts.show(
        scores(drawn, its.chosen.places, its.published, its.theme),
        key="across-scores",
        alt=alt,
        download=Download(file_name("across", "scores"), lambda: scores_csv(its.summaries, its.published)),
    )
    show_stored(its.summaries)
    if len(its.summaries) > len(drawn):
        st.caption(f"The chart has the {len(drawn)} with the highest score, the table all {len(its.summaries)}.")
    st.caption(escape(f"{HOW_INTERVALS_ARE_MADE} {HOW_THE_SCORE_IS_MADE}"))
