"""Fixtures of the browser tests, which are skipped where no browser is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect

from tests.support import ROOT
from tests.support.browser.chromium import find_chromium, open_chromium
from tests.support.browser.dashboard import Dashboard
from tests.support.browser.episodes import record_episodes
from tests.support.lab_episodes import record_pair

SCREENSHOTS = ROOT / "artifacts" / "screenshots"
_PATIENCE_MS = 30_000  # a busy machine is slow, not wrong
_OWN_ADDRESSES = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")

Contexts = Callable[[str, float], BrowserContext]


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = find_chromium()
    if path is None:
        pytest.skip("Neither chromium nor google-chrome is on the PATH. On Debian: apt-get install chromium")
    expect.set_options(timeout=_PATIENCE_MS)
    with open_chromium(path) as chromium:
        yield chromium


@pytest.fixture(scope="session")
def contexts(browser: Browser) -> Iterator[Contexts]:
    """One browser profile for each look, shared by all tests: Streamlit's own files are fetched once a dashboard."""
    opened: dict[tuple[str, float], BrowserContext] = {}

    def context_for(scheme: str, ratio: float) -> BrowserContext:
        if (scheme, ratio) not in opened:
            opened[scheme, ratio] = browser.new_context(
                color_scheme="dark" if scheme == "dark" else "light", device_scale_factor=ratio
            )
        return opened[scheme, ratio]

    yield context_for
    for context in opened.values():
        context.close()


@pytest.fixture
def open_page(contexts: Contexts) -> Iterator[Callable[..., Page]]:
    """Opens pages in a window of a given size and scheme.

    Afterwards the test fails if one of them called another host, or threw.
    """
    pages: list[Page] = []
    outside: list[str] = []
    thrown: list[str] = []

    def watch(request: Request) -> None:
        if not request.url.startswith(_OWN_ADDRESSES):
            outside.append(request.url)

    def listen(message: ConsoleMessage) -> None:
        if "BidiComponent Error" in message.text:
            thrown.append(message.text)

    def new_page(*, width: int = 1280, height: int = 900, scheme: str = "light", ratio: float = 1.0) -> Page:
        page = contexts(scheme, ratio).new_page()
        pages.append(page)
        page.set_viewport_size({"width": width, "height": height})
        page.on("request", watch)
        page.on("pageerror", lambda error: thrown.append(str(error)))
        page.on("console", listen)
        return page

    yield new_page
    for page in pages:
        page.close()
    assert outside == []
    assert thrown == []


@pytest.fixture(scope="module")
def player_app(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Dashboard]:
    """A page with nothing but the player and what it reports."""
    with Dashboard(tmp_path_factory.mktemp("player"), app="tests/support/browser/player_app.py") as dashboard:
        yield dashboard


@pytest.fixture(scope="session")
def pair_dashboard(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Dashboard]:
    """A dashboard over an honest and a farmed episode of one world, which reward configurations are tried on."""
    folder = tmp_path_factory.mktemp("pair")
    record_pair(folder)
    with Dashboard(folder) as dashboard:
        yield dashboard


@pytest.fixture(scope="session")
def episode_dashboard(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Dashboard]:
    """A dashboard over the episodes of tests/support/browser/episodes.py."""
    folder = tmp_path_factory.mktemp("episodes")
    record_episodes(folder)
    with Dashboard(folder) as dashboard:
        yield dashboard


@pytest.fixture
def take_screenshot() -> Callable[[Page, str], Path]:
    """Keeps a picture of a page; CI uploads the folder."""

    def take(page: Page, name: str) -> Path:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        page.screenshot(path=path, animations="disabled")
        return path

    return take
