"""A policy's own settings, drawn from the fields of its parameter record."""

from __future__ import annotations

from dataclasses import fields

import streamlit as st

from core.policies import POLICIES
from core.types import PolicySpec
from pages.components.launch_state import PREFIX, keep


def policy_picker() -> str:
    """Which policy plays."""
    name = st.selectbox(
        "Policy",
        list(POLICIES),
        format_func=lambda name: POLICIES[name].label,
        key=f"{PREFIX}policy",
        persist_state="session",
    )
    st.caption(POLICIES[name].description)
    return name


def policy_settings(name: str) -> tuple[PolicySpec, int]:
    """Draw the settings of that policy; the specification they say, and how many actions one call may hold."""
    kind = POLICIES[name]
    st.caption(f"How the {kind.label.lower()} policy acts. Another policy is chosen on the right.")
    specs = fields(kind.params)
    first, *others = st.columns(max(3, 1 + len(specs)))
    max_actions = first.number_input(
        "Cap on actions in a call",
        min_value=1,
        key=keep("max_actions", 5),
        persist_state="session",
        help="This launch's limit for every policy. What a call holds beyond it is dropped, and recorded as dropped.",
    )
    params: dict[str, int] = {}
    for column, spec in zip(others, specs, strict=False):
        params[spec.name] = column.number_input(
            spec.metadata["label"],
            min_value=spec.metadata["low"],
            max_value=spec.metadata["high"],
            key=keep(f"param_{name}_{spec.name}", spec.default),
            persist_state="session",
            help=spec.metadata["description"],
        )
    return PolicySpec(name, params), int(max_actions)
