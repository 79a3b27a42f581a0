"""Every domain record: frozen and typed. Derived values are properties, never stored twice.

Terms: a **run** is one launch of 1..n episodes. An **episode** is one world from reset to its end. A **decision**
is one policy call, with 0..n actions. A **step** is one environment step of one action. Decisions and steps count
from 0. `env_reward` is Crafter's own reward, `reward` the shaped one; they are never mixed.
Times called `*_at` are UTC; times called `*_s` are seconds on the episode's own monotonic clock, 0 at its start.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from core import data

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Number = TypeVar("Number", int, float)

# ---------------------------------------------------------------------------------------------- how it ended


class EpisodeStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    ABORTED = "aborted"
    INTERRUPTED = "interrupted"

    @property
    def is_over(self) -> bool:
        return self not in (EpisodeStatus.QUEUED, EpisodeStatus.RUNNING)


class StopReason(StrEnum):
    TERMINATED = "terminated"  # the character died
    TRUNCATED = "truncated"  # the environment's length was reached
    MAX_STEPS = "max_steps"
    MAX_DECISIONS = "max_decisions"
    MAX_OPS = "max_ops"
    MAX_SECONDS = "max_seconds"
    OPS_DONE = "ops_done"  # every operation of the given list was executed
    BUDGET = "budget"
    NO_TOOL_CALL = "no_tool_call"
    INVALID_ACTION = "invalid_action"  # no valid action was left in the call
    POLICY_ERROR = "policy_error"
    ENV_ERROR = "env_error"
    REWARD_ERROR = "reward_error"  # the reward strategy failed
    ABORTED = "aborted"
    INTERRUPTED = "interrupted"  # the worker process died

    @property
    def status(self) -> EpisodeStatus:
        """The status that this reason leads to in an episode with a step or more; see `Outcome.status`."""
        if self in _FAILURES:
            return EpisodeStatus.FAILED
        if self is StopReason.ABORTED:
            return EpisodeStatus.ABORTED
        if self is StopReason.INTERRUPTED:
            return EpisodeStatus.INTERRUPTED
        return EpisodeStatus.COMPLETED

    @property
    def is_known_at_scoring(self) -> bool:
        """Whether the last decision was known to be the last when it was scored: world over, or a counted limit."""
        return self in _KNOWN_AT_SCORING


_FAILURES = (
    StopReason.NO_TOOL_CALL,
    StopReason.INVALID_ACTION,
    StopReason.POLICY_ERROR,
    StopReason.ENV_ERROR,
    StopReason.REWARD_ERROR,
)
_KNOWN_AT_SCORING = (
    StopReason.TERMINATED,
    StopReason.TRUNCATED,
    StopReason.MAX_STEPS,
    StopReason.MAX_DECISIONS,
    StopReason.MAX_OPS,
    StopReason.OPS_DONE,
)


# The kind of error of an episode that reached a limit before its first step.
NO_STEP = "no_step"


@dataclass(frozen=True, slots=True)
class EpisodeError:
    """detail: a sentence. where: the last lines of a traceback, or empty."""

    kind: str
    detail: str
    where: str = ""


# ------------------------------------------------------------------------------------------------- rewards


@dataclass(frozen=True, slots=True)
class StateFacts:
    """The state that reward shaping sees. The mappings are shared: do not change them."""

    achievements: dict[str, bool] = field(default_factory=dict[str, bool])
    inventory: dict[str, int] = field(default_factory=dict[str, int])
    achievement_counts: dict[str, int] = field(default_factory=dict[str, int])
    position: tuple[int, int] | None = None


@dataclass(frozen=True)
class RewardConfig:
    """How decisions are rewarded. `core.rewards.checked_reward` validates it and makes names canonical.

    indicator_lambda: scales the total; None and 0 count as 1.0.
    weights: reward of an unlock by achievement name (default 1.0).
    k_limits: how many times per episode an unlock is paid (default 1; 0 or less: no limit).
    step_beta: stored and shown; has no effect.
    params: parameters of the strategy.
    """

    strategy: str = "consistent"
    indicator_lambda: float | None = 1.0
    weights: dict[str, float] = field(default_factory=dict[str, float])
    k_limits: dict[str, int] = field(default_factory=dict[str, int])
    enabled: bool = True
    mode: str = "decision_stepwise"
    step_beta: float = 0.0
    inventory_weights: dict[str, float] = field(default_factory=data.inventory_weights)
    achievement_count_weights: dict[str, float] = field(default_factory=data.achievement_count_weights)
    default_inventory_weight: float = 0.05
    default_achievement_count_weight: float = 0.05
    params: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def effective_lambda(self) -> float:
        return float(self.indicator_lambda) if self.indicator_lambda else 1.0

    @property
    def is_active(self) -> bool:
        """If False, every breakdown is empty and its total 0."""
        return self.enabled and self.mode == "decision_stepwise"

    @cached_property
    def config_hash(self) -> str:
        """16 hex digits; equal content gives an equal hash."""
        text = json.dumps(asdict(self), sort_keys=True, allow_nan=True, default=str)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class RewardComponent:
    """One part of a decision's reward. kind: indicator, achievement, inventory, achievement_count, or a strategy's
    own. `value = weight * delta`, before lambda."""

    kind: str
    name: str
    delta: float
    weight: float
    value: float
    count_prior: int | None = None
    count_limit: int | None = None


@dataclass(frozen=True, slots=True)
class RewardBreakdown:
    """A decision's reward in parts."""

    strategy: str
    effective_lambda: float
    components: tuple[RewardComponent, ...] = ()
    new_achievements: tuple[str, ...] = ()
    credited_achievements: tuple[str, ...] = ()

    @property
    def base(self) -> float:
        """Sum of the components' values."""
        return math.fsum(component.value for component in self.components)

    @property
    def total(self) -> float:
        """Effective lambda times base: the decision's reward."""
        return self.effective_lambda * self.base

    @property
    def indicator(self) -> int:
        """1 if base is positive or an achievement was unlocked, else 0."""
        return int(self.base > 0 or bool(self.new_achievements))

    @property
    def resource_reward(self) -> float:
        """Sum of the inventory and achievement-count components' values, before lambda."""
        return math.fsum(c.value for c in self.components if c.kind in ("inventory", "achievement_count"))

    @property
    def inventory_deltas(self) -> dict[str, int]:
        """Increases of inventory entries that were rewarded."""
        return {c.name: int(c.delta) for c in self.components if c.kind == "inventory"}

    @property
    def achievement_count_deltas(self) -> dict[str, int]:
        """Increases of achievement counts that were rewarded."""
        return {c.name: int(c.delta) for c in self.components if c.kind == "achievement_count"}


