"""HTTP for one call at a time: what is sent, how long an answer may be, and how a call is ended from outside.

Nothing of the environment goes along (the client library would add headers from variables of its own), an answer is
bounded in size, and a call that nobody waits for any more loses its socket, wherever it stands.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import httpx2
import openai

from core.policies.llm.endpoint import Endpoint
from core.types import Attempt

MOST_BYTES: Final = 4_000_000
"""Of an answer; more is no answer of a model."""

_SENT: Final = ("host", "content-type", "content-length", "user-agent", "connection", "transfer-encoding")
_LOGGERS: Final = ("httpx2", "httpcore2", "openai")


class GivenUp(openai.OpenAIError):
    """Nobody waits for the call any more. The client library repeats no request after an error of its own kind."""


class UnusableAnswer(openai.OpenAIError):
    """The answer came, and is of no use however often it is asked for. The text says why."""


def quiet_libraries() -> None:
    """The libraries log addresses, with what stands in their query, and what a server wrote, which may be the key."""
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.ERROR)


class RecordingTransport(httpx2.BaseTransport):
    """Takes down each request of a call, and ends an abandoned one at once."""

    def __init__(self, inner: httpx2.BaseTransport, endpoint: Endpoint) -> None:
        self._inner = inner
        self._key = endpoint.key
        self._cancelled = threading.Event()
        self._sockets: list[socket.socket] = []
        self.begin()

    def begin(self) -> None:
        """A new call."""
        self._started_s = time.monotonic()
        self._attempts: list[Attempt] = []

    def attempts(self) -> tuple[Attempt, ...]:
        """Those of this call so far; one that goes on counts until now."""
        return tuple(self._attempts)

    @property
    def last_status(self) -> int | None:
        """The status that the newest request was answered with; None where none was."""
        return self._attempts[-1].status if self._attempts else None

    @property
    def is_cancelled(self) -> bool:
        """Whether nobody waits for it any more."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """End what is going on, and let nothing begin any more."""
        self._cancelled.set()
        for connected in self._sockets:
            try:
                connected.shutdown(socket.SHUT_RDWR)  # closing alone would not wake who reads from it
            except OSError:
                continue  # it was closed already

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """As the transport inside. Raises GivenUp where nobody waits any more."""
        if self._cancelled.is_set():
            raise GivenUp("The call was given up.")
        kept = {name: value for name, value in request.headers.items() if name.lower() in _SENT}
        ours = {"authorization": f"Bearer {self._key}", "accept": "application/json", "accept-encoding": "identity"}
        # A new one: the client library looks into the headers of its own again when the answer is there.
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
        """Close the transport inside."""
        self._inner.close()

    def _notice_connection(self, event: str, info: dict[str, Any]) -> None:
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            connected = info["return_value"].get_extra_info("socket")
            self._sockets.append(connected)
            if self._cancelled.is_set():
                self.cancel()

    def _recorded(self, request: httpx2.Request) -> httpx2.Response:
        start_ms = self._now_ms()
        at = len(self._attempts)
        self._attempts.append(Attempt(start_ms, 0.0, error="no answer yet"))

        def so_far(status: int | None, error: str = "") -> None:
            self._attempts[at] = Attempt(start_ms, self._now_ms() - start_ms, status, error)

        try:
            response = self._inner.handle_request(request)
        except httpx2.TransportError as error:
            so_far(None, type(error).__name__)
            raise GivenUp("The call was given up.") if self._cancelled.is_set() else error from None
        so_far(response.status_code)
        return httpx2.Response(
            response.status_code,
            # A server's word that it should be asked again counts by its status, not by this.
            headers=[(name, value) for name, value in response.headers.raw if name.lower() != b"x-should-retry"],
            stream=_Body(response, self._cancelled, partial(so_far, response.status_code)),
            # Without the reason phrase: it is whatever a server writes, and gets into logs.
            extensions={"http_version": response.extensions.get("http_version", b"HTTP/1.1")},
        )

    def _now_ms(self) -> float:
        return (time.monotonic() - self._started_s) * 1000


class _Body(httpx2.SyncByteStream):
    """The bytes of an answer, as far as they are no more than an answer has."""

    def __init__(self, response: httpx2.Response, cancelled: threading.Event, so_far: Callable[..., None]) -> None:
        self._stream: Any = response.stream
        self._coding = response.headers.get("content-encoding", "identity")
        self._cancelled = cancelled
        self._so_far = so_far

    def __iter__(self) -> Iterator[bytes]:
        if self._coding.strip().lower() not in ("", "identity"):
            raise UnusableAnswer("it is compressed, although it was asked not to be")
        size = 0
        try:
            for chunk in self._stream:
                size += len(chunk)
                if size > MOST_BYTES:
                    raise UnusableAnswer(f"it is longer than {MOST_BYTES:,} bytes")
                yield chunk
        except httpx2.TransportError as error:
            self._so_far(type(error).__name__)
            raise GivenUp("The call was given up.") if self._cancelled.is_set() else error from None
        self._so_far()

    def close(self) -> None:
        self._stream.close()
