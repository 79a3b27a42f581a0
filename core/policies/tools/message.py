"""The assistant's message: its text, its thinking, its refusal, and its calls wherever they stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from core.policies.tools.calls import RawCall
from core.policies.tools.literals import UNREADABLE, read_literal
from core.policies.tools.objects import json_text, native_call
from core.policies.tools.text import find_calls, find_final_calls
from core.policies.tools.thinking import split_thinking
from core.policies.tools.untrusted import as_dict, as_list, is_list, storable

FINISHED = ("stop", "tool_calls", "tool_use", "function_call", "end_turn", "eos", "eos_token", "stop_sequence")

_THOUGHTS = ("reasoning_content", "reasoning", "thinking")
_TEXTS = ("text", "content", "output_text", "thinking", "summary")
_NO_TEXT = ("thinking", "reasoning", "refusal", "tool_use", "tool_call")  # types of parts that are something else
_DEEPEST = 5


class Message(NamedTuple):
    """A message as read. `content` is its text without thinking; calls that stood in it are still there."""

    content: str
    reasoning: str
    refusal: str
    calls: list[RawCall]


def read_message(message: dict[str, Any], finish_reason: str, offered: Sequence[str]) -> Message:
    """Reads a message. Calls in the field for them win over the older `function_call`, and both over those in text.

    Calls inside thinking are drafts. Only where a finished turn says nothing at all outside its reasoning field, the
    call that its reasoning ends with is taken (vllm-project/vllm#39056).
    """
    parts = as_list(message.get("content"))
    written = _written(message.get("content"))
    visible, thinking = split_thinking(written)
    reasoning = next((text for key in _THOUGHTS if (text := _text(message.get(key)))), "")
    reasoning = reasoning or _text(message.get("reasoning_details")) or _text(_of_type(parts, "thinking", "reasoning"))
    refusal = _text(message.get("refusal")) or _text([part.get("refusal") for part in _of_type(parts, "refusal")])
    calls = _native_calls(message, parts)
    if not calls and not refusal.strip():
        calls = find_calls(visible, offered)
        if not calls and not written.strip() and finish_reason in FINISHED:
            calls = find_final_calls(reasoning, offered)
    thoughts = "\n".join(text.strip() for text in (reasoning, thinking) if text.strip())
    return Message(storable(visible.strip()), storable(thoughts), storable(refusal.strip()), calls)


def _native_calls(message: dict[str, Any], parts: list[Any]) -> list[RawCall]:
    listed = message.get("tool_calls")
    if isinstance(listed, str):  # the list encoded once more
        decoded = read_literal(listed)
        listed = None if decoded is UNREADABLE else decoded
    items = as_list(listed) or ([listed] if as_dict(listed) else []) or _of_type(parts, "tool_use", "tool_call")
    calls = [call for item in items if (call := native_call(item))]
    if not calls and as_dict(message.get("function_call")):
        calls = [call for call in [native_call(message["function_call"])] if call]
    return calls


def _of_type(parts: list[Any], *kinds: str) -> list[dict[str, Any]]:
    return [as_dict(part) for part in parts if as_dict(part).get("type") in kinds]


def _written(content: Any) -> str:
    """A content as text: from its parts the texts, from an object without a text its JSON."""
    if is_list(content):
        return _text([part for part in as_list(content) if as_dict(part).get("type") not in _NO_TEXT])
    return _text(content) or (json_text(content) if as_dict(content) else "")


def _text(value: Any, depth: int = 0) -> str:
    """The text of a field that is text, a part with text in it (Mistral, OpenRouter), or a list of those."""
    if isinstance(value, str):
        return value
    if depth > _DEEPEST:
        return ""
    if is_list(value):
        return "".join(_text(part, depth + 1) for part in as_list(value))
    part = as_dict(value)
    return next((text for key in _TEXTS if key in part and (text := _text(part[key], depth + 1))), "")
