"""Facts of many episodes as columns say the same as their states, one by one."""

from __future__ import annotations

import random

import numpy as np
import pytest

from core.facts import INVENTORY, UNLOCK
from core.facts.columns import FactColumns
from core.facts.episode import FactsWriter
from core.types import StateFacts
from tests.support.facts import ACHIEVEMENTS, ITEMS, facts_of_states, random_states


@pytest.fixture(scope="module")
def episodes() -> list[list[StateFacts]]:
    draw = random.Random(3)
    return [random_states(draw, length) for length in (9, 1, 2, 60)]


@pytest.fixture(scope="module")
def columns(episodes: list[list[StateFacts]]) -> FactColumns:
    draw = random.Random(4)
    return FactColumns([facts_of_states(states, draw, known_end=len(states) > 2) for states in episodes])


def test_columns_hold_the_episodes_in_order_with_empty_ones(columns: FactColumns):
    assert columns.starts.tolist() == [0, 8, 8, 9, 68]
    assert (columns.n_episodes, columns.n_decisions) == (4, 68)
    assert columns.sums(np.ones(68)).tolist() == [8.0, 0.0, 1.0, 59.0]


def test_a_last_decision_is_an_end_if_it_was_known_to_be_the_last(columns: FactColumns):
    assert np.flatnonzero(columns.is_end).tolist() == [7, 67]


def test_a_decision_without_a_step_is_no_end():
    writer = FactsWriter()
    writer.add(StateFacts(), StateFacts(), [], env_reward=0.0, step_end=0)
    assert not FactColumns([writer.facts(known_end=True)]).is_end.any()


def test_states_come_back_as_they_were(columns: FactColumns, episodes: list[list[StateFacts]]):
    for index, states in enumerate(episodes):
        changes = list(columns.changes(index))
        assert len(changes) == len(states) - 1
        for change, before, after in zip(changes, states, states[1:], strict=False):
            assert change.before == before
            assert change.after == after


@pytest.mark.parametrize("name", ITEMS)
def test_levels_are_what_was_held(columns: FactColumns, episodes: list[list[StateFacts]], name: str):
    before, after = columns.levels(INVENTORY, name)
    assert before.tolist() == [state.inventory[name] for states in episodes for state in states[:-1]]
    assert after.tolist() == [state.inventory[name] for states in episodes for state in states[1:]]


@pytest.mark.parametrize("name", [*ACHIEVEMENTS, "never_heard_of"])
def test_levels_of_an_unlock_are_0_or_1(columns: FactColumns, episodes: list[list[StateFacts]], name: str):
    after = columns.levels(UNLOCK, name)[1]
    assert after.tolist() == [float(s.achievements.get(name, False)) for states in episodes for s in states[1:]]


def test_achieved_counts_what_is_unlocked(columns: FactColumns, episodes: list[list[StateFacts]]):
    before, after = columns.unlocked_counts()
    assert before.tolist() == [sum(s.achievements.values()) for states in episodes for s in states[:-1]]
    assert after.tolist() == [sum(s.achievements.values()) for states in episodes for s in states[1:]]


def test_weighed_pays_rises_and_no_falls(columns: FactColumns, episodes: list[list[StateFacts]]):
    paid = columns.weighted_rises(lambda feature: 0.5 if (feature.kind, feature.name) == (INVENTORY, "wood") else 0.0)
    rises = [
        max(0, after.inventory["wood"] - before.inventory["wood"]) * 0.5
        for states in episodes
        for before, after in zip(states, states[1:], strict=False)
    ]
    assert paid.tolist() == rises


def test_no_episode_at_all_is_no_problem():
    columns = FactColumns([])
    assert (columns.n_episodes, columns.n_decisions) == (0, 0)
    assert columns.sums(np.zeros(0)).shape == (0,)
    assert columns.unlocks.shape == (0,)
    assert columns.levels(INVENTORY, "wood")[0].shape == (0,)
