"""The session state of one form. Forms of one kind share code, not values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st


@dataclass(frozen=True, slots=True)
class FormState:
    """The session-state keys of one form: its prefix and a field's name."""

    prefix: str

    def key(self, name: str) -> str:
        """The key of a field."""
        return self.prefix + name

    def keep(self, name: str, default: Any) -> str:
        """The key of a field, set to `default` if it has no value yet."""
        key = self.key(name)
        if key not in st.session_state:
            st.session_state[key] = default
        return key

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a field."""
        return st.session_state.get(self.key(name), default)

    def put(self, name: str, value: Any) -> None:
        """Set a field: before it is drawn, or in a callback."""
        st.session_state[self.key(name)] = value


def param_name(owner: str, name: str) -> str:
    """The name of a parameter's field. owner: a policy's name, or `strategy_` and a reward strategy's name."""
    return f"param_{owner}_{name}"
