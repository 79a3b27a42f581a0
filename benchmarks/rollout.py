"""The rollout loop's own cost: everything but environment and policy, without and with the store.

Goals: under 1 ms a decision without the store, under 5 ms with it. Medians over the decisions of this run.

And a language-model policy's own cost over a server on loopback that answers at once: building the prompt of 16
remembered decisions, reading the answer, recording it. Goal: under 10 ms a decision, beside the client's own time.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from core.env import CrafterEnv
from core.policies import make_policy
from core.rewards import RewardShaper
from core.rollout import NoRecorder, Recorder, run_episode
from core.store import TraceStore
from core.types import Decision, EpisodeSpec, Limits, PolicySpec, QueuedEpisode, RewardConfig, Run
from tests.support.model.server import ModelServer, calls, says

REMEMBERED = 16
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


class _Marking:
    """A recorder that notes when each decision was safe, and the seconds spent in the environment until then."""

    def __init__(self, inner: Recorder, env: _Timed) -> None:
        self.start, self.finish = inner.start, inner.finish
        self.marks: list[tuple[float, float]] = []
        self._inner = inner
        self._env = env

    def record(self, decision: Decision) -> None:
        self._inner.record(decision)
        self.marks.append((time.perf_counter(), self._env.spent_s))


def model_cost_ms(recorder: Recorder, spec: EpisodeSpec) -> tuple[list[float], list[float]]:
    """Milliseconds of each decision that remembers 16: of policy, loop and recorder; and of the client's calls."""
    env = _Timed(CrafterEnv.from_config(spec.env, observe=False), ("reset", "step", "state", "observation"))
    marking = _Marking(recorder, env)
    with closing(make_policy(spec.policy, seed=1, max_actions=5)) as policy:
        episode = run_episode(spec, env, policy, RewardShaper(spec.reward), marking)  # type: ignore[arg-type]
    calls_ms = [call.latency_ms or 0.0 for decision in episode.decisions if (call := decision.model_call)][1:]
    own = [
        ((now - before) - (foreign - foreign_before)) * 1000 - call_ms
        for (before, foreign_before), (now, foreign), call_ms in zip(
            marking.marks, marking.marks[1:], calls_ms, strict=False
        )
    ]
    return own[REMEMBERED:], calls_ms[REMEMBERED:]


def print_model_cost() -> None:
    """The figure of a language-model policy, recorded in a store."""
    with ModelServer([says(calls("move_left", "noop"))]) as server, tempfile.TemporaryDirectory() as folder:
        params = {"base_url": server.url, "model": "tiny-model", "history": REMEMBERED}
        limits = Limits(max_steps=1_000, max_decisions=120)
        spec = replace(SPEC, policy=PolicySpec("llm", params), limits=limits, max_actions_per_call=5)
        store = TraceStore(f"sqlite:///{Path(folder) / 'bench.db'}")
        store.runs.create(Run("r" * 32, datetime.now(UTC), (QueuedEpisode("e" * 32, spec),)))
        store.queue.claim_next(worker="benchmark")
        own, client = model_cost_ms(store.recorder("e" * 32), spec)
        store.close()
    print(
        f"language model:     median {statistics.median(own):.3f} ms a decision of its own (goal < 10 ms), "
        f"{statistics.median(client):.3f} ms in the client ({len(own)} decisions, {REMEMBERED} remembered)"
    )


def main() -> None:
    """Print all figures."""
    bare = own_cost_ms(NoRecorder())
    print(
        f"loop without store: median {statistics.median(bare):.3f} ms a decision ({len(bare)} decisions; goal < 1 ms)"
    )
    with tempfile.TemporaryDirectory() as folder:
        store = TraceStore(f"sqlite:///{Path(folder) / 'bench.db'}")
        store.runs.create(Run("r" * 32, datetime.now(UTC), (QueuedEpisode("e" * 32, SPEC),)))
        store.queue.claim_next(worker="benchmark")
        stored = own_cost_ms(store.recorder("e" * 32))
        store.close()
    print(
        f"loop with store:    median {statistics.median(stored):.3f} ms a decision "
        f"({len(stored)} decisions; goal < 5 ms)"
    )
    print_model_cost()


if __name__ == "__main__":
    main()
