"""A policy's own settings, drawn from the fields of its parameter record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import Field, fields
from typing import Any

import streamlit as st

from core.policies import POLICIES, PolicyKind
from core.policies.params import Number, OneOf, Whole, Words, kind_of
from core.types import PolicySpec
from pages.components.launch_state import PREFIX, keep

_IN_A_ROW = 2
_SHORT = 1_000  # characters that fit a line's field


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
    if own:
        st.markdown(f"**What the {kind.label.lower()} policy does**")
    params = {spec.name: value for row in _rows(own) for spec, value in _row(kind, row)}
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


def _rows(own: Sequence[Field[Any]]) -> list[Sequence[Field[Any]]]:
    return [own[at : at + _IN_A_ROW] for at in range(0, len(own), _IN_A_ROW)]


def _row(kind: PolicyKind, specs: Sequence[Field[Any]]) -> Iterator[tuple[Field[Any], Any]]:
    for column, spec in zip(st.columns(_IN_A_ROW), specs, strict=False):
        with column:
            yield spec, _setting(kind, spec)


def _setting(kind: PolicyKind, spec: Field[Any]) -> Any:
    options: dict[str, Any] = {
        "key": keep(f"param_{kind.name}_{spec.name}", spec.default),
        "persist_state": "session",
        "help": f"A setting of the {kind.label.lower()} policy itself. {spec.metadata['description']}",
    }
    label = spec.metadata["label"]
    match kind_of(spec):
        case Whole(low, high):
            return st.number_input(label, min_value=low, max_value=high, **options)
        case Number(low, high):
            return st.number_input(label, min_value=float(low), max_value=float(high), **options)
        case OneOf(names):
            return st.selectbox(label, names, **options)
        case Words(most):
            return st.text_area(label, **options) if most > _SHORT else st.text_input(label, **options)
