"""What a trainer gets for a run that was played."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from core.errors import RolloutError
from core.exports import read_document
from core.requests import RolloutResponse, answer, plan_request, read_request
from core.store import TraceStore
from tests.requests.test_request import a_request
from tests.support.launches import record_queue
from tests.support.model.server import ModelServer, Reply, calls, says

STEP_REWARDS = {"enabled": True, "mode": "decision_stepwise", "strategy": "per_achievement"}


def played(
    store: TraceStore, *replies: Reply, raise_failures: bool = True, **changes: Any
) -> tuple[RolloutResponse, dict[str, Any]]:
    """The response to a request, which a model on loopback plays; and as JSON."""
    with ModelServer(replies or (says(calls("noop", "move_left")),)) as server:
        config = {"inference_url": server.url, "max_llm_calls": 3, **changes.pop("config", {})}
        read = read_request(json.dumps(a_request(config=config, **changes)).encode())
        plan = plan_request(read)
        store.runs.create(plan.run)
        record_queue(store)
    response = answer(store, plan, read.request, raise_failures=raise_failures)
    return response, json.loads(msgspec.json.encode(response))


def test_a_step_is_a_decision(sqlite_store: TraceStore):
    response, as_json = played(sqlite_store, config={"step_rewards": STEP_REWARDS}, env={"seed": 42})
    (trajectory,) = response.trajectories
    (episode,) = sqlite_store.runs.episodes("run-1").rows
    stored = sqlite_store.episodes.load(episode.id)
    assert (trajectory.length, len(trajectory.steps), response.ops_executed) == (3, 3, 6)
    for step, decision in zip(trajectory.steps, stored.decisions, strict=True):
        assert step.obs == {"text": decision.observation}
        assert step.reward == decision.env_reward
        assert step.tool_calls[0]["args"]["actions"] == ["noop", "move_left"]
        assert step.info["stepwise"]["reward"] == decision.reward.total
        assert step.info["meta"]["timing"]["decision_ms"] == decision.timing.decision_ms
        assert len(step.info["meta"]["timing"]) == 9
        assert step.info["meta"]["decision_rewards"]["turn"] == decision.index
    assert trajectory.decision_samples is not None
    assert [sample["r_i"] for sample in trajectory.decision_samples] == [d.reward.total for d in stored.decisions]
    metrics = as_json["metrics"]
    assert (metrics["num_steps"], metrics["num_episodes"]) == (3, 1)
    assert metrics["episode_returns"] == [stored.env_return] and metrics["mean_return"] == stored.env_return
    assert metrics["outcome_score"] is None and metrics["details"]["stepwise"]["strategy"] == "per_achievement"
    assert trajectory.final["rollout_status"] == "max_decisions"
    assert trajectory.final["observation"]["inventory"] == stored.decisions[-1].after.inventory
    assert as_json["trace"] is None and as_json["branches"] == {} and not as_json["aborted"]
    assert as_json["pipeline_metadata"]["trace_correlation_id"] == as_json["trace_correlation_id"] == "trace_run-1"


def test_without_step_rewards_there_are_no_samples(sqlite_store: TraceStore):
    response, _ = played(sqlite_store)
    (trajectory,) = response.trajectories
    assert trajectory.decision_samples is None
    assert "stepwise" not in trajectory.steps[0].info


def test_trajectories_can_be_left_out(sqlite_store: TraceStore):
    response, _ = played(sqlite_store, record={"trajectories": False})
    assert response.trajectories == () and response.metrics["num_steps"] == 3


@pytest.mark.parametrize("trace_format", ["compact", "full", "structured"])
def test_traces(sqlite_store: TraceStore, trace_format: str):
    _, as_json = played(sqlite_store, record={"return_trace": True, "trace_format": trace_format})
    trace = as_json["trace"]
    if trace_format == "structured":
        (document,) = trace["episodes"]
        assert read_document(json.dumps(document).encode()).episode.n_decisions == 3
        return
    assert (trace["events_count"], trace["messages_count"], len(trace["lm_calls"])) == (6, 7, 3)
    assert [each["turn"] for each in trace["decision_rewards"]] == [0, 1, 2]
    assert ("event_history" in trace) == (trace_format == "full")
    if trace_format == "full":
        assert len(trace["event_history"]) == 6 and len(trace["session_time_steps"]) == 3
        assert trace["markov_blanket_message_history"][0]["role"] in ("system", "developer")


NO_CALL: dict[str, Any] = {
    "model": "tiny",
    "choices": [{"index": 0, "message": {"content": "I will not."}, "finish_reason": "stop"}],
}


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (says(NO_CALL), "partial_no_tool_calls"),
        (says(calls("fly")), "partial_invalid_action"),
        (says({"error": {"message": "No such model."}}, status=404), "partial_policy_error"),
    ],
)
def test_a_failure_after_steps_is_an_answer_where_it_is_asked_for(sqlite_store: TraceStore, reply: Reply, status: str):
    response, _ = played(sqlite_store, says(calls("noop")), reply, raise_failures=False)
    (trajectory,) = response.trajectories
    assert trajectory.final["rollout_status"] == status
    assert trajectory.final["error"]["detail"]
    assert (trajectory.final["at_op"], response.ops_executed) == (3, 3)


def test_a_failure_after_steps_is_an_error_where_it_is_asked_for(sqlite_store: TraceStore):
    with pytest.raises(RolloutError) as raised:
        played(sqlite_store, says(calls("noop")), says(NO_CALL))
    assert raised.value.kind == "no_tool_call"


def test_record_partial_answers_with_what_was_played(sqlite_store: TraceStore):
    response, _ = played(sqlite_store, says(calls("noop")), says(NO_CALL), record={"partial": True})
    assert response.trajectories[0].final["rollout_status"] == "partial_no_tool_calls"


def test_a_rollout_without_a_step_is_an_error(sqlite_store: TraceStore):
    with pytest.raises(RolloutError) as raised:
        played(sqlite_store, says(NO_CALL), raise_failures=False)
    assert raised.value.kind == "no_steps_executed"
