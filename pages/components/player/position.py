"""The last position in each episode, and moving the player from Python. Stored in the session only."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.store import DecisionSummary
from pages.components.player import Seek
from pages.components.player.cursor import Cursor, frame_from_text

_MAX_REMEMBERED = 50


def remember_frame(episode_id: str, frame: int) -> None:
    """Remember the frame shown, which the page also writes to the URL."""
    st.session_state[f"frame:{episode_id}"] = frame
    written: list[str] = st.session_state.setdefault(f"written:{episode_id}", [])
    written.append(str(frame))
    del written[:-_MAX_REMEMBERED]


def last_frame(episode_id: str) -> int:
    """The frame last shown; 0 if the episode was not opened yet."""
    return st.session_state.get(f"frame:{episode_id}", 0)


def follow_url(episode_id: str, frames: int) -> str:
    """Go to the URL's step if the user changed the URL. Returns an error message or an empty string."""
    text = st.query_params.get("step")
    seen_key = f"url_step:{episode_id}"
    is_ours = text in st.session_state.get(f"written:{episode_id}", ())
    frame, problem = frame_from_text(text, frames)
    if frame is not None and text != st.session_state.get(seen_key) and not (is_ours and seen_key in st.session_state):
        st.session_state[f"frame:{episode_id}"] = frame
        _seek(episode_id, frame)
    st.session_state[seen_key] = text
    return problem


def seek_of(episode_id: str) -> Seek | None:
    """The `seek` argument for the player."""
    return st.session_state.get(f"seek:{episode_id}")


def picked_of(episode_id: str) -> Cursor | None:
    """The last decision chosen with the selector."""
    return st.session_state.get(f"picked:{episode_id}")


def go_to_decision(episode_id: str, decisions: Sequence[DecisionSummary], index: int) -> None:
    """Move the player to a decision's result. Before the first: the world after reset; after the last: the last."""
    if not decisions:
        return
    if index < 0:
        go_to_frame(episode_id, Cursor(0, 0))
        return
    index = min(index, len(decisions) - 1)
    go_to_frame(episode_id, Cursor(decisions[index].step_end, index))


def go_to_frame(episode_id: str, cursor: Cursor) -> None:
    """Move the player to a frame, and the panels to the decision picked with it."""
    st.session_state[f"picked:{episode_id}"] = cursor
    st.session_state[f"frame:{episode_id}"] = cursor.frame  # start frame for a player that is not mounted yet
    _seek(episode_id, cursor.frame)


def _seek(episode_id: str, frame: int) -> None:
    last = seek_of(episode_id)
    st.session_state[f"seek:{episode_id}"] = Seek(step=frame, nonce=(last["nonce"] if last else 0) + 1)
