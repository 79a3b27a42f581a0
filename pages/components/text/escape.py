"""Text that came from a person, a link, a model or a trace, made safe to show."""

from __future__ import annotations

import re
from typing import Any, cast

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~:$&])")
# Streamlit makes links of these once Markdown is read, escaped or not.
_LINKED = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?<=@)", re.IGNORECASE)
_WORD_JOINER = "\u2060"  # not seen, and no place to break a line

# What is acted on instead of being seen: control characters other than tab and line end, terminal codes that begin with
# them, and marks that turn the direction of what follows.
_UNSEEN = re.compile("[\x01-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

MAX_LINE_LENGTH = 500
MAX_BLOCK_LENGTH = 20_000


def escape(text: str) -> str:
    """`text` for elements that read Markdown: nothing in it is a picture or a link, bare URLs and e-mails included."""
    return _MARKDOWN.sub(r"\\\1", _LINKED.sub(_WORD_JOINER, safe_text(text, MAX_LINE_LENGTH)))


def safe_text(text: str, most: int = MAX_BLOCK_LENGTH) -> str:
    """`text` for elements that show text as it is: cut at `most` characters with its true length said."""
    beginning = _seen(text[:most])
    if len(text) <= most and len(beginning) <= most:
        return beginning
    return f"{beginning[:most]}… (cut here; {len(text):,} characters in all)"


def one_line(text: str, most: int) -> str:
    """`text` for titles, labels and cells: on one line, at most `most` characters. Still to be escaped for Markdown."""
    line = " ".join(_seen(text[: 4 * most]).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def safe_data(value: Any) -> Any:
    """Data for elements that show it as a tree: the texts in it, names too, are made safe; nothing is cut."""
    if isinstance(value, str):
        return _seen(value)
    if isinstance(value, dict):
        return {_seen(str(name)): safe_data(part) for name, part in cast(dict[Any, Any], value).items()}
    if isinstance(value, list | tuple):
        return [safe_data(part) for part in cast(list[Any], value)]
    return value


def _seen(text: str) -> str:
    """Without lone surrogates, which no browser can be sent, and without NUL, which none shows. Other characters that
    are not seen stand as they are written in Python: `\\x1b`."""
    sendable = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd").replace("\r\n", "\n")
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), sendable)
