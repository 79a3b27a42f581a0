"""The engine against the installed `crafter` with ordered chunks, for long: `python -m benchmarks.exactness`.

Random walks over many seeds with night and sleep, other areas and views, and whole episodes of the scripted policy.
After every step all that can be seen and all that decides the future must be equal: picture, reward, inventory,
achievements, semantic map, position, generator, every thing and every chunk. Ends with an error where anything differs.
"""

from __future__ import annotations

import argparse

import numpy as np

from core.env import CrafterEnv
from core.env.rules import ACTIONS
from core.policies import make_policy
from core.types import EnvConfig, PolicySpec
from tests.support.ordered_upstream import Walked, walk_both

OTHER_WORLDS = (
    EnvConfig((32, 32)),
    EnvConfig((64, 48)),
    EnvConfig((20, 100)),
    EnvConfig((7, 9)),  # x = 0 and y = 0 are never far: nothing can be made there
    EnvConfig((64, 64), (7, 7)),
    EnvConfig((64, 64), (15, 11)),
    EnvConfig((40, 40), (32, 32)),
)


def main() -> None:
    """Compare, and print what was met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10, help="random walks in worlds of the usual size")
    parser.add_argument("--steps", type=int, default=3_000, help="steps of each of them")
    parser.add_argument("--scripted", type=int, default=6, help="long episodes of the scripted policy")
    arguments = parser.parse_args()
    if min(arguments.seeds, arguments.scripted) < 0 or arguments.steps < 3 or not arguments.seeds + arguments.scripted:
        parser.error("give at least one seed or scripted episode, and three steps or more")

    total = Walked()
    for seed in range(arguments.seeds):
        total.add(walk_both(EnvConfig(), seed, _sleepy_walk(seed, arguments.steps)))
        _print(f"random walk, seed {seed}", total)
    for config in OTHER_WORLDS:
        total.add(walk_both(config, 7, _sleepy_walk(7, arguments.steps // 3)))
        _print(f"area {config.area}, view {config.view}", total)
    for seed in range(arguments.scripted):
        total.add(walk_both(EnvConfig(), seed, _scripted_actions(seed)))
        _print(f"scripted policy, seed {seed}", total)
    met = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in sorted(total.achievements.items()))
    print(f"equal throughout; worlds in which each achievement was unlocked: {met}")


def _sleepy_walk(seed: int, steps: int) -> list[int]:
    """Uniform actions, and every third hundred of steps sleep, as a uniform policy seldom does for long."""
    random = np.random.RandomState(10_000 + seed)
    sleep = ACTIONS.index("sleep")
    return [sleep if step % 300 >= 200 else int(random.randint(len(ACTIONS))) for step in range(steps)]


def _scripted_actions(seed: int, most_steps: int = 2_000) -> list[int]:
    """What the scripted policy does in the seed's first world until it dies or has done so much."""
    env = CrafterEnv(observe=False)
    env.reset(seed=seed)
    policy = make_policy(PolicySpec("scripted"), seed=seed, max_actions=1)
    actions: list[int] = []
    terminated = False
    while not terminated and len(actions) < most_steps:
        action = ACTIONS.index(policy.decide(env.observation(step_limit=most_steps), ()).actions[0])
        terminated = env.step(action)[2]
        actions.append(action)
    policy.close()
    return actions


def _print(what: str, total: Walked) -> None:
    print(
        f"{what:34} equal; so far {total.steps:,} steps in {total.episodes} worlds, {total.night_steps:,} by night, "
        f"{total.asleep_steps:,} asleep, {total.arrow_steps:,} with arrows, {total.plant_steps:,} with plants, "
        f"{total.deaths} deaths",
        flush=True,
    )


if __name__ == "__main__":
    main()
