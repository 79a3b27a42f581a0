"""The Lab in a real browser: from an empty dashboard to an exploit that is found and closed, with the page alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from core.env.rules import ACHIEVEMENTS
from tests.support.browser.chromium import settle
from tests.support.browser.dashboard import Dashboard
from tests.support.browser.reward_table import choose, edit_cell, type_into_cell

OpenPage = Callable[..., Page]
WAIT_MS = 60_000
PLAY_MS = 400_000  # two players of 2,500 steps, on a machine that does other things too
ROW_PX = 35


@pytest.fixture
def empty(tmp_path: Path, browser: Browser) -> Iterator[Dashboard]:
    with Dashboard(tmp_path / "data") as dashboard:
        yield dashboard


def test_a_new_user_finds_that_drinking_can_be_farmed_and_closes_it(open_page: OpenPage, empty: Dashboard):
    """With the dashboard alone, and one number."""
    page = open_page(width=1440)
    page.goto(empty.url)
    page.get_by_role("link", name="Lab", exact=True).click()
    page.get_by_role("button", name="Play the example").click(timeout=WAIT_MS)
    # The episodes join by themselves when they are over.
    expect(page.get_by_text("4 episodes with")).to_be_visible(timeout=PLAY_MS)
    more_for_less = re.compile(r"In [12] of 2 same-world pairs, fewer achievements earn more")
    expect(page.get_by_text(more_for_less)).to_be_visible()
    expect(page.get_by_text(re.compile(r"^farmer \w{8} .* is ahead of scripted"))).to_be_visible()
    drink = page.get_by_role("spinbutton", name="collect drink, each time")
    expect(drink).to_have_value("0.06")
    drink.fill("0")
    drink.press("Enter")
    swapped = re.compile(r"^Swapped: farmer \w{8} .* was ahead of scripted .* Now it is behind")
    expect(page.get_by_text(swapped)).to_be_visible(timeout=WAIT_MS)
    expect(page.get_by_role("radio", name=re.compile(r"Swap their order \([12]\)"))).to_be_visible()


def test_a_cell_of_the_table_is_edited_and_every_episode_is_scored_at_once(
    open_page: OpenPage, pair_dashboard: Dashboard
):
    page = open_page(width=1440)
    page.goto(f"{pair_dashboard.url}/lab")
    expect(page.get_by_text("The pair on seed 13")).to_be_visible(timeout=WAIT_MS)
    settle(page)
    _type_into_the_table(page, row=2, text="0")
    expect(page.get_by_text("Changed: collect drink, weight per repeat: 0.06 → 0.")).to_be_visible()
    expect(page.get_by_text(re.compile("^Swapped: farmer farmed01"))).to_be_visible()
    expect(page.get_by_role("spinbutton", name="collect drink, each time")).to_have_value("0")


def test_cells_that_are_edited_quickly_are_all_kept(open_page: OpenPage, pair_dashboard: Dashboard):
    """A cell each fifth of a second: what is exported is what was typed, and the table stays in place."""
    page = open_page(width=1440, height=1600)
    page.goto(f"{pair_dashboard.url}/lab")
    expect(page.get_by_text("The pair on seed 13")).to_be_visible(timeout=WAIT_MS)
    settle(page)
    canvas = page.locator(".st-key-lab-panel canvas[data-testid='data-grid-canvas']").first
    _type_into_the_table(page, row=0, text="1.5")  # the browser fetches the field of a cell with the first one
    expect(page.get_by_text("Changed: collect coal, weight per repeat")).to_be_visible()
    settle(page)
    canvas.evaluate("canvas => { canvas.dataset.isTheFirst = 'yes' }")
    place = canvas.bounding_box()
    for cell in range(1, 7):
        type_into_cell(page, str(cell + 1))
        page.keyboard.press("Enter")
        page.wait_for_timeout(140)
    typed = {name: float(at + 1) for at, name in enumerate(ACHIEVEMENTS[:7])} | {ACHIEVEMENTS[0]: 1.5}
    expect(page.get_by_text("; and 3 more.")).to_be_visible()
    settle(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    exported = json.loads(download.value.path().read_text("utf-8"))["step_rewards"]["achievement_count_weights"]
    assert {name: exported[name] for name in typed} == typed
    assert page.locator("canvas[data-is-the-first]").count() == 1  # no other table was put in its place
    assert canvas.bounding_box() == place


@pytest.mark.parametrize("tab", ["Pairs", "Episodes"])
def test_rewards_that_nobody_typed_are_not_taken_over(open_page: OpenPage, pair_dashboard: Dashboard, tab: str):
    """The fields under a pair go away and come back: they say what the table says, and report nothing by themselves."""
    page = open_page(width=1440)
    page.goto(f"{pair_dashboard.url}/lab")
    drink = page.get_by_role("spinbutton", name="collect drink, each time")
    expect(drink).to_have_value("0.06", timeout=WAIT_MS)
    page.get_by_role("tab", name=tab).click()
    settle(page)
    if tab == "Pairs":
        page.reload()
        expect(drink).to_have_value("0.06", timeout=WAIT_MS)
        settle(page)
    page.get_by_text("One episode", exact=True).click()
    expect(page.get_by_text(re.compile("Give an episode’s id|Enter an episode id"))).to_be_visible(timeout=WAIT_MS)
    settle(page)
    page.get_by_text("Everything stored", exact=True).click()
    expect(drink).to_be_visible(timeout=WAIT_MS)
    settle(page)
    expect(drink).to_have_value("0.06")
    expect(page.get_by_role("spinbutton", name=re.compile(", unlock$")).first).to_have_value("1")
    drink.focus()
    drink.press("Tab")  # a field that is left reports what it holds
    settle(page)
    page.wait_for_timeout(1_000)
    settle(page)
    expect(drink).to_have_value("0.06")
    expect(page.get_by_text("Changed:")).to_have_count(0)


def test_a_name_that_is_taken_is_said_where_it_was_given(open_page: OpenPage, pair_dashboard: Dashboard):
    page = open_page(width=1440)
    page.goto(f"{pair_dashboard.url}/lab")
    page.get_by_role("button", name="Save…").click(timeout=WAIT_MS)
    popover = page.get_by_test_id("stPopoverBody")
    popover.get_by_role("button", name="Save", exact=True).click()
    expect(popover.get_by_text(re.compile("^Not saved"))).to_be_visible(timeout=WAIT_MS)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Import…").click()
    popover.locator("input[type=file]").set_input_files(
        {"name": "weights.json", "mimeType": "application/json", "buffer": b'{"weigths": {}}'}
    )
    expect(popover.get_by_text(re.compile("^“weights.json” was not imported"))).to_be_visible(timeout=WAIT_MS)
    settle(page)
    popover.get_by_label("or paste it").fill('{"strategy": "consistent"}')
    popover.get_by_role("button", name="Use pasted JSON").click()
    expect(page.get_by_text("Imported.")).to_be_visible(timeout=WAIT_MS)
    expect(popover).to_be_hidden()


def test_a_decision_that_changes_is_one_click_from_its_frame(open_page: OpenPage, pair_dashboard: Dashboard):
    page = open_page()
    page.goto(f"{pair_dashboard.url}/lab")
    _pay_nothing_for_drinking(page)
    page.get_by_role("link", name="Decision 1, step 2 →").click(timeout=WAIT_MS)
    page.wait_for_url("**/episode?id=farmed01&step=2*", timeout=WAIT_MS)
    settle(page, player=True)
    expect(page.locator("canvas[data-step]")).to_have_attribute("data-step", "2")
    page.go_back()
    expect(page.get_by_text(re.compile("^Swapped: farmer farmed01"))).to_be_visible(timeout=WAIT_MS)


def test_a_point_of_the_scatter_is_clicked_and_its_episode_is_taken_apart(
    open_page: OpenPage, pair_dashboard: Dashboard
):
    page = open_page(width=1440)
    page.goto(f"{pair_dashboard.url}/lab")
    page.get_by_role("tab", name="Episodes").click(timeout=WAIT_MS)
    points = page.locator(".st-key-chart-lab-scatter .scatterlayer .points path")
    expect(points).to_have_count(3, timeout=WAIT_MS)  # the two, and the ring around the chosen one
    settle(page)
    text = page.get_by_text(re.compile(r"^(farmer|scripted) \w{8} on seed 13, .*: return"))
    before = text.inner_text()
    for place in (0, 1):
        points.nth(place).click(force=True)
        settle(page)
        page.wait_for_timeout(500)
        if text.inner_text() != before:
            return
    pytest.fail("No click chose the other episode.")


def test_what_is_chosen_is_in_the_address(open_page: OpenPage, pair_dashboard: Dashboard):
    page = open_page()
    page.goto(f"{pair_dashboard.url}/lab")
    page.get_by_text("A selection", exact=True).click(timeout=WAIT_MS)
    page.wait_for_url("**/lab?scope=A+selection", timeout=WAIT_MS)
    page.reload()
    expect(page.get_by_role("button", name="Clear filters")).to_be_visible(timeout=WAIT_MS)
    page.goto(f"{pair_dashboard.url}/lab?episode=farmed01")
    expect(page.get_by_text("The chosen episode")).to_be_visible(timeout=WAIT_MS)
    expect(page.get_by_role("textbox", name="Episode", exact=True)).to_have_value("farmed01")


def test_one_press_of_back_leads_from_an_episode_to_the_view_that_it_was_opened_from(
    open_page: OpenPage, pair_dashboard: Dashboard
):
    page = open_page()
    page.goto(f"{pair_dashboard.url}/lab?scope=A+selection")
    page.get_by_role("tab", name="Episodes").click(timeout=WAIT_MS)
    page.get_by_role("link", name="Open it →").click(timeout=WAIT_MS)
    page.wait_for_url("**/episode?id=*", timeout=WAIT_MS)
    settle(page, player=True)
    page.go_back()
    page.wait_for_url(re.compile(r"/lab\?(?=.*scope=A\+selection)(?=.*lab_results=Episodes)"), timeout=WAIT_MS)
    expect(page.get_by_role("button", name="Clear filters")).to_be_visible(timeout=WAIT_MS)
    expect(page.get_by_text("The chosen episode")).to_be_visible(timeout=WAIT_MS)  # the tab is there again too


@pytest.mark.parametrize("other", ["Traces", "Launch"])
def test_one_press_of_back_leaves_the_lab_for_the_page_before(
    open_page: OpenPage, pair_dashboard: Dashboard, other: str
):
    """Also when the Lab was left and come back to by the menu; and the address holds what is tried."""
    page = open_page(width=1440)
    page.goto(f"{pair_dashboard.url}/lab")
    _pay_nothing_for_drinking(page)
    everything = page.get_by_role("radio", name="Everything stored")
    expect(everything).to_be_checked()
    _go_to(page, other)
    _go_to(page, "Lab")
    expect(page.get_by_text(re.compile("^Swapped: farmer farmed01"))).to_be_visible(timeout=WAIT_MS)
    page.wait_for_url("**/lab?rewards=*", timeout=WAIT_MS)
    settle(page)
    assert "scope=" not in page.url
    expect(everything).to_be_checked()
    page.go_back()
    expect(page.get_by_role("heading", name=other, exact=True)).to_be_visible(timeout=WAIT_MS)
    settle(page)
    page.go_back()  # to the first visit
    page.wait_for_url("**/lab?rewards=*", timeout=WAIT_MS)
    expect(page.get_by_text(re.compile("^Swapped: farmer farmed01"))).to_be_visible(timeout=WAIT_MS)
    settle(page)
    expect(everything).to_be_checked()


def test_the_view_and_the_scope_are_there_again_after_coming_back(open_page: OpenPage, pair_dashboard: Dashboard):
    """By the menu and by Back."""
    page = open_page(width=1440)
    page.goto(f"{pair_dashboard.url}/")
    settle(page)
    _go_to(page, "Lab")
    page.get_by_role("tab", name="Episodes").click(timeout=WAIT_MS)
    page.wait_for_url("**lab_results=Episodes*", timeout=WAIT_MS)
    settle(page)
    page.get_by_text("A selection", exact=True).click()
    page.wait_for_url("**scope=A+selection*", timeout=WAIT_MS)
    settle(page)
    page.get_by_text("Audit", exact=True).click()
    page.wait_for_url(re.compile(r"/lab\?(?!.*lab_results)(?=.*view=Audit)(?=.*scope=A\+selection)"), timeout=WAIT_MS)
    settle(page)
    shown = re.compile(r"/lab\?(?=.*view=Audit)(?=.*scope=A\+selection)")
    _go_to(page, "Launch")
    page.go_back()
    page.wait_for_url(shown, timeout=WAIT_MS)
    settle(page)
    _expect_marked(page, "Audit", "A selection")
    page.wait_for_timeout(500)  # a Forward while Back's page is still drawn ends on that one
    settle(page)
    page.go_forward()
    expect(page.get_by_role("heading", name="Launch", exact=True)).to_be_visible(timeout=WAIT_MS)
    settle(page)
    _go_to(page, "Lab")
    page.wait_for_url(shown, timeout=WAIT_MS)
    settle(page)
    _expect_marked(page, "Audit", "A selection")


@pytest.mark.parametrize("query", ["scope=", "view=&scope=", "scope=&episode="])
def test_a_scope_and_a_view_are_marked_where_the_address_says_none(
    open_page: OpenPage, pair_dashboard: Dashboard, query: str
):
    page = open_page(width=1440)
    page.goto(f"{pair_dashboard.url}/lab?{query}")
    expect(page.get_by_text("The pair on seed 13")).to_be_visible(timeout=WAIT_MS)
    settle(page)
    _expect_marked(page, "What if", "Everything stored")


def test_the_chosen_list_of_pairs_is_there_again_after_it_was_away(open_page: OpenPage, pair_dashboard: Dashboard):
    page = open_page(width=1440)
    page.goto(f"{pair_dashboard.url}/lab")
    _pay_nothing_for_drinking(page)
    swapped = page.get_by_role("radio", name=re.compile("^Swap their order"))
    against = page.get_by_role("radio", name=re.compile("^Fewer achievements, higher return"))
    none_pays_more = page.get_by_text("Of 1 pair in the same world, none pay more for fewer achievements.")
    page.get_by_text(re.compile("^Fewer achievements, higher return")).click()
    expect(none_pays_more).to_be_visible(timeout=WAIT_MS)
    settle(page)
    page.get_by_text(re.compile("^Swap their order")).click()
    expect(none_pays_more).to_have_count(0, timeout=WAIT_MS)
    settle(page)
    page.get_by_text(re.compile("^Fewer achievements, higher return")).click()
    expect(none_pays_more).to_be_visible(timeout=WAIT_MS)
    settle(page)
    _go_to(page, "Traces")
    _go_to(page, "Lab")
    expect(none_pays_more).to_be_visible(timeout=WAIT_MS)
    settle(page)
    expect(against).to_be_checked()
    expect(swapped).not_to_be_checked()
    page.get_by_role("tab", name="Advantages").click()
    expect(none_pays_more).to_have_count(0, timeout=WAIT_MS)
    settle(page)
    page.get_by_role("tab", name="Pairs").click()
    expect(none_pays_more).to_be_visible(timeout=WAIT_MS)
    settle(page)
    expect(against).to_be_checked()


def test_what_is_tried_is_in_the_address_and_outlasts_a_reload(open_page: OpenPage, pair_dashboard: Dashboard):
    page = open_page()
    page.goto(f"{pair_dashboard.url}/lab")
    drink = page.get_by_role("spinbutton", name="collect drink, each time")
    _pay_nothing_for_drinking(page)
    choose(page, "Compare with", "The defaults")
    page.wait_for_url("**against=defaults*", timeout=WAIT_MS)
    page.get_by_text("A selection", exact=True).click()
    page.wait_for_url("**scope=A+selection*", timeout=WAIT_MS)
    settle(page)
    page.wait_for_url(re.compile("rewards=.*against=defaults|against=defaults.*rewards="), timeout=WAIT_MS)
    page.reload()
    expect(page.get_by_text(re.compile("^Swapped: farmer farmed01"))).to_be_visible(timeout=WAIT_MS)
    expect(drink).to_have_value("0", timeout=WAIT_MS)
    expect(page.get_by_text("The two differ in: collect drink, weight per repeat")).to_be_visible(timeout=WAIT_MS)
    page.get_by_role("button", name="Clear filters").wait_for(timeout=WAIT_MS)
    settle(page)
    page.get_by_text("Audit", exact=True).click()
    page.wait_for_url("**view=Audit*", timeout=WAIT_MS)
    settle(page)
    page.get_by_text("Rules and thresholds").click(timeout=WAIT_MS)
    settle(page)
    repeats = page.get_by_role("spinbutton", name="Repeats", exact=True)
    repeats.fill("7", timeout=WAIT_MS)
    repeats.press("Enter")
    page.wait_for_url("**loop_repeats=7*", timeout=WAIT_MS)
    page.reload()
    expect(page.get_by_text("Changed thresholds: 1 of 12")).to_be_visible(timeout=WAIT_MS)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 1024)])
def test_pictures_of_the_lab_are_kept(
    open_page: OpenPage,
    pair_dashboard: Dashboard,
    take_screenshot: Callable[[Page, str], Path],
    scheme: str,
    width: int,
):
    page = open_page(width=width, height=1000, scheme=scheme)
    page.goto(f"{pair_dashboard.url}/lab")
    _pay_nothing_for_drinking(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    take_screenshot(page, f"lab_{scheme}_{width}")


def _pay_nothing_for_drinking(page: Page) -> None:
    expect(page.get_by_text("The pair on seed 13")).to_be_visible(timeout=WAIT_MS)
    settle(page)
    drink = page.get_by_role("spinbutton", name="collect drink, each time")
    drink.fill("0")
    drink.press("Enter")
    page.wait_for_url("**/lab?rewards=*", timeout=WAIT_MS)
    expect(page.get_by_text(re.compile("^Swapped: farmer farmed01"))).to_be_visible(timeout=WAIT_MS)
    settle(page)


def _go_to(page: Page, name: str) -> None:
    """By the menu."""
    page.get_by_role("link", name=name, exact=True).click(timeout=WAIT_MS)
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible(timeout=WAIT_MS)
    settle(page)


def _expect_marked(page: Page, *names: str) -> None:
    for name in names:
        expect(page.get_by_role("radio", name=name, exact=True)).to_be_checked(timeout=WAIT_MS)


def _type_into_the_table(page: Page, *, row: int, text: str) -> None:
    """Into the last column of the achievements' table."""
    edit_cell(page, text, row=row)
    page.keyboard.press("Enter")
    settle(page)
