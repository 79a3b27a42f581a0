"""Runs that end soon, runs that never end, and ways to wait for them."""

from __future__ import annotations

import os
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from core.rollout import run_rollout
from core.settings import Settings
from core.slots import Slot, free_slots, known_slot_paths, read_record
from core.store import EpisodeSummary, TraceStore
from core.types import EnvConfig, EpisodeSpec, Limits, OnDone, PolicySpec, QueuedEpisode, Run
from core.worker import Heartbeat, play_queued_episodes

PATIENCE_S = 60.0
FOREVER = Limits(max_steps=10**8, max_decisions=10**8, max_ops=10**9, max_time_s=10**6)
SMALL_WORLD = EnvConfig(area=(24, 24))  # quickly made
MEDIUM_WORLD = EnvConfig(area=(32, 32))  # quickly made, with enough in it to live on
LIVES_LONG = (4, 5)  # seeds whose medium world the script outlives 2,500 steps in

Found = TypeVar("Found")


def short(seed: int = 42, policy: str = "random", steps: int = 12) -> EpisodeSpec:
    limits = Limits(max_steps=steps, max_decisions=steps)
    return EpisodeSpec(seed, PolicySpec(policy), policy_seed=seed, env=SMALL_WORLD, limits=limits)


def endless(seed: int = LIVES_LONG[0]) -> EpisodeSpec:
    """An episode that never ends by itself: after a death it continues in the seed's next world."""
    return EpisodeSpec(
        seed, PolicySpec("scripted"), policy_seed=seed, env=MEDIUM_WORLD, limits=FOREVER, on_done=OnDone.RESET
    )


def run_of(*specs: EpisodeSpec) -> Run:
    episodes = tuple(QueuedEpisode(uuid.uuid4().hex, spec, index) for index, spec in enumerate(specs))
    return Run(uuid.uuid4().hex, datetime.now(UTC), episodes)


def play_queue(store: TraceStore, settings: Settings) -> int:
    """Play the queued episodes as a worker does, in this process. Returns how many were played."""
    with next(free_slots(settings)) as slot:
        return play_queued_episodes(store, slot, Heartbeat(settings), threading.Event())


def record_queue(store: TraceStore) -> None:
    """Play and record the queued episodes without a worker."""
    while claimed := store.queue.claim_next(worker="tests"):
        run_id, queued = claimed
        run_rollout(
            queued.spec, episode_id=queued.id, run_id=run_id, recorder_for=lambda entry: store.recorder(entry.id)
        )


def wait_for(what: str, look: Callable[[], Found | None]) -> Found:
    """What `look` finds, as soon as it finds something. Fails after `PATIENCE_S`."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.02)
    raise AssertionError(f"Waited {PATIENCE_S:g} s for {what}.")


def wait_until_over(store: TraceStore, run_id: str) -> tuple[EpisodeSummary, ...]:
    """The run's episodes, once all of them are over."""

    def over() -> tuple[EpisodeSummary, ...] | None:
        episodes = store.runs.episodes(run_id).rows
        return episodes if all(episode.status.is_over for episode in episodes) else None

    return wait_for("the run's end", over)


def wait_until_moving(store: TraceStore, episode_id: str) -> EpisodeSummary:
    """The episode, once some of its decisions are stored."""

    def moving() -> EpisodeSummary | None:
        episode = store.episodes.get(episode_id)
        return episode if episode.n_decisions >= 3 else None

    return wait_for("the first decisions", moving)


def process_on(settings: Settings, episode_id: str) -> int:
    """The process that plays an episode."""

    def process() -> int | None:
        records = map(read_record, known_slot_paths(settings))
        return next((int(r.worker.split()[1]) for r in records if r.episode_id == episode_id), None)

    return wait_for("a worker on that episode", process)


def none_left(process_ids: Iterable[int]) -> bool:
    """Whether all of these processes are gone, as zombies too."""
    for process_id in process_ids:
        try:
            os.kill(process_id, 0)
        except ProcessLookupError:
            continue
        return False
    return True


def is_free(slot_path: Path) -> bool:
    slot = Slot.take(slot_path)
    if slot is not None:
        slot.close()
    return slot is not None


def kill_workers(settings: Settings) -> None:
    """Kill the workers of a data folder, which would otherwise run beside the tests that follow."""
    for path in known_slot_paths(settings):
        while not is_free(path):
            worker = read_record(path).worker
            if worker:  # empty until a worker has started
                with suppress(ProcessLookupError):
                    os.kill(int(worker.split()[1]), signal.SIGKILL)
            time.sleep(0.05)
