"""What a request contains, which answers are refused, and that an abandoned call ends."""

from __future__ import annotations

import gzip
import json
import logging
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler

import pytest

from core.policies.llm.client import OpenAIClient
from core.policies.llm.endpoint import endpoint_of
from core.policies.llm.transport import MAX_ANSWER_BYTES
from tests.support.model.server import KEY, REQUEST, ModelServer, Reply, ask, calls, says


def raw(data: bytes, *, then_close: bool = True) -> Reply:
    """Bytes as they are, instead of an HTTP answer."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(data)
        handler.wfile.flush()
        handler.close_connection = then_close

    return reply


def test_a_request_contains_nothing_of_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-the-environment")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-of-the-environment")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Other-Key: sk-other\nAuthorization: Bearer sk-other")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    answer, server = ask(says(calls("noop")))
    assert answer.status == 200
    ((_, headers, _),) = server.requests
    assert headers["authorization"] == f"Bearer {KEY}"
    assert not any("of-the-environment" in value or "sk-other" in value for value in headers.values())
    assert not [name for name in headers if name.startswith(("openai", "x-"))]


def test_the_text_of_a_server_does_not_get_into_the_log(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    body = json.dumps(calls("noop")).encode()
    head = f"HTTP/1.1 200 fine {KEY}\r\nx-request-id: {KEY}\r\nContent-Length: {len(body)}\r\n\r\n"
    answer, _ = ask(raw(head.encode() + body), query=f"?cid={KEY}")
    assert answer.status == 200
    assert KEY not in caplog.text


def test_a_compressed_answer_is_refused_unread():
    def reply(handler: BaseHTTPRequestHandler) -> None:
        data = gzip.compress(b" " * 10 * MAX_ANSWER_BYTES)
        handler.send_response(200)
        handler.send_header("Content-Encoding", "gzip")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    answer, server = ask(reply, retries=3)
    assert server.requests[0][1]["accept-encoding"] == "identity"
    assert answer.status == 200 and answer.failure is not None and answer.text == ""
    assert answer.failure.kind == "invalid_body" and "compressed" in answer.failure.detail
    assert len(server.requests) == 1


def test_an_answer_that_is_too_long_is_fetched_once():
    answer, server = ask(says(" " * (MAX_ANSWER_BYTES + 1)), retries=3)
    assert answer.failure is not None and answer.failure.kind == "invalid_body"
    assert f"longer than {MAX_ANSWER_BYTES:,} bytes" in answer.failure.detail
    assert (answer.status, len(server.requests)) == (200, 1)


@pytest.mark.parametrize(
    ("reply", "kind", "status", "says_so"),
    [
        (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"), "invalid_body", 200, "broke off"),
        (raw(b"HTTP/1.1 2x0 OK\r\n\r\n"), "connection", None, "did not send an HTTP answer"),
        (raw(b"SSH-2.0-OpenSSH_9.2\r\n"), "connection", None, "did not send an HTTP answer"),
        (raw(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}"), "connection", None, "did not send an HTTP answer"),
        (raw(b""), "connection", None, "did not send an HTTP answer"),
    ],
)
def test_an_error_tells_whether_the_server_was_reached(reply: Reply, kind: str, status: int | None, says_so: str):
    answer, _ = ask(reply)
    assert answer.failure is not None
    assert (answer.failure.kind, answer.status) == (kind, status)
    assert says_so in answer.failure.detail and "cannot be reached" not in answer.failure.detail


def test_the_x_should_retry_header_is_ignored():
    _, server = ask(says({"error": {"message": "no"}}, 401, x_should_retry="true"), retries=5)
    assert len(server.requests) == 1


def test_an_abandoned_call_is_not_retried():
    stop, gone = threading.Event(), threading.Event()

    def busy(handler: BaseHTTPRequestHandler) -> None:
        says({"error": {"message": "busy"}}, 429, retry_after="0.3")(handler)
        stop.set()

    with ModelServer([busy]) as server, closing(OpenAIClient(endpoint_of(server.url, KEY), retries=20)) as client:
        answer = client.complete(REQUEST, time_left_s=60, should_stop=stop.is_set)
        for thread in threading.enumerate():
            if thread.name == "model-call":
                thread.join()  # it ends soon by itself
        gone.set()
    assert answer.failure is not None and answer.failure.kind == "stopped"
    assert len(server.requests) == 1
    assert [attempt.status for attempt in answer.attempts] == [429]


@pytest.mark.parametrize(
    "begun", [b"", b"HTTP/1.1 200 OK\r\nx-slow: ", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"]
)
def test_an_abandoned_call_loses_its_connection(begun: bytes):
    stop, ended = threading.Event(), threading.Event()

    def silent(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(begun)
        handler.wfile.flush()
        stop.set()
        handler.connection.recv(1)  # returns once the other side is gone
        ended.set()
        handler.close_connection = True

    with ModelServer([silent]) as server, closing(OpenAIClient(endpoint_of(server.url, KEY), retries=5)) as client:
        answer = client.complete(REQUEST, time_left_s=60, should_stop=stop.is_set)
        assert answer.failure is not None and answer.failure.kind == "stopped"
        assert ended.wait(30)
    assert len(server.requests) == 1
