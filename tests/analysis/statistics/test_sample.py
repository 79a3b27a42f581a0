"""Episodes and their reward facts as arrays."""

from __future__ import annotations

import numpy as np

from core.analysis.statistics import sample_of
from core.types import StopReason
from tests.support.statistics_samples import facts, played


def test_unlocks_are_in_the_order_of_the_achievements_and_others_do_not_count():
    episodes = [played(7, env_return=2.0, shaped_return=-1.0), played(8, stop_reason=StopReason.TERMINATED, n_steps=3)]
    its = sample_of(episodes, [facts(["b", "unknown", "a"]), facts(["c"])], ["a", "b", "c"])
    assert its.unlocked.tolist() == [[True, True, False], [False, False, True]]
    assert its.n_unlocked.tolist() == [2, 1]
    assert its.seeds.tolist() == [7, 8]
    assert its.env_returns.tolist() == [2.0, 1.9]
    assert its.shaped_returns.tolist() == [-1.0, 3.5]
    assert (its.n_steps.tolist(), its.has_died.tolist()) == ([100, 3], [False, True])


def test_rows_are_selected_in_the_given_order():
    its = sample_of([played(number) for number in range(4)], [facts("a")] * 4, ["a"]).at(np.array([3, 1]))
    assert its.seeds.tolist() == [3, 1]
    assert its.n_episodes == 2


def test_no_episodes_give_an_empty_sample():
    its = sample_of([], [], ["a", "b"])
    assert its.n_episodes == 0
    assert its.unlocked.shape == (0, 2)
