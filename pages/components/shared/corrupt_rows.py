"""What is stored and cannot be read: named beside what can, so that it is neither hidden nor in the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.errors import InvalidInput, StoreError
from core.store import Unreadable
from pages.components.shared.state import store
from pages.components.text.escape import escape, one_line, safe_text
from pages.components.text.format import number, short_id

_MAX_NAMED = 20
_MAX_NAME_LENGTH = 40
_MAX_SENTENCE_LENGTH = 300


def show_corrupt_episodes(unreadable: Sequence[Unreadable], key: str, *, deletable: bool = False) -> None:
    """A quiet button that opens the list; nothing where all is well. deletable: they can be deleted there."""
    if not unreadable:
        return
    with _opened(unreadable, "", key):
        _list(unreadable)
        if deletable:
            st.caption("A whole copy of the database brings them back. To delete them cannot be undone.")
            ids = [entry.id for entry in unreadable]
            _delete_button(f"Delete {number(len(ids))} for good", f"{key}_delete", lambda: store().episodes.delete(ids))
        else:
            st.page_link("pages/traces.py", label="Delete them in Traces →")


def show_corrupt_runs(unreadable: Sequence[Unreadable], key: str) -> None:
    """The same for runs, whose episodes stand in Traces all the same."""
    if not unreadable:
        return
    with _opened(unreadable, "run", key):
        _list(unreadable)
        st.caption("A whole copy of the database brings them back. A run is gone once all its episodes are deleted.")
        st.page_link("pages/traces.py", label="Their episodes in Traces →")


def show_corrupt_rewards(unreadable: Sequence[Unreadable], key: str) -> None:
    """The same for saved reward configurations, each of which can be deleted."""
    if not unreadable:
        return
    with _opened(unreadable, "saved configuration", key):
        for at, entry in enumerate(unreadable[:_MAX_NAMED]):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.text(
                    f"“{one_line(entry.id, _MAX_NAME_LENGTH)}”: {safe_text(entry.problem, _MAX_SENTENCE_LENGTH)}",
                    width="stretch",
                )
                _delete_button("Delete", f"{key}_delete_{at}", lambda name=entry.id: store().rewards.forget(name))
        _say_how_many_more(unreadable)
        st.caption("What episodes earned in play stays. To delete one cannot be undone.")


def _opened(unreadable: Sequence[object], noun: str, key: str) -> DeltaGenerator:
    """What the button opens: `2 runs cannot be read`, or `2 cannot be read` where the page is about them."""
    count = len(unreadable)
    what = f" {noun}{'s' * (count != 1)}" if noun else ""
    return st.popover(f"{number(count)}{what} cannot be read", type="tertiary", key=f"{key}_popover")


def _list(unreadable: Sequence[Unreadable]) -> None:
    st.markdown("**Damaged, and left out of everything here**")
    for entry in unreadable[:_MAX_NAMED]:
        st.text(f"{one_line(short_id(entry.id), 8)}: {safe_text(entry.problem, _MAX_SENTENCE_LENGTH)}")
    _say_how_many_more(unreadable)


def _say_how_many_more(unreadable: Sequence[object]) -> None:
    if len(unreadable) > _MAX_NAMED:
        st.caption(f"… and {number(len(unreadable) - _MAX_NAMED)} more")


def _delete_button(label: str, key: str, delete: Callable[[], object]) -> None:
    failed = f"{key}_failed"

    def press() -> None:
        try:
            delete()
        except (InvalidInput, StoreError) as error:
            st.session_state[failed] = f"Nothing was deleted: {error}"

    st.button(label, key=key, on_click=press, disabled=store().read_only)
    if problem := st.session_state.pop(failed, ""):
        st.error(escape(one_line(problem, _MAX_SENTENCE_LENGTH)))
