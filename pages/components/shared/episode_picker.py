"""Which episode a page shows: the `id` in the URL, or the last one opened."""

from __future__ import annotations

import streamlit as st

from core.errors import StoreError, UnknownEpisode
from core.store import EpisodeSummary
from pages.components.shared.empty import show_empty_store
from pages.components.shared.state import stop_with, store
from pages.components.text.escape import escape, one_line, safe_text
from pages.components.text.format import short_id, signed, status_label

_LAST = "last_episode"
_MAX_OFFERED = 5
_MAX_READ = 50
_MAX_LABEL_LENGTH = 40
_MAX_ECHOED = 300


def chosen_episode() -> EpisodeSummary:
    """The episode to show. Without one, the page stops here and offers others."""
    asked = st.query_params.get("id") or st.session_state.get(_LAST)
    try:
        if asked:
            summary = store().episodes.get(asked)
            st.session_state[_LAST] = summary.id
            return summary
    except UnknownEpisode as error:
        st.session_state.pop(_LAST, None)
        st.subheader("Episode not found", anchor=False)
        st.text(safe_text(str(error), _MAX_ECHOED))
        _offer_others()
        st.stop()
    except StoreError as error:
        stop_with("Cannot read this episode", error)
    if store().episodes.is_empty():
        show_empty_store()
    else:
        st.subheader("No episode is open", anchor=False)
        st.text("Choose one of the newest, or find another in Traces.")
        _offer_others()
    st.stop()
    raise AssertionError("st.stop() returned")


def _offer_others() -> None:
    newest = store().episodes.page(limit=_MAX_READ).rows
    for row in sorted(newest, key=lambda row: not row.n_steps)[:_MAX_OFFERED]:  # episodes with steps first
        label = (
            f"{escape(short_id(row.id))} · {escape(one_line(row.policy, _MAX_LABEL_LENGTH))} · seed {row.seed} · "
            f"{status_label(row.status, row.stop_reason)} · shaped return {signed(row.shaped_return)}"
        )
        if st.button(label, key=f"offer-{row.id}"):
            st.switch_page("pages/episode.py", query_params={"id": row.id})
    st.page_link("pages/traces.py", label="All traces")
