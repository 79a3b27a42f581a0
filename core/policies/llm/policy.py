"""`LlmPolicy`: calls a model for each decision, and records the request and the answer."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from PIL import Image

from core.env.observation import Observation
from core.errors import InvalidConfig
from core.policies.base import OUT_OF_BUDGET, OUT_OF_TIME, STOPPED, BudgetSpent
from core.policies.llm.client import Answer, ModelClient, OpenAIClient
from core.policies.llm.endpoint import NO_KEY, Endpoint, check_key, endpoint_of, key_to_send
from core.policies.llm.estimate import PRICE_VERSION, cost_usd
from core.policies.llm.fields import TOKEN_LIMITS, RefusedFields, refused_fields
from core.policies.llm.params import LlmParams
from core.policies.llm.prompt import Message, default_system_prompt, messages, remembered_count
from core.policies.llm.redaction import KeyRemover
from core.policies.tools import TOOL_NAME, ParsedResponse, parse_response, tool_schema
from core.policies.tools.errors import Failure
from core.settings import model_hosts
from core.types import Decision, ModelCall, PolicyReply, Spent, ToolCall

PICTURE_PX = 288  # two of Crafter's texture pixels for each of the picture's: sharp, and few tokens
# Another call would fail in the same way.
ALWAYS_STOP = ("auth", "not_found", "model_not_found", "quota_exhausted", OUT_OF_TIME, STOPPED)
_BUSY = ("rate_limited", "connection", "provider_error", "timeout")  # a pause before the next request helps
_FIRST_PAUSE_S = 0.5
_MAX_PAUSE_S = 60.0
_POLL_S = 0.1
_MAX_REFUSALS = 8  # in a row, for servers that name refused fields one at a time
_RESERVED = ("model", "messages", "tools", "stream", "n")


Connect = Callable[[], tuple[Endpoint, ModelClient]]
Wait = Callable[[float, Callable[[], bool]], float]


def make_llm(params: LlmParams, *, seed: int, max_actions: int) -> LlmPolicy:
    """The policy with a real server; it connects at `reset`. Raises InvalidConfig."""

    def connect() -> tuple[Endpoint, ModelClient]:
        endpoint = endpoint_for(params)
        return endpoint, OpenAIClient(endpoint, retries=params.http_retries)

    return LlmPolicy(params, connect, max_actions=max_actions, refused=refused_fields(params.base_url, params.model))


def wait_s(seconds: float, should_stop: Callable[[], bool]) -> float:
    """Waits this long, or until `should_stop`; returns the seconds waited."""
    began = time.monotonic()
    while (left := began + seconds - time.monotonic()) > 0 and not should_stop():
        time.sleep(min(_POLL_S, left))
    return time.monotonic() - began


def check_llm(params: LlmParams) -> None:
    """Raises InvalidConfig if these parameters cannot be launched. Does not read the key."""
    if not params.model.strip():
        raise InvalidConfig("No model is named. Enter the name that the server uses for it.")
    check_key(params.key_name, endpoint_of(params.base_url, NO_KEY, model_hosts()))
    checked_extra(params.extra)


def endpoint_for(params: LlmParams) -> Endpoint:
    """The server and the key of these parameters. Raises InvalidConfig, and PolicyError if the key is not set."""
    endpoint = endpoint_of(params.base_url, NO_KEY, model_hosts())
    return replace(endpoint, key=key_to_send(params.key_name, endpoint))


class LlmPolicy:
    name = "llm"

    def __init__(
        self,
        params: LlmParams,
        connect: Connect,
        *,
        max_actions: int,
        wait: Wait = wait_s,
        refused: RefusedFields | None = None,
    ) -> None:
        check_llm(params)
        self._params = params
        self._connect = connect
        self._connected: tuple[Endpoint, ModelClient] | None = None
        self._max_actions = max_actions
        self._system = params.system_prompt or default_system_prompt(max_actions)
        self._extra = checked_extra(params.extra)
        self._refused = refused or RefusedFields()
        self._remembered = params.history
        self._time_left_s = params.call_timeout_s
        self._should_stop: Callable[[], bool] = lambda: False
        self._budget_spent: BudgetSpent = lambda spent: False
        self._keys = KeyRemover(NO_KEY)
        self._wait = wait
        self._failures = 0  # in a row
        self.picture_px = 0 if params.observe == "text" else PICTURE_PX

    def reset(self, seed: int) -> None:
        """Connects the first time. `seed` is not used: the server samples."""
        self._server()
        self._remembered = self._params.history

    def set_limits(self, time_left_s: float, should_stop: Callable[[], bool], budget_spent: BudgetSpent) -> None:
        """See `WaitingPolicy.set_limits`."""
        self._time_left_s = time_left_s
        self._should_stop = should_stop
        self._budget_spent = budget_spent

    def decide(self, observation: Observation, history: Sequence[Decision]) -> PolicyReply:
        """Calls the model once, or several times if retries are configured."""
        request = self.request(observation, history)
        calls: list[ModelCall] = []
        while True:
            parsed, call = self.ask(request)
            kind = call.error_kind
            stops = kind in ALWAYS_STOP or (kind == "context_overflow" and not self._remember_less(history))
            again = not stops and self._params.on_bad_call == "retry" and len(calls) < self._params.ask_again
            if kind is not None and not stops and (again or self._params.on_bad_call == "noop"):
                call = replace(call, paused_ms=self._pause(kind, parsed.retry_after_s) * 1000)
            calls.append(call)
            if kind is None or not again:
                break
            if self._should_stop():
                return PolicyReply((), _as_one(calls), error_kind=STOPPED)
            if self._budget_spent(_spent(calls)):
                return PolicyReply((), _as_one(calls), error_kind=OUT_OF_BUDGET)
            if kind == "context_overflow":
                request = self.request(observation, history)
        return self._reply(parsed, _as_one(calls), stops=stops)

    def _remember_less(self, history: Sequence[Decision]) -> bool:
        """Halves the number of remembered decisions. False if there were none: another call would not help."""
        count = min(remembered_count(history[-1].index + 1, self._remembered), len(history)) if history else 0
        self._remembered = count // 2
        return count > 0

    def close(self) -> None:
        if self._connected is not None:
            self._connected[1].close()

    def _pause(self, kind: str, retry_after_s: float | None) -> float:
        """Waits before the next request: as long as the server asks for, or longer after each failure in a row.

        Returns the seconds waited: at most a minute or what the episode has left; a stop request ends it early.
        """
        self._failures += 1
        backoff_s = _FIRST_PAUSE_S * 2 ** min(self._failures - 1, 10) if kind in _BUSY else 0.0
        wanted_s = min(retry_after_s if retry_after_s is not None else backoff_s, _MAX_PAUSE_S, self._time_left_s)
        waited_s = self._wait(wanted_s, self._should_stop) if wanted_s > 0 else 0.0
        self._time_left_s -= waited_s
        return waited_s

    def _server(self) -> tuple[Endpoint, ModelClient]:
        if self._connected is None:
            self._connected = self._connect()
            self._keys = KeyRemover(self._connected[0].key)
        return self._connected

    def request(self, observation: Observation, history: Sequence[Decision]) -> dict[str, Any]:
        """The body of a request, as it is sent."""
        params = self._params
        picture = _png(observation) if self.picture_px and observation.picture is not None else None
        prompt = messages(
            self._system,
            history,
            observation,
            remembered=self._remembered,
            picture=picture,
            with_text=params.observe != "picture",
        )
        return self.body(prompt)

    def body(self, prompt: Sequence[Message]) -> dict[str, Any]:
        """A request with these messages. A parameter that is not set is not sent: servers refuse even a null."""
        params = self._params
        sampling = {"temperature": params.temperature, "top_p": params.top_p, "seed": params.seed}
        limit = "max_completion_tokens" if self._server()[0].is_openai else "max_tokens"
        return {
            "model": params.model,
            "messages": list(prompt),
            "tools": [tool_schema(self._max_actions)],
            **{name: value for name, value in sampling.items() if value is not None},
            **({} if self._extra.keys() & TOKEN_LIMITS.keys() else {limit: params.max_tokens}),
            **({"logprobs": True} if params.logprobs == "yes" else {}),
            **self._extra,
        }

    def ask(self, request: dict[str, Any]) -> tuple[ParsedResponse, ModelCall]:
        """Makes one call within the time allowed, without the fields that the server refuses.

        Never raises for what a server does.
        """
        sent, left_out = self._refused.remove_from(request)
        answer = self._complete(sent, self._params.call_timeout_s)
        for _ in range(_MAX_REFUSALS):
            if not self._refused.learn(sent, answer.status, self._keys.text(answer.text)):
                break
            sent, left_out = self._refused.remove_from(request)
            left_s = self._params.call_timeout_s - answer.latency_ms / 1000
            answer = _after(answer, self._complete(sent, left_s))
        began = time.perf_counter()
        response = {"status": answer.status, "headers": answer.headers, "body": answer.text}
        parsed = self._keys.parsed(parse_response(response, max_actions=self._max_actions))
        parse_ms = (time.perf_counter() - began) * 1000
        return parsed, replace(self._evidence(sent, answer, parsed, parse_ms), left_out=left_out)

    def _complete(self, request: dict[str, Any], within_s: float) -> Answer:
        allowed_s = max(0.0, min(within_s, self._time_left_s))
        answer = self._server()[1].complete(request, time_left_s=allowed_s, should_stop=self._should_stop)
        self._time_left_s -= answer.latency_ms / 1000
        if answer.failure is not None and answer.failure.kind == "timeout" and self._time_left_s <= 0:
            return replace(
                answer, failure=Failure(OUT_OF_TIME, "The episode's time was over before the model answered.")
            )
        return answer

    def _evidence(self, request: dict[str, Any], answer: Answer, parsed: ParsedResponse, parse_ms: float) -> ModelCall:
        endpoint, failed = self._server()[0], answer.failure
        kind, detail = (failed.kind, failed.detail) if failed else (parsed.error_kind, parsed.error_detail)
        headers = self._keys.table(answer.headers)
        cost = cost_usd(
            base_url=endpoint.base_url,
            model=parsed.model or self._params.model,
            tokens_in=parsed.usage.tokens_in,
            tokens_out=parsed.usage.tokens_out,
            tokens_cached=parsed.usage.tokens_cached,
        )
        return ModelCall(
            provider=endpoint.host,
            model=parsed.model or self._params.model,
            request=dict(request),
            response_text=self._keys.text(answer.text),
            tokens_in=parsed.usage.tokens_in,
            tokens_out=parsed.usage.tokens_out,
            tokens_cached=parsed.usage.tokens_cached,
            tokens_reasoning=parsed.usage.tokens_reasoning,
            cost_usd=cost,
            server_cost_usd=parsed.usage.cost_usd,
            price_version=None if cost is None else PRICE_VERSION,
            latency_ms=answer.latency_ms,
            retries=max(0, len(answer.attempts) - 1),
            request_id=headers.get("x-request-id") or parsed.response_id,
            profile=self._params.profile,
            status=answer.status,
            headers=headers,
            attempts=answer.attempts,
            finish_reason=parsed.finish_reason,
            content=parsed.content,
            reasoning=parsed.reasoning,
            error_kind=kind,
            error_detail=self._keys.text(detail),
            parse_ms=parse_ms,
            token_logprobs=parsed.token_logprobs,
        )

    def _reply(self, parsed: ParsedResponse, call: ModelCall, *, stops: bool) -> PolicyReply:
        kind = call.error_kind
        if kind is None:
            self._failures = 0
            return PolicyReply(parsed.tool_calls, call, warning=parsed.warning)
        if self._params.on_bad_call == "noop" and not stops:
            reason = f"The answer was not valid ({kind}), so the policy did nothing for one step, as configured."
            noop = ToolCall(TOOL_NAME, "", actions=("noop",), reasoning=reason)
            return PolicyReply((*parsed.tool_calls, noop), call, warning=kind)
        return PolicyReply(parsed.tool_calls, call, error_kind=kind, error_detail=call.error_detail)


def checked_extra(text: str) -> dict[str, Any]:
    """More fields of a request, from JSON. Raises InvalidConfig if it is not an object or sets what the policy sets."""
    if not text.strip():
        return {}
    try:
        extra = json.loads(text)
        json.dumps(extra, allow_nan=False, ensure_ascii=False).encode()  # as it has to be sent
    except (ValueError, RecursionError) as error:
        raise InvalidConfig(f'"More fields" is not JSON ({error}). Enter an object such as {{"seed": 1}}.') from error
    if not isinstance(extra, dict):
        raise InvalidConfig('"More fields" is not a JSON object. Enter one such as {"seed": 1}, or leave it empty.')
    fields = cast(dict[str, Any], extra)
    if taken := [name for name in _RESERVED if name in fields]:
        raise InvalidConfig(f'"More fields" sets {", ".join(taken)}, which the policy sets itself. Leave it out.')
    return fields


def _as_one(calls: Sequence[ModelCall]) -> ModelCall:
    """The last call, with the earlier ones of the same decision."""
    last = calls[-1]
    earlier = (replace(bad, request={}) if bad.request == last.request else bad for bad in calls[:-1])
    return replace(last, earlier=tuple(earlier))


def _spent(calls: Sequence[ModelCall]) -> Spent:
    return Spent(
        len(calls),
        sum((call.tokens_in or 0) + (call.tokens_out or 0) for call in calls),
        sum(call.cost_usd or 0.0 for call in calls),
    )


def _after(first: Answer, second: Answer) -> Answer:
    """The second answer of one call, with the attempts of the first; times count from the call's beginning."""
    later = (replace(attempt, start_ms=first.latency_ms + attempt.start_ms) for attempt in second.attempts)
    return replace(second, attempts=(*first.attempts, *later), latency_ms=first.latency_ms + second.latency_ms)


def _png(observation: Observation) -> bytes:
    out = io.BytesIO()
    Image.fromarray(cast(Any, observation.picture)).save(out, "PNG")
    return out.getvalue()
