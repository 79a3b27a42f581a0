"""The seam to a model's server: `ModelClient` is one method, `OpenAIClient` the real one, `FakeClient` that of tests.

Each call runs in a thread of its own, so that it can be abandoned: the HTTP library's timeouts are per read, so a
server that answers byte by byte would hold it forever. The waiting side checks ten times a second whether to stop and
whether time is up; the thread then loses its connection.
"""

from __future__ import annotations

import codecs
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import httpx2
import openai

from core.policies.llm.endpoint import Endpoint
from core.policies.llm.transport import RecordingTransport, UnusableAnswer, open_transport, quiet_libraries
from core.types import Attempt

ShouldStop = Callable[[], bool]

_CHARSETS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "ascii", "iso8859-1", "cp1252")
_LOOK_S = 0.1
_STOPPED = ("stopped", "The call was abandoned because the episode was stopped.")
_CONNECT_S = 5.0
_MAX_HEADERS = 40
_MAX_HEADER_CHARACTERS = 300
_KEPT_HEADERS = ("content-type", "retry-after", "x-request-id", "openai-processing-ms", "x-ratelimit", "ratelimit")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. status is None where no HTTP answer came: failure then gives the reason.

    headers: lower-case names; rate limits, ids and times. text: the body. Both as the server wrote them, so they may
    hold the key: `LlmPolicy` removes it before anything is stored. failure: kind and sentence of what went wrong below
    HTTP: `timeout`, `connection`, `invalid_body`, or `stopped` where the episode was stopped while it waited.
    """

    status: int | None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    text: str = ""
    attempts: tuple[Attempt, ...] = ()
    latency_ms: float = 0.0
    failure: tuple[str, str] | None = None


class ModelClient(Protocol):
    """Asks a model. Never raises for what a server does; the answer tells."""

    def complete(self, request: dict[str, Any], *, time_left_s: float, should_stop: ShouldStop) -> Answer:
        """Send one chat-completions request; back within `time_left_s`, and within a second of `should_stop`."""
        ...

    def close(self) -> None:
        """Release connections."""
        ...


class OpenAIClient:
    """The `openai` client on one endpoint, which records every HTTP request of a call."""

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
        failure: tuple[str, str] | None = None
        while call.is_alive() and failure is None:
            call.join(max(0.0, min(_LOOK_S, started_s + time_left_s - time.monotonic())))
            if call.is_alive() and should_stop():
                failure = _STOPPED
            elif call.is_alive() and time.monotonic() - started_s >= time_left_s:
                failure = ("timeout", f"No complete answer came within {time_left_s:.3g} s.")
        if failure is not None:
            self._abandon()
        answer = answers[0] if failure is None else _failed(*failure)
        return replace(answer, attempts=transport.attempts(), latency_ms=(time.monotonic() - started_s) * 1000)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _ready(self) -> tuple[openai.OpenAI, RecordingTransport]:
        if self._client is None or self._transport is None:
            quiet_libraries()
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
        # The whole call has this long; a single read may take all of it, as slow models do.
        timeout = httpx2.Timeout(max(time_left_s, _LOOK_S), connect=_CONNECT_S)
        try:
            # As `extra_body`, the messages go out as they are: given as such, the library rewrites what it knows.
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
        except UnusableAnswer as error:
            said = f"The answer of the server at {self._endpoint.host} cannot be used: {error}."
            return Answer(transport.last_status, failure=("invalid_body", said))
        except (openai.OpenAIError, httpx2.HTTPError) as error:
            return self._broken(error, transport.last_status)
        except Exception as error:  # noqa: BLE001  thread boundary: what the library did not expect is an answer too
            return _failed("invalid_body", f"The answer could not be read ({type(error).__name__}: {error}).")
        finally:
            if transport.is_cancelled:
                client.close()

    def _broken(self, cause: BaseException | None, status: int | None) -> Answer:
        """A call that ended below HTTP: server not reached, another protocol, or a connection lost mid-answer."""
        host, why = self._endpoint.host, f" ({cause})" if cause is not None and str(cause) else ""
        if status is not None:
            said = f"The server at {host} answered with HTTP {status} and broke off before the answer was whole{why}."
            return Answer(status, failure=("invalid_body", f"{said} Ask again, or look at the server's log."))
        if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout) or not isinstance(cause, httpx2.NetworkError):
            if isinstance(cause, httpx2.ProtocolError):
                said = f"The server at {host} was reached, but what it sent is no HTTP answer{why}."
                return _failed("connection", f"{said} Check the base URL, its port and whether it begins with https.")
            said = f"The server at {host} cannot be reached{why}."
            return _failed("connection", f"{said} Check the base URL and that it is running.")
        said = f"The server at {host} was reached and broke the connection before it answered{why}."
        return _failed("connection", f"{said} Ask again, or look at the server's log.")

    def _abandon(self) -> None:
        if self._transport is not None:
            self._transport.cancel()
        self._client = self._transport = None  # the thread still holds the old ones


class FakeClient:
    """Gives its answers in order, the last one repeatedly; records the requests."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.requests: list[dict[str, Any]] = []
        self._answers = list(answers)

    def complete(self, request: dict[str, Any], *, time_left_s: float, should_stop: ShouldStop) -> Answer:
        self.requests.append(request)
        if should_stop():
            return _failed(*_STOPPED)
        return self._answers[min(len(self.requests), len(self._answers)) - 1]

    def close(self) -> None:
        pass


def _answer_of(response: httpx2.Response) -> Answer:
    kept = [(name.lower(), value) for name, value in response.headers.items() if name.lower().startswith(_KEPT_HEADERS)]
    headers = {name: value[:_MAX_HEADER_CHARACTERS] for name, value in kept[:_MAX_HEADERS]}
    return Answer(response.status_code, headers, response.content.decode(_charset_of(response), "replace"))


def _charset_of(response: httpx2.Response) -> str:
    """The server's, where it is a common one for text; else UTF-8, as JSON is."""
    try:
        named = codecs.lookup(response.charset_encoding or "utf-8").name
    except (LookupError, ValueError):
        return "utf-8"
    return named if named in _CHARSETS else "utf-8"


def _failed(kind: str, detail: str) -> Answer:
    return Answer(None, failure=(kind, detail))
