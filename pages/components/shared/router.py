"""Makes sure that a page runs inside the dashboard."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

_DONE = "router_ensured"


def ensure_router() -> None:
    """Call first on every page. Reruns it through `app.py` if Streamlit bypassed the router.

    A fresh server knows the folder `pages` but not yet the router: if its very first request is a page's URL, Streamlit
    runs that page alone (narrow, with file names as its menu). After the first `st.navigation` it uses the router.
    """
    # Once a session: a second rerun would swallow the click that caused it.
    if PagesManager.uses_pages_directory and not st.session_state.get(_DONE):
        st.session_state[_DONE] = True
        PagesManager.uses_pages_directory = False
        st.rerun()
