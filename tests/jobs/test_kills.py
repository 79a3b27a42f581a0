"""Workers killed at random moments lose nothing that they committed.

tests/store/test_kill.py kills the store alone, fifty times.
"""

from __future__ import annotations

import os
import random
import time
from contextlib import closing
from dataclasses import replace

from core import jobs, worker
from core.settings import Settings, worker_environment
from core.slots import Slot, read_record, slot_paths, worker_name
from core.store import EpisodeFilter, TraceStore
from core.store.sqlite_file import sqlite_driver
from core.types import EpisodeStatus
from tests.support.launches import SMALL_WORLD, endless, run_of, wait_for, wait_until_over
from tests.support.processes import start

KILLS = 6


def be_a_worker(environment: dict[str, str]) -> None:
    os.environ.update(environment)
    worker.main([])


def running(store: TraceStore) -> dict[str, int]:
    """The number of committed decisions of each running episode."""
    rows = store.episodes.page(EpisodeFilter(statuses=(EpisodeStatus.RUNNING,))).rows
    return {row.id: row.n_decisions for row in rows}


def is_playing(store: TraceStore, settings: Settings, process: int) -> bool:
    record = read_record(slot_paths(settings)[0])
    return record.worker == worker_name(process) and running(store).get(record.episode_id, 0) > 0


def wait_until_free(settings: Settings) -> None:
    wait_for("the dead worker's slot", lambda: Slot.take(slot_paths(settings)[0])).close()


def test_killed_workers_lose_no_committed_decision(store: TraceStore, settings: Settings):
    one = replace(settings, max_workers=1)
    run = run_of(*(replace(endless(seed), env=SMALL_WORLD) for seed in range(KILLS + 10)))
    store.runs.create(run)
    moments = random.Random(7)
    committed: dict[str, int] = {}
    at_play = 0
    for kill in range(KILLS):
        process = start(be_a_worker, worker_environment(one))
        if kill % 3:  # the others are killed while they start, claim or begin
            wait_for("an episode at play", lambda pid=process.pid: is_playing(store, one, pid or 0))
            at_play += 1
        time.sleep(moments.uniform(0, 0.1))
        committed |= running(store)
        process.kill()
        process.join()
        wait_until_free(one)
    store.queue.request_stop(run_id=run.id)
    wait_for("the last death to be noticed", lambda: jobs.sweep(store, one) or not store.episodes.totals().running)
    episodes = wait_until_over(store, run.id)

    interrupted = [episode for episode in episodes if episode.status is EpisodeStatus.INTERRUPTED]
    assert len(interrupted) >= at_play
    assert all(episode.error and "died unexpectedly" in episode.error.detail for episode in interrupted)
    assert sum(count > 0 for count in committed.values()) >= at_play
    for episode in interrupted:
        decisions = store.episodes.load(episode.id).decisions
        assert [decision.index for decision in decisions] == list(range(episode.n_decisions))
        assert episode.n_decisions >= committed.get(episode.id, 0)
    with closing(sqlite_driver().connect(settings.data_dir / "craftscope.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
