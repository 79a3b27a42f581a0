"""Reward configurations and strategies: what is accepted, and the messages for everything else."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

from core.errors import InvalidReward
from core.params import kind_of
from core.rewards import STRATEGIES, RewardConfig, RewardShaper, checked_reward
from core.rewards.base import VERSION_PARAM, Strategy
from core.rewards.consistent import Consistent
from core.rewards.registry import find_strategy

ACHIEVEMENTS = ("collect_wood", "collect_stone", "place_table")
ITEMS = ("wood", "stone", "health")


def message_for(**values: Any) -> str:
    with pytest.raises(InvalidReward) as caught:
        checked_reward(RewardConfig(**values), achievements=ACHIEVEMENTS, items=ITEMS)
    assert len(str(caught.value)) < 700
    return str(caught.value)


def test_an_unknown_strategy_is_reported_with_all_names_and_the_most_similar():
    assert message_for(strategy="per_achievment") == (
        "There is no reward strategy 'per_achievment'; did you mean \"per_achievement\"? Choose one of: "
        "consistent (also simple, consistent_stepwise, decision_consistent); "
        "per_achievement (also per-achievement, perachievement, achievement_weighted, complex); "
        "environment (also environment_only, env, env_only); potential_based (also potential, pbrs)."
    )
    assert "strategy 'xyz'. Choose one of: consistent" in message_for(strategy="xyz")
    assert "There is no reward strategy None" in message_for(strategy=None)
    message_for(strategy="y" * 100_000)


@pytest.mark.parametrize("table", ["weights", "inventory_weights", "achievement_count_weights"])
@pytest.mark.parametrize("value", [math.nan, math.inf, 1.1e9, 10**400, "2.0", None, True, [1.0], np.float32("inf")])
def test_a_weight_that_is_not_a_number_within_bounds_is_an_error(table: str, value: object):
    name = "wood" if table == "inventory_weights" else "collect_wood"
    message = message_for(**{table: {name: value}})
    assert message.startswith(f'{table}["{name}"] is ')
    assert message.endswith("; give a number from -1,000,000,000 to 1,000,000,000.")


@pytest.mark.parametrize(
    "field", ["indicator_lambda", "step_beta", "default_inventory_weight", "default_achievement_count_weight"]
)
@pytest.mark.parametrize("value", [math.nan, -1e10, "1.0", False])
def test_single_numbers_are_checked_like_weights(field: str, value: object):
    assert message_for(**{field: value}).startswith(f"{field} is ")


@pytest.mark.parametrize("value", [1.5, math.nan, "3", True, None, 10**10])
def test_a_limit_that_is_not_a_whole_number_is_an_error(value: object):
    assert message_for(k_limits={"collect_wood": value}).startswith('k_limits["collect_wood"] is ')


def test_numpy_numbers_and_whole_floats_become_plain_numbers():
    weights: dict[str, Any] = {"a": np.float64(2), "b": np.float32(0.5), "c": np.int64(1), "d": -0.0}
    limits: dict[str, Any] = {"a": np.int64(3), "b": 2.0}  # a table edited in a browser holds 2.0 for 2
    config = checked_reward(RewardConfig(weights=weights, k_limits=limits))
    assert (config.weights, config.k_limits) == ({"a": 2.0, "b": 0.5, "c": 1.0, "d": 0.0}, {"a": 3, "b": 2})
    assert {type(value) for value in config.weights.values()} == {float}
    assert {type(value) for value in config.k_limits.values()} == {int}
    assert str(config.weights["d"]) == "0.0"


@pytest.mark.parametrize("table", ["weights", "k_limits", "achievement_count_weights"])
def test_an_unknown_achievement_is_reported_with_the_most_similar_and_all(table: str):
    message = message_for(**{table: {"colect_wood": 1}})
    assert message.startswith(f'{table} names the achievement "colect_wood", which is not known; did you mean ')
    assert '"collect_wood"? Known are: collect_wood, collect_stone, place_table' in message


def test_an_unknown_item_is_reported_with_the_most_similar():
    assert 'names the item "wod", which is not known; did you mean "wood"?' in message_for(
        inventory_weights={"wod": 1.0}
    )


def test_any_name_is_accepted_without_the_environments_names():
    assert checked_reward(RewardConfig(weights={"brew_tea": 2.0})).weights == {"brew_tea": 2.0}


def test_the_default_tables_are_accepted_with_names_that_crafter_lacks():
    config = RewardConfig()
    assert "bow" in config.inventory_weights
    assert checked_reward(config, achievements=ACHIEVEMENTS, items=ITEMS) == config


def test_names_are_trimmed_and_case_folded():
    config = checked_reward(
        RewardConfig(weights={" Collect_Wood": 2}, k_limits={"PLACE_TABLE ": 0}, mode=" Decision_Stepwise")
    )
    assert config.weights == {"collect_wood": 2.0}
    assert config.k_limits == {"place_table": 0}
    assert config.is_active


def test_configurations_with_the_same_meaning_have_the_same_hash():
    spelled = RewardConfig(strategy="Complex", weights={"Collect_Wood": 2}, step_beta=-0.0)
    plain = RewardConfig(strategy="per_achievement", weights={"collect_wood": 2.0})
    assert checked_reward(spelled).config_hash == checked_reward(plain).config_hash
    assert checked_reward(plain) == plain


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
def test_hashes_in_stored_databases_stay_valid(config: RewardConfig, stored: str):
    assert checked_reward(config).config_hash == stored


@pytest.mark.parametrize("mode", ["decision-stepwise", "decision stepwise", "decision_stepwize"])
def test_a_misspelt_mode_is_an_error(mode: str):
    assert 'did you mean "decision_stepwise"?' in message_for(mode=mode)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"weights": None}, "weights is None; give a table of names and values."),
        ({"weights": [1.0]}, "weights is [1.0]; give a table of names and values."),
        ({"weights": {7: 1.0}}, "A name in weights is 7; give text of 1 to 100 printable characters."),
        (
            {"weights": {"collect_wood": 1.0, "Collect_Wood": 2.0}},
            'weights has the name "collect_wood" twice (case and outer spaces do not count); keep one.',
        ),
        ({"enabled": "no"}, "enabled is 'no'; give true or false."),
        ({"mode": ""}, "mode is ''; give text of 1 to 100 printable characters."),
        ({"params": {"gamma": 1}}, 'The strategy "consistent" has no parameter "gamma". It has: none.'),
        (
            {"strategy": "potential_based", "params": {"gamma": 7}},
            'The parameter "gamma" of the strategy "potential_based" is 7; give a number from 0 to 1.',
        ),
    ],
)
def test_an_invalid_value_is_reported_with_what_is_allowed(values: dict[str, Any], message: str):
    assert message_for(**values) == message


def test_missing_parameters_get_their_defaults():
    params = checked_reward(RewardConfig("pbrs", params={"Potential": " VITALS "})).params
    assert params == {"potential": "vitals", "gamma": 0.99, "scale": 1.0, "env_weight": 1.0}


class Second(Consistent):
    name = "second"
    version = 2
    aliases = ()


def test_a_strategys_version_is_part_of_the_hash_from_version_2_on(monkeypatch: pytest.MonkeyPatch):
    assert checked_reward(RewardConfig()).config_hash == RewardConfig().config_hash == "d597a524aa132fcc"
    monkeypatch.setitem(STRATEGIES, "second", Second)
    second = checked_reward(RewardConfig(strategy="second"))
    assert second.params == {"strategy_version": 2}
    assert checked_reward(second) == second
    monkeypatch.setattr(Second, "version", 3)
    third = checked_reward(second)
    assert third.config_hash != second.config_hash
    monkeypatch.setattr(Second, "version", 2)
    with pytest.raises(InvalidReward, match='is 3, and the strategy "second" has version 2 here; update Craftscope'):
        RewardShaper(third)


def test_lambdas_that_pay_the_same_are_not_changed():
    lambdas = [checked_reward(RewardConfig(indicator_lambda=given)).indicator_lambda for given in (None, 0, 1)]
    assert lambdas == [None, 0.0, 1.0]


def test_names_and_aliases_are_unique_and_lower_case():
    names = [name for strategy in STRATEGIES.values() for name in (strategy.name, *strategy.aliases)]
    assert len(names) == len(set(names))
    assert names == [name.strip().casefold() for name in names]


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=str)
def test_a_strategy_has_texts_a_version_and_valid_parameters(strategy: type[Strategy[Any]]):
    assert strategy.label.strip() and strategy.description.strip()
    assert strategy.version >= 1
    assert is_dataclass(strategy.params_type)
    for spec in fields(strategy.params_type):
        assert spec.name == spec.name.casefold() != VERSION_PARAM
        assert kind_of(spec).read(spec.default) == spec.default


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
def test_a_strategy_is_found_by_name_or_alias_in_any_case(given: str, canonical: str):
    assert find_strategy(given).name == canonical
