"""Calls a model's server: `ModelClient` is the interface, `OpenAIClient` the real one.

Each call runs in a thread of its own, so that it can be abandoned: the HTTP library's timeouts are per read, so a
server that answers byte by byte would block forever. The waiting side checks ten times a second whether to stop and
whether time is up; the thread then loses its connection.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import httpx2
import openai

from core.policies.llm.endpoint import Endpoint
from core.policies.llm.transport import RecordingTransport, UnreadableAnswer, open_transport, silence_library_logs
from core.policies.tools.errors import Failure, redirect_target
from core.types import Attempt

ShouldStop = Callable[[], bool]

_POLL_S = 0.1
_STOPPED = Failure("stopped", "The call was abandoned because the episode was stopped.")
_CONNECT_S = 5.0
_MAX_HEADERS = 40
_MAX_HEADER_CHARACTERS = 300
_RECORDED_HEADERS = ("content-type", "retry-after", "x-request-id", "openai-processing-ms", "x-ratelimit", "ratelimit")


@dataclass(frozen=True, slots=True)
class Answer:
    """A server's answer. status is None if no HTTP answer came: failure then has the reason.

    headers: lower-case names; rate limits, ids and times. text: the body. Both as the server wrote them, so they may
    contain the key: `LlmPolicy` removes it before anything is stored. failure: kind and message of an error below HTTP:
    `timeout`, `connection`, `invalid_body`, or `stopped` if the episode was stopped during the call.
    """

    status: int | None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    text: str = ""
    attempts: tuple[Attempt, ...] = ()
    latency_ms: float = 0.0
    failure: Failure | None = None


class ModelClient(Protocol):
    """Calls a model. Never raises for what a server does: errors are part of the answer."""

    def complete(self, request: dict[str, Any], *, time_left_s: float, should_stop: ShouldStop) -> Answer:
        """Sends one chat-completions request; returns within `time_left_s`, and within a second of `should_stop`."""
        ...

    def close(self) -> None: ...


class OpenAIClient:
    """The `openai` client for one endpoint. Records every HTTP request of a call."""

    def __init__(self, endpoint: Endpoint, *, retries: int) -> None:
        self._endpoint = endpoint
        self._retries = retries
        self._transport: RecordingTransport | None = None
        self._client: openai.OpenAI | None = None

    def complete(self, request: dict[str, Any], *, time_left_s: float, should_stop: ShouldStop) -> Answer:
        client, transport = self._ready()
        transport.begin()
        started_s = time.monotonic()
        answers: list[Answer] = []

        def call_model() -> None:
            answers.append(self._ask(client, transport, request, time_left_s))

        call = threading.Thread(target=call_model, name="model-call", daemon=True)
        call.start()
        failure: Failure | None = None
        while call.is_alive() and failure is None:
            call.join(max(0.0, min(_POLL_S, started_s + time_left_s - time.monotonic())))
            if call.is_alive() and should_stop():
                failure = _STOPPED
            elif call.is_alive() and time.monotonic() - started_s >= time_left_s:
                failure = Failure("timeout", f"No complete answer came within {time_left_s:.3g} s.")
        if failure is not None:
            self._abandon()
        answer = answers[0] if failure is None else Answer(None, failure=failure)
        return replace(answer, attempts=transport.attempts(), latency_ms=(time.monotonic() - started_s) * 1000)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _ready(self) -> tuple[openai.OpenAI, RecordingTransport]:
        if self._client is None or self._transport is None:
            silence_library_logs()
            self._transport = RecordingTransport(open_transport(self._endpoint), self._endpoint)
            self._client = openai.OpenAI(
                base_url=self._endpoint.base_url,
                api_key=self._endpoint.key,
                default_query=self._endpoint.query,
                max_retries=self._retries,
                # A redirect could carry the key to another host; a model's server has none to give.
                http_client=httpx2.Client(transport=self._transport, follow_redirects=False, trust_env=False),
            )
        return self._client, self._transport

    def _ask(
        self, client: openai.OpenAI, transport: RecordingTransport, request: dict[str, Any], time_left_s: float
    ) -> Answer:
        # The limit is for the whole call; a single read may take all of it, as slow models do.
        timeout = httpx2.Timeout(max(time_left_s, _POLL_S), connect=_CONNECT_S)
        try:
            # As `extra_body`, the messages are sent as they are: given as `messages`, the library rewrites some fields.
            raw = client.chat.completions.with_raw_response.create(
                model=request["model"], messages=[], extra_body=request, timeout=timeout
            )
            return _answer_of(raw.http_response)
        except openai.APIStatusError as error:
            return _answer_of(error.response)
        except openai.APITimeoutError:
            return _failed("timeout", f"The server at {self._endpoint.host} did not answer in time.")
        except openai.APIConnectionError as error:
            return self._broken(error.__cause__, transport.last_status)
        except UnreadableAnswer as error:
            detail = f"The answer of the server at {self._endpoint.host} cannot be read: {error}."
            return Answer(transport.last_status, failure=Failure("invalid_body", detail))
        except (openai.OpenAIError, httpx2.HTTPError) as error:
            return self._broken(error, transport.last_status)
        except Exception as error:  # noqa: BLE001  thread boundary: the call ends with an error, never the worker
            return _failed("invalid_body", f"The answer could not be read ({type(error).__name__}: {error}).")
        finally:
            if transport.is_cancelled:
                client.close()

    def _broken(self, cause: BaseException | None, status: int | None) -> Answer:
        """A call that failed below HTTP: server not reached, another protocol, or a connection lost mid-answer."""
        server, why = f"The server at {self._endpoint.host}", f" ({cause})" if cause is not None and str(cause) else ""
        look = "Ask again, or look at the server's log."
        if status is not None:
            detail = f"{server} answered with HTTP {status} and broke off before the answer was complete{why}. {look}"
            return Answer(status, failure=Failure("invalid_body", detail))
        if isinstance(cause, httpx2.ProtocolError):
            detail = f"{server} was reached, but did not send an HTTP answer{why}. Check the base URL, its port and "
            return _failed("connection", f"{detail}whether it begins with https.")
        if isinstance(cause, httpx2.NetworkError) and not isinstance(cause, httpx2.ConnectError):
            return _failed("connection", f"{server} closed the connection before it answered{why}. {look}")
        return _failed("connection", f"{server} cannot be reached{why}. Check the base URL and that it is running.")

    def _abandon(self) -> None:
        if self._transport is not None:
            self._transport.cancel()
        self._client = self._transport = None  # the thread keeps the old ones


def _answer_of(response: httpx2.Response) -> Answer:
    headers = ((name.lower(), value[:_MAX_HEADER_CHARACTERS]) for name, value in response.headers.items())
    recorded = dict([header for header in headers if header[0].startswith(_RECORDED_HEADERS)][:_MAX_HEADERS])
    if target := redirect_target(response.headers):
        recorded["location"] = target
    # JSON is UTF-8 whatever the header says; a byte order mark would make it unreadable.
    return Answer(response.status_code, recorded, response.content.decode("utf-8-sig", "replace"))


def _failed(kind: str, detail: str) -> Answer:
    return Answer(None, failure=Failure(kind, detail))
