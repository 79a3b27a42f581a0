"""The seam to a model's server: `ModelClient` is one method, `OpenAIClient` the real one, `FakeClient` that of tests.

A call is made in a thread of its own, because nothing else can be cut short: the HTTP library's time-outs are for each
read, so a server that answers byte by byte would hold it for ever. Who waits looks ten times a second whether a person
asked to stop and whether the time is over; the thread is then left to itself and ends at its next byte.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx2
import openai

from core.policies.llm.endpoint import Endpoint, without_key
from core.types import Attempt

ShouldStop = Callable[[], bool]

_LOOK_S = 0.1
_CONNECT_S = 5.0
_READ_S = 60.0
_MOST_BYTES = 20_000_000  # of an answer; more is no answer of a model
_MOST_HEADERS = 40
_MOST_OF_A_HEADER = 300
_KEPT_HEADERS = ("content-type", "retry-after", "x-request-id", "openai-processing-ms", "x-ratelimit", "ratelimit")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. status is None where no HTTP answer came: failure then says why.

    headers: lower-case names; those that say something about the call. text: the body. Neither holds a piece of the
    key. failure: kind and sentence of what went wrong below HTTP: `timeout`, `connection`, `invalid_body`, or `stopped`
    where a person asked to stop while it waited.
    """

    status: int | None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    text: str = ""
    attempts: tuple[Attempt, ...] = ()
    latency_ms: float = 0.0
    failure: tuple[str, str] | None = None


class ModelClient(Protocol):
    """Asks a model. Never raises for what a server does; that is in the answer."""

    def complete(self, request: dict[str, Any], *, time_left_s: float, should_stop: ShouldStop) -> Answer:
        """Send one chat-completions request; back within `time_left_s`, and within a second of `should_stop`."""
        ...

    def close(self) -> None:
        """Give connections back."""
        ...


class OpenAIClient:
    """The `openai` client on one endpoint, with every HTTP request of a call taken down."""

    def __init__(self, endpoint: Endpoint, *, retries: int) -> None:
        self._endpoint = endpoint
        self._retries = retries
        self._transport: _Transport | None = None
        self._client: openai.OpenAI | None = None

    def complete(self, request: dict[str, Any], *, time_left_s: float, should_stop: ShouldStop) -> Answer:
        """As `ModelClient.complete`."""
        client, transport = self._ready()
        transport.begin()
        started_s = time.monotonic()
        answers: list[Answer] = []

        def call_model() -> None:
            answers.append(self._ask(client, request))
            if transport.is_cancelled:
                client.close()

        call = threading.Thread(target=call_model, name="model-call", daemon=True)
        call.start()
        while True:
            call.join(max(0.0, min(_LOOK_S, started_s + time_left_s - time.monotonic())))
            if not call.is_alive():
                break
            if should_stop():
                self._abandon()
                answers = [_failed("stopped", "The call was given up, as the episode was asked to stop.")]
                break
            if time.monotonic() - started_s >= time_left_s:
                self._abandon()
                answers = [_failed("timeout", f"No whole answer came within {time_left_s:.3g} s; it was given up.")]
                break
        latency_ms = (time.monotonic() - started_s) * 1000
        return _cleaned(answers[0], self._endpoint.key, transport.attempts(), latency_ms)

    def close(self) -> None:
        """As `ModelClient.close`."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _ready(self) -> tuple[openai.OpenAI, _Transport]:
        if self._client is None or self._transport is None:
            self._transport = _Transport(httpx2.HTTPTransport())
            self._client = openai.OpenAI(
                base_url=self._endpoint.base_url,
                api_key=self._endpoint.key,
                default_query=self._endpoint.query,
                max_retries=self._retries,
                timeout=httpx2.Timeout(_READ_S, connect=_CONNECT_S),
                # A redirect could carry the key to another host; a model's server has none to give.
                http_client=httpx2.Client(transport=self._transport, follow_redirects=False),
            )
        return self._client, self._transport

    def _ask(self, client: openai.OpenAI, request: dict[str, Any]) -> Answer:
        rest = {name: value for name, value in request.items() if name not in ("model", "messages")}
        try:
            raw = client.chat.completions.with_raw_response.create(
                model=request["model"], messages=request["messages"], extra_body=rest
            )
            return _answer_of(raw.http_response)
        except openai.APIStatusError as error:
            return _answer_of(error.response)
        except openai.APITimeoutError:
            return _failed("timeout", f"The server at {self._endpoint.host} did not answer in time.")
        except openai.APIConnectionError as error:
            return _failed("connection", self._unreachable(error.__cause__))
        except (openai.OpenAIError, httpx2.HTTPError) as error:
            return _failed("connection", self._unreachable(error))
        except Exception as error:  # noqa: BLE001  thread boundary: what the library did not expect is an answer too
            return _failed("invalid_body", f"The answer could not be read ({type(error).__name__}: {error}).")

    def _unreachable(self, cause: BaseException | None) -> str:
        why = f" ({cause})" if cause is not None and str(cause) else ""
        return f"The server at {self._endpoint.host} cannot be reached{why}. Check the base URL and that it is running."

    def _abandon(self) -> None:
        if self._transport is not None:
            self._transport.cancel()
        self._client = self._transport = None  # the thread still holds the old ones


class FakeClient:
    """Answers what it was told to, one after another, the last one again and again; keeps what it was asked."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.requests: list[dict[str, Any]] = []
        self._answers = list(answers)

    def complete(self, request: dict[str, Any], *, time_left_s: float, should_stop: ShouldStop) -> Answer:
        """As `ModelClient.complete`."""
        self.requests.append(request)
        if should_stop():
            return _failed("stopped", "The call was given up, as the episode was asked to stop.")
        return self._answers[min(len(self.requests), len(self._answers)) - 1]

    def close(self) -> None:
        """Holds nothing."""


