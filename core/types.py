"""Every domain record: frozen and typed. Derived values are properties, never stored twice.

Words: a **run** is one launch of 1..n episodes. An **episode** is one world from reset to its end. A **decision**
is one policy call, with 0..n actions. A **step** is one environment step of one action. Decisions and steps count
from 0. `env_reward` is what Crafter pays, `reward` is what the shaping pays; the two are never mixed.
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

from core import data

Number = TypeVar("Number", int, float)

# ---------------------------------------------------------------------------------------------- how it ended


class EpisodeStatus(StrEnum):
    """Where an episode stands."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    ABORTED = "aborted"
    INTERRUPTED = "interrupted"

    @property
    def is_over(self) -> bool:
        """True once nothing more will be recorded."""
        return self not in (EpisodeStatus.QUEUED, EpisodeStatus.RUNNING)


class StopReason(StrEnum):
    """Why an episode ended."""

    TERMINATED = "terminated"  # the player died
    TRUNCATED = "truncated"  # the environment's length was reached
    MAX_STEPS = "max_steps"
    MAX_DECISIONS = "max_decisions"
    MAX_OPS = "max_ops"
    MAX_SECONDS = "max_seconds"
    OPS_DONE = "ops_done"  # the given list of ops was worked through
    BUDGET = "budget"
    NO_TOOL_CALL = "no_tool_call"
    INVALID_ACTION = "invalid_action"  # no valid action was left in the call
    POLICY_ERROR = "policy_error"
    ENV_ERROR = "env_error"
    REWARD_ERROR = "reward_error"  # the reward strategy failed
    ABORTED = "aborted"
    INTERRUPTED = "interrupted"  # the process died

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
    def is_foreseen(self) -> bool:
        """Whether the last decision was known to be the last when it was scored: the world over, or a counted cap."""
        return self in _FORESEEN


