"""Filters in a URL: finds values that are not accepted, and says what would be."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.errors import did_you_mean
from pages.components.text.escape import escape, one_line
from pages.components.text.format import listed

MAX_VALUE_LENGTH = 60
_MAX_LISTED = 8


def unknown_in_url(key: str, accepted: Sequence[str], *, what: str = "", also: Sequence[str] = ()) -> list[str]:
    """The unknown values of the URL parameter `key`, each with what is accepted.

    Call it before the widget of that key, which removes such values from the URL. what: the filter's name, by default
    the key. also: values that are accepted but not offered.
    """
    return [
        f'{what or key} "{one_line(given, MAX_VALUE_LENGTH)}" ({_accepted(given, accepted)})'
        for given in st.query_params.get_all(key)
        if given and given not in accepted and given not in also
    ]


def show_ignored(ignored: Sequence[str]) -> None:
    if ignored:
        st.warning(escape(f"Ignored in the link: {'; '.join(ignored)}. All other filters apply."))


def _accepted(given: str, names: Sequence[str]) -> str:
    if not names:
        return "none stored yet"
    hint = did_you_mean(given[:MAX_VALUE_LENGTH], names).removeprefix("; ")
    return f"{hint} accepted: {listed(names, _MAX_LISTED)}".strip()
