"""Differences between the episodes that are compared."""

from __future__ import annotations

from core.analysis.statistics import ENDED_EARLY, REWARD, SETTINGS, differences, seed_overlap, varying_settings
from core.types import EnvConfig, Limits, StopReason
from tests.support.statistics_samples import played


def test_episodes_with_equal_settings_have_no_difference():
    assert differences([played(1), played(2, policy="random")], ["scripted", "random"]) == ()
    assert differences([], []) == ()


def test_each_difference_has_its_values_and_the_policies_that_have_them():
    episodes = [
        played(0),
        played(1, config_hash="d" * 16),
        played(2, config_hash="d" * 16, limits=Limits(max_steps=50)),
    ]
    rewards, limits = differences(episodes, ["a", "a", "b"])
    assert (rewards.aspect, rewards.values) == (REWARD, (("d" * 16, {"a": 1, "b": 1}), ("c" * 16, {"a": 1})))
    assert (limits.aspect, limits.values) == ("step limit", ((1_000, {"a": 2}), (50, {"b": 1})))


def test_limits_world_and_actions_per_call_are_compared():
    other = played(
        1,
        limits=Limits(max_steps=1, max_decisions=2, max_ops=3, max_time_s=4.0, ops_given=5),
        env=EnvConfig(area=(32, 32), view=(7, 7), length=500),
        max_actions_per_call=1,
    )
    found = {difference.aspect for difference in differences([played(0), other], ["a", "b"])}
    assert found == {
        *("step limit", "decision limit", "operation limit", "time limit", "given ops"),
        *("world's area", "view", "world's length", "actions a call may hold"),
    }


def test_settings_are_compared_within_one_policy_only():
    episodes = [played(0, params={"farm": "water"}), played(1, params={"farm": "stone"})]
    assert differences(episodes, ["a", "b"]) == ()
    (found,) = differences(episodes, ["a", "a"])
    assert found.aspect == SETTINGS
    assert dict(found.values) == {(("farm", "water"),): {"a": 1}, (("farm", "stone"),): {"a": 1}}


def test_settings_that_are_equal_within_a_policy_are_not_listed():
    episodes = [played(0, params={"a": [1, 2], "b": 1}), played(1, params={"a": [1, 2], "b": 2})]
    assert varying_settings(episodes, ["x", "x"]) == {"x": ("b",)}
    assert varying_settings(episodes, ["x", "y"]) == {}


def test_a_setting_that_some_episodes_lack_varies():
    episodes = [played(0, params={"a": 1}), played(1)]
    assert varying_settings(episodes, ["x", "x"]) == {"x": ("a",)}
    (found,) = differences(episodes, ["x", "x"])
    assert [value for value, _ in found.values] == [(("a", "1"),), (("a", "not given"),)]


def test_episodes_that_ended_early_are_counted():
    episodes = [played(0, stop_reason=StopReason.ABORTED), played(1), played(2, stop_reason=StopReason.POLICY_ERROR)]
    (found,) = differences(episodes, ["a", "a", "b"])
    assert (found.aspect, dict(found.values)) == (ENDED_EARLY, {True: {"a": 1, "b": 1}, False: {"a": 1}})
    (all_of_them,) = differences(episodes[:1], ["a"])
    assert dict(all_of_them.values) == {True: {"a": 1}}


def test_seeds_that_all_policies_played():
    episodes = [played(seed) for seed in (3, 1, 2, 2, 3)]
    overlap = seed_overlap(episodes, ["a", "a", "a", "b", "b"])
    assert (overlap.seeds, overlap.common) == ({"a": (1, 2, 3), "b": (2, 3)}, (2, 3))
    assert not overlap.is_the_same
    assert seed_overlap(episodes, ["a"] * 5).is_the_same
    assert seed_overlap([], []).is_the_same
