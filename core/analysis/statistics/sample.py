"""Episodes as arrays: who unlocked what on which seed, how long it lasted, and what it earned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.facts import UNLOCK, EpisodeFacts
from core.store import EpisodeSummary
from core.types import StopReason

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Sample:
    """E episodes, in the order given, and A achievements. Do not change the arrays.

    seeds: int64 (E,). unlocked: bool (E, A), whether the episode unlocked it. env_returns, shaped_returns:
    float64 (E,), what the environment and the shaping paid. n_steps: int64 (E,). has_died: bool (E,), whether the
    character's death ended it.
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
        """How many achievements each episode unlocked: int64 (E,)."""
        return self.unlocked.sum(axis=1, dtype=np.int64)

    def at(self, rows: Rows) -> Sample:
        """The episodes at these places, in that order."""
        return Sample(
            self.achievements,
            self.seeds[rows],
            self.unlocked[rows],
            self.env_returns[rows],
            self.shaped_returns[rows],
            self.n_steps[rows],
            self.has_died[rows],
        )


def sample_of(episodes: Sequence[EpisodeSummary], facts: Sequence[EpisodeFacts], achievements: Sequence[str]) -> Sample:
    """Episodes with their reward facts, side by side. achievements: those that count, in the order wanted."""
    places = {name: place for place, name in enumerate(achievements)}
    unlocked = np.zeros((len(facts), len(places)), np.bool_)
    for row, its in enumerate(facts):
        for number in np.unique(its.names[its.kinds == UNLOCK]):
            place = places.get(its.name_list[int(number)])
            if place is not None:
                unlocked[row, place] = True
    return Sample(
        tuple(achievements),
        np.array([episode.seed for episode in episodes], np.int64),
        unlocked,
        np.array([episode.env_return for episode in episodes], np.float64),
        np.array([episode.shaped_return for episode in episodes], np.float64),
        np.array([episode.n_steps for episode in episodes], np.int64),
        np.array([episode.stop_reason is StopReason.TERMINATED for episode in episodes], np.bool_),
    )
