"""The connection on the launch form: filled from a profile; the choice of API key."""

from __future__ import annotations

import streamlit as st

from core.errors import InvalidConfig
from core.policies.llm.endpoint import endpoint_of, keys_for
from core.types import ModelProfile
from pages.components.launch.state import PREFIX, keep
from pages.components.text.escape import escape

_PARAM = f"{PREFIX}param_llm_"
_KEY = f"{_PARAM}key_name"
_KEY_SERVER = f"{PREFIX}key_server"
_KEY_OF_PROFILE = f"{PREFIX}key_of_profile"


def fill_connection(profile: ModelProfile) -> None:
    """The choice of key stays open if the profile's key does not exist for its server."""
    st.session_state[f"{_PARAM}base_url"] = profile.base_url
    st.session_state[f"{_PARAM}model"] = profile.model
    exists = not profile.key_name or keys_for(profile.base_url).get(profile.key_name, False)
    st.session_state[_KEY] = profile.key_name if exists else None
    st.session_state[_KEY_OF_PROFILE] = profile.key_name
    st.session_state[_KEY_SERVER] = _server(profile.base_url)


def connection_of(name: str) -> ModelProfile:
    """The form's values as a profile."""
    base_url, model = (str(st.session_state.get(_PARAM + field, "")) for field in ("base_url", "model"))
    return ModelProfile(name, base_url, model, _chosen())


def key_field() -> str:
    """The name of the API key's variable, empty for no key. Draw it after the base URL.

    A profile's key that does not exist for the server stays chosen, so that the form's check reports it instead of
    launching without a key.
    """
    keep("param_llm_key_name", "")
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
    return _chosen()


def _chosen() -> str:
    chosen = st.session_state.get(_KEY, "")
    return str(st.session_state.get(_KEY_OF_PROFILE, "") if chosen is None else chosen)


def _server(url: str) -> str:
    try:
        return endpoint_of(url).server
    except InvalidConfig:
        return ""
