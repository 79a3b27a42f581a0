"""Answers of a server, built in parts, and hostile ones."""

from __future__ import annotations

from typing import Any

from core.policies.tools import ParsedResponse, parse_response
from core.types import Decision, PolicyReply, RewardBreakdown, StateFacts, Timing


def call(arguments: Any, name: Any = "interact", call_id: str = "call_1") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def completion(*calls: Any, finish: str | None = "tool_calls", **message: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": None, "tool_calls": list(calls), **message}
    return {"id": "r1", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


CALL = '{"name": "interact", "arguments": {"actions": ["move_up", "do"]}}'


def answered(content: Any, *, finish: str | None = "stop", **message: Any) -> ParsedResponse:
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
    return parse_response({"status": 200, "headers": {}, "body": {"choices": [choice]}})


def decision_of(index: int, reply: PolicyReply) -> Decision:
    """A decision with this reply, without steps."""
    return Decision(
        index=index,
        observation="seen",
        tool_calls=reply.tool_calls,
        steps=(),
        not_executed=(),
        before=StateFacts(),
        reward=RewardBreakdown("consistent", 1.0),
        unlocked=(),
        unique_unlocked=(),
        timing=Timing(0, 0, (), 0),
        model_call=reply.model_call,
    )


HOSTILE = {
    "tags": "<tool_call>",
    "thinking": "<think>",
    "open and closed": "<think></think>",
    "braces": "{",
    "brackets on lines": "[\n",
    "nested": '{"name":',
    "nested lists": '{"name": [1, 1, 1, 1, ',
    "fences": "```",
    "parameters": "<function=interact><parameter=",
    "pairs": "<tool_call>interact <arg_key>",
    "quotes": '<tool_call>{"\\"',
    "invocations": '<invoke name="interact">',
    "python": "interact(",
    "pythonic": "[interact(",
    "names": "interact",
    "recipients": "to=functions.",
    "inputs": "Action: interact\n",
    "underscores": "a__a-",
    "lines of json": '{"a": 1}\n',
    "calls": f"<tool_call>{CALL}</tool_call>",
    "json words": "json",
    "tokens": "[TOOL_CALLS]interact<|a|>",
    "namespaces": "<xai:",
    "suffixed thinking": "<think:a",
    "tool names": "<tool_name>",
    "tool names with text": "<tool_name>a ",
    "items": "<item>",
    "begun calls": "<|tool_call:begin|>a",
    "analysis": "<|channel|>analysis to=a<|message|><|start|>",
    "lists of calls": f"<tool_call>[{CALL}, {{",
}
