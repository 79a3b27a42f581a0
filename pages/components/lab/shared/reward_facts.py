"""Everything that was played, as re-scoring looks at it: read once for all sessions, and kept up to date."""

from __future__ import annotations

import gc

import streamlit as st

from core import jobs
from core.analysis.rescore import RewardFactsCache, StoredFacts
from core.errors import JobError, StoreError
from core.store import EpisodeFilter, TraceStore, Unreadable
from core.types import EpisodeStatus
from pages.components.browser.page_ready import page_is_ready
from pages.components.shared.corrupt_rows import show_corrupt_episodes
from pages.components.shared.state import settings, stop_with, store
from pages.components.text.escape import escape
from pages.components.text.format import number

_POLL_S = 2.0
_IDLE_S = 10.0  # nothing waits here, but other programs may write into the same store
_NOT_OVER = EpisodeFilter(statuses=(EpisodeStatus.QUEUED, EpisodeStatus.RUNNING))


def stored_rewards() -> StoredFacts:
    """All episodes that are over by now. Where they cannot be read, the page ends here with a sentence."""
    source = store()
    try:
        with st.spinner("Loading reward facts…"):
            return _facts_cache(source.url, source).refresh()
    except StoreError as error:
        stop_with("Cannot load the reward facts", error)


def show_what_is_loaded(stored: StoredFacts) -> None:
    """How much there is, what will join it, what is left out, and what cannot be read."""
    waiting = store().episodes.totals(_NOT_OVER).episodes
    left_out = sum(store().rewards.without_decision().values())
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="lab-loaded"):
        st.caption(_loaded_in_words(stored, waiting, left_out), width="content")
        show_corrupt_episodes([Unreadable(name, problem) for name, problem in stored.unreadable], "lab_damaged")


def show_why_none() -> None:
    """Why there is nothing to score, though something is stored."""
    if store().episodes.totals(_NOT_OVER).episodes:
        st.info("No episode has finished yet. This page updates when the first one does.")
        st.page_link("pages/run.py", label="Watch them play →")
        return
    st.info("No stored episode can be scored: each one either made no decision or cannot be read.")
    st.page_link("pages/traces.py", label="See them in Traces →")


def join_what_ends(stored: StoredFacts) -> None:
    """Draws the page anew whenever another episode is over, whoever stored it."""
    wait_s = _POLL_S if store().episodes.totals(_NOT_OVER).episodes else _IDLE_S
    st.fragment(_wait, run_every=wait_s if page_is_ready("lab") else None)(stored, wait_s)


def wait_for_the_first() -> None:
    """Draws the page anew once anything is stored."""
    st.fragment(_wait_for_the_first, run_every=_IDLE_S if page_is_ready("lab") else None)()


def _loaded_in_words(stored: StoredFacts, waiting: int, left_out: int) -> str:
    episodes, decisions = len(stored.episodes), stored.columns.n_decisions
    parts: list[str] = []
    if episodes:
        parts.append(
            f"{number(episodes)} episode{'s' * (episodes != 1)} with {number(decisions)} "
            f"decision{'s' * (decisions != 1)}" + ", all that is stored" * (not waiting and not left_out)
        )
    elif not left_out:
        parts.append("No episode has finished yet")
    if left_out:
        parts.append(f"{number(left_out)} that made no decision {'is' if left_out == 1 else 'are'} left out")
    if waiting and episodes:
        parts.append(f"{number(waiting)} more {'joins when it is' if waiting == 1 else 'join when they are'} over")
    elif waiting:
        parts.append(f"{number(waiting)} queued or running")
    return "; ".join(parts)


def _wait(stored: StoredFacts, wait_s: float) -> None:
    source = store()
    try:
        jobs.sweep(source, settings())
    except JobError as error:
        st.warning(escape(str(error)))
    try:
        waits = source.episodes.totals(_NOT_OVER).episodes > 0
        if _facts_cache(source.url, source).refresh() is stored and waits == (wait_s == _POLL_S):
            return
    except StoreError:
        pass  # a whole run of the page says what is wrong
    st.rerun(scope="app")


def _wait_for_the_first() -> None:
    try:
        if store().episodes.is_empty():
            return
    except StoreError:
        pass  # as above
    st.rerun(scope="app")


@st.cache_resource(show_spinner=False)
def _facts_cache(url: str, _source: TraceStore) -> RewardFactsCache:
    cache = RewardFactsCache(_source.rewards)
    cache.refresh()
    # Else every full collection looks through all reward facts again, and holds the GIL while it does.
    gc.collect()
    gc.freeze()
    return cache
