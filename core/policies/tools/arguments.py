"""Reads a call's arguments and decides which actions they mean.

The reader is lenient about spelling (case, spaces, hyphens, compass words, lists sent as text, Python literals,
trailing commas) and strict about meaning: unknown names are dropped and reported, and a value that was cut off is never
completed by guesswork. Every function takes time in proportion to its text.

Kinds of error: `no_tool_call`, `unknown_tool`, `bad_arguments`, `truncated`, `unknown_action`.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple, cast

from core.env.rules import ACTIONS
from core.errors import did_you_mean
from core.policies.tools.schema import TOOL_NAME
from core.policies.tools.untrusted import MAX_NAME, as_dict, is_dict, is_list, key_of, name_of, str_of
from core.text import cut
from core.types import DroppedAction, PolicyReply, ToolCall

UNREADABLE: Final = object()

_MAX_LITERAL = 100_000  # characters: longer text is not tried as a Python literal
_JSON_WORDS = {"true": True, "false": False, "null": None}
_DECODER = json.JSONDecoder(strict=False)  # models write line breaks into strings as they are
_PUNCTUATION = re.compile(r"""\\.|["'\[\]{}()]""", re.DOTALL)
_NOISE_BETWEEN = re.compile(r"(?:\s|```\w{0,20}|</?\w{1,40}>|<[|｜][^<>|｜]{1,40}[|｜]>)*")
_GEMMA_QUOTES = re.compile(r'<\|"\|>|<escape>')
_BARE_KEY = re.compile(r"([{,]\s{0,20})(\w{1,80})\s{0,20}:")


def read_literal(text: str) -> Any:
    """The value of JSON text or a Python literal; `UNREADABLE` if it is incomplete."""
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        pass
    tree = _expression(text.strip())
    return UNREADABLE if tree is None else _literal(tree)


def value_at(text: str, start: int) -> tuple[Any, int]:
    """The object or list that opens at `start`, and the index after it. `UNREADABLE` takes the rest of the text."""
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        pass
    end = closing(text, start)
    if end is None:
        return UNREADABLE, len(text)
    value = read_literal(text[start:end])
    if value is UNREADABLE and _GEMMA_QUOTES.search(text, start, end):
        value = read_literal(_gemma_as_json(text[start:end]))
    return (value, end) if value is not UNREADABLE else (UNREADABLE, len(text))


def values_in_a_row(text: str) -> list[str] | None:
    """Splits `{...}{...}` into the text of each object; None if anything but fences and special tokens stands between
    or after them. Proxies join parallel calls that way: apache/maka#1976, smolagents#1958."""
    pieces: list[str] = []
    position = _after_noise(text, 0)
    while position < len(text):
        if text[position] != "{":
            return None
        value, end = value_at(text, position)
        if value is UNREADABLE:
            return None
        pieces.append(text[position:end])
        position = _after_noise(text, end)
    return pieces


def keywords(text: str) -> dict[str, Any] | None:
    """The arguments of a call in Python's style, from `(` to `)`; a lone positional one is the list of actions
    or an object with all arguments. None if any of them is not a literal."""
    tree = _expression("call" + text)
    if not isinstance(tree, ast.Call) or len(tree.args) > 1 or any(word.arg is None for word in tree.keywords):
        return None
    nodes = {"actions": tree.args[0]} if tree.args else {}
    nodes.update({str(word.arg): word.value for word in tree.keywords})
    read = {name: _literal(node) for name, node in nodes.items()}
    if any(value is UNREADABLE for value in read.values()):
        return None
    only = read.get("actions") if tree.args and len(read) == 1 else None
    return only if is_dict(only) else read


def closing(text: str, start: int) -> int | None:
    """The index after the bracket that closes the one at `start`; None if it stays open."""
    brackets = Brackets()
    for match in _PUNCTUATION.finditer(text, start, start + _MAX_LITERAL):
        brackets.feed_mark(match.group())
        if brackets.closed:
            return match.end()
    return None


class Brackets:
    """Follows brackets and strings through text that comes in pieces, to know when a value is whole."""

    def __init__(self) -> None:
        self._depth = 0
        self._quote = ""
        self._escaped = False
        self.closed = False

    def feed(self, text: str) -> None:
        """Reads on. A piece may end anywhere, also between a backslash and what it escapes."""
        start = 1 if self._escaped and text else 0
        self._escaped = self._escaped and not text
        for match in _PUNCTUATION.finditer(text, start):
            self.feed_mark(match.group())
        if text.endswith("\\"):
            rest = text[start:]
            self._escaped = (len(rest) - len(rest.rstrip("\\"))) % 2 == 1

    def feed_mark(self, mark: str) -> None:
        """Reads one quote, bracket or escape."""
        if self._quote:
            self._quote = "" if mark == self._quote else self._quote
        elif mark in "\"'":
            self._quote = mark
        elif mark in "[{(":
            self._depth += 1
            self.closed = False
        elif mark in "]})":
            self._depth -= 1
            self.closed = self._depth <= 0


def _after_noise(text: str, position: int) -> int:
    match = _NOISE_BETWEEN.match(text, position)
    return match.end() if match else position


