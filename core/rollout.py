"""The rollout loop: one policy plays one world.

`run_episode` calls the policy, executes its actions, scores the decision and records it, until a limit, the world or a
user ends the episode. Every failure becomes the episode's `StopReason` in one place. `run_rollout` also plays the
seed's next worlds if the spec says so. Neither knows where the recorder stores things.
"""

from __future__ import annotations

import math
import time
import traceback
import uuid
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal, Protocol

from core.env import CrafterEnv
from core.env.observation import observation_text
from core.env.rules import ACTION_INDEX
from core.errors import CraftscopeError, PolicyError, RolloutError
from core.policies import (
    HISTORY_LENGTH,
    OUT_OF_BUDGET,
    OUT_OF_TIME,
    STOPPED,
    BudgetSpent,
    PicturePolicy,
    Policy,
    WaitingPolicy,
    make_policy,
)
from core.rewards import RewardShaper
from core.types import (
    NO_STEP,
    Decision,
    Episode,
    EpisodeError,
    EpisodeSpec,
    EpisodeStatus,
    Limits,
    ModelCall,
    OnDone,
    Outcome,
    PolicyReply,
    QueuedEpisode,
    RewardBreakdown,
    Spent,
    StateFacts,
    StateRecord,
    Step,
    StopReason,
    Timing,
)

Clock = Callable[[], float]
ShouldStop = Callable[[], bool]
OnError = Literal["record", "raise"]

# Error kinds of a policy that end an episode without failing it.
_NO_FAILURES = {OUT_OF_TIME: StopReason.MAX_SECONDS, STOPPED: StopReason.ABORTED, OUT_OF_BUDGET: StopReason.BUDGET}


class Recorder(Protocol):
    """Records an episode while it runs. Its own errors (a full disk) pass through the loop to the caller."""

    def start(self, started_at: datetime, initial: StateRecord) -> None:
        """Called once the world exists. `started_at` is UTC."""

    def record(self, decision: Decision) -> None:
        """The decision is stored when this returns."""

    def finish(self, outcome: Outcome) -> None:
        """Called once, after the last decision."""


class NoRecorder(Recorder):
    """Stores nothing."""


@dataclass
class Usage:
    """How much of its limits a rollout has used; shared by its worlds.

    Before a decision the counted limits are checked, then time and budget; before a decision's first action the ops;
    before each action the steps and the time.
    """

    limits: Limits
    clock: Clock
    budget_spent: BudgetSpent = lambda spent: False  # of the whole run, which other workers share
    started_s: float = field(init=False)
    steps: int = 0
    decisions: int = 0
    ops: int = 0

    def __post_init__(self) -> None:
        self.started_s = self.clock()

    def time_left_s(self) -> float:
        """Seconds until `max_time_s`; 0 or less after it."""
        return self.started_s + self.limits.max_time_s - self.clock()

    def counted_limit_reached(self) -> StopReason | None:
        """Known as soon as a decision is executed, so that its reward knows whether it was the last one."""
        if self.decisions >= self.limits.max_decisions:
            return StopReason.MAX_DECISIONS
        if self.steps >= self.limits.max_steps:
            return StopReason.MAX_STEPS
        return self.ops_limit_reached()

    def budget_or_time_reached(self) -> StopReason | None:
        if self.budget_spent(Spent()):
            return StopReason.BUDGET
        return StopReason.MAX_SECONDS if self.time_left_s() <= 0 else None

    def step_limit_reached(self) -> StopReason | None:
        """The limit that allows no further step: steps or time."""
        if self.steps >= self.limits.max_steps:
            return StopReason.MAX_STEPS
        return StopReason.MAX_SECONDS if self.time_left_s() <= 0 else None

    def ops_limit_reached(self) -> StopReason | None:
        if self.limits.ops_given is not None and self.ops >= self.limits.ops_given:
            return StopReason.OPS_DONE
        return StopReason.MAX_OPS if self.ops >= self.limits.max_ops else None


