"""Episode: one stored episode, replayed beside what explains it. Address: /episode?id=<id>&step=<frame>&tab=<tab>."""

from __future__ import annotations

import streamlit as st

from core.errors import StoreError
from pages.components.choice import chosen_episode, link_to_traces
from pages.components.episode_header import show_header
from pages.components.episode_view import show_episode
from pages.components.position import follow_address
from pages.components.router import inside_the_dashboard
from pages.components.state import stop_with, store
from pages.components.track import track_of


def main() -> None:
    """Draw the page."""
    inside_the_dashboard()
    summary = chosen_episode()
    try:
        track = track_of(store(), summary)
        problem = follow_address(summary.id, track.frames)
        show_header(summary, track.model)
    except StoreError as error:
        stop_with("The episode cannot be read", error)
    if problem:
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            st.text(problem)
            link_to_traces()
    show_episode(summary, track)


main()