# ------------------------------------------------------------------------------------- what to play


@dataclass(frozen=True, slots=True)
class EnvConfig:
    """The world: area and view in cells, length in steps. The agent's picture is always 64x64."""

    area: tuple[int, int] = (64, 64)
    view: tuple[int, int] = (9, 9)
    length: int = 10_000


@dataclass(frozen=True, slots=True)
class PolicySpec:
    """A policy by its registered name, and its parameters."""

    name: str
    params: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """A saved connection to a model. key_name: the environment variable of the API key; the key is never stored."""

    name: str
    base_url: str
    model: str
    key_name: str = ""


class OnDone(StrEnum):
    """What happens when a world ends before a limit is reached."""

    TERMINATE = "terminate"
    RESET = "reset"  # continue in the seed's next world, as a new episode of the same run


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits, counted over a whole rollout. An op is one policy call or one environment turn of a decision.

    ops_given: the length of the list of ops if the request gave one; after it the rollout ends with `ops_done`.
    """

    max_steps: int = 1_000
    max_decisions: int = 1_000
    max_ops: int = 100_000
    max_time_s: float = 3_600.0  # checked between steps; a `WaitingPolicy` gets the remaining time
    ops_given: int | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """Totals of model calls so far.

    tokens: in and out; None if no server has counted any. cost_usd: of the calls whose price is known; None if of none.
    """

    calls: int = 0
    tokens: int | None = None
    cost_usd: float | None = None

    def plus(self, other: Spent) -> Spent:
        return Spent(
            self.calls + other.calls, sum_known((self.tokens, other.tokens)), sum_known((self.cost_usd, other.cost_usd))
        )


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits for all model calls of a run; None: no limit. Checked before each decision."""

    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost_usd: float | None = None

    @property
    def is_open(self) -> bool:
        return self.max_calls is None and self.max_tokens is None and self.max_cost_usd is None

    def is_spent(self, spent: Spent) -> bool:
        """Whether any limit is reached."""
        parts = (
            (spent.calls, self.max_calls),
            (spent.tokens or 0, self.max_tokens),
            (spent.cost_usd or 0.0, self.max_cost_usd),
        )
        return any(limit is not None and so_far >= limit for so_far, limit in parts)


