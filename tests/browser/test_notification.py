"""The switch for a desktop notification, in a real browser; the page's scripts see what the browser would show."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser.chromium import settle
from tests.support.browser.dashboard import Dashboard

OpenPage = Callable[..., Page]
WAIT_MS = 60_000

# Headless Chromium shows no notification, so what would be shown is kept.
SHOWN = """
window.shown = [];
window.Notification = class {
  static permission = "default";
  static async requestPermission() { return (window.Notification.permission = window.answer ?? "granted"); }
  constructor(title) { window.shown.push(title); }
};
"""


@pytest.fixture
def empty_dashboard(tmp_path: Path, browser: Browser) -> Iterator[Dashboard]:
    with Dashboard(tmp_path) as dashboard:
        yield dashboard


def test_the_end_of_a_launch_of_several_runs_is_notified_once(open_page: OpenPage, empty_dashboard: Dashboard):
    page = open_page(width=1440, height=1000, script=SHOWN)
    page.goto(f'{empty_dashboard.url}/launch?play=0-9&by=scripted&max_steps=2000&also_policies=["random"]')
    page.get_by_role("button", name="Launch 20 episodes").click(timeout=WAIT_MS)
    page.wait_for_url(re.compile(r"/run\?batch="), timeout=WAIT_MS)
    switch = page.get_by_label("Notify me when it ends")
    page.evaluate('window.answer = "denied"')
    switch.click()
    expect(page.get_by_text("The browser blocks notifications")).to_be_visible()
    expect(switch).not_to_be_checked()
    page.evaluate('window.answer = "granted"')
    switch.click()
    expect(page.get_by_text("2 runs, 20 episodes: 20 completed")).to_be_visible(timeout=WAIT_MS)
    expect(switch).not_to_be_visible()
    assert page.evaluate("window.shown") == ["Batch of 2 runs is over"]
    settle(page)
    page.get_by_role("link", name=re.compile("random")).click()
    expect(page.get_by_role("link", name="All runs of its batch")).to_be_visible(timeout=WAIT_MS)
    assert page.evaluate("window.shown") == ["Batch of 2 runs is over"]
