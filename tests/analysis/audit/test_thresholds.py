"""The thresholds as a form and as values."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from core.analysis.audit import AuditThresholds
from core.params import Integer, Number, kind_of


@pytest.mark.parametrize("spec", fields(AuditThresholds), ids=lambda spec: spec.name)
def test_every_threshold_has_a_label_help_and_valid_default(spec: Any):
    assert spec.metadata["label"]
    assert spec.metadata["description"].endswith(".")
    kind = kind_of(spec)
    assert isinstance(kind, Integer | Number)
    assert kind.read(spec.default) == spec.default
    assert isinstance(spec.default, int) == isinstance(kind, Integer)
