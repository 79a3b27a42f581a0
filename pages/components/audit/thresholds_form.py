"""The thresholds of the audit as a form, rule by rule; the same in every place where an audit is shown."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

import streamlit as st

from core.analysis.audit import RULES, AuditThresholds
from core.params import kind_of
from pages.components.browser.url import keep_in_address
from pages.components.links.values import in_link, reader_of
from pages.components.shared.form_state import FormState, param_name
from pages.components.shared.param_field import param_field
from pages.components.text.escape import escape, one_line

_FORM: Final = FormState("audit_")
_FIELDS: Final = fields(AuditThresholds)
_COLUMNS: Final = 3
_BEGUN: Final = "begun"
_TROUBLES: Final = "link_troubles"
_MAX_ECHOED: Final = 60


def thresholds() -> AuditThresholds:
    """Those that are set in this session; when it first looks at an audit, those of the link."""
    if not _FORM.get(_BEGUN):
        _FORM.put(_BEGUN, True)
        _FORM.put(_TROUBLES, (_fill_from_link(), _held()))
    return _held()


def _held() -> AuditThresholds:
    return AuditThresholds(**{spec.name: _FORM.get(_name(spec.name), spec.default) for spec in _FIELDS})


def show_thresholds(page: str) -> None:
    """Draw the form, closed until somebody wants it, and keep it in the address of the page (its URL path)."""
    wanted = thresholds()
    values = {spec.name: getattr(wanted, spec.name) for spec in _FIELDS}
    address = {spec.name: None if values[spec.name] == spec.default else in_link(values[spec.name]) for spec in _FIELDS}
    changed = sum(text is not None for text in address.values())
    troubles, as_filled = _FORM.get(_TROUBLES, ((), wanted))
    if troubles and wanted == as_filled:
        st.warning(escape(" ".join(troubles)))
    # The session holds whether it is open: what is drawn above it changes with each threshold.
    with st.expander("Rules and thresholds", key="audit_rules", on_change="rerun"):
        for rule in RULES.values():
            st.markdown(f"**{rule.name}**")
            st.caption(rule.description)
            own = [spec for spec in _FIELDS if spec.metadata["rule"] == rule.id]
            for row in (own[at : at + _COLUMNS] for at in range(0, len(own), _COLUMNS)):
                for column, spec in zip(st.columns(_COLUMNS), row, strict=False):
                    with column:
                        param_field(_FORM, "audit", spec)
        st.button("Reset to defaults", key="audit_defaults", on_click=_reset, disabled=not changed)
    keep_in_address(page, "thresholds", address)
    if changed:
        st.caption(f"{changed} of {len(_FIELDS)} thresholds {'is' if changed == 1 else 'are'} not at the default.")


def _name(field: str) -> str:
    return param_name("audit", field)


def _fill_from_link() -> list[str]:
    """What of it cannot be used, in sentences; the defaults stand in its place."""
    troubles: list[str] = []
    for spec in _FIELDS:
        text = st.query_params.get(spec.name)
        if text is None:
            continue
        try:
            _FORM.put(_name(spec.name), reader_of(kind_of(spec))(text))
        except ValueError as error:
            label = spec.metadata["label"]
            troubles.append(
                f'The link\'s "{spec.name}" is "{one_line(text, _MAX_ECHOED)}": {error} “{label}” is at its default.'
            )
    return troubles


def _reset() -> None:
    for spec in _FIELDS:
        _FORM.put(_name(spec.name), spec.default)
