"""A language model in a real browser: connection test, launch with a key from secrets, live view, and stored calls."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FloatRect, Locator, Page, expect

from core.settings import Settings
from core.store import EpisodeFilter, EpisodeSummary, TraceStore
from core.types import EpisodeStatus
from tests.support.browser.chromium import settle
from tests.support.browser.dashboard import Dashboard
from tests.support.model.episodes import EPISODE, RUN, record, thinks
from tests.support.model.server import ModelServer, says

OpenPage = Callable[..., Page]
WAIT_MS = 60_000
KEY = "sk-9dZq83hT5vKp21xWmBJ7"
DECISIONS = 4


def slowly(handler: BaseHTTPRequestHandler) -> None:
    """As slow as a model, so that there is something to watch."""
    time.sleep(0.5)
    says(thinks("move_left", "do", reasoning="There is a tree to the left."), x_request_id="req_7")(handler)


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer([slowly]) as running:
        yield running


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory, browser: Browser, server: ModelServer) -> Iterator[Dashboard]:
    folder = tmp_path_factory.mktemp("model")
    secrets = folder / "secrets.toml"
    secrets.write_text(f'A_MODEL_KEY = "{KEY}"\n[keys]\nA_MODEL_KEY = "{server.host}"\n', encoding="utf-8")
    with Dashboard(folder, environment={"STREAMLIT_SECRETS_FILES": str(secrets)}) as running:
        yield running


def newest(dashboard: Dashboard) -> EpisodeSummary:
    with TraceStore.from_settings(Settings(dashboard.data_dir, None, 1)) as store:
        return store.episodes.page(EpisodeFilter(), limit=1).rows[0]


def box_of(locator: Locator) -> FloatRect:
    box = locator.bounding_box()
    assert box is not None
    return box


def pieces(page: Page) -> list[str]:
    """Pieces of the key that a page contains, its fields included."""
    values = page.evaluate("[...document.querySelectorAll('input, textarea')].map(field => field.value).join(' ')")
    text = f"{page.content()} {values}"
    return [KEY[at : at + 6] for at in range(len(KEY) - 5) if KEY[at : at + 6] in text]


def fill(page: Page, label: str, value: str) -> None:
    box = page.get_by_role("textbox", name=label, exact=True)
    box.fill(value)
    box.press("Tab")
    settle(page)
    expect(box).to_have_value(value)


def test_a_model_is_tested_launched_and_shown_while_and_after_it_plays(
    open_page: OpenPage, dashboard: Dashboard, server: ModelServer
):
    page = open_page(width=1440)
    page.goto(f"{dashboard.url}/launch?by=llm&play=42&max_decisions={DECISIONS}")
    page.get_by_role("tab", name="Policy").click(timeout=WAIT_MS)
    settle(page)
    fill(page, "Base URL", server.url)
    fill(page, "Model", "tiny-model")
    expect(page.get_by_role("combobox", name="API key")).to_have_value("A_MODEL_KEY")
    page.get_by_role("button", name="Test connection").click()
    expect(page.get_by_text("✓ works").first).to_be_visible()
    assert server.requests[0][1]["authorization"] == f"Bearer {KEY}"

    page.get_by_role("button", name="Launch 1 episode").click(timeout=WAIT_MS)
    page.wait_for_url("**/run?id=*", timeout=WAIT_MS)
    expect(page.get_by_text("There is a tree to the left.")).to_be_visible(timeout=WAIT_MS)
    card = page.locator("[class*='st-key-card-']")
    height = box_of(card)["height"]
    expect(page.get_by_text(f"Model calls: {DECISIONS} ")).to_be_visible(timeout=WAIT_MS)
    expect(card.locator(".cs-figures")).to_contain_text(f"Model calls{DECISIONS}Tokens{120 * DECISIONS}Cost, USDn/a")
    assert box_of(card)["height"] == height  # nothing moved while it was played
    expect(page.get_by_text("✓ completed").first).to_be_visible(timeout=WAIT_MS)
    assert {headers["authorization"] for _, headers, _ in server.requests} == {f"Bearer {KEY}"}

    page.get_by_role("link", name="Open →").click()
    page.wait_for_url("**/episode?id=*", timeout=WAIT_MS)
    settle(page, player=True)
    expect(page.get_by_text("Model: 4 calls")).to_be_visible()
    timeline = box_of(page.locator(".timeline"))
    assert timeline["y"] + timeline["height"] <= page.evaluate("window.innerHeight")
    page.get_by_role("tab", name="Model").click()
    expect(page.get_by_text("request id req_7")).to_be_visible()
    expect(page.get_by_text("the first request of this episode")).to_be_visible()
    for _ in range(2):
        settle(page)
        page.get_by_role("button", name="Next ›").click()
    expect(page.get_by_text("2 new since the previous call")).to_be_visible()
    assert pieces(page) == []


def test_the_lines_above_the_player_are_spaced(open_page: OpenPage, dashboard: Dashboard, server: ModelServer):
    page = open_page(width=1440)
    page.goto(f"{dashboard.url}/episode?id={newest(dashboard).id}")
    settle(page, player=True)
    for width in (1440, 1024):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(300)
        figures = box_of(page.locator(".st-key-episode-figures"))
        model = box_of(page.locator(".st-key-model-totals p"))
        run = box_of(page.locator(".st-key-episode-line p").first)
        player = box_of(page.locator(".st-key-episode-player"))
        middle_of_model, middle_of_run = model["y"] + model["height"] / 2, run["y"] + run["height"] / 2
        assert middle_of_model - (figures["y"] + figures["height"]) >= 14
        assert middle_of_run - middle_of_model >= 19
        assert player["y"] - middle_of_run >= 14


_LINES_OF_A_GRID = """code => {
  const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  const at = offset => {
    for (const node of nodes) {
      if (offset <= node.length) return [node, offset];
      offset -= node.length;
    }
  };
  const text = nodes.map(node => node.data).join("");
  let start = 0;
  return text.split("\\n").map(line => {
    const range = document.createRange();
    range.setStart(...at(start));
    range.setEnd(...at(start + line.length));
    start += line.length + 1;
    const tops = new Set([...range.getClientRects()].map(rect => Math.round(rect.top)));
    return [line, tops.size];
  }).filter(([line]) => line.startsWith("  "));
}"""


@pytest.mark.parametrize(("width", "tab"), [(1024, "Model"), (1024, "Tool call")])
def test_no_line_of_the_local_view_wraps(
    open_page: OpenPage, dashboard: Dashboard, server: ModelServer, width: int, tab: str
):
    page = open_page(width=width)
    page.goto(f"{dashboard.url}/episode?id={newest(dashboard).id}&tab={tab.replace(' ', '+')}")
    settle(page, player=True)
    if tab == "Tool call":
        page.get_by_text("Observation", exact=True).click()
    code = page.locator("[class*='-grid-of-'] code").last
    expect(code).to_contain_text("Local view")
    lines = code.evaluate(_LINES_OF_A_GRID)
    assert len(lines) == 7
    assert {rows for _, rows in lines} == {1}


def test_the_key_is_neither_stored_nor_logged(dashboard: Dashboard, server: ModelServer):
    with TraceStore.from_settings(Settings(dashboard.data_dir, None, 1)) as store:
        (row,) = store.episodes.page(EpisodeFilter(), limit=1).rows
        assert row.status is EpisodeStatus.COMPLETED and row.n_decisions == DECISIONS
        assert KEY not in str(store.episodes.load(row.id)) + json.dumps(store.runs.get(row.run_id).config)
    logs = [path for path in Path(dashboard.data_dir).rglob("*.log")]
    assert not any(KEY in path.read_text(errors="replace") for path in logs)


def test_no_page_contains_a_piece_of_the_key_after_failed_calls(open_page: OpenPage, dashboard: Dashboard):
    echoes = [
        says({"choices": [{"message": {"content": f"your key is {KEY}"}, "finish_reason": "stop"}]}, x_request_id=KEY),
        says({"error": {"message": f"Incorrect API key provided: {KEY}."}}, 401),
    ]
    with TraceStore.from_settings(Settings(dashboard.data_dir, None, 1)) as store:
        record(store, echoes, key=KEY, key_name="A_MODEL_KEY", on_bad_call="noop", http_retries=0)
    page = open_page(width=1440)
    for url in (
        f"episode?id={EPISODE}&step=1",
        f"present?id={EPISODE}",
        f"run?id={RUN}",
        "run",
        "traces",
        "launch?by=llm",
    ):
        page.goto(f"{dashboard.url}/{url}")
        settle(page, player=url.startswith(("episode", "present")))
        assert pieces(page) == [], url
        for tab in ("Tool call", "Model", "Timing", "State", "Map") if url.startswith("episode") else ():
            page.get_by_role("tab", name=tab).click()
            expect(page.get_by_role("tab", name=tab)).to_have_attribute("aria-selected", "true")
            settle(page)
            page.wait_for_timeout(200)
            settle(page)
            assert pieces(page) == [], tab
