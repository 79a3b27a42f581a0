"""The store: how fast it records, lists and opens. Medians of this run, on a SQLite file in a temporary folder."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from core.rollout import NoRecorder, run_rollout
from core.store import EpisodeFilter, TraceStore
from core.types import Episode, EpisodeSpec, Limits, PolicySpec, QueuedEpisode, RewardConfig, Run

SPEC = EpisodeSpec(
    seed=42,
    policy=PolicySpec("scripted"),
    policy_seed=1,
    reward=RewardConfig(strategy="per_achievement"),
    limits=Limits(max_steps=500, max_decisions=500),
)


def record(store: TraceStore, episode: Episode, run_id: str, episode_id: str) -> list[float]:
    """Store a finished episode as a worker would; milliseconds of each decision."""
    store.runs.create(Run(run_id, datetime.now(UTC), (QueuedEpisode(episode_id, episode.spec),)))
    store.queue.claim_next(worker="benchmark")
    recorder = store.recorder(episode_id)
    assert episode.initial is not None and episode.outcome is not None
    recorder.start(episode.started_at, episode.initial)
    taken = [timed(lambda decision=decision: recorder.record(decision)) for decision in episode.decisions]
    recorder.finish(episode.outcome)
    return taken


def timed(call: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000


def main() -> None:
    """Record `--episodes` copies of one scripted episode, then list and open."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=20)
    count = parser.parse_args().episodes
    (episode,) = run_rollout(SPEC, episode_id="source", run_id="source", recorder_for=lambda queued: NoRecorder())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.db"
        with TraceStore(f"sqlite:///{path}") as store:
            taken: list[float] = []
            for index in range(count):
                spec = replace(episode.spec, seed=index)
                taken += record(store, replace(episode, spec=spec), f"run{index}", f"episode{index}")
            median = statistics.median(taken)
            print(f"record a decision:  median {median:.2f} ms ({len(taken)} decisions, each committed)")
            print(f"decisions a second: {len(taken) / sum(taken) * 1000:.0f} (one writer)")
            print(f"held by:            {store.backend}")
            listed = [timed(lambda: store.episodes.page(EpisodeFilter(), limit=50)) for _ in range(20)]
            print(f"list page of 50:    median {statistics.median(listed):.2f} ms ({count} episodes)")
            filtered = EpisodeFilter(policies=("scripted",), achievements=("collect_wood",))
            listed = [timed(lambda: store.episodes.page(filtered, limit=50)) for _ in range(20)]
            print(f"filtered page:      median {statistics.median(listed):.2f} ms")
            opened = [timed(lambda: store.episodes.decisions("episode0")) for _ in range(20)]
            print(f"open an episode:    median {statistics.median(opened):.2f} ms ({len(episode.decisions)} decisions)")
            scenes = [timed(lambda: store.episodes.packed_scenes("episode0")) for _ in range(20)]
            print(f"its scenes:         median {statistics.median(scenes):.2f} ms ({episode.length + 1} frames)")
            whole = [timed(lambda: store.episodes.load("episode0")) for _ in range(5)]
            print(f"load it whole:      median {statistics.median(whole):.2f} ms")
        print(f"on disk:            {path.stat().st_size / len(taken):.0f} bytes a decision")


if __name__ == "__main__":
    main()
