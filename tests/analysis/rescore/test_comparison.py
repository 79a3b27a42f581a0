"""What another scoring changes: ranks, the order of pairs, signs of advantages."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from core.analysis.rescore import (
    RankChange,
    Scores,
    SwappedPair,
    advantages,
    compare,
    most_changed_decisions,
    ranks,
    swaps,
)
from core.facts import FactsWriter
from core.facts.columns import FactColumns
from core.store import EpisodeSummary
from core.types import Floats, StateFacts
from tests.support.statistics_samples import played

OUTLIERS = [1e10, -1e10, 1e15, -1e300]


def in_groups(*groups: tuple[str, int]) -> list[EpisodeSummary]:
    """An episode for each (run, seed)."""
    return [played(at, run_id=run, seed=seed) for at, (run, seed) in enumerate(groups)]


def in_one_world(count: int) -> list[EpisodeSummary]:
    return in_groups(*[("run", 1)] * count)


def test_equal_returns_share_the_best_rank():
    assert ranks(np.array([1.0, 5.0, 5.0, 0.5])).tolist() == [3, 1, 1, 4]
    assert ranks(np.array([0.1 + 0.2, 0.3, 0.0])).tolist() == [1, 1, 3]  # equal up to rounding


def test_the_largest_rank_changes_come_first():
    comparison = compare(in_one_world(4), np.array([4.0, 3.0, 2.0, 1.0]), np.array([1.0, 3.0, 2.0, 4.0]))
    assert comparison.ranks == (RankChange(3, 4, 1), RankChange(0, 1, 4))
    assert [change.climbed for change in comparison.ranks] == [3, -3]


def test_pairs_swap_only_within_one_world():
    found = swaps(in_groups(("a", 1), ("b", 1), ("a", 2)), np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.5, 9.0]))
    assert found.pairs == (SwappedPair(ahead=0, behind=1),)
    assert (found.n_swaps, found.n_pairs) == (1, 1)


def test_the_next_world_of_a_seed_is_another_world():
    episodes = [played(1), played(2, seed=1, world_episode=2)]
    comparison = compare(episodes, np.array([2.0, 1.0]), np.array([1.0, 2.0]))
    assert (comparison.swaps.n_swaps, comparison.swaps.n_pairs, comparison.n_alone) == (0, 0, 2)


def smaller_gaps(episodes: list[EpisodeSummary], before: Floats, after: Floats) -> list[float]:
    """The smaller gap of every pair that swaps, by comparing each pair; the largest first."""
    found: list[float] = []
    for one, other in combinations(range(len(episodes)), 2):
        leads = float(before[one] - before[other]), float(after[one] - after[other])
        if episodes[one].world == episodes[other].world and leads[0] * leads[1] < 0:
            found.append(min(map(abs, leads)))
    return sorted((gap for gap in found if gap > 1e-6), reverse=True)


@pytest.mark.parametrize("n_worlds", [1, 3, 60])
@pytest.mark.parametrize("noise", [0.0, 0.1, 5.0])
@pytest.mark.parametrize("rounded", [False, True])
def test_all_swaps_are_counted_and_the_clearest_are_listed(n_worlds: int, noise: float, rounded: bool):
    draw = np.random.default_rng(n_worlds)
    episodes = in_groups(*[("run", int(seed)) for seed in draw.integers(0, n_worlds, 200)])
    before = draw.normal(size=200) * 5
    after = before + draw.normal(size=200) * noise
    if rounded:  # many are equal
        before, after = np.round(before), np.round(after)
    expected = smaller_gaps(episodes, before, after)
    for max_pairs in (3, 40, 100_000):
        found = swaps(episodes, before, after, max_pairs=max_pairs)
        assert found.n_swaps == len(expected)
        ahead, behind = np.array([(pair.ahead, pair.behind) for pair in found.pairs], int).reshape(-1, 2).T
        gaps = np.minimum(before[ahead] - before[behind], after[behind] - after[ahead])
        assert gaps.tolist() == pytest.approx(expected[:max_pairs])  # all above 0
        assert all(episodes[pair.ahead].world == episodes[pair.behind].world for pair in found.pairs)


def test_returns_that_differ_by_rounding_do_not_swap():
    before = np.array([0.1 + 0.2, 0.3] * 20)
    assert swaps(in_one_world(40), before, before[::-1].copy()).n_swaps == 0
    values = np.arange(40.0) * 0.9e-9  # each is equal to one neighbour only
    assert swaps(in_one_world(40), values, -values).n_swaps == 40 * 39 // 2 - 20


@pytest.mark.parametrize("outlier", OUTLIERS)
def test_an_outlier_changes_no_rank_and_no_swap_of_the_others(outlier: float):
    found = ranks(np.array([outlier, 0.3, 0.9, 1.1]))
    assert (found[1:] - found[3]).tolist() == [2, 1, 0]
    swapped = swaps(in_one_world(4), np.array([outlier, 1, 200, 3]), np.array([outlier, 300, 2, 1]))
    assert [(pair.ahead, pair.behind) for pair in swapped.pairs] == [(2, 1), (3, 1)]


def test_advantages_are_relative_to_the_own_group():
    episodes = in_groups(("a", 1), ("a", 1), ("a", 1), ("b", 1), ("a", 2), ("a", 2))
    deviation = float(np.std([1.0, 2.0, 3.0]))  # over the population
    found = advantages(episodes, np.array([1.0, 2.0, 3.0, 100.0, 5.0, 5.0]))
    assert np.allclose(found, [-1 / deviation, 0.0, 1 / deviation, 0.0, 0.0, 0.0])


def test_rounding_gives_no_advantage_and_an_outlier_hides_none():
    assert advantages(in_one_world(3), np.array([0.1 + 0.2, 0.3, 0.3])).tolist() == [0.0, 0.0, 0.0]
    assert np.sign(advantages(in_one_world(4), np.array([1e15, -1e15, 0.0, 1e6]))).tolist() == [1, -1, -1, 1]


def test_advantages_that_change_their_sign_are_listed_and_single_episodes_counted():
    episodes = in_groups(("a", 1), ("a", 1), ("a", 2))
    comparison = compare(episodes, np.array([2.0, 1.0, 7.0]), np.array([1.0, 2.0, 3.0]))
    changes = [(change.episode, change.before, change.after) for change in comparison.advantages]
    assert changes == [(0, 1.0, -1.0), (1, -1.0, 1.0)]
    assert (comparison.n_groups, comparison.n_alone) == (1, 1)


def test_no_episodes_have_an_empty_comparison():
    comparison = compare([], np.zeros(0), np.zeros(0))
    assert (comparison.ranks, comparison.swaps.pairs, comparison.swaps.n_pairs) == ((), (), 0)


def test_the_decisions_that_change_most_are_found_beside_a_very_large_reward():
    writer = FactsWriter()
    for _ in range(30):
        writer.add(StateFacts(), StateFacts(), [])
    before = Scores(None, np.array([1e15, *[1.0] * 29]), np.array([1e15]))
    after = Scores(None, np.array([1e15 + 4, *[1.5] * 28, 2.0]), np.array([1e15]))
    found = most_changed_decisions(FactColumns([writer.facts()]), 0, before, after, max_decisions=3)
    assert found == (29, 1, 2)  # a change of 4 is rounding of 1e15
