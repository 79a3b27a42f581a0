"""The Policies view: compares policies with each other and with published results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from core.analysis.rescore import StoredFacts
from core.analysis.statistics import HUMAN, RANDOM, Difference, PublishedRow, SeedOverlap, published_rows
from core.errors import InvalidInput, StoreError
from core.text import plural
from core.types import RewardConfig
from pages.components import charts
from pages.components.charts.download import Download, file_name
from pages.components.lab.policies import numbers
from pages.components.lab.policies.charts import scores
from pages.components.lab.policies.filter import Chosen, clear_filters, filter_bar, only_seeds
from pages.components.lab.policies.policies_text import (
    INTERVALS_HELP,
    SCORE_HELP,
    differences_sentences,
    differences_title,
    summary_sentence,
    without_decision_text,
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
from pages.components.lab.shared.marks import PolicyStyle
from pages.components.shared.state import stop_with, store
from pages.components.text.escape import MAX_LINE_LENGTH, escape, safe_text

SECTION_KEY = "across_section"
PUBLISHED_KEY = "across_published"

_DEFAULT_MODELS = 2
_MAX_IN_CHART = 16
_SECTIONS = {
    "Achievements": show_achievements,
    "Rewards": show_rewards,
    "Seed difficulty": show_difficulty,
    "Returns": show_returns,
    "Unlock times": show_unlock_times,
    "Return and achievements": show_association,
}


def show_policies(stored: StoredFacts) -> None:
    key = numbers.key_of(stored)
    chosen = filter_bar(stored.episodes, key)
    if not len(chosen.rows):
        st.info("No finished episode matches these filters. Loosen one, or clear all filters.")
        st.button("Clear filters", on_click=clear_filters, key="policies_clear")
        return
    try:
        _show_chosen(stored, key, chosen)
    except (StoreError, InvalidInput) as error:
        stop_with("Cannot read the comparison", error)


def _show_chosen(stored: StoredFacts, key: str, chosen: Chosen) -> None:
    sample = numbers.sample(key, stored)
    rows = chosen.by_policy()
    by_policy = numbers.summaries(chosen.key, sample, rows)
    summaries = dict(sorted(by_policy.items(), key=lambda entry: -entry[1].score.value))  # best first
    policies = {policy: rows[policy] for policy in summaries}
    configs = {episode.config_hash: episode.spec.reward for episode in stored.episodes}
    found, overlap = numbers.differences_and_seeds(
        chosen.key, [stored.episodes[row] for row in chosen.rows], chosen.policies
    )
    compared = f"{plural(len(chosen.rows), 'episode')} by {plural(len(summaries), 'policy', 'policies')}"
    st.caption(escape(compared + without_decision_text(store().rewards.without_decision())))
    _show_differences(found, overlap, configs)
    overview = st.container()
    with st.container(border=True):
        published = _published_picker()
        if published:
            first = stored.episodes[chosen.rows[0]]
            show_published(published, step_limits(found, min(first.spec.limits.max_steps, first.spec.env.length)))
    style = PolicyStyle(chosen.places, charts.theme())
    data = Compared(stored, key, chosen, sample, policies, summaries, published, configs, style)
    with overview:
        _show_overview(data)
    tabs = st.tabs(list(_SECTIONS), key=SECTION_KEY, on_change="rerun", bind="query-params")
    at = next((at for at, tab in enumerate(tabs) if tab.open), 0)
    with tabs[at]:
        _SECTIONS[list(_SECTIONS)[at]](data)


def _show_differences(found: Sequence[Difference], overlap: SeedOverlap, configs: Mapping[str, RewardConfig]) -> None:
    title = differences_title(found, overlap)
    if not title:
        return
    st.warning(escape(title))
    with st.expander("What differs, and what it means"):
        for sentence in differences_sentences(found, overlap, configs):
            st.text(safe_text(sentence, MAX_LINE_LENGTH))
        if overlap.common and not overlap.is_the_same:
            st.button(
                f"Compare on the {plural(len(overlap.common), 'common seed')} only",
                on_click=only_seeds,
                args=(overlap.common,),
                key="policies_common",
            )


def _published_picker() -> tuple[PublishedRow, ...]:
    """Returns the published rows to show. Default: random, human and the best models."""
    rows = {row.entry: row for row in published_rows()}
    models = [row.entry for row in rows.values() if row.is_of_a_model and row.score is not None]
    wanted = st.multiselect(
        "Published results",
        list(rows),
        default=[RANDOM, HUMAN, *models[:_DEFAULT_MODELS]],
        key=PUBLISHED_KEY,
        bind="query-params",
        format_func=lambda entry: rows[entry].label,
        placeholder="None",
    )
    return tuple(row for entry, row in rows.items() if entry in wanted)


def _show_overview(data: Compared) -> None:
    drawn = dict(list(data.summaries.items())[:_MAX_IN_CHART])
    alt = ". ".join(summary_sentence(policy, summary) for policy, summary in drawn.items())
    charts.show(
        scores(drawn, data.published, data.style),
        key="policies-scores",
        alt=alt,
        download=Download(file_name("policies", "scores"), lambda: scores_csv(data.summaries, data.published)),
    )
    show_stored(data.summaries)
    if len(data.summaries) > len(drawn):
        st.caption(f"The chart has the {len(drawn)} with the highest score, the table all {len(data.summaries)}.")
    st.caption(escape(f"{INTERVALS_HELP} {SCORE_HELP}"))
