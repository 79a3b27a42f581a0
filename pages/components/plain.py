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
    """`text` for elements that show text as it is: cut at `most` characters with its true length said, and without
    lone surrogates, which no browser can be sent."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    if len(whole) <= most:
        return whole
    return f"{whole[:most]}… (cut here; {len(whole):,} characters in all)"
