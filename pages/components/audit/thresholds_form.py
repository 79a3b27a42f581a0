"""The form of the audit's thresholds, rule by rule. All pages share its values."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

import streamlit as st

from core.analysis.audit import RULES, AuditThresholds
from core.params import kind_of
from pages.components.browser.url import write_to_url
from pages.components.links.values import link_text, reader_of
from pages.components.shared.form_state import FormState, param_name
from pages.components.shared.param_field import param_fields
from pages.components.text.escape import escape, one_line

_FORM: Final = FormState("audit_")
_FIELDS: Final = fields(AuditThresholds)
_STARTED: Final = "started"
_PROBLEMS: Final = "link_problems"
_MAX_VALUE_LENGTH: Final = 60


def thresholds() -> AuditThresholds:
    """The values of this session, initially those of the link."""
    if not _FORM.get(_STARTED):
        _FORM.put(_STARTED, True)
        _FORM.put(_PROBLEMS, (_fill_from_link(), _current()))
    return _current()


def _current() -> AuditThresholds:
    return AuditThresholds(**{spec.name: _FORM.get(_name(spec.name), spec.default) for spec in _FIELDS})


def show_thresholds(page: str) -> None:
    """Draws the form, initially collapsed, and writes its values to the URL. page: its URL path."""
    current = thresholds()
    values = {spec.name: getattr(current, spec.name) for spec in _FIELDS}
    query = {spec.name: None if values[spec.name] == spec.default else link_text(values[spec.name]) for spec in _FIELDS}
    changed = sum(text is not None for text in query.values())
    problems, as_filled = _FORM.get(_PROBLEMS, ((), current))
    if problems and current == as_filled:
        st.warning(escape(" ".join(problems)))
    # Its open state is part of the session: elements above it change with each threshold.
    with st.expander("Rules and thresholds", key="audit_rules", on_change="rerun"):
        for rule in RULES.values():
            st.markdown(f"**{rule.name}**")
            st.caption(rule.description)
            own = [spec for spec in _FIELDS if spec.name in rule.thresholds]
            param_fields(_FORM, "audit", own, in_a_row=3)
        st.button("Reset to defaults", key="audit_defaults", on_click=_reset, disabled=not changed)
    write_to_url(page, "thresholds", query)
    if changed:
        st.caption(f"Changed thresholds: {changed} of {len(_FIELDS)}")


def _name(field: str) -> str:
    return param_name("audit", field)


def _fill_from_link() -> list[str]:
    """Fills the form from the URL. Returns a message for each invalid value or unknown threshold."""
    problems: list[str] = []
    for spec in _FIELDS:
        text = st.query_params.get(spec.name)
        if text is None:
            continue
        try:
            _FORM.put(_name(spec.name), reader_of(kind_of(spec))(text))
        except ValueError as error:
            given = f'The link\'s "{spec.name}" is "{one_line(text, _MAX_VALUE_LENGTH)}"'
            problems.append(f"{given}: {error} “{spec.metadata['label']}” keeps its default.")
    known = {spec.name for spec in _FIELDS}
    prefixes = {name.split("_")[0] for name in known}  # other parameters of these pages begin otherwise
    problems += [
        f'Unknown threshold in the link: "{one_line(name, _MAX_VALUE_LENGTH)}".'
        for name in st.query_params
        if name not in known and name.split("_")[0] in prefixes and "_" in name
    ]
    return problems


def _reset() -> None:
    for spec in _FIELDS:
        _FORM.put(_name(spec.name), spec.default)
