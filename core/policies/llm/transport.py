"""HTTP for one call at a time: which headers are sent, how long an answer may be, and how a call is cancelled.

The client library would add headers from environment variables; they are not sent. An answer is limited in size, and
an abandoned call loses its socket at once. Of the environment, only the proxy and the certificates (`SSL_CERT_FILE`)
are used, as company networks need them.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
import openai

from core.errors import PolicyError
from core.policies.llm.endpoint import Endpoint
from core.settings import is_loopback, proxy_for
from core.types import Attempt

MAX_ANSWER_BYTES: Final = 4_000_000

_SENT: Final = ("host", "content-type", "content-length", "user-agent", "connection", "transfer-encoding")
_LOGGERS: Final = ("httpx2", "httpcore2", "openai")


class CallAbandoned(openai.OpenAIError):
    """The policy no longer waits for the call. The client library does not retry after an error of its own kind."""


class UnreadableAnswer(openai.OpenAIError):
    """The answer cannot be read, and a retry would not help. The text says why."""


def silence_library_logs() -> None:
    """The libraries log URLs with their query and the text of servers, either of which may contain the key."""
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.ERROR)


def open_transport(endpoint: Endpoint) -> httpx2.HTTPTransport:
    """HTTP to a model's server, through the proxy of the environment if there is one. Raises PolicyError."""
    try:
        return httpx2.HTTPTransport(proxy=_proxy(endpoint))
    except (OSError, ValueError, httpx2.InvalidURL) as error:
        raise PolicyError(
            "connection",
            f"No connection can be opened ({type(error).__name__}). Check HTTPS_PROXY and SSL_CERT_FILE in the "
            "environment of the dashboard.",
        ) from error


def route(endpoint: Endpoint) -> str:
    """`directly`, or through which proxy, without the proxy's password."""
    proxy = _proxy(endpoint)
    return f"through the proxy {urlsplit(proxy).netloc.rpartition('@')[2]}" if proxy else "directly"


def _proxy(endpoint: Endpoint) -> str | None:
    parts = urlsplit(endpoint.base_url)
    host = (parts.hostname or "").rstrip(".")
    return None if is_loopback(host) else proxy_for(parts.scheme, host)


class RecordingTransport(httpx2.BaseTransport):
    """Records each request of a call, and ends an abandoned call at once."""

    def __init__(self, inner: httpx2.BaseTransport, endpoint: Endpoint) -> None:
        self._inner = inner
        self._key = endpoint.key
        self._cancelled = threading.Event()
        self._sockets: list[socket.socket] = []
        self.begin()

    def begin(self) -> None:
        self._started_s = time.monotonic()
        self._attempts: list[Attempt] = []

    def attempts(self) -> tuple[Attempt, ...]:
        return tuple(self._attempts)

    @property
    def last_status(self) -> int | None:
        """Of the newest request; None if it got no answer."""
        return self._attempts[-1].status if self._attempts else None

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Ends the request in flight, and refuses every later one."""
        self._cancelled.set()
        for connected in self._sockets:
            try:
                connected.shutdown(socket.SHUT_RDWR)  # closing alone would not wake a thread that reads from it
            except OSError:
                continue  # already closed

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Like the inner transport. Raises CallAbandoned after `cancel`."""
        if self._cancelled.is_set():
            raise CallAbandoned("The call was abandoned.")
        kept = {name: value for name, value in request.headers.items() if name.lower() in _SENT}
        ours = {"authorization": f"Bearer {self._key}", "accept": "application/json", "accept-encoding": "identity"}
        # A new request: the client library reads the headers of its own one again after the answer.
        return self._recorded(
            httpx2.Request(
                request.method,
                request.url,
                headers=kept | ours,
                stream=request.stream,
                extensions={**request.extensions, "trace": self._notice_connection},
            )
        )

    def close(self) -> None:
        self._inner.close()

    def _notice_connection(self, event: str, info: dict[str, Any]) -> None:
        # the name begins with "connection.", or with "proxy." if TLS begins in a proxy's tunnel
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            connected = info["return_value"].get_extra_info("socket")
            self._sockets.append(connected)
            if self._cancelled.is_set():
                self.cancel()

    def _recorded(self, request: httpx2.Request) -> httpx2.Response:
        start_ms = self._now_ms()
        at = len(self._attempts)
        self._attempts.append(Attempt(start_ms, 0.0, error="no answer yet"))

        def update(status: int | None, error: str = "") -> None:
            self._attempts[at] = Attempt(start_ms, self._now_ms() - start_ms, status, error)

        try:
            response = self._inner.handle_request(request)
        except httpx2.TransportError as error:
            update(None, type(error).__name__)
            raise CallAbandoned("The call was abandoned.") if self._cancelled.is_set() else error from None
        update(response.status_code)
        return httpx2.Response(
            response.status_code,
            # Whether to retry depends on the status; with this header a server could ask for more requests.
            headers=[(name, value) for name, value in response.headers.raw if name.lower() != b"x-should-retry"],
            stream=_Body(response, self._cancelled, partial(update, response.status_code)),
            # Without the reason phrase: it is text of the server, which gets into logs.
            extensions={"http_version": response.extensions.get("http_version", b"HTTP/1.1")},
        )

    def _now_ms(self) -> float:
        return (time.monotonic() - self._started_s) * 1000


class _Body(httpx2.SyncByteStream):
    """The bytes of an answer, up to MAX_ANSWER_BYTES."""

    def __init__(self, response: httpx2.Response, cancelled: threading.Event, update: Callable[..., None]) -> None:
        self._stream: Any = response.stream
        self._coding = response.headers.get("content-encoding", "identity")
        self._cancelled = cancelled
        self._update = update

    def __iter__(self) -> Iterator[bytes]:
        if self._coding.strip().lower() not in ("", "identity"):
            raise UnreadableAnswer("it is compressed, although the request refuses that")
        size = 0
        try:
            for chunk in self._stream:
                size += len(chunk)
                if size > MAX_ANSWER_BYTES:
                    raise UnreadableAnswer(f"it is longer than {MAX_ANSWER_BYTES:,} bytes")
                yield chunk
        except httpx2.TransportError as error:
            self._update(type(error).__name__)
            raise CallAbandoned("The call was abandoned.") if self._cancelled.is_set() else error from None
        self._update()

    def close(self) -> None:
        self._stream.close()
