"""Episodes as arrays: their seeds, unlocks, lengths and returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.facts import UNLOCK, EpisodeFacts
from core.store import EpisodeSummary
from core.types import Floats, StopReason

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Sample:
    """E episodes, in the order given, and A achievements. Do not change the arrays.

    seeds, n_steps: int64 (E,). unlocked: bool (E, A). env_returns, shaped_returns: float64 (E,). has_died: bool (E,),
    whether the character's death ended the episode.
    """

    achievements: tuple[str, ...]
    seeds: NDArray[np.int64]
    unlocked: NDArray[np.bool_]
    env_returns: Floats
    shaped_returns: Floats
    n_steps: NDArray[np.int64]
    has_died: NDArray[np.bool_]

    @property
    def n_episodes(self) -> int:
        return len(self.seeds)

    @property
    def n_unlocked(self) -> NDArray[np.int64]:
        """Number of achievements that each episode unlocked: int64 (E,)."""
        return self.unlocked.sum(axis=1, dtype=np.int64)

    def at(self, rows: Rows) -> Sample:
        """The episodes of these rows, in that order."""
        arrays: dict[str, Any] = {
            field.name: getattr(self, field.name)[rows] for field in fields(self) if field.name != "achievements"
        }
        return Sample(self.achievements, **arrays)


def sample_of(episodes: Sequence[EpisodeSummary], facts: Sequence[EpisodeFacts], achievements: Sequence[str]) -> Sample:
    """The sample of episodes and their reward facts, side by side. achievements: those that count, in this order."""
    unlocked = np.zeros((len(facts), len(achievements)), np.bool_)
    for row, its in enumerate(facts):
        names = {its.name_list[int(number)] for number in its.names[its.kinds == UNLOCK]}
        unlocked[row] = [name in names for name in achievements]
    return Sample(
        tuple(achievements),
        np.array([episode.seed for episode in episodes], np.int64),
        unlocked,
        np.array([episode.env_return for episode in episodes], np.float64),
        np.array([episode.shaped_return for episode in episodes], np.float64),
        np.array([episode.n_steps for episode in episodes], np.int64),
        np.array([episode.stop_reason is StopReason.TERMINATED for episode in episodes], np.bool_),
    )
