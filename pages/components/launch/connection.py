"""The connection on the launch form: filled from a profile, and which server its key was named for.

A key is sent only to the server that it was named for: `core.policies.llm` refuses anything else. The form goes ahead
of that: where the address is changed to another server, the name of the key's variable is taken out and asked for
again, with a sentence that says why.
"""

from __future__ import annotations

import streamlit as st

from core.policies.llm.endpoint import server_of
from core.types import ModelProfile
from pages.components.launch.state import PREFIX

_PARAM = f"{PREFIX}param_llm_"
_FIELDS = ("base_url", "model", "key_name")
_NAMED = f"{PREFIX}key_named"  # the key's name as it was last seen, and the server it was given for
_SAID = f"{PREFIX}key_said"


def fill_connection(profile: ModelProfile) -> None:
    """Put what a profile says into the form. Its key was named for its address."""
    for field in _FIELDS:
        st.session_state[_PARAM + field] = getattr(profile, field)
    st.session_state[_NAMED] = (profile.key_name, server_of(profile.base_url))
    st.session_state.pop(_SAID, None)


def connection_of(name: str) -> ModelProfile:
    """What the form says now, as a profile of that name."""
    fields = {field: str(st.session_state.get(_PARAM + field, "")) for field in _FIELDS}
    return ModelProfile(name, **fields)


def keep_key_with_its_server() -> str:
    """Look at what was typed, before the fields are drawn; the server that the key was named for, or empty.

    Where the address leads to another one now, the key's name is taken out of the form.
    """
    now = connection_of("")
    server = server_of(now.base_url)
    seen, named_for = st.session_state.get(_NAMED, ("", ""))
    if now.key_name != seen:  # given just now, for the address that stands there
        named_for = server
        st.session_state.pop(_SAID, None)
    elif not named_for:  # the name came first, the address now
        named_for = server
    elif now.key_name and server and server != named_for:
        st.session_state[f"{_PARAM}key_name"] = ""
        st.session_state[_SAID] = (named_for, server)
        st.session_state[_NAMED] = ("", "")
        return ""
    st.session_state[_NAMED] = (now.key_name, named_for)
    return named_for if now.key_name else ""


def why_key_is_asked_for_again() -> str:
    """A sentence where the key's name was taken out; empty where it was not, or once one is given."""
    if _SAID not in st.session_state:
        return ""
    before, now = st.session_state[_SAID]
    return (
        f"The name of the key was taken out: it was given for {before}, and the address leads to {now} now. A key is "
        "sent only to the server that it was named for. Give the name again if this server is to have it."
    )
