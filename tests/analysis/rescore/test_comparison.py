"""Ranks, pairs and advantages change as hand-made cases say."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest

from core.analysis.rescore import RankChange, Scores, SwappedPair, advantages, compare, ranks, responsible, swaps
from core.facts import EpisodeFacts, FactsWriter
from core.facts.columns import FactColumns
from core.store import EpisodeSummary
from core.types import StateFacts
from tests.support.statistics_samples import played


def episodes_of(*groups: tuple[str, int]) -> list[EpisodeSummary]:
    return [played(at, run_id=run, seed=seed) for at, (run, seed) in enumerate(groups)]


def test_equal_returns_share_the_best_rank():
    assert ranks(np.array([1.0, 5.0, 5.0, 0.5])).tolist() == [3, 1, 1, 4]


def test_returns_that_differ_by_rounding_are_equal():
    assert ranks(np.array([0.1 + 0.2, 0.3, 0.0])).tolist() == [1, 1, 3]


def test_the_largest_rank_changes_come_first():
    episodes = episodes_of(*[("run", seed) for seed in range(4)])
    comparison = compare(episodes, np.array([4.0, 3.0, 2.0, 1.0]), np.array([1.0, 3.0, 2.0, 4.0]))
    assert comparison.ranks == (RankChange(3, 4, 1), RankChange(0, 1, 4))
    assert [change.climbed for change in comparison.ranks] == [3, -3]


def test_a_pair_of_one_world_swaps_and_one_of_two_worlds_does_not():
    episodes = episodes_of(("a", 1), ("b", 1), ("a", 2))
    comparison = compare(episodes, np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.5, 9.0]))
    assert comparison.swaps == (SwappedPair(ahead=0, behind=1, gap_before=2.0, gap_after=0.5),)
    assert (comparison.n_swaps, comparison.n_pairs) == (1, 1)


def test_the_next_world_of_a_seed_is_another_world():
    episodes = [played(1), played(1, world_episode=2)]
    comparison = compare(episodes, np.array([2.0, 1.0]), np.array([1.0, 2.0]))
    assert (comparison.n_swaps, comparison.n_pairs, comparison.n_alone) == (0, 0, 2)


@pytest.mark.parametrize("seed", range(5))
def test_swaps_are_all_pairs_whose_order_turns(seed: int):
    draw = random.Random(seed)
    episodes = episodes_of(*[("run", draw.randrange(3)) for _ in range(30)])
    before, after = (np.array([float(draw.randrange(6)) for _ in episodes]) for _ in range(2))
    expected = {
        frozenset((i, j))
        for i, j in combinations(range(30), 2)
        if episodes[i].seed == episodes[j].seed and (before[i] - before[j]) * (after[i] - after[j]) < 0
    }
    comparison = compare(episodes, before, after)
    assert {frozenset((pair.ahead, pair.behind)) for pair in comparison.swaps} == expected
    assert comparison.n_swaps == len(expected)
    for pair in comparison.swaps:
        assert before[pair.ahead] > before[pair.behind] and after[pair.ahead] < after[pair.behind]


def test_advantages_are_the_groups_own():
    episodes = episodes_of(("a", 1), ("a", 1), ("a", 1), ("b", 1), ("a", 2), ("a", 2))
    given = np.array([1.0, 2.0, 3.0, 100.0, 5.0, 5.0])
    deviation = float(np.std([1.0, 2.0, 3.0]))  # over the population
    assert np.allclose(advantages(episodes, given), [-1 / deviation, 0.0, 1 / deviation, 0.0, 0.0, 0.0])


def test_equal_returns_have_no_advantage_whatever_rounding_left():
    episodes = episodes_of(("a", 1), ("a", 1), ("a", 1))
    assert advantages(episodes, np.array([0.1 + 0.2, 0.3, 0.3])).tolist() == [0.0, 0.0, 0.0]


def test_advantages_that_change_sign_are_listed_and_lonely_episodes_counted():
    episodes = episodes_of(("a", 1), ("a", 1), ("a", 2))
    comparison = compare(episodes, np.array([2.0, 1.0, 7.0]), np.array([1.0, 2.0, 3.0]))
    assert [(change.episode, change.before, change.after) for change in comparison.advantages] == [
        (0, 1.0, -1.0),
        (1, -1.0, 1.0),
    ]
    assert (comparison.n_groups, comparison.n_alone) == (1, 1)


def test_nothing_to_compare_is_no_problem():
    comparison = compare([], np.zeros(0), np.zeros(0))
    assert (comparison.ranks, comparison.swaps, comparison.n_pairs) == ((), (), 0)


OUTLIERS = [1e10, -1e10, 1e15, -1e300]


@pytest.mark.parametrize("outlier", OUTLIERS)
def test_an_outlier_leaves_the_others_their_ranks(outlier: float):
    found = ranks(np.array([outlier, 0.3, 0.9, 1.1]))
    assert (found[1:] - found[3]).tolist() == [2, 1, 0]


@pytest.mark.parametrize("outlier", OUTLIERS)
def test_an_outlier_of_their_world_leaves_the_others_their_swaps(outlier: float):
    found = swaps(episodes_of(*[("run", 1)] * 4), np.array([outlier, 1, 200, 3]), np.array([outlier, 300, 2, 1]))
    assert [(pair.ahead, pair.behind) for pair in found.swaps] == [(2, 1), (3, 1)]
    assert found.n_swaps == 2


def test_an_outlier_of_their_group_leaves_the_others_their_advantages():
    found = advantages(episodes_of(*[("run", 1)] * 4), np.array([1e15, -1e15, 0.0, 1e6]))
    assert np.sign(found).tolist() == [1, -1, -1, 1]


def test_decisions_that_change_are_named_beside_one_that_earns_a_fortune():
    columns = FactColumns([_facts(30)])
    before = Scores(None, np.array([1e15, *[1.0] * 29]), np.array([1e15]))
    after = Scores(None, np.array([1e15 + 4, *[1.5] * 28, 2.0]), np.array([1e15]))
    assert responsible(columns, 0, before, after, most=3) == (29, 1, 2)  # 4 is rounding of 1e15


def _facts(n_decisions: int) -> EpisodeFacts:
    writer = FactsWriter()
    for _ in range(n_decisions):
        writer.add(StateFacts(), StateFacts(), [])
    return writer.facts()
