"""The cache of reward facts follows the store: new, deleted and corrupt episodes."""

from __future__ import annotations

import numpy as np

from core.analysis.rescore import RewardFactsCache, as_played, score
from core.store import TraceStore
from core.types import RewardConfig, StopReason
from tests.support.records import START, change, make_decisions, make_run, record_episode


def test_it_contains_the_ended_episodes_with_decisions(store: TraceStore):
    store.runs.create(make_run("run-1", ["episode-over", "episode-none", "episode-going", "episode-queued"]))
    record_episode(store, "episode-over", 12)
    record_episode(store, "episode-none", 0)
    going = store.queue.claim_next(worker="w")
    assert going is not None
    cache = RewardFactsCache(store.rewards)
    stored = cache.refresh()
    assert stored.columns.n_decisions == 12
    assert stored.episodes == (store.episodes.get("episode-over"),)


def test_new_episodes_join_and_deleted_ones_leave(store: TraceStore):
    store.runs.create(make_run("run-1", ["episode-1", "episode-2"]))
    record_episode(store, "episode-1", 5)
    cache = RewardFactsCache(store.rewards)
    first = cache.refresh()
    assert cache.refresh() is first
    record_episode(store, "episode-2", 7)
    assert [episode.id for episode in cache.refresh().episodes] == ["episode-1", "episode-2"]
    assert first.columns.n_decisions == 5, "an earlier result does not change"
    store.episodes.delete(["episode-1"])
    left = cache.refresh()
    assert ([episode.id for episode in left.episodes], left.columns.n_decisions) == (["episode-2"], 7)


def test_rewards_and_step_ends_equal_those_of_the_store(store: TraceStore):
    store.runs.create(make_run("run-1", ["episode-1", "episode-2"]))
    record_episode(store, "episode-1", 5)
    record_episode(store, "episode-2", 9)
    stored = RewardFactsCache(store.rewards).refresh()
    assert np.allclose(as_played(stored.columns).returns, [episode.shaped_return for episode in stored.episodes])
    assert np.allclose(stored.columns.sums(stored.columns.env_rewards), [e.env_return for e in stored.episodes])
    ends = [decision.step_end for decision in store.episodes.decisions("episode-2")]
    assert stored.columns.step_ends[stored.columns.decisions_of(1)].tolist() == ends


def test_facts_of_an_interrupted_episode_are_built_and_stored(store: TraceStore):
    store.runs.create(make_run("run-1", ["episode-1"]))
    store.queue.claim_next(worker="w")
    initial, decisions = make_decisions(6)
    recorder = store.recorder("episode-1")
    recorder.start(START, initial)
    for decision in decisions:
        recorder.record(decision)
    assert store.queue.interrupt("episode-1", "The machine went off.")
    assert RewardFactsCache(store.rewards).refresh().columns.n_decisions == 6
    with store._database.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM episode_packs").scalar() == 1


def test_a_corrupt_episode_is_reported_and_skipped_until_it_is_repaired(store: TraceStore):
    store.runs.create(make_run("run-1", ["episode-1", "episode-2"]))
    record_episode(store, "episode-1", 5)
    record_episode(store, "episode-2", 5)
    change(store, "UPDATE episodes SET n_decisions = 6 WHERE uuid = 'episode-1'")
    cache = RewardFactsCache(store.rewards)
    stored = cache.refresh()
    assert [episode.id for episode in stored.episodes] == ["episode-2"]
    ((name, problem),) = stored.unreadable
    assert name == "episode-1" and "episode-1" in problem
    assert stored.only(["episode-2"]).unreadable == (), "nothing in the selection is corrupt"
    change(store, "UPDATE episodes SET n_decisions = 5 WHERE uuid = 'episode-1'")
    repaired = cache.refresh()
    assert ([episode.id for episode in repaired.episodes], repaired.unreadable) == (["episode-1", "episode-2"], ())


def test_corrupt_reward_facts_are_rebuilt(store: TraceStore):
    store.runs.create(make_run("run-1", ["episode-1"]))
    record_episode(store, "episode-1", 5)
    whole = RewardFactsCache(store.rewards).refresh()
    change(store, "UPDATE episode_packs SET blob = substr(blob, 1, 20)")
    stored = RewardFactsCache(store.rewards).refresh()
    assert stored.unreadable == ()
    assert stored.columns.logged.tolist() == whole.columns.logged.tolist()


def test_selecting_episodes(store: TraceStore):
    store.runs.create(make_run("run-1", ["episode-1", "episode-2", "episode-3"]))
    for name, count in (("episode-1", 3), ("episode-2", 4), ("episode-3", 5)):
        record_episode(store, name, count)
    stored = RewardFactsCache(store.rewards).refresh()
    some = stored.only(["episode-3", "episode-1", "unknown"])
    assert [episode.id for episode in some.episodes] == ["episode-1", "episode-3"]
    config = RewardConfig("per_achievement", weights={"collect_wood": 3.0})
    assert np.allclose(score(some.columns, config).returns, score(stored.columns, config).returns[[0, 2]])
    assert stored.only([episode.id for episode in stored.episodes]) is stored


def test_only_known_ends_are_marked(store: TraceStore):
    store.runs.create(make_run("run-1", ["episode-1", "episode-2"]))
    record_episode(store, "episode-1", 3, stop_reason=StopReason.MAX_STEPS)
    record_episode(store, "episode-2", 3, stop_reason=StopReason.ABORTED)
    stored = RewardFactsCache(store.rewards).refresh()
    assert np.flatnonzero(stored.columns.is_end).tolist() == [2]
