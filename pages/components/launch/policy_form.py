"""A policy's own settings, drawn from the fields of its parameter record; a language model has its own form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import Field, dataclass, fields
from typing import Any

import streamlit as st

from core.policies import POLICIES, PolicyKind
from core.types import Budget, PolicySpec
from pages.components.launch.model_form import budget_form, model_settings, what_is_missing
from pages.components.launch.state import LAUNCH, PREFIX, keep
from pages.components.shared.param_field import param_field

_IN_A_ROW = 2


@dataclass(frozen=True, slots=True)
class PolicyChoice:
    """What the form says of the policy, not yet checked.

    max_actions: how many actions one call may hold. budget: what its model calls may come to; open where there are
    none. missing: a sentence on what has to be filled in first; empty where nothing is.
    """

    spec: PolicySpec
    max_actions: int
    budget: Budget = Budget()
    missing: str = ""


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


def policy_settings(name: str) -> PolicyChoice:
    """Draw the settings of that policy."""
    kind = POLICIES[name]
    st.caption(kind.description)
    if name == "llm":
        params = model_settings()
        budget = budget_form()
        return PolicyChoice(PolicySpec(name, params), _max_actions(), budget, what_is_missing(params))
    own = fields(kind.params)
    if own:
        st.markdown(f"**What the {kind.label.lower()} policy does**")
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
        help="Applies to any policy. Further actions of a call are not executed; they are recorded as dropped. The "
        "policies offered here know the limit and do not ask for more.",
    )
    return int(max_actions)


def _rows(own: Sequence[Field[Any]]) -> list[Sequence[Field[Any]]]:
    return [own[at : at + _IN_A_ROW] for at in range(0, len(own), _IN_A_ROW)]


def _row(kind: PolicyKind, specs: Sequence[Field[Any]]) -> Iterator[tuple[Field[Any], Any]]:
    for column, spec in zip(st.columns(_IN_A_ROW), specs, strict=False):
        with column:
            about = f"A setting of the {kind.label.lower()} policy itself."
            yield spec, param_field(LAUNCH, kind.name, spec, about=about)
