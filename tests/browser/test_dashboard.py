"""The main job in a real browser: launch, watch, replay with keys, link to a step, stop, delete, restart."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from core.env.rules import ENGINE_VERSION
from core.settings import Settings
from core.store import EpisodeSummary, TraceStore
from core.types import EpisodeSpec, EpisodeStatus, Limits, PolicySpec
from tests.support.browser.chromium import settle
from tests.support.browser.dashboard import Dashboard
from tests.support.launches import record_queue, run_of

OpenPage = Callable[..., Page]
WAIT_MS = 60_000


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Dashboard]:
    with Dashboard(tmp_path_factory.mktemp("dashboard")) as running:
        yield running


@pytest.fixture
def stored(dashboard: Dashboard) -> Iterator[TraceStore]:
    with TraceStore.from_settings(Settings(dashboard.data_dir, None, 2)) as store:
        yield store


@pytest.fixture
def finished(stored: TraceStore) -> EpisodeSummary:
    """An episode of the scripted policy, recorded now."""
    return record_episode(stored)


def record_episode(store: TraceStore) -> EpisodeSummary:
    limits = Limits(max_steps=120, max_decisions=120)
    run = run_of(EpisodeSpec(42, PolicySpec("scripted"), 1, limits=limits, engine_version=ENGINE_VERSION))
    store.runs.create(run)
    record_queue(store)
    return store.runs.episodes(run.id).rows[0]


def launch(page: Page, dashboard: Dashboard, **query: object) -> str:
    """Launch through the page, as the link says; the new run's id."""
    page.goto(f"{dashboard.url}/launch?" + "&".join(f"{name}={value}" for name, value in query.items()))
    page.get_by_role("button", name="Launch ").click(timeout=WAIT_MS)  # worlds of the gallery may still be made
    page.wait_for_url("**/run?id=*", timeout=WAIT_MS)
    return page.url.split("id=")[1].split("&")[0]


def wait_for(condition: Callable[[], bool], sentence: str) -> None:
    deadline = time.monotonic() + WAIT_MS / 1000
    while not condition():
        assert time.monotonic() < deadline, sentence
        time.sleep(0.2)


def test_a_launched_episode_is_played_and_shown_as_finished(
    open_page: OpenPage, dashboard: Dashboard, stored: TraceStore
):
    page = open_page()
    run_id = launch(page, dashboard, seeds=42, policy="scripted", max_steps=120)
    expect(page.get_by_text("1 / 1")).to_be_visible(timeout=WAIT_MS)
    (row,) = stored.runs.episodes(run_id).rows
    assert (row.seed, row.policy, row.status) == (42, "scripted", EpisodeStatus.COMPLETED)
    assert row.n_steps > 0
    assert row.achievements


