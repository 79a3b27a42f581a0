"""Pages in Streamlit's AppTest: opening one, and reading what it shows."""

from __future__ import annotations

from typing import Any

from streamlit.testing.v1 import AppTest

from tests.support import ROOT


def opened(page: str, *, state: dict[str, Any] | None = None, **query: str) -> AppTest:
    """page: the name of its file. state: of the session. query: of the URL."""
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    if page != "traces":  # the default page
        at.switch_page(f"pages/{page}.py")
    for name, value in query.items():
        at.query_params[name] = value
    for name, value in (state or {}).items():
        at.session_state[name] = value
    return checked(at.run())


def checked(at: AppTest) -> AppTest:
    assert not at.exception
    return at


def texts(at: AppTest) -> list[str]:
    return [element.value for element in at.text]


def captions(at: AppTest) -> str:
    return "\n".join(element.value for element in at.caption)


def codes(at: AppTest) -> list[str]:
    return [element.value for element in at.code]


def metrics(at: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in at.metric}


def said(at: AppTest) -> str:
    """All text of the page, without the escapes of Markdown."""
    kinds = (at.title, at.subheader, at.text, at.caption, at.markdown, at.info, at.warning, at.error)
    return "\n".join(element.value for kind in kinds for element in kind).replace("\\", "")


def popovers(at: AppTest) -> list[str]:
    return [block.proto.popover.label for block in at.get("popover")]


def page_links(at: AppTest) -> dict[str, Any]:
    """By label."""
    return {link.proto.label: link.proto for link in at.get("page_link")}


def html(at: AppTest) -> list[str]:
    return [element.proto.body for element in at.get("html")]
