"""The answer to a trainer's request, from what was stored of its run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final, cast

import msgspec

from core.errors import RolloutError
from core.exports import decision_sample
from core.requests.planning import PlannedRollout
from core.requests.request import RolloutRequest
from core.requests.trace import decision_rewards, trace_of
from core.rewards.summary import RolloutMetrics, reward_summary, rollout_metrics
from core.store import RunSummary, TraceStore
from core.types import Decision, Episode, EpisodeStatus, StateFacts, StopReason, Timing, ToolCall

NO_STEPS: Final = "no_steps_executed"

# How the answer names what ended a rollout early. Old clients know the first three.
_PARTIAL: Final = {
    StopReason.POLICY_ERROR: "partial_policy_error",
    StopReason.NO_TOOL_CALL: "partial_no_tool_calls",
    StopReason.INVALID_ACTION: "partial_invalid_action",
    StopReason.ENV_ERROR: "partial_env_error",
    StopReason.REWARD_ERROR: "partial_reward_error",
    StopReason.INTERRUPTED: "partial_interrupted",
}


class RolloutStep(msgspec.Struct, frozen=True):
    """One decision. reward: the environment's; the shaped one is in info.stepwise."""

    obs: dict[str, Any]
    tool_calls: tuple[dict[str, Any], ...]
    reward: float
    done: bool
    truncated: bool
    logprob: float | None
    value: float | None
    info: dict[str, Any]


class Trajectory(msgspec.Struct, frozen=True):
    """One world. final: the state after it, or the error. decision_samples: None where step rewards are off."""

    env_id: str
    policy_id: str
    inference_url: str
    trace_correlation_id: str
    length: int
    steps: tuple[RolloutStep, ...]
    final: dict[str, Any]
    decision_samples: tuple[dict[str, Any], ...] | None


class RolloutResponse(msgspec.Struct, frozen=True):
    """What a trainer gets. ops_executed: a policy's answer is one, and executing its actions is another."""

    run_id: str
    trajectories: tuple[Trajectory, ...]
    branches: dict[str, list[str]]
    metrics: dict[str, Any]
    aborted: bool
    ops_executed: int
    trace: dict[str, Any] | None
    trace_correlation_id: str
    pipeline_metadata: dict[str, Any]


def answer(
    store: TraceStore, planned: PlannedRollout, request: RolloutRequest, *, raise_failures: bool
) -> RolloutResponse:
    """The answer for a run that is over.

    raise_failures: whether an episode that failed after its first step is an error; `request.record.partial` asks for
    what was played.

    Raises RolloutError (kind `no_steps_executed` where none was played), UnknownEpisode and what the store raises.
    """
    run = store.runs.get(planned.run.id)
    summaries = store.runs.episodes(run.id).rows
    episodes = [store.episodes.load(summary.id) for summary in summaries]
    aborted = any(episode.status is EpisodeStatus.ABORTED for episode in episodes)
    _check_outcome(episodes, aborted=aborted, raise_failures=raise_failures and not request.record.partial)
    metadata = {
        "trace_correlation_id": run.correlation_id,
        "inference_url": planned.inference_url,
        "warnings": list(planned.warnings),
    }
    record = request.record
    return RolloutResponse(
        run_id=run.id,
        trajectories=tuple(
            _trajectory(episode, run, planned, with_value=record.value)
            for episode in (episodes if record.trajectories else ())
        ),
        branches={},
        metrics=_metrics(rollout_metrics(episodes), episodes),
        aborted=aborted,
        ops_executed=sum(map(_ops_executed, episodes)),
        trace=trace_of(store, run, episodes, record.trace_format) if record.return_trace else None,
        trace_correlation_id=run.correlation_id,
        pipeline_metadata=metadata,
    )


def _check_outcome(episodes: Sequence[Episode], *, aborted: bool, raise_failures: bool) -> None:
    failed = next((each for each in episodes if each.stop_reason in _PARTIAL), None)
    if not aborted and not any(episode.length for episode in episodes):
        error = next((each.outcome.error for each in episodes if each.outcome and each.outcome.error), None)
        why = error.detail if error else "The rollout ended before its first step."
        raise RolloutError(NO_STEPS, why)
    if failed is not None and raise_failures:
        error = failed.outcome.error if failed.outcome else None
        raise RolloutError(str(failed.stop_reason), error.detail if error else "The episode failed.")


