"""Reward configurations saved under names, and the returns of episodes under them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import insert

from core.errors import InvalidInput
from core.rewards import checked_reward
from core.store import TraceStore
from core.store.rows import episode_row, run_key, save_reward_configs
from core.store.tables import episodes
from core.types import EpisodeStatus, RewardConfig
from tests.support.records import change, make_run, record_episode, record_run

DRY = checked_reward(RewardConfig("per_achievement", inventory_weights={"drink": 0.0}))
WET = checked_reward(RewardConfig("per_achievement", inventory_weights={"drink": 1.0}))


def test_a_saved_configuration_comes_back_whole(store: TraceStore):
    assert store.rewards.save("  no drinking\n", DRY) == "no drinking"
    store.rewards.save("a wet one", WET)
    assert [(saved.name, saved.config, saved.n_scored) for saved in store.rewards.saved().rows] == [
        ("a wet one", WET, 0),
        ("no drinking", DRY, 0),
    ]


def test_a_name_is_not_reused_for_another_configuration(store: TraceStore):
    store.rewards.save("mine", DRY)
    store.rewards.save("mine", DRY)  # saving the same again is allowed
    with pytest.raises(InvalidInput, match='saved as "mine" and is not overwritten'):
        store.rewards.save("mine", WET)
    assert [saved.config for saved in store.rewards.saved().rows] == [DRY]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("   ", "1 to 80 characters; this one has 0"),
        ("x" * 81, "1 to 80 characters; this one has 81"),
        ("two\nlines", "invisible character U\\+000A"),
        ("dry\u202eone", "invisible character U\\+202E"),
        ("dry\u3164one", "invisible character U\\+3164"),
        ("dry\ud83done", "invisible character U\\+D83D"),
    ],
)
def test_a_name_that_cannot_be_shown_is_refused(store: TraceStore, name: str, problem: str):
    with pytest.raises(InvalidInput, match=problem):
        store.rewards.save(name, DRY)
    assert store.rewards.saved().rows == ()


def test_scorings_do_not_change_the_returns_as_played(store: TraceStore):
    record_run(store, "episode-1", "episode-2")
    earned = [store.episodes.get(name).shaped_return for name in ("episode-1", "episode-2")]
    store.rewards.save("dry", DRY)
    assert store.rewards.save_scorings(DRY, {"episode-1": 1.5, "episode-2": 2.5, "gone": 9.0}) == 2
    assert store.rewards.save_scorings(DRY, {"episode-1": 99.0}) == 0, "stored returns are not overwritten"
    assert store.rewards.scorings(DRY.config_hash) == {"episode-1": 1.5, "episode-2": 2.5}
    assert store.rewards.scorings(WET.config_hash) == {}
    assert [saved.n_scored for saved in store.rewards.saved().rows] == [2]
    assert [store.episodes.get(name).shaped_return for name in ("episode-1", "episode-2")] == earned


def test_scorings_are_deleted_with_their_episode_or_the_last_name_of_their_configuration(store: TraceStore):
    record_run(store, "episode-1", "episode-2")
    store.rewards.save("dry", DRY)
    store.rewards.save("dry too", DRY)
    store.rewards.save_scorings(DRY, {"episode-1": 1.5, "episode-2": 2.5})
    store.episodes.delete(["episode-1"])
    assert store.rewards.scorings(DRY.config_hash) == {"episode-2": 2.5}
    store.rewards.delete_saved("dry")
    assert store.rewards.scorings(DRY.config_hash) == {"episode-2": 2.5}
    store.rewards.delete_saved("dry too")
    assert store.rewards.scorings(DRY.config_hash) == {}
    assert store.rewards.saved().rows == ()
    store.rewards.delete_saved("never heard of")


def test_a_name_may_be_in_any_script(store: TraceStore):
    for name in ("trocken – ohne Wasser", "干燥", "ohne 💧", "जल", "e\u0301t\u00e9"):
        assert store.rewards.save(name, DRY) == name


def test_a_corrupt_configuration_is_reported_and_can_be_deleted(store: TraceStore):
    store.rewards.save("dry", DRY)
    store.rewards.save("wet", WET)
    change(store, f"UPDATE reward_configs SET config = 'not json' WHERE hash = '{DRY.config_hash}'")
    found = store.rewards.saved()
    assert [saved.name for saved in found.rows] == ["wet"]
    (corrupt,) = found.unreadable
    assert corrupt.id == "dry"
    assert corrupt.problem.startswith("The saved configuration dry is stored but cannot be read")
    store.rewards.delete_saved("dry")
    assert store.rewards.saved().unreadable == ()


def hashes(store: TraceStore) -> set[str]:
    with store._database.reading() as connection:
        return set(connection.exec_driver_sql("SELECT hash FROM reward_configs").scalars())


def test_an_unused_configuration_is_deleted_with_its_last_name(store: TraceStore):
    store.runs.create(make_run("run-1", ["episode-1"], reward=DRY))
    record_episode(store, "episode-1")
    store.runs.create(make_run("run-2", ["episode-2"], reward=WET))  # it is queued
    other = checked_reward(RewardConfig("per_achievement", weights={"eat_cow": 4.0}))
    for name, config in (("dry", DRY), ("wet", WET), ("other", other), ("other too", other)):
        store.rewards.save(name, config)
    store.rewards.delete_saved("dry")
    store.rewards.delete_saved("wet")
    store.rewards.delete_saved("other")
    assert hashes(store) == {DRY.config_hash, WET.config_hash, other.config_hash}
    store.rewards.delete_saved("other too")
    assert hashes(store) == {DRY.config_hash, WET.config_hash}
    assert store.episodes.get("episode-1").spec.reward == DRY
    claimed = store.queue.claim_next(worker="test")
    assert claimed is not None and claimed[1].spec.reward == WET


def test_a_configuration_that_a_scoring_uses_stays(store: TraceStore):
    record_run(store, "episode-1", "episode-2")
    store.rewards.save_scorings(WET, {"episode-1": 1.0})
    store.rewards.save("dry", DRY)
    store.rewards.delete_saved("dry")
    assert store.rewards.scorings(WET.config_hash) == {"episode-1": 1.0}
    assert DRY.config_hash not in hashes(store)


def test_a_configuration_is_not_deleted_while_a_run_with_it_is_launched(postgres_url: str):
    """The launch finds it stored; it must not go before its episodes are there."""
    with TraceStore(postgres_url) as store, ThreadPoolExecutor() as threads:
        store.rewards.save("dry", DRY)
        run = make_run("run-1", ["episode-1"], reward=DRY)
        store.runs.create(replace(run, episodes=()))
        with store._database.writing() as launching:
            save_reward_configs(launching, [DRY])
            row = episode_row(run_key(launching, "run-1"), run.episodes[0], run.created_at, EpisodeStatus.QUEUED)
            launching.execute(insert(episodes), [row])
            forgetting = threads.submit(store.rewards.delete_saved, "dry")
            with pytest.raises(TimeoutError):
                forgetting.result(timeout=0.5)
        forgetting.result(timeout=20)
        assert store.episodes.get("episode-1").spec.reward == DRY
