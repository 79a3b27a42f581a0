"""The JSON that trainers use: it is read back equal, and anything else is an error with a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import InvalidReward
from core.rewards import STRATEGIES, RewardConfig, checked_reward, from_document, to_changes, to_document
from core.rewards.document import MAX_CHARACTERS

NAMES = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=12)
NUMBERS = st.floats(-1e9, 1e9, allow_nan=False)
TABLES = st.dictionaries(NAMES, NUMBERS, max_size=5)
CONFIGS = st.builds(
    RewardConfig,
    strategy=st.sampled_from(list(STRATEGIES)),
    indicator_lambda=st.none() | NUMBERS,
    weights=TABLES,
    k_limits=st.dictionaries(NAMES, st.integers(-5, 10**9), max_size=5),
    enabled=st.booleans(),
    mode=st.sampled_from(["decision_stepwise", "off"]),
    step_beta=NUMBERS,
    inventory_weights=TABLES,
    achievement_count_weights=TABLES,
    default_inventory_weight=NUMBERS,
    default_achievement_count_weight=NUMBERS,
)


def message_of(text: str, **names: Any) -> str:
    with pytest.raises(InvalidReward) as caught:
        from_document(text, **names)
    return str(caught.value)


def body(**fields: Any) -> str:
    return json.dumps({"step_rewards": fields})


@pytest.mark.parametrize("written", [to_document, to_changes])
@settings(deadline=None)
@given(CONFIGS)
def test_a_written_configuration_is_read_back_equal(written: Callable[[RewardConfig], str], config: RewardConfig):
    try:
        valid = checked_reward(config)
    except InvalidReward:  # two names that differ in case only
        return
    back = from_document(written(config))
    assert back == valid
    assert back.config_hash == valid.config_hash


def test_changes_leave_out_defaults():
    config = RewardConfig("per_achievement", weights={"eat_cow": 2.0})
    assert json.loads(to_changes(config)) == {"strategy": "per_achievement", "weights": {"eat_cow": 2.0}}


def test_parameters_of_a_strategy_are_read_back_equal():
    config = checked_reward(RewardConfig("potential_based", params={"potential": "vitals", "gamma": 0.9}))
    assert from_document(to_document(config)) == config


def test_a_document_has_the_names_that_trainers_know():
    config = checked_reward(RewardConfig("per_achievement", weights={"collect_wood": 2.0}))
    document = json.loads(to_document(config))
    assert list(document) == ["format", "version", "config_hash", "step_rewards"]
    assert document["format"] == "craftscope.step_rewards"
    assert document["version"] == 1
    assert document["config_hash"] == config.config_hash
    assert list(document["step_rewards"])[:7] == [
        *("enabled", "mode", "strategy", "indicator_lambda", "step_beta", "weights", "k_limits")
    ]
    assert document["step_rewards"]["weights"] == {"collect_wood": 2.0}
    assert set(document["step_rewards"]) == {field.name for field in fields(RewardConfig)}


def test_a_bare_object_with_only_the_old_keys_is_read():
    text = (
        '{"strategy": "complex", "indicator_lambda": 0, "weights": {" Collect_Wood ": 2}, "k_limits": {"eat_cow": 3}}'
    )
    assert from_document(text) == checked_reward(
        RewardConfig("per_achievement", 0.0, weights={"collect_wood": 2.0}, k_limits={"eat_cow": 3})
    )
    assert from_document("\ufeff{}") == checked_reward(RewardConfig())


def test_a_file_that_was_edited_by_hand_is_read():
    document = json.loads(to_document(RewardConfig("per_achievement")))
    document["step_rewards"]["weights"]["collect_wood"] = 3.0
    assert from_document(json.dumps(document)).weights == {"collect_wood": 3.0}


def test_null_tables_mean_the_defaults():
    text = body(strategy="per_achievement", weights=None, k_limits=None, inventory_weights=None)
    assert from_document(text) == checked_reward(RewardConfig("per_achievement"))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (" \n", "The text is empty"),
        ("nonsense", "The text is not JSON: Expecting value in line 1, column 1."),
        ("[1, 2]", "The JSON is [1, 2]; give an object."),
        ('{"weights": NaN}', "weights is nan; give a table"),
        ('{"indicator_lambda": 1e999}', "indicator_lambda is inf; give a number from"),
        ('{"step_beta": ' + "9" * 5_000 + "}", "thousands of digits"),
        ("[" * 100_000, "brackets in a row"),
        (" " * MAX_CHARACTERS + "{}", f"at most {MAX_CHARACTERS:,}"),
        ('{"weights": {"\\ud800": 1}}', "printable characters"),
        ('{"weigths": {}}', "The configuration has the unknown key 'weigths'; did you mean \"weights\"?"),
        (body(k_limit={}), '"step_rewards" has the unknown key \'k_limit\'; did you mean "k_limits"?'),
        ('{"step_rewards": {}, "versoin": 1}', 'did you mean "version"?'),
        ('{"step_rewards": []}', '"step_rewards" is []; give an object.'),
        ('{"step_rewards": {}, "format": "other"}', "\"format\" is 'other'; this program reads"),
        ('{"step_rewards": {}, "version": 2}', '"version" is 2, and this Craftscope reads up to 1; update it.'),
        (body(strategy="consistant"), 'did you mean "consistent"?'),
        (body(strategy=None), "There is no reward strategy None"),
        (body(weights={"collect_wood": "much"}), "weights[\"collect_wood\"] is 'much'; give a number"),
        (body(k_limits={"collect_wood": 1.5}), 'k_limits["collect_wood"] is 1.5; give a whole number'),
        (body(strategy="potential_based", params={"gama": 1}), 'no parameter "gama"; did you mean "gamma"?'),
    ],
)
def test_anything_else_is_an_error(text: str, part: str):
    message = message_of(text)
    assert part in message
    assert len(message) < 1_000


def test_names_are_compared_with_the_environments():
    text = body(strategy="complex", weights={"colect_wood": 1})
    assert from_document(text).weights == {"colect_wood": 1.0}
    assert 'did you mean "collect_wood"?' in message_of(text, achievements=("collect_wood",), items=("wood",))


@settings(deadline=None)
@given(st.text(max_size=200) | st.recursive(st.none() | st.booleans() | st.floats() | NAMES, st.lists).map(json.dumps))
def test_any_text_gives_a_configuration_or_an_error(text: str):
    try:
        assert isinstance(from_document(text), RewardConfig)
    except InvalidReward as error:
        assert str(error)
