"""A recorder writes to its own episode and to no other, whoever got its place meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from core.errors import StoreError, UnknownEpisode
from core.store import TraceStore
from core.store.recorder import EpisodeRecorder
from core.store.tables import metadata
from core.types import Outcome, StopReason
from tests.support.records import START, make_decisions, make_run

OUTCOME = Outcome(StopReason.MAX_STEPS, START + timedelta(seconds=9))
INITIAL, DECISIONS = make_decisions(4)


def started(store: TraceStore, run_id: str, episode_id: str) -> EpisodeRecorder:
    """The recorder of an episode that one worker plays, with a decision stored."""
    store.runs.create(make_run(run_id, [episode_id]))
    assert store.queue.claim_next(worker="worker-1") is not None
    recorder = store.recorder(episode_id)
    recorder.start(START, INITIAL)
    recorder.record(DECISIONS[0])
    return recorder


def everything(store: TraceStore) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table."""
    with store._database.reading() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(table.select()).all()), key=repr)
            for table in metadata.sorted_tables
        }


def key_of(store: TraceStore, episode_id: str) -> int:
    with store._database.reading() as connection:
        return connection.exec_driver_sql(f"SELECT id FROM episodes WHERE uuid = '{episode_id}'").scalar_one()


WRITES: tuple[Callable[[EpisodeRecorder], None], ...] = (
    lambda recorder: recorder.record(DECISIONS[1]),
    lambda recorder: recorder.finish(OUTCOME),
)


@pytest.mark.parametrize("write", WRITES, ids=["record", "finish"])
def test_an_episode_that_got_the_key_of_a_deleted_one_is_not_touched(
    store: TraceStore, write: Callable[[EpisodeRecorder], None]
):
    deleted = started(store, "run-1", "episode-1")
    key = key_of(store, "episode-1")
    store.queue.interrupt("episode-1", "It was stopped.")
    store.episodes.delete(["episode-1"])
    other = started(store, "run-2", "episode-2")
    if store.backend.startswith("SQLite"):
        assert key_of(store, "episode-2") == key, "or this test shows nothing"
    before = everything(store)
    with pytest.raises(UnknownEpisode, match="Episode episode-1 was deleted while it was recorded"):
        write(deleted)
    assert everything(store) == before
    other.record(DECISIONS[1])
    other.finish(OUTCOME)
    with pytest.raises(UnknownEpisode, match="Episode episode-1 was deleted"):
        deleted.finish(OUTCOME)  # the other one ended in the same way


def test_the_start_of_a_deleted_episode_does_not_become_that_of_another(store: TraceStore):
    store.runs.create(make_run("run-1", ["episode-1"]))
    store.queue.claim_next(worker="worker-1")
    deleted = store.recorder("episode-1")
    store.queue.interrupt("episode-1", "It was stopped.")
    store.episodes.delete(["episode-1"])
    store.runs.create(make_run("run-2", ["episode-2"]))
    store.queue.claim_next(worker="worker-1")
    before = everything(store)
    with pytest.raises(UnknownEpisode, match="Episode episode-1 was deleted"):
        deleted.start(START, INITIAL)
    assert everything(store) == before
    store.recorder("episode-2").start(START, INITIAL)


@pytest.mark.parametrize("write", WRITES, ids=["record", "finish"])
def test_an_episode_that_another_worker_has_by_now_is_not_touched(
    store: TraceStore, write: Callable[[EpisodeRecorder], None]
):
    recorder = started(store, "run-1", "episode-1")
    given_to(store, "worker-2")
    before = everything(store)
    with pytest.raises(StoreError, match=r"Episode episode-1 belongs to another worker now \('worker-2'\)"):
        write(recorder)
    assert everything(store) == before
    store.recorder("episode-1").finish(OUTCOME)
    with pytest.raises(StoreError, match="belongs to another worker"):
        recorder.finish(OUTCOME)


def test_the_start_of_an_episode_that_another_worker_has_is_refused(store: TraceStore):
    store.runs.create(make_run("run-1", ["episode-1"]))
    store.queue.claim_next(worker="worker-1")
    recorder = store.recorder("episode-1")
    given_to(store, "worker-2")
    before = everything(store)
    with pytest.raises(StoreError, match="belongs to another worker"):
        recorder.start(START, INITIAL)
    assert everything(store) == before


def given_to(store: TraceStore, worker: str) -> None:
    with store._database.writing() as connection:
        assert connection.exec_driver_sql(f"UPDATE episodes SET worker = '{worker}'").rowcount == 1
