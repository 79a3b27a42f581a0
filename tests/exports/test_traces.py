"""ATIF trajectories and OpenTelemetry spans, read by the format's own schema and by OpenTelemetry's own messages."""

# opentelemetry's messages have no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from google.protobuf.json_format import Parse
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from core.exports import LINES, episodes_of
from core.store import EpisodeFilter, TraceStore
from tests.support import ROOT
from tests.support.launches import record_queue, run_of, short
from tests.support.model.fake_client import answer, play_model, says
from tests.support.records import make_run, record_episode

ATIF = jsonschema.Draft202012Validator(json.loads((ROOT / "tests/data/atif_schema.json").read_text("utf-8")))


@pytest.fixture
def filled(sqlite_store: TraceStore) -> TraceStore:
    """An episode of a model, one of scripted, and one that holds everything that a record can hold."""
    play_model(sqlite_store, "model", [answer("noop", "move_left"), says({"content": "I walk."}), answer("do")])
    sqlite_store.runs.create(run_of(short(2, "scripted")))
    record_queue(sqlite_store)
    sqlite_store.runs.create(make_run("run-1", ["everything"], minutes=9_999_999))
    record_episode(sqlite_store, "everything", 7)
    return sqlite_store


def exported(store: TraceStore, name: str, *ids: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in LINES[name](store, episodes_of(store, EpisodeFilter(), ids))]


def test_trajectories_fit_the_schema_and_hold_rewards_and_calls(filled: TraceStore):
    found = {trajectory["trajectory_id"]: trajectory for trajectory in exported(filled, "atif")}
    assert len(found) == 3
    for trajectory in found.values():
        ATIF.validate(trajectory)
        steps = trajectory["steps"]
        assert [step["step_id"] for step in steps] == list(range(1, len(steps) + 1))
        agent = [step for step in steps if step["source"] == "agent"]
        decisions = filled.episodes.load(trajectory["trajectory_id"]).decisions
        assert [step["extra"]["reward"] for step in agent] == [decision.reward.total for decision in decisions]
        for step, following in zip(agent, decisions[1:], strict=False):
            (result,) = step["observation"]["results"]
            assert result["content"] == following.observation
            ids = [call["tool_call_id"] for call in step["tool_calls"] or []]
            assert (result["source_call_id"] in ids) or not ids
        assert "observation" not in agent[-1]
    model = found["model"]
    assert [step["source"] for step in model["steps"][:3]] == ["system", "user", "agent"]
    assert model["steps"][2]["tool_calls"][0]["arguments"]["actions"] == ["noop", "move_left"]
    assert model["agent"]["tool_definitions"][0]["function"]["name"] == "interact"


def test_spans_are_read_by_opentelemetry_and_form_one_trace_an_episode(filled: TraceStore):
    for trace in exported(filled, "otel"):
        message = Parse(json.dumps(trace), TracesData())
        (resource,) = message.resource_spans
        (scope,) = resource.scope_spans
        root, *others = scope.spans
        assert not root.parent_span_id and {span.parent_span_id for span in others} <= {root.span_id}
        assert len({span.span_id for span in scope.spans}) == len(scope.spans)
        assert {span.trace_id for span in scope.spans} == {root.trace_id}
        for span in scope.spans:
            attributes = {each.key: each.value for each in span.attributes}
            assert span.name.startswith(attributes["gen_ai.operation.name"].string_value)
            assert root.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano
            assert span.end_time_unix_nano <= root.end_time_unix_nano
        # Identifiers are in hexadecimal in OTLP/JSON, of 16 and 8 bytes.
        raw = trace["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
        assert (len(bytes.fromhex(raw["traceId"])), len(bytes.fromhex(raw["spanId"]))) == (16, 8)


def test_a_model_call_is_a_span_with_its_messages_and_tokens(filled: TraceStore):
    (trace,) = exported(filled, "otel", "model")
    spans = trace["resourceSpans"][0]["scopeSpans"][0]["spans"]
    chats = [span for span in spans if span["name"].startswith("chat ")]
    calls = [
        call
        for decision in filled.episodes.load("model").decisions
        if decision.model_call
        for call in decision.model_call.all_calls
    ]
    assert len(chats) == len(calls)
    attributes = {each["key"]: each["value"] for each in chats[0]["attributes"]}
    sent = json.loads(attributes["gen_ai.input.messages"]["stringValue"])
    assert [message["role"] for message in sent][:2] == ["system", "user"]
    (answered,) = json.loads(attributes["gen_ai.output.messages"]["stringValue"])
    assert answered["parts"][-1]["arguments"]["actions"] == ["noop", "move_left"]
    failed = [span for span, call in zip(chats, calls, strict=True) if call.error_kind]
    assert failed and all(span["status"]["code"] == 2 for span in failed)
