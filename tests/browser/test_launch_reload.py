"""The launch form in a real browser: a page that is loaded again shows the form that it showed before."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from core.rewards import checked_reward
from core.types import RewardConfig
from tests.support.browser.chromium import settle
from tests.support.browser.dashboard import Dashboard
from tests.support.browser.reward_table import choose

OpenPage = Callable[..., Page]
WAIT_MS = 60_000
DEFAULT = checked_reward(RewardConfig(strategy="per_achievement")).config_hash


def test_rewards_from_the_lab_and_a_policys_setting_outlast_a_reload(open_page: OpenPage, pair_dashboard: Dashboard):
    page = open_page(width=1440, height=1000)
    page.goto(f"{pair_dashboard.url}/lab")
    drink = page.get_by_role("spinbutton", name="collect drink, each time")
    expect(drink).to_have_value("0.06", timeout=WAIT_MS)
    settle(page)
    drink.fill("0")
    drink.press("Enter")
    expect(page.get_by_text("Changed: collect drink, weight per repeat: 0.06 → 0.")).to_be_visible(timeout=WAIT_MS)
    settle(page)
    page.get_by_role("button", name="Launch →").click()
    launched = page.locator(".cs-summary code")
    expect(launched).to_be_visible(timeout=WAIT_MS)
    settle(page)
    choose(page, "Policy", "Farmer")
    page.get_by_role("tab", name="Policy").click()
    settle(page)
    choose(page, "Farm", "stone")
    page.wait_for_url(re.compile(r"/launch\?.*farmer\.farm=stone.*rewards="), timeout=WAIT_MS)
    edited = launched.inner_text()
    assert edited != DEFAULT

    page.reload()
    expect(launched).to_have_text(edited, timeout=WAIT_MS)
    page.get_by_role("tab", name="Policy").click()
    expect(page.get_by_role("combobox", name=re.compile("Farm$"))).to_have_value("stone")
    page.wait_for_url(re.compile(r"/launch\?.*farmer\.farm=stone.*rewards="), timeout=WAIT_MS)

    page.go_back()
    expect(drink).to_be_visible(timeout=WAIT_MS)
