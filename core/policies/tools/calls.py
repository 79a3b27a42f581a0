"""The tool that policies call, and what a call of it means.

The reader is lenient about spelling (case, spaces, hyphens, compass words, lists sent as text, Python literals,
trailing commas) and strict about meaning: unknown names are dropped and reported, and a value that was cut off is never
completed by guesswork.

Kinds of error: `no_tool_call`, `unknown_tool`, `bad_arguments`, `truncated`, `unknown_action`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple, cast

from core.env.rules import ACTIONS
from core.errors import did_you_mean
from core.policies.tools.values import (
    UNREADABLE,
    as_dict,
    as_json,
    as_text,
    is_dict,
    is_list,
    key_of,
    objects_in_a_row,
    read_literal,
)
from core.text import cut
from core.types import DroppedAction, PolicyReply, ToolCall

TOOL_NAME = "interact"
ACTION_KEYS = ("actions", "action", "actionslist", "actionlist")  # without regard to case and underscores
CUT_OFF = "The arguments are cut off or are not JSON; they were not guessed at."

_DIRECTIONS = {
    "left": "move_left",
    "right": "move_right",
    "up": "move_up",
    "down": "move_down",
    "west": "move_left",
    "east": "move_right",
    "north": "move_up",
    "south": "move_down",
}
_ACTION_BY_KEY = {key_of(action): action for action in ACTIONS}
_MAX_SPELLING = 60  # characters of an action's name
_MAX_NAME = 80  # characters of a name that are shown
_MAX_REPORTED = 50  # dropped actions reported one by one; a hostile list may contain millions
_MAX_CALLS = 64  # calls of one reply that are read
_MAX_LISTED = 1_000  # calls in one list
_MAX_DEPTH = 4  # objects within objects around a call

# Keys under which servers and models write calls, their names and their arguments.
_LISTS = ("tool_calls", "function_calls", "calls")
_NESTED = ("function", "custom", "tool_call", "function_call")
_NAMES = ("name", "tool_name", "tool", "function", "recipient_name")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "action_input", "tool_input", "params")


def tool_schema(max_actions: int | None) -> dict[str, Any]:
    """The tool as the chat-completions API wants it described; `max_actions` None leaves the list's length open."""
    actions: dict[str, Any] = {
        "type": "array",
        "items": {"type": "string", "enum": list(ACTIONS)},
        "minItems": 1,
        "description": "Actions to execute in order, one environment step each.",
    }
    if max_actions is not None:
        actions["maxItems"] = max_actions
    return {
        "type": "function",
        "function": {
            "name": TOOL_NAME,
            "description": "Act in the Crafter world. The actions are executed in the order given.",
            "parameters": {
                "type": "object",
                "properties": {
                    "actions": actions,
                    "reasoning": {"type": "string", "description": "Why these actions, in a sentence or two."},
                },
                "required": ["actions"],
            },
        },
    }


class RawCall(NamedTuple):
    """One call as the server sent it. `arguments` is a string in the standard, an object from some servers. `cut`: its
    end is missing, so it is not executed."""

    name: str
    arguments: Any
    call_id: str = ""
    cut: bool = False


class ReadCall(NamedTuple):
    """One call as read. `error_kind` is None if at least one action can be executed."""

    call: ToolCall
    error_kind: str | None = None
    error_detail: str = ""


def call_interact(actions: Sequence[str], reasoning: str, *, max_actions: int | None) -> PolicyReply:
    """The reply of a policy that is not a model: one call of the tool, written and read like a model's."""
    arguments = json.dumps({"actions": list(actions), "reasoning": reasoning})
    return read_tool_calls([RawCall(TOOL_NAME, arguments, "call_0")], max_actions=max_actions)


