"""Which reward configurations are accepted, and what is said about the others."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from core.errors import InvalidInput, InvalidReward
from core.rewards import STRATEGIES, RewardConfig, RewardShaper, StateFacts, checked
from core.rewards.consistent import Consistent

ACHIEVEMENTS = ("collect_wood", "collect_stone", "place_table")
ITEMS = ("wood", "stone", "health")


def sentence_about(**fields: Any) -> str:
    with pytest.raises(InvalidReward) as caught:
        checked(RewardConfig(**fields), achievements=ACHIEVEMENTS, items=ITEMS)
    return str(caught.value)


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        ("simple", "consistent"),
        (" Consistent ", "consistent"),
        ("CONSISTENT_STEPWISE", "consistent"),
        ("per-achievement", "per_achievement"),
        ("complex", "per_achievement"),
    ],
)
def test_a_strategy_is_found_by_name_or_alias_without_regard_to_case_and_spaces(given: str, canonical: str):
    assert checked(RewardConfig(strategy=given)).strategy == canonical


def test_no_name_means_two_strategies():
    names = [name for kind in STRATEGIES.values() for name in (kind.name, *kind.aliases)]

    assert len(names) == len(set(names))
    assert names == [name.strip().casefold() for name in names]


def test_an_unknown_strategy_is_answered_with_all_names_and_the_nearest():
    sentence = sentence_about(strategy="per_achievment")

    assert sentence == (
        'There is no reward strategy "per_achievment"; did you mean "per_achievement"? Choose one of: '
        "consistent (also simple, consistent_stepwise, decision_consistent); "
        "per_achievement (also per-achievement, perachievement, achievement_weighted, complex); "
        "environment (also environment_only, env, env_only); potential_based (also potential, pbrs)."
    )
    assert 'strategy "xyz". Choose one of: consistent' in sentence_about(strategy="xyz")


@pytest.mark.parametrize("table", ["weights", "inventory_weights", "achievement_count_weights"])
@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        1.1e9,
        -(10**10),
        10**400,
        Fraction(10**400),
        "2.0",
        "many",
        None,
        True,
        [1.0],
        1j,
        np.bool_(True),
    ],
)
def test_a_weight_that_is_no_finite_number_is_refused_by_name(table: str, value: object):
    name = "wood" if table == "inventory_weights" else "collect_wood"

    assert sentence_about(**{table: {name: value}}).startswith(f'{table}["{name}"] is ')


@pytest.mark.parametrize(
    "field", ["indicator_lambda", "step_beta", "default_inventory_weight", "default_achievement_count_weight"]
)
@pytest.mark.parametrize("value", [math.nan, math.inf, -1e10, "1.0", False])
def test_a_single_number_is_checked_like_a_weight(field: str, value: object):
    where = "lambda" if field == "indicator_lambda" else field

    assert sentence_about(**{field: value}).startswith(f"{where} is ")


@pytest.mark.parametrize("value", [1.5, math.nan, math.inf, "3", True, None, 10**10, np.bool_(True)])
def test_a_limit_that_is_no_whole_number_is_refused_by_name(value: object):
    assert sentence_about(k_limits={"collect_wood": value}).startswith('k_limits["collect_wood"] is ')


def test_numbers_of_other_kinds_become_plain_ones():
    fields: dict[str, Any] = {"weights": {"collect_wood": np.float64(2)}, "k_limits": {"collect_wood": np.int64(3)}}
    config = checked(RewardConfig(**fields))

    assert type(config.weights["collect_wood"]) is float
    assert type(config.k_limits["collect_wood"]) is int


def test_a_limit_may_come_as_a_float_without_a_fraction():
    fields: dict[str, Any] = {"k_limits": {"collect_wood": 2.0}}

    assert checked(RewardConfig(**fields)).k_limits == {"collect_wood": 2}


@pytest.mark.parametrize("table", ["weights", "k_limits", "achievement_count_weights"])
def test_an_unknown_achievement_is_answered_with_the_nearest_and_all(table: str):
    sentence = sentence_about(**{table: {"colect_wood": 1}})

    assert sentence.startswith(f'{table} names the achievement "colect_wood", which is not known; did you mean ')
    assert '"collect_wood"? Known are: collect_wood, collect_stone, place_table' in sentence


def test_an_unknown_item_is_answered_with_the_nearest():
    assert 'names the item "wod", which is not known; did you mean "wood"?' in sentence_about(
        inventory_weights={"wod": 1.0}
    )


def test_names_are_free_where_the_environment_is_not_given():
    assert checked(RewardConfig(weights={"brew_tea": 2.0})).weights == {"brew_tea": 2.0}


def test_the_default_tables_are_accepted_though_they_name_what_crafter_lacks():
    config = RewardConfig()

    assert "bow" in config.inventory_weights
    assert checked(config, achievements=ACHIEVEMENTS, items=ITEMS) == config


def test_names_are_trimmed_and_case_folded():
    config = checked(
        RewardConfig(weights={" Collect_Wood": 2}, k_limits={"PLACE_TABLE ": 0}, mode=" Decision_Stepwise")
    )

    assert config.weights == {"collect_wood": 2.0}
    assert config.k_limits == {"place_table": 0}
    assert config.is_active


def test_two_spellings_of_one_name_are_refused():
    assert 'names "collect_wood" twice' in sentence_about(weights={"collect_wood": 1.0, "Collect_Wood": 2.0})


def test_configurations_that_mean_the_same_have_one_hash():
    spelled = RewardConfig(strategy="Complex", weights={"Collect_Wood": 2})
    plain = RewardConfig(strategy="per_achievement", weights={"collect_wood": 2.0})

    assert checked(spelled).config_hash == checked(plain).config_hash
    assert checked(plain) == plain


@pytest.mark.parametrize(
    ("config", "stored"),
    [
        (RewardConfig("per_achievement"), "5cadcf3b97db6fc3"),
        (RewardConfig("environment"), "bf905e1e49fd043c"),
        (RewardConfig("potential_based"), "33c8095889689e52"),
        (RewardConfig("potential_based", params={"gamma": 1, "potential": "vitals"}), "3496c609849a863f"),
        (RewardConfig("complex", indicator_lambda=0, weights={"A": 2}), "5fd4b4cb4bcb6498"),
    ],
)
def test_hashes_that_were_stored_stay_true(config: RewardConfig, stored: str):
    assert checked(config).config_hash == stored


@pytest.mark.parametrize("mode", ["decision-stepwise", "decision stepwise", "decision_stepwize"])
def test_a_misspelt_mode_is_no_silent_zero(mode: str):
    assert 'did you mean "decision_stepwise"?' in sentence_about(mode=mode)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"weights": None}, "weights is None; give a table of names and numbers."),
        ({"weights": [1.0]}, "weights is [1.0]; give a table of names and numbers."),
        ({"weights": {7: 1.0}}, "A name in weights is 7; give a text that is not empty."),
        ({"enabled": "no"}, "enabled is 'no'; give true or false."),
        ({"mode": ""}, "mode is ''; give a text that is not empty."),
        ({"strategy": None}, "strategy is None; give a text that is not empty."),
        ({"params": {"gamma": 1}}, 'The strategy "consistent" has no parameter "gamma". It has: none.'),
    ],
)
def test_values_of_the_wrong_kind_are_named(fields: dict[str, Any], sentence: str):
    assert sentence_about(**fields) == sentence


def test_numbers_of_numpy_are_numbers():
    config = checked(
        RewardConfig(weights={"collect_wood": np.float32(0.5)}, k_limits={"collect_wood": np.int64(2)}),  # pyright: ignore[reportArgumentType]
        achievements=ACHIEVEMENTS,
    )
    assert (config.weights, config.k_limits) == ({"collect_wood": 0.5}, {"collect_wood": 2})
    assert type(config.weights["collect_wood"]) is float
    assert "give a finite number" in sentence_about(weights={"collect_wood": np.float32("inf")})
    assert "give a finite number" in sentence_about(weights={"collect_wood": 10**400})


@pytest.mark.parametrize("config", [None, 5, "consistent", {"strategy": "consistent"}])
def test_what_is_no_configuration_is_said(config: Any):
    with pytest.raises(InvalidReward, match="^The reward configuration is .*; give a RewardConfig.$"):
        RewardShaper(config)


@pytest.mark.parametrize(
    "facts",
    [
        None,
        StateFacts(inventory={"wood": 10**400}),
        StateFacts(inventory={"wood": "many"}),  # pyright: ignore[reportArgumentType]
        StateFacts(achievement_counts={"collect_wood": float("nan")}),  # pyright: ignore[reportArgumentType]
        StateFacts(achievements=None),  # pyright: ignore[reportArgumentType]
    ],
)
def test_facts_that_cannot_be_paid_for_are_said(facts: Any):
    shaper = RewardShaper(RewardConfig(strategy="per_achievement"))
    for given in ((StateFacts(), facts), (facts, StateFacts())):
        with pytest.raises(InvalidInput, match="facts"):
            shaper.score(*given)


class Second(Consistent):
    """The same under another name, in its second version."""

    name = "second"
    version = 2
    aliases = ()


def test_a_strategy_s_first_version_leaves_the_hash_as_it_was_and_later_ones_change_it(monkeypatch: pytest.MonkeyPatch):
    assert checked(RewardConfig()).config_hash == RewardConfig().config_hash == "d597a524aa132fcc"
    monkeypatch.setitem(STRATEGIES, "second", Second)
    second = checked(RewardConfig(strategy="second"))
    assert second.params == {"strategy_version": 2}
    assert checked(second) == second
    monkeypatch.setattr(Second, "version", 3)
    third = checked(second)
    assert third.config_hash != second.config_hash
    monkeypatch.setattr(Second, "version", 2)
    assert "asked for in version 3 and this Craftscope has version 2" in _refusal(third)


def _refusal(config: RewardConfig) -> str:
    with pytest.raises(InvalidReward) as caught:
        RewardShaper(config)
    return str(caught.value)


def test_a_shaper_refuses_what_checked_refuses():
    with pytest.raises(InvalidReward, match="There is no reward strategy"):
        RewardShaper(RewardConfig(strategy="generous"))


@pytest.mark.parametrize("size", [1e9, -1e9])
def test_the_largest_numbers_are_taken(size: float):
    config = checked(RewardConfig(indicator_lambda=size, weights={"collect_wood": size}, step_beta=size))
    assert (config.indicator_lambda, config.weights["collect_wood"], config.step_beta) == (size, size, size)


def test_what_is_equal_has_one_hash_also_with_a_zero_below_zero():
    zeros: dict[str, Any] = {
        "indicator_lambda": 0.0,
        "step_beta": 0.0,
        "default_inventory_weight": 0.0,
        "default_achievement_count_weight": 0.0,
        "weights": {"collect_wood": 0.0},
        "inventory_weights": {"wood": 0.0},
        "achievement_count_weights": {"wake_up": 0.0},
        "k_limits": {"wake_up": 0},
        "params": {"scale": 0.0, "env_weight": 0.0, "gamma": 0.0},
    }
    below: dict[str, Any] = {
        name: {key: -0.0 for key in value} if isinstance(value, dict) else -value for name, value in zeros.items()
    }
    above, under = (checked(RewardConfig("potential_based", **fields)) for fields in (zeros, below))
    assert above == under
    assert above.config_hash == under.config_hash


def test_a_lambda_that_pays_the_same_is_kept_as_it_was_given():
    assert [checked(RewardConfig(indicator_lambda=given)).indicator_lambda for given in (None, 0, 1)] == [
        None,
        0.0,
        1.0,
    ]


LONG = "y" * 200_000
HUGE = 10**5000
NESTED: list[Any] = [[[[[["x" * 30] * 6] * 6] * 6] * 6] * 6] * 6


@pytest.mark.parametrize(
    "fields",
    [
        {"strategy": LONG},
        {"strategy": HUGE},
        {"mode": LONG},
        {"mode": "decision_stepwize" + LONG},
        {"enabled": LONG},
        {"weights": {LONG: 1.0}},
        {"weights": {"ß" * 60: 1.0}},  # twice as long without regard to case
        {"weights": {HUGE: 1.0}},
        {"weights": LONG},
        {"weights": NESTED},
        {"weights": {"collect_wood": LONG}},
        {"weights": {"collect_wood": NESTED}},
        {"k_limits": {LONG: 1}},
        {"k_limits": {"wake_up": HUGE}},
        {"weights": {"wake_up": HUGE}},
        {"params": {LONG: 1}},
        {"params": {"strategy_version": LONG}},
        {"strategy": "potential_based", "params": {"potential": LONG}},
        {"strategy": "potential_based", "params": {"gamma": HUGE}},
        {"indicator_lambda": HUGE},
        {"step_beta": [HUGE]},
    ],
)
def test_no_sentence_is_longer_than_it_can_be_read(fields: dict[str, Any]):
    with pytest.raises(InvalidReward) as caught:
        RewardShaper(RewardConfig(**fields))
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize(
    "fields", [{"weights": {"\ud800": 1.0}}, {"mode": "\udfff"}, {"strategy": "\ud800"}, {"k_limits": {"a\ud800": 1}}]
)
def test_half_a_character_is_refused_for_no_file_can_hold_it(fields: dict[str, Any]):
    assert "half a character" in sentence_about_free(**fields)


def sentence_about_free(**fields: Any) -> str:
    with pytest.raises(InvalidReward) as caught:
        checked(RewardConfig(**fields))
    return str(caught.value)


@pytest.mark.parametrize("version", [0, -1, -(10**9)])
def test_a_version_below_the_first_is_refused(version: int):
    assert sentence_about(params={"strategy_version": version}) == (
        f'params["strategy_version"] is {version}; versions count from 1, and "consistent" has version 1: give that, '
        "or leave it out."
    )


@pytest.mark.parametrize("env_reward", [math.nan, -math.inf, 1e10, "1", None])
def test_an_environment_s_reward_that_is_none_is_said(env_reward: Any):
    shaper = RewardShaper(RewardConfig("environment"))
    with pytest.raises(InvalidInput, match="^The environment's reward is "):
        shaper.score(StateFacts(), StateFacts(), env_reward=env_reward)
