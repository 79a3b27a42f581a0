"""What each reward component paid."""

from __future__ import annotations

import numpy as np
import pytest

from core.analysis.statistics import component_pay, component_table
from tests.support.statistics_samples import facts

EPISODES = [
    facts(paid=[("inventory", "drink", 1.0), ("achievement", "a", 2.0)]),
    facts(paid=[("inventory", "drink", 3.0)]),
    facts(paid=[("inventory", "wood", 0.0), ("potential", "tier", -2.0)]),
]


def test_components_are_scaled_by_each_episodes_lambda_and_the_largest_comes_first():
    pays = component_pay(component_table(EPISODES, [1.0, 0.5, 1.0]), np.array([0, 1]))
    assert [(part.kind, part.name, part.total, part.mean) for part in pays] == [
        ("inventory", "drink", 2.5, 1.25),
        ("achievement", "a", 2.0, 1.0),
    ]
    assert [part.share for part in pays] == pytest.approx([2.5 / 4.5, 2.0 / 4.5])


def test_a_negative_component_has_a_share_by_its_absolute_total():
    pays = component_pay(component_table(EPISODES, [1.0] * 3), np.array([0, 1, 2]))
    assert [(part.name, part.total) for part in pays] == [("drink", 4.0), ("a", 2.0), ("tier", -2.0)]
    assert [part.share for part in pays] == [0.5, 0.25, 0.25]
    assert sum(part.mean for part in pays) == pytest.approx(4.0 / 3)


def test_an_episode_without_reward_has_no_components():
    table = component_table([facts(), *EPISODES], [1.0] * 4)
    assert component_pay(table, np.array([0])) == ()
    assert component_pay(table, np.array([], np.int64)) == ()


def test_the_same_name_in_two_kinds_is_two_components():
    its = facts(paid=[("achievement", "a", 1.0), ("achievement_count", "a", 0.5), ("achievement", "a", 1.0)])
    assert [(part.kind, part.total) for part in component_pay(component_table([its], [2.0]), np.array([0]))] == [
        ("achievement", 4.0),
        ("achievement_count", 1.0),
    ]
