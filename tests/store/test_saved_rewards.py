"""Configurations are saved under names, and what episodes would have earned stands beside what they earned."""

from __future__ import annotations

import pytest

from core.errors import InvalidInput
from core.rewards import checked
from core.store import TraceStore
from core.types import RewardConfig
from tests.store.samples import make_run, record_episode

DRY = checked(RewardConfig("per_achievement", inventory_weights={"drink": 0.0}))
WET = checked(RewardConfig("per_achievement", inventory_weights={"drink": 1.0}))


def two_episodes(store: TraceStore) -> None:
    store.create_run(make_run("run-1", ["episode-1", "episode-2"]))
    record_episode(store, "episode-1")
    record_episode(store, "episode-2")


def test_a_saved_configuration_comes_back_whole(store: TraceStore):
    store.save_reward(" no drinking ", DRY)
    store.save_reward("a wet one", WET)
    assert [(saved.name, saved.config, saved.n_scored) for saved in store.saved_rewards()] == [
        ("a wet one", WET, 0),
        ("no drinking", DRY, 0),
    ]


def test_a_name_is_not_given_to_another_configuration(store: TraceStore):
    store.save_reward("mine", DRY)
    store.save_reward("mine", DRY)  # the same again is no harm
    with pytest.raises(InvalidInput, match='saved as "mine" and is not overwritten'):
        store.save_reward("mine", WET)
    assert [saved.config for saved in store.saved_rewards()] == [DRY]


@pytest.mark.parametrize("name", ["", "   ", "x" * 81, "two\nlines", "\x1b[31m"])
def test_a_name_that_cannot_be_shown_is_refused(store: TraceStore, name: str):
    with pytest.raises(InvalidInput, match="1 to 80 characters"):
        store.save_reward(name, DRY)


def test_scorings_stand_beside_what_was_earned(store: TraceStore):
    two_episodes(store)
    earned = [store.episode(name).shaped_return for name in ("episode-1", "episode-2")]
    store.save_reward("dry", DRY)
    assert store.save_scorings(DRY, {"episode-1": 1.5, "episode-2": 2.5, "gone": 9.0}) == 2
    assert store.save_scorings(DRY, {"episode-1": 99.0}) == 0, "what is kept stays as it is"
    assert store.scorings(DRY.config_hash) == {"episode-1": 1.5, "episode-2": 2.5}
    assert store.scorings(WET.config_hash) == {}
    assert [saved.n_scored for saved in store.saved_rewards()] == [2]
    assert [store.episode(name).shaped_return for name in ("episode-1", "episode-2")] == earned


def test_scorings_go_with_their_episode_and_with_the_last_name_of_their_configuration(store: TraceStore):
    two_episodes(store)
    store.save_reward("dry", DRY)
    store.save_reward("dry too", DRY)
    store.save_scorings(DRY, {"episode-1": 1.5, "episode-2": 2.5})
    store.delete_episodes(["episode-1"])
    assert store.scorings(DRY.config_hash) == {"episode-2": 2.5}
    store.forget_reward("dry")
    assert store.scorings(DRY.config_hash) == {"episode-2": 2.5}
    store.forget_reward("dry too")
    assert store.scorings(DRY.config_hash) == {}
    assert store.saved_rewards() == ()
    store.forget_reward("never heard of")
