"""The replay player in a real browser: keys, timeline, reports to Python, and drawing."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tests.support.browser.chromium import settle
from tests.support.browser.dashboard import Dashboard
from tests.support.browser.player_app import HOSTILE, walk

OpenPage = Callable[..., Page]
SaveScreenshot = Callable[[Page, str], Path]


@pytest.fixture
def show(player_app: Dashboard, open_page: OpenPage) -> Callable[..., Page]:
    """Opens the player at a frame: `show(step=40, width=600)`; `window` holds what `open_page` takes."""

    def show_player(*, window: dict[str, Any] | None = None, **query: object) -> Page:
        page = open_page(**(window or {}))
        page.goto(player_app.url + "/?" + "&".join(f"{name}={value}" for name, value in query.items()))
        settle(page, player=True)
        return page

    return show_player


def expect_frame(page: Page, frame: int) -> None:
    expect(page.locator("canvas.view")).to_have_attribute("data-step", str(frame))


def expect_panel(page: Page, frame: int) -> None:
    expect(page.get_by_text(f"panel shows {frame}", exact=True)).to_be_visible()


def box(locator: Locator) -> dict[str, float]:
    found = locator.bounding_box()
    assert found is not None
    return {name: found[name] for name in ("x", "y", "width", "height")}


@pytest.mark.parametrize(("step", "shown"), [(-3, 0), (40, 40), (999_999, 300)])
def test_a_link_opens_at_its_step_or_the_nearest(show: Callable[..., Page], step: int, shown: int):
    page = show(step=step)
    expect_frame(page, shown)
    expect_panel(page, shown)


# Pressed at frame 10. Decisions have 1, 2, 3, 1, 2, 3, ... steps and the fourth has none, so that they stand on the
# frames 1, 2-3, 4-6, (none), 7-8, 9-11, 12, ...; `[` and `]` lead to the last frame of a decision.
MOVES = (
    (["ArrowRight"], 11),
    (["ArrowLeft"], 9),
    (["Shift+ArrowRight"], 20),
    (["Shift+ArrowLeft"], 0),
    (["Home"], 0),
    (["End"], 300),
    (["End", "ArrowRight"], 300),
    (["]"], 12),
    (["["], 8),
    (["[", "["], 6),
    (["[", "[", "]"], 8),
    (["Home", "]", "["], 0),
    (["u"], 36),
    (["u", "u"], 118),
    (["u", "u", "Shift+U"], 36),
    (["Shift+U"], 10),
)


def test_keys_move_the_frame_unless_typed_into_a_field(show: Callable[..., Page]):
    page = show(step=10)
    note = page.get_by_placeholder("note")
    note.click()
    page.keyboard.type("u 1]")
    page.keyboard.press("ArrowLeft")
    expect(note).to_have_value("u 1]")
    expect_frame(page, 10)
    note.blur()
    for keys, frame in MOVES:
        for key in ("Home", "Shift+ArrowRight", *keys):
            page.keyboard.press(key)
        expect_frame(page, frame)
        expect_panel(page, frame)


def test_space_plays_and_pauses_also_after_a_click_and_the_panel_follows(show: Callable[..., Page]):
    page = show(step=0)
    root = page.locator(".player")
    page.locator("[data-act=play]").click()
    expect(root).to_contain_class("playing")
    page.keyboard.press("Space")
    expect(root).not_to_contain_class("playing")
    page.keyboard.press("Space")
    expect(page.get_by_text("panel shows 0", exact=True)).not_to_be_visible()
    expect(root).to_contain_class("playing")


def test_playing_stops_at_the_end_and_the_panel_shows_the_last_frame(show: Callable[..., Page]):
    page = show(step=280)
    page.keyboard.press("5")
    page.keyboard.press("Space")
    expect_frame(page, 300)
    expect(page.locator(".player")).not_to_contain_class("playing")
    expect_panel(page, 300)


def test_a_loop_restarts(show: Callable[..., Page]):
    page = show(step=295)
    page.keyboard.press("l")
    page.keyboard.press("4")
    page.keyboard.press("Space")
    page.wait_for_function(
        "() => Number(document.querySelector('[data-testid=stBidiComponentIsolated]')"
        ".shadowRoot.querySelector('canvas').dataset.step) < 200"
    )
    expect(page.locator(".player")).to_contain_class("playing")


def test_python_can_ask_for_a_frame_repeatedly_and_a_hidden_player_returns_to_its_frame(
    show: Callable[..., Page],
):
    page = show(step=10)
    page.get_by_role("button", name="Go to 20").click()
    expect_frame(page, 20)
    expect_panel(page, 20)
    page.keyboard.press("End")
    expect_panel(page, 300)
    page.get_by_role("button", name="Go to 20").click()
    expect_frame(page, 20)
    expect_panel(page, 20)
    settle(page)
    page.keyboard.press("Shift+ArrowRight")
    expect_panel(page, 30)
    page.get_by_text("Show", exact=True).click()
    expect(page.locator("canvas.view")).to_have_count(0)
    page.get_by_text("Show", exact=True).click()
    expect_frame(page, 30)
    expect_panel(page, 30)
    page.keyboard.press("ArrowRight")
    expect_frame(page, 31)


def test_the_timeline_seeks_on_click_and_drag_and_tells_the_step(show: Callable[..., Page]):
    page = show(step=0, width=700)
    area = box(page.locator(".timeline"))
    left, usable, y = area["x"] + 10, area["width"] - 20, area["y"] + 30
    page.mouse.move(left + usable * 0.5, y)
    expect(page.locator(".tip")).to_contain_text("step 150")
    expect_frame(page, 0)
    page.mouse.down()
    expect_frame(page, 150)
    page.mouse.move(left + usable * 0.75, y)
    expect_frame(page, 225)
    page.mouse.up()
    page.mouse.move(left, y)
    expect_frame(page, 225)
    expect_panel(page, 225)


def test_a_click_on_a_chart_of_the_steps_seeks_and_a_drag_does_not(show: Callable[..., Page]):
    page = show(step=10, width=600, chart=1, window={"height": 1300})
    plot = page.locator("[class*=st-key-seek-steps-] .nsewdrag")
    expect(plot).to_be_visible()
    area = box(plot)
    middle, y = area["x"] + area["width"] / 2, area["y"] + area["height"] / 2
    page.mouse.click(middle, y)
    expect_frame(page, 150)
    expect_panel(page, 150)
    page.mouse.move(area["x"] + 20, y)
    page.mouse.down()
    page.mouse.move(middle + 100, y)
    page.mouse.up()
    page.keyboard.press("ArrowRight")
    expect_frame(page, 151)


def test_the_overlay_shows_unlocks_rewards_and_keys(show: Callable[..., Page]):
    page = show(step=35)
    toast = page.locator(".toast")
    expect(toast).not_to_contain_class("shown")
    page.keyboard.press("ArrowRight")
    expect(toast).to_contain_class("shown")
    expect(toast).to_have_text("collect sapling")
    expect(page.locator(".hud-env")).to_have_text("this step: env +1.00")
    expect(page.locator(".hud-reward")).to_have_text(re.compile(r"decision \d+: shaped \+\d\.\d\d"))
    page.keyboard.press("ArrowRight")
    expect(toast).not_to_contain_class("shown")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    expect(page.get_by_text("1, 5, 10, 30, 60 frames a second")).to_be_visible()
    expect(page.get_by_text("leave this view")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()


def test_text_from_a_trace_is_not_read_as_html(show: Callable[..., Page]):
    page = show(step=10, width=1200, hostile=1, window={"width": 1300})
    expect(page.locator(".caption-reasoning")).to_have_text(HOSTILE)
    assert page.locator(".player img").count() == 0
    assert page.evaluate("window.hacked") is None


def test_nothing_moves_while_steps_are_shown(show: Callable[..., Page]):
    page = show(step=0, width=560)
    deck = page.locator(".deck")
    before = box(deck)
    for key in ("ArrowRight", "u", "u", "End", "["):
        page.keyboard.press(key)
        assert box(deck) == before


@pytest.mark.parametrize(("width", "ratio"), [(480, 2.0), (700, 1.5), (1240, 1.0)])
def test_a_texture_pixel_is_a_whole_number_of_screen_pixels(show: Callable[..., Page], width: int, ratio: float):
    page = show(step=0, width=width, window={"width": 1400, "ratio": ratio})
    canvas = page.locator("canvas.view")
    backing = canvas.evaluate("canvas => canvas.width")
    assert backing % 144 == 0
    assert box(canvas)["width"] * ratio == backing
    assert box(canvas)["width"] <= width
    assert page.locator(".player").evaluate("player => player.scrollWidth <= player.clientWidth")


def picture(page: Page) -> np.ndarray:
    """The local view as drawn, one pixel a texture pixel: uint8 (112, 144, 3)."""
    url = page.locator("canvas.view").evaluate("canvas => canvas.toDataURL('image/png')")
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(url.split(",", 1)[1]))).convert("RGB"))
    scale = pixels.shape[1] // 144
    return pixels[scale // 2 :: scale, scale // 2 :: scale][:112]


def test_the_timeline_below_a_narrow_view_fits_in_the_window(show: Callable[..., Page]):
    page = show(view="3x15", width=560)
    frame, timeline = box(page.locator("canvas.view")), box(page.locator(".timeline"))
    assert frame["width"] < frame["height"] <= 560
    assert timeline["y"] + timeline["height"] <= page.evaluate("window.innerHeight")


def test_the_view_is_crafters_own_picture(show: Callable[..., Page]):
    # Awake and asleep, by day and at dusk; later, Crafter adds noise, which a scene does not hold.
    frames = [0, 30, 95, 118, 140]
    expected = {index: env.render(144)[:112] for index, (env, _) in enumerate(walk(max(frames))) if index in frames}
    page = show(step=0)
    for frame in frames:
        page.keyboard.press("Home")
        for key, count in (("Shift+ArrowRight", frame // 10), ("ArrowRight", frame % 10)):
            for _ in range(count):
                page.keyboard.press(key)
        expect_frame(page, frame)
        np.testing.assert_array_equal(picture(page), expected[frame], err_msg=f"frame {frame}")


def test_presenting_fills_the_window_with_frame_and_captions(show: Callable[..., Page]):
    page = show(step=36, present=1, window={"width": 1280, "height": 800})
    expect_frame(page, 36)
    canvas = box(page.locator("canvas.view"))
    caption = box(page.locator(".caption"))
    assert canvas["height"] > 0.8 * 800
    assert canvas["y"] + canvas["height"] <= caption["y"] + 1
    assert caption["y"] + caption["height"] <= 800
    assert canvas["y"] >= 8
    expect(page.locator(".caption-action")).to_have_text("do")
    expect(page.locator(".caption-step")).to_have_text("step 36 / 300")
    expect(page.locator(".caption-unlock")).to_have_text("collect sapling")
    expect(page.locator(".caption-reasoning")).to_contain_text("The nearest tree")
    corner = page.evaluate("document.elementFromPoint(5, 5).closest('.stBidiComponent') !== null")
    assert corner, "something of the page lies over the player"


def test_leaving_the_presentation_opens_the_same_frame(show: Callable[..., Page]):
    page = show(step=36, present=1)
    expect(page.get_by_text("leaves this view")).to_be_visible()
    expect(page.get_by_text("leaves this view")).to_be_hidden(timeout=10_000)
    page.keyboard.press("?")
    expect(page.get_by_text("leave this view")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    page.mouse.move(300, 300)
    page.locator("a.exit").click()
    page.wait_for_url("**/?step=37")
    settle(page, player=True)
    expect_frame(page, 37)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_follows_the_theme(show: Callable[..., Page], take_screenshot: SaveScreenshot, scheme: str):
    page = show(step=170, width=700, window={"width": 760, "height": 1100, "scheme": scheme})
    path = take_screenshot(page, f"player_{scheme}")
    area = box(page.locator(".timeline"))
    pixel = Image.open(path).convert("L").getpixel((int(area["x"]) + 4, int(area["y"]) + 40))
    assert isinstance(pixel, int)
    assert (pixel > 200) == (scheme == "light")