@dataclass(frozen=True, slots=True)
class EpisodeSpec:
    """Everything that determines an episode. Validated once, by `core.plan`; the rest of the code trusts it."""

    seed: int
    policy: PolicySpec
    policy_seed: int
    world_episode: int = 1
    env: EnvConfig = EnvConfig()
    reward: RewardConfig = field(default_factory=RewardConfig)
    limits: Limits = Limits()
    on_done: OnDone = OnDone.TERMINATE
    max_actions_per_call: int = 5
    engine_version: str = ""


# --------------------------------------------------------------------------------------- observations


@dataclass(frozen=True, slots=True)
class Sprite:
    """A moving object. texture: file name in Crafter's assets without suffix. x, y: cell of the local view."""

    texture: str
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything needed to draw one step at any size, without pixels.

    grid: width and height of the local view in cells (9, 7 by default).
    materials: semantic ids, x-major (index x * height + y), 0 outside the world.
    """

    step: int
    grid: tuple[int, int]
    materials: tuple[int, ...]
    sprites: tuple[Sprite, ...]
    inventory: dict[str, int]
    sleeping: bool

    @property
    def is_known(self) -> bool:
        """False where no picture was recorded, as in some imports: nothing but cells outside of the world."""
        return any(self.materials)

    @property
    def daylight(self) -> float:
        """0 (darkest) to 1 (brightest), by Crafter's formula; `env.simulation.daylight_at` is exact to the last bit."""
        progress = (self.step / 300) % 1 + 0.3
        return 1 - abs(math.cos(math.pi * progress)) ** 3


@dataclass(frozen=True, slots=True)
class StateRecord:
    """The world after reset or after a step."""

    facts: StateFacts
    scene: Scene
    state_digest: str
    world_digest: str


@dataclass(frozen=True, slots=True)
class Step:
    """One environment step. `index` counts from 0 in the episode; its state is the one after the action."""

    index: int
    action: str
    env_reward: float
    terminated: bool
    truncated: bool
    state: StateRecord


def first_unlocks(steps: Iterable[Step]) -> dict[str, int]:
    """Each achievement that is unlocked after one of these steps, with the index of the first such step, in order."""
    unlocks: dict[str, int] = {}
    for step in steps:
        for name, unlocked in step.state.facts.achievements.items():
            if unlocked:
                unlocks.setdefault(name, step.index)
    return unlocks


# ----------------------------------------------------------------------------------------- decisions


