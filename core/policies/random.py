"""The random policy: every action equally likely. What any other policy must beat."""

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
    """How many actions a call holds: drawn evenly from `min_actions` to `max_actions`, both within the launch's cap."""

    min_actions: int = integer(
        1, label="Fewest actions in a call", description="Each call holds at least this many.", low=1, high=100
    )
    max_actions: int = integer(
        5, label="Max actions per call", description="The run's own limit applies too.", low=1, high=100
    )


class RandomPolicy:
    """Draws actions from its own generator, so that one policy seed always gives the same calls."""

    name = "random"

    def __init__(self, params: RandomParams, *, seed: int, max_actions: int) -> None:
        self._most = max(1, min(params.max_actions, max_actions))
        self._fewest = min(params.min_actions, self._most)
        self._max_actions = max_actions
        self.reset(seed)

    def reset(self, seed: int) -> None:
        """Starts the generator again."""
        self._random = np.random.default_rng(seed)

    def decide(self, observation: Observation, history: Sequence[Decision]) -> PolicyReply:
        """Looks at nothing and draws."""
        count = int(self._random.integers(self._fewest, self._most + 1))
        actions = [ACTIONS[int(self._random.integers(len(ACTIONS)))] for _ in range(count)]
        return call_interact(actions, f"{plural(count, 'action')} drawn at random.", max_actions=self._max_actions)

    def close(self) -> None:
        """Holds nothing."""
