"""Edits the table of the reward form in a real browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from tests.support.browser.chromium import settle

ROW_PX = 35


def click_cell(page: Page, *, row: int, panel: str = "lab-panel") -> None:
    """A cell in the last column of the achievements' table. panel: the key of the container that holds it."""
    canvas = page.locator(f".st-key-{panel} canvas[data-testid='data-grid-canvas']").first
    canvas.scroll_into_view_if_needed()
    page.wait_for_timeout(500)  # the grid computes its layout after it appears
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] - 40, box["y"] + ROW_PX * (row + 1) + ROW_PX / 2)
    page.wait_for_timeout(300)


def choose(page: Page, label: str, option: str) -> None:
    """Choose from a list. A rerun that is still under way closes an open list, so try again."""
    field = page.get_by_role("combobox", name=re.compile(f"{re.escape(label)}$"))
    for _ in range(5):
        settle(page)
        field.press("ArrowDown")
        try:
            page.get_by_role("option", name=option, exact=True).click(timeout=5_000)
        except PlaywrightTimeout:
            continue
        settle(page)
        return
    pytest.fail(f"{option!r} could not be chosen.")


def type_into_cell(page: Page, text: str, *, opens_within_ms: float = 30_000) -> None:
    """Type into the chosen cell, as fast as the grid opens it; it stays open."""
    field = page.locator("#portal input")
    if field.count():  # a second click opens a cell, with what it holds
        field.press("ControlOrMeta+a")
    page.keyboard.type(text[0])
    expect(field).to_be_visible(timeout=opens_within_ms)
    page.keyboard.type(text[1:], delay=50)
    expect(field).to_have_value(text)


def edit_cell(page: Page, text: str, *, row: int, panel: str = "lab-panel") -> None:
    """Click a cell and type into it. A list that closes may take the focus from the cell: then once more."""
    for _ in range(3):
        click_cell(page, row=row, panel=panel)
        try:
            return type_into_cell(page, text, opens_within_ms=5_000)
        except AssertionError:
            if page.locator("#portal input").count():
                raise
    pytest.fail(f"The cell in row {row} could not be opened.")
