"""The rollout loop's own cost: everything but environment and policy, without and with the store.

Goals: under 1 ms a decision without the store, under 5 ms with it. Medians over the decisions of this run.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from core.env import CrafterEnv
from core.policies import make_policy
from core.rewards import RewardShaper
from core.rollout import NoRecorder, Recorder, run_episode
from core.store import TraceStore
from core.types import EpisodeSpec, Limits, PolicySpec, QueuedEpisode, RewardConfig, Run

SPEC = EpisodeSpec(
    seed=42,
    policy=PolicySpec("random"),
    policy_seed=1,
    reward=RewardConfig(strategy="per_achievement"),
    limits=Limits(max_steps=600, max_decisions=600),
    max_actions_per_call=1,
)


class _Timed:
    """Another object, with the seconds spent inside some of its methods added up per call of `mark`."""

    def __init__(self, inner: object, methods: tuple[str, ...]) -> None:
        self._inner = inner
        self._methods = methods
        self.spent_s = 0.0

    def __getattr__(self, name: str) -> object:
        value = getattr(self._inner, name)
        return self._timing(value) if name in self._methods else value

    def _timing(self, method: Callable[..., object]) -> Callable[..., object]:
        def timed(*args: object, **more: object) -> object:
            started = time.perf_counter()
            try:
                return method(*args, **more)
            finally:
                self.spent_s += time.perf_counter() - started

        return timed


def own_cost_ms(recorder: Recorder) -> list[float]:
    """Milliseconds of each decision that were neither environment nor policy."""
    env = _Timed(CrafterEnv.from_config(SPEC.env, observe=False), ("reset", "step", "state", "observation"))
    policy = _Timed(make_policy(SPEC.policy, seed=1, max_actions=1), ("reset", "decide"))
    marks: list[tuple[float, float]] = []

    def should_stop() -> bool:
        marks.append((time.perf_counter(), env.spent_s + policy.spent_s))
        return False

    run_episode(SPEC, env, policy, RewardShaper(SPEC.reward), recorder, should_stop=should_stop)  # type: ignore[arg-type]
    return [
        ((now - before) - (foreign - foreign_before)) * 1000
        for (before, foreign_before), (now, foreign) in zip(marks, marks[1:], strict=False)
    ]


def main() -> None:
    """Print both figures."""
    bare = own_cost_ms(NoRecorder())
    print(
        f"loop without store: median {statistics.median(bare):.3f} ms a decision ({len(bare)} decisions; goal < 1 ms)"
    )
    with tempfile.TemporaryDirectory() as folder:
        store = TraceStore(f"sqlite:///{Path(folder) / 'bench.db'}")
        store.create_run(Run("r" * 32, datetime.now(UTC), (QueuedEpisode("e" * 32, SPEC),)))
        store.claim_next(worker="benchmark")
        stored = own_cost_ms(store.recorder("e" * 32))
        store.close()
    print(
        f"loop with store:    median {statistics.median(stored):.3f} ms a decision "
        f"({len(stored)} decisions; goal < 5 ms)"
    )


if __name__ == "__main__":
    main()
