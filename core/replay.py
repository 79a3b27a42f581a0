"""Simulates an episode again from its seed and actions and compares every state digest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from core.env import CrafterEnv
from core.env.rules import ACTION_INDEX, ENGINE_VERSION
from core.types import Episode, EpisodeSpec, StateRecord


@dataclass(frozen=True, slots=True)
class ReplayCheck:
    """frames: states compared, including the one after reset.
    has_digests: False for an episode of another engine, whose states have none.
    diverged_at: the first frame that differs (0: after reset, k: after step k - 1); None if all are equal.
    """

    frames: int
    diverged_at: int | None = None
    expected: str = ""
    found: str = ""
    recorded_engine: str = ""
    has_digests: bool = True

    @property
    def exact(self) -> bool:
        return self.diverged_at is None

    @property
    def sentence(self) -> str:
        if not self.has_digests:
            return (
                f"No proof: it was not played by this engine ({self.recorded_engine or 'unknown'}), so it cannot be "
                "simulated again."
            )
        if not self.frames:
            return "Nothing to compare: the episode has no world."
        if self.exact:
            return f"Replay exact: {self.frames:,} states simulated again, all digests equal."
        other_engine = ""
        if self.recorded_engine != ENGINE_VERSION:
            other_engine = (
                f" It was recorded with engine {self.recorded_engine or 'unknown'}; this is {ENGINE_VERSION}."
            )
        at = "in the world after reset" if self.diverged_at == 0 else f"after step {(self.diverged_at or 0) - 1}"
        return f"Replay diverged {at}: stored digest {self.expected}, simulated {self.found}.{other_engine}"


def resimulate(spec: EpisodeSpec, actions: Iterable[str]) -> Iterator[StateRecord]:
    """The state after reset and after each action."""
    env = CrafterEnv.from_config(spec.env, observe=False)
    env.reset(seed=spec.seed, options={"episode": spec.world_episode})
    yield env.state()
    for action in actions:
        env.step(ACTION_INDEX[action])
        yield env.state()


def check(episode: Episode) -> ReplayCheck:
    """Stops at the first state that differs from the stored one."""
    stored = [step.state for step in episode.steps]
    if episode.initial is not None:
        stored.insert(0, episode.initial)
    actions = [step.action for step in episode.steps]
    if stored and not stored[0].state_digest:
        return ReplayCheck(0, recorded_engine=episode.spec.engine_version, has_digests=False)
    frames = 0
    for frame, (expected, found) in enumerate(zip(stored, resimulate(episode.spec, actions), strict=False)):
        frames += 1
        if expected.state_digest != found.state_digest:
            return ReplayCheck(frames, frame, expected.state_digest, found.state_digest, episode.spec.engine_version)
    return ReplayCheck(frames, recorded_engine=episode.spec.engine_version)
