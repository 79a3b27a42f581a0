"""Which episodes the rewards are tried on: all of them, a selection, or one. Kept in the URL."""

from __future__ import annotations

import streamlit as st

from core.analysis.rescore import StoredFacts
from core.errors import StoreError, UnknownEpisode
from core.store import EpisodeFilter
from pages.components.browser.url import keep_in_address
from pages.components.lab.shared.lab_text import named
from pages.components.lab.shared.link import mark_something, note_unknown
from pages.components.shared.state import store
from pages.components.text.escape import escape, one_line
from pages.components.text.format import number, short_id, signed
from pages.components.traces.filter import filter_bar

EVERYTHING, SELECTION, ONE = "Everything stored", "A selection", "One episode"

SCOPE = "scope"
"""The name of the choice in the URL."""
_EPISODE = "episode"
_SCOPES = (EVERYTHING, SELECTION, ONE)
_CHOSEN = "lab_scope_chosen"
_NEWEST = "lab_scope_newest"
_MAX_OFFERED = 50
_MAX_SENTENCE_LENGTH = 500


def scope_picker(stored: StoredFacts) -> str:
    """Draw it; which kind of scope is chosen. stored: what one episode can be chosen from."""
    note_unknown(SCOPE, _SCOPES)
    is_meant = _one_is_meant()
    # The default is in no address, so the bare one means it, at each visit.
    scope = st.segmented_control(
        "Episodes",
        _SCOPES,
        default=ONE if is_meant else EVERYTHING,
        key=SCOPE,
        required=True,
        bind="query-params",
    )
    mark_something(SCOPE)
    if scope == ONE:
        st.text_input("Episode", key=_EPISODE, bind="query-params", placeholder="id or its beginning", width=220)
        _newest_picker(stored)
    if is_meant:
        keep_in_address("lab", "scope", {SCOPE: ONE})  # once: from now on the choice keeps its own parameter
    return scope


def _newest_picker(stored: StoredFacts) -> None:
    """The newest episodes to choose from; what is chosen is put into the field, and so into the address."""
    newest = {episode.id: episode for episode in stored.episodes[: -_MAX_OFFERED - 1 : -1]}
    asked = (st.session_state.get(_EPISODE) or "").strip()
    fitting = [name for name in newest if asked and name.startswith(asked)]
    current = fitting[0] if len(fitting) == 1 else None
    key = f"{_NEWEST}:{current}"  # the field decides: what is in it is what is chosen here

    def choose() -> None:
        if chosen := st.session_state.get(key):
            st.session_state[_EPISODE] = chosen

    def called(name: str) -> str:
        episode = newest.get(name)
        return name if episode is None else f"{named(episode)} · seed {episode.seed} · {signed(episode.shaped_return)}"

    st.selectbox(
        f"or one of the newest {number(len(newest))}" if len(newest) > 1 else "or the newest",
        list(newest),
        index=None if current is None else list(newest).index(current),
        format_func=called,
        key=key,
        on_change=choose,
        placeholder="policy, seed and return",
        width=290,
    )


def episodes_in(scope: str, stored: StoredFacts) -> StoredFacts:
    """The episodes that it says. Where that is none, the view ends here with a sentence."""
    if scope == ONE:
        return _chosen(stored, [_one(stored)])
    if scope == SELECTION:
        fitting = list(_played(filter_bar(store().episodes.policies())))
        if not fitting:
            st.info("No finished episode matches these filters. Loosen one, or clear all filters.")
            st.stop()
        return _chosen(stored, fitting)
    return stored


def _played(wanted: EpisodeFilter) -> tuple[str, ...]:
    """What the filter of the Traces page lets through, of what is over."""
    try:
        return store().rewards.played_ids(wanted)
    except StoreError as error:
        st.error(escape(str(error)))
        st.stop()


def _one_is_meant() -> bool:
    """A link with an episode, and nothing else said, means that episode."""
    is_new = SCOPE not in st.session_state and st.query_params.get(SCOPE) not in _SCOPES
    return is_new and bool(st.query_params.get(_EPISODE))


def _one(stored: StoredFacts) -> str:
    """The id of the episode that was named."""
    asked = (st.session_state.get(_EPISODE) or "").strip()
    if not asked:
        st.info("Enter an episode id (at least its first six characters), or choose one of the newest.")
        st.stop()
    try:
        found = store().episodes.get(asked)
    except UnknownEpisode as error:
        st.info(escape(str(error)))
        st.stop()
    except StoreError as error:
        st.error(escape(str(error)))
        st.stop()
    if problem := dict(stored.unreadable).get(found.id):
        st.error(escape(one_line(f"This episode is left out here: {problem}", _MAX_SENTENCE_LENGTH)))
        st.stop()
    if not any(episode.id == found.id for episode in stored.episodes):
        waiting = "made no decision" if found.status.is_over else "is still running"
        st.info(f"Episode {escape(short_id(found.id))} {waiting}, so there is nothing to score.")
        st.stop()
    return found.id


def _chosen(stored: StoredFacts, ids: list[str]) -> StoredFacts:
    """Their facts, joined once for as long as the same ones are looked at: with a million it takes a moment."""
    kept = st.session_state.get(_CHOSEN)
    if kept is None or kept[0] is not stored or kept[1] != ids:
        kept = st.session_state[_CHOSEN] = (stored, ids, stored.only(ids))
    return kept[2]


def scope_in_words(chosen: StoredFacts, stored: StoredFacts) -> str:
    """`46 episodes`, `12 of 46 episodes`."""
    count, of_all = len(chosen.episodes), len(stored.episodes)
    if count == of_all:
        return f"{number(count)} episode{'s' * (count != 1)}"
    return f"{number(count)} of {number(of_all)} episodes"
