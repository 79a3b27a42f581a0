"""When a Streamlit page has finished drawing."""

from __future__ import annotations

from playwright.sync_api import Page

_SETTLED = "[data-testid='stApp'][data-test-connection-state='CONNECTED'][data-test-script-state='notRunning']"


def settle(page: Page, *, player: bool = False, timeout_ms: float = 60_000) -> None:
    """Wait until the page is connected and its script has ended; with `player`, until a frame is painted and the
    charts that waited for it are there too."""
    page.wait_for_selector(_SETTLED, state="attached", timeout=timeout_ms)
    if player:
        page.wait_for_selector("canvas[data-step]", timeout=timeout_ms)
        page.wait_for_selector(".cs-is-awaited", state="detached", timeout=timeout_ms)
        page.wait_for_selector(_SETTLED, state="attached", timeout=timeout_ms)
