"""Present: the player of an episode and nothing else. URL: /present?id=<id>&step=<frame>."""

from __future__ import annotations

import streamlit as st
from streamlit.components.v2 import component

from core.errors import StoreError
from core.store import EpisodeSummary
from pages.components.browser.url import write_step_to_url
from pages.components.player import PlayerData, player
from pages.components.player.episode_data import episode_data_of
from pages.components.player.position import follow_url, last_frame, remember_frame, seek_of
from pages.components.shared.episode_picker import chosen_episode
from pages.components.shared.router import ensure_router
from pages.components.shared.state import stop_with, store

_STYLE = """
<style>
[data-testid="stHeader"], [data-testid="stSidebar"], [data-testid="stToolbar"], [data-testid="stDecoration"],
[data-testid="stStatusWidget"] { display: none !important; }
[data-testid="stMainBlockContainer"] { max-width: none; padding: 0; }
.st-key-present-problem { position: fixed; inset: 16px auto auto 50%; transform: translateX(-50%); width: max-content;
  max-width: 90%; z-index: 1000001; padding: 0.5rem 1rem; border-radius: 8px; background: #7c2d12; color: #ffffff; }
</style>
"""
_ESCAPE_KEY = """
export default function ({ setTriggerValue }) {
  // On the window, after the page: an Escape that closed something there is not for us.
  const onKey = (event) => {
    if (event.key === "Escape" && !event.defaultPrevented) setTriggerValue("pressed", true);
  };
  window.addEventListener("keydown", onKey);
  return () => window.removeEventListener("keydown", onKey);
}
"""


def main() -> None:
    ensure_router()
    summary = chosen_episode()
    try:
        data = episode_data_of(store(), summary)
    except StoreError as error:
        stop_with("Cannot read this episode", error)
    problem = follow_url(summary.id, data.frames)
    if data.player is None:
        st.subheader("Nothing to present", anchor=False)
        st.text(data.problem or "No frame of this episode is recorded yet.")
        st.page_link("pages/episode.py", label="Back to the episode", query_params={"id": summary.id})
        st.page_link("pages/traces.py", label="All traces")
        return
    if _escape_was_pressed():
        st.switch_page("pages/episode.py", query_params={"id": summary.id, "step": str(last_frame(summary.id))})
    st.html(_STYLE)
    _show(summary, data.player, problem, last_frame(summary.id))


def _escape_was_pressed() -> bool:
    """True in the page run after the key press."""
    listener = component("craftscope.escape_key", js=_ESCAPE_KEY)
    # Streamlit reports a trigger only if it has a callback.
    return bool(listener(key="escape-key", on_pressed_change=lambda: None).pressed)


@st.fragment
def _show(summary: EpisodeSummary, data: PlayerData, problem: str, opened_at: int) -> None:
    frame = player(
        data,
        key=f"present-{summary.id}",
        start_step=last_frame(summary.id),
        seek=seek_of(summary.id),
        present=True,
        exit_url=f"episode?id={summary.id}",
    )
    remember_frame(summary.id, frame)
    write_step_to_url("present", summary.id, frame)
    if problem and frame == opened_at:
        with st.container(key="present-problem"):
            st.text(problem)


main()
