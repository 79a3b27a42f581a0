"""Buttons that are pressed right after an edit of the reward table, or with a cell still open, use that edit."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from core.settings import Settings
from core.store import TraceStore
from tests.support.browser.chromium import settle
from tests.support.browser.dashboard import Dashboard
from tests.support.browser.reward_table import click_cell, edit_cell, type_into_cell

OpenPage = Callable[..., Page]
WAIT_MS = 60_000
COAL, DRINK = 0, 2  # rows of the achievements' table
SLOW_NETWORK = """
const send = WebSocket.prototype.send;
WebSocket.prototype.send = function (data) { setTimeout(() => send.call(this, data), 700); };
"""


def warm_up(page: Page, panel: str) -> None:
    """Edit a cell slowly: the browser fetches the field of a cell when it opens the first one."""
    click_cell(page, row=1, panel=panel)
    page.wait_for_timeout(500)
    page.keyboard.press("Enter")
    expect(page.locator("#portal input")).to_be_visible(timeout=WAIT_MS)
    page.keyboard.type("1.5")
    page.wait_for_timeout(200)
    page.keyboard.press("Enter")
    settle(page)


def exported(page: Page) -> dict[str, Any]:
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    return json.loads(download.value.path().read_text("utf-8"))["step_rewards"]["achievement_count_weights"]


def open_lab(open_page: OpenPage, pair_dashboard: Dashboard, script: str = "") -> Page:
    """The Lab, with one cell edited."""
    page = open_page(width=1440, height=1600, script=script)
    page.goto(f"{pair_dashboard.url}/lab")
    expect(page.get_by_text("The pair on seed 13")).to_be_visible(timeout=WAIT_MS)
    settle(page)
    warm_up(page, "lab-panel")
    expect(page.get_by_text("Changed: collect diamond, weight per repeat")).to_be_visible(timeout=WAIT_MS)
    settle(page)
    return page


@pytest.fixture
def lab(open_page: OpenPage, pair_dashboard: Dashboard) -> Page:
    return open_lab(open_page, pair_dashboard)


@pytest.mark.parametrize("closing", [True, False], ids=["after Enter", "with the cell still open"])
def test_the_export_holds_the_last_edit(lab: Page, closing: bool):
    edit_cell(lab, "7", row=DRINK)
    if closing:
        lab.keyboard.press("Enter")
    assert exported(lab)["collect_drink"] == 7.0


def test_on_a_slow_network_the_export_holds_an_edit_made_while_the_one_before_was_sent(
    open_page: OpenPage, pair_dashboard: Dashboard
):
    page = open_lab(open_page, pair_dashboard, SLOW_NETWORK)
    edit_cell(page, "7", row=COAL)
    page.keyboard.press("Enter")  # which goes to the cell below
    page.wait_for_timeout(500)  # the first edit is on its way, its run has not begun
    type_into_cell(page, "8")
    page.keyboard.press("Enter")
    weights = exported(page)
    assert (weights["collect_coal"], weights["collect_diamond"]) == (7.0, 8.0)


@pytest.mark.parametrize("gap_ms", [0, 380])  # before and after the browser reports the edit
def test_a_configuration_is_saved_with_the_last_edit(lab: Page, pair_dashboard: Dashboard, gap_ms: int):
    popover = lab.get_by_test_id("stPopoverBody")
    name = f"after {gap_ms} ms"
    lab.get_by_role("button", name="Save…").click()
    popover.get_by_label("Name").fill(name)
    popover.get_by_label("Name").press("Tab")
    settle(lab)
    lab.keyboard.press("Escape")
    expect(popover).to_be_hidden()
    lab.get_by_text("Reward configuration", exact=True).first.click()  # the first click after it closes it for good
    edit_cell(lab, "7", row=COAL)
    lab.keyboard.press("Enter")
    lab.wait_for_timeout(gap_ms)
    lab.get_by_role("button", name="Save…").click()
    popover.get_by_role("button", name="Save", exact=True).click()
    expect(lab.get_by_text(f"Saved as “{name}”.")).to_be_visible(timeout=WAIT_MS)
    expect(popover).to_be_hidden()
    with TraceStore.from_settings(Settings(pair_dashboard.data_dir, None, 2)) as store:
        (saved,) = [entry for entry in store.rewards.saved().rows if entry.name == name]
    weights = saved.config.achievement_count_weights
    assert 7.0 in weights.values(), weights
    settle(lab)
    assert exported(lab) == weights


def test_an_edit_is_kept_when_the_lab_is_left_at_once(lab: Page):
    edit_cell(lab, "6", row=COAL)
    lab.keyboard.press("Enter")
    lab.get_by_role("link", name="Traces", exact=True).click()
    expect(lab.get_by_role("heading", name="Traces")).to_be_visible(timeout=WAIT_MS)
    settle(lab)
    lab.get_by_role("link", name="Lab", exact=True).click()
    changed = lab.get_by_text(re.compile("^Changed: collect coal, weight per repeat: 0.12 → 6"))
    expect(changed).to_be_visible(timeout=WAIT_MS)


@pytest.mark.parametrize("gap_ms", [0, 200])
def test_a_launch_right_after_an_edit_starts_one_run_with_the_edit(
    open_page: OpenPage, pair_dashboard: Dashboard, gap_ms: int
):
    with TraceStore.from_settings(Settings(pair_dashboard.data_dir, None, 2)) as store:
        before = {run.id for run in store.runs.newest().rows}
        page = open_page(width=1440, height=1600)
        page.goto(f"{pair_dashboard.url}/launch?play=3&max_steps=5")
        launch = page.get_by_role("button", name=re.compile("^Launch 1 episode"))
        expect(launch).to_be_visible(timeout=WAIT_MS)
        settle(page)
        page.get_by_role("tab", name="Reward").click()
        settle(page)
        warm_up(page, "launch_tables")
        page.wait_for_timeout(500)
        settle(page)
        edit_cell(page, "7", row=COAL, panel="launch_tables")
        page.keyboard.press("Enter")
        page.wait_for_timeout(gap_ms)
        launch.click()
        page.wait_for_url("**/run?id=*", timeout=WAIT_MS)
        (run,) = [run for run in store.runs.newest().rows if run.id not in before]
        (row,) = store.runs.episodes(run.id).rows
    assert row.spec.reward.achievement_count_weights["collect_coal"] == 7.0
