"""The random policy: every action equally likely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.env.observation import Observation
from core.env.rules import ACTIONS
from core.params import integer
from core.policies.tools import call_interact
from core.text import plural
from core.types import Decision, PolicyReply


@dataclass(frozen=True, slots=True)
class RandomParams:
    """The number of actions per call is drawn evenly from `min_actions` to `max_actions`, up to the run's limit."""

    min_actions: int = integer(
        1, label="Min actions per call", description="Each call has at least this many.", low=1, high=100
    )
    max_actions: int = integer(
        5, label="Max actions per call", description="The run's own limit applies too.", low=1, high=100
    )


class RandomPolicy:
    name = "random"

    def __init__(self, params: RandomParams, *, seed: int, max_actions: int) -> None:
        self._max_drawn = max(1, min(params.max_actions, max_actions))
        self._min_drawn = min(params.min_actions, self._max_drawn)
        self._max_actions = max_actions
        self.reset(seed)

    def reset(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def decide(self, observation: Observation, history: Sequence[Decision]) -> PolicyReply:
        count = int(self._random.integers(self._min_drawn, self._max_drawn + 1))
        actions = [ACTIONS[int(self._random.integers(len(ACTIONS)))] for _ in range(count)]
        return call_interact(actions, f"{plural(count, 'action')} drawn at random.", max_actions=self._max_actions)

    def close(self) -> None: ...
