"""Long text from a model or server: its beginning and size, and a download of the whole."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any

import streamlit as st

from pages.components.text.escape import safe_data, safe_text

_MAX_SHOWN = 6_000  # characters on the page
_SCROLLS_FROM = (700, 12)  # characters, lines
_GRID_SCROLLS_FROM = (2_000, 30)
_SCROLLED_PX = 220
_MAX_TREE_LENGTH = 30_000


def show_long_text(text: str, *, key: str, name: str, language: str | None = None) -> None:
    """Show plain text, never Markdown. key: unique on the page. name: file name of the download."""
    grid = _columns_of_grid(text[:_MAX_SHOWN])
    # The local view must not wrap.
    characters, lines = _GRID_SCROLLS_FROM if grid else _SCROLLS_FROM
    height = _SCROLLED_PX if len(text) > characters or text.count("\n") >= lines else "content"
    with st.container(key=f"{key}-grid-of-{grid}") if grid else nullcontext():
        st.code(safe_text(text[:_MAX_SHOWN]), language=language, wrap_lines=True, height=height)
    if len(text) > _MAX_SHOWN:
        _offer_whole(text, key, f"{name}.txt")


def _columns_of_grid(text: str) -> int:
    """Columns of the local view in the text, for the page's styles; 0 without one."""
    longest = max((len(line) for line in text.split("\n") if line.startswith("  ")), default=0)
    return 0 if not longest else 66 if longest <= 66 else 84


def show_long_data(value: Any, *, key: str, name: str) -> None:
    """Data as a tree, or its beginning as text if the browser could not handle all of it."""
    text = json.dumps(value, default=str, ensure_ascii=False)
    if len(text) <= _MAX_TREE_LENGTH:
        st.json(json.dumps(safe_data(value), default=str), expanded=1)
        return
    st.code(safe_text(text[:_MAX_SHOWN]), language="json", wrap_lines=True, height=_SCROLLED_PX)
    _offer_whole(text, key, f"{name}.json")


def _offer_whole(text: str, key: str, file_name: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(f"The first {_MAX_SHOWN:,} of {len(text):,} characters.", width="content")
        st.download_button(
            "Download all",
            data=text.encode("utf-8", "replace"),
            file_name=file_name,
            on_click="ignore",
            key=key,
            type="tertiary",
        )
