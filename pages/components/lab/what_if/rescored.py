"""One scoring held against another: computed once, and looked at from several sides."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core.analysis.numbers import is_equal
from core.analysis.rescore import (
    Comparison,
    Scores,
    StoredFacts,
    Swaps,
    as_played,
    breakdowns,
    compare,
    ranks,
    responsible,
    score,
    swaps,
)
from core.facts import PlayedEpisode
from core.rewards import RewardShaper
from core.types import RewardBreakdown, RewardConfig
from pages.components.shared.state import store

Floats = NDArray[np.float64]

REWARDS = "reward configurations"
"""What stands in `unlike` where they were paid differently in play."""

_KEPT = "lab_rescored"
_MAX_BREAKDOWNS = 8


@dataclass
class Rescored:
    """What the episodes in scope earn under two configurations; `before.config` is None for what was paid in play.

    took_ms: how long the scoring under the second one took. unlike: sentences on what was not the same in play.
    """

    stored: StoredFacts
    before: Scores
    after: Scores
    took_ms: float
    comparison: Comparison
    ranks_before: NDArray[np.int64]
    ranks_after: NDArray[np.int64]
    unlike: tuple[str, ...]
    _against: Swaps | None = None
    _breakdowns: OrderedDict[tuple[str, str], tuple[RewardBreakdown, ...]] = field(
        default_factory=OrderedDict[tuple[str, str], tuple[RewardBreakdown, ...]]
    )

    @property
    def token(self) -> str:
        """Another one wherever a list made from this may be another."""
        return "-".join((str(id(self.stored)), *(str(part) for part in _hashes(self))))

    @property
    def episodes(self) -> tuple[PlayedEpisode, ...]:
        """Those in scope."""
        return self.stored.episodes

    @property
    def config(self) -> RewardConfig:
        """The edited configuration."""
        assert self.after.config is not None
        return self.after.config

    @property
    def changes(self) -> Floats:
        """How much each episode's return changes: float64 (E,)."""
        return self.after.returns - self.before.returns

    @property
    def changes_nothing(self) -> bool:
        """Whether every decision earns what it earned before."""
        return bool(np.all(is_equal(self.before.rewards, self.after.rewards)))

    @property
    def against_achievements(self) -> Swaps:
        """Pairs of the same world in which the one with fewer achievements earns more under the edited rewards."""
        if self._against is None:
            reached = np.array([episode.n_achievements for episode in self.episodes], np.float64)
            self._against = swaps(self.episodes, reached, self.after.returns)
        return self._against

    def place_of(self, episode_id: str) -> int | None:
        """Where an episode stands; None where it is not in scope."""
        return next((at for at, episode in enumerate(self.episodes) if episode.id == episode_id), None)

    def responsible(self, at: int, most: int) -> tuple[int, ...]:
        """The decisions of an episode that change most."""
        return responsible(self.stored.columns, at, self.before, self.after, most)

    def n_changed(self, at: int) -> int:
        """How many of its decisions earn something else."""
        its = self.stored.columns.decisions_of(at)
        return int(np.sum(~is_equal(self.before.rewards[its], self.after.rewards[its])))

    def parts_before(self, at: int) -> tuple[RewardBreakdown, ...]:
        """What each decision earned before, in parts. Raises StoreError.

        Of what was paid in play: as its configuration gives it, and as it was logged where that is something else.
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
        """What each decision earns under the edited configuration, in parts."""
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
    """The two scorings, made anew only where the episodes or one of the configurations is another."""
    kept: Rescored | None = st.session_state.get(_KEPT)
    wanted = config.config_hash, compared_with.config_hash if compared_with else None
    if kept is not None and kept.stored is stored and _hashes(kept) == wanted:
        return kept
    is_same_scope = kept is not None and kept.stored is stored
    if kept is not None and is_same_scope and _hashes(kept)[1] == wanted[1]:
        before = kept.before
    else:
        before = as_played(stored.columns) if compared_with is None else score(stored.columns, compared_with)
    started = time.perf_counter()
    after = score(stored.columns, config)
    took_ms = (time.perf_counter() - started) * 1000
    fresh = Rescored(
        stored,
        before,
        after,
        took_ms,
        compare(stored.episodes, before.returns, after.returns),
        ranks(before.returns),
        ranks(after.returns),
        kept.unlike if kept is not None and is_same_scope else _unlike(stored.episodes),
    )
    if kept is not None and is_same_scope:
        fresh._breakdowns = kept._breakdowns
    st.session_state[_KEPT] = fresh
    return fresh


def is_slow(stored: StoredFacts, config: RewardConfig) -> bool:
    """Whether its strategy scores only decision by decision."""
    first = stored.only([episode.id for episode in stored.episodes[:1]])
    return RewardShaper(config).base_values(first.columns) is None


def _unlike(episodes: Sequence[PlayedEpisode]) -> tuple[str, ...]:
    """What makes their returns hard to compare; nothing where they were played alike."""
    said: list[str] = []
    for values, what in (
        ({episode.config_hash for episode in episodes}, REWARDS),
        ({episode.limits for episode in episodes}, "limits"),
        ({episode.env for episode in episodes}, "measures of the world"),
        ({episode.max_actions_per_call for episode in episodes}, "numbers of actions kept of a call"),
    ):
        if len(values) > 1:
            said.append(f"{len(values):,} different {what}")
    return tuple(said)


def _hashes(kept: Rescored) -> tuple[str, str | None]:
    return kept.config.config_hash, kept.before.config.config_hash if kept.before.config else None
