"""Everything that was played, as re-scoring looks at it: read once for all sessions, and kept up to date."""

from __future__ import annotations

import streamlit as st

from core import jobs
from core.errors import JobError, StoreError
from core.rescore import RewardArchive, Stored
from core.store import EpisodeFilter, TraceStore
from core.types import EpisodeStatus
from pages.components.arrival import has_arrived
from pages.components.format import number, short_id
from pages.components.plain import plain, short, shown
from pages.components.state import settings, stop_with, store

_POLL_S = 2.0
_IDLE_S = 10.0  # nothing waits here, but other programs may write into the same store
_MOST_NAMED = 20
_MOST_OF_A_SENTENCE = 300
_NOT_OVER = EpisodeFilter(statuses=(EpisodeStatus.QUEUED, EpisodeStatus.RUNNING))


def stored_rewards() -> Stored:
    """All episodes that are over by now. Where they cannot be read, the page ends here with a sentence."""
    source = store()
    try:
        with st.spinner("Reading what was played…"):
            return _archive(source.url, source).refresh()
    except StoreError as error:
        stop_with("What was played cannot be read", error)


def show_what_is_loaded(stored: Stored) -> None:
    """How much there is, what will join it, and what cannot be read."""
    waiting = store().totals(_NOT_OVER).episodes
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="lab-loaded"):
        st.caption(_loaded_in_words(stored, waiting), width="content")
        if stored.unreadable:
            with st.popover(f"{number(len(stored.unreadable))} cannot be read", type="tertiary"):
                _list_unreadable(stored)


def join_what_ends(stored: Stored) -> None:
    """Draws the page anew whenever another episode is over, whoever stored it."""
    wait_s = _POLL_S if store().totals(_NOT_OVER).episodes else _IDLE_S
    st.fragment(_wait, run_every=wait_s if has_arrived("lab") else None)(stored, wait_s)


def wait_for_the_first() -> None:
    """Draws the page anew once anything is stored."""
    st.fragment(_wait_for_the_first, run_every=_IDLE_S if has_arrived("lab") else None)()


def _loaded_in_words(stored: Stored, waiting: int) -> str:
    episodes, decisions = len(stored.episodes), stored.columns.n_decisions
    if not episodes:
        return f"No episode is over yet; {number(waiting)} queued or running" if waiting else "No episode is over yet"
    loaded = (
        f"{number(episodes)} episode{'s' * (episodes != 1)} with {number(decisions)} decision{'s' * (decisions != 1)}"
    )
    if not waiting:
        return f"{loaded}, all that is stored"
    return f"{loaded}; {number(waiting)} more {'joins' if waiting == 1 else 'join'} when they are over"


def _list_unreadable(stored: Stored) -> None:
    st.markdown("**Damaged, and left out of everything here**")
    for episode_id, problem in stored.unreadable[:_MOST_NAMED]:
        st.text(f"{short(short_id(episode_id), 8)}: {shown(problem, _MOST_OF_A_SENTENCE)}")
    if len(stored.unreadable) > _MOST_NAMED:
        st.caption(f"… and {number(len(stored.unreadable) - _MOST_NAMED)} more")


def _wait(stored: Stored, wait_s: float) -> None:
    source = store()
    try:
        jobs.sweep(source, settings())
    except JobError as error:
        st.warning(plain(str(error)))
    try:
        waits = source.totals(_NOT_OVER).episodes > 0
        if _archive(source.url, source).refresh() is stored and waits == (wait_s == _POLL_S):
            return
    except StoreError:
        pass  # a whole run of the page says what is wrong
    st.rerun(scope="app")


def _wait_for_the_first() -> None:
    try:
        if store().is_empty():
            return
    except StoreError:
        pass  # as above
    st.rerun(scope="app")


@st.cache_resource(show_spinner=False)
def _archive(url: str, _source: TraceStore) -> RewardArchive:
    return RewardArchive(_source)
