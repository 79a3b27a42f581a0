"""What a form holds in the session. Forms of one kind share their code, and nothing of what they hold."""

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
        """The key of a field, with `default` in it where nothing is held yet."""
        key = self.key(name)
        if key not in st.session_state:
            st.session_state[key] = default
        return key

    def get(self, name: str, default: Any = None) -> Any:
        """What a field holds."""
        return st.session_state.get(self.key(name), default)

    def put(self, name: str, value: Any) -> None:
        """Let a field hold something: before it is drawn, or in a callback."""
        st.session_state[self.key(name)] = value


def param_name(owner: str, name: str) -> str:
    """The name of a parameter's field. owner: whose it is, a policy's name, or `strategy_` and a reward strategy's."""
    return f"param_{owner}_{name}"