_FAILURES = (
    StopReason.NO_TOOL_CALL,
    StopReason.INVALID_ACTION,
    StopReason.POLICY_ERROR,
    StopReason.ENV_ERROR,
    StopReason.REWARD_ERROR,
)
_FORESEEN = (
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
    """What went wrong: a short kind, a sentence, and where (a traceback's last lines, or empty)."""

    kind: str
    detail: str
    where: str = ""


# ------------------------------------------------------------------------------------------------- rewards


@dataclass(frozen=True, slots=True)
class StateFacts:
    """What reward shaping may look at. Mappings are not to be changed by whoever holds them."""

    achievements: dict[str, bool] = field(default_factory=dict[str, bool])
    inventory: dict[str, int] = field(default_factory=dict[str, int])
    achievement_counts: dict[str, int] = field(default_factory=dict[str, int])
    position: tuple[int, int] | None = None


@dataclass(frozen=True)
class RewardConfig:
    """How decisions are rewarded. `core.rewards.checked` says whether it can be used and gives canonical names.

    indicator_lambda: scales the total; None and 0 count as 1.0.
    weights: pay for each unlock by achievement name (1.0 where absent).
    k_limits: how often an unlock is paid in one episode (1 where absent; 0 or less means no limit).
    step_beta: carried and shown; multiplies nothing.
    params: typed parameters of a strategy of one's own.
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
        """What the sum of the components is multiplied by."""
        return float(self.indicator_lambda) if self.indicator_lambda else 1.0

    @property
    def is_active(self) -> bool:
        """False where every breakdown is empty and pays 0."""
        return self.enabled and self.mode == "decision_stepwise"

    @cached_property
    def config_hash(self) -> str:
        """16 hex digits that name this configuration; equal content gives an equal hash."""
        text = json.dumps(asdict(self), sort_keys=True, allow_nan=True, default=str)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class RewardComponent:
    """One part of a decision's reward. kind: indicator, achievement, inventory, achievement_count, or one of a
    strategy's own. `value = weight * delta`, before lambda."""

    kind: str
    name: str
    delta: float
    weight: float
    value: float
    count_prior: int | None = None
    count_limit: int | None = None


@dataclass(frozen=True, slots=True)
class RewardBreakdown:
    """What a decision earned, in parts."""

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
        """1 when something positive was earned or an achievement was unlocked, else 0."""
        return int(self.base > 0 or bool(self.new_achievements))

    @property
    def resource_reward(self) -> float:
        """Sum of the inventory and achievement-count components' values, before lambda."""
        return math.fsum(c.value for c in self.components if c.kind in ("inventory", "achievement_count"))

    @property
    def inventory_deltas(self) -> dict[str, int]:
        """Inventory entries that rose and were paid for, with their rise."""
        return {c.name: int(c.delta) for c in self.components if c.kind == "inventory"}

    @property
    def achievement_count_deltas(self) -> dict[str, int]:
        """Achievement counts that rose and were paid for, with their rise."""
        return {c.name: int(c.delta) for c in self.components if c.kind == "achievement_count"}


# ------------------------------------------------------------------------------------- what will be played


@dataclass(frozen=True, slots=True)
class EnvConfig:
    """The world: area and view in cells, length in steps. The agent's picture is always 64x64."""

    area: tuple[int, int] = (64, 64)
    view: tuple[int, int] = (9, 9)
    length: int = 10_000


@dataclass(frozen=True, slots=True)
class PolicySpec:
    """Which policy plays, by its registered name, and its parameters."""

    name: str
    params: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """How a model is reached, kept for the next launch. key_name names the variable of the key, which is not kept."""

    name: str
    base_url: str
    model: str
    key_name: str = ""


class OnDone(StrEnum):
    """What follows when a world ends before the caps are reached."""

    TERMINATE = "terminate"
    RESET = "reset"  # go on in the seed's next world, as a new episode of the same run


@dataclass(frozen=True, slots=True)
class Limits:
    """Caps, counted over a whole rollout. An op is one policy call or one environment turn of a decision.

    ops_given: the length of a list of ops to work through, where a request gave one; its end is `ops_done`.
    """

    max_steps: int = 1_000
    max_decisions: int = 1_000
    max_ops: int = 100_000
    max_time_s: float = 3_600.0  # looked at between steps; `policies.WaitingPolicy` is told what is left of it
    ops_given: int | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """What the model calls of a run have come to so far. cost_usd counts the calls whose price is known."""

    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0

    def plus(self, other: Spent) -> Spent:
        """Both together."""
        return Spent(self.calls + other.calls, self.tokens + other.tokens, self.cost_usd + other.cost_usd)


@dataclass(frozen=True, slots=True)
class Budget:
    """What the model calls of a whole run may come to; None leaves a part open. Looked at before each decision."""

    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost_usd: float | None = None

    @property
    def is_open(self) -> bool:
        """True where nothing is limited."""
        return self.max_calls is None and self.max_tokens is None and self.max_cost_usd is None

    def is_spent(self, spent: Spent) -> bool:
        """Whether any part is reached."""
        parts = (
            (spent.calls, self.max_calls),
            (spent.tokens, self.max_tokens),
            (spent.cost_usd, self.max_cost_usd),
        )
        return any(most is not None and so_far >= most for so_far, most in parts)


@dataclass(frozen=True, slots=True)
class EpisodeSpec:
    """All that decides an episode. Validated once, by `core.plan`; everything inside trusts it."""

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


# --------------------------------------------------------------------------------------- what was observed


@dataclass(frozen=True, slots=True)
class Sprite:
    """One thing that moves: texture (a file name of Crafter's assets, without suffix) at a cell of the local view."""

    texture: str
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Scene:
    """What is needed to draw one step at any size. No pixels.

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
    def daylight(self) -> float:
        """0 (darkest) to 1 (brightest), as Crafter computes it from the step."""
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


# ----------------------------------------------------------------------------------------- what was decided


@dataclass(frozen=True, slots=True)
class DroppedAction:
    """An action of a call that was not taken over, and why, in a sentence."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call as it came (`arguments` is the raw text) and as it was read."""

    name: str
    arguments: str
    call_id: str = ""
    actions: tuple[str, ...] = ()
    dropped: tuple[DroppedAction, ...] = ()
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One HTTP request of a model call. start_ms counts from the call's beginning; status is None where none came.

    error: what went wrong below HTTP (refused, timed out), or empty.
    """

    start_ms: float
    duration_ms: float
    status: int | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A field that a model's server refused, so that this call was made without it.

    name: `temperature` for a field of the body, `messages.reasoning` or `tools.strict` for one further in. sent_as: the
    name under which the server takes it, where it was sent under that one. reason: the server's words.
    """

    name: str
    reason: str
    sent_as: str = ""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """The evidence of one call to a language model; None on decisions of other policies.

    provider: the host that was asked. model: the model that answered, as it names itself, else the one asked for.
    request: the body as it was sent (which never holds a key). response_text: the answer's body as it came; pieces of
    the key in it are replaced. content, reasoning: the assistant's text, and its thinking where the server gives it.
    tokens_*: as the server counts them, None where it does not say. cost_usd: None where no price is known;
    price_version names the price table; server_cost_usd: what the server itself says it cost. latency_ms: the whole
    call, all attempts and the waits between them. attempts: every HTTP request of it. retries: how many of them were
    repeated. left_out: fields of ours that the request does without, because this server refused them. request_id: of
    the header, else the body's id. headers: rate limits and the server's own time, lower-case names. error_kind: why
    the answer could not be used, None where it could. parse_ms: reading tool calls, usage and errors out of the answer,
    which is not part of latency_ms; None where it was not recorded. paused_ms: how long the policy waited after it, as
    the server asked or to back off, before it went on.
    earlier: invalid answers for the same decision, oldest first. Their `request` is empty where it was this one's.
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

    @property
    def all_calls(self) -> tuple[ModelCall, ...]:
        """It and the earlier ones, oldest first."""
        return (*self.earlier, self)

    @property
    def waited_ms(self) -> float:
        """How long it waited between its attempts and after them: for a server's Retry-After, or to back off."""
        pairs = zip(self.attempts, self.attempts[1:], strict=False)
        between = (max(0.0, later.start_ms - earlier.start_ms - earlier.duration_ms) for earlier, later in pairs)
        return sum(between, self.paused_ms)


def sum_known(values: Iterable[Number | None]) -> Number | None:
    """The sum of what is known; None where nothing is, which is not 0."""
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known else None


@dataclass(frozen=True, slots=True)
class PolicyReply:
    """What a policy answers to one observation. `error_kind` is None where there is something to execute."""

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
    """When things happened, in seconds on the episode's clock; durations are derived, in milliseconds."""

    agent_request_start_s: float
    agent_response_s: float
    env_steps_s: tuple[tuple[float, float], ...]
    decision_ready_s: float
    store_ms: float | None = None  # known only afterwards; written with the next transaction

    @property
    def inference_ms(self) -> float:
        """From asking the policy until it answered."""
        return (self.agent_response_s - self.agent_request_start_s) * 1000

    @property
    def env_step_ms(self) -> float:
        """All environment steps of the decision together."""
        return sum(end - start for start, end in self.env_steps_s) * 1000

    @property
    def env_step_end_s(self) -> float | None:
        """When the last environment step ended; None where none was taken."""
        return self.env_steps_s[-1][1] if self.env_steps_s else None

    @property
    def decision_ms(self) -> float:
        """From the policy's answer until the decision was whole and ready to be stored."""
        return (self.decision_ready_s - self.agent_response_s) * 1000

    @property
    def overhead_ms(self) -> float:
        """What of `decision_ms` was not environment."""
        return max(0.0, self.decision_ms - self.env_step_ms)


@dataclass(frozen=True, slots=True)
class Decision:
    """One policy call and all that followed from it.

    observation: the text that was given.
    before: the facts before its first step.
    unlocked: achievements false before and true after; unique_unlocked: those not seen before in the episode.
    not_executed: valid actions that a cap or the episode's end cut off.
    error: why the decision led to nothing, or what broke inside it.
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

    @property
    def ach_delta(self) -> int:
        """How many achievements it unlocked."""
        return len(self.unlocked)

    @property
    def unique_delta(self) -> int:
        """How many achievements it unlocked that the episode had not seen."""
        return len(self.unique_unlocked)


# --------------------------------------------------------------------------------------- episodes and runs


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an episode ended."""

    stop_reason: StopReason
    finished_at: datetime
    error: EpisodeError | None = None

    @property
    def status(self) -> EpisodeStatus:
        """The status that the stop reason leads to, but failed where the error is that no step was played."""
        if self.error is not None and self.error.kind == NO_STEP:
            return EpisodeStatus.FAILED
        return self.stop_reason.status


@dataclass(frozen=True, slots=True)
class Episode:
    """One world, from reset to its end, with everything that happened. `initial` is None where reset failed."""

    id: str
    run_id: str
    spec: EpisodeSpec
    initial: StateRecord | None
    decisions: tuple[Decision, ...]
    started_at: datetime
    outcome: Outcome | None = None  # None while it is running

    @property
    def stop_reason(self) -> StopReason | None:
        """Why it ended; None while it is running."""
        return self.outcome.stop_reason if self.outcome else None

    @property
    def status(self) -> EpisodeStatus:
        """Where it stands."""
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
        unlocks: dict[str, int] = {}
        for step in self.steps:
            for name, unlocked in step.state.facts.achievements.items():
                if unlocked:
                    unlocks.setdefault(name, step.index)
        return unlocks


@dataclass(frozen=True, slots=True)
class QueuedEpisode:
    """An episode that waits for a worker."""

    id: str
    spec: EpisodeSpec
    group_index: int = 0  # i-th episode of its seed in this run


@dataclass(frozen=True, slots=True)
class Run:
    """One launch: its name, configuration as the person gave it, and its episodes."""

    id: str
    created_at: datetime
    episodes: tuple[QueuedEpisode, ...]
    name: str = ""
    config: dict[str, Any] = field(default_factory=dict[str, Any])
    training_session_id: str | None = None
    trace_correlation_id: str | None = None

    @property
    def correlation_id(self) -> str:
        """What joins this run's traces to a trainer's."""
        return self.trace_correlation_id or f"trace_{self.id}"


# ------------------------------------------------------------------------------------------------- seeds


class Difficulty(StrEnum):
    """How hard the start of a seed is."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"
    CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class SeedDescription:
    """What a person wants to know of a seed before choosing it.

    trees, cows, hostiles: how many stand within `radius` (Manhattan) of the start.
    distances: Manhattan distance in cells from the start to the nearest water, stone, coal, iron, diamond;
    None where the world has none.
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
