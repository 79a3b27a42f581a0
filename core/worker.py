"""One worker process: claims, plays and records queued episodes one at a time until none is left.

`core.jobs` starts workers; `python -m core.worker` starts one by hand. Its input is the environment (`core.settings`)
and the database.

- It holds a worker slot (`core.slots`) while it lives, and ends at once if no slot is free.
- A thread writes a heartbeat every 2 s, also during a model call, and sweeps after dead workers.
- SIGTERM and SIGINT end it after the current step: the episode becomes interrupted. A second signal kills it.
- An unexpected error interrupts the episode, and the next one is played. A store error (a full disk) ends the worker
  with code 1: committed decisions stay, and the next sweep interrupts the episode.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any, Self

from core.errors import CraftscopeError, StoreCorrupt, StoreError, StoreGone, StoreUnavailable, UnknownEpisode
from core.jobs import ensure_workers, interrupt_orphaned, sweep
from core.policies.llm import refused_fields
from core.rollout import Recorder, run_rollout
from core.settings import Settings, load_settings
from core.slots import Slot, SlotRecord, SlotState, free_slots, worker_name
from core.store import TraceStore
from core.types import Budget, Decision, EpisodeError, Outcome, QueuedEpisode, Spent, StateRecord, StopReason

HEARTBEAT_S = 2.0
STOP_POLL_S = 0.25  # the loop may check thousands of times a second; the database is read this often
QUEUE_POLL_S = 0.03  # of a worker that waits for more
NICENESS = 5  # the dashboard has priority

_log = logging.getLogger("core.worker")


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit codes: 0 done, 1 failed while working, 2 could not start."""
    parser = argparse.ArgumentParser(
        prog="python -m core.worker", description="Play queued episodes until none is left."
    )
    parser.add_argument("--slot", type=Path, help="the slot file that the starter holds for this worker")
    parser.add_argument("--slot-fd", type=int, help="the open file of that slot")
    options = parser.parse_args(arguments)
    _start_log()
    shutdown_requested = _listen_for_shutdown()
    os.nice(NICENESS)
    try:
        settings = load_settings()
        slot = Slot.adopt(options.slot_fd, options.slot) if options.slot else next(free_slots(settings), None)
    except CraftscopeError as error:
        _log.error("%s", error)
        return 2
    if slot is None:
        _log.info("All %d worker slots of %s are taken; nothing to do.", settings.max_workers, settings.data_dir)
        return 0
    with slot:
        code = _run_process(settings, slot, shutdown_requested)
    if code == 0 and not shutdown_requested.is_set():
        _recheck_queue(settings)
    return code


def play_queued_episodes(
    store: TraceStore, slot: Slot, heartbeat: Heartbeat, shutdown_requested: threading.Event, linger_s: float = 0.0
) -> int:
    """Play until the queue has been empty for `linger_s` or a shutdown is requested. Returns how many were played."""
    name = worker_name(os.getpid())
    played = 0
    while not shutdown_requested.is_set():
        claimed = store.queue.claim_next(worker=name)
        slot.write(SlotRecord(SlotState.WORKING, name, time.time(), claimed[1].id if claimed else ""))
        if claimed is None:
            if _is_more_coming(store, linger_s, shutdown_requested):
                continue
            break
        run_id, episode = claimed
        _play_episode(RolloutInProgress(store, slot, heartbeat, shutdown_requested, run_id), episode)
        heartbeat.episode_id = ""
        slot.write(SlotRecord(SlotState.WORKING, name, time.time()))
        played += 1
    return played


def _is_more_coming(store: TraceStore, linger_s: float, shutdown_requested: threading.Event) -> bool:
    """Waits for an episode: starting a worker takes a second, which is most of a short rollout."""
    until_s = time.monotonic() + linger_s
    while time.monotonic() < until_s and not shutdown_requested.wait(QUEUE_POLL_S):
        if not store.queue.is_empty():
            return True
    return False


