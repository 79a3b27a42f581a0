"""The connection on the launch form: saved profiles, and the choice of API key. A profile never holds a key."""

from __future__ import annotations

import streamlit as st

from core.errors import InvalidConfig, StoreError
from core.policies.llm.endpoint import endpoint_of, keys_for
from core.types import ModelProfile
from pages.components.launch.state import LAUNCH, PREFIX, PROFILE_OF_LINK
from pages.components.shared.state import store
from pages.components.text.escape import escape, one_line, safe_text

_PARAM = f"{PREFIX}param_llm_"
_PROFILE = f"{_PARAM}profile"
_KEY = f"{_PARAM}key_name"
_KEY_SERVER = f"{PREFIX}key_server"
_KEY_OF_PROFILE = f"{PREFIX}key_of_profile"
_FLASH = f"{PREFIX}profile_flash"
_MAX_NAME_LENGTH = 60


def profile_picker() -> str:
    """The name of the profile; empty if none is chosen or the fields below differ from it."""
    profiles = {profile.name: profile for profile in store().profiles.all().rows}
    if (linked := st.session_state.pop(PROFILE_OF_LINK, None)) is not None:
        _fill(profiles.get(linked, ModelProfile("", "", "")))
    if st.session_state[_PROFILE] not in profiles:  # deleted, perhaps in another window
        st.session_state[_PROFILE] = ""
    picker, save, delete = st.columns([4, 1.5, 1.5], vertical_alignment="bottom")
    name = picker.selectbox(
        "Connection profile",
        ["", *profiles],
        format_func=lambda name: (
            one_line(name, _MAX_NAME_LENGTH) or ("as entered below" if profiles else "none saved yet")
        ),
        key=_PROFILE,
        persist_state="session",
        on_change=lambda: _fill(profiles.get(st.session_state[_PROFILE])),
        help="Base URL, model and the name of the API key's variable. Keys are never stored.",
    )
    with save.popover("Save…", width="stretch"):
        st.text_input(
            "Name", key=f"{PREFIX}profile_name", max_chars=_MAX_NAME_LENGTH, placeholder="such as: local llama"
        )
        st.button("Save", key=f"{PREFIX}profile_save", on_click=_save, type="primary", disabled=store().read_only)
        st.caption("Replaces a profile of the same name")
    delete.button(
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
    if name and _entered(name) != profiles[name]:
        st.caption("The fields below differ from this profile.")
        return ""
    return name


def key_field() -> str:
    """The name of the API key's variable, empty for no key. Draw it after the base URL.

    A profile's key that does not exist for the server stays chosen, so that the form's check reports it instead of
    launching without a key.
    """
    LAUNCH.keep("param_llm_key_name", "")
    url = str(st.session_state.get(f"{_PARAM}base_url", ""))
    keys = keys_for(url)
    usable = [name for name, is_set in keys.items() if is_set]
    if st.session_state.get(_KEY_SERVER) != _server(url):
        st.session_state[_KEY_SERVER] = _server(url)
        st.session_state[_KEY] = next(iter(usable), "")
    elif st.session_state[_KEY] not in (None, "", *usable):
        st.session_state[_KEY] = ""
    st.selectbox(
        "API key",
        ["", *usable],
        index=None,
        format_func=lambda name: name or "No key",
        key=_KEY,
        persist_state="session",
        placeholder="Choose a key",
        help="The keys for this server. CRAFTSCOPE_KEYS pairs each key with its hosts; it is sent nowhere else and "
        "never stored.",
    )
    if unset := [name for name, is_set in keys.items() if not is_set]:
        st.caption(f"Not set in the environment: {escape(', '.join(unset))}")
    return _chosen_key()


def _fill(profile: ModelProfile | None) -> None:
    """The choice of key stays open if the profile's key does not exist for its server."""
    if profile is None:
        return
    st.session_state[f"{_PARAM}base_url"] = profile.base_url
    st.session_state[f"{_PARAM}model"] = profile.model
    exists = not profile.key_name or keys_for(profile.base_url).get(profile.key_name, False)
    st.session_state[_KEY] = profile.key_name if exists else None
    st.session_state[_KEY_OF_PROFILE] = profile.key_name
    st.session_state[_KEY_SERVER] = _server(profile.base_url)


def _entered(name: str) -> ModelProfile:
    """The form's values as a profile."""
    base_url, model = (str(st.session_state.get(_PARAM + field, "")) for field in ("base_url", "model"))
    return ModelProfile(name, base_url, model, _chosen_key())


def _chosen_key() -> str:
    chosen = st.session_state.get(_KEY, "")
    return str(st.session_state.get(_KEY_OF_PROFILE, "") if chosen is None else chosen)


def _server(url: str) -> str:
    try:
        return endpoint_of(url).server
    except InvalidConfig:
        return ""


def _save() -> None:
    name = " ".join(str(st.session_state[f"{PREFIX}profile_name"]).split())
    if not name:
        st.session_state[_FLASH] = "Not saved. Enter a name."
        return
    profile = _entered(name)
    try:
        endpoint_of(profile.base_url)
        store().profiles.save(profile)
    except (InvalidConfig, StoreError) as error:
        st.session_state[_FLASH] = f"Not saved. {error}"
        return
    st.session_state[_PROFILE] = name
    st.session_state[_FLASH] = "Profile saved"


def _delete(name: str) -> None:
    try:
        store().profiles.delete(name)
    except StoreError as error:
        st.session_state[_FLASH] = f"Not deleted. {error}"
        return
    st.session_state[_PROFILE] = ""
    st.session_state[_FLASH] = "Profile deleted"
