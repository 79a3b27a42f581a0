"""Text that came from a person, a link, a model or a trace, made safe to show."""

from __future__ import annotations

import re

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~:$&])")

MOST_IN_A_LINE = 500
MOST_IN_A_BLOCK = 20_000


def plain(text: str) -> str:
    """`text` for elements that read Markdown: everything it would act on is escaped, so no image is fetched."""
    return _MARKDOWN.sub(r"\\\1", shown(text, MOST_IN_A_LINE))


def shown(text: str, most: int = MOST_IN_A_BLOCK) -> str:
    """`text` for elements that show text as it is: cut at `most` characters with its true length said."""
    whole = _sendable(text)
    if len(whole) <= most:
        return whole
    return f"{whole[:most]}… (cut here; {len(whole):,} characters in all)"


def short(text: str, most: int) -> str:
    """`text` for titles, labels and cells: on one line, at most `most` characters. Still to be escaped for Markdown."""
    line = " ".join(_sendable(text[: 4 * most]).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _sendable(text: str) -> str:
    """Without lone surrogates, which no browser can be sent, and without NUL, which none shows."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")
