"""What the engine costs beside upstream's, in one run on one machine: python -m benchmarks.engine

CPU time, so that other processes disturb less; each ratio is the median of three rounds. Upstream and ours walk the
same seeds with the same actions, but not the same course: upstream's differs from process to process. Goals: reset at
least 50 times as fast, a step with its picture 12 times, without it (same random draws) 45 times; a snapshot under 2 ms
and 20 kB, a picture of 512 pixels by night under 10 ms.
"""

from __future__ import annotations

import argparse
import cProfile
import io
import pstats
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import crafter
import numpy as np

from core.env import CrafterEnv, CrafterVectorEnv
from core.env.observation import observation_text

ROUNDS = 3
MORE_OF_OURS = 5  # ours is so quick that it walks further, or the clock's grain would show
NIGHT = 200  # a step in the middle of a night


@dataclass(frozen=True, slots=True)
class Engine:
    """One to be measured. reset: the first world of a seed. step: one action; says whether the episode is over."""

    name: str
    reset: Callable[[int], object]
    step: Callable[[int], bool]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=500, help="steps of upstream in a round")
    parser.add_argument("--resets", type=int, default=2, help="resets of upstream in a round")
    parser.add_argument("--profile", action="store_true", help="also print where a step and a reset spend their time")
    arguments = parser.parse_args()
    engines = [_upstream(), _ours("ours", observe=True), _ours("ours, no picture", observe=False)]
    _print_ratios("reset", engines, [_resets(engine, arguments.resets) for engine in engines])
    _print_ratios("step", engines, [_steps(engine, arguments.steps) for engine in engines])
    _print_batch(arguments.steps)
    _print_calls()
    if arguments.profile:
        _print_profiles(engines)


def _upstream() -> Engine:
    env = crafter.Env(seed=0)

    def reset(seed: int) -> object:
        env._seed, env._episode = seed, 0  # pyright: ignore[reportPrivateUsage]  # it can be given at the start only
        return env.reset()

    return Engine("upstream", reset, lambda action: bool(env.step(action)[2]))


def _ours(name: str, observe: bool) -> Engine:
    env = CrafterEnv(observe=observe)

    def step(action: int) -> bool:
        _, _, terminated, truncated, _ = env.step(action)
        return terminated or truncated

    return Engine(name, lambda seed: env.reset(seed=seed), step)


def _resets(engine: Engine, count: int) -> Callable[[int], float]:
    """Measures one round: milliseconds a reset."""
    count = count if engine.name == "upstream" else count * MORE_OF_OURS

    def measure(round_: int) -> float:
        return statistics.mean(_spent_ms(partial(engine.reset, round_ * 100 + at)) for at in range(count))

    return measure


def _steps(engine: Engine, count: int) -> Callable[[int], float]:
    """Measures one round: milliseconds a step; the resets in between are not counted."""
    count = count if engine.name == "upstream" else count * MORE_OF_OURS

    def measure(round_: int) -> float:
        actions: list[int] = np.random.RandomState(round_).randint(0, 17, size=count).tolist()
        seed, spent = round_ * 100, 0.0
        engine.reset(seed)
        start = time.process_time()
        for action in actions:
            if engine.step(action):
                spent += time.process_time() - start
                seed += 1
                engine.reset(seed)
                start = time.process_time()
        return (spent + time.process_time() - start) * 1000 / count

    return measure


def _print_ratios(what: str, engines: Sequence[Engine], measures: Sequence[Callable[[int], float]]) -> None:
    """The engines in turn in each round, so that a slow moment hits all."""
    rounds = [[measure(round_) for measure in measures] for round_ in range(ROUNDS)]
    for at, engine in enumerate(engines):
        cost = statistics.median(costs[at] for costs in rounds)
        ratio = statistics.median(costs[0] / costs[at] for costs in rounds)
        print(f"{what:6} {engine.name:18} {cost:10.3f} ms   upstream / this = {ratio:6.1f}")


def _print_batch(steps: int) -> None:
    count = 16
    for observe in (True, False):
        batch = CrafterVectorEnv(count, observe=observe)
        batch.reset(seed=0)
        actions = np.random.RandomState(0).randint(0, 17, (steps // 4, count))
        cost = _spent_ms(lambda batch=batch, actions=actions: [batch.step(row) for row in actions]) / actions.size
        print(f"step   {count} in a batch{'' if observe else ', no picture':13} {cost:8.3f} ms an environment")


def _print_calls() -> None:
    """Median milliseconds of one call, each right after a step."""
    env = CrafterEnv(observe=False)
    env.reset(seed=1)
    blob = env.snapshot()
    observation = env.observation(step_limit=1000)
    calls: dict[str, Callable[[], object]] = {
        "state_digest()": env.state_digest,
        "state()": env.state,
        "scene()": env.scene,
        "observation()": lambda: env.observation(step_limit=1000),
        "observation_text()": lambda: observation_text(observation),
        "snapshot()": env.snapshot,
        "restore()": lambda: env.restore(blob),
        "render(64)": lambda: env.render(64),
        "render(512)": lambda: env.render(512),
        "world_image()": env.world_image,
    }
    for name, call in calls.items():
        print(f"{name:25} {_median_ms(env, call):10.3f} ms")
    _walk_to(env, NIGHT)
    print(f"{'render(512) by night':25} {_median_ms(env, lambda: env.render(512)):10.3f} ms")
    print(f"{'snapshot':25} {len(env.snapshot()):10,} bytes")


def _walk_to(env: CrafterEnv, step: int) -> None:
    env.reset(seed=1)
    for _ in range(step):
        env.step(0)


def _median_ms(env: CrafterEnv, call: Callable[[], object]) -> float:
    times: list[float] = []
    for action in range(50):
        env.step(action % 5)
        times.append(_spent_ms(call))
    return statistics.median(times)


def _spent_ms(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return (time.process_time() - start) * 1000


def _print_profiles(engines: Sequence[Engine]) -> None:
    for engine in engines[1:]:
        _print_profile(f"steps of {engine.name}", lambda engine=engine: _steps(engine, 500)(0))
    _print_profile("resets", lambda: _resets(engines[1], 5)(0))


def _print_profile(what: str, call: Callable[[], object]) -> None:
    profile = cProfile.Profile()
    profile.runcall(call)
    text = io.StringIO()
    pstats.Stats(profile, stream=text).sort_stats("tottime").print_stats(15)
    print(f"\n{what}\n{text.getvalue()}")


if __name__ == "__main__":
    main()