def read_tool_calls(
    calls: Sequence[RawCall],
    *,
    offered: Sequence[str] = (TOOL_NAME,),
    max_actions: int | None,
    cut_off: bool = False,
) -> PolicyReply:
    """Reads several calls, which run in order.

    The reply has an error only if no call has a valid action: then the first call's error. If some calls are valid and
    others are not, the valid ones are executed and `warning` is the kind of the first invalid one. Calls after one that
    was cut off are ignored. `cut_off`: the whole answer ended early; valid calls are executed, `warning` is
    `truncated`, and a last call without arguments counts as cut off.
    """
    if not calls:
        return PolicyReply((), error_kind="no_tool_call", error_detail="The answer contains no tool call.")
    read: list[ReadCall] = []
    for call in islice(_one_by_one(calls), _MAX_CALLS):
        read.append(_read_raw(call, offered, max_actions))
        if read[-1].error_kind == "truncated":
            break
    if cut_off and read[-1].error_kind == "bad_arguments":
        read[-1] = ReadCall(read[-1].call, "truncated", CUT_OFF)
    if len(calls) > _MAX_CALLS == len(read):
        note = DroppedAction("...", f"{len(calls) - _MAX_CALLS} more calls were not read.")
        last = read[-1].call
        read[-1] = read[-1]._replace(call=replace(last, dropped=(*last.dropped, note)))
    tool_calls = tuple(one.call for one in read)
    first_bad = next((one for one in read if one.error_kind), read[0])
    if any(call.actions for call in tool_calls):
        return PolicyReply(tool_calls, warning="truncated" if cut_off else first_bad.error_kind)
    return PolicyReply(tool_calls, error_kind=first_bad.error_kind, error_detail=first_bad.error_detail)


def read_tool_call(
    name: str,
    arguments: Any,
    *,
    offered: Sequence[str] = (TOOL_NAME,),
    max_actions: int | None,
    call_id: str = "",
) -> ReadCall:
    """Reads one call. `arguments` is JSON text; an object is taken too. At most `max_actions` actions are kept."""
    unread = ToolCall(name=as_text(name), arguments=as_text(arguments), call_id=as_text(call_id))
    if not is_offered(unread.name, offered):
        tools = ", ".join(offered) or "none"
        return ReadCall(unread, "unknown_tool", f'"{cut(unread.name, _MAX_NAME)}" is no tool here; offered: {tools}.')
    if not unread.arguments.strip():
        return ReadCall(unread, "bad_arguments", "The call has no arguments.")
    parsed = _decoded(arguments)
    if parsed is UNREADABLE:
        return ReadCall(unread, "truncated", CUT_OFF)
    if not is_dict(parsed):
        kind = type(parsed).__name__
        return ReadCall(unread, "bad_arguments", f"The arguments must be an object with a list of actions, not {kind}.")
    return _read_arguments(unread, parsed, max_actions)


def is_offered(name: str, offered: Sequence[str]) -> bool:
    """Whether a call's name is that of an offered tool."""
    return tool_key(name) in {tool_key(tool) for tool in offered}


def tool_key(name: str) -> str:
    """A tool's name without a namespace: `functions.interact`, `mcp__crafter__interact` and `Interact` are one tool.

    Kimi numbers its calls (`functions.interact:0`, moonshotai/Kimi-K2 tool_call_guidance), and a server that does not
    know gpt-oss's format leaves its tokens on the name (`interact<|channel|>commentary`, vllm-project/vllm#32633).
    """
    name = re.sub(r":\d+$", "", name[:400].split("<|")[0].strip())
    return key_of(re.split(r"[.:/]|__", name)[-1])


def actions_of(arguments: dict[str, Any]) -> Any:
    """The value of `actions`, `action` or `actions_list`: the first that is not null, or None."""
    by_key: dict[str, Any] = {}
    for key, value in arguments.items():
        if value is not None and len(key := as_text(key)) <= 20:
            by_key.setdefault(key_of(key), value)
    return next((by_key[key] for key in ACTION_KEYS if key in by_key), None)


