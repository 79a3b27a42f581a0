"""A run's trace in the three formats that trainers may ask for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from core.exports import episode_json
from core.store import RunSummary, TraceStore
from core.types import Decision, Episode, ModelCall

TraceFormat = Literal["compact", "full", "structured"]


def trace_of(
    store: TraceStore, run: RunSummary, episodes: Sequence[Episode], trace_format: TraceFormat
) -> dict[str, Any]:
    """compact: counts, calls and unlocks. full: also every event, message and step. structured: our own documents.

    The names of compact and full are those of synth-ai's session traces, version 3.
    """
    if trace_format == "structured":
        return {"episodes": [msgspec.json.decode(episode_json(store, episode.id)) for episode in episodes]}
    messages = [message for episode in episodes for message in _messages(episode)]
    events = [event for episode in episodes for event in _events(episode)]
    trace: dict[str, Any] = {
        "session_id": run.correlation_id,
        "created_at": run.created_at,
        "metadata": _metadata(run, episodes),
        "events_count": len(events),
        "messages_count": len(messages),
        "lm_calls": list(_lm_calls(episodes)),
        "decision_rewards": [decision_rewards(decision) for episode in episodes for decision in episode.decisions],
    }
    if trace_format == "full":
        trace |= {
            "event_history": events,
            "markov_blanket_message_history": messages,
            "session_time_steps": [step for episode in episodes for step in _time_steps(episode)],
        }
    return trace


def decision_rewards(decision: Decision) -> dict[str, Any]:
    """Unlocks of a decision, as trainers count them: all of them, and those that are new in the episode."""
    return {
        "turn": decision.index,
        "ach_delta": len(decision.unlocked),
        "unique_delta": len(decision.unique_unlocked),
        "all": list(decision.unlocked),
        "unique": list(decision.unique_unlocked),
    }


def _metadata(run: RunSummary, episodes: Sequence[Episode]) -> dict[str, Any]:
    spec = episodes[0].spec
    return {
        "run_id": run.id,
        "mode": run.mode,
        "training_session_id": run.training_session_id,
        "trace_correlation_id": run.correlation_id,
        "policy": msgspec.to_builtins(spec.policy),
        "env": msgspec.to_builtins(spec.env),
        "seed": spec.seed,
        "engine_version": spec.engine_version,
        "product_version": run.config.get("product_version"),
        "reward_config_hash": spec.reward.config_hash,
        "outcomes": [
            {
                "episode_id": episode.id,
                "status": episode.status,
                "stop_reason": episode.stop_reason,
                "env_return": episode.env_return,
                "shaped_return": episode.shaped_return,
                "achievements": list(episode.unlock_steps),
            }
            for episode in episodes
        ],
    }


def _lm_calls(episodes: Sequence[Episode]) -> Iterator[dict[str, Any]]:
    for episode in episodes:
        for decision in episode.decisions:
            for call in decision.model_call.all_calls if decision.model_call else ():
                yield {"episode_id": episode.id, "turn": decision.index} | _lm_call(call)


def _lm_call(call: ModelCall) -> dict[str, Any]:
    return {
        "provider": call.provider,
        "model_name": call.model,
        "input_tokens": call.tokens_in,
        "output_tokens": call.tokens_out,
        "cached_tokens": call.tokens_cached,
        "reasoning_tokens": call.tokens_reasoning,
        "cost_usd": call.cost_usd,
        "latency_ms": call.latency_ms,
        "retries": call.retries,
        "request_id": call.request_id,
        "finish_reason": call.finish_reason,
        "error_kind": call.error_kind,
    }


def _messages(episode: Episode) -> Iterator[dict[str, Any]]:
    """What the policy was given and what it answered. The system prompt comes first, once an episode."""
    for decision in episode.decisions:
        call = decision.model_call
        if decision.index == 0 and call is not None:
            sent: list[Any] = call.request.get("messages", [])
            yield from ({"turn": 0, **message} for message in sent if message.get("role") in ("system", "developer"))
        yield {"turn": decision.index, "role": "user", "content": decision.observation}
        yield {
            "turn": decision.index,
            "role": "assistant",
            "content": call.content if call else "",
            "reasoning": call.reasoning if call else "",
            "tool_calls": msgspec.to_builtins(decision.tool_calls),
        }


def _events(episode: Episode) -> Iterator[dict[str, Any]]:
    """For each decision what the policy did, then what happened in the environment. Times: seconds of the episode."""
    for decision in episode.decisions:
        timing, call = decision.timing, decision.model_call
        yield {
            "event_type": "cais",
            "episode_id": episode.id,
            "turn": decision.index,
            "event_time": timing.agent_response_s,
            **({} if call is None else _lm_call(call)),
            "actions": [action for each in decision.tool_calls for action in each.actions],
            "error": msgspec.to_builtins(decision.error),
        }
        if decision.steps:
            yield {
                "event_type": "environment",
                "episode_id": episode.id,
                "turn": decision.index,
                "event_time": timing.decision_ready_s,
                "reward": decision.env_reward,
                "terminated": decision.steps[-1].terminated,
                "truncated": decision.steps[-1].truncated,
                "system_state_before": msgspec.to_builtins(decision.before),
                "system_state_after": msgspec.to_builtins(decision.after),
            }


def _time_steps(episode: Episode) -> Iterator[dict[str, Any]]:
    for decision in episode.decisions:
        yield {
            "episode_id": episode.id,
            "turn": decision.index,
            "actions": list(decision.actions),
            "not_executed": list(decision.not_executed),
            "env_reward": decision.env_reward,
            "reward": decision.reward.total,
        }
