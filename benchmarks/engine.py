"""What the engine costs beside upstream's, in one run on one machine: python -m benchmarks.engine

CPU time, so that other processes disturb less. Upstream and ours walk the same seeds with the same actions, but not the
same course: upstream's differs from process to process.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import crafter
import numpy as np

from core.env import CrafterEnv
from core.env.observation import as_text


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=500, help="steps per engine")
    parser.add_argument("--resets", type=int, default=3, help="resets per engine")
    arguments = parser.parse_args()
    actions = np.random.RandomState(0).randint(0, 17, size=arguments.steps).tolist()

    upstream = crafter.Env(seed=1)
    pictured, blind = CrafterEnv(), CrafterEnv(observe=False)
    resets: dict[str, Callable[[], object]] = {
        "upstream": upstream.reset,
        "ours": lambda: pictured.reset(seed=1),
        "ours, no picture": lambda: blind.reset(seed=1),
    }
    steps: dict[str, Callable[[int], bool]] = {
        "upstream": lambda action: bool(upstream.step(action)[2]),
        "ours": lambda action: _is_over(pictured, action),
        "ours, no picture": lambda action: _is_over(blind, action),
    }
    _print_ratios("reset", _resets_ms(resets, arguments.resets))
    _print_ratios("step", _steps_ms(steps, resets, actions))
    _print_calls(blind, actions[:100])


def _is_over(env: CrafterEnv, action: int) -> bool:
    _, _, terminated, truncated, _ = env.step(action)
    return terminated or truncated


def _resets_ms(resets: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median milliseconds a reset, the engines in turn so that a slow moment hits all."""
    times: dict[str, list[float]] = {engine: [] for engine in resets}
    for _ in range(repeats):
        for engine, reset in resets.items():
            times[engine].append(_spent_ms(reset))
    return {engine: statistics.median(spent) for engine, spent in times.items()}


def _steps_ms(
    steps: dict[str, Callable[[int], bool]], resets: dict[str, Callable[[], object]], actions: list[int]
) -> dict[str, float]:
    """Median milliseconds a step, the engines in turn; the resets in between are not counted."""
    times: dict[str, list[float]] = {engine: [] for engine in steps}
    for action in actions:
        for engine, step in steps.items():
            start = time.process_time()
            is_over = step(action)
            times[engine].append((time.process_time() - start) * 1000)
            if is_over:
                resets[engine]()
    return {engine: statistics.median(spent) for engine, spent in times.items()}


def _spent_ms(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return (time.process_time() - start) * 1000


def _print_ratios(name: str, costs: dict[str, float]) -> None:
    for engine, cost in costs.items():
        print(f"{name:6} {engine:18} {cost:10.3f} ms   upstream / this = {costs['upstream'] / cost:6.2f}")


def _print_calls(env: CrafterEnv, actions: list[int]) -> None:
    """Median milliseconds of one call, each right after a step."""
    blob = env.snapshot()
    observation = env.observation(step_limit=1000)
    calls: dict[str, Callable[[], object]] = {
        "state_digest()": env.state_digest,
        "state()": env.state,
        "observation()": lambda: env.observation(step_limit=1000),
        "as_text()": lambda: as_text(observation),
        "snapshot()": env.snapshot,
        "restore()": lambda: env.restore(blob),
        "render(64)": lambda: env.render(64),
        "render(512)": lambda: env.render(512),
        "world_image()": env.world_image,
    }
    for name, call in calls.items():
        times: list[float] = []
        for action in actions:
            env.step(action)
            times.append(_spent_ms(call))
        print(f"{name:25} {statistics.median(times):10.3f} ms")
    print(f"{'snapshot':25} {len(blob):10,} bytes")


if __name__ == "__main__":
    main()
