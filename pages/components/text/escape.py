"""Makes text from people, links, models and traces safe to show."""

from __future__ import annotations

import re
from typing import Any, cast

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~:$&])")
# Streamlit makes links of these once Markdown is read, escaped or not.
_LINKED = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?<=@)", re.IGNORECASE)
_WORD_JOINER = "\u2060"  # not seen, and no place to break a line

# Characters that act instead of being visible: control characters other than tab and line feed (terminal codes begin
# with one), and marks that change the direction of text.
_UNSEEN = re.compile("[\x01-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

MAX_LINE_LENGTH = 500
MAX_BLOCK_LENGTH = 20_000


def escape(text: str) -> str:
    """For elements that render Markdown: all its syntax is escaped, so no image is fetched."""
    return _MARKDOWN.sub(r"\\\1", _LINKED.sub(_WORD_JOINER, safe_text(text, MAX_LINE_LENGTH)))


def safe_text(text: str, most: int = MAX_BLOCK_LENGTH) -> str:
    """For elements that show plain text: cut at `most` characters, with the full length in the text."""
    beginning = _seen(text[:most])
    if len(text) <= most and len(beginning) <= most:
        return beginning
    return f"{beginning[:most]}… (cut here; {len(text):,} characters in all)"


def one_line(text: str, most: int) -> str:
    """For titles, labels and cells: one line of at most `most` characters. Not escaped for Markdown."""
    line = " ".join(_seen(text[: 4 * most]).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def safe_data(value: Any) -> Any:
    """For elements that show data as a tree: all strings in it are made safe, keys too; nothing is cut."""
    if isinstance(value, str):
        return _seen(value)
    if isinstance(value, dict):
        return {_seen(str(name)): safe_data(part) for name, part in cast(dict[Any, Any], value).items()}
    if isinstance(value, list | tuple):
        return [safe_data(part) for part in cast(list[Any], value)]
    return value


def _seen(text: str) -> str:
    """Replaces lone surrogates, which cannot be sent to a browser, and NUL. Other invisible characters become their
    Python escapes, such as `\\x1b`."""
    sendable = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd").replace("\r\n", "\n")
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), sendable)
