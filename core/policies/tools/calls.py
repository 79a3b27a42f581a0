"""How the arguments of a call are read, whoever made it.

A reader is lenient about spelling (case, spaces, hyphens, compass words, lists sent as text, Python literals) and
strict about meaning: what is not known is dropped and reported, and what was cut off is never completed by guesswork.

Kinds of error it finds: `no_tool_call`, `unknown_tool`, `bad_arguments`, `truncated`, `unknown_action`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple, cast

from core.policies.tools.actions import sort_out
from core.policies.tools.literals import UNREADABLE, read_literal, values_in_a_row
from core.policies.tools.schema import TOOL_NAME
from core.policies.tools.untrusted import as_dict, is_dict, key_of, name_of, short, str_of
from core.types import DroppedAction, PolicyReply, ToolCall

ACTION_KEYS = ("actions", "action", "actionslist", "actionlist")  # without regard to case and underscores
CUT_OFF = "The arguments are cut off or are not JSON; they were not guessed at."

_WRAPPERS = ("arguments", "parameters", "args", "input")
_MAX_CALLS = 64  # calls of one reply that are read


class ReadCall(NamedTuple):
    """One call as read. `error_kind` is None where at least one action is left to execute."""

    call: ToolCall
    error_kind: str | None = None
    error_detail: str = ""


class RawCall(NamedTuple):
    """One call as it came. `arguments` is a string in the standard, an object from some servers. `cut`: its end is
    missing, so nothing of it counts."""

    name: str
    arguments: Any
    call_id: str = ""
    cut: bool = False


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

    The reply has an error only where no action is left at all: then the first call's. Where some calls are good and
    others are not, the good ones stand and `warning` is the kind of the first bad one. Nothing after a call that was
    cut off is kept. `cut_off`: the whole answer ended early; good calls stand, `warning` is `truncated`, and a last
    call without arguments is taken for one whose arguments did not come.
    """
    if not calls:
        return PolicyReply((), error_kind="no_tool_call", error_detail="The answer holds no tool call.")
    read: list[ReadCall] = []
    for call in islice(_one_by_one(calls), _MAX_CALLS):
        one = _read_raw(call, offered, max_actions)
        read.append(one)
        if one.error_kind == "truncated":
            break
    if cut_off and read[-1].error_kind == "bad_arguments":
        read[-1] = ReadCall(read[-1].call, "truncated", CUT_OFF)
    return _together(_without_surplus(read, len(calls)), cut_off)


def read_tool_call(
    name: str,
    arguments: Any,
    *,
    offered: Sequence[str] = (TOOL_NAME,),
    max_actions: int | None,
    call_id: str = "",
) -> ReadCall:
    """Reads one call. `arguments` is JSON text; an object is taken too. At most `max_actions` actions are kept."""
    unread = ToolCall(name=name_of(name), arguments=str_of(arguments), call_id=name_of(call_id))
    if not is_offered(unread.name, offered):
        tools = ", ".join(offered) or "none"
        return ReadCall(unread, "unknown_tool", f'"{short(unread.name)}" is no tool here; offered: {tools}.')
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
    """What stands under `actions`, `action` or `actions_list`, whichever comes first and is not null; else None."""
    by_key: dict[str, Any] = {}
    for key, value in arguments.items():
        if value is not None and len(key := name_of(key)) <= 20:
            by_key.setdefault(key_of(key), value)
    return next((by_key[key] for key in ACTION_KEYS if key in by_key), None)


def _one_by_one(calls: Sequence[RawCall]) -> Iterator[RawCall]:
    """Takes calls apart that were joined into one (`{...}{...}`); empty objects among them are no calls."""
    for call in calls:
        text = call.arguments
        joined = not call.cut and isinstance(text, str) and text.count("}") > 1 and read_literal(text) is UNREADABLE
        pieces = values_in_a_row(text) if joined else None
        whole = [piece for piece in pieces or () if read_literal(piece) != {}]
        yield from (call._replace(arguments=piece) for piece in whole) if len(whole) > 1 else (call,)


def _read_raw(call: RawCall, offered: Sequence[str], max_actions: int | None) -> ReadCall:
    if call.cut:
        unread = ToolCall(name_of(call.name), str_of(call.arguments), name_of(call.call_id))
        return ReadCall(unread, "truncated", CUT_OFF)
    return read_tool_call(call.name, call.arguments, offered=offered, max_actions=max_actions, call_id=call.call_id)


def _without_surplus(read: list[ReadCall], given: int) -> list[ReadCall]:
    """Reports the calls above the cap on the last one that was read."""
    if given <= _MAX_CALLS or len(read) < _MAX_CALLS:
        return read
    note = DroppedAction("...", f"{given - _MAX_CALLS} more calls were not read.")
    last = read[-1].call
    return [*read[:-1], read[-1]._replace(call=replace(last, dropped=(*last.dropped, note)))]


def _together(read: list[ReadCall], cut_off: bool) -> PolicyReply:
    first_bad = next((one for one in read if one.error_kind), None)
    tool_calls = tuple(one.call for one in read)
    if any(one.call.actions for one in read):
        kind = first_bad.error_kind if first_bad else None
        return PolicyReply(tool_calls, warning="truncated" if cut_off else kind)
    first_bad = first_bad or read[0]
    return PolicyReply(tool_calls, error_kind=first_bad.error_kind, error_detail=first_bad.error_detail)


def _decoded(arguments: Any) -> Any:
    """The arguments as a value. Text may be encoded twice (vllm-project/vllm#54964), fenced, or followed by the
    model's special tokens."""
    value = arguments
    for _ in range(3):
        if not isinstance(value, str) or (value is not arguments and value.lstrip()[:1] not in ("{", "[", '"', "'")):
            break
        text = value
        value = read_literal(text)
        if value is UNREADABLE:
            whole = [piece for piece in values_in_a_row(text) or () if read_literal(piece) != {}]
            value = read_literal(whole[0]) if len(whole) == 1 else UNREADABLE
    return value


def _read_arguments(unread: ToolCall, arguments: dict[str, Any], max_actions: int | None) -> ReadCall:
    arguments = _unwrapped(arguments)
    listed = actions_of(arguments)
    names = _listed_names(listed)
    if names is UNREADABLE:
        return ReadCall(unread, "truncated", CUT_OFF)
    reasoning = arguments.get("reasoning")
    actions, dropped = sort_out(names or (), max_actions)
    call = replace(unread, actions=actions, dropped=dropped, reasoning=name_of(reasoning))
    if names is None:
        return ReadCall(call, "bad_arguments", 'The arguments hold no list "actions".')
    if not names:
        return ReadCall(call, "bad_arguments", 'The list "actions" is empty.')
    if not actions:
        return ReadCall(call, "unknown_action", "No valid action is left: " + " ".join(d.reason for d in dropped[:3]))
    return ReadCall(call)


def _unwrapped(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments that hold the arguments once more, as `{"name": ..., "arguments": {"actions": ...}}`."""
    if actions_of(arguments) is not None:
        return arguments
    for key in _WRAPPERS:
        inner = arguments.get(key)
        inner = as_dict(read_literal(inner) if isinstance(inner, str) else inner)
        if actions_of(inner) is not None:
            return inner
    return arguments


def _listed_names(listed: Any) -> Any:
    """The actions as a list: also from a list written as text, a lone name, or names with commas between them.
    None where it is no list, `UNREADABLE` where it is text of a list whose end is missing."""
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
    if isinstance(listed, list | tuple):
        return list(cast("Sequence[Any]", listed))
    return None