def calls_of(value: Any, offered: Sequence[str], *, nameless: bool = True, depth: int = 0) -> list[RawCall]:
    """The calls in a value that a model wrote; empty if it is not a call.

    Read are `{"name", "arguments"}` (Hermes), `"parameters"` (Llama, vllm-project/vllm llama_tool_parser),
    `"tool_name"` (Command R), `{"action", "action_input"}` (LangChain), `{"function": {...}}` and `{"tool_calls":
    [...]}` (groq/groq-typescript#28), `{"interact": {...}}`, lists of them, and with `nameless` the bare arguments.
    """
    if depth > _MAX_DEPTH:
        return []
    if is_list(value):
        listed = value[:_MAX_LISTED]
        return [call for item in listed for call in calls_of(item, offered, nameless=nameless, depth=depth + 1)]
    fields = as_dict(value)
    for key in _LISTS:
        if is_list(fields.get(key)) or is_dict(fields.get(key)):
            return calls_of(fields[key], offered, nameless=nameless, depth=depth + 1)
    for key in _NESTED:
        if as_dict(fields.get(key)):
            found = calls_of(fields[key], offered, nameless=nameless, depth=depth + 1)
            return [call._replace(call_id=call.call_id or as_text(fields.get("id"))) for call in found]
    if call := _named(fields, offered):
        return [call]
    return [RawCall(offered[0], as_json(fields))] if nameless and offered and actions_of(fields) is not None else []


def native_call(item: Any) -> RawCall | None:
    """A call from a message's `tool_calls`: `{"id", "function": {"name", "arguments"}}`, flat or of type `custom`.

    Missing or null arguments and names count as empty.
    """
    call = as_dict(item)
    inner = next((as_dict(call[key]) for key in _NESTED if as_dict(call.get(key))), call)
    name = next((inner[key] for key in _NAMES if isinstance(inner.get(key), str)), None)
    arguments = next((inner[key] for key in _ARGUMENTS if inner.get(key) is not None), None)
    if name is None and arguments is None and not call.get("id"):
        return None
    return RawCall(as_text(name), "" if arguments is None else arguments, as_text(call.get("id")))


def _named(fields: dict[str, Any], offered: Sequence[str]) -> RawCall | None:
    """The call whose name stands in a field, or is the only field."""
    keys = ("action", *_NAMES) if "action_input" in fields else _NAMES
    name = next((fields[key] for key in keys if isinstance(fields.get(key), str)), None)
    if name is None:
        only, arguments = next(iter(fields.items())) if len(fields) == 1 else ("", None)
        fits = is_dict(arguments) and is_offered(as_text(only), offered)
        return RawCall(as_text(only), as_json(arguments)) if fits else None
    arguments = next((fields[key] for key in _ARGUMENTS if fields.get(key) is not None), None)
    if arguments is not None:
        return RawCall(name, as_text(arguments), as_text(fields.get("id")))
    if not is_offered(name, offered):
        return None
    flat = {key: item for key, item in fields.items() if key not in _NAMES}
    return RawCall(name, as_json(flat) if actions_of(flat) is not None else "", as_text(fields.get("id")))


def _one_by_one(calls: Sequence[RawCall]) -> Iterator[RawCall]:
    """Splits calls that were joined into one (`{...}{...}`)."""
    for call in calls:
        text = call.arguments
        joined = not call.cut and isinstance(text, str) and text.count("}") > 1 and read_literal(text) is UNREADABLE
        whole = objects_in_a_row(text) if joined else []
        yield from (call._replace(arguments=piece) for piece in whole) if len(whole) > 1 else (call,)


def _read_raw(call: RawCall, offered: Sequence[str], max_actions: int | None) -> ReadCall:
    if call.cut:
        unread = ToolCall(as_text(call.name), as_text(call.arguments), as_text(call.call_id))
        return ReadCall(unread, "truncated", CUT_OFF)
    return read_tool_call(call.name, call.arguments, offered=offered, max_actions=max_actions, call_id=call.call_id)


def _decoded(arguments: Any) -> Any:
    """The arguments as a value. Text may be encoded twice (vllm-project/vllm#54964), fenced, or followed by special
    tokens."""
    value = arguments
    for _ in range(3):
        if not isinstance(value, str) or (value is not arguments and value.lstrip()[:1] not in ("{", "[", '"', "'")):
            break
        text = value
        value = read_literal(text)
        if value is UNREADABLE and len(whole := objects_in_a_row(text)) == 1:
            value = read_literal(whole[0])
    return value


