"""The thresholds as a form and as values."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from core.analysis.audit import AuditThresholds
from core.errors import InvalidInput
from core.params import Integer, Number, kind_of


@pytest.mark.parametrize("spec", fields(AuditThresholds), ids=lambda spec: spec.name)
def test_every_threshold_has_a_label_help_and_valid_default(spec: Any):
    assert spec.metadata["label"]
    assert spec.metadata["description"].endswith(".")
    kind = kind_of(spec)
    assert isinstance(kind, Integer | Number)
    assert kind.read(spec.default) == spec.default
    assert isinstance(spec.default, int) == isinstance(kind, Integer)


@pytest.mark.parametrize("spec", fields(AuditThresholds), ids=lambda spec: spec.name)
def test_a_value_out_of_bounds_is_refused(spec: Any):
    kind = kind_of(spec)
    assert isinstance(kind, Integer | Number)
    for value in (kind.low - 1, kind.high + 1, "8", float("nan")):
        with pytest.raises(InvalidInput, match=f'The threshold "{spec.name}"'):
            replace(AuditThresholds(), **{spec.name: value})
