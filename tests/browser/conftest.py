"""Fixtures of the browser tests, which are skipped where no browser is installed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect

from tests.support import ROOT
from tests.support.browser.chromium import find_chromium, open_chromium
from tests.support.browser.dashboard import Dashboard
from tests.support.browser.episodes import record_episodes
from tests.support.lab_episodes import record_pair

SCREENSHOTS = ROOT / "artifacts" / "screenshots"
_PATIENCE_MS = 30_000  # a busy machine is slow, not wrong
_OWN_URLS = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")

OpenPage = Callable[..., Page]


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


class Windows:
    """Browser windows by colour scheme and pixel ratio.

    A window is used again by later tests: it has compiled Streamlit's scripts and loads a page in two thirds of the
    time of a new one.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: dict[tuple[str, float], BrowserContext] = {}
        self._free: dict[tuple[str, float], list[Page]] = defaultdict(list)

    def open(self, scheme: Literal["light", "dark"], ratio: float) -> Page:
        look = scheme, ratio
        if self._free[look]:
            return self._free[look].pop()
        if look not in self._contexts:
            self._contexts[look] = self._browser.new_context(color_scheme=scheme, device_scale_factor=ratio)
        return self._contexts[look].new_page()

    def open_new(self, scheme: Literal["light", "dark"], ratio: float) -> Page:
        """A window that has loaded nothing yet, and that no other test gets."""
        return self._browser.new_context(color_scheme=scheme, device_scale_factor=ratio).new_page()

    def free(self, page: Page, scheme: str, ratio: float) -> None:
        """Leave the dashboard, and let another test use the window."""
        page.goto("about:blank")
        page.mouse.move(0, 0)
        self._free[scheme, ratio].append(page)


@pytest.fixture(scope="session")
def windows(browser: Browser) -> Windows:
    return Windows(browser)


@pytest.fixture
def open_page(windows: Windows) -> Iterator[OpenPage]:
    """Opens pages in a window of a given size and scheme. script: JavaScript that runs before those of the page, in a
    window of its own.

    Afterwards the test fails if one of them called another host, or threw.
    """
    opened: list[tuple[Page, str, float, bool]] = []
    outside: list[str] = []
    thrown: list[str] = []

    def on_request(request: Request) -> None:
        if not request.url.startswith(_OWN_URLS):
            outside.append(request.url)

    def on_console(message: ConsoleMessage) -> None:
        if "BidiComponent Error" in message.text:
            thrown.append(message.text)

    def on_error(error: object) -> None:
        thrown.append(str(error))

    def new_page(
        *,
        width: int = 1280,
        height: int = 900,
        scheme: Literal["light", "dark"] = "light",
        ratio: float = 1.0,
        script: str = "",
    ) -> Page:
        page = windows.open_new(scheme, ratio) if script else windows.open(scheme, ratio)
        opened.append((page, scheme, ratio, bool(script)))
        page.set_viewport_size({"width": width, "height": height})
        if script:
            page.add_init_script(script)
        page.on("request", on_request)
        page.on("pageerror", on_error)
        page.on("console", on_console)
        return page

    yield new_page
    for page, scheme, ratio, has_script in opened:
        page.remove_listener("request", on_request)
        page.remove_listener("pageerror", on_error)
        page.remove_listener("console", on_console)
        if has_script:
            page.context.close()
        else:
            windows.free(page, scheme, ratio)
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
