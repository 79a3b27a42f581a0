"""Shows an error: our headline over text that may come from a model or a traceback."""

from __future__ import annotations

import streamlit as st

from pages.components.text.escape import MAX_LINE_LENGTH, safe_text

LONG = 900  # characters
LONG_TEXT_PX = 240
_MANY_LINES = 10


def show_problem(
    title: str, kind: str, detail: str, where: str = "", colour: str = "red", long_px: int = LONG_TEXT_PX
) -> None:
    """long_px: height from which a long text scrolls."""
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.badge(title, color="orange" if colour == "orange" else "red")
            if kind:
                st.text(safe_text(kind, MAX_LINE_LENGTH))
        show_scrolled_text(detail, long_px)
        if where:
            st.code(safe_text(where), language=None, wrap_lines=True)


def show_scrolled_text(text: str, long_px: int = LONG_TEXT_PX) -> None:
    """Plain text; a long one scrolls."""
    is_long = len(text) > LONG or text.count("\n") > _MANY_LINES
    with st.container(height=long_px if is_long else "content", border=False):
        st.text(safe_text(text))
