"""Filters and summaries: what the store takes and returns in addition to the records of `core.types`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from core.store.rows import Listing
from core.types import (
    EpisodeError,
    EpisodeSpec,
    EpisodeStatus,
    ModelCall,
    RewardConfig,
    RunSource,
    StopReason,
    ToolCall,
)

MAX_COUNTED: Final = 10_001
"""Totals look at the newest matching episodes up to this many; show it as "more than 10,000"."""

_WORST_FIRST: Final = (
    EpisodeStatus.QUEUED,
    EpisodeStatus.FAILED,
    EpisodeStatus.INTERRUPTED,
    EpisodeStatus.ABORTED,
)

Cursor = tuple[datetime, int]
"""Where a page of episodes ends: `created_at` and key of its last row."""


@dataclass(frozen=True, slots=True)
class EpisodeFilter:
    """Which episodes to list. An empty tuple or None matches all.

    achievements: all of them must have been unlocked. min_reward, max_reward: bounds of the shaped return, inclusive.
    created_after, created_before: UTC, inclusive and exclusive. sources, mode: of their runs. trainer_id: a correlation
    id, training session or batch of their runs.
    """

    policies: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    statuses: tuple[EpisodeStatus, ...] = ()
    achievements: tuple[str, ...] = ()
    min_reward: float | None = None
    max_reward: float | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    run_id: str | None = None
    sources: tuple[RunSource, ...] = ()
    mode: str | None = None
    trainer_id: str | None = None


@dataclass(frozen=True, slots=True)
class EpisodeSummary:
    """One episode without its decisions. Times are UTC. `achievements` are in the order of their unlocking."""

    id: str
    run_id: str
    spec: EpisodeSpec
    group_index: int
    status: EpisodeStatus
    stop_reason: StopReason | None
    error: EpisodeError | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    n_steps: int
    n_decisions: int
    env_return: float
    shaped_return: float
    achievements: tuple[str, ...]
    config_hash: str
    stop_requested: bool

    @property
    def policy(self) -> str:
        return self.spec.policy.name

    @property
    def seed(self) -> int:
        return self.spec.seed

    @property
    def world_episode(self) -> int:
        return self.spec.world_episode

    @property
    def n_achievements(self) -> int:
        return len(self.achievements)

    @property
    def world(self) -> tuple[int, int]:
        """Episodes with the same seed and world start alike."""
        return self.seed, self.world_episode

    @property
    def group(self) -> tuple[str, int, int]:
        """Run, seed and world: the group of group-relative advantages."""
        return self.run_id, *self.world


@dataclass(frozen=True, slots=True)
class EpisodePage(Listing[EpisodeSummary]):
    """A page of a list; `next_cursor` asks for the following one and is None on the last."""

    next_cursor: Cursor | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the newest matching episodes, at most `MAX_COUNTED` of them.

    The means are over episodes that are over and executed at least one step; None if there are none.
    """

    episodes: int
    steps: int
    decisions: int
    running: int
    queued: int
    mean_env_return: float | None
    mean_shaped_return: float | None
    mean_achievements: float | None


@dataclass(frozen=True, slots=True)
class DecisionSummary:
    """One decision without its observation, calls and states. `step_end` is exclusive; durations in milliseconds.

    `store_ms` is None until the next transaction of its episode has written it. model_calls: how often a model was
    asked for it, None where none was. waited_ms, parse_ms: parts of `inference_ms`, as `ModelCall` has them for each
    call; None where no model was asked or where they were not recorded. value, logprob, numbers: as `Decision` has
    them.
    """

    index: int
    step_start: int
    step_end: int
    env_reward: float
    reward: float
    ok: bool
    error_kind: str | None
    unlocked: tuple[str, ...]
    inference_ms: float
    env_step_ms: float
    overhead_ms: float
    store_ms: float | None
    actions: tuple[str, ...]
    model_calls: int | None = None
    waited_ms: float | None = None
    parse_ms: float | None = None
    value: float | None = None
    logprob: float | None = None
    numbers: dict[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class SavedReward:
    """A reward configuration under a name. n_scored: stored episodes with a stored return under it."""

    name: str
    config: RewardConfig
    saved_at: datetime
    n_scored: int


@dataclass(frozen=True, slots=True)
class Exchange:
    """One decision without states: observation, answer and reward.

    error_kind: why the call was invalid, or without a model call, why the decision failed.
    answered_s: seconds on the episode's clock.
    """

    index: int
    observation: str
    tool_calls: tuple[ToolCall, ...]
    model_call: ModelCall | None
    executed: tuple[str, ...]
    reward: float
    env_reward: float
    unlocked: tuple[str, ...]
    error_kind: str | None
    warning: str | None
    answered_s: float
    value: float | None = None
    logprob: float | None = None

    @property
    def actions(self) -> tuple[str, ...]:
        """All valid actions of all calls, in order."""
        return tuple(action for call in self.tool_calls for action in call.actions)


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run; see `core.types.Run` for its fields.

    counts: how many of its episodes have which status; statuses that no episode has are absent. started_at: of its
    first episode. last_end: of the newest episode that is over.
    """

    id: str
    name: str
    created_at: datetime
    config: dict[str, Any]
    n_episodes: int
    counts: dict[EpisodeStatus, int] = field(default_factory=dict[EpisodeStatus, int])
    training_session_id: str | None = None
    trace_correlation_id: str | None = None
    source: RunSource = RunSource.LAUNCH
    mode: str | None = None
    session_url: str | None = None
    batch_id: str | None = None
    started_at: datetime | None = None
    last_end: datetime | None = None

    @property
    def status(self) -> EpisodeStatus:
        """Running until the last episode is over, then the worst status of an episode."""
        is_open = any(not status.is_over for status in self.counts)
        if is_open and set(self.counts) != {EpisodeStatus.QUEUED}:
            return EpisodeStatus.RUNNING
        return next((status for status in _WORST_FIRST if status in self.counts), EpisodeStatus.COMPLETED)

    @property
    def finished_at(self) -> datetime | None:
        """When its last episode ended; None before."""
        return self.last_end if self.status.is_over else None

    @property
    def correlation_id(self) -> str:
        """The id that links this run's traces to a trainer's."""
        return self.trace_correlation_id or f"trace_{self.id}"
