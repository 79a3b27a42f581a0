"""Compares two scorings of the episodes in scope."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core.analysis.rescore import (
    Comparison,
    Scores,
    StoredFacts,
    Swaps,
    as_played,
    breakdowns,
    compare,
    most_changed_decisions,
    ranks,
    score,
    swaps,
)
from core.analysis.tolerance import is_equal
from core.rewards import RewardShaper
from core.store import EpisodeSummary
from core.types import Floats, RewardBreakdown, RewardConfig
from pages.components.shared.state import store

REWARDS = "reward configurations"  # in `Rescored.different_settings` if the episodes had several

_CACHED = "lab_rescored"
_MAX_BREAKDOWNS = 8


@dataclass
class Rescored:
    """What the episodes in scope earn under two configurations; `before.config` is None for the rewards as played.

    took_ms: duration of the second scoring. different_settings: such as "2 different limits"; empty if all are equal.
    """

    stored: StoredFacts
    before: Scores
    after: Scores
    took_ms: float
    comparison: Comparison
    ranks_before: NDArray[np.int64]
    ranks_after: NDArray[np.int64]
    different_settings: tuple[str, ...]
    _breakdowns: OrderedDict[tuple[str, str], tuple[RewardBreakdown, ...]] = field(
        default_factory=OrderedDict[tuple[str, str], tuple[RewardBreakdown, ...]]
    )

    @property
    def token(self) -> str:
        """For widget keys: changes with the scope or a configuration."""
        return "-".join((str(id(self.stored)), *(str(part) for part in _hashes(self))))

    @property
    def episodes(self) -> tuple[EpisodeSummary, ...]:
        return self.stored.episodes

    @property
    def config(self) -> RewardConfig:
        """The edited configuration."""
        assert self.after.config is not None
        return self.after.config

    @property
    def changes(self) -> Floats:
        """Change of each episode's return: float64 (E,)."""
        return self.after.returns - self.before.returns

    @property
    def changes_nothing(self) -> bool:
        return bool(np.all(is_equal(self.before.rewards, self.after.rewards)))

    @cached_property
    def against_achievements(self) -> Swaps:
        """Pairs of the same world in which fewer achievements earn more under the edited configuration."""
        n_achievements = np.array([episode.n_achievements for episode in self.episodes], np.float64)
        return swaps(self.episodes, n_achievements, self.after.returns)

    def place_of(self, episode_id: str) -> int | None:
        """The index in `episodes`; None if it is not in scope."""
        return next((at for at, episode in enumerate(self.episodes) if episode.id == episode_id), None)

    def most_changed_decisions(self, at: int, max_decisions: int) -> tuple[int, ...]:
        """The decisions of an episode whose rewards change most."""
        return most_changed_decisions(self.stored.columns, at, self.before, self.after, max_decisions=max_decisions)

    def n_changed(self, at: int) -> int:
        """How many decisions of the episode change their reward."""
        own = self.stored.columns.decisions_of(at)
        return int(np.sum(~is_equal(self.before.rewards[own], self.after.rewards[own])))

    def parts_before(self, at: int) -> tuple[RewardBreakdown, ...]:
        """The reward components of each decision before. Raises StoreError.

        As played, they are computed from its configuration; if they do not add up to the logged rewards, the logged
        components are returned.
        """
        if self.before.config is not None:
            return self._parts(at, self.before.config)
        parts = self._parts(at, store().episodes.get(self.episodes[at].id).spec.reward)
        logged = self.before.rewards[self.stored.columns.decisions_of(at)]
        totals = np.array([part.total for part in parts])
        if np.all(is_equal(totals, logged)):
            return parts
        return tuple(decision.reward for decision in store().episodes.load(self.episodes[at].id).decisions)

    def parts_after(self, at: int) -> tuple[RewardBreakdown, ...]:
        """The reward components of each decision under the edited configuration."""
        return self._parts(at, self.config)

    def _parts(self, at: int, config: RewardConfig) -> tuple[RewardBreakdown, ...]:
        key = self.episodes[at].id, config.config_hash
        if key not in self._breakdowns:
            self._breakdowns[key] = breakdowns(self.stored.columns, at, config)
        self._breakdowns.move_to_end(key)
        while len(self._breakdowns) > _MAX_BREAKDOWNS:
            self._breakdowns.popitem(last=False)
        return self._breakdowns[key]


def rescored(stored: StoredFacts, config: RewardConfig, compared_with: RewardConfig | None) -> Rescored:
    """Cached for the session; only what depends on a change is computed again."""
    last: Rescored | None = st.session_state.get(_CACHED)
    if last is not None and last.stored is not stored:
        last = None
    wanted = config.config_hash, compared_with.config_hash if compared_with else None
    if last and _hashes(last) == wanted:
        return last
    if last and _hashes(last)[1] == wanted[1]:
        before = last.before
    else:
        before = as_played(stored.columns) if compared_with is None else score(stored.columns, compared_with)
    started = time.perf_counter()
    after = score(stored.columns, config)
    took_ms = (time.perf_counter() - started) * 1000
    result = Rescored(
        stored,
        before,
        after,
        took_ms,
        compare(stored.episodes, before.returns, after.returns),
        ranks(before.returns),
        ranks(after.returns),
        last.different_settings if last else _different_settings(stored.episodes),
    )
    if last:
        result._breakdowns = last._breakdowns
    st.session_state[_CACHED] = result
    return result


def is_slow(stored: StoredFacts, config: RewardConfig) -> bool:
    """Whether the strategy scores decision by decision, not all decisions as one array."""
    first = stored.only([episode.id for episode in stored.episodes[:1]])
    return RewardShaper(config).base_values(first.columns) is None


def _different_settings(episodes: Sequence[EpisodeSummary]) -> tuple[str, ...]:
    settings = (
        ({episode.config_hash for episode in episodes}, REWARDS),
        ({episode.spec.limits for episode in episodes}, "limits"),
        ({episode.spec.env for episode in episodes}, "world sizes"),
        ({episode.spec.max_actions_per_call for episode in episodes}, "limits of actions per call"),
    )
    return tuple(f"{len(values):,} different {what}" for values, what in settings if len(values) > 1)


def _hashes(result: Rescored) -> tuple[str, str | None]:
    return result.config.config_hash, result.before.config.config_hash if result.before.config else None