def _gemma_as_json(text: str) -> str:
    """Gemma writes `{actions:[<|"|>do<|"|>]}` (ollama/ollama#15315), its smaller kin `<escape>do<escape>`."""
    pieces = _GEMMA_QUOTES.split(text)  # every second one stands in quotes
    return "".join(json.dumps(piece) if n % 2 else _BARE_KEY.sub(r'\1"\2":', piece) for n, piece in enumerate(pieces))


def _expression(text: str) -> ast.expr | None:
    if len(text) > _MAX_LITERAL:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns about escapes that only JSON knows
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _literal(tree: ast.expr) -> Any:
    try:
        return ast.literal_eval(_JsonWords().visit(tree))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return UNREADABLE


class _JsonWords(ast.NodeTransformer):
    """Accepts true, false and null in a Python literal, and rejects `...`."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if node.value is ...:
            raise ValueError("three dots")
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(_JSON_WORDS[node.id]) if node.id in _JSON_WORDS else node


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
_MAX_SPELLING = 60  # characters a spelling may have
_MAX_REPORTED = 50  # dropped actions reported one by one; a hostile list may hold millions


def sort_out(names: Iterable[object], max_actions: int | None) -> tuple[tuple[str, ...], tuple[DroppedAction, ...]]:
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
            dropped.append(_unknown_action(cut(str_of(name), MAX_NAME)))
        else:
            dropped.append(DroppedAction(str_of(name), f"A call may hold at most {max_actions} actions."))
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


ACTION_KEYS = ("actions", "action", "actionslist", "actionlist")  # without regard to case and underscores
CUT_OFF = "The arguments are cut off or are not JSON; they were not guessed at."

_WRAPPERS = ("arguments", "parameters", "args", "input")
_MAX_CALLS = 64  # calls of one reply that are read


class ReadCall(NamedTuple):
    """One call as read. `error_kind` is None if at least one action can be executed."""

    call: ToolCall
    error_kind: str | None = None
    error_detail: str = ""


class RawCall(NamedTuple):
    """One call as the server sent it. `arguments` is a string in the standard, an object from some servers. `cut`: its
    end is missing, so it is not executed."""

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

    The reply has an error only if no call has a valid action: then the first call's error. If some calls are valid and
    others are not, the valid ones are executed and `warning` is the kind of the first invalid one. Calls after one that
    was cut off are ignored. `cut_off`: the whole answer ended early; valid calls are executed, `warning` is
    `truncated`, and a last call without arguments counts as cut off.
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
    return _together(_with_surplus_reported(read, len(calls)), cut_off)


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
        return ReadCall(unread, "unknown_tool", f'"{cut(unread.name, MAX_NAME)}" is no tool here; offered: {tools}.')
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
        if value is not None and len(key := name_of(key)) <= 20:
            by_key.setdefault(key_of(key), value)
    return next((by_key[key] for key in ACTION_KEYS if key in by_key), None)


def _one_by_one(calls: Sequence[RawCall]) -> Iterator[RawCall]:
    """Splits calls that were joined into one (`{...}{...}`); empty objects among them are ignored."""
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


def _with_surplus_reported(read: list[ReadCall], given: int) -> list[ReadCall]:
    """Reports how many calls were over the limit, on the last one that was read."""
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
    """The arguments as a value. Text may be encoded twice (vllm-project/vllm#54964), fenced, or followed by special
    tokens."""
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
    """The inner arguments of `{"name": ..., "arguments": {"actions": ...}}`, or the arguments as given."""
    if actions_of(arguments) is not None:
        return arguments
    for key in _WRAPPERS:
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
    if isinstance(listed, list | tuple):
        return list(cast("Sequence[Any]", listed))
    return None


_LISTS = ("tool_calls", "function_calls", "calls")
_NESTED = ("function", "custom", "tool_call", "function_call")
_NAMES = ("name", "tool_name", "tool", "function", "recipient_name")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "action_input", "tool_input", "params")
_MAX_DEPTH = 4
_MAX_LISTED = 1_000  # calls


def calls_of(value: Any, offered: Sequence[str], *, nameless: bool = True, depth: int = 0) -> list[RawCall]:
    """The calls in a value that a model wrote; empty if it is not a call.

    Read are `{"name", "arguments"}` (Hermes), `"parameters"` (Llama, vllm-project/vllm llama_tool_parser),
    `"tool_name"` (Command R), `{"action", "action_input"}` (LangChain), `{"function": {...}}` and `{"tool_calls":
    [...]}` (groq/groq-typescript#28), `{"interact": {...}}`, lists of them, and with `nameless` the bare arguments.
    """
    if depth > _MAX_DEPTH:
        return []
    if is_list(value):
        return [
            call for item in value[:_MAX_LISTED] for call in calls_of(item, offered, nameless=nameless, depth=depth + 1)
        ]
    return _calls_of_object(as_dict(value), offered, nameless, depth + 1)


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
    """A value as JSON text; values without a JSON form (Python sets) as their str."""
    try:
        return json.dumps(value, default=str)
    except (TypeError, ValueError, RecursionError):
        return str_of(value)
