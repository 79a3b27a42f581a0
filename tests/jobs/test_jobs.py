"""Launch, follow and stop: real worker processes on a real SQLite file."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace

import pytest

from core import jobs
from core.errors import DuplicateId, JobError
from core.settings import Settings, worker_environment
from core.slots import Slot, SlotRecord, SlotState, known_slot_paths, slot_paths
from core.store import EpisodeFilter, TraceStore
from core.types import EpisodeStatus, OnDone, StopReason
from tests.support import ROOT
from tests.support.launches import (
    endless,
    none_left,
    play_queue,
    process_on,
    run_of,
    short,
    wait_for,
    wait_until_moving,
    wait_until_over,
)

LAUNCH_AND_EXIT_AT_ONCE = """
from core import jobs
from core.settings import load_settings
from core.store import TraceStore
from tests.support.launches import run_of, short

settings = load_settings()
with TraceStore.from_settings(settings) as store:
    print(jobs.launch(store, settings, run_of(*(short(seed, steps=60) for seed in range(3)))))
"""


def start_launcher(settings: Settings) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", LAUNCH_AND_EXIT_AT_ONCE]
    environment = worker_environment(settings)
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


def running(store: TraceStore) -> int:
    return len(store.episodes.page(EpisodeFilter(statuses=(EpisodeStatus.RUNNING,))).rows)


def test_launched_episodes_are_played_to_their_end(store: TraceStore, settings: Settings):
    run = run_of(short(1), short(2, "scripted"), short(3), short(4, "scripted"), short(5))
    assert jobs.launch(store, settings, run) == run.id
    episodes = wait_until_over(store, run.id)
    assert [episode.id for episode in episodes] == [episode.id for episode in run.episodes]
    assert {episode.status for episode in episodes} == {EpisodeStatus.COMPLETED}
    assert all(episode.n_steps == 12 for episode in episodes)
    assert store.episodes.load(episodes[0].id).length == 12


def test_a_run_cannot_be_launched_twice(store: TraceStore, settings: Settings):
    run = run_of(short())
    store.runs.create(run)
    with pytest.raises(DuplicateId):
        jobs.launch(store, settings, run)
    assert known_slot_paths(settings) == ()


def test_workers_start_only_as_needed_up_to_max_workers(store: TraceStore, settings: Settings):
    assert jobs.ensure_workers(store, settings) == 0
    store.runs.create(run_of(endless(4)))
    assert jobs.ensure_workers(store, settings) == 1
    assert jobs.ensure_workers(store, settings) == 0, "the worker that is starting will take it"
    store.runs.create(run_of(endless(5), endless(6)))
    assert jobs.ensure_workers(store, settings) == 1
    wait_for("two running episodes", lambda: running(store) == 2)
    assert jobs.ensure_workers(store, settings) == 0
    assert store.episodes.totals().queued == 1


def test_workers_survive_their_parent_and_two_launchers_share_the_slots(store: TraceStore, settings: Settings):
    launchers = [start_launcher(settings) for _ in range(2)]
    run_ids = [launcher.communicate()[0].strip() for launcher in launchers]
    assert [launcher.returncode for launcher in launchers] == [0, 0]
    at_once = 0
    while not all(e.status.is_over for run_id in run_ids for e in store.runs.episodes(run_id).rows):
        at_once = max(at_once, running(store))
        time.sleep(0.01)
    assert 1 <= at_once <= settings.max_workers
    for run_id in run_ids:
        assert {e.status for e in store.runs.episodes(run_id).rows} == {EpisodeStatus.COMPLETED}
    assert len(known_slot_paths(settings)) <= settings.max_workers


def test_an_episode_or_a_whole_run_can_be_stopped_and_no_process_is_left(store: TraceStore, settings: Settings):
    run = run_of(*(endless(seed) for seed in (4, 5, 6, 7)))
    jobs.launch(store, settings, run)
    first, second = (wait_until_moving(store, episode.id) for episode in run.episodes[:2])
    workers = [process_on(settings, episode.id) for episode in (first, second)]
    assert len(set(workers)) == 2
    assert store.queue.request_stop(episode_id=first.id) == 1
    wait_for("its end", lambda: store.episodes.get(first.id).status is EpisodeStatus.ABORTED)
    assert store.episodes.load(first.id).length > 0
    assert store.episodes.get(second.id).status is EpisodeStatus.RUNNING
    assert store.queue.request_stop(run_id=run.id) == 3
    assert store.episodes.totals().queued == 0
    assert {episode.status for episode in wait_until_over(store, run.id)} == {EpisodeStatus.ABORTED}
    wait_for("both processes to be gone", lambda: none_left(workers))


def test_further_worlds_are_added_to_the_run(store: TraceStore, settings: Settings):
    spec = short(42, steps=50)
    run = run_of(replace(spec, env=replace(spec.env, length=20), on_done=OnDone.RESET))
    store.runs.create(run)
    assert play_queue(store, settings) == 1
    episodes = store.runs.episodes(run.id).rows
    assert [(e.world_episode, e.n_steps) for e in episodes] == [(1, 20), (2, 20), (3, 10)]
    assert [e.stop_reason for e in episodes] == [StopReason.TRUNCATED, StopReason.TRUNCATED, StopReason.MAX_STEPS]


def test_an_episode_that_fails_to_start_does_not_block_the_queue(store: TraceStore, settings: Settings):
    run = run_of(short(1, "no_such_policy"), short(2))
    store.runs.create(run)
    assert play_queue(store, settings) == 2
    broken, fine = store.runs.episodes(run.id).rows
    assert broken.status is EpisodeStatus.INTERRUPTED
    assert broken.error is not None
    assert "InvalidConfig" in broken.error.detail
    assert fine.status is EpisodeStatus.COMPLETED


def test_a_slot_pauses_after_its_worker_failed(store: TraceStore, settings: Settings):
    one = replace(settings, max_workers=1)
    store.runs.create(run_of(short()))
    write(one, SlotRecord(SlotState.FAILED, "process 7", time.time(), detail="The disk is full."))
    assert jobs.ensure_workers(store, one) == 0
    assert jobs.worker_problems(one) == (
        f"A worker (process 7) failed: The disk is full. See its log: {settings.log_dir / 'worker-slot-0.log'}.",
    )


def test_a_worker_that_died_at_start_is_reported(settings: Settings):
    write(settings, SlotRecord(SlotState.STARTING, at=time.time()))
    assert jobs.worker_problems(settings) == (
        f"A worker ended before it started work. See its log: {settings.log_dir / 'worker-slot-0.log'}.",
    )
    with held(settings):
        assert jobs.worker_problems(settings) == (), "a worker is starting"


def test_a_sweep_starts_the_workers_that_could_not_be_started_before_and_rotates_a_long_log(
    store: TraceStore, settings: Settings, monkeypatch: pytest.MonkeyPatch
):
    settings.log_dir.write_text("a file where a folder should be")
    run = run_of(short())
    with pytest.raises(JobError, match="stays queued"):
        jobs.launch(store, settings, run)
    assert store.episodes.totals().queued == 1
    settings.log_dir.unlink()
    settings.log_dir.mkdir()
    log = settings.log_dir / "worker-slot-0.log"
    log.write_text("an old log\n")
    monkeypatch.setattr(jobs, "LOG_BYTES", 10)
    jobs.sweep(store, settings)
    wait_until_over(store, run.id)
    assert log.with_suffix(".log.1").read_text() == "an old log\n"
    assert run.episodes[0].id in log.read_text()


def held(settings: Settings) -> Slot:
    slot = Slot.take(slot_paths(settings)[0])
    assert slot is not None
    return slot


def write(settings: Settings, record: SlotRecord) -> None:
    with held(settings) as slot:
        slot.write(record)
