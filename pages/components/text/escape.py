"""Makes text from users, links, models and traces safe to show."""

from __future__ import annotations

import re
from typing import Any, cast

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~:$&])")
# Streamlit turns these into links after Markdown, even if they are escaped.
_LINKED = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?<=@)", re.IGNORECASE)
_WORD_JOINER = "\u2060"  # invisible, without a line break

# Control characters other than tab and line feed (terminal codes begin with one), and marks that change the direction
# of text.
_INVISIBLE = re.compile("[\x01-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

MAX_LINE_LENGTH = 500
MAX_BLOCK_LENGTH = 20_000


def escape(text: str) -> str:
    """For elements that render Markdown: all its syntax is escaped, so no image is fetched."""
    return _MARKDOWN.sub(r"\\\1", _LINKED.sub(_WORD_JOINER, safe_text(text, MAX_LINE_LENGTH)))


def safe_text(text: str, max_length: int = MAX_BLOCK_LENGTH) -> str:
    """For elements that show plain text: cut at `max_length` characters, with a note of the full length."""
    beginning = _visible(text[:max_length])
    if len(text) <= max_length and len(beginning) <= max_length:
        return beginning
    return f"{beginning[:max_length]}… (cut here; {len(text):,} characters in all)"


def one_line(text: str, max_length: int) -> str:
    """For titles, labels and cells: one line of at most `max_length` characters. Not escaped for Markdown."""
    line = " ".join(_visible(text[: 4 * max_length]).split())
    return line if len(line) <= max_length else f"{line[: max_length - 1]}…"


def safe_data(value: Any) -> Any:
    """For elements that show data as a tree: all strings in it are made safe, also keys; nothing is cut."""
    if isinstance(value, str):
        return _visible(value)
    if isinstance(value, dict):
        return {_visible(str(name)): safe_data(part) for name, part in cast(dict[Any, Any], value).items()}
    if isinstance(value, list | tuple):
        return [safe_data(part) for part in cast(list[Any], value)]
    return value


def _visible(text: str) -> str:
    """Replaces lone surrogates, which cannot be sent to a browser, and NUL. Other invisible characters become their
    Python escapes, such as `\\x1b`."""
    sendable = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd").replace("\r\n", "\n")
    return _INVISIBLE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), sendable)
