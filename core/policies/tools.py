"""The tool that policies call, and how its calls are read. Every policy's actions go through here.

A reader is lenient about spelling (case, spaces, hyphens, compass words, lists sent as text, Python literals) and
strict about meaning: what is not known is dropped and reported, and what was cut off is never completed by guesswork.

Kinds of error it finds: `no_tool_call`, `unknown_tool`, `bad_arguments`, `truncated`, `unknown_action`.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from core.env.rules import ACTIONS
from core.errors import did_you_mean
from core.types import DroppedAction, PolicyReply, ToolCall

TOOL_NAME = "interact"

_ACTION_KEYS = ("actions", "action", "actions_list")
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
_MAX_REPORTED = 50  # dropped actions reported one by one; a hostile list may hold millions
_MAX_NAME = 80  # characters of a dropped name that are kept
_MAX_LITERAL = 100_000  # characters: longer text is not tried as a Python literal


class ReadCall(NamedTuple):
    """One call as read. `error_kind` is None where at least one action is left to execute."""

    call: ToolCall
    error_kind: str | None = None
    error_detail: str = ""


class RawCall(NamedTuple):
    """One call as it came. `arguments` is a string in the standard, an object from some servers."""

    name: str
    arguments: Any
    call_id: str = ""


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


def call_interact(actions: Sequence[str], reasoning: str, *, max_actions: int | None) -> PolicyReply:
    """The reply of a policy that is not a model: one call of the tool, written and read like a model's."""
    arguments = json.dumps({"actions": list(actions), "reasoning": reasoning})
    return read_tool_calls([RawCall(TOOL_NAME, arguments, "call_0")], max_actions=max_actions)


def read_tool_calls(
    calls: Sequence[RawCall], *, offered: Sequence[str] = (TOOL_NAME,), max_actions: int | None
) -> PolicyReply:
    """Reads several calls, which run in order.

    The reply has an error only where no action is left at all: then the first call's. Where some calls are good and
    others are not, the good ones stand and `warning` is the kind of the first bad one. Nothing after a call that was
    cut off is kept.
    """
    if not calls:
        return PolicyReply((), error_kind="no_tool_call", error_detail="The answer holds no tool call.")
    read: list[ReadCall] = []
    for call in calls:
        one = read_tool_call(call.name, call.arguments, offered=offered, max_actions=max_actions, call_id=call.call_id)
        read.append(one)
        if one.error_kind == "truncated":
            break
    first_bad = next((one for one in read if one.error_kind), None)
    tool_calls = tuple(one.call for one in read)
    if first_bad is None:
        return PolicyReply(tool_calls)
    if any(one.call.actions for one in read):
        return PolicyReply(tool_calls, warning=first_bad.error_kind)
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
    raw = _text(arguments if isinstance(arguments, str) else json.dumps(arguments, default=str))
    unread = ToolCall(name=_text(str(name)), arguments=raw, call_id=_text(str(call_id)))
    if _tool_key(unread.name) not in {_tool_key(tool) for tool in offered}:
        tools = ", ".join(offered)
        return ReadCall(unread, "unknown_tool", f'"{_short(unread.name)}" is no tool here; offered: {tools}.')
    if not raw.strip():
        return ReadCall(unread, "bad_arguments", "The call has no arguments.")
    parsed = _parse(raw) if isinstance(arguments, str) else arguments
    if isinstance(parsed, str):  # double-encoded
        parsed = _parse(parsed)
    if parsed is _UNREADABLE:
        return ReadCall(unread, "truncated", "The arguments are cut off or are not JSON; they were not guessed at.")
    if not isinstance(parsed, dict):
        kind = type(parsed).__name__
        return ReadCall(unread, "bad_arguments", f"The arguments must be an object with a list of actions, not {kind}.")
    return _read_arguments(unread, cast("dict[str, Any]", parsed), max_actions)


