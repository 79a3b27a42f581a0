"""The reward facts of all finished episodes: loaded once for all sessions, and refreshed as episodes finish."""

from __future__ import annotations

import gc

import streamlit as st

from core import jobs
from core.analysis.rescore import RewardFactsCache, StoredFacts
from core.errors import JobError, StoreError
from core.store import EpisodeFilter, TraceStore, Unreadable
from core.text import plural
from core.types import EpisodeStatus
from pages.components.browser.page_ready import page_is_ready
from pages.components.shared.corrupt_rows import show_corrupt_episodes
from pages.components.shared.state import settings, stop_with, store
from pages.components.text.escape import escape
from pages.components.text.format import number

_POLL_S = 2.0
_IDLE_S = 10.0  # nothing is queued or running, but other programs may write into the same store
_UNFINISHED = EpisodeFilter(statuses=(EpisodeStatus.QUEUED, EpisodeStatus.RUNNING))


def stored_rewards() -> StoredFacts:
    """All finished episodes. If they cannot be read, shows the error and stops the page."""
    source = store()
    try:
        with st.spinner("Loading reward facts…"):
            return _facts_cache(source.url, source).refresh()
    except StoreError as error:
        stop_with("Cannot load the reward facts", error)


def show_counts(stored: StoredFacts) -> None:
    """Shows how many episodes are loaded, unfinished, left out and corrupt."""
    waiting = store().episodes.totals(_UNFINISHED).episodes
    left_out = sum(store().rewards.without_decision().values())
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="lab-loaded"):
        st.caption(_counts_text(stored, waiting, left_out), width="content")
        show_corrupt_episodes([Unreadable(name, problem) for name, problem in stored.unreadable], "lab_corrupt")


def show_why_empty() -> None:
    """Explains why no stored episode can be scored."""
    if store().episodes.totals(_UNFINISHED).episodes:
        st.info("No episode has finished yet. This page updates when the first one does.")
        st.page_link("pages/run.py", label="Watch them play →")
        return
    st.info("No stored episode can be scored: each one either made no decision or cannot be read.")
    st.page_link("pages/traces.py", label="See them in Traces →")


def rerun_on_new_episodes(stored: StoredFacts) -> None:
    """Reruns the page when another episode finishes, also one that another program stored."""
    wait_s = _POLL_S if store().episodes.totals(_UNFINISHED).episodes else _IDLE_S
    st.fragment(_rerun_if_changed, run_every=wait_s if page_is_ready("lab") else None)(stored, wait_s)


def rerun_on_first_episode() -> None:
    st.fragment(_rerun_unless_empty, run_every=_IDLE_S if page_is_ready("lab") else None)()


def _counts_text(stored: StoredFacts, waiting: int, left_out: int) -> str:
    episodes, decisions = len(stored.episodes), stored.columns.n_decisions
    parts: list[str] = []
    if episodes:
        parts.append(
            f"{plural(episodes, 'episode')} with {plural(decisions, 'decision')}"
            + " (everything stored)" * (not waiting and not left_out)
        )
    elif not left_out:
        parts.append("No episode has finished yet")
    if left_out:
        parts.append(f"{plural(left_out, 'episode')} without decisions left out")
    if waiting:
        parts.append(f"{number(waiting)} queued or running")
    return "; ".join(parts)


def _rerun_if_changed(stored: StoredFacts, wait_s: float) -> None:
    source = store()
    try:
        jobs.sweep(source, settings())
    except JobError as error:
        st.warning(escape(str(error)))
    try:
        waits = source.episodes.totals(_UNFINISHED).episodes > 0
        if _facts_cache(source.url, source).refresh() is stored and waits == (wait_s == _POLL_S):
            return
    except StoreError:
        pass  # the rerun shows the error
    st.rerun(scope="app")


def _rerun_unless_empty() -> None:
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
    # Otherwise each full garbage collection scans all reward facts, holding the interpreter lock.
    gc.collect()
    gc.freeze()
    return cache
