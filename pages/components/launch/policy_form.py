"""A policy's settings, from the fields of its parameter class; the language model has its own form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import Field, dataclass, fields
from typing import Any

import streamlit as st

from core.policies import POLICIES, PolicyKind
from core.types import Budget, PolicySpec
from pages.components.launch.model_form import budget_form, missing_settings, model_settings
from pages.components.launch.state import LAUNCH, PREFIX, keep
from pages.components.shared.param_field import param_field

_IN_A_ROW = 2


@dataclass(frozen=True, slots=True)
class PolicyChoice:
    """Values as entered, not checked.

    max_actions: per call. budget: of the model calls. missing: what has to be entered first; empty if nothing.
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
    params = {spec.name: value for row in _rows(own) for spec, value in _row(kind, row)}
    return PolicyChoice(PolicySpec(name, params), _max_actions())


def _max_actions() -> int:
    st.markdown("**Limits for this run**")
    allowed, _ = st.columns(2)
    max_actions = allowed.number_input(
        "Actions executed per call",
        min_value=1,
        key=keep("max_actions", 5),
        persist_state="session",
        help="Further actions of a call are not executed, but recorded as dropped. All policies here know the limit.",
    )
    return int(max_actions)


def _rows(own: Sequence[Field[Any]]) -> list[Sequence[Field[Any]]]:
    return [own[at : at + _IN_A_ROW] for at in range(0, len(own), _IN_A_ROW)]


def _row(kind: PolicyKind, specs: Sequence[Field[Any]]) -> Iterator[tuple[Field[Any], Any]]:
    for column, spec in zip(st.columns(_IN_A_ROW), specs, strict=False):
        with column:
            about = f"A setting of the {kind.label.lower()} policy itself."
            yield spec, param_field(LAUNCH, kind.name, spec, about=about)
