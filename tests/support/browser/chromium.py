"""Chromium, found on this machine (nothing is downloaded), and when a Streamlit page has finished drawing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

_SETTLED = "[data-testid='stApp'][data-test-connection-state='CONNECTED'][data-test-script-state='notRunning']"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


def find_chromium() -> str | None:
    """The path of an installed Chromium or Chrome, or None."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


@contextmanager
def open_chromium(path: str) -> Iterator[Browser]:
    """A headless browser, closed at the end whatever happens."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=list(_QUIET))
        try:
            yield browser
        finally:
            browser.close()


def settle(page: Page, *, player: bool = False, timeout_ms: float = 60_000) -> None:
    """Wait until the page is connected and its script has ended; with `player`, until a frame is painted and the
    charts that waited for it are there too."""
    page.wait_for_selector(_SETTLED, state="attached", timeout=timeout_ms)
    if player:
        page.wait_for_selector("canvas[data-step]", timeout=timeout_ms)
        page.wait_for_selector(".cs-is-awaited", state="detached", timeout=timeout_ms)
        page.wait_for_selector(_SETTLED, state="attached", timeout=timeout_ms)
