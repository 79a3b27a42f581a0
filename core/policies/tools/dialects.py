"""What stands after the mark of a format: JSON, a name with JSON, XML, pairs of keys and values, Python.

Each reader gives the calls and the index to go on from. A call without its end is given as cut.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Any

from core.policies.tools.calls import RawCall, tool_key
from core.policies.tools.literals import UNREADABLE, closing, keywords, value_at
from core.policies.tools.objects import calls_of, json_text

_NOISE = re.compile(
    r"(?:\s|```\w{0,20}|json\b|function(?=<[|｜])|<[|｜]tool[▁_]sep[|｜]>|call:|<\|plugin\|>)*", re.IGNORECASE
)
_NAME = re.compile(r"[A-Za-z_][\w.:/-]{0,119}")
_NEXT_NAMED = re.compile(r"(?:call:)?[A-Za-z_][\w.:/-]{0,119}(?=[({])")
_SEPARATOR = re.compile(
    r"(?:\s|\[ARGS\]|\[CALL_ID\]\w{0,40}|<[|｜][^<>|｜]{1,40}[|｜]>|json\b|commentary\b|Action Input:"
    r"|<parameters>|<tool_sep>|```\w{0,20})*"
)
_BETWEEN = re.compile(r"[\s;,]*")
_PYTHON_LIST = re.compile(r"\[\s{0,20}(?=[A-Za-z_][\w.:/-]{0,119}\s{0,3}\()")
_PYTHON_CALL = re.compile(r"([A-Za-z_][\w.:/-]{0,119})\s{0,3}(?=\()")
_XML_END = re.compile(r"</(?:function|invoke|tool|tool_call|function_calls?)>", re.IGNORECASE)
_XML_OPEN = re.compile(r"<(?:function\s?=|invoke\s)", re.IGNORECASE)
_PARAMETER = re.compile(r"<parameter(?:\s?=|\s{1,3}name=)", re.IGNORECASE)
_CHILDREN = ("actions", "action", "actions_list", "reasoning")

Reading = tuple[list[RawCall], int]


def read_payload(text: str, start: int, offered: Sequence[str]) -> Reading:
    """Reads what follows a mark. Nothing at all after it is a cut call; prose is none."""
    start = _end(_NOISE, text, start)
    if start == len(text):
        return [RawCall("", "", cut=True)], start
    if text[start] in "{[":
        return _read_json(text, start, offered)
    name = _NAME.match(text, start)
    calls: list[RawCall] = []
    while name:
        more, start = _read_named(text, name[0].removeprefix("call:"), name.end(), offered)
        calls += more
        if not more or more[-1].cut:
            break
        name = _NEXT_NAMED.match(text, _end(_BETWEEN, text, start))
    return calls, start


def read_xml(text: str, mark: re.Match[str]) -> Reading:
    """Reads a function whose tag was just opened: parameters in tags of their own, or JSON. It is whole once it is
    closed; a tag named like the tool (`<interact>`) has children named like the arguments."""
    name, start = mark["name"] or mark["tag"], mark.end()
    start = _end(_NOISE, text, start)
    if text[start : start + 1] == "{":
        return _json_arguments(text, name, start)
    end = re.compile(f"</{re.escape(name)}>", re.IGNORECASE) if mark["tag"] else _XML_END
    close = end.search(text, start)
    if close is None or _XML_OPEN.search(text, start, close.start()):
        return [RawCall(name, text[start:], cut=True)], len(text)
    body = text[start : close.start()]
    return [
        RawCall(name, json_text(_parameters(body) if not mark["tag"] and _PARAMETER.search(body) else _children(body)))
    ], close.end()


def read_python(text: str, name: str, paren: int) -> tuple[RawCall | None, int]:
    """Reads `interact(actions=[...])`, whose `(` stands at `paren`; None where its arguments are no literals."""
    end = closing(text, paren)
    if end is None:
        return RawCall(name, text[paren:], cut=True), len(text)
    arguments = keywords(text[paren:end])
    name = name.removesuffix(".call")  # Llama 3's built-in tools are called that way
    return (None if arguments is None else RawCall(name, json_text(arguments))), end


def _read_json(text: str, start: int, offered: Sequence[str]) -> Reading:
    """One value or several in a row; Llama puts semicolons between them."""
    if python := _PYTHON_LIST.match(text, start):
        return _read_python_list(text, python.end())
    calls: list[RawCall] = []
    first = start
    while text[start : start + 1] == "{" or (start == first and text[start] == "["):
        value, end = value_at(text, start)
        if value is UNREADABLE:
            return [*calls, RawCall(_name_in(text[start : start + 400]), text[start:], cut=True)], end
        calls += calls_of(value, offered)
        start = _end(_BETWEEN, text, end)
    return calls, start


def _read_python_list(text: str, start: int) -> Reading:
    calls: list[RawCall] = []
    while name := _PYTHON_CALL.match(text, start):
        call, end = read_python(text, name[1], name.end())
        calls.append(call or RawCall(name[1], text[name.end() : end], cut=True))
        start = _end(_BETWEEN, text, end)
    return calls, start


def _read_named(text: str, name: str, end: int, offered: Sequence[str]) -> Reading:
    name = name.rstrip(":.-/")
    start = _end(_SEPARATOR, text, end)
    if start == len(text):  # the name of a tool, or the beginning of one; otherwise prose
        begins = any(tool_key(tool).startswith(tool_key(name)) for tool in offered)
        return ([RawCall(name, "", cut=True)] if begins else []), start
    if text[start] == "{":
        return _json_arguments(text, name, start)
    if text.startswith("<arg_key>", start):
        return _read_pairs(text, name, start)
    if text[start] == "(":
        call, after = read_python(text, name, start)
        return ([call], after) if call else ([], start)
    return [], end


def _json_arguments(text: str, name: str, start: int) -> Reading:
    value, end = value_at(text, start)
    if value is UNREADABLE:
        return [RawCall(name, text[start:], cut=True)], end
    return [RawCall(name, json_text(value))], end


def _read_pairs(text: str, name: str, start: int) -> Reading:
    end = text.find("</tool_call>", start)
    if end < 0:
        return [RawCall(name, text[start:], cut=True)], len(text)
    arguments: dict[str, Any] = {}
    for pair in text[start:end].split("<arg_key>")[1:]:
        key, _, rest = pair.partition("</arg_key>")
        arguments[key.strip()] = rest.partition("<arg_value>")[2].partition("</arg_value>")[0].strip()
    return [RawCall(name, json_text(arguments))], end


def _parameters(body: str) -> dict[str, str]:
    arguments: dict[str, str] = {}
    for piece in _PARAMETER.split(body)[1:]:
        head, _, rest = piece.partition(">")
        key = head.split()[0].strip("\"'") if head.split() else ""
        arguments[key] = _value(rest.partition("</parameter>")[0].strip())
    return arguments


def _value(text: str) -> str:
    if text.startswith("<![CDATA["):
        return text.removeprefix("<![CDATA[").removesuffix("]]>")
    return html.unescape(text)


def _children(body: str) -> dict[str, Any]:
    inside = {key: body.partition(f"<{key}>")[2].partition(f"</{key}>")[0].strip() for key in _CHILDREN}
    return {key: _items(value) for key, value in inside.items() if value}


def _items(value: str) -> Any:
    """The text of a child, or the list of its `<item>` children (MiniMax M3)."""
    items = [html.unescape(piece.partition("</item>")[0].strip()) for piece in value.split("<item>")[1:]]
    return items or html.unescape(value)


def _name_in(text: str) -> str:
    found = re.search(r'"(?:name|tool_name)"\s{0,5}:\s{0,5}"([^"]{1,80})"', text)
    return found[1] if found else ""


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    return match.end() if match else start
