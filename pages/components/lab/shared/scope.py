"""The scope of the Lab: all stored episodes, a selection, or one episode. Kept in the URL."""

from __future__ import annotations

import streamlit as st

from core.analysis.rescore import StoredFacts
from core.errors import StoreError, UnknownEpisode
from core.text import plural
from pages.components.browser.url import write_to_url
from pages.components.lab.shared.lab_text import episode_name
from pages.components.lab.shared.link import remember_unknown, require_choice
from pages.components.shared.state import store
from pages.components.text.escape import escape, one_line
from pages.components.text.format import number, short_id, signed
from pages.components.traces.filter import filter_bar

EVERYTHING, SELECTION, ONE = "Everything stored", "A selection", "One episode"

SCOPE = "scope"  # widget key and URL parameter
_EPISODE = "episode"
_SCOPES = (EVERYTHING, SELECTION, ONE)
_CHOSEN = "lab_scope_chosen"
_NEWEST = "lab_scope_newest"
_MAX_OFFERED = 50
_MAX_SENTENCE_LENGTH = 500


def scope_picker(stored: StoredFacts) -> str:
    """Draws the picker and returns the chosen kind of scope. stored: the episodes to choose one from."""
    remember_unknown(SCOPE, _SCOPES)
    # A link with an episode but no scope means that episode.
    is_new = SCOPE not in st.session_state and st.query_params.get(SCOPE) not in _SCOPES
    links_one = is_new and bool(st.query_params.get(_EPISODE))
    scope = st.segmented_control(
        "Episodes",
        _SCOPES,
        default=ONE if links_one else EVERYTHING,
        key=SCOPE,
        required=True,
        bind="query-params",
    )
    require_choice(SCOPE)
    if scope == ONE:
        st.text_input("Episode", key=_EPISODE, bind="query-params", placeholder="id or its beginning", width=220)
        _newest_picker(stored)
    if links_one:  # the default is not in the URL; from now on the widget keeps its own parameter
        write_to_url("lab", "scope", {SCOPE: ONE})
    return scope


def _newest_picker(stored: StoredFacts) -> None:
    """A list of the newest episodes. The choice is put into the text field, and so into the URL."""
    newest = {episode.id: episode for episode in stored.episodes[: -_MAX_OFFERED - 1 : -1]}
    asked = (st.session_state.get(_EPISODE) or "").strip()
    matches = [name for name in newest if asked and name.startswith(asked)]
    current = matches[0] if len(matches) == 1 else None
    key = f"{_NEWEST}:{current}"  # a new widget for each value of the text field, which decides

    def choose() -> None:
        if chosen := st.session_state.get(key):
            st.session_state[_EPISODE] = chosen

    def label(name: str) -> str:
        episode = newest.get(name)
        return (
            name
            if episode is None
            else f"{episode_name(episode)} · seed {episode.seed} · {signed(episode.shaped_return)}"
        )

    st.selectbox(
        f"or one of the newest {number(len(newest))}" if len(newest) > 1 else "or the newest",
        list(newest),
        index=None if current is None else list(newest).index(current),
        format_func=label,
        key=key,
        on_change=choose,
        placeholder="policy, seed and return",
        width=290,
    )


def episodes_in(scope: str, stored: StoredFacts) -> StoredFacts:
    """The episodes in scope. If there are none, says why and stops the page."""
    if scope == ONE:
        return _chosen(stored, [_one(stored)])
    if scope == SELECTION:
        wanted = filter_bar(store().episodes.policies())
        try:
            ids = list(store().rewards.played_ids(wanted))
        except StoreError as error:
            st.error(escape(str(error)))
            st.stop()
        if not ids:
            st.info("No finished episode matches these filters. Loosen one, or clear all filters.")
            st.stop()
        return _chosen(stored, ids)
    return stored


def _one(stored: StoredFacts) -> str:
    """The id of the episode in the text field."""
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
        st.error(escape(one_line(f"This episode cannot be scored: {problem}", _MAX_SENTENCE_LENGTH)))
        st.stop()
    if not any(episode.id == found.id for episode in stored.episodes):
        reason = "made no decision" if found.status.is_over else "is still running"
        st.info(f"Episode {escape(short_id(found.id))} {reason}, so there is nothing to score.")
        st.stop()
    return found.id


def _chosen(stored: StoredFacts, ids: list[str]) -> StoredFacts:
    """The facts of these episodes. Cached for the session: joining those of a million decisions takes a moment."""
    cached = st.session_state.get(_CHOSEN)
    if cached is None or cached[0] is not stored or cached[1] != ids:
        cached = st.session_state[_CHOSEN] = (stored, ids, stored.only(ids))
    return cached[2]


def scope_text(chosen: StoredFacts, stored: StoredFacts) -> str:
    """`46 episodes`, `12 of 46 episodes`."""
    count, of_all = len(chosen.episodes), len(stored.episodes)
    return plural(count, "episode") if count == of_all else f"{number(count)} of {number(of_all)} episodes"
