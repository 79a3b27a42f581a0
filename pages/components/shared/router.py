"""Makes sure that a page is drawn inside the dashboard."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

_DONE = "went_through_router"


def inside_the_dashboard() -> None:
    """Call first on every page. Draws the page anew through `app.py` where Streamlit left that out.

    A fresh server knows the folder `pages` but not yet the router: when its very first request is the address of a
    page, Streamlit runs that page alone (narrow, with file names as its menu). From the first `st.navigation` on, it
    goes through the router.
    """
    # Once a session: a repeated run would swallow the click that led to it.
    if PagesManager.uses_pages_directory and not st.session_state.get(_DONE):
        st.session_state[_DONE] = True
        PagesManager.uses_pages_directory = False
        st.rerun()
