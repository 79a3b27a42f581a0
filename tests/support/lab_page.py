"""The Lab page in Streamlit's AppTest."""

from __future__ import annotations

import json
from typing import Any

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from tests.support import ROOT


def opened(page: str = "lab", **query: str) -> AppTest:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    at.switch_page(f"pages/{page}.py")
    for name, value in query.items():
        at.query_params[name] = value
    return run(at)


def run(page_or_widget: Any) -> AppTest:
    at = page_or_widget.run()
    assert not at.exception
    return at


def url_fields(at: AppTest) -> dict[str, str | None]:
    """What the form puts into the URL."""
    (found,) = [json.loads(c.proto.json) for c in at.get("bidi_component") if "fields" in c.proto.json]
    return found["fields"]


def page_text(at: AppTest) -> str:
    """All texts of the page, without Markdown escapes."""
    kinds = (at.text, at.caption, at.markdown, at.info, at.warning, at.error)
    return "\n".join(element.value for kind in kinds for element in kind).replace("\\", "")


def button(at: AppTest, key: str) -> Button:
    return next(b for b in at.button if b.key == key)
