"""Keeps a key out of everything that comes back, also where a server writes it in escapes or in pieces.

What a server sends is read first and cleaned then: pieces that are joined by reading (parts of a message, chunks of a
stream) are found, and names that the product itself knows are not taken for pieces of a key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from core.policies.llm.endpoint import NO_KEY
from core.policies.tools import TOOL_NAME, ParsedResponse
from core.types import DroppedAction, ToolCall

PIECE: Final = 6
"""Characters of a key that must not be found anywhere."""

_REMOVED: Final = "[key removed]"
# One character as JSON may write it, escaped once or several times over: JSON within JSON doubles its backslashes.
_WRITTEN: Final = re.compile(r"\\+u([0-9a-fA-F]{4})|\\+([/+])|(.)", re.DOTALL)


class KeyRemover:
    """Takes one key out of texts."""

    def __init__(self, key: str) -> None:
        piece = min(PIECE, len(key))
        known = key if key != NO_KEY else ""
        self._pieces = sorted({known[at : at + piece] for at in range(len(known) - piece + 1)} if known else ())
        self._piece = piece

    def text(self, text: str) -> str:
        """`text` with every run of characters that holds six or more of the key's in a row replaced."""
        if not self._pieces:
            return text
        text = self._without(text, text, range(len(text) + 1))
        if "\\" not in text:
            return text
        # The same once more, over what the text means where it holds escapes.
        starts: list[int] = []
        meant: list[str] = []
        for match in _WRITTEN.finditer(text):
            starts.append(match.start())
            code, escaped, plain = match.groups()
            meant.append(chr(int(code, 16)) if code else escaped or plain)
        starts.append(len(text))
        return self._without(text, "".join(meant), starts)

    def table(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Names and values alike."""
        return {self.text(name): self.text(value) for name, value in texts.items()}

    def parsed(self, parsed: ParsedResponse) -> ParsedResponse:
        """Everything of an answer that was read from what the server wrote; actions are names of ours."""
        return replace(
            parsed,
            tool_calls=tuple(map(self._call, parsed.tool_calls)),
            error_detail=self.text(parsed.error_detail),
            content=self.text(parsed.content),
            reasoning=self.text(parsed.reasoning),
            finish_reason=self._given(parsed.finish_reason),
            response_id=self._given(parsed.response_id),
            model=self._given(parsed.model),
        )

    def _call(self, call: ToolCall) -> ToolCall:
        return replace(
            call,
            name=call.name if call.name == TOOL_NAME else self.text(call.name),
            arguments=self.text(call.arguments),
            call_id=self.text(call.call_id),
            dropped=tuple(DroppedAction(self.text(lost.name), self.text(lost.reason)) for lost in call.dropped),
            reasoning=self.text(call.reasoning),
        )

    def _given(self, text: str | None) -> str | None:
        return None if text is None else self.text(text)

    def _without(self, text: str, meant: str, starts: range | list[int]) -> str:
        """`text` without the places at which `meant` holds a piece; starts: where each of its characters stands."""
        hits = sorted({at for piece in self._pieces for at in _places(meant, piece)})
        if not hits:
            return text
        cleaned: list[str] = []
        end = 0
        for at in hits:
            if at >= end:
                cleaned += [text[starts[end] : starts[at]], _REMOVED]
            end = at + self._piece
        return "".join((*cleaned, text[starts[end] :]))


def _places(text: str, piece: str) -> list[int]:
    places: list[int] = []
    at = text.find(piece)
    while at >= 0:
        places.append(at)
        at = text.find(piece, at + 1)
    return places
