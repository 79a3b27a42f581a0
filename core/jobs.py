"""Launch, follow and stop episodes that run in worker processes (`python -m core.worker`).

All state is in the database: a launch writes its episodes as queued, workers claim them one at a time until none is
left, and stopping is a flag that a worker looks at between steps. A worker stands in a session of its own, so it
outlives whoever started it, and needs no dashboard.

How many work at once is decided by worker slots, file locks in the data folder that the starter takes and hands on
(see `core.slots`); `settings.max_workers` counts for all dashboards and workers on that folder together.

How a dead worker is noticed: its slot is free although the slot's record names an episode (at once, by whoever sweeps
on that machine), or the episode's heartbeat is older than 15 s (by anyone on that database). Dashboards sweep while
they are open, workers sweep with every heartbeat, and both start workers for what is still queued.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from pathlib import Path

from core.errors import JobError, UnknownEpisode
from core.settings import Settings, worker_environment
from core.slots import (
    Slot,
    SlotRecord,
    SlotState,
    free_slots,
    is_resting,
    known_slot_paths,
    read_record,
    slot_paths,
    worker_name,
)
from core.store import EpisodeFilter, TraceStore
from core.types import EpisodeStatus, Run

STALE_S = 15.0
LOG_BYTES = 1_000_000  # a worker log longer than this is put aside when the next worker of its slot starts

_log = logging.getLogger(__name__)


def launch(store: TraceStore, settings: Settings, run: Run) -> str:
    """Store the run with its episodes as queued, start workers, give back the run's id.

    Raises DuplicateId and other StoreErrors; nothing is stored then. Raises JobError where no worker could be started:
    the run is stored then and its episodes wait, until a worker can be.
    """
    store.runs.create(run)
    ensure_workers(store, settings)
    return run.id


def stop(store: TraceStore, *, episode_id: str | None = None, run_id: str | None = None) -> int:
    """Ask one episode, or all of a run, to stop; gives back how many were asked.

    Queued ones are aborted at once, running ones end as aborted after the step they are at.
    """
    return store.queue.request_stop(episode_id=episode_id, run_id=run_id)


def sweep(store: TraceStore, settings: Settings | None = None) -> tuple[str, ...]:
    """End the episodes whose worker is gone as interrupted, with the reason; gives back their ids.

    With settings, deaths on this machine are noticed at once, and workers are started for what is still queued.
    Without, only heartbeats are looked at and nothing is started. A read-only store is left as it is. Raises
    StoreError, and JobError with settings.
    """
    if store.read_only:
        return ()
    gone = list(_interrupt_of_dead_workers(store, settings)) if settings is not None else []
    stale = store.queue.interrupt_stale(older_than_s=STALE_S)
    if settings is not None:
        _fill_slots(store, settings, gone)
    return (*gone, *stale)


def ensure_workers(store: TraceStore, settings: Settings) -> int:
    """Start workers until every queued episode has one to wait for or no slot is free; gives back how many.

    Raises JobError where a worker cannot be started, with what to do.
    """
    return _fill_slots(store, settings, [])


def _fill_slots(store: TraceStore, settings: Settings, gone: list[str]) -> int:
    """`ensure_workers`; adds to `gone` the episodes of workers whose death shows only when their slot is taken."""
    needed = _queued(store, settings.max_workers) - _starting(settings)
    if needed <= 0:
        return 0
    started = 0
    for slot in free_slots(settings):
        with slot:
            gone.extend(interrupt_orphaned(store, slot))
            if not is_resting(slot.read()):
                _start_worker(settings, slot)
                started += 1
        if started == needed:
            break
    return started


def troubles(settings: Settings) -> tuple[str, ...]:
    """Sentences on workers that broke and have not been followed by one that works; for the page that waits."""
    return tuple(filter(None, (_trouble(settings, path) for path in slot_paths(settings))))


def _trouble(settings: Settings, path: Path) -> str:
    record = read_record(path)
    if record.state is SlotState.FAILED:
        return f"A worker ({record.worker}) broke: {record.detail} Its log is {_log_path(settings, path)}."
    if record.state is SlotState.STARTING:
        slot = Slot.take(path)
        if slot is not None:
            slot.close()
            return f"A worker ended before it began to work. Its log is {_log_path(settings, path)}."
    return ""


def _queued(store: TraceStore, limit: int) -> int:
    """How many wait, up to a limit. Corrupt ones count too: a worker ends them, so that they do not wait for ever."""
    page = store.episodes.page(EpisodeFilter(statuses=(EpisodeStatus.QUEUED,)), limit=limit)
    return len(page.rows) + len(page.unreadable)


def _starting(settings: Settings) -> int:
    """Workers on their way. Each will claim an episode, or look at the queue once more after it left its slot."""
    records = [read_record(path) for path in slot_paths(settings)]
    return sum(record.state is SlotState.STARTING and is_resting(record) for record in records)


def _interrupt_of_dead_workers(store: TraceStore, settings: Settings) -> tuple[str, ...]:
    interrupted: list[str] = []
    for path in known_slot_paths(settings):
        # Only slots that name an episode are taken: a probe must not stand in the way of a start.
        slot = Slot.take(path) if read_record(path).episode_id else None
        if slot is not None:
            with slot:
                interrupted.extend(interrupt_orphaned(store, slot))
    return tuple(interrupted)


def interrupt_orphaned(store: TraceStore, slot: Slot) -> tuple[str, ...]:
    """End the episode that the last worker of a slot left behind. Holding the slot proves that worker dead."""
    record = slot.read()
    if not record.episode_id:
        return ()
    reason = record.detail or (f"The worker process ({record.worker}) died unexpectedly. What it had recorded is kept.")
    try:
        interrupted = store.queue.interrupt(record.episode_id, reason)
    except UnknownEpisode:  # deleted since, or of another database
        interrupted = False
    state = SlotState.FAILED if record.state is SlotState.FAILED else SlotState.FREE
    slot.write(SlotRecord(state, record.worker, record.at, detail=record.detail))
    return (record.episode_id,) if interrupted else ()


def _start_worker(settings: Settings, slot: Slot) -> None:
    slot.write(SlotRecord(SlotState.STARTING, at=time.time()))
    environment = worker_environment(settings)
    # -P and PYTHONPATH find this very program and keep the current folder, which relative database URLs refer to.
    program = str(Path(__file__).resolve().parent.parent)
    environment["PYTHONPATH"] = ":".join(filter(None, (program, environment.get("PYTHONPATH"))))
    command = [sys.executable, "-P", "-m", "core.worker", "--slot", str(slot.path), "--slot-fd", str(slot.descriptor)]
    log_path = _log_path(settings, slot.path)
    try:
        _put_long_log_aside(log_path)
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
            f"No worker could be started ({error.strerror or error}); what was launched stays queued. "
            f"Look at {log_path.parent} and at the machine's memory and disk, then open the run again."
        ) from error
    # A child that nobody waits for would stay as a zombie as long as the dashboard runs.
    threading.Thread(target=_reap, args=(process,), name=f"reap-{process.pid}", daemon=True).start()


def _reap(process: subprocess.Popen[bytes]) -> None:
    code = process.wait()
    if code != 0:
        _log.warning("The worker %s ended with code %d.", worker_name(process.pid), code)


def _log_path(settings: Settings, slot_path: Path) -> Path:
    return settings.log_dir / f"worker-{slot_path.stem}.log"


def _put_long_log_aside(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > LOG_BYTES:
        path.replace(path.with_suffix(".log.1"))
