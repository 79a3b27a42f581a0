"""Which fields of a request a server refuses: read from its error, then left out and recorded.

Servers with "OpenAI's API" differ in every optional field. GPT-5 refuses `max_tokens` and any temperature but 1, Claude
a temperature beside a top_p, strict FastAPI servers all unknown fields, and some even fields of a message that they
sent themselves (Groq: `reasoning`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, cast

from core.policies.tools import parse_response
from core.policies.tools.errors import REJECTED
from core.text import cut
from core.types import LeftOut

TOKEN_LIMITS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_MAX_REASON = 300
_MAX_DEPTH = 6
_NEEDED = ("model", "messages", "tools")
_NEEDED_IN_MESSAGE = ("role", "content", "tool_calls", "function_call")
_OPTIONAL_IN_TOOL = ("strict", "minItems", "maxItems")
_FIRST_TO_GO = ("seed", "top_p", "temperature")  # if a sentence names several of which one may stay


class RefusedFields:
    """What one server refuses for one model."""

    def __init__(self) -> None:
        self._found: dict[str, LeftOut] = {}

    @property
    def all(self) -> tuple[LeftOut, ...]:
        """In the order of refusal."""
        return tuple(self._found.values())

    def remove_from(self, request: dict[str, Any]) -> tuple[dict[str, Any], tuple[LeftOut, ...]]:
        """A copy of the request without them, and which of them it had."""
        left_out: list[LeftOut] = []
        for found in self._found.values():
            less = _without(request, found)
            if less != request:
                left_out.append(found)
            request = less
        return request, tuple(left_out)

    def forget(self) -> None:
        self._found.clear()

    def add(self, fields: Iterable[LeftOut]) -> None:
        """Fields that another process has seen refused."""
        self._found.update((found.name, found) for found in fields)

    def learn(self, request: dict[str, Any], status: int | None, body: str) -> bool:
        """Whether this answer refuses optional fields of `request`; they are left out from now on.

        body: the answer's text, with no key in it.
        """
        if status not in (400, 422):
            return False
        error = parse_response({"status": status, "body": body})
        if error.error_kind != "provider_error":  # "too long, reduce max_tokens" is about the length
            return False
        names = _named_fields(request, body)
        for name in names:
            other = TOKEN_LIMITS.get(name, "")
            sent_as = "" if other in self._found or other in request else other
            answer = (error.error_detail or "").removeprefix(f"{REJECTED} Its answer: ")  # there is nothing to change
            self._found[name] = LeftOut(name, cut(f"HTTP {status}: {answer}", _MAX_REASON), sent_as)
        return bool(names)


@cache
def refused_fields(base_url: str, model: str) -> RefusedFields:
    """The fields that this process has seen refused, shared by all its episodes with this server and model."""
    return RefusedFields()


def _without(request: dict[str, Any], found: LeftOut) -> dict[str, Any]:
    where, _, name = found.name.rpartition(".")
    if where == "messages":
        return {**request, "messages": [_lacking(message, name) for message in request["messages"]]}
    if where == "tools":
        return {**request, "tools": [_lacking_deep(tool, name) for tool in request["tools"]]}
    rest = _lacking(request, name)
    return {**rest, found.sent_as: request[name]} if found.sent_as and name in request else rest


def _lacking(fields: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key != name} if name in fields else fields


def _lacking_deep(value: Any, name: str) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: _lacking_deep(part, name) for key, part in cast(dict[str, Any], value).items() if key != name}


def _named_fields(request: dict[str, Any], body: str) -> list[str]:
    """The optional fields of a request that an error names: all that it points at, else the first in its text."""
    optional = _optional_fields(request)
    try:
        error: Any = json.loads(body)
    except (ValueError, RecursionError):
        error = body
    pointed_at = [name for path in _paths(error) if (name := _field_at(path)) in optional]
    if pointed_at:
        return list(dict.fromkeys(pointed_at))
    text = "\n".join(_texts(error))
    return [name for name in optional if _is_named(name, text)][:1]


def _optional_fields(request: dict[str, Any]) -> list[str]:
    """`temperature`, `messages.reasoning`, `tools.strict`: fields that may be left out, the least needed first."""
    fields = sorted(
        (name for name in request if name not in _NEEDED),
        key=lambda name: (name in _FIRST_TO_GO, _FIRST_TO_GO.index(name) if name in _FIRST_TO_GO else 0),
    )
    answers = (message for message in request["messages"] if message.get("role") == "assistant")
    in_messages = {name: None for message in answers for name in message if name not in _NEEDED_IN_MESSAGE}
    tools = json.dumps(request.get("tools", []))
    in_tools = [name for name in _OPTIONAL_IN_TOOL if f'"{name}":' in tools]
    return [*fields, *(f"messages.{name}" for name in in_messages), *(f"tools.{name}" for name in in_tools)]


def _paths(error: Any, depth: int = 0) -> Iterator[list[str]]:
    """Where an error points: OpenAI's `param` ("messages[2].reasoning"), FastAPI's `loc` (["body", "top_p"])."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(error, dict):
        fields = cast(dict[str, Any], error)
        if isinstance(param := fields.get("param"), str):
            yield re.findall(r"\w+", param)
        if isinstance(loc := fields.get("loc"), list):
            path = [str(part) for part in cast(list[Any], loc)]
            yield path[1:] if path[:1] == ["body"] else path
        for value in fields.values():
            yield from _paths(value, depth + 1)
    elif isinstance(error, list):
        for value in cast(list[Any], error):
            yield from _paths(value, depth + 1)


def _field_at(path: Sequence[str]) -> str:
    if len(path) > 1 and path[0] in ("messages", "tools"):
        return f"{path[0]}.{path[-1]}"
    return path[0] if path else ""


def _texts(error: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(error, str):
        yield error
    elif depth <= _MAX_DEPTH and isinstance(error, dict | list):
        parts = list(cast(dict[str, Any], error).values()) if isinstance(error, dict) else cast(list[Any], error)
        for part in parts:
            yield from _texts(part, depth + 1)


def _is_named(field: str, text: str) -> bool:
    """Quoted, or as a whole word unless that is also an English word, such as `user`."""
    name = re.escape(field.rpartition(".")[2])
    if re.search(rf"""["'`]{name}["'`]""", text):
        return True
    is_plain_word = "_" not in name and name not in _FIRST_TO_GO
    return not is_plain_word and re.search(rf"(?<![\w.-]){name}(?![\w-])", text) is not None