def _trajectory(episode: Episode, run: RunSummary, planned: PlannedRollout, *, with_value: bool) -> Trajectory:
    is_active = episode.spec.reward.is_active
    return Trajectory(
        env_id=episode.id,
        policy_id=episode.spec.policy.name,
        inference_url=planned.inference_url,
        trace_correlation_id=run.correlation_id,
        length=len(episode.decisions),
        steps=tuple(_step(decision, is_active, with_value=with_value) for decision in episode.decisions),
        final=_final(episode),
        decision_samples=tuple(map(decision_sample, episode.decisions)) if is_active else None,
    )


def _step(decision: Decision, is_active: bool, *, with_value: bool) -> RolloutStep:
    reward = decision.reward
    stepwise = {
        "decision_index": decision.index,
        "indicator": reward.indicator,
        "new_achievements": list(reward.new_achievements),
        "reward": reward.total,
        "strategy": reward.strategy,
        "base_reward": reward.base,
        "components": [asdict(component) for component in reward.components],
        "credited_achievements": list(reward.credited_achievements),
        "resource_reward": reward.resource_reward,
        "inventory_deltas": reward.inventory_deltas,
        "achievement_count_deltas": reward.achievement_count_deltas,
    }
    meta = {
        "decision_rewards": decision_rewards(decision),
        "timing": timing_fields(decision.timing),
        "inference_ms": decision.timing.inference_ms,
    }
    return RolloutStep(
        obs={"text": decision.observation},
        tool_calls=tuple(map(_tool_call, decision.tool_calls)),
        reward=decision.env_reward,
        done=any(step.terminated or step.truncated for step in decision.steps),
        truncated=any(step.truncated for step in decision.steps),
        logprob=decision.logprob,
        value=decision.value if with_value else None,
        info={"stepwise": stepwise, "meta": meta} if is_active else {"meta": meta},
    )


def timing_fields(timing: Timing) -> dict[str, float | None]:
    """Seconds on the episode's clock, and durations in milliseconds."""
    return {
        "agent_request_start_s": timing.agent_request_start_s,
        "agent_response_s": timing.agent_response_s,
        "inference_ms": timing.inference_ms,
        "env_step_ms": timing.env_step_ms,
        "env_step_end_s": timing.env_steps_s[-1][1] if timing.env_steps_s else None,
        "decision_ms": timing.decision_ms,
        "overhead_ms": timing.overhead_ms,
        "decision_ready_s": timing.decision_ready_s,
        "store_ms": timing.store_ms,
    }


def _tool_call(call: ToolCall) -> dict[str, Any]:
    """Arguments that are no JSON object are given as the actions that were read from them."""
    try:
        arguments = msgspec.json.decode(call.arguments)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        arguments = {"actions": list(call.actions)}
    return {"tool": call.name, "args": cast(dict[str, Any], arguments), "id": call.call_id}


def _final(episode: Episode) -> dict[str, Any]:
    reason, at_op = episode.stop_reason, _ops_executed(episode)
    status = _PARTIAL.get(reason) if reason else None
    if status is not None:
        error = episode.outcome.error if episode.outcome else None
        return {"error": asdict(error) if error else None, "rollout_status": status, "at_op": at_op}
    if episode.decisions:
        facts = episode.decisions[-1].after
    else:
        facts = episode.initial.facts if episode.initial else StateFacts()
    observation = {
        "inventory": facts.inventory,
        "achievements_status": facts.achievements,
        "achievement_counts": facts.achievement_counts,
        "player_position": facts.position,
    }
    return {"observation": observation, "rollout_status": str(reason or "running"), "at_op": at_op}


def _ops_executed(episode: Episode) -> int:
    return sum(1 + bool(decision.steps) for decision in episode.decisions)


def _metrics(metrics: RolloutMetrics, episodes: Sequence[Episode]) -> dict[str, Any]:
    decisions = [decision for episode in episodes for decision in episode.decisions]
    active = [episode for episode in episodes if episode.spec.reward.is_active]
    details = {"stepwise": asdict(reward_summary(active[0].spec.reward, decisions))} if active else {}
    return {**asdict(metrics), "details": details}
