"""Widgets for the parameters of a policy, a reward strategy or the audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import Field
from typing import Any

import streamlit as st

from core.params import Integer, Number, OneOf, Text, kind_of
from pages.components.shared.form_state import FormState, param_name

_MAX_LINE_LENGTH = 1_000  # longer texts get an area


def param_fields(
    form: FormState, owner: str, specs: Sequence[Field[Any]], *, in_a_row: int, about: str = "", fine: bool = False
) -> dict[str, Any]:
    """Draw the widgets in rows and return their values by name. See `param_field`. fine: numbers in steps of 0.01."""
    values: dict[str, Any] = {}
    for row in (specs[at : at + in_a_row] for at in range(0, len(specs), in_a_row)):
        for column, spec in zip(st.columns(in_a_row), row, strict=False):
            steps = {"format": "%g", "step": 0.01} if fine and isinstance(kind_of(spec), Number) else {}
            with column:
                values[spec.name] = param_field(form, owner, spec, about=about, **steps)
    return values


def param_field(
    form: FormState,
    owner: str,
    spec: Field[Any],
    *,
    about: str = "",
    labels: Mapping[str, str] | None = None,
    **more: Any,
) -> Any:
    """Draw the widget and return its value.

    owner: see `param_name`. about: text before the parameter's description in the help. labels: display names of
    choices. more: options of the widget.
    """
    options: dict[str, Any] = {
        "key": form.keep(param_name(owner, spec.name), spec.default),
        "persist_state": "session",
        "help": f"{about} {spec.metadata['description']}".strip(),
        **more,
    }
    label = spec.metadata["label"]

    def called(name: str) -> str:
        return (labels or {}).get(name, name)

    kind = kind_of(spec)
    if isinstance(kind, Integer | Number) and kind.optional:
        options = {"value": None, "placeholder": "not sent", **options}
    match kind:
        case Integer(low, high):
            return st.number_input(label, min_value=low, max_value=high, **options)
        case Number(low, high):
            return st.number_input(label, min_value=float(low), max_value=float(high), **options)
        case OneOf(names):
            return st.selectbox(label, names, format_func=called, **options)
        case Text(max_length):
            return st.text_area(label, **options) if max_length > _MAX_LINE_LENGTH else st.text_input(label, **options)
