"""Text for sentences, tables, terminals and databases: cut, made visible, quoted, counted, joined."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence


def cut(text: str, most: int) -> str:
    """At most `most` characters; the last three are dots where something was left off."""
    return text if len(text) <= most else text[: most - 3] + "..."


def visible(text: str) -> str:
    """`text` on one line, with an escape such as `\\x1b` for each character that would act or vanish.

    Those are line ends, terminal codes, marks that turn the direction of writing, and halves of a surrogate pair.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def storable(text: str) -> str:
    """`text` as UTF-8 can hold it: half of a surrogate pair, which is legal in JSON, becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def quoted(value: object, most: int = 120) -> str:
    """The repr of anything at all, at most `most` characters: long containers, texts and numbers are abbreviated."""
    try:
        shown = reprlib.repr(value)
    except (ValueError, RecursionError):  # an int with thousands of digits, or lists in lists in lists
        shown = f"<{type(value).__name__}, too long to show>"
    return cut(shown, most)


def plural(count: int, noun: str, nouns: str = "") -> str:
    """ "1 loop", "2,000 loops". nouns: the plural where it is not the noun with an s."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def join(parts: Sequence[str], word: str = "and") -> str:
    """ "a", "a and b", "a, b and c"; empty where there is nothing to join."""
    return f" {word} ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
