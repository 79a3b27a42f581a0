"""`LlmPolicy`: each decision is one question to a model's server, and all that belongs to its answer is kept."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from PIL import Image

from core.env.observation import Observation
from core.errors import InvalidConfig, PolicyError
from core.policies.base import OUT_OF_TIME, STOPPED
from core.policies.llm.client import Answer, ModelClient, OpenAIClient
from core.policies.llm.endpoint import NO_KEY, Endpoint, checked_key_name, endpoint_of
from core.policies.llm.params import LlmParams
from core.policies.llm.prices import PRICE_VERSION, cost_usd
from core.policies.llm.prompt import Message, default_system_prompt, messages
from core.policies.tools import TOOL_NAME, ParsedResponse, parse_response, tool_schema
from core.settings import model_hosts, secret
from core.types import Decision, ModelCall, PolicyReply, ToolCall

PICTURE_PX = 288  # two of Crafter's texture pixels for each of the picture's: sharp, and few tokens
# No further question changes these.
ALWAYS_STOP = ("auth", "not_found", "model_not_found", "quota_exhausted", OUT_OF_TIME, STOPPED)
_RESERVED = ("model", "messages", "tools", "stream", "n")


Connect = Callable[[], tuple[Endpoint, ModelClient]]


def make_llm(params: LlmParams, *, seed: int, max_actions: int) -> LlmPolicy:
    """The policy on a real server, which is looked for when the first world begins. Raises InvalidConfig."""

    def connect() -> tuple[Endpoint, ModelClient]:
        endpoint = endpoint_for(params)
        return endpoint, OpenAIClient(endpoint, retries=params.http_retries)

    return LlmPolicy(params, connect, max_actions=max_actions)


def check_llm(params: LlmParams) -> None:
    """Raises InvalidConfig where these parameters cannot be played. Whether the key is there is seen when it is."""
    if not params.model.strip():
        raise InvalidConfig("No model is named; give the name that the server knows it by.")
    checked_key_name(params.key_name)
    endpoint_of(params.base_url, NO_KEY, model_hosts())
    checked_extra(params.extra)


def endpoint_for(params: LlmParams) -> Endpoint:
    """Where and with which key these parameters ask. Raises InvalidConfig, and PolicyError where the key is not set."""
    name = checked_key_name(params.key_name)
    key = secret(name) if name else NO_KEY
    if not key:
        raise PolicyError(
            "auth",
            f"There is no key: the environment variable {name} is not set where this episode is played. Set it (or the "
            "Streamlit secret of that name) for the dashboard, and launch again.",
        )
    return endpoint_of(params.base_url, key, model_hosts())


class LlmPolicy:
    """Asks a model for every decision."""

    name = "llm"

    def __init__(self, params: LlmParams, connect: Connect, *, max_actions: int) -> None:
        check_llm(params)
        self._params = params
        self._connect = connect
        self._connected: tuple[Endpoint, ModelClient] | None = None
        self._max_actions = max_actions
        self._system = params.system_prompt or default_system_prompt(max_actions)
        self._extra = checked_extra(params.extra)
        self._limit_field = "max_tokens"
        self._time_left_s = params.call_timeout_s
        self._should_stop: Callable[[], bool] = lambda: False
        self.picture_px = 0 if params.observe == "text" else PICTURE_PX

    def reset(self, seed: int) -> None:
        """Connects where that was not done yet. A model's draws are the server's: the seed is not used."""
        if self._connected is None:
            self._connected = self._connect()
            self._limit_field = "max_completion_tokens" if self._connected[0].is_openai else "max_tokens"

    def allow(self, time_left_s: float, should_stop: Callable[[], bool]) -> None:
        """See `WaitingPolicy.allow`."""
        self._time_left_s = time_left_s
        self._should_stop = should_stop

    def decide(self, observation: Observation, history: Sequence[Decision]) -> PolicyReply:
        """Asks, and asks again where that is configured."""
        request = self.request(observation, history)
        calls: list[ModelCall] = []
        while True:
            parsed, call = self.ask(request)
            calls.append(call)
            again = self._params.on_bad_call == "retry" and len(calls) <= self._params.ask_again
            if call.error_kind is None or call.error_kind in ALWAYS_STOP or not again:
                break
        earlier = tuple(replace(bad, request={}) for bad in calls[:-1])
        return self._reply(parsed, replace(calls[-1], earlier=earlier))

    def close(self) -> None:
        """Gives connections back."""
        if self._connected is not None:
            self._connected[1].close()

    @property
    def _endpoint(self) -> Endpoint:
        return self._server()[0]

    def _server(self) -> tuple[Endpoint, ModelClient]:
        if self._connected is None:
            raise PolicyError("connection", "The policy was asked before `reset` had connected it.")
        return self._connected

    def request(self, observation: Observation, history: Sequence[Decision]) -> dict[str, Any]:
        """The body of one question, as it is sent."""
        params = self._params
        picture = _png(observation) if self.picture_px and observation.picture is not None else None
        told = messages(
            self._system,
            history,
            observation,
            remembered=params.history,
            picture=picture,
            with_text=params.observe != "picture",
        )
        return self.body(told)

    def body(self, told: Sequence[Message]) -> dict[str, Any]:
        """A request that holds these messages."""
        params = self._params
        return {
            "model": params.model,
            "messages": list(told),
            "tools": [tool_schema(self._max_actions)],
            "temperature": params.temperature,
            "top_p": params.top_p,
            self._limit_field: params.max_tokens,
            **self._extra,
        }

    def ask(self, request: dict[str, Any]) -> tuple[ParsedResponse, ModelCall]:
        """One question and what came of it, within the time allowed. Never raises for what a server does."""
        answer = self._complete(request)
        other = "max_tokens" if self._limit_field == "max_completion_tokens" else "max_completion_tokens"
        if answer.status == 400 and self._limit_field in request and self._limit_field in answer.text:
            if other in answer.text:  # the server says which of the two names it takes
                request[other] = request.pop(self._limit_field)
                self._limit_field = other
                first, answer = answer, self._complete(request)
                answer = replace(answer, attempts=(*first.attempts, *answer.attempts))
        parsed = parse_response(_as_response(answer), tools=(TOOL_NAME,), max_actions=self._max_actions)
        return parsed, self._evidence(request, answer, parsed)

    def _complete(self, request: dict[str, Any]) -> Answer:
        allowed_s = max(0.0, min(self._params.call_timeout_s, self._time_left_s))
        answer = self._server()[1].complete(request, time_left_s=allowed_s, should_stop=self._should_stop)
        self._time_left_s -= answer.latency_ms / 1000
        if answer.failure is not None and answer.failure[0] == "timeout" and self._time_left_s <= 0:
            return replace(answer, failure=(OUT_OF_TIME, "The episode's time was over before the model answered."))
        return answer

    def _evidence(self, request: dict[str, Any], answer: Answer, parsed: ParsedResponse) -> ModelCall:
        kind, detail = answer.failure or (parsed.error_kind, parsed.error_detail)
        cost = cost_usd(
            base_url=self._endpoint.base_url,
            model=parsed.model or self._params.model,
            tokens_in=parsed.usage.tokens_in,
            tokens_out=parsed.usage.tokens_out,
            tokens_cached=parsed.usage.tokens_cached,
        )
        return ModelCall(
            provider=self._endpoint.host,
            model=parsed.model or self._params.model,
            request=dict(request),
            response_text=answer.text,
            tokens_in=parsed.usage.tokens_in,
            tokens_out=parsed.usage.tokens_out,
            tokens_cached=parsed.usage.tokens_cached,
            tokens_reasoning=parsed.usage.tokens_reasoning,
            cost_usd=cost,
            price_version=None if cost is None else PRICE_VERSION,
            latency_ms=answer.latency_ms,
            retries=max(0, len(answer.attempts) - 1),
            request_id=answer.headers.get("x-request-id"),
            profile=self._params.profile,
            status=answer.status,
            headers=answer.headers,
            attempts=answer.attempts,
            finish_reason=parsed.finish_reason,
            content=parsed.content,
            reasoning=parsed.reasoning,
            error_kind=kind,
            error_detail=detail,
        )

    def _reply(self, parsed: ParsedResponse, call: ModelCall) -> PolicyReply:
        kind = call.error_kind
        if kind is None:
            return PolicyReply(parsed.tool_calls, call, warning=parsed.warning)
        if self._params.on_bad_call == "noop" and kind not in ALWAYS_STOP:
            said = f"The call could not be used ({kind}); this policy is told to do nothing for a step and to go on."
            waits = ToolCall(TOOL_NAME, "", actions=("noop",), reasoning=said)
            return PolicyReply((*parsed.tool_calls, waits), call, warning=kind)
        return PolicyReply(parsed.tool_calls, call, error_kind=kind, error_detail=call.error_detail)


def checked_extra(text: str) -> dict[str, Any]:
    """More fields of a request, from JSON. Raises InvalidConfig where it is no object or sets what the policy sets."""
    if not text.strip():
        return {}
    try:
        extra = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidConfig(f'"More fields" is no JSON ({error}); write an object such as {{"seed": 1}}.') from error
    if not isinstance(extra, dict):
        raise InvalidConfig('"More fields" is no JSON object; write one such as {"seed": 1}, or leave it empty.')
    fields = cast(dict[str, Any], extra)
    if taken := [name for name in _RESERVED if name in fields]:
        raise InvalidConfig(f'"More fields" sets {", ".join(taken)}, which the policy sets itself; leave it out.')
    return fields


def _as_response(answer: Answer) -> dict[str, Any]:
    try:
        body: Any = json.loads(answer.text)
    except (ValueError, RecursionError):
        body = answer.text
    return {"status": answer.status, "headers": answer.headers, "body": body}


def _png(observation: Observation) -> bytes:
    out = io.BytesIO()
    Image.fromarray(cast(Any, observation.picture)).save(out, "PNG")
    return out.getvalue()