class Heartbeat:
    """A thread that writes the current episode's heartbeat every 2 s and sweeps after dead workers."""

    def __init__(self, settings: Settings) -> None:
        self.episode_id = ""
        self._settings = settings
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(HEARTBEAT_S):
            try:
                with closing(TraceStore.from_settings(self._settings)) as store:
                    self._beat_until_over(store)
            except Exception as error:  # noqa: BLE001  without this thread a running episode would look dead
                _log_error(f"A heartbeat failed. Retrying in {HEARTBEAT_S:g} s:", error)

    def _beat_until_over(self, store: TraceStore) -> None:
        while True:
            try:
                if self.episode_id:
                    store.queue.heartbeat(self.episode_id)
                for episode_id in sweep(store, self._settings):
                    _log.warning("Interrupted episode %s: its worker is gone.", episode_id)
            except StoreGone as error:  # reopening would create an empty database
                _log_error("A heartbeat failed:", error)
            if self._over.wait(HEARTBEAT_S):
                return


class RolloutInProgress:
    """The claimed episode and the worlds after it: records them, and knows whether to stop."""

    _recorder: Recorder

    def __init__(
        self, store: TraceStore, slot: Slot, heartbeat: Heartbeat, shutdown_requested: threading.Event, run_id: str
    ) -> None:
        self.store = store
        self.run_id = run_id
        self.episode_id = ""
        self._budget = Budget(**store.runs.get(run_id).config.get("budget", {}))
        self._slot = slot
        self._heartbeat = heartbeat
        self._shutdown_requested = shutdown_requested
        self._stop_requested = False
        self._polled_s = 0.0

    def recorder_for(self, episode: QueuedEpisode) -> Recorder:
        """Called for the claimed episode, then for each further world, which is added to the run."""
        if self.episode_id:
            # A stop requested at the end of the previous world also applies to the next one.
            self._stop_requested |= self.store.episodes.get(self.episode_id).stop_requested
            self.store.runs.add_episode(self.run_id, episode, worker=worker_name(os.getpid()))
        self.episode_id = episode.id
        self._heartbeat.episode_id = episode.id
        self._slot.write(replace(self._slot.read(), episode_id=episode.id))
        self._recorder = self.store.recorder(episode.id)
        return self  # not `_recorder`: `finish` may turn a stop into an interruption

    def should_stop(self) -> bool:
        """True after a user's stop or a signal; reads the database every 0.25 s at most."""
        if self._shutdown_requested.is_set() or self._stop_requested:
            return True
        now_s = time.monotonic()
        if now_s - self._polled_s >= STOP_POLL_S:
            self._polled_s = now_s
            self._stop_requested = self.store.queue.stop_requested(self.episode_id)
        return self._stop_requested

    def budget_spent(self, more: Spent) -> bool:
        """Whether the run's model calls in all workers, plus `more` (not stored yet), reach its budget."""
        return not self._budget.is_open and self._budget.is_spent(self.store.runs.spent(self.run_id).plus(more))

    def start(self, started_at: datetime, initial: StateRecord) -> None:
        self._recorder.start(started_at, initial)

    def record(self, decision: Decision) -> None:
        self._recorder.record(decision)

    def finish(self, outcome: Outcome) -> None:
        """The loop reports ABORTED for every stop; without a user's request it is an interruption."""
        if outcome.stop_reason is StopReason.ABORTED and not self._stop_requested:
            detail = f"Its worker ({worker_name(os.getpid())}) was asked to shut down (SIGTERM) after its last step."
            outcome = Outcome(StopReason.INTERRUPTED, outcome.finished_at, EpisodeError("worker_ended", detail))
        self._recorder.finish(outcome)


def _play_episode(rollout: RolloutInProgress, episode: QueuedEpisode) -> None:
    """Play a claimed episode and the worlds after it.

    Raises StoreUnavailable and StoreCorrupt: nothing can be recorded. Any other error interrupts only this episode.
    """
    _log.info("Episode %s: seed %d, policy %s.", episode.id, episode.spec.seed, episode.spec.policy.name)
    try:
        if episode.spec.policy.name == "llm":
            _recall_refused_fields(rollout, episode.spec.policy.params)
        episodes = run_rollout(
            episode.spec,
            episode_id=episode.id,
            run_id=rollout.run_id,
            recorder_for=rollout.recorder_for,
            should_stop=rollout.should_stop,
            budget_spent=rollout.budget_spent,
        )
    except (StoreUnavailable, StoreCorrupt):
        raise
    except Exception as error:  # noqa: BLE001  process boundary: the queue continues
        _log_error(f"Episode {rollout.episode_id or episode.id} failed:", error)
        _interrupt(rollout.store, rollout.episode_id or episode.id, error)
    else:
        for played in episodes:
            _log.info("Episode %s ended: %s after %d steps.", played.id, played.stop_reason, played.length)


