"""What the launch form starts from: the link it was opened with, else what it last held in this session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitAPIException

from core.errors import did_you_mean
from core.policies import POLICIES
from core.rewards import STRATEGIES
from core.types import Limits, OnDone

PREFIX = "launch_"
"""The session-state key of a field of the form is this and its name."""

LAUNCH_BUTTON = f"{PREFIX}now"
"""The form's one button that is always drawn. Buttons are forgotten when the page is left, fields are not."""


_LINK_DUE = f"{PREFIX}link_due"
_LINK_RETRY_S = 0.5


@dataclass(frozen=True, slots=True)
class LinkField:
    """A field of the form that a link can carry. `read` raises ValueError, with a sentence, for what it cannot use."""

    default: Any
    read: Callable[[str], Any]
    always: bool = False  # part of the link although it holds the default


def _one_of(names: Mapping[str, Any]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in names:
            raise ValueError(f"there is none of that name{did_you_mean(text, names) or '.'}")
        return text

    return read


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("it is not a whole number.") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("it is not a number.") from None


_LIMITS = Limits()
LINK_FIELDS: dict[str, LinkField] = {
    "seeds": LinkField("42", str, always=True),
    "policy": LinkField("scripted", _one_of(POLICIES), always=True),
    "episodes": LinkField(1, _whole, always=True),
    "strategy": LinkField("per_achievement", _one_of(STRATEGIES)),
    "lambda": LinkField(1.0, _number),
    "max_steps": LinkField(_LIMITS.max_steps, _whole),
    "max_decisions": LinkField(_LIMITS.max_decisions, _whole),
    "max_seconds": LinkField(_LIMITS.max_time_s, _number),
    "on_done": LinkField(OnDone.TERMINATE.value, _one_of({choice.value: choice for choice in OnDone})),
}


def begin() -> None:
    """Fill the form: on arrival by a link from the link, then with defaults where nothing is held yet.

    A value of the link that cannot be used is said, and the default stands in its place.
    """
    arriving = LAUNCH_BUTTON not in st.session_state
    if arriving and any(name in st.query_params for name in LINK_FIELDS):
        for name, field in LINK_FIELDS.items():
            st.session_state[PREFIX + name] = _from_link(name, field)
    for name, field in LINK_FIELDS.items():
        keep(name, field.default)


def keep(name: str, default: Any) -> str:
    """The session-state key of a field, with `default` in it where nothing is held yet."""
    key = PREFIX + name
    if key not in st.session_state:
        st.session_state[key] = default
    return key


def show_link() -> None:
    """Put the form into the page's address, so that it can be sent."""
    link = link_of({name: st.session_state[PREFIX + name] for name in LINK_FIELDS})
    if dict(st.query_params) == link:
        return
    try:
        st.query_params.from_dict(link)
    except StreamlitAPIException:
        # Filters of the traces page have some of these names, and keep them until this first run here is over.
        st.session_state[_LINK_DUE] = True
        st.fragment(_run_again, run_every=_LINK_RETRY_S)()


def _run_again() -> None:
    """The first call is part of the run that could not write the link; the next one comes after it."""
    if not st.session_state.pop(_LINK_DUE, False):
        st.rerun()


def link_of(values: Mapping[str, Any]) -> dict[str, str]:
    """Query parameters of the launch page that fill its form with `values`; defaults are left out."""
    return {
        name: f"{values[name]:g}" if isinstance(values[name], float) else str(values[name])
        for name, field in LINK_FIELDS.items()
        if name in values and values[name] is not None and (field.always or values[name] != field.default)
    }


def _from_link(name: str, field: LinkField) -> Any:
    text = st.query_params.get(name)
    if text is None:
        return field.default
    try:
        return field.read(text)
    except ValueError as error:
        st.session_state.setdefault(f"{PREFIX}link_troubles", []).append(
            f'The link\'s "{name}" is "{text}": {error} It was set to {field.default}.'
        )
        return field.default


def link_troubles() -> list[str]:
    """Sentences on what the link held and could not be used; each is given once."""
    return st.session_state.pop(f"{PREFIX}link_troubles", [])
