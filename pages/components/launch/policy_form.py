"""A policy's settings, from the fields of its parameter class; the language model has its own form."""

from __future__ import annotations

from dataclasses import dataclass, fields

import streamlit as st

from core.policies import POLICIES
from core.types import Budget, PolicySpec
from pages.components.launch.model_form import budget_form, missing_settings, model_settings
from pages.components.launch.state import LAUNCH, PREFIX
from pages.components.shared.param_field import param_fields


@dataclass(frozen=True, slots=True)
class PolicyChoice:
    """Values as entered, not checked.

    max_actions: per call. budget: of the model calls. missing: a message about what to enter first, or empty.
    """

    spec: PolicySpec
    max_actions: int
    budget: Budget = Budget()
    missing: str = ""


def policy_picker() -> str:
    return st.selectbox(
        "Policy",
        list(POLICIES),
        format_func=lambda name: POLICIES[name].label,
        key=f"{PREFIX}policy",
        persist_state="session",
        help="\n\n".join(f"**{kind.label}**: {kind.description}" for kind in POLICIES.values()),
    )


def policy_settings(name: str) -> PolicyChoice:
    kind = POLICIES[name]
    st.caption(kind.description)
    if name == "llm":
        params = model_settings()
        budget = budget_form()
        return PolicyChoice(PolicySpec(name, params), _max_actions(), budget, missing_settings(params))
    own = fields(kind.params)
    if own:
        st.markdown(f"**{kind.label} settings**")
    about = f"A setting of the {kind.label.lower()} policy itself."
    params = param_fields(LAUNCH, name, own, in_a_row=2, about=about)
    return PolicyChoice(PolicySpec(name, params), _max_actions())


def _max_actions() -> int:
    st.markdown("**Limits for this run**")
    allowed, _ = st.columns(2)
    max_actions = allowed.number_input(
        "Actions executed per call",
        min_value=1,
        key=f"{PREFIX}max_actions",
        persist_state="session",
        help="Further actions of a call are recorded as dropped. The policy is told this limit.",
    )
    return int(max_actions)