@dataclass(frozen=True, slots=True)
class DroppedAction:
    """An action of a call that was not accepted. reason: a sentence."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call. arguments: the raw text. actions: the valid actions parsed from it."""

    name: str
    arguments: str
    call_id: str = ""
    actions: tuple[str, ...] = ()
    dropped: tuple[DroppedAction, ...] = ()
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One HTTP request of a model call. start_ms: from the start of the call. status: None without a response.

    error: a failure below HTTP (connection refused, timeout), or empty.
    """

    start_ms: float
    duration_ms: float
    status: int | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A token of a model's answer and the natural logarithm of its probability."""

    token: str
    logprob: float


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A field that a model's server refused, so this call was made without it.

    name: such as `temperature`, or `messages.reasoning` for a nested one. sent_as: the name under which it was sent
    instead, or empty. reason: the server's message.
    """

    name: str
    reason: str
    sent_as: str = ""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """The evidence of one call to a language model; None on decisions of other policies.

    provider: the host. model: the name that the server answered with, else the requested one.
    request: the body as sent; it never contains a key. response_text: the body as received, with pieces of the key
    removed. content, reasoning: the assistant's text, and its thinking if the server returns it.
    tokens_*: as counted by the server, None if it does not. cost_usd: by the price table `price_version`, None without
    a known price; server_cost_usd: as reported by the server.
    latency_ms: the whole call, with all attempts and the waits between them; parse_ms: reading the answer, not part of
    it; paused_ms: waited after the call, as the server asked or as backoff.
    attempts: every HTTP request; retries: how many of them were repeats. left_out: fields that this server refused.
    request_id: from the header, else the body's id. headers: rate limits and server timing, lower-case names.
    error_kind: why the answer was invalid, None for a valid one.
    token_logprobs: of the answer's tokens, in order; empty if they were not asked for.
    earlier: invalid answers for the same decision, oldest first; an empty `request` there means the same as this one.
    """

    provider: str
    model: str
    request: dict[str, Any]
    response_text: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    tokens_reasoning: int | None = None
    cost_usd: float | None = None
    price_version: str | None = None
    latency_ms: float | None = None
    retries: int = 0
    request_id: str | None = None
    profile: str = ""
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    attempts: tuple[Attempt, ...] = ()
    finish_reason: str | None = None
    content: str = ""
    reasoning: str = ""
    error_kind: str | None = None
    error_detail: str = ""
    earlier: tuple[ModelCall, ...] = ()
    parse_ms: float | None = None
    paused_ms: float = 0.0
    left_out: tuple[LeftOut, ...] = ()
    server_cost_usd: float | None = None
    token_logprobs: tuple[TokenLogprob, ...] = ()

    @property
    def all_calls(self) -> tuple[ModelCall, ...]:
        """All calls for this decision, oldest first."""
        return (*self.earlier, self)

    @property
    def waited_ms(self) -> float:
        """Time waited between and after attempts: for Retry-After or as backoff."""
        pairs = zip(self.attempts, self.attempts[1:], strict=False)
        between = (max(0.0, later.start_ms - earlier.start_ms - earlier.duration_ms) for earlier, later in pairs)
        return sum(between, self.paused_ms)


def sum_known(values: Iterable[Number | None]) -> Number | None:
    """Sum of the values that are not None; None if all are."""
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known else None


@dataclass(frozen=True, slots=True)
class PolicyReply:
    """A policy's answer to one observation. error_kind: None if there is an action to execute."""

    tool_calls: tuple[ToolCall, ...]
    model_call: ModelCall | None = None
    error_kind: str | None = None
    error_detail: str = ""
    warning: str | None = None

    @property
    def actions(self) -> tuple[str, ...]:
        """All valid actions of all calls, in order."""
        return tuple(action for call in self.tool_calls for action in call.actions)


@dataclass(frozen=True, slots=True)
class Timing:
    """Times in seconds on the episode's clock; durations are derived, in milliseconds."""

    agent_request_start_s: float
    agent_response_s: float
    env_steps_s: tuple[tuple[float, float], ...]
    decision_ready_s: float
    store_ms: float | None = None  # known only afterwards; written with the next transaction

    @property
    def inference_ms(self) -> float:
        return (self.agent_response_s - self.agent_request_start_s) * 1000

    @property
    def env_step_ms(self) -> float:
        return sum(end - start for start, end in self.env_steps_s) * 1000

    @property
    def decision_ms(self) -> float:
        """From the policy's answer until the decision was ready to be stored."""
        return (self.decision_ready_s - self.agent_response_s) * 1000

    @property
    def overhead_ms(self) -> float:
        """`decision_ms` without the environment steps."""
        return max(0.0, self.decision_ms - self.env_step_ms)


