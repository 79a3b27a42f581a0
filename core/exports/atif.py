"""Episodes in the Agent Trajectory Interchange Format (ATIF) of Harbor, one trajectory a line.

A decision is an agent's step: what it said, its tool calls, and as their observation what the policy saw next. What
the format has no field for stands in `extra`: rewards, unlocks, how the episode ended.
Source: the models of the package harbor, 0.26 (https://harborframework.com/docs/trajectory-format).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, Final

from core.exports.calls import arguments_object, request_messages, request_tools, text_of
from core.policies.tools import TOOL_NAME
from core.store import EpisodeSummary, TraceStore
from core.store.blobs import to_json
from core.types import Decision, Episode, ModelCall, sum_known

ATIF_VERSION: Final = "ATIF-v1.8"


def atif_lines(store: TraceStore, episodes: Iterable[EpisodeSummary]) -> Iterator[bytes]:
    """A trajectory for each episode with a decision; one without has no steps, which the format does not allow."""
    for summary in episodes:
        episode = store.episodes.load(summary.id)
        if episode.decisions:
            yield to_json(_trajectory(summary, episode)) + b"\n"


def _trajectory(summary: EpisodeSummary, episode: Episode) -> dict[str, Any]:
    calls = [decision.model_call for decision in episode.decisions if decision.model_call is not None]
    asked = [each for call in calls for each in call.all_calls]
    return {
        "schema_version": ATIF_VERSION,
        "session_id": summary.run_id,
        "trajectory_id": summary.id,
        "agent": {
            "name": summary.policy,
            "version": summary.spec.engine_version or "unknown",
            "model_name": calls[0].model if calls else None,
            "tool_definitions": (request_tools(calls[0]) if calls else None) or None,
        },
        "steps": [dict(step, step_id=number) for number, step in enumerate(_steps(episode), 1)],
        "final_metrics": {
            "total_prompt_tokens": sum_known(call.tokens_in for call in asked),
            "total_completion_tokens": sum_known(call.tokens_out for call in asked),
            "total_cached_tokens": sum_known(call.tokens_cached for call in asked),
            "total_cost_usd": sum_known(call.cost_usd for call in asked),
            "total_steps": len(episode.decisions),
        },
        "extra": {
            "environment": "crafter",
            "seed": summary.seed,
            "world_episode": summary.world_episode,
            "status": summary.status,
            "stop_reason": summary.stop_reason,
            "env_return": summary.env_return,
            "shaped_return": summary.shaped_return,
            "achievements": list(summary.achievements),
            "reward_config_hash": summary.config_hash,
        },
    }


def _steps(episode: Episode) -> Iterator[dict[str, Any]]:
    first = episode.decisions[0]
    started = episode.started_at.isoformat()
    for message in request_messages(first.model_call):
        if message.get("role") == "system":
            yield {"source": "system", "message": text_of(message.get("content")), "timestamp": started}
    if first.observation:
        yield {"source": "user", "message": first.observation, "timestamp": started}
    for decision, following in zip(episode.decisions, (*episode.decisions[1:], None), strict=True):
        yield _agent_step(decision, following.observation if following else "", episode.started_at)


def _agent_step(decision: Decision, seen_next: str, started_at: datetime) -> dict[str, Any]:
    call = decision.model_call
    tool_calls = _tool_calls(decision)
    answered_at = started_at + timedelta(seconds=decision.timing.agent_response_s)
    step: dict[str, Any] = {
        "source": "agent",
        "timestamp": answered_at.isoformat(),
        "message": call.content if call else "",
        "tool_calls": tool_calls or None,
        "llm_call_count": len(call.all_calls) if call else 0,
        "extra": {
            "decision": decision.index,
            "executed": list(decision.actions),
            "reward": decision.reward.total,
            "env_reward": decision.env_reward,
            "components": [asdict(component) for component in decision.reward.components],
            "unlocked": list(decision.unlocked),
            "value": decision.value,
            "logprob": decision.logprob,
            "error": decision.error.kind if decision.error else None,
        },
    }
    if seen_next:
        source = tool_calls[-1]["tool_call_id"] if tool_calls else None
        step["observation"] = {"results": [{"source_call_id": source, "content": seen_next}]}
    if call is not None:
        step |= {"model_name": call.model, "reasoning_content": call.reasoning or None, "metrics": _metrics(call)}
    return step


def _tool_calls(decision: Decision) -> list[dict[str, Any]]:
    """The calls of the decision; of an agent that makes none, its actions as one."""
    found = [
        {
            "tool_call_id": call.call_id or f"call_{decision.index}_{at}",
            "function_name": call.name,
            "arguments": arguments_object(call.arguments),
        }
        for at, call in enumerate(decision.tool_calls)
    ]
    if found or not decision.actions:
        return found
    actions = {"actions": list(decision.actions)}
    return [{"tool_call_id": f"call_{decision.index}_0", "function_name": TOOL_NAME, "arguments": actions}]


def _metrics(call: ModelCall) -> dict[str, Any]:
    calls = call.all_calls
    return {
        "prompt_tokens": sum_known(each.tokens_in for each in calls),
        "completion_tokens": sum_known(each.tokens_out for each in calls),
        "cached_tokens": sum_known(each.tokens_cached for each in calls),
        "cost_usd": sum_known(each.cost_usd for each in calls),
        "logprobs": [token.logprob for token in call.token_logprobs] or None,
    }
