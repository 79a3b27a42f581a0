"""The JSON that trainers take: it comes back equal, and whatever else is given is answered with a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InvalidReward
from core.rewards import STRATEGIES, RewardConfig, checked, from_document, to_changes, to_document
from core.rewards.limits import LARGEST, MOST_CHARACTERS, MOST_ENTRIES, MOST_OF_A_NAME, MOST_OF_ALL_WORDS

NAMES = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12).filter(lambda name: name.strip())
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


def sentence_about(text: object, **names: Any) -> str:
    with pytest.raises(InvalidReward) as caught:
        from_document(text, **names)
    return str(caught.value)


def body(**fields: Any) -> str:
    return json.dumps({"step_rewards": fields})


@pytest.mark.parametrize("written", [to_document, to_changes])
@given(CONFIGS)
def test_a_configuration_comes_back_equal(written: Callable[[RewardConfig], str], config: RewardConfig):
    try:
        usable = checked(config)
    except InvalidReward:  # two names that differ in case only
        return
    back = from_document(written(config))
    assert back == usable
    assert back.config_hash == usable.config_hash


def test_what_is_at_its_default_is_not_said():
    config = RewardConfig("per_achievement", weights={"eat_cow": 2.0})
    assert json.loads(to_changes(config)) == {"strategy": "per_achievement", "weights": {"eat_cow": 2.0}}


def test_a_strategys_own_parameters_come_back():
    config = checked(RewardConfig("potential_based", params={"potential": "vitals", "gamma": 0.9}))
    assert from_document(to_document(config)) == config


def test_what_is_written_has_the_names_that_trainers_know():
    config = checked(RewardConfig("per_achievement", weights={"collect_wood": 2.0}))
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


def test_a_bare_object_of_the_old_keys_is_read_and_the_rest_has_its_defaults():
    text = (
        '{"strategy": "complex", "indicator_lambda": 0, "weights": {" Collect_Wood ": 2}, "k_limits": {"eat_cow": 3}}'
    )
    assert from_document(text) == checked(
        RewardConfig("per_achievement", 0.0, weights={"collect_wood": 2.0}, k_limits={"eat_cow": 3})
    )
    assert from_document("\ufeff{}") == checked(RewardConfig())


def test_a_file_that_was_edited_by_hand_is_read_though_its_hash_is_another():
    document = json.loads(to_document(RewardConfig("per_achievement")))
    document["step_rewards"]["weights"]["collect_wood"] = 3.0
    assert from_document(json.dumps(document)).weights == {"collect_wood": 3.0}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "give JSON as text"),
        (b"{}", "give JSON as text"),
        ("", "The text is empty"),
        (" \n", "The text is empty"),
        ("nonsense", "The text is no JSON: Expecting value in line 1, column 1."),
        ("[1, 2]", 'give an object with a "step_rewards" in it'),
        ("7", 'give an object with a "step_rewards" in it'),
        ('{"weights": NaN}', "NaN, which is no number"),
        ('{"indicator_lambda": -Infinity}', "-Infinity, which is no number"),
        ('{"indicator_lambda": 1e999}', "lambda is inf; give a finite number"),
        ('{"step_beta": ' + "9" * 5_000 + "}", "too many digits; give numbers from -1,000,000,000 to"),
        ('{"step_beta": 1e10}', "give a finite number from -1,000,000,000 to 1,000,000,000"),
        ("[" * 100_000, "nested too deeply"),
        ('{"params": ' + '{"a":' * 90_000 + "1" + "}" * 90_000 + "}", "nested too deeply"),
        (" " * MOST_CHARACTERS + "{}", f"at most {MOST_CHARACTERS:,}"),
        ('{"strategy": "\\ud800"}', "half a character"),
        ('{"strategy": "\ud800"}', "half a character"),
        ('{"strategy": "simple", "strategy": "complex"}', "The key 'strategy' is there twice"),
        ('{"weigths": {}}', "The configuration has the key 'weigths', which is not known; did you mean \"weights\"?"),
        (body(k_limit={}), '"step_rewards" has the key \'k_limit\', which is not known; did you mean "k_limits"?'),
        ('{"step_rewards": {}, "versoin": 1}', 'which is not known; did you mean "version"?'),
        ('{"step_rewards": []}', '"step_rewards" is []; give an object.'),
        ('{"step_rewards": {}, "format": "other"}', "\"format\" is 'other'; this program reads"),
        ('{"step_rewards": {}, "version": 2}', "update Craftscope"),
        ('{"step_rewards": {}, "version": "1"}', "\"version\" is '1'; give 1."),
        ('{"step_rewards": {}, "version": true}', '"version" is True; give 1.'),
        (body(strategy="consistant"), 'did you mean "consistent"?'),
        (body(weights=3), "weights is 3; give a table"),
        (body(weights={"collect_wood": "much"}), "weights[\"collect_wood\"] is 'much'; give a number"),
        (body(weights={"a": 1, " A": 2}), "twice"),
        (body(k_limits={"collect_wood": 1.5}), "give a whole number"),
        (body(enabled="yes"), "give true or false"),
        (body(strategy="potential_based", params={"gama": 1}), 'no parameter "gama"; did you mean "gamma"?'),
    ],
)
def test_whatever_else_is_given_is_answered_with_a_sentence(text: object, said: str):
    sentence = sentence_about(text)
    assert said in sentence
    assert len(sentence) < 1_000


def test_deep_nesting_that_the_parser_can_read_is_a_sentence_too():
    for depth in (100, 900, 990, 20_000):
        assert sentence_about('{"weights": {"collect_wood": ' + "[" * depth + "]" * depth + "}}")


def test_names_are_held_against_the_environments_where_they_are_given():
    text = body(strategy="complex", weights={"colect_wood": 1})
    assert from_document(text).weights == {"colect_wood": 1.0}
    said = sentence_about(text, achievements=("collect_wood",), items=("wood",))
    assert 'did you mean "collect_wood"?' in said


@given(st.text(max_size=200) | st.recursive(st.none() | st.booleans() | st.floats() | NAMES, st.lists).map(json.dumps))
def test_no_text_makes_anything_but_a_configuration_or_a_sentence(text: str):
    try:
        assert isinstance(from_document(text), RewardConfig)
    except InvalidReward as error:
        assert str(error)


def test_the_longest_configuration_that_can_be_used_is_read_again():
    """Each character of a name can take six in JSON."""
    letters = "".join(chr(code) for code in (*range(1, 9), 14, 15))
    names = ["".join(letters[int(digit)] for digit in f"{at:05}") for at in range(MOST_ENTRIES)]
    table = {name.rjust(MOST_OF_A_NAME, "\x01"): -LARGEST / 3 for name in names}
    config = checked(
        RewardConfig(
            mode="\x01" * MOST_OF_A_NAME,
            weights=table,
            k_limits=dict.fromkeys(table, -(10**9)),
            inventory_weights=table,
            achievement_count_weights=table,
        )
    )
    written = to_document(config)
    assert len(written) + 6 * MOST_OF_ALL_WORDS < MOST_CHARACTERS
    assert from_document(written) == config


def test_a_table_of_more_entries_is_refused_before_it_is_written():
    many = {f"name_{at}": 1.0 for at in range(15_000)}
    for field in ("weights", "k_limits", "inventory_weights", "achievement_count_weights", "params"):
        fields: dict[str, Any] = {field: many}
        with pytest.raises(InvalidReward, match=f"^{field} has 15,000 entries; give at most 2,000.$"):
            to_document(RewardConfig("per_achievement", **fields))
