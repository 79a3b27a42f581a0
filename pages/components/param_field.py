"""One field of a policy's parameter record as a widget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field
from typing import Any

import streamlit as st

from core.policies.params import Number, OneOf, Whole, Words, kind_of
from pages.components.launch_state import keep

_SHORT = 1_000  # characters that fit a line's field


def param_field(
    policy: str, spec: Field[Any], *, about: str = "", labels: Mapping[str, str] | None = None, **more: Any
) -> Any:
    """Draw it; the value it holds.

    about: stands before the field's own description in its help. labels: what to call the names of a choice.
    more: options of the widget.
    """
    options: dict[str, Any] = {
        "key": param_key(policy, spec),
        "persist_state": "session",
        "help": f"{about} {spec.metadata['description']}".strip(),
        **more,
    }
    label = spec.metadata["label"]

    def called(name: str) -> str:
        return (labels or {}).get(name, name)

    match kind_of(spec):
        case Whole(low, high):
            return st.number_input(label, min_value=low, max_value=high, **options)
        case Number(low, high):
            return st.number_input(label, min_value=float(low), max_value=float(high), **options)
        case OneOf(names):
            return st.selectbox(label, names, format_func=called, **options)
        case Words(most):
            return st.text_area(label, **options) if most > _SHORT else st.text_input(label, **options)


def param_key(policy: str, spec: Field[Any]) -> str:
    """The session-state key of a parameter, with its default in it where nothing is held yet."""
    return keep(f"param_{policy}_{spec.name}", spec.default)
