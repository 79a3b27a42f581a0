"""The registered policies and their parameters."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from core.errors import InvalidConfig
from core.params import kind_of
from core.policies import POLICIES, checked_policy, make_policy
from core.types import PolicySpec

NEEDED = {"llm": {"base_url": "http://127.0.0.1:9", "model": "tiny"}}  # what has no default that could be played


def test_every_policy_is_registered_under_its_own_name_and_can_be_made():
    for name, kind in POLICIES.items():
        policy = make_policy(PolicySpec(name, NEEDED.get(name, {})), seed=1, max_actions=5)
        assert policy.name == kind.name == name
        assert kind.label and kind.description.endswith(".")
        policy.close()


def test_every_parameter_has_label_and_description():
    for kind in POLICIES.values():
        for field in fields(kind.params):
            assert field.metadata["label"]
            assert field.metadata["description"].endswith(".")
            assert kind_of(field).read(field.default) == field.default


def test_an_unknown_policy_is_rejected_with_a_suggestion():
    with pytest.raises(InvalidConfig, match='no policy "scriptd"; did you mean "scripted"') as refusal:
        make_policy(PolicySpec("scriptd"), seed=1, max_actions=5)
    assert "Choose one of: scripted, random, farmer, llm." in str(refusal.value)


def test_policy_names_ignore_case_and_outer_spaces():
    assert checked_policy(PolicySpec(" Random ", {"max_actions": 2})) == PolicySpec(
        "random", {"min_actions": 1, "max_actions": 2}
    )


def test_an_unknown_parameter_is_rejected_with_a_suggestion():
    with pytest.raises(InvalidConfig, match='no parameter "max_action"; did you mean "max_actions"'):
        checked_policy(PolicySpec("random", {"max_action": 3}))


@pytest.mark.parametrize("value", [0, -1, 101, 2.5, True, "3", None])
def test_a_value_out_of_range_is_rejected(value: Any):
    with pytest.raises(InvalidConfig, match="whole number from 1 to 100"):
        make_policy(PolicySpec("random", {"max_actions": value}), seed=1, max_actions=5)
