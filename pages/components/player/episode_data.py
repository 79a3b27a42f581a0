"""What the page needs of all steps of an episode: read once, kept small."""

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
from core.types import Decision, Episode, RewardBreakdown, StateRecord
from pages.components.player import DecisionHud, PlayerData, StepHud, build_player_data
from pages.components.text.escape import safe_text

_MAX_CAPTION_LENGTH = 1_000  # the tab beside the player has the whole of it


@dataclass(frozen=True)
class EpisodeData:
    """One episode, as far as it is stored.

    initial: the world after reset. decisions: all of them, in order.
    player: what the player draws; None where there is no frame or where the frames are damaged (`problem` says so).
    positions: (x, y) at each frame. unlocks: achievement -> index of the step that unlocked it, in order.
    env_totals: the environment's rewards summed up, at each frame. shaped_totals: the shaped ones, at each decision's
    end. model: what its model calls come to; None where no model was asked. breakdowns: what each decision earned, in
    parts.
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
    """The data of an episode, read again when more of it is stored."""
    return _load(store, store.url, summary.id, summary.n_decisions, summary.status.value)


# cache_resource: it is frozen, and cache_data would copy it at each step of the player.
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
    """All its scenes, that of the reset first. Raises InvalidInput where they are damaged."""
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
    steps = [StepHud(safe_text(step.action, 60), step.env_reward) for step in episode.steps]
    try:
        data = build_player_data(
            store.episodes.packed_scenes(episode.id),
            steps,
            [_hud(decision) for decision in _with_starts(episode)],
            [(step, safe_text(name, 60)) for name, step in episode.unlock_steps.items()],
        )
    except InvalidInput as error:
        return None, str(error)
    return data, ""


def _with_starts(episode: Episode) -> list[tuple[int, Decision]]:
    starts = accumulate((len(decision.steps) for decision in episode.decisions), initial=0)
    return list(zip(starts, episode.decisions, strict=False))


def _hud(placed: tuple[int, Decision]) -> DecisionHud:
    start, decision = placed
    return DecisionHud(
        step_start=start,
        step_end=start + len(decision.steps),
        reward=decision.reward.total,
        reasoning=safe_text(
            "\n".join(call.reasoning for call in decision.tool_calls if call.reasoning), _MAX_CAPTION_LENGTH
        ),
        error=safe_text(decision.error.detail, _MAX_CAPTION_LENGTH) if decision.error else "",
    )
