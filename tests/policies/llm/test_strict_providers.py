"""Providers stricter than OpenAI work with the default settings; fields that they refuse are left out and recorded."""

from __future__ import annotations

from typing import Any

import pytest

from core.policies.llm import LlmParams, estimate, run_connection_test
from core.rollout import NoRecorder, run_rollout
from core.types import EnvConfig, Episode, EpisodeSpec, Limits, ModelCall, PolicySpec, StopReason
from tests.support.model.server import ModelServer
from tests.support.model.strict import (
    STRICT,
    Claude,
    DeepSeek,
    Gemini,
    Gpt5,
    Mistral,
    StrictFastApi,
    StrictProvider,
    strict_server,
)


def play(server: ModelServer, decisions: int = 4, **params: Any) -> Episode:
    policy = PolicySpec("llm", {"base_url": server.url, "model": f"model-of-{server.url}", **params})
    spec = EpisodeSpec(1, policy, 1, env=EnvConfig(area=(24, 24)), limits=Limits(max_decisions=decisions))
    (episode,) = run_rollout(spec, episode_id="", run_id="", recorder_for=lambda queued: NoRecorder())
    return episode


def calls_of(episode: Episode) -> list[ModelCall]:
    return [decision.model_call for decision in episode.decisions if decision.model_call is not None]


@pytest.mark.parametrize("provider", STRICT, ids=lambda provider: provider.__name__)
def test_four_decisions_are_played_with_the_default_settings(provider: type[StrictProvider]):
    with strict_server(provider()) as server:
        episode = play(server)
    assert episode.stop_reason is StopReason.MAX_DECISIONS and len(episode.decisions) == 4
    assert all(call.error_kind is None for call in calls_of(episode))
    assert [message["role"] for message in calls_of(episode)[-1].request["messages"]] == [
        "system",
        "user",
        *["assistant", "tool"] * 3,
    ]


@pytest.mark.parametrize("provider", STRICT, ids=lambda provider: provider.__name__)
def test_a_history_without_its_older_half_is_accepted(provider: type[StrictProvider]):
    with strict_server(provider()) as server:
        episode = play(server, decisions=6, history=3)
    assert episode.stop_reason is StopReason.MAX_DECISIONS
    remembered = [len(call.request["messages"]) // 2 - 1 for call in calls_of(episode)]
    assert remembered == [0, 1, 2, 3, 2, 3]


@pytest.mark.parametrize("provider", [Gpt5, Claude, StrictFastApi, DeepSeek], ids=lambda each: each.__name__)
def test_refused_sampling_fields_are_left_out_and_the_reason_is_recorded(
    provider: type[StrictProvider],
):
    with strict_server(provider()) as server:
        episode = play(server, temperature=0.2, top_p=0.9, seed=7)
    first, *later = calls_of(episode)
    assert episode.stop_reason is StopReason.MAX_DECISIONS
    assert first.left_out and all(field.reason.startswith("HTTP 4") for field in first.left_out)
    assert all(field.name not in first.request for field in first.left_out)
    assert first.attempts[0].status in (400, 422) and first.attempts[-1].status == 200
    # A field of the assistant's message is first sent, and refused, with the second decision.
    assert [len(call.attempts) for call in later[1:]] == [1, 1]


def test_the_token_limit_is_sent_under_the_name_of_the_server():
    with strict_server(Gpt5()) as server:
        first, second, *_ = calls_of(play(server))
    ((name, new_name),) = {(field.name, field.sent_as) for field in second.left_out}
    assert (name, new_name) == ("max_tokens", "max_completion_tokens")
    assert first.request["max_completion_tokens"] == 512 and "max_tokens" not in first.request
    assert [attempt.status for attempt in first.attempts] == [400, 200] and len(second.attempts) == 1


def test_one_sampling_field_is_sent_if_only_both_together_are_refused():
    with strict_server(Claude()) as server:
        (call, *_) = calls_of(play(server, temperature=0.2, top_p=0.9))
    assert call.request["temperature"] == 0.2 and [field.name for field in call.left_out] == ["top_p"]


def test_refused_fields_of_a_message_are_left_out():
    with strict_server(StrictFastApi()) as server:
        *_, last = calls_of(play(server))
    assert {field.name for field in last.left_out} == {"messages.refusal", "messages.annotations"}


def test_the_connection_test_and_the_estimate_name_the_refused_fields():
    with strict_server(Claude()) as server:
        params = LlmParams(base_url=server.url, model="m", temperature=0.2, top_p=0.9)
        test = run_connection_test(params)
    assert test.ok and "The server refuses top_p, so requests leave that out." in test.sentence
    (left_out,) = estimate(params, episodes=1, decisions=1, max_actions=5).left_out
    assert left_out.name == "top_p" and "cannot both be specified" in left_out.reason


def conversation(**message: Any) -> dict[str, Any]:
    call = {"id": "Call00000", "type": "function", "function": {"name": "interact", "arguments": "{}"}}
    answer = {"role": "assistant", "content": None, "tool_calls": [call], **message}
    result = {"role": "tool", "tool_call_id": answer["tool_calls"][0].get("id"), "content": "Executed."}
    return {"model": "m", "messages": [{"role": "user", "content": "Play."}, answer, result]}


@pytest.mark.parametrize(
    ("provider", "request_"),
    [
        (DeepSeek, conversation()),
        (DeepSeek, conversation(reasoning_content="Another thought.")),
        (DeepSeek, {"model": "m", "messages": [], "temperature": 0.2}),
        (Gemini, conversation()),
        (Mistral, conversation(tool_calls=[{"id": "call_0_0", "type": "function", "function": {}}])),
        (Mistral, {**conversation(), "messages": [*conversation()["messages"], {"role": "user", "content": "Now."}]}),
        (Gpt5, {"model": "m", "messages": [], "max_tokens": 5}),
        (Gpt5, {"model": "m", "messages": [], "temperature": 0.2}),
        (Gpt5, {"model": "m", "messages": [], "top_p": 0.9}),
        (Gpt5, {"model": "m", "messages": [], "temperature": None}),
        (Claude, {"model": "m", "messages": [], "temperature": 0.2, "top_p": 0.9}),
        (StrictFastApi, {"model": "m", "messages": [], "seed": 1}),
        (StrictFastApi, conversation(refusal=None)),
        (StrictProvider, {**conversation(), "messages": conversation()["messages"][:2]}),
        (StrictProvider, {"model": "m", "messages": [], "parallel_tool_calls": True}),
    ],
)
def test_a_stand_in_refuses_what_its_provider_refuses(provider: type[StrictProvider], request_: dict[str, Any]):
    strict = provider()
    strict.given = [strict.message(0)]
    assert strict.problem(request_) is not None
