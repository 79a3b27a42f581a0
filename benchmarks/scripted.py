"""How well the scripted policy plays, and how long it thinks: `python -m benchmarks.scripted [SEEDS]`.

SEEDS is a range such as `100-109`; 0-9 by default. Each seed's first world is played for at most 1000 steps.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass

from core.env import CrafterEnv
from core.env.rules import ACHIEVEMENTS, ACTIONS
from core.policies import make_policy
from core.types import PolicySpec

MAX_STEPS = 1_000
MAX_ACTIONS = 5


@dataclass(frozen=True, slots=True)
class Played:
    """One episode: the step of each unlock, where it ended, and the milliseconds of each decision."""

    unlocks: dict[str, int]
    steps: int
    died: bool
    decision_ms: tuple[float, ...]

    def by_step(self, step: int) -> int:
        """Achievements unlocked within that many steps."""
        return sum(unlocked <= step for unlocked in self.unlocks.values())


def play(seed: int, name: str = "scripted") -> Played:
    """Plays one episode without recording it."""
    env = CrafterEnv(observe=False)
    env.reset(seed=seed)
    policy = make_policy(PolicySpec(name), seed=seed, max_actions=MAX_ACTIONS)
    unlocks: dict[str, int] = {}
    decision_ms: list[float] = []
    step, terminated = 0, False
    while step < MAX_STEPS and not terminated:
        observation = env.observation(step_limit=MAX_STEPS)
        start = time.perf_counter()
        reply = policy.decide(observation, ())
        decision_ms.append((time.perf_counter() - start) * 1000)
        for action in reply.actions[: MAX_STEPS - step]:
            _, _, terminated, _, info = env.step(ACTIONS.index(action))
            step += 1
            for achievement, count in info["achievements"].items():
                if count:
                    unlocks.setdefault(achievement, step)
            if terminated:
                break
    policy.close()
    return Played(unlocks, step, terminated, tuple(decision_ms))


def main() -> None:
    """Prints a line for each seed and the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", nargs="?", default="0-9")
    parser.add_argument("--policy", default="scripted")
    arguments = parser.parse_args()
    first, _, last = arguments.seeds.partition("-")
    episodes = {seed: play(seed, arguments.policy) for seed in range(int(first), int(last or first) + 1)}
    print("seed  achievements  by step 500  steps  died  ms/decision  missing")
    for seed, played in episodes.items():
        missing = ", ".join(name for name in ACHIEVEMENTS if name not in played.unlocks) or "-"
        print(
            f"{seed:4}  {len(played.unlocks):12}  {played.by_step(500):11}  {played.steps:5}"
            f"  {'yes' if played.died else 'no':4}  {statistics.fmean(played.decision_ms):11.2f}  {missing}"
        )
    print(f"mean achievements: {statistics.fmean(len(p.unlocks) for p in episodes.values()):.2f}")
    print(f"mean achievements by step 500: {statistics.fmean(p.by_step(500) for p in episodes.values()):.2f}")
    all_ms = [ms for played in episodes.values() for ms in played.decision_ms]
    print(f"decision: median {statistics.median(all_ms):.2f} ms, longest {max(all_ms):.1f} ms")


if __name__ == "__main__":
    main()
