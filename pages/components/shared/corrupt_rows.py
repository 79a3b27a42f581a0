"""Names corrupt rows beside the readable ones, so that they are neither hidden nor in the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.errors import InvalidInput, StoreError
from core.store import Unreadable
from core.text import plural
from pages.components.shared.state import store
from pages.components.text.escape import escape, one_line, safe_text
from pages.components.text.format import number, short_id

_MAX_NAMED = 20
_MAX_NAME_LENGTH = 40
_MAX_SENTENCE_LENGTH = 300


def show_corrupt_episodes(unreadable: Sequence[Unreadable], key: str, *, deletable: bool = False) -> None:
    """A button that opens the list; nothing if there is no corrupt row. deletable: they can be deleted there."""
    if not unreadable:
        return
    with _popover(f"{number(len(unreadable))} cannot be read", key):
        _show_list(unreadable)
        if deletable:
            st.caption("A backup of the database restores them. Deleting them cannot be undone.")
            ids = [entry.id for entry in unreadable]
            _delete_button(f"Delete {number(len(ids))} for good", f"{key}_delete", lambda: store().episodes.delete(ids))
        else:
            st.page_link("pages/traces.py", label="Delete them in Traces →")


def show_corrupt_runs(unreadable: Sequence[Unreadable], key: str) -> None:
    """The same for runs. Traces still lists their episodes."""
    if not unreadable:
        return
    with _popover(f"{plural(len(unreadable), 'run')} cannot be read", key):
        _show_list(unreadable)
        st.caption("A backup of the database restores them. To remove a run, delete all its episodes.")
        st.page_link("pages/traces.py", label="Their episodes in Traces →")


def show_corrupt_rewards(unreadable: Sequence[Unreadable], key: str) -> None:
    """The same for saved reward configurations, each of which can be deleted."""
    if not unreadable:
        return
    with _popover(f"{plural(len(unreadable), 'saved configuration')} cannot be read", key):
        for at, entry in enumerate(unreadable[:_MAX_NAMED]):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.text(
                    f"“{one_line(entry.id, _MAX_NAME_LENGTH)}”: {safe_text(entry.problem, _MAX_SENTENCE_LENGTH)}",
                    width="stretch",
                )
                _delete_button("Delete", f"{key}_delete_{at}", lambda name=entry.id: store().rewards.delete_saved(name))
        _show_more_count(unreadable)
        st.caption("Rewards of played episodes stay as they are. Deleting a configuration cannot be undone.")


def _popover(label: str, key: str) -> DeltaGenerator:
    return st.popover(label, type="tertiary", key=f"{key}_popover")


def _show_list(unreadable: Sequence[Unreadable]) -> None:
    st.markdown("**Corrupt, and not included anywhere on this page**")
    for entry in unreadable[:_MAX_NAMED]:
        st.text(f"{one_line(short_id(entry.id), 8)}: {safe_text(entry.problem, _MAX_SENTENCE_LENGTH)}")
    _show_more_count(unreadable)


def _show_more_count(unreadable: Sequence[Unreadable]) -> None:
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
