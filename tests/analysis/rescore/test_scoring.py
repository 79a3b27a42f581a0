"""Scoring all decisions at once equals scoring them one by one."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.analysis.rescore import as_played, breakdowns, most_changed_decisions, score
from core.errors import InvalidReward
from core.facts import Change, FactsWriter
from core.facts.columns import FactColumns
from core.params import Integer, Kind, Number, OneOf, Text, kind_of
from core.rewards import STRATEGIES, RewardComponent, RewardConfig, RewardShaper
from core.rewards.base import NoParams, Strategy
from core.types import StateFacts
from tests.support.facts import ACHIEVEMENTS, ITEMS, facts_of_states, random_states

any_weight = st.floats(-5, 5, allow_nan=False).map(lambda weight: round(weight, 3))


def params_of(strategy: str) -> st.SearchStrategy[dict[str, Any]]:
    """Any parameters that the strategy takes."""
    return st.fixed_dictionaries(
        {field.name: _values_of(kind_of(field)) for field in fields(STRATEGIES[strategy].params_type)}
    )


def _values_of(kind: Kind) -> st.SearchStrategy[Any]:
    match kind:
        case OneOf(names):
            return st.sampled_from(names)
        case Integer(low, high):
            return st.integers(low, high)
        case Text(most):
            return st.text(st.characters(exclude_categories=("Cs",)), max_size=most)
        case Number(low, high):
            return st.floats(max(low, 0), min(high, 1))


def configs(strategy: str) -> st.SearchStrategy[RewardConfig]:
    return st.builds(
        RewardConfig,
        strategy=st.just(strategy),
        indicator_lambda=st.none() | any_weight,
        weights=st.dictionaries(st.sampled_from(ACHIEVEMENTS), any_weight),
        k_limits=st.dictionaries(st.sampled_from(ACHIEVEMENTS), st.integers(-1, 3)),
        enabled=st.sampled_from([True, True, True, False]),
        inventory_weights=st.dictionaries(st.sampled_from(ITEMS), any_weight),
        achievement_count_weights=st.dictionaries(st.sampled_from(ACHIEVEMENTS), any_weight),
        default_inventory_weight=any_weight,
        default_achievement_count_weight=any_weight,
        params=params_of(strategy),
    )


def random_columns(seed: int) -> FactColumns:
    draw = random.Random(seed)
    lengths = [draw.randrange(1, 30) for _ in range(draw.randrange(1, 6))]
    return FactColumns([facts_of_states(random_states(draw, n), draw, known_end=draw.random() < 0.5) for n in lengths])


@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), seed=st.integers(0, 10**6))
def test_every_strategy_scores_at_once_what_it_scores_one_by_one(strategy: str, data: st.DataObject, seed: int):
    config, columns = data.draw(configs(strategy)), random_columns(seed)
    one_by_one = [part.total for at in range(columns.n_episodes) for part in breakdowns(columns, at, config)]
    scores = score(columns, config)
    assert np.allclose(scores.rewards, one_by_one, rtol=0, atol=1e-9)
    assert np.allclose(scores.returns, columns.sums(np.array(one_by_one)), rtol=0, atol=1e-9)


def test_a_repeated_unlock_is_paid_up_to_its_limit():
    """Crafter never takes an achievement away; other engines might, and the limits are made for them."""
    locked = StateFacts(achievements={"collect_wood": False})
    unlocked = StateFacts(achievements={"collect_wood": True})
    writer = FactsWriter()
    for _ in range(5):
        writer.add(locked, unlocked, ["collect_wood"])
        writer.add(unlocked, locked, [])
    columns = FactColumns([writer.facts(), writer.facts()])
    for limit, paid in ((1, 1), (2, 2), (3, 3), (0, 5), (-2, 5), (9, 5)):
        config = RewardConfig("per_achievement", weights={"collect_wood": 2.0}, k_limits={"collect_wood": limit})
        assert score(columns, config).returns.tolist() == [2.0 * paid] * 2
        one_by_one = [part.total for part in breakdowns(columns, 1, config)]
        assert sum(one_by_one) == 2.0 * paid


class _Cost(Strategy[NoParams]):
    """Has no `values`."""

    name = "cost"
    version = 1
    label = "Cost"
    description = "Takes a tenth for each decision."

    def components(self, change: Change, credits: Mapping[str, int]) -> Iterator[RewardComponent]:
        yield RewardComponent("cost", "decision", 1, -0.1, -0.1)


def test_a_strategy_without_values_is_scored_one_by_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(STRATEGIES, "cost", _Cost)
    columns = random_columns(5)
    scores = score(columns, RewardConfig("cost", indicator_lambda=2.0))
    assert np.allclose(scores.rewards, -0.2)
    assert np.allclose(scores.returns, np.diff(columns.starts) * -0.2)


def test_scoring_facts_equals_scoring_their_states():
    draw = random.Random(8)
    states = random_states(draw, 40)
    columns = FactColumns([facts_of_states(states, random.Random(1))])
    config = RewardConfig("per_achievement", weights={"wake_up": 3.0})
    shaper = RewardShaper(config)
    straight = [shaper.score(before, after).total for before, after in zip(states, states[1:], strict=False)]
    assert np.allclose(score(columns, config).rewards, straight, rtol=0, atol=1e-9)


def test_an_invalid_configuration_is_an_error():
    with pytest.raises(InvalidReward, match="no reward strategy"):
        score(random_columns(1), RewardConfig("per_achivement"))


def test_as_played_sums_the_logged_rewards():
    writer = FactsWriter()
    writer.add(StateFacts(), StateFacts(), [], reward=0.25)
    writer.add(StateFacts(), StateFacts(), [], reward=-1.0)
    columns = FactColumns([writer.facts()])
    assert as_played(columns).returns.tolist() == [-0.75]


def test_the_decisions_that_change_most_come_first():
    thirsty, fresh = StateFacts(inventory={"drink": 5}), StateFacts(inventory={"drink": 6})
    wooden = StateFacts(inventory={"drink": 6, "wood": 3})
    writer = FactsWriter()
    writer.add(thirsty, thirsty, [])
    writer.add(thirsty, fresh, [])
    writer.add(fresh, wooden, [])
    columns = FactColumns([FactsWriter().facts(), writer.facts()])
    before = score(columns, RewardConfig("per_achievement"))
    after = score(columns, RewardConfig("per_achievement", inventory_weights={"drink": 0.0, "wood": 5.0}))
    assert most_changed_decisions(columns, 1, before, after, max_decisions=20) == (2, 1)
    assert most_changed_decisions(columns, 1, before, after, max_decisions=1) == (2,)
    assert most_changed_decisions(columns, 0, before, after, max_decisions=20) == ()


def test_episodes_without_decisions_can_be_scored(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(STRATEGIES, "cost", _Cost)
    for columns in (FactColumns([]), FactColumns([FactsWriter().facts()])):
        for strategy in STRATEGIES:
            scores = score(columns, RewardConfig(strategy))
            assert (scores.rewards.shape, scores.rewards.dtype) == ((0,), np.float64)
            assert scores.returns.tolist() == [0.0] * columns.n_episodes