class _Stop(Exception):
    """Ends the loop with a reason."""

    def __init__(self, reason: StopReason, error: EpisodeError | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.error = error


def run_episode(
    spec: EpisodeSpec,
    env: CrafterEnv,
    policy: Policy,
    shaper: RewardShaper,
    recorder: Recorder,
    clock: Clock = time.monotonic,
    should_stop: ShouldStop = lambda: False,
    *,
    episode_id: str = "",
    run_id: str = "",
    usage: Usage | None = None,
    on_error: OnError = "record",
) -> Episode:
    """Play one world from reset to its end.

    If the policy, the environment or the reward strategy fails, the outcome has the error, and earlier decisions are
    kept. With `on_error="raise"` it is recorded and then raised as RolloutError. Errors of the recorder are raised as
    they are. An episode without a step has an error unless it was aborted.
    """
    loop = _Loop(spec, env, policy, shaper, recorder, clock, should_stop, usage or Usage(spec.limits, clock))
    started_at = datetime.now(UTC)
    try:
        loop.reset(started_at)
        while True:
            loop.stop_if_due()
            loop.play_decision()
    except _Stop as stop:
        outcome = loop.outcome(stop)
    _finish(recorder, outcome, on_error)
    return Episode(
        id=episode_id or uuid.uuid4().hex,
        run_id=run_id or uuid.uuid4().hex,
        spec=spec,
        initial=loop.initial,
        decisions=tuple(loop.decisions),
        started_at=started_at,
        outcome=outcome,
    )


def run_rollout(
    spec: EpisodeSpec,
    *,
    episode_id: str,
    run_id: str,
    recorder_for: Callable[[QueuedEpisode], Recorder],
    should_stop: ShouldStop = lambda: False,
    on_error: OnError = "record",
    budget_spent: BudgetSpent = lambda spent: False,
) -> tuple[Episode, ...]:
    """Play `spec`, and after each finished world the seed's next one while `on_done` is `reset` and limits allow.

    Each world is an Episode with its own recorder and fresh credit counts; limits are shared.
    budget_spent: called before each decision and each further model call with what is spent but not recorded yet; if
    true, the episode ends with `BUDGET`.
    """
    usage = Usage(spec.limits, time.monotonic, budget_spent)
    env = CrafterEnv.from_config(spec.env, observe=False)
    episodes: list[Episode] = []
    queued = QueuedEpisode(episode_id, spec)
    while True:
        recorder = recorder_for(queued)
        try:
            with _failing_as(StopReason.REWARD_ERROR):
                shaper = RewardShaper(queued.spec.reward)
        except _Stop as stop:
            return (*episodes, _not_started(queued, run_id, recorder, stop, on_error))
        policy = make_policy(spec.policy, seed=spec.policy_seed, max_actions=spec.max_actions_per_call)
        with closing(policy):
            episode = run_episode(
                queued.spec,
                env,
                policy,
                shaper,
                recorder,
                usage.clock,
                should_stop,
                episode_id=queued.id,
                run_id=run_id,
                usage=usage,
                on_error=on_error,
            )
        episodes.append(episode)
        world_over = episode.stop_reason in (StopReason.TERMINATED, StopReason.TRUNCATED)
        if spec.on_done is not OnDone.RESET or not world_over:
            return tuple(episodes)
        if usage.counted_limit_reached() or usage.budget_or_time_reached():
            return tuple(episodes)
        following = replace(queued.spec, world_episode=queued.spec.world_episode + 1)
        queued = QueuedEpisode(uuid.uuid4().hex, following, queued.group_index)


def _not_started(queued: QueuedEpisode, run_id: str, recorder: Recorder, stop: _Stop, on_error: OnError) -> Episode:
    """An episode that failed before its world was made."""
    started_at = datetime.now(UTC)
    outcome = Outcome(stop.reason, started_at, stop.error)
    _finish(recorder, outcome, on_error)
    return Episode(queued.id, run_id, queued.spec, None, (), started_at, outcome)


def _finish(recorder: Recorder, outcome: Outcome, on_error: OnError) -> None:
    recorder.finish(outcome)
    if on_error == "raise" and outcome.error is not None:
        raise RolloutError(outcome.stop_reason.value, outcome.error.detail)


@dataclass
class _Loop:
    """The state of one episode in play. initial: None until the world exists."""

    spec: EpisodeSpec
    env: CrafterEnv
    policy: Policy
    shaper: RewardShaper
    recorder: Recorder
    clock: Clock
    should_stop: ShouldStop
    usage: Usage
    initial: StateRecord | None = None
    decisions: list[Decision] = field(default_factory=list[Decision])
    _facts: StateFacts = field(default_factory=StateFacts)
    _seen: set[str] = field(default_factory=set[str])
    _step_index: int = 0
    _env_return: float = 0.0
    _last: Step | None = None

    def __post_init__(self) -> None:
        self._epoch_s = self.clock()

    def now(self) -> float:
        """Seconds since the episode's start."""
        return self.clock() - self._epoch_s

    def reset(self, started_at: datetime) -> None:
        """Make the world, start the recorder, reset the policy."""
        with _failing_as(StopReason.ENV_ERROR):
            self.env.reset(seed=self.spec.seed, options={"episode": self.spec.world_episode})
            self.initial = self.env.state()
        self._facts = self.initial.facts
        self._seen = {name for name, unlocked in self._facts.achievements.items() if unlocked}
        self.recorder.start(started_at, self.initial)
        with _failing_as(StopReason.POLICY_ERROR):
            self.policy.reset(self.spec.policy_seed)

    def stop_if_due(self) -> None:
        """Raises _Stop if the world is over, a limit is reached, or a stop is requested."""
        if self._last is not None and self._last.terminated:
            raise _Stop(StopReason.TERMINATED)
        if self._last is not None and self._last.truncated:
            raise _Stop(StopReason.TRUNCATED)
        # Counted limits first: the decision that reached one was scored as the last one.
        if reason := self.usage.counted_limit_reached():
            raise _Stop(reason)
        if self.should_stop():
            raise _Stop(StopReason.ABORTED)
        if reason := self.usage.budget_or_time_reached():
            raise _Stop(reason)

    def play_decision(self) -> None:
        """Call the policy, execute, score, record. A decision without a step is also recorded."""
        called_s = self.now()
        text, reply, stop = self._call_policy()
        answered_s = self.now()
        self.usage.decisions += 1
        self.usage.ops += 1
        before = self._facts
        steps: list[Step] = []
        spans: list[tuple[float, float]] = []
        if stop is None:
            stop = _no_actions(reply) or self._act(reply, steps, spans)
        after = steps[-1].state.facts if steps else before
        reward, stop = self._score(before, after, steps, stop)
        unlocked = tuple(n for n, got in after.achievements.items() if got and not before.achievements.get(n, False))
        decision = Decision(
            index=len(self.decisions),
            observation=text,
            tool_calls=reply.tool_calls,
            steps=tuple(steps),
            not_executed=reply.actions[len(steps) :],
            before=before,
            reward=reward,
            unlocked=unlocked,
            unique_unlocked=tuple(name for name in unlocked if name not in self._seen),
            timing=Timing(called_s, answered_s, tuple(spans), self.now()),
            model_call=reply.model_call,
            error=stop.error if stop else None,
            warning=reply.warning,
            logprob=_logprob(reply.model_call),
        )
        self._facts = after
        self._seen.update(unlocked)
        self.decisions.append(decision)
        self.recorder.record(decision)
        if stop is not None:
            raise stop

    def _score(
        self, before: StateFacts, after: StateFacts, steps: Sequence[Step], stop: _Stop | None
    ) -> tuple[RewardBreakdown, _Stop | None]:
        """The decision's reward and the reason to stop, if any; a strategy that raises pays nothing and stops it."""
        try:
            with _failing_as(StopReason.REWARD_ERROR):
                env_reward = math.fsum(step.env_reward for step in steps)
                return self.shaper.score(before, after, env_reward=env_reward, is_end=self._is_end(stop)), stop
        except _Stop as failed:
            config = self.shaper.config
            first = stop if stop is not None and stop.error is not None else failed
            return RewardBreakdown(config.strategy, config.effective_lambda), first

    def _is_end(self, stop: _Stop | None) -> bool:
        """Whether the decision just executed is known to be the last one."""
        if not self._step_index:  # an error, whatever limit was reached
            return False
        if stop is not None:
            return stop.reason.is_known_at_scoring
        world_over = self._last is not None and (self._last.terminated or self._last.truncated)
        return world_over or self.usage.counted_limit_reached() is not None

    def outcome(self, stop: _Stop) -> Outcome:
        """A limit that is reached before the first step is an error."""
        error = stop.error
        if error is None and not self._step_index and stop.reason.status is EpisodeStatus.COMPLETED:
            error = EpisodeError(NO_STEP, "No step was played.")
        return Outcome(stop.reason, datetime.now(UTC), error)

    def _call_policy(self) -> tuple[str, PolicyReply, _Stop | None]:
        text = ""
        try:
            with _failing_as(StopReason.ENV_ERROR):
                observation = self.env.observation(
                    step_limit=self.spec.limits.max_steps,
                    last_env_reward=self._last.env_reward if self._last else 0.0,
                    env_return=self._env_return,
                    picture_px=self.policy.picture_px if isinstance(self.policy, PicturePolicy) else 0,
                )
                text = observation_text(observation)
            with _failing_as(StopReason.POLICY_ERROR):
                if isinstance(self.policy, WaitingPolicy):
                    self.policy.set_limits(self.usage.time_left_s(), self.should_stop, self.usage.budget_spent)
                return text, self.policy.decide(observation, self.decisions[-HISTORY_LENGTH:]), None
        except _Stop as stop:
            if stop.error is not None and stop.error.kind in _NO_FAILURES:
                return text, PolicyReply((), warning=stop.error.detail), _Stop(_NO_FAILURES[stop.error.kind])
            return text, PolicyReply(()), stop

    def _act(self, reply: PolicyReply, steps: list[Step], spans: list[tuple[float, float]]) -> _Stop | None:
        """Execute the actions one by one, appending to `steps` and `spans`. Returns the reason to stop, if any."""
        if reason := self.usage.ops_limit_reached():
            return _Stop(reason)
        self.usage.ops += 1
        for action in reply.actions:
            if reason := self.usage.step_limit_reached():
                return _Stop(reason)
            if steps and self.should_stop():
                return _Stop(StopReason.ABORTED)
            started_s = self.now()
            try:
                with _failing_as(StopReason.ENV_ERROR):
                    step = self._step(action)
            except _Stop as stop:
                return stop
            spans.append((started_s, self.now()))
            steps.append(step)
            if step.terminated or step.truncated:
                return None
        return None

    def _step(self, action: str) -> Step:
        _, reward, terminated, truncated, _ = self.env.step(ACTION_INDEX[action])
        step = Step(self._step_index, action, float(reward), terminated, truncated, self.env.state())
        self._step_index += 1
        self.usage.steps += 1
        self._env_return += step.env_reward
        self._last = step
        return step


def _no_actions(reply: PolicyReply) -> _Stop | None:
    """The reason to stop if the reply has no action."""
    if reply.actions:
        return None
    if reply.error_kind in _NO_FAILURES:
        return _Stop(_NO_FAILURES[reply.error_kind])
    kind = reply.error_kind or ("unknown_action" if reply.tool_calls else "no_tool_call")
    detail = reply.error_detail or (
        "No valid action was left in the call." if reply.tool_calls else "The policy answered without a tool call."
    )
    reasons = {"unknown_action": StopReason.INVALID_ACTION, "no_tool_call": StopReason.NO_TOOL_CALL}
    return _Stop(reasons.get(kind, StopReason.POLICY_ERROR), EpisodeError(kind, detail))


@contextmanager
def _failing_as(reason: StopReason) -> Generator[None]:
    """Turns any exception of a policy, an environment or a strategy into a _Stop."""
    try:
        yield
    except PolicyError as error:
        raise _Stop(reason, EpisodeError(error.kind, error.detail)) from error
    except Exception as error:  # noqa: BLE001  a failure in an episode is data
        raise _Stop(reason, _described(error)) from error


def _described(error: Exception) -> EpisodeError:
    kind = type(error).__name__
    detail = str(error) or "no message"
    if isinstance(error, CraftscopeError):
        return EpisodeError(kind, detail, _where(error.__cause__))
    return EpisodeError(kind, f"{kind}: {detail}", _where(error))


def _where(error: BaseException | None) -> str:
    """The last lines of the traceback; empty for our own errors, whose messages suffice."""
    if error is None or isinstance(error, CraftscopeError):
        return ""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    return "\n".join(f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames)


def _logprob(call: ModelCall | None) -> float | None:
    """Of a model's whole answer: the sum over its tokens."""
    return math.fsum(each.logprob for each in call.token_logprobs) if call and call.token_logprobs else None