def _recall_refused_fields(rollout: RolloutInProgress, params: Mapping[str, Any]) -> None:
    """Leaves out what the model's server refused in another episode of the run, which another worker may have played:
    each refusal costs a request. Raises InvalidConfig, StoreUnavailable."""
    refused = refused_fields(params["base_url"], params["model"])
    for episode in () if refused.all else rollout.store.runs.episodes(rollout.run_id).rows:
        try:
            newest = rollout.store.episodes.next_exchange(episode.id, after=episode.n_decisions - 2)
        except (StoreCorrupt, UnknownEpisode):
            continue
        if newest and newest.model_call:
            return refused.add(newest.model_call.left_out)


def _interrupt(store: TraceStore, episode_id: str, error: Exception) -> None:
    """The episode may be deleted or ended already, for instance if the machine slept and was taken for dead."""
    detail = f"The worker failed: {type(error).__name__}: {error} See its log."
    try:
        store.queue.interrupt(episode_id, detail)
    except UnknownEpisode as gone:
        _log.info("%s", gone)


def _run_process(settings: Settings, slot: Slot, shutdown_requested: threading.Event) -> int:
    began = False
    try:
        with closing(TraceStore.from_settings(settings)) as store:
            began = True
            interrupt_orphaned(store, slot)
            sweep(store)
            return _run_with_store(store, settings, slot, shutdown_requested)
    except Exception as error:  # noqa: BLE001  process boundary
        _log_error("The worker ends:", error)
        _leave_reason(slot, f"{error}")
        return 1 if began or not isinstance(error, CraftscopeError) else 2


def _run_with_store(store: TraceStore, settings: Settings, slot: Slot, shutdown_requested: threading.Event) -> int:
    try:
        with Heartbeat(settings) as heartbeat:
            played = play_queued_episodes(store, slot, heartbeat, shutdown_requested, settings.worker_linger_s)
    except StoreError as error:
        _log_error("The worker ends because recording failed:", error)
        _leave_reason(slot, f"Recording failed: {error}")
        try:
            interrupt_orphaned(store, slot)
        except StoreError as again:
            _log.error("Its episode could not be interrupted (%s) The next sweep will do it.", again)
        return 1
    _log.info("Done after %d episodes%s.", played, ", shutdown requested" if shutdown_requested.is_set() else "")
    slot.write(SlotRecord())
    return 0


def _log_error(what: str, error: Exception) -> None:
    """Errors of our own are sentences; unexpected ones get a traceback."""
    _log.error("%s %s", what, error, exc_info=None if isinstance(error, CraftscopeError) else error)


def _leave_reason(slot: Slot, detail: str) -> None:
    """The next sweep reads the reason from the slot, even if the store could not be written."""
    record = slot.read()
    slot.write(SlotRecord(SlotState.FAILED, worker_name(os.getpid()), time.time(), record.episode_id, detail))


def _recheck_queue(settings: Settings) -> None:
    """Otherwise a launch that found this slot taken just before its release would wait forever."""
    try:
        with closing(TraceStore.from_settings(settings)) as store:
            ensure_workers(store, settings)
    except CraftscopeError as error:
        _log.error("%s", error)


def _listen_for_shutdown() -> threading.Event:
    shutdown_requested = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        shutdown_requested.set()
        signal.signal(number, signal.SIG_DFL)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    return shutdown_requested


def _start_log() -> None:
    logging.getLogger("alembic").setLevel(logging.WARNING)
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)sZ {os.getpid()} %(levelname)s %(message)s")
    for handler in logging.getLogger().handlers:
        if handler.formatter is not None:
            handler.formatter.converter = time.gmtime


if __name__ == "__main__":
    sys.exit(main())
