"""A model's answer becomes actions; an invalid one is handled as configured."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import pytest

from core.env import CrafterEnv
from core.env.observation import Observation
from core.errors import InvalidConfig, PolicyError
from core.policies import OUT_OF_BUDGET, checked_policy
from core.policies.llm import LlmParams, LlmPolicy, make_llm, run_connection_test
from core.policies.llm.client import Answer, ShouldStop
from core.policies.llm.endpoint import endpoint_of
from core.policies.llm.policy import endpoint_for
from core.policies.tools.errors import Failure
from core.types import (
    Attempt,
    PolicyReply,
    PolicySpec,
    Spent,
    TokenLogprob,
)
from tests.support.model.answers import decision_of
from tests.support.model.fake_client import FakeClient
from tests.support.model.server import ModelServer, calls, says

PARAMS: dict[str, Any] = {"base_url": "http://127.0.0.1:9", "model": "tiny-model"}
GOOD = Answer(200, text=json.dumps(calls("move_left", "do")))
PROSE = Answer(
    200, text=json.dumps({"choices": [{"index": 0, "message": {"content": "I walk."}, "finish_reason": "stop"}]})
)
OTHER_LIMIT = Answer(
    400,
    text=json.dumps(
        {
            "error": {
                "message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                "'max_completion_tokens' instead.",
                "param": "max_tokens",
            }
        }
    ),
)
NO_KEY = Answer(401, text=json.dumps({"error": {"message": "Wrong key", "code": "invalid_api_key"}}))


def unlimited(spent: Spent) -> bool:
    return False


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


def test_a_valid_answer_is_executed_and_recorded(observation: Observation):
    reply, client = decide(observation, [GOOD])
    assert reply.actions == ("move_left", "do") and reply.error_kind is None
    call = reply.model_call
    assert call is not None
    assert (call.provider, call.model) == ("127.0.0.1:9", "tiny-model")
    assert (call.tokens_in, call.tokens_out) == (100, 20)
    assert call.cost_usd is None and call.price_version is None  # a model without a price
    assert call.response_text == GOOD.text and call.finish_reason == "tool_calls"
    assert call.request == client.requests[0]


def test_a_request_contains_the_parameters(observation: Observation):
    _, client = decide(observation, [GOOD], temperature=0.7, max_tokens=99, seed=3, extra='{"top_k": 4}')
    (request,) = client.requests
    sent = {name: value for name, value in request.items() if name not in ("messages", "tools")}
    assert sent == {"model": "tiny-model", "temperature": 0.7, "max_tokens": 99, "seed": 3, "top_k": 4}
    assert request["tools"][0]["function"]["parameters"]["properties"]["actions"]["maxItems"] == 5
    assert isinstance(request["messages"][-1]["content"], str)


def test_by_default_only_a_token_limit_is_sent(observation: Observation):
    _, elsewhere = decide(observation, [GOOD])
    _, at_openai = decide(observation, [GOOD], url="https://api.openai.com/v1")
    _, own_limit = decide(observation, [GOOD], extra='{"max_completion_tokens": 9}')
    assert elsewhere.requests[0].keys() == {"model", "messages", "tools", "max_tokens"}
    assert at_openai.requests[0].keys() == {"model", "messages", "tools", "max_completion_tokens"}
    assert own_limit.requests[0]["max_completion_tokens"] == 9 and "max_tokens" not in own_limit.requests[0]


def test_a_picture_is_sent_if_configured(observation: Observation):
    _, client = decide(observation, [GOOD], observe="both")
    text, picture = client.requests[0]["messages"][-1]["content"]
    assert "Vitals" in text["text"] and picture["image_url"]["url"].startswith("data:image/png;base64,")


TOO_LONG = Answer(400, text=json.dumps({"error": {"message": "too long", "code": "context_length_exceeded"}}))


def remembering(observation: Observation, answers: Sequence[Answer], **params: Any) -> tuple[PolicyReply, FakeClient]:
    """The third decision, after two good ones."""
    client = FakeClient([GOOD, GOOD, *answers])
    policy = LlmPolicy(LlmParams(**{**PARAMS, **params}), lambda: (endpoint_of("h"), client), max_actions=5)
    policy.reset(0)
    replies = [policy.decide(observation, ()) for _ in range(2)]
    history = [decision_of(index, reply) for index, reply in enumerate(replies)]
    return policy.decide(observation, history), client


def test_a_request_that_was_too_long_is_repeated_with_half_the_history(observation: Observation):
    reply, client = remembering(observation, [TOO_LONG, TOO_LONG, GOOD], on_bad_call="retry", ask_again=5)
    sizes = [len(request["messages"]) for request in client.requests[2:]]
    assert sizes == [6, 4, 2] and reply.actions
    assert reply.model_call is not None
    assert [call.error_kind for call in reply.model_call.all_calls] == ["context_overflow", "context_overflow", None]
    assert [len(call.request["messages"]) for call in reply.model_call.all_calls] == sizes


@pytest.mark.parametrize("on_bad_call", ["retry", "noop"])
def test_a_request_that_is_too_long_without_history_stops(observation: Observation, on_bad_call: str):
    reply, client = decide(observation, [TOO_LONG], on_bad_call=on_bad_call)
    assert (reply.error_kind, reply.actions, len(client.requests)) == ("context_overflow", (), 1)


@pytest.mark.parametrize(
    "cost", [{"usage": {"cost": 0.5}}, {"usage": {"cost": {"total_cost": 0.5}}}, {"usage": {}, "total_cost": 0.5}]
)
def test_the_cost_reported_by_the_server_is_recorded(observation: Observation, cost: dict[str, Any]):
    reply, _ = decide(observation, [Answer(200, text=json.dumps(calls("noop", **cost)))])
    assert reply.model_call is not None
    assert (reply.model_call.server_cost_usd, reply.model_call.cost_usd) == (0.5, None)


def test_the_request_id_comes_from_the_header_or_the_body(observation: Observation):
    of_body, _ = decide(observation, [GOOD])
    of_header, _ = decide(observation, [replace(GOOD, headers={"x-request-id": "req_1"})])
    assert of_body.model_call is not None and of_body.model_call.request_id == "chatcmpl-1"
    assert of_header.model_call is not None and of_header.model_call.request_id == "req_1"


def test_a_cost_is_recorded_with_its_price_table(observation: Observation):
    answer = Answer(200, text=json.dumps(calls("noop", model="gpt-4o-mini")))
    reply, _ = decide(observation, [answer], url="https://api.openai.com/v1")
    assert reply.model_call is not None
    assert reply.model_call.cost_usd == pytest.approx((100 * 0.15 + 20 * 0.6) / 1e6)
    assert reply.model_call.price_version is not None and "genai-prices" in reply.model_call.price_version


def test_an_invalid_answer_stops_by_default(observation: Observation):
    reply, client = decide(observation, [PROSE, GOOD])
    assert reply.error_kind == "no_tool_call" and reply.error_detail and not reply.actions
    assert len(client.requests) == 1
    assert reply.model_call is not None and reply.model_call.error_kind == "no_tool_call"


def test_a_retry_records_the_earlier_answers(observation: Observation):
    reply, client = decide(observation, [PROSE, PROSE, GOOD], on_bad_call="retry", ask_again=2)
    assert reply.actions == ("move_left", "do") and len(client.requests) == 3
    assert reply.model_call is not None
    assert [call.error_kind for call in reply.model_call.all_calls] == ["no_tool_call", "no_tool_call", None]
    assert reply.model_call.earlier[0].response_text == PROSE.text and not reply.model_call.earlier[0].request


def test_retries_are_limited(observation: Observation):
    reply, client = decide(observation, [PROSE], on_bad_call="retry", ask_again=2)
    assert reply.error_kind == "no_tool_call" and len(client.requests) == 3


def test_noop_continues_with_a_warning(observation: Observation):
    reply, _ = decide(observation, [PROSE], on_bad_call="noop")
    assert reply.actions == ("noop",) and reply.error_kind is None
    assert reply.warning == "no_tool_call" and "no_tool_call" in reply.tool_calls[-1].reasoning


@pytest.mark.parametrize("on_bad_call", ["stop", "retry", "noop"])
def test_a_wrong_key_always_stops(observation: Observation, on_bad_call: str):
    reply, client = decide(observation, [NO_KEY], on_bad_call=on_bad_call)
    assert reply.error_kind == "auth" and len(client.requests) == 1


def test_the_refused_request_is_part_of_the_call(observation: Observation):
    refused = replace(OTHER_LIMIT, latency_ms=40, attempts=(Attempt(1, 38, 400),))
    good = replace(GOOD, latency_ms=700, attempts=(Attempt(2, 90, 429), Attempt(500, 190, 200)))
    reply, _ = decide(observation, [refused, good])
    call = reply.model_call
    assert call is not None
    assert call.latency_ms == 740
    assert call.attempts == (Attempt(1, 38, 400), Attempt(42, 90, 429), Attempt(540, 190, 200))
    assert call.waited_ms == pytest.approx(42 - 39 + 540 - 132)


def test_a_repeated_request_has_the_rest_of_the_time_limit(observation: Observation):
    allowed: list[float] = []

    class Watched(FakeClient):
        def complete(self, request: dict[str, Any], *, time_left_s: float, should_stop: ShouldStop) -> Answer:
            allowed.append(time_left_s)
            return super().complete(request, time_left_s=time_left_s, should_stop=should_stop)

    client = Watched([replace(OTHER_LIMIT, latency_ms=4_000), GOOD])
    policy = LlmPolicy(LlmParams(**PARAMS, call_timeout_s=10), lambda: (endpoint_of("h"), client), max_actions=5)
    policy.reset(0)
    policy.set_limits(60.0, lambda: False, unlimited)
    policy.decide(observation, ())
    assert allowed == [10, 6]


def test_the_parse_time_of_each_call_is_recorded(observation: Observation):
    reply, _ = decide(observation, [PROSE, GOOD], on_bad_call="retry")
    assert reply.model_call is not None
    assert all(call.parse_ms is not None and call.parse_ms > 0 for call in reply.model_call.all_calls)


def test_a_time_limit_and_a_stop_are_not_failures_of_the_model(observation: Observation):
    client = FakeClient([Answer(None, latency_ms=5_000, failure=Failure("timeout", "late"))])
    policy = LlmPolicy(LlmParams(**PARAMS), lambda: (endpoint_of("h"), client), max_actions=5)
    policy.reset(0)
    policy.set_limits(4.0, lambda: False, unlimited)
    assert policy.decide(observation, ()).error_kind == "out_of_time"
    policy.set_limits(4.0, lambda: True, unlimited)
    assert policy.decide(observation, ()).error_kind == "stopped"


def test_a_key_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CRAFTSCOPE_KEYS", "A_KEY=127.0.0.1:9")
    monkeypatch.delenv("A_KEY", raising=False)
    with pytest.raises(PolicyError, match="A_KEY is not set"):
        endpoint_for(LlmParams(**PARAMS, key_name="A_KEY"))
    monkeypatch.setenv("A_KEY", "sk-123456789")
    assert endpoint_for(LlmParams(**PARAMS, key_name="A_KEY")).key == "sk-123456789"


def test_a_key_is_not_sent_to_another_server(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("A_KEY", "sk-123456789")
    with ModelServer([says(calls("noop"))]) as server:
        monkeypatch.setenv("CRAFTSCOPE_KEYS", "A_KEY=api.lab.example")
        params = LlmParams(base_url=server.url, model="m", key_name="A_KEY")
        for refuse in (
            lambda: checked_policy(PolicySpec("llm", asdict(params))),  # before a launch
            lambda: make_llm(params, seed=0, max_actions=1),  # in the worker
            lambda: endpoint_for(params),  # where the key is read
        ):
            with pytest.raises(InvalidConfig, match="The key A_KEY may be sent to api.lab.example only"):
                refuse()
        test = run_connection_test(params)
        assert test.call is None and "Choose a key of this server, or none" in test.sentence
        assert server.requests == []
        monkeypatch.setenv("CRAFTSCOPE_KEYS", f"A_KEY={server.host}")
        assert run_connection_test(params).ok
        assert server.requests[0][1]["authorization"] == "Bearer sk-123456789"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_named_and_not_followed(monkeypatch: pytest.MonkeyPatch, status: int):
    monkeypatch.setenv("A_KEY", "sk-123456789")
    with ModelServer([says(calls("noop"))]) as other:
        with ModelServer([says("", status, Location=f"{other.url}/chat/completions?token=abc")]) as server:
            monkeypatch.setenv("CRAFTSCOPE_KEYS", f"A_KEY={server.host}")
            test = run_connection_test(LlmParams(base_url=server.url, model="m", key_name="A_KEY"))
        assert not test.ok and f"It redirects to {other.url}/chat/completions" in test.sentence
        assert test.call is not None and "abc" not in repr(test)
        assert len(server.requests) == 1 and other.requests == []


def test_a_run_queued_by_an_earlier_version_can_be_played():
    spec = PolicySpec("llm", {**PARAMS, "key_for": "https://api.openai.com"})
    assert "key_for" not in checked_policy(spec).params


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"model": ""}, "No model"),
        ({"base_url": "ftp://h"}, "base URL"),
        ({"key_name": "sk-123 456"}, "never read"),
        ({"extra": "{"}, "JSON"),
        ({"extra": "[]"}, "object"),
        ({"extra": '{"seed": NaN}'}, "JSON"),
        ({"extra": '{"seed": "\\ud800"}'}, "JSON"),
        ({"extra": '{"messages": []}'}, "messages"),
        ({"temperature": 3}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"observe": "sound"}, "text, picture, both"),
        ({"modell": "x"}, 'did you mean "model"'),
    ],
)
def test_an_invalid_launch_is_refused(params: dict[str, Any], says: str):
    with pytest.raises(InvalidConfig, match=says):
        checked_policy(PolicySpec("llm", {**PARAMS, **params}))


KEY = "sk-test-9f8e7d6c5b4a3210"


def test_no_part_of_the_key_is_recorded(observation: Observation):
    body = {"error": {"message": f"Incorrect API key provided: {KEY[:9]}***{KEY[-6:]}."}}
    answer = Answer(401, {"x-request-id": KEY, "x-ratelimit-" + KEY: KEY}, json.dumps(body))
    policy = LlmPolicy(LlmParams(**PARAMS), lambda: (endpoint_of("host", KEY), FakeClient([answer])), max_actions=5)
    policy.reset(0)
    reply = policy.decide(observation, ())
    recorded = repr(reply)
    assert not any(KEY[at : at + 6] in recorded for at in range(len(KEY) - 5))
    assert reply.model_call is not None and "Incorrect API key provided" in reply.model_call.response_text


def paused(observation: Observation, answers: Sequence[Answer], decisions: int = 1, **params: Any) -> list[float]:
    """The pauses that the policy would have made, in seconds."""
    pauses: list[float] = []

    def wait(seconds: float, should_stop: object) -> float:
        pauses.append(seconds)
        return seconds

    policy = LlmPolicy(
        LlmParams(**{**PARAMS, **params}),
        lambda: (endpoint_of("host"), FakeClient(answers)),
        max_actions=5,
        wait=wait,
    )
    policy.reset(0)
    for _ in range(decisions):
        policy.set_limits(1_000, lambda: False, unlimited)
        policy.decide(observation, ())
    return pauses


BUSY = Answer(429, {"retry-after": "7"}, json.dumps({"error": {"message": "slow down", "code": "rate_limit"}}))
DOWN = Answer(None, failure=Failure("connection", "The server cannot be reached."))


def test_it_waits_as_long_as_the_server_asks_for(observation: Observation):
    assert paused(observation, [BUSY, BUSY, GOOD], on_bad_call="retry", ask_again=5) == [7.0, 7.0]
    assert paused(observation, [BUSY], decisions=2, on_bad_call="noop") == [7.0, 7.0]
    assert paused(observation, [BUSY], on_bad_call="stop") == []


def test_it_waits_longer_after_each_failure_up_to_a_minute(observation: Observation):
    pauses = paused(observation, [DOWN], decisions=9, on_bad_call="noop")
    assert pauses[:4] == [0.5, 1.0, 2.0, 4.0] and pauses[-1] == 60.0
    assert paused(observation, [DOWN, GOOD, DOWN, GOOD], decisions=4, on_bad_call="noop") == [0.5, 0.5]
    assert paused(observation, [PROSE, GOOD], on_bad_call="retry", ask_again=1) == []


def test_a_pause_is_recorded(observation: Observation):
    policy = LlmPolicy(
        LlmParams(**PARAMS, on_bad_call="retry", ask_again=1),
        lambda: (endpoint_of("host"), FakeClient([BUSY, GOOD])),
        max_actions=5,
        wait=lambda seconds, should_stop: seconds,
    )
    policy.reset(0)
    call = policy.decide(observation, ()).model_call
    assert call is not None
    assert [each.waited_ms for each in call.all_calls] == [7_000.0, 0.0]


def test_the_budget_is_checked_before_a_retry(observation: Observation):
    client = FakeClient([PROSE])
    policy = LlmPolicy(
        LlmParams(**PARAMS, on_bad_call="retry", ask_again=20), lambda: (endpoint_of("host"), client), max_actions=5
    )
    policy.reset(0)
    policy.set_limits(100, lambda: False, lambda spent: spent.calls >= 3)
    reply = policy.decide(observation, ())
    assert (len(client.requests), reply.error_kind) == (3, OUT_OF_BUDGET)
    assert reply.model_call is not None and len(reply.model_call.all_calls) == 3


@pytest.mark.parametrize("key", ["sk-“quoted”", "sk-é-1234567", "sk-line\nbreak", "two words"])
def test_a_key_with_characters_that_cannot_be_sent_is_reported(monkeypatch: pytest.MonkeyPatch, key: str):
    monkeypatch.setenv("CRAFTSCOPE_KEYS", "ODD_KEY=127.0.0.1:9")
    monkeypatch.setenv("ODD_KEY", key)
    with pytest.raises(PolicyError, match="characters that cannot be sent") as caught:
        endpoint_for(LlmParams(**PARAMS, key_name="ODD_KEY"))
    assert key not in str(caught.value)


def test_a_line_break_after_a_key_is_removed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CRAFTSCOPE_KEYS", "FILE_KEY=127.0.0.1:9")
    monkeypatch.setenv("FILE_KEY", f"{KEY}\n")
    assert endpoint_for(LlmParams(**PARAMS, key_name="FILE_KEY")).key == KEY


def test_token_logprobs_are_sent_for_if_configured_and_kept(observation: Observation):
    body = calls("noop")
    tokens = [{"token": "no", "logprob": -0.25}, {"token": "op", "logprob": -1}, {"token": "?", "logprob": None}]
    body["choices"][0]["logprobs"] = {"content": tokens}
    reply, client = decide(observation, [Answer(200, text=json.dumps(body))], logprobs="yes")
    assert client.requests[0]["logprobs"] is True
    assert reply.model_call is not None
    assert reply.model_call.token_logprobs == (TokenLogprob("no", -0.25), TokenLogprob("op", -1.0))
    _, client = decide(observation, [GOOD])
    assert "logprobs" not in client.requests[0]
