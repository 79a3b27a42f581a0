"""Start the dashboard as a user would, and look at it with a real browser."""

from __future__ import annotations

from tests.browser.harness.chromium import find_chromium, open_chromium
from tests.browser.harness.dashboard import Dashboard
from tests.browser.harness.settled import settle

__all__ = ["Dashboard", "find_chromium", "open_chromium", "settle"]