def _read_arguments(unread: ToolCall, arguments: dict[str, Any], max_actions: int | None) -> ReadCall:
    listed = next((arguments[key] for key in _ACTION_KEYS if key in arguments), None)
    names = _listed_names(listed)
    reasoning = arguments.get("reasoning")
    actions, dropped = _sort_out(names or (), max_actions)
    call = ToolCall(
        name=unread.name,
        arguments=unread.arguments,
        call_id=unread.call_id,
        actions=actions,
        dropped=dropped,
        reasoning="" if reasoning is None else _text(str(reasoning)),
    )
    if names is None:
        return ReadCall(call, "bad_arguments", 'The arguments hold no list "actions".')
    if not names:
        return ReadCall(call, "bad_arguments", 'The list "actions" is empty.')
    if not actions:
        return ReadCall(call, "unknown_action", "No valid action is left: " + " ".join(d.reason for d in dropped[:3]))
    return ReadCall(call)


def _listed_names(listed: Any) -> list[Any] | None:
    """The actions as a list: also from a list written as text, a lone name, or names with commas between them."""
    if isinstance(listed, str):
        parsed = _parse(listed)
        if isinstance(parsed, str | list):
            listed = cast("Any", parsed)
        if isinstance(listed, str):
            return [part for part in re.split(r"[,;\n]", listed) if part.strip()]
    if isinstance(listed, list | tuple):
        return list(cast("Sequence[Any]", listed))
    return None


def _sort_out(names: Sequence[Any], max_actions: int | None) -> tuple[tuple[str, ...], tuple[DroppedAction, ...]]:
    actions: list[str] = []
    dropped: list[DroppedAction] = []
    for name in names:
        action = _action(name) if isinstance(name, str) else None
        if action is None:
            dropped.append(_unknown(name))
        elif max_actions is not None and len(actions) >= max_actions:
            dropped.append(DroppedAction(action, f"A call may hold at most {max_actions} actions."))
        else:
            actions.append(action)
    if len(dropped) > _MAX_REPORTED:
        more = len(dropped) - _MAX_REPORTED
        dropped = [*dropped[:_MAX_REPORTED], DroppedAction("...", f"{more} more actions were dropped.")]
    return tuple(actions), tuple(dropped)


def _unknown(name: Any) -> DroppedAction:
    shown = _short(_text(name if isinstance(name, str) else json.dumps(name, default=str)))
    hint = did_you_mean(shown, ACTIONS)
    return DroppedAction(shown, f'"{shown}" is no action{hint}. Accepted: {", ".join(ACTIONS)}.')


def _action(name: str) -> str | None:
    """The action meant by a name, without regard to case, spaces and hyphens; compass words mean moves."""
    key = _key(name)
    if key in _ACTION_BY_KEY:
        return _ACTION_BY_KEY[key]
    for prefix in ("move", "go", "walk"):
        key = key.removeprefix(prefix)
    return _DIRECTIONS.get(key)


def _key(name: str) -> str:
    return re.sub(r"[\s_\-]+", "", name.casefold())


def _tool_key(name: str) -> str:
    """A tool's name without a namespace: `functions.interact`, `mcp__crafter__interact` and `Interact` are one tool."""
    return _key(re.split(r"[.:/]|__", name.strip())[-1])


def _short(name: str) -> str:
    return name if len(name) <= _MAX_NAME else name[:_MAX_NAME] + "..."


def _text(text: str) -> str:
    """Text that any database takes: half of a surrogate pair (legal in JSON) becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


_UNREADABLE = object()
_ACTION_BY_KEY = {_key(action): action for action in ACTIONS}
_JSON_WORDS = {"true": True, "false": False, "null": None}


def _parse(text: str) -> Any:
    """JSON, or a Python literal (single quotes, True, trailing commas); `_UNREADABLE` where it is not whole."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if len(text) > _MAX_LITERAL:
        return _UNREADABLE
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns about escapes that only JSON knows
            tree = ast.parse(text.strip(), mode="eval")
        return ast.literal_eval(_JsonWords().visit(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _UNREADABLE


class _JsonWords(ast.NodeTransformer):
    """Lets true, false and null stand in what is otherwise a Python literal."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(_JSON_WORDS[node.id]) if node.id in _JSON_WORDS else node
