"""Calls in text without any marks: JSON on lines of its own or in a fence, and Python."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from core.policies.tools.calls import RawCall, actions_of, is_offered
from core.policies.tools.dialects import read_python
from core.policies.tools.literals import UNREADABLE, keywords, value_at
from core.policies.tools.objects import calls_of, json_text
from core.policies.tools.untrusted import as_dict

_FENCE = re.compile(r"```\w{0,20}")
_KEYS = "name|type|id|function|tool|tool_name|tool_call|tool_calls|function_call"
_START = re.compile(rf"""^[ \t]*(?P<line>[\[{{])|(?P<inline>\{{)(?=\s{{0,20}}["'](?:{_KEYS})["'])""", re.MULTILINE)
_REST_OF_LINE = re.compile(r"[ \t;,]*(?:<[^<>\n]{1,40}>)*[ \t]*(?:\r?\n|\Z)")
_LOOKS_LIKE_CALL = re.compile(
    r"""["'](?:actions?|actions_list)["']\s{0,5}:|["'](?:name|tool_name)["']\s{0,5}:\s{0,5}["']""", re.IGNORECASE
)
_PYTHON_CUT = re.compile(r"\(\s{0,9}(?:actions|action|actions_list)\s{0,3}=|\(\s{0,9}\[\s{0,9}[\"']")
_MAX_ATTEMPTS = 16  # to read what cannot be read
_MAX_OBJECTS = 1_000  # that are read, calls or not


def find_plain_calls(text: str, offered: Sequence[str], *, drafts: bool = False) -> list[RawCall]:
    """The calls in text that has no marks.

    JSON counts where it stands on lines of its own, in a fence or as the whole text (groq/groq-typescript#28); amid
    other words only with the name of an offered tool. `drafts`: only JSON that names its tool.
    """
    text = _FENCE.sub("\n", text)
    calls = _find_objects(text, offered, nameless=not drafts)
    return calls if calls or drafts else _find_python(text, offered)


def _find_objects(text: str, offered: Sequence[str], *, nameless: bool) -> list[RawCall]:
    found: list[RawCall] = []
    position = attempts = objects = 0
    while attempts < _MAX_ATTEMPTS and objects < _MAX_OBJECTS and (match := _START.search(text, position)):
        start = match.end() - 1
        value, end = value_at(text, start)
        if value is UNREADABLE:
            if match["line"] and _LOOKS_LIKE_CALL.search(text, start, start + 2_000):
                return [*found, RawCall("", text[start:], cut=True)]
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
        position = start
        if text[start] == "{":
            value, position = value_at(text, start)
            call = RawCall(match[1], json_text(value)) if value is not UNREADABLE else None
            call = call or RawCall(match[1], text[start:], cut=True)
        else:
            call, position = read_python(text, match[1], start)
            position = position if call else start
        if call and _holds_actions(call, text, start):
            found.append(call)
            if call.cut:
                break
        else:
            attempts += 1
    return found or _whole_python(text.strip())


def _holds_actions(call: RawCall, text: str, start: int) -> bool:
    """Prose may say `interact(...)` too, so a call has to show its actions."""
    if not call.cut:
        value, _ = value_at(call.arguments, 0)
        return actions_of(as_dict(value)) is not None
    return bool(_PYTHON_CUT.match(text, start) or _LOOKS_LIKE_CALL.search(text, start, start + 2_000))


def _whole_python(text: str) -> list[RawCall]:
    """A call of whatever tool, where the text is nothing else."""
    match = re.match(r"\[?\s{0,9}([A-Za-z_][\w.]{0,80})(?=\()", text)
    if not match:
        return []
    arguments = keywords(text[match.end() :].rstrip("] \n\t")) or {}
    return [RawCall(match[1], json_text(arguments))] if actions_of(arguments) is not None else []


@lru_cache(maxsize=16)
def _tool_names(offered: tuple[str, ...]) -> re.Pattern[str]:
    names = "|".join(re.escape(re.split(r"[.:/]|__", tool)[-1]) for tool in offered if tool) or r"(?!)"
    return re.compile(rf"(?:(?<!\w)|(?<=__))({names})(?:\.call)?[ \t]{{0,3}}(?=[({{])", re.IGNORECASE)
