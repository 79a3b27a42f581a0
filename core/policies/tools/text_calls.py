"""Finds thinking and calls in the text of an answer, where a server left them.

Calls with a mark of their family are read first; without any, bare JSON and Python. Reading takes time
in proportion to the text: nothing is read twice, a call that is cut off ends the search, and failed attempts are
counted.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from core.policies.tools.calls import RawCall, actions_of, calls_of, is_offered, tool_key
from core.policies.tools.families import AFTER_NAME, THINKING, THINKING_PHRASES, CallMark, Marks, call_marks
from core.policies.tools.values import UNREADABLE, as_dict, as_json, closing, end_of, keywords, value_at

_MINIMAX_NAMESPACE = "]<]minimax[>["  # MiniMax M3 puts it before every tag
_NAMELESS_CALL = re.compile(r"<(?:[｜|]{1,2}[A-Z]{2,6}[｜|]{1,2})?invoke>")  # seen from DeepSeek V3.2
_SPECIAL_TOKEN = re.compile(r"<[|｜]([^<>|｜\s]{1,40})[|｜]>")
# Words of the tokens that begin and end turns, channels and calls. They may stand around a call that was read.
_STRUCTURE = re.compile(
    r"/?(?:(?:begin|start|end|close|open|eot|eom|endof|of|turn|text|sentence|id|header|im|return|call|calls|channel|message"
    r"|constrain|content|assistant|model|invoke|tool|tools|section|prefix|suffix|argument|args|arg|value|name|role|sep"
    r"|action|plugin|python|json|inner|function|flush|dsml|gcml)(?:[_▁:]|\Z))+",
    re.IGNORECASE,
)
_NOISE = re.compile(
    r"(?:\s|```\w{0,20}|json\b|function(?=<[|｜])|<[|｜]tool[▁_]sep[|｜]>|call:|<\|plugin\|>|<tool_name>)*",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Za-z_][\w.:/-]{0,119}")
_NEXT_NAMED = re.compile(r"(?:call:)?[A-Za-z_][\w.:/-]{0,119}(?=[({])")
_SEPARATOR = re.compile(
    r"(?:\s|\[ARGS\]|\[CALL_ID\]\w{0,40}|<[|｜](?!tool_arg)[^<>|｜]{1,40}[|｜]>|json\b|commentary\b|```\w{0,20}"
    r"|Action Input:|✿ARGS✿:|</tool_name>|<parameters>|<tool_sep(?::\w{1,20})?>)*"
)
_BETWEEN = re.compile(r"[\s;,]*")
_PYTHON_LIST = re.compile(r"\[\s{0,20}(?=[A-Za-z_][\w.:/-]{0,119}\s{0,3}\()")
_PYTHON_CALL = re.compile(r"([A-Za-z_][\w.:/-]{0,119})\s{0,3}(?=\()")
_NAME_FIELD = re.compile(r'"(?:name|tool_name)"\s{0,5}:\s{0,5}"([^"]{1,80})"')
_CHILDREN = ("actions", "action", "actions_list", "reasoning")
_MAX_FOUND = 1_000  # calls

Reading = tuple[list[RawCall], int]
"""Calls, and the index to go on from."""


class Split(NamedTuple):
    """A text split into what is visible and what is thinking."""

    visible: str
    thinking: str


class FoundCalls(NamedTuple):
    """The calls of a text. `has_leftovers`: it also has a mark whose call could not be read, or an unknown token."""

    calls: list[RawCall]
    has_leftovers: bool


class _Found(NamedTuple):
    """A call and its position: from the mark before it to its end."""

    call: RawCall
    start: int
    end: int


def split_thinking(text: str) -> Split:
    """Separates `<think>...</think>` and similar marks from the visible text.

    Unclosed thinking reaches to the end. A closing mark without an opening one ends thinking that began with
    the text: the chat templates of DeepSeek-R1 and Qwen3-Thinking put the opening mark into the prompt
    (vllm-project/vllm#22507). A call in gpt-oss's channel for thinking is a draft, unless nothing comes after it.
    """
    visible: list[str] = []
    thinking: list[str] = []
    text = THINKING_PHRASES.sub(r"<think>\1\2</think>", text)
    position, inside, in_turn = 0, False, False
    last_channel, last_end = text.rfind("<|channel|>"), text.lower().rfind("<|end|>")
    for mark in THINKING.finditer(text):
        if mark["turn"] and not (inside and in_turn):
            continue
        if mark["turn"] in ("<|start|>", "<|call|>") and mark.start() < last_end:
            continue  # a whole draft of a call; <|end|> closes the channel
        if mark["recipient"] and mark.start() >= last_channel:
            continue
        piece = text[position : mark.start()]
        position = mark.end()
        if mark["open"]:
            (thinking if inside else visible).append(piece)
            inside, in_turn = True, mark["open_turn"] is not None
        else:
            if not inside:
                thinking += visible
                visible.clear()
            thinking.append(piece)
            inside = False
    (thinking if inside else visible).append(text[position:])
    return Split("".join(visible), "".join(thinking))


def find_calls(text: str, offered: Sequence[str]) -> FoundCalls:
    """The calls in an answer's text, in order. The last one may be cut off. Pass the text without its thinking."""
    text = text.replace(_MINIMAX_NAMESPACE, "")
    marked, unread = _find_marked(text, offered)
    if not marked:
        return FoundCalls(_find_bare_calls(text, offered), unread or has_leftovers(text))
    starts, ends = [found.start for found in marked], [found.end for found in marked]
    outside = [text[end:start] for end, start in zip([0, *ends], [*starts, len(text)], strict=True)]
    return FoundCalls([found.call for found in marked], unread or any(has_leftovers(piece) for piece in outside))


def find_final_calls(thinking: str, offered: Sequence[str]) -> list[RawCall]:
    """The calls at the end of thinking, after its last words.

    Qwen3 puts real calls there and stops, and the server then shows reasoning only (vllm-project/vllm#39056).
    """
    thinking = thinking.replace(_MINIMAX_NAMESPACE, "")
    found, _ = _find_marked(thinking, offered)
    first = max(len(found) - 1, 0)
    while first > 0 and not re.sub(r"<[^<>]*>|\s", "", thinking[found[first - 1].end : found[first].start]):
        first -= 1
    return [one.call for one in found[first:]] or _find_bare_calls(thinking, offered, drafts=True)


def has_call_marks(text: str, offered: Sequence[str]) -> bool:
    """Whether a text contains a special token or the opening mark of a call."""
    return bool(_SPECIAL_TOKEN.search(text) or call_marks(tuple(offered)).first(text))


def has_leftovers(text: str) -> bool:
    """Whether a text without its calls contains an unknown special token, or a call without a name."""
    unknown = any(not _STRUCTURE.fullmatch(token[1]) for token in _SPECIAL_TOKEN.finditer(text))
    return unknown or _NAMELESS_CALL.search(text) is not None


# ---------------------------------------------------------------------------------------------- calls with marks


def _find_marked(text: str, offered: Sequence[str]) -> tuple[list[_Found], bool]:
    """The calls with marks, and whether there is a mark without a call that is not the start of a group of calls."""
    marks = call_marks(tuple(offered))
    found: list[_Found] = []
    position, unread = 0, False
    while len(found) < _MAX_FOUND and (mark := marks.first(text, position)):
        calls, position = _read_call(text, mark, offered)
        found += [_Found(call, mark.start, position) for call in calls]
        unread = unread or not (calls or marks.is_at(text, end_of(_NOISE, text, position)))
        if calls and calls[-1].cut:
            break
    return found, unread


def _read_call(text: str, mark: CallMark, offered: Sequence[str]) -> Reading:
    """Reads the calls after a mark. An empty rest is a cut call; prose is not a call."""
    start = end_of(_NOISE, text, mark.end)
    if mark.family.marks and text[start : start + 1] == "{":
        return _json_arguments(text, mark.name, start)
    if mark.family.marks:
        return _marked_arguments(text, mark, mark.name, start, mark.family.marks)
    if start == len(text):
        return [RawCall("", "", cut=True)], start
    if text[start] in "{[":
        return _read_json(text, start, offered)
    name = _NAME.match(text, start)
    calls: list[RawCall] = []
    while name:
        more, start = _read_named(text, mark, name[0].removeprefix("call:"), name.end(), offered)
        calls += more
        if not more or more[-1].cut:
            break
        name = _NEXT_NAMED.match(text, end_of(_BETWEEN, text, start))
    return calls, start


def _read_named(text: str, mark: CallMark, name: str, end: int, offered: Sequence[str]) -> Reading:
    """Reads the arguments of a call after its name, in whichever way they are written."""
    name = name.rstrip(":.-/")
    start = end_of(_SEPARATOR, text, end)
    if start == len(text):  # the name of a tool, or the beginning of one; otherwise prose
        begins = any(tool_key(tool).startswith(tool_key(name)) for tool in offered)
        return ([RawCall(name, "", cut=True)] if begins else []), start
    if text[start] == "{":
        return _json_arguments(text, name, start)
    if text[start] == "(":
        call, after = _read_python(text, name, start)
        return ([call], after) if call else ([], start)
    for marks in AFTER_NAME:
        if re.compile(marks.opens, re.IGNORECASE).match(text, start):
            return _marked_arguments(text, mark, name, start, marks)
    return [], end


def _json_arguments(text: str, name: str, start: int) -> Reading:
    value, end = value_at(text, start)
    if value is UNREADABLE:
        return [RawCall(name, text[start:], cut=True)], end
    return [RawCall(name, as_json(value))], end


def _marked_arguments(text: str, mark: CallMark, name: str, start: int, marks: Marks) -> Reading:
    """Reads arguments in marks of their own. A call without its closing mark is cut; so is one in which the next call
    begins. Without any marks of arguments, they are children: `<actions>move_up, do</actions>`."""
    close = re.compile(marks.end, re.IGNORECASE).search(text, start)
    if close is None or re.compile(mark.family.call, re.IGNORECASE).search(text, start, close.start()):
        return [RawCall(name, text[start:], cut=True)], len(text)
    opened = list(re.compile(marks.opens, re.IGNORECASE).finditer(text, start, close.start()))
    arguments: dict[str, Any] = {}
    limits = [*(following.start() for following in opened[1:]), close.start()]
    for argument, limit in zip(opened, limits, strict=False):
        end = re.compile(marks.closes, re.IGNORECASE).search(text, argument.end(), limit)
        arguments[argument[1].strip()] = _value(text[argument.end() : end.start() if end else limit].strip())
    return [RawCall(name, as_json(arguments or _children(text[start : close.start()])))], close.end()


def _value(text: str) -> str:
    if text.startswith("<![CDATA["):
        return text.removeprefix("<![CDATA[").removesuffix("]]>")
    return html.unescape(text)


def _children(body: str) -> dict[str, Any]:
    """The elements named like arguments; a list of `<item>` elements (MiniMax M3) is a list."""
    children: dict[str, Any] = {}
    for key in _CHILDREN:
        if inside := body.partition(f"<{key}>")[2].partition(f"</{key}>")[0].strip():
            items = [_value(piece.partition("</item>")[0].strip()) for piece in inside.split("<item>")[1:]]
            children[key] = items or _value(inside)
    return children


def _read_json(text: str, start: int, offered: Sequence[str]) -> Reading:
    """Reads one value or several in a row; Llama puts semicolons between them."""
    if python := _PYTHON_LIST.match(text, start):
        return _read_python_list(text, python.end())
    calls: list[RawCall] = []
    first = start
    while text[start : start + 1] == "{" or (start == first and text[start] == "["):
        value, end = value_at(text, start)
        if value is UNREADABLE:
            whole, start = _whole_items(text, start, offered)
            name = _NAME_FIELD.search(text, start, start + 400)
            return [*calls, *whole, RawCall(name[1] if name else "", text[start:], cut=True)], end
        calls += calls_of(value, offered)
        start = end_of(_BETWEEN, text, end)
    return calls, start


def _whole_items(text: str, start: int, offered: Sequence[str], *, nameless: bool = True) -> Reading:
    """The calls before the first incomplete item of the list at `start`, and that item's index."""
    calls: list[RawCall] = []
    if text[start] != "[":
        return calls, start
    start = end_of(_BETWEEN, text, start + 1)
    while text[start : start + 1] == "{":
        value, end = value_at(text, start)
        if value is UNREADABLE:
            break
        calls += calls_of(value, offered, nameless=nameless)
        start = end_of(_BETWEEN, text, end)
    return calls, start


def _read_python(text: str, name: str, paren: int) -> tuple[RawCall | None, int]:
    """Reads `interact(actions=[...])` with its `(` at `paren`; the call is None if its arguments are not literals."""
    end = closing(text, paren)
    if end is None:
        return RawCall(name, text[paren:], cut=True), len(text)
    arguments = keywords(text[paren:end])
    name = name.removesuffix(".call")  # Llama 3's built-in tools are called that way
    return (None if arguments is None else RawCall(name, as_json(arguments))), end


def _read_python_list(text: str, start: int) -> Reading:
    calls: list[RawCall] = []
    while name := _PYTHON_CALL.match(text, start):
        call, end = _read_python(text, name[1], name.end())
        calls.append(call or RawCall(name[1], text[name.end() : end], cut=True))
        start = end_of(_BETWEEN, text, end)
    return calls, start


# -------------------------------------------------------------------------------------------- calls without marks

_FENCE = re.compile(r"```\w{0,20}")
_CALL_KEYS = "name|type|id|function|tool|tool_name|tool_call|tool_calls|function_call"
_OBJECT_START = re.compile(
    rf"""^[ \t]*(?P<line>[\[{{])|(?P<inline>\{{)(?=\s{{0,20}}["'](?:{_CALL_KEYS})["'])""", re.MULTILINE
)
_REST_OF_LINE = re.compile(r"[ \t;,]*(?:<[^<>\n]{1,40}>)*[ \t]*(?:\r?\n|\Z)")
_LOOKS_LIKE_CALL = re.compile(
    r"""["'](?:actions?|actions_list)["']\s{0,5}:|["'](?:name|tool_name)["']\s{0,5}:\s{0,5}["']""", re.IGNORECASE
)
_PYTHON_CUT = re.compile(r"\(\s{0,9}(?:actions|action|actions_list)\s{0,3}=|\(\s{0,9}\[\s{0,9}[\"']")
_MAX_ATTEMPTS = 16  # to read what cannot be read
_MAX_OBJECTS = 1_000  # that are read, calls or not


def _find_bare_calls(text: str, offered: Sequence[str], *, drafts: bool = False) -> list[RawCall]:
    """The calls in text without marks.

    JSON counts if it is on lines of its own, in a fence or the whole text (groq/groq-typescript#28); inside a sentence
    only if it names an offered tool. `drafts`: only JSON that names its tool.
    """
    text = _FENCE.sub("\n", text)
    calls = _find_objects(text, offered, nameless=not drafts)
    return calls if calls or drafts else _find_python(text, offered)


def _find_objects(text: str, offered: Sequence[str], *, nameless: bool) -> list[RawCall]:
    found: list[RawCall] = []
    position = attempts = objects = 0
    while attempts < _MAX_ATTEMPTS and objects < _MAX_OBJECTS and (match := _OBJECT_START.search(text, position)):
        start = match.end() - 1
        value, end = value_at(text, start)
        if value is UNREADABLE:
            if match["line"] and _LOOKS_LIKE_CALL.search(text, start, start + 2_000):
                whole, start = _whole_items(text, start, offered, nameless=nameless)
                return [*found, *whole, RawCall("", text[start:], cut=True)]
            attempts += 1
            position = start + 1
            continue
        position, objects = end, objects + 1
        alone = bool(match["line"] and _REST_OF_LINE.match(text, end))
        calls = calls_of(value, offered, nameless=nameless and alone)
        found += [call for call in calls if alone or is_offered(call.name, offered)]
    return found


def _find_python(text: str, offered: Sequence[str]) -> list[RawCall]:
    found: list[RawCall] = []
    position = attempts = 0
    while attempts < _MAX_ATTEMPTS and (match := _tool_names(tuple(offered)).search(text, position)):
        start = match.end()
        if text[start] == "{":
            (call,), position = _json_arguments(text, match[1], start)
        else:
            call, position = _read_python(text, match[1], start)
        if call and _holds_actions(call, text, start):
            found.append(call)
            if call.cut:
                break
        else:
            position = start
            attempts += 1
    return found or _whole_python(text.strip())


def _holds_actions(call: RawCall, text: str, start: int) -> bool:
    """Prose may mention `interact(...)`, so a call must contain its actions."""
    if not call.cut:
        value, _ = value_at(call.arguments, 0)
        return actions_of(as_dict(value)) is not None
    return bool(_PYTHON_CUT.match(text, start) or _LOOKS_LIKE_CALL.search(text, start, start + 2_000))


def _whole_python(text: str) -> list[RawCall]:
    """A call of any tool, if the text contains nothing else."""
    match = re.match(r"\[?\s{0,9}([A-Za-z_][\w.]{0,80})(?=\()", text)
    if not match:
        return []
    arguments = keywords(text[match.end() :].rstrip("] \n\t")) or {}
    return [RawCall(match[1], as_json(arguments))] if actions_of(arguments) is not None else []


@lru_cache(maxsize=16)
def _tool_names(offered: tuple[str, ...]) -> re.Pattern[str]:
    names = "|".join(re.escape(re.split(r"[.:/]|__", tool)[-1]) for tool in offered if tool) or r"(?!)"
    return re.compile(rf"(?:(?<!\w)|(?<=__))({names})(?:\.call)?[ \t]{{0,3}}(?=[({{])", re.IGNORECASE)
