"""Data about all steps of an episode, loaded once per page."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import streamlit as st

from core.analysis.ledger import Ledger
from core.errors import InvalidInput
from core.evidence import ModelTotals, model_totals
from core.facts.columns import FactColumns
from core.scenes import PackedScenes, read_packed
from core.store import DecisionSummary, EpisodeSummary, TraceStore
from core.types import Episode, RewardBreakdown, StateRecord
from pages.components.player import PlayerData, build_player_data


@dataclass(frozen=True)
class EpisodeData:
    """One episode, as far as it is stored.

    initial: the world after reset. decisions: all of them, in order.
    player: None if there is no frame or if the frames are corrupt, which `problem` then explains.
    positions: (x, y) at each frame. unlocks: achievement -> index of the step that unlocked it, in order.
    env_totals: environment return up to each frame. shaped_totals: shaped return up to the end of each decision.
    model: sums over its model calls; None without any. breakdowns: each decision's reward by component.
    """

    initial: StateRecord | None
    decisions: tuple[DecisionSummary, ...]
    player: PlayerData | None
    problem: str
    positions: tuple[tuple[int, int], ...]
    unlocks: dict[str, int]
    env_totals: tuple[float, ...]
    shaped_totals: tuple[float, ...]
    model: ModelTotals | None
    breakdowns: tuple[RewardBreakdown, ...]

    @cached_property
    def ledger(self) -> Ledger:
        """Every component's reward in every decision; computed on first use."""
        return Ledger.of(self.breakdowns)

    @property
    def frames(self) -> int:
        """Number of frames: one per step and one for the world after reset."""
        return self.player.frames if self.player else len(self.positions)


def episode_data_of(store: TraceStore, summary: EpisodeSummary) -> EpisodeData:
    """Cached until more of the episode is stored."""
    return _load(store, store.url, summary.id, summary.n_decisions, summary.status.value)


# cache_resource: the data is frozen, and cache_data would copy it at each step of the player.
@st.cache_resource(max_entries=6, show_spinner="Opening the episode…")
def _load(_store: TraceStore, url: str, episode_id: str, n_decisions: int, status: str) -> EpisodeData:
    episode = _store.episodes.load(episode_id)
    decisions = _store.episodes.decisions(episode_id)[: len(episode.decisions)]
    player, problem = _player_data(_store, episode)
    states = [episode.initial, *(step.state for step in episode.steps)]
    return EpisodeData(
        initial=episode.initial,
        decisions=decisions,
        player=player,
        problem=problem,
        positions=tuple(state.facts.position or (0, 0) for state in states if state is not None),
        unlocks=episode.unlock_steps,
        env_totals=tuple(accumulate((step.env_reward for step in episode.steps), initial=0.0)),
        shaped_totals=tuple(accumulate(decision.reward for decision in decisions)),
        model=model_totals(episode.decisions),
        breakdowns=tuple(decision.reward for decision in episode.decisions[: len(decisions)]),
    )


def reward_columns_of(store: TraceStore, summary: EpisodeSummary) -> FactColumns:
    """The reward facts of its decisions, as columns; an older entry may hold fewer decisions."""
    return _load_columns(store, store.url, summary.id, summary.n_decisions, summary.status.value)


def scenes_of(store: TraceStore, summary: EpisodeSummary) -> PackedScenes:
    """All its scenes, the one after reset first. Raises InvalidInput if they are corrupt."""
    return _load_scenes(store, store.url, summary.id, summary.n_decisions, summary.status.value)


@st.cache_resource(max_entries=6, show_spinner=False)
def _load_columns(_store: TraceStore, url: str, episode_id: str, n_decisions: int, status: str) -> FactColumns:
    return FactColumns([_store.rewards.facts(episode_id)])


@st.cache_resource(max_entries=6, show_spinner=False)
def _load_scenes(_store: TraceStore, url: str, episode_id: str, n_decisions: int, status: str) -> PackedScenes:
    return read_packed(_store.episodes.packed_scenes(episode_id))


def _player_data(store: TraceStore, episode: Episode) -> tuple[PlayerData | None, str]:
    if episode.initial is None:
        return None, ""
    if not any(state.scene.is_known for state in (episode.initial, *(step.state for step in episode.steps))):
        return None, "No frames were recorded of this episode."
    try:
        return build_player_data(store.episodes.packed_scenes(episode.id), episode), ""
    except InvalidInput as error:
        return None, str(error)
