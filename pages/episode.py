"""Episode: one stored episode with its player and tabs. URL: /episode?id=<id>&step=<frame>&tab=<tab>."""

from __future__ import annotations

import streamlit as st

from core.errors import StoreError
from pages.components.episode.header import show_header
from pages.components.episode.view import show_episode
from pages.components.player.episode_data import episode_data_of
from pages.components.player.position import follow_url
from pages.components.shared.episode_picker import chosen_episode
from pages.components.shared.router import ensure_router
from pages.components.shared.state import stop_with, store


def main() -> None:
    ensure_router()
    summary = chosen_episode()
    try:
        data = episode_data_of(store(), summary)
        problem = follow_url(summary.id, data.frames)
        show_header(summary, data.model)
    except StoreError as error:
        stop_with("Cannot read this episode", error)
    if problem:
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            st.text(problem)
            st.page_link("pages/traces.py", label="All traces")
    show_episode(summary, data)


main()
