"""The connection test: one small call that checks the server, the key, the model and its tool calls.

The result is a sentence without any part of the key.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace

from core.errors import InvalidConfig, PolicyError
from core.policies.llm.endpoint import endpoint_of
from core.policies.llm.fields import refused_fields
from core.policies.llm.params import LlmParams
from core.policies.llm.policy import make_llm
from core.policies.llm.prompt import Message
from core.policies.llm.transport import route
from core.policies.tools import TOOL_NAME
from core.text import join
from core.types import ModelCall

MAX_TEST_S = 15.0  # a page waits for it
_MARGIN_S = 3.0
_MAX_TOKENS = 256
_PROMPT: tuple[Message, ...] = (
    {"role": "system", "content": f"This is a test of the connection. Answer with one call of the tool {TOOL_NAME}."},
    {"role": "user", "content": "Call it with the one action noop."},
)
# The connection works; only this answer was invalid.
_ANSWERED = ("no_tool_call", "truncated", "bad_arguments", "unknown_action", "unknown_tool", "refusal")


@dataclass(frozen=True, slots=True)
class ConnectionTest:
    """The result of the connection test.

    ok: the model answered with a valid call. reached: it answered. call: the evidence; None if nothing was sent,
    because the settings are invalid or the key is not set.
    """

    ok: bool
    reached: bool
    sentence: str
    call: ModelCall | None = None


def run_connection_test(params: LlmParams) -> ConnectionTest:
    """Calls the model once, without HTTP retries, within about 15 seconds.

    The fields that the server refused before are forgotten first: it may run another version now.
    """
    tiny = replace(params, http_retries=0, max_tokens=min(params.max_tokens, _MAX_TOKENS), call_timeout_s=MAX_TEST_S)
    try:
        refused_fields(params.base_url, params.model).forget()
        with closing(make_llm(tiny, seed=0, max_actions=1)) as policy:
            policy.reset(0)
            # More than the call's own limit, so that a late answer is a timeout and not the end of an episode.
            policy.set_limits(MAX_TEST_S + _MARGIN_S, lambda: False, lambda spent: False)
            _, call = policy.ask(policy.body(_PROMPT))
    except InvalidConfig as error:
        return ConnectionTest(False, False, str(error))
    except PolicyError as error:
        return ConnectionTest(False, False, error.detail)
    sentence = f"{_sentence(call)} It was called {route(endpoint_of(params.base_url))}."
    if call.left_out:
        names = join([field.name for field in call.left_out if not field.sent_as])
        sentence += f" The server refuses {names}, so requests leave that out." if names else ""
    return ConnectionTest(call.error_kind is None, call.error_kind in (None, *_ANSWERED), sentence, call)


def _sentence(call: ModelCall) -> str:
    if call.error_kind is None:
        took = "" if call.latency_ms is None else f" in {call.latency_ms / 1000:.1f} s"
        return f"{call.model} at {call.provider} answered{took} with a valid tool call."
    if call.error_kind == "truncated":
        return (
            f"{call.model} at {call.provider} answered, but with more than the {_MAX_TOKENS} tokens of this test. "
            "Connection and key are fine; allow enough output tokens."
        )
    if call.error_kind in _ANSWERED:
        return f"{call.model} at {call.provider} answered, but not with a valid tool call. {call.error_detail}"
    return call.error_detail
