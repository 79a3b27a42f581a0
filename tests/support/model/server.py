"""A model's server on loopback, whose answers a test writes itself."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from core.policies.llm.client import Answer, OpenAIClient
from core.policies.llm.endpoint import endpoint_of

Reply = Callable[[BaseHTTPRequestHandler], None]
KEY = "sk-test-9f8e7d6c5b4a3210"
REQUEST: dict[str, Any] = {
    "model": "tiny-model",
    "messages": [{"role": "user", "content": "hello"}],
    "max_tokens": 5,
    "reasoning_effort": "low",
}


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that disconnects is tested on purpose; a failing reply shows in the test's own asserts."""


class ModelServer:
    """Answers the requests with the replies in order, the last one repeatedly.

    requests: (path, headers by lower-case name, body) of each. tls: a folder with a certificate and its key.
    """

    def __init__(self, replies: Sequence[Reply], tls: Path | None = None) -> None:
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self._replies = list(replies)
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 1 << 16  # head and body in one packet, or each answer waits 40 ms for an acknowledgement

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                server.requests.append((self.path, headers, json.loads(body)))
                at = min(len(server.requests), len(server._replies)) - 1
                try:
                    server._replies[at](self)
                except (BrokenPipeError, ConnectionResetError):  # the client has abandoned the call, on purpose
                    self.close_connection = True

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._http = _Quiet(("127.0.0.1", 0), Handler)
        if tls is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls / "certificate.pem", tls / "key.pem")
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self._http.daemon_threads = True
        self._http.block_on_close = False
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def host(self) -> str:
        """Host and port, as `CRAFTSCOPE_KEYS` pairs a key with it."""
        return f"127.0.0.1:{self._http.server_address[1]}"

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://{self.host}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()


def says(body: Any, status: int = 200, **headers: str) -> Reply:
    """A whole answer; body is JSON data, or text as it is."""
    text = body if isinstance(body, str) else json.dumps(body)

    def reply(handler: BaseHTTPRequestHandler) -> None:
        data = text.encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "text/html" if isinstance(body, str) else "application/json")
        handler.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(data)

    return reply


def dribbles(seconds: float) -> Reply:
    """Sends a byte at a time, for this long."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", "1000000")
        handler.end_headers()
        pause = threading.Event()
        for _ in range(int(seconds * 20)):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            pause.wait(0.05)

    return reply


def holds(until: threading.Event, then: Reply) -> Reply:
    """Answers only once `until` is set, for a client that has abandoned the call."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        until.wait(120)
        then(handler)

    return reply


def calls(*actions: str, **more: Any) -> dict[str, Any]:
    """A chat completion with one tool call of these actions."""
    arguments = json.dumps({"actions": list(actions), "reasoning": "because"})
    function = {"name": "interact", "arguments": arguments}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "tiny-model",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        **more,
    }


def ask(*replies: Reply, retries: int = 0, time_left_s: float = 20, query: str = "") -> tuple[Answer, ModelServer]:
    """The real client's answer to REQUEST from a server with these replies, and the server."""
    with ModelServer(replies) as server:
        client = OpenAIClient(endpoint_of(server.url + query, KEY), retries=retries)
        answer = client.complete(REQUEST, time_left_s=time_left_s, should_stop=lambda: False)
        client.close()
    return answer, server
