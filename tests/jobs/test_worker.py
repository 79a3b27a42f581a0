"""How a worker ends, and what becomes of its episode."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from core import jobs
from core.settings import Settings, worker_environment
from core.slots import Slot, slot_paths
from core.store import EpisodeSummary, TraceStore
from core.store.sqlite_file import sqlite_driver
from core.types import EpisodeStatus, Run, StopReason
from core.worker import Heartbeat
from tests.support import ROOT
from tests.support.launches import endless, process_on, run_of, short, wait_for, wait_until_moving, wait_until_over

WORKER = [sys.executable, "-m", "core.worker"]
GROWTH_BYTES = 400_000


@pytest.fixture
def one_slot(settings: Settings) -> Settings:
    return replace(settings, max_workers=1)


def launch_and_signal(store: TraceStore, settings: Settings, run: Run, number: signal.Signals) -> int:
    """Launch, wait until the first episode has decisions, send its worker a signal. Returns the process id."""
    jobs.launch(store, settings, run)
    first = wait_until_moving(store, run.episodes[0].id)
    process = process_on(settings, first.id)
    os.kill(process, number)
    return process


def interrupted(store: TraceStore, run: Run) -> EpisodeSummary | None:
    return next((e for e in store.runs.episodes(run.id).rows if e.status is EpisodeStatus.INTERRUPTED), None)


def test_the_episode_of_a_killed_worker_is_interrupted_and_the_queue_continues(store: TraceStore, one_slot: Settings):
    run = run_of(endless(4), short(2), short(3, "scripted"))
    process = launch_and_signal(store, one_slot, run, signal.SIGKILL)
    ids = wait_for("the death to be noticed", lambda: jobs.sweep(store, one_slot))
    assert ids == (run.episodes[0].id,)
    lost, *rest = wait_until_over(store, run.id)
    assert lost.status is EpisodeStatus.INTERRUPTED
    assert {episode.status for episode in rest} == {EpisodeStatus.COMPLETED}
    assert lost.error is not None
    assert f"process {process}" in lost.error.detail
    assert "died unexpectedly" in lost.error.detail
    episode = store.episodes.load(lost.id)
    assert [decision.index for decision in episode.decisions] == list(range(lost.n_decisions))
    assert episode.length == lost.n_steps


def test_a_worker_notices_a_dead_one_and_starts_another(store: TraceStore, settings: Settings):
    run = run_of(endless(4), endless(5), short(3))
    jobs.launch(store, settings, run)
    first, _ = (wait_until_moving(store, episode.id) for episode in run.episodes[:2])
    os.kill(process_on(settings, first.id), signal.SIGKILL)
    wait_for(
        "the waiting episode's end", lambda: store.episodes.get(run.episodes[2].id).status is EpisodeStatus.COMPLETED
    )
    assert store.episodes.get(first.id).status is EpisodeStatus.INTERRUPTED


def test_a_slow_episode_keeps_its_heartbeat(store: TraceStore, settings: Settings):
    run = run_of(endless(4))
    store.runs.create(run)
    store.queue.claim_next(worker="this test")
    claimed_at = heartbeat_at(settings)
    with Heartbeat(settings) as heartbeat:
        heartbeat.episode_id = run.episodes[0].id
        wait_for("a heartbeat", lambda: heartbeat_at(settings) != claimed_at)
    assert store.queue.interrupt(run.episodes[0].id, "The test is over.")


def test_a_worker_that_died_elsewhere_is_noticed_by_its_stale_heartbeat(
    store: TraceStore, settings: Settings, monkeypatch: pytest.MonkeyPatch
):
    run = run_of(endless(4))
    store.runs.create(run)
    store.queue.claim_next(worker="a worker elsewhere")
    assert jobs.sweep(store) == ()
    monkeypatch.setattr(jobs, "STALE_S", 0.1)
    with Heartbeat(settings):
        lost = wait_for("the sweep of a worker", lambda: interrupted(store, run))
    assert lost.error is not None
    assert "a worker elsewhere" in lost.error.detail
    assert "no sign of life" in lost.error.detail


def test_a_worker_that_shuts_down_interrupts_its_episode_with_the_reason(store: TraceStore, one_slot: Settings):
    run = run_of(endless(4), short(2))
    launch_and_signal(store, one_slot, run, signal.SIGTERM)
    lost = wait_for("the worker's end", lambda: interrupted(store, run))
    assert lost.stop_reason is StopReason.INTERRUPTED
    assert lost.error is not None
    assert "asked to shut down" in lost.error.detail
    assert store.episodes.load(lost.id).length == lost.n_steps > 0
    assert store.episodes.get(run.episodes[1].id).status is EpisodeStatus.QUEUED, "it did not claim another one"


def test_a_worker_that_cannot_record_ends_without_losing_decisions(store: TraceStore, one_slot: Settings):
    run = run_of(endless(4))
    store.runs.create(run)
    with limited_worker(one_slot) as worker:
        assert worker.wait(120) == 1
    jobs.sweep(store, one_slot)
    lost = interrupted(store, run)
    assert lost is not None
    assert lost.error is not None
    assert "Recording failed" in lost.error.detail
    assert "Recording failed" in " ".join(jobs.worker_problems(one_slot))
    episode = store.episodes.load(lost.id)
    assert [decision.index for decision in episode.decisions] == list(range(lost.n_decisions))
    assert integrity(one_slot) == "ok"


def test_a_worker_started_by_hand_plays_the_queue(store: TraceStore, settings: Settings):
    run = run_of(short(1), short(2))
    store.runs.create(run)
    done = subprocess.run(WORKER, cwd=ROOT, env=worker_environment(settings), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {episode.status for episode in store.runs.episodes(run.id).rows} == {EpisodeStatus.COMPLETED}
    assert "Done after 2 episodes." in done.stderr


def test_a_worker_started_by_hand_ends_if_no_slot_is_free(store: TraceStore, one_slot: Settings):
    slot = Slot.take(slot_paths(one_slot)[0])
    assert slot is not None
    with slot:
        done = subprocess.run(WORKER, cwd=ROOT, env=worker_environment(one_slot), capture_output=True, text=True)
    assert done.returncode == 0
    assert "slots" in done.stderr


def test_a_worker_that_cannot_open_the_store_leaves_the_reason(settings: Settings):
    settings.data_dir.mkdir()
    (settings.data_dir / "craftscope.db").write_bytes(b"not a database\n" * 300)
    done = subprocess.run(WORKER, cwd=ROOT, env=worker_environment(settings), capture_output=True, text=True)
    assert done.returncode == 2
    assert "not a database" in done.stderr
    assert "Traceback" not in done.stderr
    assert "not a database" in jobs.worker_problems(settings)[0]


def test_a_worker_does_not_recreate_a_removed_database(store: TraceStore, one_slot: Settings):
    run = run_of(endless(4))
    store.runs.create(run)
    worker = subprocess.Popen(
        WORKER, cwd=ROOT, env=worker_environment(one_slot), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    with worker:
        wait_until_moving(store, run.episodes[0].id)
        file = one_slot.data_dir / "craftscope.db"
        moved = file.rename(file.with_name("moved.db"))
        _, errors = worker.communicate(timeout=60)
        assert not file.exists()
        moved.rename(file)
    assert worker.returncode == 1
    assert "craftscope.db was removed while it was open" in errors
    assert "Traceback" not in errors
    jobs.sweep(store, one_slot)
    assert interrupted(store, run) is not None, "the recorded decisions are back"


def limited_worker(settings: Settings) -> subprocess.Popen[bytes]:
    """A worker whose files may grow by 400 kB only, as on a disk that fills up."""
    database = settings.data_dir / "craftscope.db"
    limit = database.stat().st_size + GROWTH_BYTES
    return subprocess.Popen(
        WORKER,
        cwd=ROOT,
        env=worker_environment(settings),
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )


def database_of(settings: Settings) -> Any:
    """A connection through the store's own SQLite: closing one of another SQLite library would drop its file locks."""
    return closing(sqlite_driver().connect(settings.data_dir / "craftscope.db"))


def integrity(settings: Settings) -> str:
    with database_of(settings) as connection:
        return connection.execute("PRAGMA integrity_check").fetchone()[0]


def heartbeat_at(settings: Settings) -> object:
    with database_of(settings) as connection:
        return connection.execute("SELECT max(heartbeat_at) FROM episodes WHERE status = 'running'").fetchone()
