"""The ledger and the potential in a real browser: clicks seek to frames, charts can be saved, nothing is cut off."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from core.settings import Settings
from core.store import DecisionSummary, TraceStore
from tests.support.browser.chromium import settle
from tests.support.browser.dashboard import Dashboard
from tests.support.browser.episodes import LONG, TAMPERED, WRONG

OpenPage = Callable[..., Page]


@pytest.fixture
def decisions(episode_dashboard: Dashboard) -> tuple[DecisionSummary, ...]:
    with TraceStore.from_settings(Settings(episode_dashboard.data_dir, None, 1)) as store:
        return store.episodes.decisions(LONG)


@pytest.fixture
def opened(open_page: OpenPage, episode_dashboard: Dashboard) -> Callable[..., Page]:
    def open_tab(query: str, episode: str = LONG, width: int = 1440, scheme: str = "light") -> Page:
        page = open_page(width=width, height=1100, scheme=scheme)
        page.goto(f"{episode_dashboard.url}/episode?id={episode}&step=10&{query}")
        settle(page, player=True)
        return page

    return open_tab


def frame(page: Page) -> Locator:
    return page.locator("canvas.view")


def chart(page: Page, subplot: str = "xy") -> Locator:
    return page.locator(f"[class*=st-key-seek-decisions-] .nsewdrag[data-subplot={subplot}]").first


def test_a_click_on_a_heat_map_cell_goes_to_its_decision(opened: Callable[..., Page], decisions):
    page = opened("tab=Ledger&ledger=Heat+map")
    expect(chart(page)).to_be_visible()
    rows = page.evaluate("document.querySelector('.js-plotly-plot').layout.meta.decisions.xy")
    paid = page.evaluate("document.querySelector('.js-plotly-plot').data[0].z")
    row = next(at for at, line in enumerate(paid) if len([each for each in line if each is not None]) == 1)
    column = next(at for at, strength in enumerate(paid[row]) if strength is not None)
    box = chart(page).bounding_box()
    assert box is not None
    x = box["width"] * (column + 0.5) / len(rows[row])
    y = box["height"] * (row + 0.5) / len(rows)
    page.mouse.click(box["x"] + x, box["y"] + y)
    meant = decisions[rows[row][column]]
    expect(frame(page)).to_have_attribute("data-step", str(meant.step_end))
    expect(page.get_by_role("spinbutton", name="Decision")).to_have_value(str(meant.index))


def test_a_click_on_a_table_row_goes_there_and_marks_it(opened: Callable[..., Page], decisions):
    page = opened("tab=Ledger")
    expect(page.get_by_text("Components add up")).to_be_visible()
    row = page.locator("tr[data-decision]").nth(9)
    meant = decisions[int(row.get_attribute("data-decision") or -1)]
    row.click()
    expect(frame(page)).to_have_attribute("data-step", str(meant.step_end))
    expect(page.locator("tr[aria-current]")).to_have_attribute("data-decision", str(meant.index))
    page.keyboard.press("]")
    expect(page.locator("tr[aria-current]")).to_have_attribute("data-decision", str(meant.index + 1))


def test_a_changed_reward_is_reported_with_a_link_to_its_decision(opened: Callable[..., Page], decisions):
    page = opened("tab=Ledger", TAMPERED)
    expect(page.get_by_text("Components do not add up.")).to_be_visible()
    page.get_by_role("button", name=f"Go to decision {WRONG}").click()
    expect(frame(page)).to_have_attribute("data-step", str(decisions[WRONG].step_end))


def test_charts_are_saved_as_png_svg_and_csv_by_buttons_that_show_on_hover(opened: Callable[..., Page]):
    page = opened("tab=Reward")
    for tab, name in (
        ("Reward", "episode_cccccccc_returns"),
        ("Potential", "episode_cccccccc_potential_achievements"),
    ):
        page.get_by_role("tab", name=tab).click()
        settle(page)
        area = page.get_by_role("tabpanel", name=tab).locator("[class*=st-key-chart-]").first
        buttons = area.locator("[data-testid=stLayoutWrapper]:has(> [class*=st-key-files-])")
        expect(area.get_by_role("button", name="PNG")).to_have_count(1)
        expect(buttons).to_have_css("opacity", "0")
        area.hover()
        expect(buttons).to_have_css("opacity", "1")
        for kind, beginning in {"PNG": b"\x89PNG", "SVG": b"<svg", "CSV": b"\xef\xbb\xbf"}.items():
            with page.expect_download() as download:
                area.get_by_role("button", name=kind).click()
            assert download.value.suggested_filename == f"{name}.{kind.lower()}"
            assert Path(download.value.path()).read_bytes().startswith(beginning)


def test_all_tabs_fit_in_one_line(opened: Callable[..., Page]):
    page = opened("tab=Potential")
    tabs = page.get_by_role("tab")
    names = tabs.all_inner_texts()
    assert (names[:3], names[-1]) == (["Reward", "Ledger", "Tool call"], "Potential")
    for width in (1440, 1024):
        page.set_viewport_size({"width": width, "height": 1100})
        page.wait_for_timeout(300)  # the tabs follow a new width with a transition
        boxes = [box for box in (tab.bounding_box() for tab in tabs.all()) if box]
        assert len({round(box["y"]) for box in boxes}) == 1
        assert boxes[-1]["x"] + boxes[-1]["width"] <= page.evaluate("document.documentElement.clientWidth")


def test_every_ledger_view_is_drawn(opened: Callable[..., Page], take_screenshot: Callable[[Page, str], Path]):
    page = opened("tab=Ledger", scheme="dark")
    for view, drawn in {
        "Table": "tr[data-decision]",
        "Heat map": ".js-plotly-plot .main-svg",
        "Curves": ".js-plotly-plot .main-svg",
    }.items():
        page.get_by_text(view, exact=True).click()
        settle(page)
        expect(page.locator(drawn).first).to_be_visible()
        take_screenshot(page, f"ledger_{view.lower().replace(' ', '_')}_dark")


def test_no_table_column_is_half_hidden_at_any_scroll_position(opened: Callable[..., Page]):
    page = opened("tab=Ledger", width=1024)
    table = page.locator(".scroll").first
    expect(table).to_be_visible()
    for left in (0, 35, 70, 10_000):
        table.evaluate(
            "(node, left) => new Promise((done) => { node.scrollLeft = left; setTimeout(done, 200); })", left
        )
        assert (
            table.evaluate(
                """(node) => {
                const columns = [...node.querySelector(".names").children];
                const box = (cell) => cell.getBoundingClientRect();
                const covered = (side) => parseFloat(node.style.getPropertyValue(side));
                const start = box(columns[0]).right + covered("--before");
                const end = box(columns.at(-1)).left - covered("--after");
                const halves = [start, end].flatMap((edge) =>
                    columns.slice(1, -2).filter((cell) => box(cell).left < edge - 1 && box(cell).right > edge + 1));
                return halves.map((cell) => cell.textContent);
            }"""
            )
            == []
        )