@dataclass(frozen=True, slots=True)
class Decision:
    """One policy call and its steps.

    observation: the text given to the policy.
    before: the facts before its first step.
    unlocked: achievements false before and true after; unique_unlocked: those not seen before in the episode.
    not_executed: valid actions after a limit or the episode's end.
    error: why no action was executed, or what failed during the decision.
    value: the agent's estimate of the return from here. logprob: of its actions, natural logarithm. None: not known.
    numbers: further numbers of the agent by name, such as `entropy`.
    """

    index: int
    observation: str
    tool_calls: tuple[ToolCall, ...]
    steps: tuple[Step, ...]
    not_executed: tuple[str, ...]
    before: StateFacts
    reward: RewardBreakdown
    unlocked: tuple[str, ...]
    unique_unlocked: tuple[str, ...]
    timing: Timing
    model_call: ModelCall | None = None
    error: EpisodeError | None = None
    warning: str | None = None
    value: float | None = None
    logprob: float | None = None
    numbers: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def env_reward(self) -> float:
        """Sum of the environment rewards of its steps."""
        return math.fsum(step.env_reward for step in self.steps)

    @property
    def after(self) -> StateFacts:
        """The facts after its last step."""
        return self.steps[-1].state.facts if self.steps else self.before

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions that were executed."""
        return tuple(step.action for step in self.steps)


# --------------------------------------------------------------------------------------- episodes and runs


@dataclass(frozen=True, slots=True)
class Outcome:
    stop_reason: StopReason
    finished_at: datetime
    error: EpisodeError | None = None

    @property
    def status(self) -> EpisodeStatus:
        """The stop reason's status, but failed if no step was played."""
        if self.error is not None and self.error.kind == NO_STEP:
            return EpisodeStatus.FAILED
        return self.stop_reason.status


@dataclass(frozen=True, slots=True)
class Episode:
    """One world from reset to its end. initial: None if reset failed."""

    id: str
    run_id: str
    spec: EpisodeSpec
    initial: StateRecord | None
    decisions: tuple[Decision, ...]
    started_at: datetime
    outcome: Outcome | None = None  # None while it is running

    @property
    def stop_reason(self) -> StopReason | None:
        """None while it is running."""
        return self.outcome.stop_reason if self.outcome else None

    @property
    def status(self) -> EpisodeStatus:
        return self.outcome.status if self.outcome else EpisodeStatus.RUNNING

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps in order."""
        return tuple(step for decision in self.decisions for step in decision.steps)

    @property
    def length(self) -> int:
        """Environment steps executed."""
        return sum(len(decision.steps) for decision in self.decisions)

    @property
    def env_return(self) -> float:
        """Sum of the environment's rewards."""
        return math.fsum(decision.env_reward for decision in self.decisions)

    @property
    def shaped_return(self) -> float:
        """Sum of the decisions' shaped rewards."""
        return math.fsum(decision.reward.total for decision in self.decisions)

    @property
    def unlock_steps(self) -> dict[str, int]:
        """Each unlocked achievement with the index of the step that unlocked it, in order."""
        return first_unlocks(self.steps)


@dataclass(frozen=True, slots=True)
class QueuedEpisode:
    """An episode waiting for a worker."""

    id: str
    spec: EpisodeSpec
    group_index: int = 0  # i-th episode of its seed in this run


class RunSource(StrEnum):
    """What started a run."""

    LAUNCH = ""  # the Launch page
    SERVICE = "service"  # a request of a trainer
    BATCH = "batch"
    RECORDED = "recorded"  # an agent of another program
    IMPORTED = "imported"


@dataclass(frozen=True, slots=True)
class Run:
    """One launch of 1..n episodes. config: as entered at launch.

    source: what started it. mode: `rl` or `eval`. training_session_id, trace_correlation_id, session_url (its base
    URL): of the trainer that asked for it. batch_id: shared by the runs of a batch. None: not part of any.
    """

    id: str
    created_at: datetime
    episodes: tuple[QueuedEpisode, ...]
    name: str = ""
    config: dict[str, Any] = field(default_factory=dict[str, Any])
    training_session_id: str | None = None
    trace_correlation_id: str | None = None
    source: RunSource = RunSource.LAUNCH
    mode: str | None = None
    session_url: str | None = None
    batch_id: str | None = None


# ------------------------------------------------------------------------------------------------- seeds


class Difficulty(StrEnum):
    """Difficulty of a seed's start."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"
    CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class SeedDescription:
    """Traits of a seed's world, for choosing seeds.

    trees, cows, hostiles: counts within Manhattan distance `radius` of the start.
    distances: Manhattan distance in cells from the start to the nearest water, stone, coal, iron, diamond;
    None if the world has none.
    picture_png: the whole world, one PNG.
    """

    seed: int
    world_episode: int
    env: EnvConfig
    engine_version: str
    radius: int
    trees: int
    cows: int
    hostiles: int
    difficulty: Difficulty
    start: tuple[int, int]
    inventory: dict[str, int]
    distances: dict[str, int | None]
    picture_png: bytes
