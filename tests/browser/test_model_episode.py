"""A language model in a real browser: tested, launched with a key from Streamlit's secrets, watched, and read."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from core.settings import Settings
from core.store import EpisodeFilter, TraceStore
from core.types import EpisodeStatus
from tests.browser.harness import Dashboard, settle
from tests.pages.model_episodes import thinks
from tests.policies.llm.server import ModelServer, says

OpenPage = Callable[..., Page]
WAIT_MS = 60_000
KEY = "sk-test-9f8e7d6c5b4a3210"
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
def dashboard(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Dashboard]:
    folder = tmp_path_factory.mktemp("model")
    secrets = folder / "secrets.toml"
    secrets.write_text(f'A_MODEL_KEY = "{KEY}"\n', encoding="utf-8")
    with Dashboard(folder, environment={"STREAMLIT_SECRETS_FILES": str(secrets)}) as running:
        yield running


def fill(page: Page, label: str, value: str) -> None:
    box = page.get_by_role("textbox", name=label, exact=True)
    box.fill(value)
    box.press("Tab")
    settle(page)


def test_a_model_is_tested_launched_watched_and_read(open_page: OpenPage, dashboard: Dashboard, server: ModelServer):
    page = open_page(width=1440)
    page.goto(f"{dashboard.url}/launch?by=llm&play=42&max_decisions={DECISIONS}")
    page.get_by_role("tab", name="Policy").click(timeout=WAIT_MS)
    fill(page, "Base URL", server.url)
    fill(page, "Model", "tiny-model")
    fill(page, "Variable of the key", "A_MODEL_KEY")
    expect(page.get_by_text("✓ set here").first).to_be_visible()
    page.get_by_role("button", name="Test connection").click()
    expect(page.get_by_text("✓ works").first).to_be_visible()
    assert server.requests[0][1]["authorization"] == f"Bearer {KEY}"

    page.get_by_role("button", name="Launch 1 episode").click(timeout=WAIT_MS)
    page.wait_for_url("**/run?id=*", timeout=WAIT_MS)
    expect(page.get_by_text("There is a tree to the left.")).to_be_visible(timeout=WAIT_MS)
    expect(page.get_by_text(f"Model calls so far: {DECISIONS} ")).to_be_visible(timeout=WAIT_MS)
    expect(page.get_by_text("✓ completed").first).to_be_visible(timeout=WAIT_MS)
    assert {headers["authorization"] for _, headers, _ in server.requests} == {f"Bearer {KEY}"}

    page.get_by_role("link", name="Open →").click()
    page.wait_for_url("**/episode?id=*", timeout=WAIT_MS)
    settle(page, player=True)
    expect(page.get_by_text("Model: 4 calls")).to_be_visible()
    timeline = page.locator(".timeline").bounding_box()
    assert timeline is not None and timeline["y"] + timeline["height"] <= page.evaluate("window.innerHeight")
    page.get_by_role("tab", name="Model").click()
    expect(page.get_by_text("request id req_7")).to_be_visible()
    expect(page.get_by_text("the first question of this episode")).to_be_visible()
    page.get_by_role("button", name="Next ›").click()
    page.get_by_role("button", name="Next ›").click()
    expect(page.get_by_text("3 of them new since the call before")).to_be_visible()
    assert KEY not in page.content()


def test_the_key_is_nowhere_in_what_is_stored(dashboard: Dashboard, server: ModelServer):
    with TraceStore.from_settings(Settings(dashboard.data_dir, None, 1)) as store:
        (row,) = store.episodes(EpisodeFilter(), limit=1).rows
        assert row.status is EpisodeStatus.COMPLETED and row.n_decisions == DECISIONS
        assert KEY not in str(store.load_episode(row.id)) + json.dumps(store.run(row.run_id).config)
    logs = [path for path in Path(dashboard.data_dir).rglob("*.log")]
    assert not any(KEY in path.read_text(errors="replace") for path in logs)