def test_an_episode_is_replayed_with_keys_and_plays_while_the_panels_follow(
    open_page: OpenPage, dashboard: Dashboard, stored: TraceStore, finished: EpisodeSummary
):
    page = open_page()
    page.goto(f"{dashboard.url}/episode?id={finished.id}")
    settle(page, player=True)
    canvas = page.locator("canvas[data-step]")
    for key, frame in [
        ("Home", 0),
        ("ArrowRight", 1),
        ("Shift+ArrowRight", 11),
        ("ArrowLeft", 10),
        ("End", finished.n_steps),
    ]:
        page.keyboard.press(key)
        expect(canvas).to_have_attribute("data-step", str(frame))
    page.keyboard.press("Home")
    page.keyboard.press("u")
    first_unlock = min(stored.episodes.load(finished.id).unlock_steps.values()) + 1
    expect(canvas).to_have_attribute("data-step", str(first_unlock))
    page.keyboard.press("Home")
    expect(canvas).to_have_attribute("data-step", "0")
    page.keyboard.press("Space")
    seen: list[int] = []
    for _ in range(30):
        seen.append(int(canvas.get_attribute("data-step") or 0))
        page.wait_for_timeout(125)
    assert seen == sorted(seen), "Playback went back."
    assert seen[-1] > seen[len(seen) // 2] > seen[0], "Playback stopped."


def test_the_launch_form_is_in_the_url_and_back_leaves_it(open_page: OpenPage, dashboard: Dashboard):
    page = open_page()
    page.goto(f"{dashboard.url}/traces?policy=scripted&seeds=42")  # filters of these names must not reach the form
    filters = page.get_by_role("button", name="Clear filters")
    expect(filters).to_be_visible(timeout=WAIT_MS)
    settle(page)
    page.get_by_role("link", name="Launch", exact=True).click()
    seeds = page.get_by_role("textbox", name="Seeds to play")
    for typed in ("5", "6"):
        seeds.fill(typed)
        seeds.press("Enter")
        page.wait_for_url(f"**/launch?play={typed}&by=scripted*", timeout=WAIT_MS)
        settle(page)
    page.go_back()
    expect(filters).to_be_visible(timeout=WAIT_MS)
    settle(page)
    page.go_forward()
    expect(seeds).to_have_value("6", timeout=WAIT_MS)


def test_the_launch_button_is_visible_without_scrolling(open_page: OpenPage, dashboard: Dashboard):
    page = open_page(width=1024, height=768)
    page.goto(f"{dashboard.url}/launch?seeds=abc")
    expect(page.get_by_text("is not a seed or range").first).to_be_visible(timeout=WAIT_MS)
    button = page.get_by_role("button", name="Launch", exact=True)
    expect(button).to_be_in_viewport(ratio=1)
    page.set_viewport_size({"width": 1024, "height": 1000})
    expect(button).to_be_in_viewport(ratio=1)


def test_a_deep_link_opens_at_its_step_and_shows_what_the_decision_earned(
    open_page: OpenPage, dashboard: Dashboard, stored: TraceStore, finished: EpisodeSummary
):
    paid = next(d for d in stored.episodes.load(finished.id).decisions if d.reward.total)
    step = paid.steps[-1].index + 1
    page = open_page(height=1400)
    page.goto(f"{dashboard.url}/episode?id={finished.id}&step={step}&tab=reward")
    settle(page, player=True)
    expect(page.locator("canvas[data-step]")).to_have_attribute("data-step", str(step))
    expect(page.get_by_text(f"Decision {paid.index} earned").first).to_be_visible(timeout=WAIT_MS)


def test_a_running_episode_is_stopped(open_page: OpenPage, dashboard: Dashboard, stored: TraceStore):
    page = open_page()
    run_id = launch(page, dashboard, seeds="3", policy="scripted", max_steps=10000, max_decisions=10000)
    wait_for(lambda: stored.runs.episodes(run_id).rows[0].n_steps > 0, "The episode never made a step.")
    page.get_by_role("button", name="Stop all").click()
    wait_for(lambda: stored.runs.episodes(run_id).rows[0].status.is_over, "The episode was never stopped.")
    (row,) = stored.runs.episodes(run_id).rows
    assert row.status is EpisodeStatus.ABORTED
    assert row.n_steps > 0
    expect(page.get_by_text("aborted").first).to_be_visible(timeout=WAIT_MS)


def test_a_restarted_dashboard_shows_everything_stored(
    open_page: OpenPage, dashboard: Dashboard, stored: TraceStore, finished: EpisodeSummary
):
    before = stored.episodes.totals()
    dashboard.stop()
    dashboard.start()
    page = open_page()
    page.goto(f"{dashboard.url}/episode?id={finished.id}")  # a new server's very first request
    settle(page, player=True)
    expect(page.get_by_role("link", name="Runs", exact=True)).to_be_visible()
    page.goto(dashboard.url)
    settle(page)
    expect(page.get_by_test_id("stMetric").filter(has_text="Episodes")).to_contain_text(str(before.episodes))


def test_every_page_is_drawn_in_a_narrow_dark_window(
    open_page: OpenPage, dashboard: Dashboard, finished: EpisodeSummary, take_screenshot: Callable[[Page, str], Path]
):
    urls = {
        "traces": "/",
        "launch": "/launch",
        "run": f"/run?id={finished.run_id}",
        "episode": f"/episode?id={finished.id}&step=30",
        "present": f"/present?id={finished.id}&step=30",
    }
    page = open_page(width=1024, height=1000, scheme="dark")
    for name, url in urls.items():
        page.goto(dashboard.url + url)
        if name == "launch":
            expect(page.get_by_role("button", name="Launch ")).to_be_visible(timeout=WAIT_MS)
            expect(page.get_by_test_id("stImage").first).to_be_visible(timeout=WAIT_MS)
        else:
            settle(page, player=name in ("episode", "present"))
        expect(page.get_by_test_id("stSkeleton")).to_have_count(0, timeout=WAIT_MS)
        expect(page.get_by_test_id("stException")).to_have_count(0)
        assert take_screenshot(page, f"{name}_dark_1024").stat().st_size > 10_000


def test_episodes_are_deleted_after_a_question(
    open_page: OpenPage,
    dashboard: Dashboard,
    stored: TraceStore,
    finished: EpisodeSummary,
    take_screenshot: Callable[[Page, str], Path],
):
    before = stored.episodes.totals().episodes
    page = open_page(width=1440)
    tick_the_newest(page, dashboard)
    take_screenshot(page, "traces_light_1440")
    page.get_by_role("button", name="Delete 1").click()
    expect(page.get_by_text("This cannot be undone.")).to_be_visible()
    assert stored.episodes.totals().episodes == before
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    wait_for(lambda: stored.episodes.totals().episodes == before - 1, "The episode was not deleted.")
    assert finished.id not in [entry.id for entry in stored.episodes.page().rows]


def test_a_download_names_episodes_deleted_since_they_were_chosen(
    open_page: OpenPage, dashboard: Dashboard, stored: TraceStore, finished: EpisodeSummary
):
    page = open_page(width=1440)
    tick_the_newest(page, dashboard)
    download = page.get_by_role("button", name="Download JSON")
    expect(download).to_be_visible(timeout=WAIT_MS)
    stored.episodes.delete([finished.id])
    download.click()
    expect(page.get_by_text("Not in the download, because deleted")).to_be_visible(timeout=WAIT_MS)


def tick_the_newest(page: Page, dashboard: Dashboard) -> None:
    page.goto(dashboard.url)
    settle(page)
    table = page.get_by_test_id("stDataFrame")
    expect(table).to_be_visible(timeout=WAIT_MS)
    page.wait_for_timeout(500)  # the grid computes its layout after it appears
    table.click(position={"x": 20, "y": 55})
