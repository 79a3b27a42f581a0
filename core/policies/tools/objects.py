"""Which JSON objects are calls: every shape in which models write a call's name and arguments down."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from core.policies.tools.calls import RawCall, actions_of, is_offered
from core.policies.tools.untrusted import as_dict, is_dict, is_list, name_of, str_of

_LISTS = ("tool_calls", "function_calls", "calls")
_NESTED = ("function", "custom", "tool_call", "function_call")
_NAMES = ("name", "tool_name", "tool", "function", "recipient_name")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "action_input", "tool_input", "params")
_DEEPEST = 4
_LONGEST = 1_000  # calls


def calls_of(value: Any, offered: Sequence[str], *, nameless: bool = True, depth: int = 0) -> list[RawCall]:
    """The calls that a value which a model wrote stands for; none where it is no call.

    Read are `{"name", "arguments"}` (Hermes), `"parameters"` (Llama, vllm-project/vllm llama_tool_parser),
    `"tool_name"` (Command R), `{"action", "action_input"}` (LangChain), `{"function": {...}}` and `{"tool_calls":
    [...]}` (groq/groq-typescript#28), `{"interact": {...}}`, lists of them, and with `nameless` the bare arguments.
    """
    if depth > _DEEPEST:
        return []
    if is_list(value):
        return [
            call for item in value[:_LONGEST] for call in calls_of(item, offered, nameless=nameless, depth=depth + 1)
        ]
    return _calls_of_object(as_dict(value), offered, nameless, depth + 1)


def native_call(item: Any) -> RawCall | None:
    """A call from a message's `tool_calls`: `{"id", "function": {"name", "arguments"}}`, flat or of type `custom`.

    Arguments that are missing or null count as empty; a name that is missing is empty, and no tool is called that.
    """
    call = as_dict(item)
    inner = next((as_dict(call[key]) for key in _NESTED if as_dict(call.get(key))), call)
    name = next((inner[key] for key in _NAMES if isinstance(inner.get(key), str)), None)
    arguments = next((inner[key] for key in _ARGUMENTS if inner.get(key) is not None), None)
    if name is None and arguments is None and not call.get("id"):
        return None
    return RawCall(name_of(name), "" if arguments is None else arguments, name_of(call.get("id")))


def _calls_of_object(value: dict[str, Any], offered: Sequence[str], nameless: bool, depth: int) -> list[RawCall]:
    for key in _LISTS:
        if is_list(value.get(key)) or is_dict(value.get(key)):
            return calls_of(value[key], offered, nameless=nameless, depth=depth)
    for key in _NESTED:
        if as_dict(value.get(key)):
            return [
                call._replace(call_id=call.call_id or name_of(value.get("id")))
                for call in calls_of(value[key], offered, nameless=nameless, depth=depth)
            ]
    call = _named(value, offered) or (_nameless(value, offered) if nameless else None)
    return [call] if call else []


def _named(value: dict[str, Any], offered: Sequence[str]) -> RawCall | None:
    keys = ("action", *_NAMES) if "action_input" in value else _NAMES
    name = next((value[key] for key in keys if isinstance(value.get(key), str)), None)
    if name is None:
        return _keyed_by_tool(value, offered)
    call_id = name_of(value.get("id"))
    arguments = next((value[key] for key in _ARGUMENTS if value.get(key) is not None), None)
    if arguments is not None:
        return RawCall(name, arguments if isinstance(arguments, str) else str_of(arguments), call_id)
    if not is_offered(name, offered):
        return None
    flat = {key: item for key, item in value.items() if key not in _NAMES}
    return RawCall(name, json_text(flat) if actions_of(flat) is not None else "", call_id)


def _keyed_by_tool(value: dict[str, Any], offered: Sequence[str]) -> RawCall | None:
    if len(value) != 1:
        return None
    ((name, arguments),) = value.items()
    fits = is_offered(name_of(name), offered) and is_dict(arguments)
    return RawCall(name_of(name), json_text(arguments)) if fits else None


def _nameless(value: dict[str, Any], offered: Sequence[str]) -> RawCall | None:
    if not offered or actions_of(value) is None:
        return None
    return RawCall(offered[0], json_text(value))


def json_text(value: Any) -> str:
    """A value that was read from text, as JSON; Python's sets and the like as their text."""
    try:
        return json.dumps(value, default=str)
    except (TypeError, ValueError, RecursionError):
        return str_of(value)