class _Transport(httpx2.BaseTransport):
    """Takes down each request of a call, and ends an abandoned one at its next byte."""

    def __init__(self, inner: httpx2.BaseTransport) -> None:
        self._inner = inner
        self._cancelled = threading.Event()
        self.begin()

    def begin(self) -> None:
        """A new call."""
        self._started_s = time.monotonic()
        self._attempts: list[Attempt] = []

    def attempts(self) -> tuple[Attempt, ...]:
        """Those of this call so far."""
        return tuple(self._attempts)

    @property
    def is_cancelled(self) -> bool:
        """Whether nobody waits for it any more."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """End what is going on, as soon as anything moves."""
        self._cancelled.set()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """As the transport inside."""
        start_ms = self._now_ms()
        try:
            response = self._inner.handle_request(request)
        except httpx2.TransportError as error:
            self._attempts.append(Attempt(start_ms, self._now_ms() - start_ms, error=type(error).__name__))
            raise
        at = len(self._attempts)
        self._attempts.append(Attempt(start_ms, self._now_ms() - start_ms, response.status_code))

        def done() -> None:
            self._attempts[at] = Attempt(start_ms, self._now_ms() - start_ms, response.status_code)

        body = _Body(response.stream, self._cancelled, done)
        return httpx2.Response(
            response.status_code, headers=response.headers, stream=body, extensions=response.extensions
        )

    def close(self) -> None:
        """Close the transport inside."""
        self._inner.close()

    def _now_ms(self) -> float:
        return (time.monotonic() - self._started_s) * 1000


class _Body(httpx2.SyncByteStream):
    def __init__(self, inner: Any, cancelled: threading.Event, done: Callable[[], None]) -> None:
        self._inner = inner
        self._cancelled = cancelled
        self._done = done

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for chunk in self._inner:
            size += len(chunk)
            if self._cancelled.is_set():
                raise httpx2.ReadError("The call was given up.")
            if size > _MOST_BYTES:
                raise httpx2.ReadError(f"The answer is longer than {_MOST_BYTES:,} bytes.")
            yield chunk
        self._done()

    def close(self) -> None:
        self._inner.close()


def _answer_of(response: httpx2.Response) -> Answer:
    kept = [(name.lower(), value) for name, value in response.headers.items() if name.lower().startswith(_KEPT_HEADERS)]
    headers = {name: value[:_MOST_OF_A_HEADER] for name, value in kept[:_MOST_HEADERS]}
    return Answer(response.status_code, headers, response.text)


def _failed(kind: str, detail: str) -> Answer:
    return Answer(None, failure=(kind, detail))


def _cleaned(answer: Answer, key: str, attempts: tuple[Attempt, ...], latency_ms: float) -> Answer:
    failure = answer.failure
    return Answer(
        answer.status,
        {without_key(name, key): without_key(value, key) for name, value in answer.headers.items()},
        without_key(answer.text, key),
        attempts,
        latency_ms,
        None if failure is None else (failure[0], without_key(failure[1], key)),
    )
