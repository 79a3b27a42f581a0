"""Re-scoring: a million stored decisions loaded and scored anew. Medians of this run.

Real episodes are played and recorded; their rows and packs are then copied under new ids until the store holds as many
decisions as asked for, because playing a million would take an hour. What is read and computed is the same.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from sqlalchemy import insert, select

from benchmarks.store import SPEC, record, timed
from core.analysis.rescore import RewardFactsCache, StoredFacts, breakdowns, compare, score
from core.rewards import STRATEGIES
from core.rollout import NoRecorder, run_rollout
from core.store import TraceStore
from core.store.tables import episode_packs, episodes
from core.types import Limits, RewardConfig

PLAYED = 5
REPEATS = 25


def main() -> None:
    """Measure with long and with short episodes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=1_000_000)
    wanted = parser.parse_args().decisions
    for length in (1_000, 100):
        with tempfile.TemporaryDirectory() as folder, TraceStore(f"sqlite:///{Path(folder) / 'bench.db'}") as store:
            fill(store, wanted, length)
            measure(store, length)


def fill(store: TraceStore, wanted: int, length: int) -> None:
    """Record real episodes of about `length` decisions and copy them until `wanted` decisions are stored."""
    limits = Limits(max_steps=length, max_decisions=length)
    for seed in range(PLAYED):
        spec = replace(SPEC, seed=seed, limits=limits)
        (episode,) = run_rollout(spec, episode_id="source", run_id="source", recorder_for=lambda queued: NoRecorder())
        record(store, episode, f"run{seed}", f"episode{seed}")
    with store._database.writing() as connection:
        rows = connection.execute(select(episodes)).mappings().all()
        packs = {row.episode_id: row.blob for row in connection.execute(select(episode_packs))}
        stored, copies = sum(row["n_decisions"] for row in rows), 0
        while stored < wanted:
            row = rows[copies % len(rows)]
            copy = {**row, "uuid": f"copy{copies}", "group_index": copies + 1}
            del copy["id"]
            key = connection.execute(insert(episodes).values(copy).returning(episodes.c.id)).scalar_one()
            connection.execute(insert(episode_packs).values(episode_id=key, blob=packs[row["id"]]))
            stored, copies = stored + row["n_decisions"], copies + 1


def measure(store: TraceStore, length: int) -> None:
    """Load once, then score under weights that change each time."""
    cache = RewardFactsCache(store.rewards)
    loading = timed(cache.refresh)
    stored = cache.refresh()
    columns = stored.columns
    print(f"\n{columns.n_decisions:,} decisions in {columns.n_episodes:,} episodes of up to {length:,}")
    print(f"load:                     {loading / 1000:.2f} s (goal 2 s)")
    print(f"refresh without new data: median {median(cache.refresh):.1f} ms")
    draw = np.random.default_rng(1)

    def new_weights() -> None:
        weights = {name: float(draw.random()) for name in ("collect_wood", "place_table", "eat_cow")}
        limits = {name: int(draw.integers(0, 4)) for name in weights}
        score(columns, RewardConfig("per_achievement", weights=weights, k_limits=limits))

    print(f"new weights and limits:   median {median(new_weights):.1f} ms (goal 20 ms)")
    for name in STRATEGIES:
        taken = median(lambda name=name: score(columns, RewardConfig(name)))
        print(f"strategy {name + ':':<17}median {taken:.1f} ms")
    other = score(columns, RewardConfig("per_achievement", inventory_weights={"drink": 0.0}))
    played = columns.sums(columns.logged)
    started = time.perf_counter()
    comparison = compare(stored.episodes, played, other.returns)
    taken = (time.perf_counter() - started) * 1000
    print(f"compare two scorings:     {taken:.0f} ms ({comparison.swaps.n_pairs:,} pairs of the same world)")
    print_slow_path(stored)


def print_slow_path(stored: StoredFacts) -> None:
    """What the same costs decision by decision, on one episode, as a ratio."""
    few = stored.only([stored.episodes[0].id])
    config = RewardConfig("per_achievement")
    fast = median(lambda: score(few.columns, config))
    started = time.perf_counter()
    slow = np.array([part.total for part in breakdowns(few.columns, 0, config)])
    ratio = (time.perf_counter() - started) * 1000 / fast
    difference = float(np.max(np.abs(slow - score(few.columns, config).rewards)))
    print(f"one by one, one episode:  {ratio:.0f}x the time; largest difference {difference:.1e}")


def median(call: Callable[[], object]) -> float:
    """Milliseconds."""
    return statistics.median(timed(call) for _ in range(REPEATS))


if __name__ == "__main__":
    main()
