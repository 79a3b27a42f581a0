"""The real client with a real server on loopback: every request is recorded, and no server can block it forever."""

from __future__ import annotations

import threading
import time
from contextlib import closing

import pytest

from core.policies.llm.client import OpenAIClient
from core.policies.llm.endpoint import endpoint_of
from tests.support.model.server import KEY, REQUEST, ModelServer, ask, calls, dribbles, says


def test_a_request_is_sent_unchanged_with_the_key_in_its_header_only():
    answer, server = ask(says(calls("noop"), x_request_id="req_1"), query="?cid=trace_7")
    ((path, headers, body),) = server.requests
    assert path == "/v1/chat/completions?cid=trace_7"
    assert headers["authorization"] == f"Bearer {KEY}"
    assert body == REQUEST
    assert answer.status == 200 and answer.headers["x-request-id"] == "req_1"
    assert '"tiny-model"' in answer.text and answer.failure is None
    assert [attempt.status for attempt in answer.attempts] == [200]
    assert 0 < answer.attempts[0].duration_ms <= answer.latency_ms


def test_a_busy_server_is_called_again_after_its_retry_after():
    full = says({"error": {"message": "slow down"}}, 429, Retry_After="0.2")
    answer, server = ask(full, says(calls("noop")), retries=2)
    assert answer.status == 200 and len(server.requests) == 2
    first, second = answer.attempts
    assert (first.status, second.status) == (429, 200)
    assert second.start_ms - first.start_ms - first.duration_ms >= 150


def test_after_the_last_retry_its_answer_counts():
    answer, server = ask(says({"error": {"message": "broken"}}, 500), retries=1)
    assert answer.status == 500 and "broken" in answer.text
    assert [attempt.status for attempt in answer.attempts] == [500, 500] and len(server.requests) == 2


@pytest.mark.parametrize("body", ["<html><body>Welcome</body></html>", "", '{"id": "cut'])
def test_a_body_that_is_not_json_is_recorded(body: str):
    answer, _ = ask(says(body))
    assert (answer.status, answer.text, answer.failure) == (200, body, None)


def test_an_unreachable_server_is_a_connection_error():
    with ModelServer([says("")]) as server:
        url = server.url
    with closing(OpenAIClient(endpoint_of(url, KEY), retries=0)) as client:
        answer = client.complete(REQUEST, time_left_s=10, should_stop=lambda: False)
    assert answer.status is None and answer.failure is not None
    kind, detail, _ = answer.failure
    assert kind == "connection" and "cannot be reached" in detail and "127.0.0.1" in detail
    assert len(answer.attempts) == 1 and answer.attempts[0].error


def test_a_server_that_answers_byte_by_byte_is_abandoned_in_time():
    started_s = time.monotonic()
    answer, _ = ask(dribbles(20), time_left_s=0.5)
    assert answer.failure is not None and answer.failure.kind == "timeout"
    assert time.monotonic() - started_s < 10


def test_the_call_after_an_abandoned_one_works():
    replies = [dribbles(20), says(calls("noop"))]
    with ModelServer(replies) as server, closing(OpenAIClient(endpoint_of(server.url, KEY), retries=0)) as client:
        assert client.complete(REQUEST, time_left_s=0.3, should_stop=lambda: False).failure
        assert client.complete(REQUEST, time_left_s=20, should_stop=lambda: False).status == 200


def test_a_stop_ends_a_waiting_call():
    asked = threading.Event()
    threading.Timer(0.3, asked.set).start()
    with ModelServer([dribbles(20)]) as server, closing(OpenAIClient(endpoint_of(server.url), retries=0)) as client:
        answer = client.complete(REQUEST, time_left_s=60, should_stop=asked.is_set)
    assert answer.failure is not None and answer.failure.kind == "stopped"
