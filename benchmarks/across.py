"""Statistics over many episodes, as the lab's "Policies" makes them: CPU time for 10,000 episodes.

Goals: 2 s for scores, rates and means with their intervals (1,000 resamples of the seeds), 3 s for a rank correlation.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from core.analysis.statistics import rank_correlation, summarise
from core.analysis.statistics.sample import Sample
from core.env.rules import ACHIEVEMENTS

EPISODES = 10_000
REPEATS = 3


def main() -> None:
    """Prints both medians."""
    draw = np.random.default_rng(0)
    sample = Sample(
        ACHIEVEMENTS,
        np.arange(EPISODES),
        draw.random((EPISODES, len(ACHIEVEMENTS))) < draw.random(len(ACHIEVEMENTS)),
        draw.normal(size=EPISODES),
        draw.normal(size=EPISODES),
        draw.integers(1, 1_000, EPISODES),
        draw.random(EPISODES) < 0.5,
    )
    returns = draw.normal(size=EPISODES)
    achievements = np.floor(returns + draw.normal(size=EPISODES) * 3)
    print(f"{EPISODES:,} episodes, each of a seed of its own")
    print(f"summarise:        median {median(lambda: summarise(sample)):.2f} s (goal 2 s)")
    correlate = median(lambda: rank_correlation(returns, achievements, np.arange(EPISODES)))
    print(f"rank correlation: median {correlate:.2f} s (goal 3 s)")


def median(call: Callable[[], object]) -> float:
    """Seconds of CPU time."""
    return statistics.median(cpu_s(call) for _ in range(REPEATS))


def cpu_s(call: Callable[[], object]) -> float:
    """Of one call."""
    started = time.process_time()
    call()
    return time.process_time() - started


if __name__ == "__main__":
    main()
