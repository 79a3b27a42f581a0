"""Rates the difficulty of worlds on request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from core.dataset import describe_seeds
from core.errors import CraftscopeError
from core.store import EpisodeSummary, World
from core.types import Difficulty
from pages.components.lab.policies import numbers
from pages.components.shared.state import store
from pages.components.text.escape import escape

_RATED_AT_ONCE = 24


def offer_rating(episodes: Sequence[EpisodeSummary], known: Mapping[World, Difficulty]) -> None:
    """Shows how many worlds of these episodes are not in `known`, and a button that rates the first of them."""
    worlds = {numbers.world_of(episode) for episode in episodes}
    missing = sorted(worlds - known.keys(), key=lambda world: world[:2])
    if not missing:
        return
    n = min(len(missing), _RATED_AT_ONCE)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"Worlds without a difficulty rating: {len(missing):,}", width="content")
        which = "it" if len(missing) == 1 else f"all {n}" if n == len(missing) else f"the first {n}"
        clicked = st.button(f"Rate {which}", key="policies_rate", disabled=store().read_only)
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
