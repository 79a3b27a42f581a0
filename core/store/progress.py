"""What a recorder remembers of its episode between two decisions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from core.facts import FactsWriter
from core.scenes import concat_packed, pack_scenes
from core.store.blobs import Dictionary, compress
from core.store.codec import Layout, RequestParts
from core.types import Decision, Scene

CHUNK_SCENES: Final = 512
"""As many scenes or more are merged into one chunk; until then each decision's are a chunk of their own."""


@dataclass(frozen=True)
class Tail:
    """The newest scenes, each decision's in a chunk of its own. first: the position of its first scene."""

    first: int = 0
    n: int = 0
    packed: tuple[bytes, ...] = ()

    @property
    def end(self) -> int:
        """The position after its last scene."""
        return self.first + self.n

    def followed_by(self, other: Tail) -> Tail:
        """With the scenes of a further decision."""
        return Tail(self.first, self.n + other.n, (*self.packed, *other.packed))

    def merged(self) -> dict[str, Any]:
        """All of it as one row of `scene_chunks`."""
        packed = self.packed[0] if len(self.packed) == 1 else concat_packed(self.packed)
        return {"first": self.first, "n": self.n, "blob": compress(packed)}


def tail_of(first: int, scenes: Sequence[Scene]) -> Tail:
    """Scenes from position `first` on, as one piece."""
    return Tail(first, len(scenes), (pack_scenes(scenes),) if scenes else ())


@dataclass
class Progress:
    """Sums and memories, brought up to date after each committed decision."""

    layout: Layout | None = None
    dictionary: Dictionary | None = None
    tail: Tail = Tail()
    n_decisions: int = 0
    n_steps: int = 0
    env_rewards: list[float] = field(default_factory=list[float])
    rewards: list[float] = field(default_factory=list[float])
    unlock_steps: dict[str, int] = field(default_factory=dict[str, int])
    facts: FactsWriter = field(default_factory=FactsWriter)
    request_parts: RequestParts = field(default_factory=RequestParts)

    def add(self, decision: Decision) -> None:
        """Take over a decision that is stored; tail, dictionary and request parts are the recorder's to set."""
        self.unlock_steps.update(self.new_unlocks(decision))
        self.n_decisions += 1
        self.n_steps += len(decision.steps)
        self.env_rewards.append(decision.env_reward)
        self.rewards.append(decision.reward.total)
        self.facts.add(
            decision.before,
            decision.after,
            decision.unlocked,
            env_reward=decision.env_reward,
            reward=decision.reward.total,
            step_end=self.n_steps,
            components=decision.reward.components,
        )

    def new_unlocks(self, decision: Decision) -> dict[str, int]:
        """Achievements that its steps show as unlocked for the first time, with the step."""
        unlocks: dict[str, int] = {}
        for step in decision.steps:
            for name, unlocked in step.state.facts.achievements.items():
                if unlocked and name not in self.unlock_steps:
                    unlocks.setdefault(name, step.index)
        return unlocks

    def counters_with(self, decision: Decision) -> dict[str, Any]:
        """The episode row's counters once this decision is stored. The sums are exact, as `Episode` computes them."""
        return {
            "n_decisions": self.n_decisions + 1,
            "n_steps": self.n_steps + len(decision.steps),
            "n_achievements": len(self.unlock_steps) + len(self.new_unlocks(decision)),
            "env_return": math.fsum((*self.env_rewards, decision.env_reward)),
            "shaped_return": math.fsum((*self.rewards, decision.reward.total)),
        }
