"""The thresholds of the audit as a form, rule by rule; the same in every place where an audit is shown."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

import streamlit as st

from core.audit import RULES, AuditThresholds
from pages.components.form_state import FormState, param_name
from pages.components.param_field import param_field

_FORM: Final = FormState("audit_")
_FIELDS: Final = fields(AuditThresholds)
_COLUMNS: Final = 3


def thresholds() -> AuditThresholds:
    """Those that are set in this session."""
    return AuditThresholds(**{spec.name: _FORM.get(_name(spec.name), spec.default) for spec in _FIELDS})


def show_thresholds() -> None:
    """Draw the form, closed until somebody wants it."""
    changed = sum(getattr(thresholds(), spec.name) != spec.default for spec in _FIELDS)
    # The session holds whether it is open: what is drawn above it changes with each threshold.
    with st.expander("Rules and thresholds", key="audit_rules", on_change="rerun"):
        for rule in RULES.values():
            st.markdown(f"**{rule.name}**")
            st.caption(rule.description)
            columns = st.columns(_COLUMNS)
            own = [spec for spec in _FIELDS if spec.metadata["rule"] == rule.id]
            for column, spec in zip(columns, own, strict=False):
                with column:
                    param_field("audit", spec, form=_FORM)
        st.button("Back to the defaults", key="audit_defaults", on_click=_reset, disabled=not changed)
    if changed:
        st.caption(f"{changed} of {len(_FIELDS)} thresholds {'is' if changed == 1 else 'are'} not at the default.")


def _name(field: str) -> str:
    return param_name("audit", field)


def _reset() -> None:
    for spec in _FIELDS:
        _FORM.put(_name(spec.name), spec.default)
