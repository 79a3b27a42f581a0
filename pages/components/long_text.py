"""Text of any length from a model or its server: its beginning with its true size, and the whole a click away."""

from __future__ import annotations

import json
from typing import Any

import streamlit as st

from pages.components.plain import shown

_MOST = 6_000  # characters on the page
_TALL = 700  # characters from which on it scrolls
_MANY_LINES = 12
_TALL_PX = 220
_MOST_IN_A_TREE = 30_000


def show_long_text(text: str, *, key: str, name: str, language: str | None = None) -> None:
    """The text as it is, never as Markdown. key: unique on the page. name: of the file that holds the whole."""
    is_tall = len(text) > _TALL or text.count("\n") >= _MANY_LINES
    st.code(shown(text[:_MOST]), language=language, wrap_lines=True, height=_TALL_PX if is_tall else "content")
    if len(text) > _MOST:
        _offer_whole(text, key, f"{name}.txt")


def show_long_data(value: Any, *, key: str, name: str) -> None:
    """Data as a tree, or its beginning as text where a browser would choke on the whole."""
    text = json.dumps(value, default=str, ensure_ascii=False)
    if len(text) <= _MOST_IN_A_TREE:
        st.json(shown(text, _MOST_IN_A_TREE), expanded=1)
        return
    st.code(shown(text[:_MOST]), language="json", wrap_lines=True, height=_TALL_PX)
    _offer_whole(text, key, f"{name}.json")


def _offer_whole(text: str, key: str, file_name: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(f"The first {_MOST:,} of {len(text):,} characters.", width="content")
        st.download_button(
            "The whole of it",
            data=text.encode("utf-8", "replace"),
            file_name=file_name,
            on_click="ignore",
            key=key,
            type="tertiary",
        )
