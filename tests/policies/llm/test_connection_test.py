"""The connection test: one small call, in limited time, with a result in a sentence."""

from __future__ import annotations

import pytest

from core.policies.llm import LlmParams, connection_test, run_connection_test
from tests.support.model.server import ModelServer, calls, dribbles, says

KEY = "sk-test-9f8e7d6c5b4a3210"


def test_a_server_that_answers_with_a_call_passes():
    with ModelServer([says(calls("noop"))]) as server:
        result = run_connection_test(LlmParams(base_url=server.url, model="tiny-model"))
    assert result.ok and result.reached
    assert result.sentence.startswith("tiny-model at 127.0.0.1:") and result.sentence.endswith(
        "with a valid tool call. It was called directly."
    )
    assert result.call is not None and result.call.tokens_in == 100
    ((_, _, body),) = server.requests
    assert body["max_tokens"] == 256 and body["tools"]


def test_an_answer_without_a_call_is_reported_with_advice():
    prose = {"choices": [{"index": 0, "message": {"content": "Hello."}, "finish_reason": "stop"}]}
    with ModelServer([says(prose)]) as server:
        result = run_connection_test(LlmParams(base_url=server.url, model="tiny-model"))
    assert not result.ok and result.reached
    assert "answered, but not with a valid tool call" in result.sentence and "tool-call parser" in result.sentence


def test_a_wrong_key_is_reported_without_any_part_of_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("A_KEY", KEY)
    with ModelServer([says({"error": {"message": f"Incorrect API key: {KEY}"}}, status=401)]) as server:
        monkeypatch.setenv("CRAFTSCOPE_KEYS", f"A_KEY={server.host}")
        result = run_connection_test(LlmParams(base_url=server.url, model="m", key_name="A_KEY"))
    assert not result.ok and not result.reached and "does not accept the API key" in result.sentence
    assert server.requests[0][1]["authorization"] == f"Bearer {KEY}"
    assert not any(KEY[at : at + 6] in str(result) for at in range(len(KEY) - 5))


def test_nothing_is_sent_without_a_key_or_a_base_url(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CRAFTSCOPE_KEYS", "A_KEY=127.0.0.1:9")
    monkeypatch.delenv("A_KEY", raising=False)
    unset = run_connection_test(LlmParams(base_url="http://127.0.0.1:9", model="m", key_name="A_KEY"))
    assert unset.call is None and "A_KEY is not set" in unset.sentence
    nowhere = run_connection_test(LlmParams(base_url="", model="m"))
    assert nowhere.call is None and "base URL is empty" in nowhere.sentence


def test_an_answer_that_never_ends_is_abandoned(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection_test, "MAX_TEST_S", 0.5)
    with ModelServer([dribbles(20)]) as server:
        result = run_connection_test(LlmParams(base_url=server.url, model="m"))
    assert not result.reached and "0.5 s" in result.sentence


def test_a_failing_server_is_called_only_once():
    with ModelServer([says({"error": "overloaded"}, status=503)]) as server:
        result = run_connection_test(LlmParams(base_url=server.url, model="m"))
    assert len(server.requests) == 1 and "The server failed" in result.sentence
