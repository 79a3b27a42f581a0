"""Cut, escape, quote, count and join text for messages, tables, terminals and databases."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence


def cut(text: str, limit: int) -> str:
    """At most `limit` characters; a shortened text ends in three dots."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def visible(text: str) -> str:
    """`text` on one line: line ends, terminal codes, marks of writing direction and lone surrogates become escapes such
    as `\\x1b`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def storable(text: str) -> str:
    """`text` with question marks for lone surrogates, which JSON may contain and UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode("utf-8")


def quoted(value: object) -> str:
    """The repr of any value, at most 120 characters; long containers, texts and numbers are abbreviated."""
    try:
        shown = reprlib.repr(value)
    except (ValueError, RecursionError):  # an int with thousands of digits, or lists in lists in lists
        shown = f"<{type(value).__name__}, too long to show>"
    return cut(shown, 120)


def plural(count: int, noun: str, nouns: str = "") -> str:
    """ "1 loop", "2,000 loops". nouns: the plural, by default the noun with an s."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def join(parts: Sequence[str], word: str = "and") -> str:
    """ "a", "a and b", "a, b and c"; empty for no parts."""
    return f" {word} ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
