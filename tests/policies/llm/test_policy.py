"""What a model answered becomes actions, and what it did not becomes what the policy was told to do about it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from core.env import CrafterEnv
from core.env.observation import Observation
from core.errors import InvalidConfig, PolicyError
from core.policies import SeeingPolicy, WaitingPolicy, checked_policy
from core.policies.llm import LlmParams, LlmPolicy
from core.policies.llm.client import Answer, FakeClient
from core.policies.llm.endpoint import endpoint_of
from core.policies.llm.policy import endpoint_for
from core.types import PolicyReply, PolicySpec
from tests.policies.llm.server import calls

PARAMS: dict[str, Any] = {"base_url": "http://127.0.0.1:9", "model": "tiny-model"}
GOOD = Answer(200, text=json.dumps(calls("move_left", "do")))
PROSE = Answer(
    200, text=json.dumps({"choices": [{"index": 0, "message": {"content": "I walk."}, "finish_reason": "stop"}]})
)
NO_KEY = Answer(401, text=json.dumps({"error": {"message": "Wrong key", "code": "invalid_api_key"}}))


@pytest.fixture(scope="module")
def observation() -> Observation:
    env = CrafterEnv(area=(16, 16), observe=False)
    env.reset(seed=1)
    return env.observation(step_limit=10, picture_px=64)


def decide(
    observation: Observation, answers: Sequence[Answer], url: str = PARAMS["base_url"], **params: Any
) -> tuple[PolicyReply, FakeClient]:
    client = FakeClient(answers)
    policy = LlmPolicy(LlmParams(**{**PARAMS, **params}), lambda: (endpoint_of(url), client), max_actions=5)
    policy.reset(0)
    return policy.decide(observation, ()), client


def test_it_waits_and_may_look(observation: Observation) -> None:
    policy = LlmPolicy(LlmParams(**PARAMS), lambda: (endpoint_of("h"), FakeClient([])), max_actions=5)
    assert isinstance(policy, WaitingPolicy) and isinstance(policy, SeeingPolicy)
    assert policy.picture_px == 0


def test_a_good_answer_is_executed_and_kept(observation: Observation) -> None:
    reply, client = decide(observation, [GOOD])
    assert reply.actions == ("move_left", "do") and reply.error_kind is None
    call = reply.model_call
    assert call is not None
    assert (call.provider, call.model) == ("127.0.0.1:9", "tiny-model")
    assert (call.tokens_in, call.tokens_out) == (100, 20)
    assert call.cost_usd is None and call.price_version is None  # a model of nobody's price list
    assert call.response_text == GOOD.text and call.finish_reason == "tool_calls"
    assert call.request == client.requests[0]


def test_a_request_says_what_the_policy_was_told(observation: Observation) -> None:
    _, client = decide(observation, [GOOD], temperature=0.7, max_tokens=99, extra='{"seed": 3}')
    (request,) = client.requests
    assert (request["model"], request["temperature"], request["max_tokens"], request["seed"]) == (
        "tiny-model",
        0.7,
        99,
        3,
    )
    assert request["tools"][0]["function"]["parameters"]["properties"]["actions"]["maxItems"] == 5
    assert isinstance(request["messages"][-1]["content"], str)


def test_a_picture_is_sent_where_the_model_is_to_see(observation: Observation) -> None:
    _, client = decide(observation, [GOOD], observe="both")
    text, picture = client.requests[0]["messages"][-1]["content"]
    assert "Vitals" in text["text"] and picture["image_url"]["url"].startswith("data:image/png;base64,")


def test_a_known_price_is_a_cost_with_the_name_of_its_table(observation: Observation) -> None:
    answer = Answer(200, text=json.dumps(calls("noop", model="gpt-4o-mini")))
    reply, _ = decide(observation, [answer], url="https://api.openai.com/v1")
    assert reply.model_call is not None
    assert reply.model_call.cost_usd == pytest.approx((100 * 0.15 + 20 * 0.6) / 1e6)
    assert reply.model_call.price_version is not None and "genai-prices" in reply.model_call.price_version


def test_stop_is_what_follows_a_bad_call_by_default(observation: Observation) -> None:
    reply, client = decide(observation, [PROSE, GOOD])
    assert reply.error_kind == "no_tool_call" and reply.error_detail and not reply.actions
    assert len(client.requests) == 1
    assert reply.model_call is not None and reply.model_call.error_kind == "no_tool_call"


def test_retry_asks_again_and_keeps_what_was_said_before(observation: Observation) -> None:
    reply, client = decide(observation, [PROSE, PROSE, GOOD], on_bad_call="retry", ask_again=2)
    assert reply.actions == ("move_left", "do") and len(client.requests) == 3
    assert reply.model_call is not None
    assert [call.error_kind for call in reply.model_call.all_calls] == ["no_tool_call", "no_tool_call", None]
    assert reply.model_call.earlier[0].response_text == PROSE.text and not reply.model_call.earlier[0].request


def test_retry_stops_when_it_has_asked_often_enough(observation: Observation) -> None:
    reply, client = decide(observation, [PROSE], on_bad_call="retry", ask_again=2)
    assert reply.error_kind == "no_tool_call" and len(client.requests) == 3


def test_noop_goes_on_and_says_so(observation: Observation) -> None:
    reply, _ = decide(observation, [PROSE], on_bad_call="noop")
    assert reply.actions == ("noop",) and reply.error_kind is None
    assert reply.warning == "no_tool_call" and "no_tool_call" in reply.tool_calls[-1].reasoning


@pytest.mark.parametrize("on_bad_call", ["stop", "retry", "noop"])
def test_a_wrong_key_always_stops(observation: Observation, on_bad_call: str) -> None:
    reply, client = decide(observation, [NO_KEY], on_bad_call=on_bad_call)
    assert reply.error_kind == "auth" and len(client.requests) == 1


def test_the_other_name_of_the_token_limit_is_tried_once(observation: Observation) -> None:
    text = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    refused = Answer(400, text=json.dumps({"error": {"message": text, "param": "max_tokens"}}))
    client = FakeClient([refused, GOOD, GOOD])
    policy = LlmPolicy(LlmParams(**PARAMS), lambda: (endpoint_of("h"), client), max_actions=5)
    policy.reset(0)
    assert policy.decide(observation, ()).actions and policy.decide(observation, ()).actions
    assert "max_completion_tokens" in client.requests[1] and "max_tokens" not in client.requests[1]
    assert len(client.requests) == 3


def test_time_that_is_over_and_a_stop_are_no_failures_of_the_model(observation: Observation) -> None:
    client = FakeClient([Answer(None, latency_ms=5_000, failure=("timeout", "late"))])
    policy = LlmPolicy(LlmParams(**PARAMS), lambda: (endpoint_of("h"), client), max_actions=5)
    policy.reset(0)
    policy.allow(4.0, lambda: False)
    assert policy.decide(observation, ()).error_kind == "out_of_time"
    policy.allow(4.0, lambda: True)
    assert policy.decide(observation, ()).error_kind == "stopped"


def test_a_key_that_is_not_set_is_said_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("A_KEY", raising=False)
    with pytest.raises(PolicyError, match="A_KEY is not set"):
        endpoint_for(LlmParams(**PARAMS, key_name="A_KEY"))
    monkeypatch.setenv("A_KEY", "sk-123456789")
    assert endpoint_for(LlmParams(**PARAMS, key_name="A_KEY")).key == "sk-123456789"


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"model": ""}, "No model"),
        ({"base_url": "ftp://h"}, "base URL"),
        ({"key_name": "sk-123 456"}, "name"),
        ({"extra": "{"}, "JSON"),
        ({"extra": "[]"}, "object"),
        ({"extra": '{"messages": []}'}, "messages"),
        ({"temperature": 3}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"observe": "sound"}, "text, picture, both"),
        ({"modell": "x"}, 'did you mean "model"'),
    ],
)
def test_a_launch_that_cannot_be_played_is_refused(params: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidConfig, match=says):
        checked_policy(PolicySpec("llm", {**PARAMS, **params}))


def test_hosts_that_are_not_listed_are_refused_before_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAFTSCOPE_MODEL_HOSTS", "api.openai.com")
    with pytest.raises(InvalidConfig, match="not on the list"):
        checked_policy(PolicySpec("llm", PARAMS))
