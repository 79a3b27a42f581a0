"""The Lab in a real browser: an exploit is found and closed, edits stay, and URL and Back lead where they should."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from core.env.rules import ACHIEVEMENTS
from tests.support.browser.chromium import settle
from tests.support.browser.dashboard import Dashboard
from tests.support.browser.reward_table import choose, edit_cell, type_into_cell

OpenPage = Callable[..., Page]
WAIT_MS = 60_000
SWAPPED = re.compile("^Swapped: farmer farmed01")
CHANGED = "Changed: collect drink, weight per repeat: 0.06 → 0."


@pytest.fixture
def lab(open_page: OpenPage, pair_dashboard: Dashboard) -> Page:
    """The Lab over an honest and a farmed episode of one world."""
    page = open_page(width=1440)
    open_lab(page, pair_dashboard)
    return page


def open_lab(page: Page, dashboard: Dashboard, query: str = "") -> None:
    page.goto(f"{dashboard.url}/lab{query}")
    expect(page.get_by_text("The pair on seed 13")).to_be_visible(timeout=WAIT_MS)
    settle(page)


def drink_field(page: Page) -> Locator:
    """The weight of drinking, below the pair."""
    return page.get_by_role("spinbutton", name="collect drink, each time")


def pay_nothing_for_drinking(page: Page) -> None:
    drink_field(page).fill("0")
    drink_field(page).press("Enter")
    page.wait_for_url("**/lab?*rewards=*", timeout=WAIT_MS)
    expect(page.get_by_text(SWAPPED)).to_be_visible(timeout=WAIT_MS)
    settle(page)


def click_until_shown(point: Locator, shown: Locator) -> None:
    """Plotly loses a click on a point while it redraws, as it does after the click before."""
    for patience_ms in (5_000, 10_000, WAIT_MS):
        point.click(force=True)
        try:
            return expect(shown).to_be_visible(timeout=patience_ms)
        except AssertionError:
            if patience_ms == WAIT_MS:
                raise


def go_to(page: Page, name: str) -> None:
    """Use the menu."""
    page.get_by_role("link", name=name, exact=True).click(timeout=WAIT_MS)
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible(timeout=WAIT_MS)
    settle(page)


def expect_checked(page: Page, *names: str) -> None:
    for name in names:
        expect(page.get_by_role("radio", name=name, exact=True)).to_be_checked(timeout=WAIT_MS)


def test_an_empty_dashboard_offers_samples_and_its_lab_can_start_the_example(
    open_page: OpenPage, tmp_path: Path, browser: Browser
):
    with Dashboard(tmp_path / "data") as empty:
        page = open_page(width=1440)
        page.goto(empty.url)
        expect(page.get_by_text("Nothing is stored yet")).to_be_visible(timeout=WAIT_MS)
        expect(page.get_by_role("button", name="Play three sample episodes")).to_be_visible()
        page.get_by_role("link", name="Lab", exact=True).click()
        page.get_by_role("button", name="Play the example").click(timeout=WAIT_MS)
        expect(page.get_by_text("Playing the example: 0 of 4 episodes finished.")).to_be_visible(timeout=WAIT_MS)


def test_table_edits_rescore_at_once_and_quick_ones_are_all_kept(
    lab: Page, take_screenshot: Callable[[Page, str], Path]
):
    edit_cell(lab, "0", row=2)
    lab.keyboard.press("Enter")
    expect(lab.get_by_text(CHANGED)).to_be_visible()
    expect(lab.get_by_text(SWAPPED)).to_be_visible()
    expect(drink_field(lab)).to_have_value("0")
    settle(lab)
    take_screenshot(lab, "lab_light_1440")
    lab.set_viewport_size({"width": 1440, "height": 1600})
    edit_cell(lab, "1", row=0)
    table = lab.locator(".st-key-lab-panel canvas[data-testid='data-grid-canvas']").first
    table.evaluate("canvas => { canvas.dataset.isTheFirst = 'yes' }")
    place = table.bounding_box()
    for weight in range(2, 8):  # a cell each fifth of a second, from the top down
        lab.keyboard.press("Enter")
        lab.wait_for_timeout(140)
        type_into_cell(lab, str(weight))
    lab.keyboard.press("Enter")
    expect(lab.get_by_text("; and 3 more.")).to_be_visible()
    settle(lab)
    with lab.expect_download() as download:
        lab.get_by_role("button", name="Export").click()
    exported = json.loads(download.value.path().read_text("utf-8"))["step_rewards"]["achievement_count_weights"]
    typed = {name: float(at + 1) for at, name in enumerate(ACHIEVEMENTS[:7])}
    assert {name: exported[name] for name in typed} == typed
    assert lab.locator("canvas[data-is-the-first]").count() == 1, "The table was replaced."
    assert table.bounding_box() == place


def test_weight_fields_that_return_show_the_table_and_change_nothing(lab: Page):
    for tab in ("Pairs", "Episodes"):
        lab.get_by_role("tab", name=tab).click()
        settle(lab)
        lab.get_by_text("One episode", exact=True).click()
        expect(lab.get_by_text(re.compile("^Enter an episode id"))).to_be_visible(timeout=WAIT_MS)
        settle(lab)
        lab.get_by_text("Everything stored", exact=True).click()
        expect(drink_field(lab)).to_be_visible(timeout=WAIT_MS)
        settle(lab)
        expect(drink_field(lab)).to_have_value("0.06")
        expect(lab.get_by_role("spinbutton", name=re.compile(", unlock$")).first).to_have_value("1")
        drink_field(lab).focus()
        drink_field(lab).press("Tab")  # a field that is left reports its value
        lab.wait_for_timeout(500)
        settle(lab)
        expect(drink_field(lab)).to_have_value("0.06")
        expect(lab.get_by_text("Changed:")).to_have_count(0)


def test_save_and_import_report_errors_in_their_popovers(lab: Page):
    lab.get_by_role("button", name="Save…").click()
    popover = lab.get_by_test_id("stPopoverBody")
    popover.get_by_role("button", name="Save", exact=True).click()
    expect(popover.get_by_text(re.compile("^Not saved"))).to_be_visible(timeout=WAIT_MS)
    lab.keyboard.press("Escape")
    lab.get_by_role("button", name="Import…").click()
    popover.locator("input[type=file]").set_input_files(
        {"name": "weights.json", "mimeType": "application/json", "buffer": b'{"weigths": {}}'}
    )
    expect(popover.get_by_text(re.compile("^“weights.json” was not imported"))).to_be_visible(timeout=WAIT_MS)
    settle(lab)
    popover.get_by_label("or paste it").fill('{"strategy": "consistent"}')
    popover.get_by_role("button", name="Use pasted JSON").click()
    expect(lab.get_by_text("Imported.")).to_be_visible(timeout=WAIT_MS)
    expect(popover).to_be_hidden()


def test_links_to_frames_and_episodes_lead_back_to_the_same_view(lab: Page):
    pay_nothing_for_drinking(lab)
    lab.get_by_role("link", name="Decision 1, step 2 →").click(timeout=WAIT_MS)
    lab.wait_for_url("**/episode?id=farmed01&step=2*", timeout=WAIT_MS)
    settle(lab, player=True)
    expect(lab.locator("canvas[data-step]")).to_have_attribute("data-step", "2")
    lab.go_back()
    expect(lab.get_by_text(SWAPPED)).to_be_visible(timeout=WAIT_MS)
    settle(lab)
    lab.get_by_text("A selection", exact=True).click()
    lab.wait_for_url("**scope=A+selection*", timeout=WAIT_MS)
    lab.get_by_role("tab", name="Episodes").click()
    points = lab.locator(".st-key-chart-lab-scatter .scatterlayer .points path")
    expect(points).to_have_count(3, timeout=WAIT_MS)  # the two, and the ring around the chosen one
    settle(lab)
    for at, title in enumerate(("farmer farmed01", "scripted honest01")):  # the policies are in alphabetical order
        click_until_shown(points.nth(at), lab.get_by_text(re.compile(f"^{title} on seed 13, .*: return")))
        settle(lab)
    lab.get_by_role("link", name="Open it →").click(timeout=WAIT_MS)
    lab.wait_for_url("**/episode?id=honest01*", timeout=WAIT_MS)
    settle(lab, player=True)
    lab.go_back()
    lab.wait_for_url(re.compile(r"/lab\?(?=.*scope=A\+selection)(?=.*lab_results=Episodes)"), timeout=WAIT_MS)
    expect(lab.get_by_role("button", name="Clear filters")).to_be_visible(timeout=WAIT_MS)
    expect(lab.get_by_text("The chosen episode")).to_be_visible(timeout=WAIT_MS)


def test_edits_and_the_chosen_list_stay_when_the_lab_is_left_by_the_menu_or_by_back(lab: Page):
    pay_nothing_for_drinking(lab)
    fewer = re.compile("^Fewer achievements, higher return")
    no_pair = lab.get_by_text("Of 1 pair in the same world, none pay more for fewer achievements.")
    lab.get_by_text(fewer).click()
    expect(no_pair).to_be_visible(timeout=WAIT_MS)
    settle(lab)
    go_to(lab, "Traces")
    go_to(lab, "Lab")
    expect(no_pair).to_be_visible(timeout=WAIT_MS)
    expect(lab.get_by_role("radio", name=fewer)).to_be_checked()
    lab.wait_for_url("**/lab?rewards=*", timeout=WAIT_MS)
    assert "scope=" not in lab.url
    lab.get_by_role("tab", name="Advantages").click()
    expect(no_pair).to_have_count(0, timeout=WAIT_MS)
    settle(lab)
    lab.get_by_role("tab", name="Pairs").click()
    expect(lab.get_by_role("radio", name=fewer)).to_be_checked(timeout=WAIT_MS)
    expect_checked(lab, "Everything stored")
    settle(lab)
    lab.go_back()
    expect(lab.get_by_role("heading", name="Traces", exact=True)).to_be_visible(timeout=WAIT_MS)
    settle(lab)
    lab.go_back()  # to the first visit
    lab.wait_for_url("**/lab?rewards=*", timeout=WAIT_MS)
    expect(lab.get_by_text(CHANGED)).to_be_visible(timeout=WAIT_MS)
    expect_checked(lab, "Everything stored")


def test_view_and_scope_are_restored_by_the_menu_and_by_back(open_page: OpenPage, pair_dashboard: Dashboard):
    page = open_page(width=1440)
    page.goto(f"{pair_dashboard.url}/lab?view=&scope=&episode=")  # empty values mean the defaults
    expect(page.get_by_text("The pair on seed 13")).to_be_visible(timeout=WAIT_MS)
    settle(page)
    expect_checked(page, "What if", "Everything stored")
    page.get_by_role("tab", name="Episodes").click(timeout=WAIT_MS)
    page.wait_for_url("**lab_results=Episodes*", timeout=WAIT_MS)
    settle(page)
    page.get_by_text("A selection", exact=True).click()
    page.wait_for_url("**scope=A+selection*", timeout=WAIT_MS)
    settle(page)
    page.get_by_text("Audit", exact=True).click()
    page.wait_for_url(re.compile(r"/lab\?(?!.*lab_results)(?=.*view=Audit)(?=.*scope=A\+selection)"), timeout=WAIT_MS)
    settle(page)
    go_to(page, "Launch")
    for leave_and_return in (page.go_back, lambda: (page.go_forward(), go_to(page, "Lab"))):
        leave_and_return()
        page.wait_for_url(re.compile(r"/lab\?(?=.*view=Audit)(?=.*scope=A\+selection)"), timeout=WAIT_MS)
        settle(page)
        expect_checked(page, "Audit", "A selection")
        page.wait_for_timeout(500)  # a Forward while Back's page is still drawn ends on that one
        settle(page)


def test_comparison_and_thresholds_are_in_the_url_and_survive_a_reload(lab: Page):
    pay_nothing_for_drinking(lab)
    choose(lab, "Compare with", "The defaults")
    lab.wait_for_url(re.compile("rewards=.*against=defaults|against=defaults.*rewards="), timeout=WAIT_MS)
    lab.reload()
    expect(lab.get_by_text(SWAPPED)).to_be_visible(timeout=WAIT_MS)
    expect(drink_field(lab)).to_have_value("0", timeout=WAIT_MS)
    expect(lab.get_by_text("The two differ in: collect drink, weight per repeat")).to_be_visible(timeout=WAIT_MS)
    settle(lab)
    lab.get_by_text("Audit", exact=True).click()
    lab.wait_for_url("**view=Audit*", timeout=WAIT_MS)
    settle(lab)
    lab.get_by_text("Rules and thresholds").click(timeout=WAIT_MS)
    settle(lab)
    repeats = lab.get_by_role("spinbutton", name="Repeats", exact=True)
    repeats.fill("7", timeout=WAIT_MS)
    repeats.press("Enter")
    lab.wait_for_url("**loop_repeats=7*", timeout=WAIT_MS)
    lab.reload()
    expect(lab.get_by_text("Changed thresholds: 1 of 12")).to_be_visible(timeout=WAIT_MS)


def test_the_lab_fits_into_a_narrow_window(
    open_page: OpenPage, pair_dashboard: Dashboard, take_screenshot: Callable[[Page, str], Path]
):
    page = open_page(width=1024, height=1000, scheme="dark")
    open_lab(page, pair_dashboard)
    pay_nothing_for_drinking(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    take_screenshot(page, "lab_dark_1024")
