"""Episodes are queued, claimed by one worker each, kept alive by heartbeats, stopped or interrupted."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from core.errors import DuplicateId, UnknownEpisode
from core.store import TraceStore
from core.types import EpisodeError, EpisodeStatus, QueuedEpisode, StopReason
from tests.support.records import change, make_decisions, make_run, make_spec, record_episode, start_recording


def test_episodes_are_claimed_in_launch_order(store: TraceStore):
    first, second = make_run("run-1", ["a-episode", "b-episode"]), make_run("run-2", ["c-episode"])
    store.runs.create(first)
    store.runs.create(second)
    claimed = [store.queue.claim_next(worker="test") for _ in range(4)]
    assert claimed == [("run-1", first.episodes[0]), ("run-1", first.episodes[1]), ("run-2", second.episodes[0]), None]


def test_a_worker_may_claim_from_one_run_only(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode"]))
    store.runs.create(make_run("run-2", ["b-episode"]))
    claimed = store.queue.claim_next(worker="test", run_id="run-2")
    assert claimed is not None and claimed[1].id == "b-episode"
    assert store.queue.claim_next(worker="test", run_id="run-2") is None
    with pytest.raises(UnknownEpisode, match="No run 'run-3' is stored"):
        store.queue.claim_next(worker="test", run_id="run-3")


def test_a_claimed_episode_is_running(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode"]))
    assert store.episodes.get("a-episode").status is EpisodeStatus.QUEUED
    before = datetime.now(UTC)
    store.queue.claim_next(worker="test")
    summary = store.episodes.get("a-episode")
    assert summary.status is EpisodeStatus.RUNNING
    assert summary.started_at is not None and before <= summary.started_at <= datetime.now(UTC)


def test_concurrent_workers_never_claim_the_same_episode(store: TraceStore):
    ids = [f"episode-{number}" for number in range(24)]
    store.runs.create(make_run("run-1", ids))

    def work(name: str) -> list[str]:
        claimed: list[str] = []
        while (taken := store.queue.claim_next(worker=name)) is not None:
            claimed.append(taken[1].id)
        return claimed

    with ThreadPoolExecutor(6) as threads:
        claimed = [id_ for ids_ in threads.map(work, "abcdef") for id_ in ids_]
    assert sorted(claimed) == sorted(ids)


def test_a_run_with_a_duplicate_id_is_refused_as_a_whole(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode"]))
    for run in (make_run("run-1", ["b-episode"]), make_run("run-2", ["c-episode", "a-episode"])):
        with pytest.raises(DuplicateId, match=f"The id of run '{run.id}' or of one of its episodes is stored already"):
            store.runs.create(run)
    assert [run.id for run in store.runs.newest().rows] == ["run-1"]
    assert [row.id for row in store.episodes.page().rows] == ["a-episode"]


def test_the_next_world_of_a_rollout_is_stored_as_running(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode"]))
    record_episode(store, "a-episode")
    following = QueuedEpisode("b-episode", make_spec(0, world_episode=2))
    store.runs.add_episode("run-1", following, worker="test")
    assert store.queue.claim_next(worker="other") is None
    assert [(e.id, e.world_episode, e.status) for e in store.runs.episodes("run-1").rows] == [
        ("a-episode", 1, EpisodeStatus.COMPLETED),
        ("b-episode", 2, EpisodeStatus.RUNNING),
    ]
    with pytest.raises(UnknownEpisode):
        store.runs.add_episode("run-2", following)


def test_stopping_a_run_aborts_queued_episodes_and_flags_running_ones(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode", "b-episode", "c-episode"]))
    record_episode(store, "a-episode")
    store.queue.claim_next(worker="test")
    assert not store.queue.stop_requested("b-episode")
    assert store.queue.request_stop(run_id="run-1") == 2
    a, b, c = store.runs.episodes("run-1").rows
    assert (a.status, a.stop_requested) == (EpisodeStatus.COMPLETED, False)
    assert (b.status, b.stop_requested) == (EpisodeStatus.RUNNING, True)
    assert (c.status, c.stop_reason) == (EpisodeStatus.ABORTED, StopReason.ABORTED)
    assert c.ended_at is not None and c.error is not None
    assert store.queue.stop_requested("b-episode")
    assert store.queue.claim_next(worker="test") is None


def test_stopping_one_episode_leaves_the_others(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode", "b-episode"]))
    assert store.queue.request_stop(episode_id="b-episode") == 1
    assert store.queue.request_stop(episode_id="b-episode") == 0
    claimed = store.queue.claim_next(worker="test")
    assert claimed is not None and claimed[1].id == "a-episode"


def test_a_worker_of_an_episode_that_is_over_or_gone_should_stop(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode"]))
    record_episode(store, "a-episode")
    assert store.queue.stop_requested("a-episode")
    assert store.queue.stop_requested("never-there")


def test_stopping_an_unknown_run_or_episode_is_refused(store: TraceStore):
    with pytest.raises(UnknownEpisode):
        store.queue.request_stop(run_id="run-1")
    with pytest.raises(UnknownEpisode):
        store.queue.request_stop(episode_id="a-episode")


def test_an_episode_without_heartbeat_is_interrupted_and_keeps_its_decisions(store: TraceStore):
    recorder = start_recording(store, "a-episode", worker="process 12 on test")
    for decision in make_decisions(3)[1]:
        recorder.record(decision)
    assert store.queue.interrupt_stale(older_than_s=60) == ()
    assert store.queue.interrupt_stale(older_than_s=-1) == ("a-episode",)
    assert store.queue.interrupt_stale(older_than_s=-1) == ()
    summary = store.episodes.get("a-episode")
    assert (summary.status, summary.stop_reason) == (EpisodeStatus.INTERRUPTED, StopReason.INTERRUPTED)
    assert summary.error is not None
    assert "Its worker (process 12 on test) gave no sign of life after 20" in summary.error.detail
    assert len(store.episodes.load("a-episode").decisions) == 3
    assert store.rewards.facts("a-episode").n_decisions == 3


def test_a_heartbeat_keeps_an_episode_alive(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode"]))
    store.queue.claim_next(worker="test")
    _set_back_heartbeats(store)
    store.queue.heartbeat("a-episode")
    assert store.queue.interrupt_stale(older_than_s=3600) == ()
    _set_back_heartbeats(store)
    assert store.queue.interrupt_stale(older_than_s=3600) == ("a-episode",)
    store.queue.heartbeat("a-episode")
    assert store.episodes.get("a-episode").status is EpisodeStatus.INTERRUPTED


def test_only_a_running_episode_is_interrupted_and_it_keeps_the_reason(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode"]))
    assert not store.queue.interrupt("a-episode", "It never ran.")
    store.queue.claim_next(worker="test")
    assert store.queue.interrupt("a-episode", "Its worker died.")
    assert not store.queue.interrupt("a-episode", "Twice.")
    assert store.episodes.get("a-episode").error == EpisodeError("interrupted", "Its worker died.")


def _set_back_heartbeats(store: TraceStore) -> None:
    two_hours = timedelta(hours=2) // timedelta(microseconds=1)
    change(store, f"UPDATE episodes SET heartbeat_at = heartbeat_at - {two_hours}")
