"""The filter bar of the Traces page. Every filter is bound to the URL."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

import streamlit as st

from core.env.rules import ACHIEVEMENTS
from core.errors import InvalidInput
from core.plan import parse_seeds
from core.store import EpisodeFilter
from core.types import EpisodeStatus
from pages.components.plain import plain

_EMPTY: dict[str, object] = {
    **dict.fromkeys(("policy", "status", "achievements"), ()),
    "seeds": "",
    **dict.fromkeys(("min_reward", "max_reward", "since", "until")),
}


def filter_bar(policies: tuple[str, ...]) -> EpisodeFilter | None:
    """Draw the bar; the filter it says, or None where a value cannot be used (said beside it)."""
    with st.container(border=True):
        top = st.columns([1.3, 1.6, 1.2, 2.2])
        chosen_policies = top[0].multiselect("Policy", policies, key="policy", bind="query-params", placeholder="Any")
        statuses = top[1].multiselect(
            "Status", [s.value for s in EpisodeStatus], key="status", bind="query-params", placeholder="Any"
        )
        seeds_text = top[2].text_input("Seeds", key="seeds", bind="query-params", placeholder="0-9, 42")
        achievements = top[3].multiselect(
            "Achievements (all of)", ACHIEVEMENTS, key="achievements", bind="query-params", placeholder="Any"
        )
        low = st.columns([1, 1, 1, 1, 1], vertical_alignment="bottom")
        min_reward = low[0].number_input(
            "Shaped return from", value=None, key="min_reward", bind="query-params", placeholder="any"
        )
        max_reward = low[1].number_input(
            "Shaped return to", value=None, key="max_reward", bind="query-params", placeholder="any"
        )
        since = low[2].date_input("Created from (UTC)", value=None, key="since", bind="query-params")
        until = low[3].date_input("Created to (UTC)", value=None, key="until", bind="query-params")
        low[4].button("Clear filters", on_click=_clear, width="stretch", key="clear_filters")
        try:
            seeds = parse_seeds(seeds_text) if seeds_text and seeds_text.strip() else ()
        except InvalidInput as error:
            st.error(plain(str(error)))
            return None
    return EpisodeFilter(
        policies=tuple(chosen_policies),
        seeds=seeds,
        statuses=tuple(EpisodeStatus(status) for status in statuses),
        achievements=tuple(achievements),
        min_reward=min_reward,
        max_reward=max_reward,
        created_after=_start_of(since),
        created_before=_start_of(until + timedelta(days=1)) if until else None,
    )


def _start_of(day: date | None) -> datetime | None:
    return datetime.combine(day, time.min, tzinfo=UTC) if day else None


def _clear() -> None:
    """Bound widgets own their part of the URL, so it empties with them."""
    for key, value in _EMPTY.items():
        st.session_state[key] = value
