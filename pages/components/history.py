"""One entry in the browser's history for each page, so that one press of Back leads to the page before.

Where parameters of the old address are bound to widgets, Streamlit writes the new page's parameters behind the old
page's name first, as an entry of its own, and adds the true one a moment later. Here the second takes the place of
the first.
"""

from __future__ import annotations

from streamlit.components.v2 import component

_NAME = "craftscope.history"
_JS = """
const MOMENT_MS = 1500; // on a busy machine the two are this far apart
export default function () {
  if (window.craftscopeHistory) return; // it outlasts the page
  window.craftscopeHistory = true;
  const push = window.history.pushState.bind(window.history);
  let pushedAt = -Infinity;
  window.history.pushState = (state, title, url) => {
    const isSamePage = new URL(url ?? "", window.location.href).pathname === window.location.pathname;
    const now = performance.now();
    if (!isSamePage && now - pushedAt < MOMENT_MS) window.history.replaceState(state, title, url);
    else push(state, title, url);
    pushedAt = isSamePage ? now : -Infinity;
  };
  window.addEventListener("popstate", () => { pushedAt = -Infinity; });
}
"""
_KEY = "history-entries"


def one_entry_a_page() -> None:
    """Draw what sees to it; nothing is seen of it."""
    component(_NAME, js=_JS)(key=_KEY, height=0)
