"""Removes a key from everything that a server sends back.

Found are six or more characters of the key in a row: plain, in JSON's escapes (also several levels deep), in percent
encoding, in hex of either case, and in base64 of either alphabet, padded or not, wherever the key begins in the encoded
text. Other encodings, and a key that was split or changed, are not found.

An answer is parsed before it is cleaned: by then the parts of a message and the chunks of a stream are joined, and the
names of tools and actions are not mistaken for pieces of a key.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from core.policies.llm.endpoint import NO_KEY
from core.policies.tools import TOOL_NAME, ParsedResponse
from core.types import DroppedAction, TokenLogprob, ToolCall

PIECE: Final = 6
"""Characters of a key in a row that must not be stored or shown."""

_REMOVED: Final = "[key removed]"
_BASE64_PIECE: Final = 7
"""Six bytes are 48 bits. Wherever they begin, at least seven base64 characters of six bits depend on nothing else."""

# One character as JSON or a URL may write it, escaped once or several times over: JSON within JSON doubles its
# backslashes, a URL within a URL writes %25 for each percent sign.
_WRITTEN: Final = re.compile(r"\\+(?:u00|x)([0-9a-fA-F]{2})|%(?:25)*([0-9a-fA-F]{2})|\\+([/+])|(.)", re.DOTALL)
_TO_LOWER_HEX: Final = str.maketrans("ABCDEF", "abcdef")
_TO_STANDARD_BASE64: Final = str.maketrans("-_", "+/")


class KeyRemover:
    """Removes one key from texts."""

    def __init__(self, key: str) -> None:
        known = key if key != NO_KEY else ""
        self._plain = _windows(known, min(PIECE, len(known)))
        # An encoded piece of a shorter key could not be told from other text.
        encoded = known.encode() if len(known) >= PIECE else b""
        self._hex = _windows(encoded.hex(), 2 * PIECE, step=2)
        self._base64 = {piece for shift in range(3) for piece in _windows(_base64_core(encoded, shift), _BASE64_PIECE)}

    def text(self, text: str) -> str:
        """Replaces every run of characters that contains six or more of the key's in a row."""
        if not self._plain:
            return text
        hits = list(self._hits(text))
        if "\\" in text or "%" in text:
            starts: list[int] = []
            meant: list[str] = []
            for match in _WRITTEN.finditer(text):
                starts.append(match.start())
                json_code, url_code, escaped, plain = match.groups()
                code = json_code or url_code
                meant.append(chr(int(code, 16)) if code else escaped or plain)
            starts.append(len(text))
            hits += ((starts[first], starts[last]) for first, last in self._hits("".join(meant)))
        cleaned: list[str] = []
        end = 0
        for first, last in sorted(hits):
            if first > end or not cleaned:
                cleaned += [text[end:first], _REMOVED]
            end = max(end, last)
        return "".join((*cleaned, text[end:]))

    def table(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Cleans names and values."""
        return {self.text(name): self.text(value) for name, value in texts.items()}

    def parsed(self, parsed: ParsedResponse) -> ParsedResponse:
        """Cleans all text of the server in an answer; actions are our own names."""
        return replace(
            parsed,
            tool_calls=tuple(map(self._call, parsed.tool_calls)),
            token_logprobs=self._tokens(parsed.token_logprobs),
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

    def _tokens(self, tokens: tuple[TokenLogprob, ...]) -> tuple[TokenLogprob, ...]:
        """A key may be spread over several tokens, so one in the whole text removes all of their texts."""
        whole = "".join(each.token for each in tokens)
        if self.text(whole) == whole:
            return tokens
        return tuple(replace(each, token=_REMOVED) for each in tokens)

    def _given(self, text: str | None) -> str | None:
        return None if text is None else self.text(text)

    def _hits(self, text: str) -> Iterator[tuple[int, int]]:
        """Where pieces of the key begin and end."""
        yield from _places(text, self._plain)
        yield from _places(text.translate(_TO_LOWER_HEX), self._hex)
        yield from _places(text.translate(_TO_STANDARD_BASE64), self._base64)


def _windows(text: str, length: int, step: int = 1) -> set[str]:
    return {text[at : at + length] for at in range(0, len(text) - length + 1, step)} if text else set()


def _base64_core(data: bytes, shift: int) -> str:
    """The base64 characters that depend on `data` alone, if it follows `shift` bytes (0 to 2) of a group."""
    written = base64.b64encode(bytes(shift) + data).decode().rstrip("=")
    n_sure = (8 * (shift + len(data))) // 6
    return written[-(-8 * shift // 6) : n_sure]


def _places(text: str, pieces: set[str]) -> Iterator[tuple[int, int]]:
    for piece in pieces:
        at = text.find(piece)
        while at >= 0:
            yield at, at + len(piece)
            at = text.find(piece, at + 1)
