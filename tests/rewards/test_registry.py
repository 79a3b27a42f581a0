"""What every registered strategy has to declare."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from core.params import kind_of
from core.rewards import STRATEGIES
from core.rewards.base import VERSION_PARAM, Strategy
from core.rewards.registry import find_strategy


def test_no_name_means_two_strategies():
    names = [name for strategy in STRATEGIES.values() for name in (strategy.name, *strategy.aliases)]
    assert len(names) == len(set(names))
    assert names == [name.strip().casefold() for name in names]


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=str)
def test_a_strategy_describes_itself_and_its_parameters(strategy: type[Strategy[Any]]):
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
