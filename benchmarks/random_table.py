"""Does a random policy achieve what it is published to achieve? `python -m benchmarks.random_table --episodes 1000`

Uniform actions, length 10,000, no caps: the setting of the random runs that Crafter's author published. For each
achievement it prints the share of episodes that unlocked it, here and there, with a pooled two-proportion z, or
Fisher's exact test where a count is below 5. A wrong engine shows as |z| of 3 or more, or p of 0.003 or less; the exit
code is then 1.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import math
import os
import statistics
import sys
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.stats import fisher_exact

from core.data import published_scores
from core.env import CrafterEnv
from core.env.rules import ACHIEVEMENTS, ACTIONS

PUBLISHED = "Random policy (crafter repo)"
LIMIT_Z = 3.0
LIMIT_P = 0.003
FEW = 5  # counts below this are too few for a z
FEWEST_EPISODES = 50
AT_ONCE = 25  # episodes that a process plays before it reports


@dataclass(frozen=True, slots=True)
class Played:
    """One episode."""

    unlocked: frozenset[str]
    steps: int


def main() -> int:
    """Play, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=1_000, help="the first worlds of the seeds from 0")
    episodes = parser.parse_args().episodes
    if episodes < FEWEST_EPISODES:
        parser.error(f"{episodes} episodes say nothing; give {FEWEST_EPISODES} or more")
    batches = [range(first, min(first + AT_ONCE, episodes)) for first in range(0, episodes, AT_ONCE)]
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as processes:
        played = [one for batch in processes.map(play, batches) for one in batch]
    return print_table(played)


def play(seeds: Iterable[int]) -> list[Played]:
    """The first world of each seed, to its end."""
    env = CrafterEnv(observe=False)
    played: list[Played] = []
    for seed in seeds:
        _, info = env.reset(seed=seed)
        actions = np.random.RandomState(seed)
        steps, is_over = 0, False
        while not is_over:
            _, _, terminated, truncated, info = env.step(int(actions.randint(len(ACTIONS))))
            steps, is_over = steps + 1, terminated or truncated
        played.append(Played(frozenset(name for name, count in info["achievements"].items() if count), steps))
    return played


def print_table(played: list[Played]) -> int:
    """One row an achievement; the number of those that differ too much is the exit code, at most 1."""
    published = published_scores()[PUBLISHED]
    there = published["episodes"]
    print(f"{'achievement':22}{'here':>9}{'published':>11}   test ({len(played):,} and {there:,} episodes)")
    differing = 0
    for name in ACHIEVEMENTS:
        ours, theirs = sum(name in one.unlocked for one in played), round(published["success"][name] * there)
        verdict, fits = compare(ours, len(played), theirs, there)
        differing += not fits
        print(f"{name:22}{ours / len(played):9.2%}{theirs / there:11.2%}   {verdict}{'' if fits else '   differs'}")
    score = math.exp(statistics.mean(_log_success(played, name) for name in ACHIEVEMENTS)) - 1
    print(
        f"{'mean length':22}{statistics.mean(one.steps for one in played):9.1f}{published['mean_steps']:11.1f}   steps"
    )
    print(f"{'Crafter score':22}{score:9.2f}{published['crafter_score_pct']:11.2f}   %")
    print("every achievement fits" if not differing else f"{differing} of {len(ACHIEVEMENTS)} achievements differ")
    return min(differing, 1)


def compare(ours: int, here: int, theirs: int, there: int) -> tuple[str, bool]:
    """What the test says of `ours` of `here` episodes beside `theirs` of `there`, and whether both may be one rate."""
    if min(ours, theirs) < FEW:
        p = float(fisher_exact([[ours, here - ours], [theirs, there - theirs]])[1])  # pyright: ignore[reportArgumentType]
        return f"p = {p:.3f} (Fisher)", p > LIMIT_P
    pooled = (ours + theirs) / (here + there)
    z = (ours / here - theirs / there) / math.sqrt(pooled * (1 - pooled) * (1 / here + 1 / there))
    return f"z = {z:+.2f}", abs(z) < LIMIT_Z


def _log_success(played: list[Played], name: str) -> float:
    return math.log(1 + 100 * sum(name in one.unlocked for one in played) / len(played))


if __name__ == "__main__":
    sys.exit(main())
