"""Connection profiles on the launch form: choose, save, delete. A profile never holds a key."""

from __future__ import annotations

import streamlit as st

from core.errors import InvalidConfig, StoreError
from core.policies.llm.endpoint import endpoint_of
from core.types import ModelProfile
from pages.components.launch.connection import connection_of, fill_connection
from pages.components.launch.state import PREFIX, PROFILE_OF_LINK, keep
from pages.components.shared.state import store
from pages.components.text.escape import one_line, safe_text

_PARAM = f"{PREFIX}param_llm_"
_MAX_NAME_LENGTH = 60
_FLASH = f"{PREFIX}profile_flash"


def profile_picker() -> str:
    """The name of the profile; empty if none is chosen or the fields below differ from it."""
    profiles = {profile.name: profile for profile in store().profiles.all().rows}
    key = keep("param_llm_profile", "")
    if (linked := st.session_state.pop(PROFILE_OF_LINK, None)) is not None:
        fill_connection(profiles.get(linked, ModelProfile("", "", "")))
    if st.session_state[key] not in profiles:  # deleted, perhaps in another window
        st.session_state[key] = ""
    picker, save, forget = st.columns([4, 1.5, 1.5], vertical_alignment="bottom")
    name = picker.selectbox(
        "Connection profile",
        ["", *profiles],
        format_func=lambda name: (
            one_line(name, _MAX_NAME_LENGTH) or ("as typed below" if profiles else "none saved yet")
        ),
        key=key,
        persist_state="session",
        on_change=lambda: _fill(profiles.get(st.session_state[key])),
        help="Base URL, model and the name of the key's variable. Keys are never stored.",
    )
    with save.popover("Save…", width="stretch"):
        _save_form()
    forget.button(
        "Delete",
        key=f"{PREFIX}profile_delete",
        on_click=_delete,
        args=(name,),
        disabled=not name or store().read_only,
        width="stretch",
        help="Stored episodes do not change.",
    )
    if message := st.session_state.pop(_FLASH, None):
        st.text(safe_text(message, 300))
    if not name:
        return ""
    if connection_of(name) == profiles[name]:
        return name
    st.caption("The fields below differ from this profile.")
    return ""


def _fill(profile: ModelProfile | None) -> None:
    if profile is not None:
        fill_connection(profile)


def _save_form() -> None:
    st.text_input("Name", key=f"{PREFIX}profile_name", max_chars=_MAX_NAME_LENGTH, placeholder="such as: local llama")
    st.button("Save", key=f"{PREFIX}profile_save", on_click=_save, type="primary", disabled=store().read_only)
    st.caption("Replaces a profile of the same name")


def _save() -> None:
    name = " ".join(str(st.session_state[f"{PREFIX}profile_name"]).split())
    if not name:
        st.session_state[_FLASH] = "Not saved. Enter a name."
        return
    profile = connection_of(name)
    try:
        endpoint_of(profile.base_url)
        store().profiles.save(profile)
    except (InvalidConfig, StoreError) as error:
        st.session_state[_FLASH] = f"Not saved. {error}"
        return
    st.session_state[f"{_PARAM}profile"] = name
    st.session_state[_FLASH] = "Profile saved"


def _delete(name: str) -> None:
    try:
        store().profiles.delete(name)
    except StoreError as error:
        st.session_state[_FLASH] = f"Not deleted. {error}"
        return
    st.session_state[f"{_PARAM}profile"] = ""
    st.session_state[_FLASH] = "Profile deleted"
