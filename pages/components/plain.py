"""Text that came from a person, a link or a trace, made safe for elements that read Markdown."""

from __future__ import annotations

import re

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~:$&])")


def plain(text: str) -> str:
    """`text` with everything escaped that Markdown would act on: no image is fetched, no link is drawn."""
    return _MARKDOWN.sub(r"\\\1", text)
