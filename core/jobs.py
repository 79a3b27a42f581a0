"""Launches and follows episodes in worker processes (`python -m core.worker`).

All state is in the database: a launch writes its episodes as queued, workers claim them one at a time until none is
left, and stopping is a flag (`store.queue.request_stop`) that workers check between steps. A worker has its own
session, so it survives the process that started it, and needs no dashboard. `core.slots` limits the number of workers
per data folder.

A dead worker is noticed when its slot is free although the slot's record names an episode (at once, on the same
machine), or when its heartbeat is older than 15 s (anywhere). Open dashboards and workers check this regularly
(`sweep`) and start workers for queued episodes.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from core.errors import JobError, UnknownEpisode
from core.settings import Settings, worker_environment
from core.slots import (
    Slot,
    SlotRecord,
    SlotState,
    free_slots,
    is_paused,
    known_slot_paths,
    process_of,
    read_record,
    slot_paths,
    worker_name,
)
from core.store import EpisodeFilter, TraceStore
from core.text import quoted
from core.types import EpisodeStatus, Run

STALE_S = 15.0
SWEEP_S = 2.0
FIRST_POLL_S = 0.01  # of `wait_until_over`; most rollouts of a trainer are short
LONGEST_POLL_S = 0.25
LOG_BYTES = 1_000_000  # a longer log is renamed when the next worker of its slot starts

_log = logging.getLogger(__name__)


def launch(store: TraceStore, settings: Settings, run: Run, *more: Run) -> str:
    """Store runs with queued episodes and start workers. Returns the id of the first.

    Raises StoreError (nothing is stored of the run that failed), and JobError if no worker could be started (the runs
    stay queued).
    """
    for each in (run, *more):
        store.runs.create(each)
    ensure_workers(store, settings)
    return run.id


def sweep(store: TraceStore, settings: Settings | None = None) -> tuple[str, ...]:
    """Interrupt the episodes of dead workers. Returns their ids.

    With settings: also checks the slots of this machine and starts workers for queued episodes. Without: checks
    heartbeats only. Does nothing on a read-only store. Raises StoreError, and JobError with settings.
    """
    if store.read_only:
        return ()
    interrupted = _interrupt_dead_workers(store, settings) if settings is not None else []
    interrupted += store.queue.interrupt_stale(older_than_s=STALE_S)
    if settings is not None:
        interrupted += _fill_slots(store, settings)[1]
    return tuple(interrupted)


def ensure_workers(store: TraceStore, settings: Settings) -> int:
    """Start a worker for each queued episode while slots are free. Returns how many were started. Raises JobError."""
    return _fill_slots(store, settings)[0]


def wait_until_over(
    store: TraceStore, settings: Settings, run_id: str, *, gives_up: Callable[[], bool] = lambda: False
) -> None:
    """Wait until all episodes of a run are over, and start workers for those whose worker died.

    Raises StoreError, and JobError if no worker can be started or once `gives_up` is true.
    """
    pause_s, swept_s = FIRST_POLL_S, time.monotonic()
    while not store.runs.get(run_id).status.is_over:
        if gives_up():
            raise JobError(f"The service is shutting down. A worker still plays the run {quoted(run_id)}.")
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, LONGEST_POLL_S)
        if time.monotonic() - swept_s >= SWEEP_S:
            sweep(store, settings)
            swept_s = time.monotonic()


def end_for_shutdown(store: TraceStore, settings: Settings, run_id: str, asked: set[int]) -> None:
    """Interrupt what is left of a run: queued episodes at once, running ones of this machine after their step.

    To be called until the run is over, because a worker may be between two episodes. asked: the processes of workers
    that were asked to end; a second signal would kill them.
    """
    store.queue.interrupt_queued(run_id, "The service was shut down before this episode started.")
    running = {episode.id for episode in store.runs.episodes(run_id).rows if not episode.status.is_over}
    for path in known_slot_paths(settings):
        record = read_record(path)
        process_id = process_of(record.worker)
        if record.episode_id in running and process_id is not None and process_id not in asked:
            asked.add(process_id)
            with suppress(ProcessLookupError):
                os.kill(process_id, signal.SIGTERM)


def _fill_slots(store: TraceStore, settings: Settings) -> tuple[int, list[str]]:
    """Starts workers. Returns how many, and the ids of the orphaned episodes in the slots that it took."""
    needed = _queued(store, settings.max_workers) - _starting(settings)
    started, interrupted_ids = 0, list[str]()
    if needed <= 0:
        return started, interrupted_ids
    for slot in free_slots(settings):
        with slot:
            interrupted_ids += interrupt_orphaned(store, slot)
            if not is_paused(slot.read()):
                _start_worker(settings, slot)
                started += 1
        if started == needed:
            break
    return started, interrupted_ids


def worker_problems(settings: Settings) -> tuple[str, ...]:
    """Messages about slots whose last worker failed, for pages that wait for a worker."""
    return tuple(filter(None, (_problem(settings, path) for path in slot_paths(settings))))


def _problem(settings: Settings, path: Path) -> str:
    record = read_record(path)
    if record.state is SlotState.FAILED:
        return f"A worker ({record.worker}) failed: {record.detail} See its log: {_log_path(settings, path)}."
    if record.state is SlotState.STARTING:
        slot = Slot.take(path)
        if slot is not None:
            slot.close()
            return f"A worker ended before it started work. See its log: {_log_path(settings, path)}."
    return ""


def _queued(store: TraceStore, limit: int) -> int:
    """The number of queued episodes, up to `limit`. Corrupt ones count: a worker must end them."""
    page = store.episodes.page(EpisodeFilter(statuses=(EpisodeStatus.QUEUED,)), limit=limit)
    return len(page.rows) + len(page.unreadable)


def _starting(settings: Settings) -> int:
    """The number of workers that have not claimed an episode yet."""
    records = [read_record(path) for path in slot_paths(settings)]
    return sum(record.state is SlotState.STARTING and is_paused(record) for record in records)


def _interrupt_dead_workers(store: TraceStore, settings: Settings) -> list[str]:
    interrupted: list[str] = []
    for path in known_slot_paths(settings):
        # Take only slots that name an episode: a probe must not block a start.
        slot = Slot.take(path) if read_record(path).episode_id else None
        if slot is not None:
            with slot:
                interrupted.extend(interrupt_orphaned(store, slot))
    return interrupted


def interrupt_orphaned(store: TraceStore, slot: Slot) -> tuple[str, ...]:
    """Interrupt the episode of the slot's last worker, which is dead because we hold its slot."""
    record = slot.read()
    if not record.episode_id:
        return ()
    reason = record.detail or f"The worker process ({record.worker}) died unexpectedly. Recorded decisions are kept."
    try:
        interrupted = store.queue.interrupt(record.episode_id, reason)
    except UnknownEpisode:  # deleted, or of another database
        interrupted = False
    state = SlotState.FAILED if record.state is SlotState.FAILED else SlotState.FREE
    slot.write(SlotRecord(state, record.worker, record.at, detail=record.detail))
    return (record.episode_id,) if interrupted else ()


