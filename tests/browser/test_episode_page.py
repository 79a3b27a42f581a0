"""The episode page in a real browser: what a window shows first and without scrolling, and what clicks and keys do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser.chromium import settle
from tests.support.browser.dashboard import Dashboard
from tests.support.browser.episodes import EPISODE


@pytest.fixture
def url(episode_dashboard: Dashboard) -> str:
    """The URL of a recorded episode's page."""
    return f"{episode_dashboard.url}/episode?id={EPISODE}&step=20"


@pytest.fixture
def page(open_page: Callable[..., Page], url: str) -> Page:
    page = open_page(width=1440)
    page.goto(url)
    settle(page, player=True)
    return page


_FIRST_CHART = """
new MutationObserver((_, observer) => {
  if (!document.querySelector(".js-plotly-plot")) return;
  observer.disconnect();
  const roots = [...document.querySelectorAll("[data-testid=stBidiComponentIsolated]")].map((host) => host.shadowRoot);
  const isThere = roots.some((root) => root?.querySelector("canvas[data-step]"));
  document.documentElement.dataset.frameWasThere = isThere;
}).observe(document, { subtree: true, childList: true });
"""


_MOST_TABS = """
new MutationObserver(() => {
  const { dataset } = document.documentElement;
  const count = document.querySelectorAll("[data-testid=stTabs]").length;
  dataset.mostTabs = String(Math.max(Number(dataset.mostTabs ?? 0), count));
}).observe(document, { subtree: true, childList: true });
"""


def test_in_a_new_window_the_frame_comes_before_the_charts_and_nothing_is_drawn_twice(
    open_page: Callable[..., Page], url: str
):
    page = open_page(width=1440, script=_FIRST_CHART + _MOST_TABS)
    page.goto(url)
    settle(page, player=True)
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    expect(page.locator("html")).to_have_attribute("data-frame-was-there", "true")
    expect(page.locator("html")).to_have_attribute("data-most-tabs", "1")


# Presses "Next" as soon as the button exists, and delays the player's pictures until the URL shows that the press was
# answered.
_EARLY_PRESS = """
const press = setInterval(() => {
  const button = document.querySelector(".st-key-decision-forward button:enabled");
  if (!button) return;
  clearInterval(press);
  button.click();
}, 1);
const decode = HTMLImageElement.prototype.decode;
HTMLImageElement.prototype.decode = async function () {
  while (new URLSearchParams(location.search).get("step") === "20") await new Promise((go) => setTimeout(go, 10));
  return decode.call(this);
};
"""


def test_a_press_before_the_first_frame_moves_frame_panels_and_url(open_page: Callable[..., Page], url: str):
    page = open_page(width=1440, script=_EARLY_PRESS)
    page.goto(url, wait_until="commit")
    settle(page, player=True)
    canvas = page.locator("canvas.view")
    expect(canvas).not_to_have_attribute("data-step", "20")
    page.wait_for_url(f"**step={canvas.get_attribute('data-step')}*")
    expect(page.get_by_role("spinbutton", name="Decision")).to_have_value("5")
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()


def test_the_open_tab_is_in_the_url(page: Page):
    for name, query in (("Ledger", "tab=Ledger"), ("Tool call", "tab=Tool+call")):
        page.get_by_role("tab", name=name).click()
        page.wait_for_url(f"**{query}*")
        settle(page)
    page.reload()
    settle(page, player=True)
    expect(page.get_by_role("tab", name="Tool call")).to_have_attribute("aria-selected", "true")


def test_frame_timeline_and_vitals_fit_in_the_window_and_do_not_move(page: Page):
    expect(page.get_by_text("Ended: the step limit was reached")).to_be_visible()
    expect(page.locator(".vitals")).to_be_hidden()  # in a window of this height they would be cut
    before = page.locator("canvas.view").bounding_box()
    page.get_by_role("button", name="Check replay").click()
    expect(page.get_by_text("Replay exact: all 60 steps match")).to_be_visible()
    assert page.locator("canvas.view").bounding_box() == before
    for width, height in ((1440, 900), (1024, 768)):
        page.set_viewport_size({"width": width, "height": height})
        page.reload()
        settle(page, player=True)
        timeline = page.locator(".timeline").bounding_box()
        assert timeline is not None
        assert timeline["y"] + timeline["height"] <= height
    page.set_viewport_size({"width": 1440, "height": 1000})
    vitals = page.locator(".vitals").bounding_box()
    assert vitals is not None
    assert vitals["y"] + vitals["height"] <= 1000


def test_an_unknown_decision_is_reported_until_another_is_shown(page: Page):
    box = page.get_by_role("spinbutton", name="Decision")
    before = box.input_value()
    box.fill("999")
    box.press("Enter")
    expect(page.get_by_text("No decision 999 (0 to ")).to_be_visible()
    expect(box).to_have_value(before)
    settle(page)
    page.get_by_role("button", name="Next ›").click()
    expect(page.get_by_text("No decision 999")).to_have_count(0)
    expect(box).to_have_value(str(int(before) + 1))


def test_keys_work_right_after_a_click_or_the_choice_of_an_unlock(page: Page):
    canvas = page.locator("canvas.view")
    page.mouse.click(5, 400)
    page.keyboard.press("ArrowRight")
    expect(canvas).to_have_attribute("data-step", "21")
    ring = page.evaluate(
        "() => { const style = getComputedStyle(document.activeElement); return style.boxShadow + style.outlineStyle }"
    )
    assert ring == "nonenone", "A click draws a ring around the page."
    page.get_by_role("combobox", name="Go to an unlock").click()
    page.get_by_role("option").first.click()
    expect(canvas).not_to_have_attribute("data-step", "21")
    page.wait_for_timeout(1_000)  # the frame must stay, so there is nothing to wait for
    step = int(canvas.get_attribute("data-step") or 0)
    page.keyboard.press("ArrowRight")
    expect(canvas).to_have_attribute("data-step", str(step + 1))


def test_an_episode_leads_to_its_run_and_to_all_runs_and_their_cards_lead_back(page: Page):
    page.get_by_role("link", name="Run: A run").click()
    page.wait_for_url("**/run?id=*")
    settle(page)
    page.get_by_role("button", name="All runs").click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    settle(page)
    page.locator("[class*=st-key-run-line-]").filter(
        has_text="A run"
    ).click()  # in its middle: the whole card is the link
    page.wait_for_url("**/run?id=*")
    expect(page.get_by_role("heading", name="A run")).to_be_visible()
    settle(page)
    page.get_by_role("link", name="These episodes in Traces").click()
    expect(page.get_by_role("button", name="Show all runs")).to_be_visible()
