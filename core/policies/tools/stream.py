"""Joins a streamed answer into the body that the server would have sent without streaming."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from core.policies.tools.values import as_dict, as_list, as_text, is_dict

# Of one call; beyond them, its end or a repetition of it is no longer looked for.
_MAX_FRAGMENTS = 10_000
_MAX_LENGTH = 100_000
CUT_STREAM = "stream_cut"  # stands for the finish reason of a stream that ended without any


def joined(chunks: Iterable[Any]) -> dict[str, Any]:
    """The body: `id`, `model`, `usage`, `error` and one choice, or no choice if no chunk had one.

    A chunk may be an object or its server-sent text. Usage stands in the last chunk, which has no choices (OpenAI's
    `include_usage`), or in `x_groq`. An error may come as a chunk when all seemed well (OpenRouter).
    """
    body: dict[str, Any] = {"choices": []}
    answer = _Answer()
    for chunk in _objects(chunks):
        for key in ("id", "model"):
            if chunk.get(key) and key not in body:
                body[key] = chunk[key]
        groq = as_dict(chunk.get("x_groq"))
        body["usage"] = chunk.get("usage") or groq.get("usage") or body.get("usage")
        body["error"] = body.get("error") or chunk.get("error") or groq.get("error")
        for choice in as_list(chunk.get("choices")):
            answer.add(as_dict(choice))
    if answer.began:
        body["choices"] = [answer.choice()]
    return body


def events(text: str) -> list[dict[str, Any]]:
    """The chunks of a body of server-sent events (`data: {...}` lines); empty if it is not one."""
    return list(_objects([text])) if text.lstrip().startswith(("data:", "event:", ":")) else []


def _objects(chunks: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for chunk in chunks:
        if is_dict(chunk):
            yield chunk
        elif isinstance(chunk, str | bytes):
            for line in as_text(chunk).splitlines():
                try:
                    yield as_dict(json.loads(line.strip().removeprefix("data:")))
                except (ValueError, RecursionError):
                    continue


class _Call:
    """One call whose fragments are still coming."""

    def __init__(self, call_id: str) -> None:
        self.call_id = call_id
        self.name = ""
        self._texts: list[str] = []
        self._length = 0
        self._object: Any = None

    @property
    def is_whole(self) -> bool:
        if self._object is not None or not self._texts:
            return self._object is not None
        if self._texts[-1].rstrip()[-1:] != "}" or len(self._texts) > _MAX_FRAGMENTS or self._length > _MAX_LENGTH:
            return False
        try:
            json.loads("".join(self._texts), strict=False)
        except (ValueError, RecursionError):
            return False
        return True

    def continues_with(self, name: str, arguments: Any) -> bool:
        """Whether a fragment under another id can only be more of this call: it is open, and this begins no call."""
        begins = not isinstance(arguments, str) or arguments.lstrip()[:1] in ("", "{")
        return bool(self._texts) and name in ("", self.name) and not begins and not self.is_whole

    def add(self, function: dict[str, Any]) -> None:
        name, arguments = as_text(function.get("name")), function.get("arguments")
        if name != self.name:
            self.name = name if name.startswith(self.name) else self.name + name
        if isinstance(arguments, str):
            self._add_text(arguments)
        elif arguments is not None:
            self._object = arguments

    def _add_text(self, arguments: str) -> None:
        """Adds a fragment, or takes it in place of the earlier ones where it repeats their beginning: some servers
        send all arguments so far in each chunk, others the whole call once more at its end."""
        repeats = len(self._texts) <= _MAX_FRAGMENTS and arguments[:1] == "{" and len(arguments) >= self._length
        if repeats and self._length and arguments.startswith("".join(self._texts)):
            self._texts, self._length = [], 0
        self._texts.append(arguments)
        self._length += len(arguments)

    def whole(self) -> dict[str, Any]:
        arguments = self._object if self._object is not None else "".join(self._texts)
        return {"id": self.call_id, "function": {"name": self.name, "arguments": arguments}}


class _Answer:
    """The first choice of a stream as far as it came."""

    def __init__(self) -> None:
        self.began = False
        self._index: Any = None
        self._calls: list[_Call] = []
        self._latest: dict[Any, _Call] = {}  # by index
        self._by_id: dict[tuple[Any, str], _Call] = {}  # by index and id
        self._texts: dict[str, list[str]] = {}
        self._parts: dict[str, list[Any]] = {}  # content and thinking that are not text
        self._error: Any = None
        self._finish: Any = None

    def add(self, choice: dict[str, Any]) -> None:
        """Takes one chunk's choice; only the first choice is read."""
        index = as_text(choice.get("index"))
        if not choice or (self.began and index != self._index):
            return
        self.began, self._index = True, index
        self._finish = choice.get("finish_reason") or self._finish
        self._error = choice.get("error") or self._error
        delta = as_dict(choice.get("delta")) or as_dict(choice.get("message"))
        for key in ("content", "reasoning", "reasoning_content", "refusal"):
            if isinstance(delta.get(key), str):
                self._texts.setdefault(key, []).append(delta[key])
            elif delta.get(key):
                self._parts.setdefault(key, []).extend(as_list(delta[key]) or [delta[key]])
        calls = delta.get("tool_calls")
        for fragment in as_list(calls) or ([calls] if as_dict(calls) else []):
            self._add_fragment(as_dict(fragment))
        if legacy := as_dict(delta.get("function_call")):
            self._add_fragment({"index": "function_call", "function": legacy})

    def choice(self) -> dict[str, Any]:
        """The choice as it stands in a body that was not streamed."""
        message: dict[str, Any] = {**self._parts, **{key: "".join(texts) for key, texts in self._texts.items()}}
        message["tool_calls"] = [call.whole() for call in self._calls]
        finish = self._finish or CUT_STREAM
        return {"index": 0, "message": message, "finish_reason": finish, "error": self._error}

    def _add_fragment(self, fragment: dict[str, Any]) -> None:
        function = as_dict(fragment.get("function")) or fragment
        call_id, name = as_text(fragment.get("id")), as_text(function.get("name"))
        key = None if fragment.get("index") is None else as_text(fragment["index"])
        call = self._owner(key, call_id, name, function.get("arguments"))
        if call is None:
            call = _Call(call_id)
            self._calls.append(call)
        if call_id and call.call_id in ("", call_id):
            call.call_id = call_id
            self._by_id[key, call_id] = call
        self._latest[key] = call
        call.add(function)

    def _owner(self, key: str | None, call_id: str, name: str, arguments: Any) -> _Call | None:
        """The call that a fragment continues; None if it begins another.

        An id decides: Ollama gives every call index 0 (ollama/ollama#15457, vercel/ai#14277). Without one, a name at
        an index whose call is whole begins another call (huggingface/smolagents#1958), and a fragment without an
        index goes on with the call before.
        """
        if call_id and (known := self._by_id.get((key, call_id))):
            return known
        call = self._latest.get(key) if key is not None else self._calls[-1] if self._calls else None
        if call and call_id and call.call_id and call.continues_with(name, arguments):
            return call  # some servers give each fragment an id of its own (zai-org/GLM-4#194)
        if call is None or (call_id and call.call_id) or (call_id and key is None):
            return None
        return None if name and call.name and call.is_whole else call
