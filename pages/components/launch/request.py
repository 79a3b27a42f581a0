"""A trainer's request as the launch form."""

from __future__ import annotations

from typing import Final

import streamlit as st

from core.errors import InvalidInput
from core.requests import plan_request, read_request
from pages.components.launch.model_form import fill_prompt
from pages.components.launch.state import PREFIX, fill
from pages.components.text.escape import escape

_FILE: Final = f"{PREFIX}request_file"
_PROBLEM: Final = f"{PREFIX}request_problem"
_LEFT_OUT: Final = (
    "The form holds the request's seed, policy, rewards and limits. A launch from here has a run id of its own and no "
    "correlation id, session or list of ops."
)


def request_popover() -> None:
    """*Import request*: fills the form from the JSON that a trainer sends to `/rollout`."""
    with st.popover("Import request…", key=f"{PREFIX}request"):
        st.file_uploader("A rollout request (JSON)", type="json", key=_FILE, on_change=_read)
        if problem := st.session_state.get(_PROBLEM):
            st.error(escape(problem))


def _read() -> None:
    st.session_state[_PROBLEM] = ""
    file = st.session_state[_FILE]
    if file is None:
        return
    try:
        planned = plan_request(read_request(file.getvalue()))
    except InvalidInput as error:
        st.session_state[_PROBLEM] = f"“{file.name}” was not imported. {error}"
        return
    spec = planned.run.episodes[0].spec
    fill(spec, [_LEFT_OUT, *planned.warnings])
    fill_prompt(str(spec.policy.params.get("system_prompt", "")))