def _start_worker(settings: Settings, slot: Slot) -> None:
    slot.write(SlotRecord(SlotState.STARTING, at=time.time()))
    environment = worker_environment(settings)
    # -P and PYTHONPATH find this program and keep the current folder, which relative database URLs refer to.
    program = str(Path(__file__).resolve().parent.parent)
    environment["PYTHONPATH"] = ":".join(filter(None, (program, environment.get("PYTHONPATH"))))
    command = [sys.executable, "-P", "-m", "core.worker", "--slot", str(slot.path), "--slot-fd", str(slot.descriptor)]
    log_path = _log_path(settings, slot.path)
    try:
        log_path.parent.mkdir(parents=True, exist_ok=True)
        if log_path.exists() and log_path.stat().st_size > LOG_BYTES:
            log_path.replace(log_path.with_suffix(".log.1"))
        with log_path.open("ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
                pass_fds=(slot.descriptor,),
            )
    except OSError as error:
        slot.write(SlotRecord())
        raise JobError(
            f"Could not start a worker ({error.strerror or error}). The run stays queued. Check {log_path.parent}, "
            "memory and disk, then reopen the run."
        ) from error
    # A child that is not waited for stays a zombie while the dashboard runs.
    threading.Thread(target=_reap, args=(process,), name=f"reap-{process.pid}", daemon=True).start()


def _reap(process: subprocess.Popen[bytes]) -> None:
    code = process.wait()
    if code != 0:
        _log.warning("The worker %s ended with code %d.", worker_name(process.pid), code)


def _log_path(settings: Settings, slot_path: Path) -> Path:
    return settings.log_dir / f"worker-{slot_path.stem}.log"