def _read_arguments(unread: ToolCall, arguments: dict[str, Any], max_actions: int | None) -> ReadCall:
    arguments = _unwrapped(arguments)
    names = _listed_names(actions_of(arguments))
    if names is UNREADABLE:
        return ReadCall(unread, "truncated", CUT_OFF)
    actions, dropped = _sort_out(names or (), max_actions)
    call = replace(unread, actions=actions, dropped=dropped, reasoning=as_text(arguments.get("reasoning")))
    if names is None:
        return ReadCall(call, "bad_arguments", 'The arguments contain no list "actions".')
    if not names:
        return ReadCall(call, "bad_arguments", 'The list "actions" is empty.')
    if not actions:
        return ReadCall(call, "unknown_action", "No valid action is left: " + " ".join(d.reason for d in dropped[:3]))
    return ReadCall(call)


def _unwrapped(arguments: dict[str, Any]) -> dict[str, Any]:
    """The inner arguments of `{"name": ..., "arguments": {"actions": ...}}`, or the arguments as given."""
    if actions_of(arguments) is not None:
        return arguments
    for key in ("arguments", "parameters", "args", "input"):
        inner = arguments.get(key)
        inner = as_dict(read_literal(inner) if isinstance(inner, str) else inner)
        if actions_of(inner) is not None:
            return inner
    return arguments


def _listed_names(listed: Any) -> Any:
    """The actions as a list: also from a list written as text, a single name, or names separated by commas.
    None if it is not a list, `UNREADABLE` if it is the text of a list whose end is missing."""
    if isinstance(listed, str):
        text = listed.strip()
        parsed = read_literal(text) if text[:1] in ("[", "{", '"', "'", "(") else UNREADABLE
        if isinstance(parsed, str | list | tuple):
            listed = cast("Any", parsed)
        elif text[:1] in ("[", "{"):
            if not re.fullmatch(r"\[[^\[\]{}\"']*\]", text):
                return UNREADABLE
            listed = text[1:-1]  # whole, only without quotes: [do, noop]
        if isinstance(listed, str):
            return [part.strip(" \t\r\"'`") for part in re.split(r"[,;\n]", listed) if part.strip(" \t\r\"'`")]
    return list(cast("Sequence[Any]", listed)) if isinstance(listed, list | tuple) else None


def _sort_out(names: Iterable[object], max_actions: int | None) -> tuple[tuple[str, ...], tuple[DroppedAction, ...]]:
    """The valid actions, at most `max_actions`, and the dropped names with the reason for each, both in order."""
    actions: list[str] = []
    dropped: list[DroppedAction] = []
    more = 0
    for name in names:
        action = _known_action(name) if isinstance(name, str) and len(name) <= _MAX_SPELLING else None
        if action is not None and (max_actions is None or len(actions) < max_actions):
            actions.append(action)
        elif len(dropped) == _MAX_REPORTED:
            more += 1
        elif action is None:
            dropped.append(_unknown_action(cut("null" if name is None else as_text(name), _MAX_NAME)))
        else:
            dropped.append(DroppedAction(as_text(name), f"A call may have at most {max_actions} actions."))
    if more:
        dropped.append(DroppedAction("...", f"{more} more actions were dropped."))
    return tuple(actions), tuple(dropped)


@lru_cache(maxsize=1024)
def _known_action(name: str) -> str | None:
    """The action meant by a name, without regard to case, spaces and hyphens; compass words mean moves."""
    key = key_of(name)
    if key in _ACTION_BY_KEY:
        return _ACTION_BY_KEY[key]
    for prefix in ("move", "go", "walk"):
        key = key.removeprefix(prefix)
    return _DIRECTIONS.get(key)


@lru_cache(maxsize=1024)
def _unknown_action(name: str) -> DroppedAction:
    hint = did_you_mean(name, ACTIONS)
    return DroppedAction(name, f'"{name}" is no action{hint}. Accepted: {", ".join(ACTIONS)}.')
