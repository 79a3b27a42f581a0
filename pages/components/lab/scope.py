"""Which episodes the rewards are tried on: all of them, a selection, or one. Kept in the URL."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import streamlit as st

from core.errors import StoreError, UnknownEpisode
from core.facts import UNLOCK, EpisodeFacts, PlayedEpisode
from core.rescore import Stored
from core.store import EpisodeFilter
from pages.components.format import number, short_id
from pages.components.plain import plain
from pages.components.state import store
from pages.components.trace_filter import filter_bar

EVERYTHING, SELECTION, ONE = "Everything stored", "A selection", "One episode"

_SCOPE = "scope"
_EPISODE = "episode"
_SCOPES = (EVERYTHING, SELECTION, ONE)
_CHOSEN = "lab_scope_chosen"


def scope_picker() -> str:
    """Draw it; which kind of scope is chosen."""
    _follow_link()
    scope = st.segmented_control("Episodes", _SCOPES, key=_SCOPE, required=True, bind="query-params")
    if scope == ONE:
        st.text_input("Episode", key=_EPISODE, bind="query-params", placeholder="its id, or how it begins", width=300)
    return scope or EVERYTHING


def episodes_in(scope: str, stored: Stored) -> Stored:
    """The episodes that it says. Where that is none, the view ends here with a sentence."""
    if scope == ONE:
        return _chosen(stored, [_one(stored)])
    if scope == SELECTION:
        wanted = filter_bar(store().policies())
        fitting = [
            episode.id
            for episode, facts in zip(stored.episodes, stored.columns.episodes, strict=True)
            if fits(episode, facts, wanted)
        ]
        if not fitting:
            st.info("No episode that is over fits these filters. Loosen one of them, or clear them all.")
            st.stop()
        return _chosen(stored, fitting)
    return stored


def fits(episode: PlayedEpisode, facts: EpisodeFacts, wanted: EpisodeFilter) -> bool:
    """Whether the filter of the Traces page lets an episode through."""
    return (
        (not wanted.policies or episode.policy in wanted.policies)
        and (not wanted.seeds or episode.seed in wanted.seeds)
        and (not wanted.statuses or episode.stop_reason.status in wanted.statuses)
        and (wanted.min_reward is None or episode.shaped_return >= wanted.min_reward)
        and (wanted.max_reward is None or episode.shaped_return <= wanted.max_reward)
        and (wanted.created_after is None or episode.created_at >= wanted.created_after)
        and (wanted.created_before is None or episode.created_at < wanted.created_before)
        and (wanted.run_id is None or episode.run_id == wanted.run_id)
        and _unlocked_all(facts, wanted.achievements)
    )


def _unlocked_all(facts: EpisodeFacts, achievements: Iterable[str]) -> bool:
    return all(
        name in facts.name_list and bool(np.any((facts.kinds == UNLOCK) & (facts.names == facts.name_list.index(name))))
        for name in achievements
    )


def _follow_link() -> None:
    """A link with an episode, and nothing else said, means that episode."""
    if _SCOPE not in st.session_state and st.query_params.get(_SCOPE) not in _SCOPES:
        st.session_state[_SCOPE] = ONE if st.query_params.get(_EPISODE) else EVERYTHING


def _one(stored: Stored) -> str:
    """The id of the episode that was named."""
    asked = (st.session_state.get(_EPISODE) or "").strip()
    if not asked:
        st.info("Give an episode's id, or the beginning of it: at least six characters.")
        st.stop()
    try:
        found = store().episode(asked)
    except UnknownEpisode as error:
        st.info(plain(str(error)))
        st.stop()
    except StoreError as error:
        st.error(plain(str(error)))
        st.stop()
    if not any(episode.id == found.id for episode in stored.episodes):
        waiting = "has not made a decision" if found.status.is_over else "is not over yet"
        st.info(f"Episode {plain(short_id(found.id))} {waiting}, so there is nothing to score.")
        st.stop()
    return found.id


def _chosen(stored: Stored, ids: list[str]) -> Stored:
    """Their facts, joined once for as long as the same ones are looked at: with a million it takes a moment."""
    kept = st.session_state.get(_CHOSEN)
    if kept is None or kept[0] is not stored or kept[1] != ids:
        kept = st.session_state[_CHOSEN] = (stored, ids, stored.only(ids))
    return kept[2]


def scope_in_words(chosen: Stored, stored: Stored) -> str:
    """`46 episodes`, `12 of 46 episodes`."""
    count, of_all = len(chosen.episodes), len(stored.episodes)
    if count == of_all:
        return f"{number(count)} episode{'s' * (count != 1)}"
    return f"{number(count)} of {number(of_all)} episodes"
