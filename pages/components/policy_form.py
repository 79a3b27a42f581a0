"""A policy's own settings, drawn from the fields of its parameter record."""

from __future__ import annotations

from dataclasses import fields

import streamlit as st

from core.policies import POLICIES
from core.types import PolicySpec
from pages.components.launch_state import PREFIX, keep


def policy_picker() -> str:
    """Which policy plays."""
    return st.selectbox(
        "Policy",
        list(POLICIES),
        format_func=lambda name: POLICIES[name].label,
        key=f"{PREFIX}policy",
        persist_state="session",
        help="\n\n".join(f"**{kind.label}**: {kind.description}" for kind in POLICIES.values()),
    )


def policy_settings(name: str) -> tuple[PolicySpec, int]:
    """Draw the settings of that policy; the specification they say, and how many actions one call may hold."""
    kind = POLICIES[name]
    st.caption(kind.description)
    own = fields(kind.params)
    params: dict[str, int] = {}
    if own:
        st.markdown(f"**What the {kind.label.lower()} policy does**")
        for column, spec in zip(st.columns(max(2, len(own))), own, strict=False):
            params[spec.name] = column.number_input(
                spec.metadata["label"],
                min_value=spec.metadata["low"],
                max_value=spec.metadata["high"],
                key=keep(f"param_{name}_{spec.name}", spec.default),
                persist_state="session",
                help=f"A setting of the {kind.label.lower()} policy itself. {spec.metadata['description']}",
            )
    st.markdown("**What this launch lets any policy do**")
    allowed, _ = st.columns(2)
    max_actions = allowed.number_input(
        "Actions kept of one call",
        min_value=1,
        key=keep("max_actions", 5),
        persist_state="session",
        help="Whatever the policy is. Actions of a call beyond this number are not played; they are recorded as "
        "dropped. A policy that knows the limit, as the scripted and the random one do, asks for no more.",
    )
    return PolicySpec(name, params), int(max_actions)
