"""The numbers behind the charts, cached by the choice of episodes: finished episodes do not change.

Streamlit leaves arguments with a leading `_` out of the cache key; `key` stands for them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st

from core.analysis.rescore import StoredFacts
from core.analysis.statistics import (
    ComponentTable,
    Difference,
    Distribution,
    RankCorrelation,
    Rows,
    Sample,
    SeedOverlap,
    Summary,
    UnlockTime,
    component_table,
    differences,
    distribution,
    rank_correlation,
    sample_of,
    seed_overlap,
    summarise,
    unlock_table,
    unlock_times,
)
from core.dataset import known_difficulties
from core.env.rules import ACHIEVEMENTS
from core.store import EpisodeSummary, World
from core.types import Difficulty, Floats
from pages.components.shared.state import store

ALL_TOGETHER = ""  # the key of all policies together, beside those of each

_FRESH_S = 20  # how long a world that another session rates may still count as not rated


def key_of(stored: StoredFacts) -> str:
    """A cache key of these episodes of this store."""
    text = "\n".join((store().url, *(episode.id for episode in stored.episodes)))
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


@st.cache_data(max_entries=4, show_spinner="Reading the unlocks of each episode…")
def sample(key: str, _stored: StoredFacts) -> Sample:
    """All stored episodes as arrays."""
    return sample_of(_stored.episodes, _stored.columns.episodes, ACHIEVEMENTS)


@st.cache_data(max_entries=64, show_spinner="Bootstrapping the intervals…")
def summaries(key: str, _sample: Sample, _policies: Mapping[str, Rows]) -> dict[str, Summary]:
    return {policy: summarise(_sample.at(rows)) for policy, rows in _policies.items()}


@st.cache_data(max_entries=32, show_spinner=False)
def differences_and_seeds(
    key: str, _episodes: Sequence[EpisodeSummary], _policies: Sequence[str]
) -> tuple[tuple[Difference, ...], SeedOverlap]:
    return differences(_episodes, _policies), seed_overlap(_episodes, _policies)


@st.cache_data(max_entries=32, show_spinner=False)
def distributions(key: str, _sample: Sample, _policies: Mapping[str, Rows]) -> dict[str, tuple[Distribution, ...]]:
    """Policy -> the distributions of its shaped and of its environment returns."""
    return {
        policy: (distribution(_sample.shaped_returns[rows]), distribution(_sample.env_returns[rows]))
        for policy, rows in _policies.items()
    }


@st.cache_data(max_entries=32, show_spinner="Bootstrapping the intervals…")
def correlations(key: str, _sample: Sample, _policies: Mapping[str, Rows]) -> dict[str, RankCorrelation]:
    """Shaped return and achievements: of all together, then of each policy."""
    groups = {ALL_TOGETHER: np.concatenate(list(_policies.values())), **_policies}
    n_unlocked = _sample.n_unlocked.astype(np.float64)
    return {
        policy: rank_correlation(_sample.shaped_returns[rows], n_unlocked[rows], _sample.seeds[rows])
        for policy, rows in groups.items()
    }


@st.cache_data(max_entries=4, show_spinner="Reading unlock times…")
def unlocks(key: str, _stored: StoredFacts) -> Floats:
    """The step of each first unlock: float64 (E, A), NaN without one. Raises StoreError."""
    ids = [episode.id for episode in _stored.episodes]
    return unlock_table(ids, store().episodes.unlock_steps(ids), ACHIEVEMENTS)


@st.cache_data(max_entries=32, show_spinner=False)
def times(key: str, _table: Floats, _policies: Mapping[str, Rows]) -> dict[str, tuple[UnlockTime, ...]]:
    """Each policy's unlock times, in the order of the achievements."""
    return {policy: unlock_times(_table[rows]) for policy, rows in _policies.items()}


@st.cache_data(max_entries=4, show_spinner="Adding up the reward components…")
def components(key: str, _stored: StoredFacts) -> ComponentTable:
    """What each component paid in each stored episode, lambda included."""
    scales = [episode.spec.reward.effective_lambda for episode in _stored.episodes]
    return component_table(_stored.columns.episodes, scales)


@st.cache_data(max_entries=8, ttl=_FRESH_S, show_spinner=False)
def difficulties(key: str, _episodes: Sequence[EpisodeSummary]) -> dict[World, Difficulty]:
    """The difficulty of the worlds that are rated. Raises StoreError."""
    return known_difficulties(store(), {world_of(episode) for episode in _episodes})


def world_of(episode: EpisodeSummary) -> World:
    return episode.seed, episode.world_episode, episode.spec.env
