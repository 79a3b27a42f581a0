"""One tiny call before a launch: is the server there, does it take the key, does it know the model, does it call tools?

What comes back is said in a sentence; it never holds a key.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.errors import InvalidConfig, PolicyError
from core.policies.llm.params import LlmParams
from core.policies.llm.policy import Connect, LlmPolicy, make_llm
from core.policies.llm.prompt import Message
from core.policies.tools import TOOL_NAME
from core.types import ModelCall

TRIAL_S = 15.0  # whoever asks is looking at a page that waits
_MARGIN_S = 3.0
_MOST_TOKENS = 256
_TOLD: tuple[Message, ...] = (
    {"role": "system", "content": f"This is a test of the connection. Answer with one call of the tool {TOOL_NAME}."},
    {"role": "user", "content": "Call it with the one action noop."},
)
# The server and its model are there, only the answer to this question was no good.
_ANSWERED = ("no_tool_call", "truncated", "bad_arguments", "unknown_action", "unknown_tool", "refusal")


@dataclass(frozen=True, slots=True)
class Trial:
    """How a tiny call went.

    ok: the model answered with a call that can be played. reached: it answered at all.
    call: the evidence; None where nothing was sent, because the settings cannot be used or the key is not set.
    """

    ok: bool
    reached: bool
    sentence: str
    call: ModelCall | None = None


def try_connection(params: LlmParams, connect: Connect | None = None) -> Trial:
    """Ask once, without repeating, and within some 15 seconds.

    connect: what is asked instead of the real server.
    """
    tiny = replace(params, http_retries=0, max_tokens=min(params.max_tokens, _MOST_TOKENS), call_timeout_s=TRIAL_S)
    try:
        policy = LlmPolicy(tiny, connect, max_actions=1) if connect else make_llm(tiny, seed=0, max_actions=1)
        policy.reset(0)
    except InvalidConfig as error:
        return Trial(False, False, str(error))
    except PolicyError as error:
        return Trial(False, False, error.detail)
    try:
        # A little more than one call may take, so that one that is late is said to be that.
        policy.allow(TRIAL_S + _MARGIN_S, lambda: False, lambda spent: False)
        _, call = policy.ask(policy.body(_TOLD))
    finally:
        policy.close()
    return Trial(call.error_kind is None, call.error_kind in (None, *_ANSWERED), _in_words(call), call)


def _in_words(call: ModelCall) -> str:
    if call.error_kind is None:
        took = "" if call.latency_ms is None else f" in {call.latency_ms / 1000:.1f} s"
        return f"{call.model} at {call.provider} answered{took} with a tool call that can be played."
    if call.error_kind == "truncated":
        return (
            f"{call.model} at {call.provider} answered, but this test allows {_MOST_TOKENS} tokens at most and its "
            "answer was longer. Connection and key are fine; give it enough tokens for an answer."
        )
    if call.error_kind in _ANSWERED:
        return f"{call.model} at {call.provider} answered, but not with a call that can be played. {call.error_detail}"
    return call.error_detail
