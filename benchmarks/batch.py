"""Batches: the time of an episode with one and with two local worker processes, and on Ray where it is installed.

Time from the first to the last episode that is over, so that starting processes is left out. Goals: two cores give at
least 1.8 times one, Ray adds less than 10 ms an episode to local processes. Figures of this run.
"""

from __future__ import annotations

import importlib.util
import tempfile
import time
from pathlib import Path

from core.batch import BatchPlan, PolicyEntry, Processes, play_batch, runs_of
from core.ray_tasks import RayTasks
from core.settings import Settings
from core.store import TraceStore
from core.store.database import sqlite_url
from tests.support.launches import kill_workers

EPISODES = 40
STEPS = 200


def main() -> None:
    one, two = (local(workers) for workers in (1, 2))
    print(f"local processes: {one:.0f} ms an episode with one worker, {two:.0f} ms with two")
    print(f"two workers are {one / two:.2f} times as fast as one (goal: 1.8)")
    if importlib.util.find_spec("ray") is None:
        print("Ray is not installed: pip install -r requirements-ray.txt")
        return
    on_ray = ray(2)
    print(f"Ray, two workers: {on_ray:.0f} ms an episode, {on_ray - two:+.0f} ms (goal: less than +10)")


def local(workers: int) -> float:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        settings = Settings(data_dir=Path(folder), db_url=None, max_workers=workers)
        with TraceStore(sqlite_url(settings.data_dir)) as store:
            found = played(store, Processes(store, settings))
        kill_workers(settings)
        return found


def ray(workers: int) -> float:
    with tempfile.TemporaryDirectory() as folder, TraceStore(sqlite_url(Path(folder))) as store:
        return played(store, RayTasks(store, workers=workers))


def played(store: TraceStore, backend: Processes | RayTasks) -> float:
    """Milliseconds an episode."""
    plan = BatchPlan(
        name="benchmark",
        policies=[PolicyEntry("farmer")],
        seeds=f"0-{EPISODES - 1}",
        limits={"max_steps": STEPS, "max_decisions": STEPS},
    )
    first = last = (0, 0.0)
    for progress in play_batch(store, runs_of(plan, {}), backend):
        last = (progress.done, time.perf_counter())
        if not first[0]:
            first = last
    return (last[1] - first[1]) * 1000 / (last[0] - first[0])


if __name__ == "__main__":
    main()
