"""Keeps one entry per page in the browser's history, so that one press of Back leads to the previous page.

Streamlit adds an entry whenever the server changes the URL's parameters, in steps:

- If parameters of the old URL are bound to widgets, it first writes the new page's parameters behind the old page's
  path, and adds the right URL a moment later. The second entry replaces the first.
- If widgets of the new page remember an earlier visit, it first adds the page's bare URL, then one with parameters.
  Every change before the user touches the page belongs to the same visit and replaces the entry.
- If widgets disappear, so do their parameters. The Lab has one entry, whatever its view.
"""

from __future__ import annotations

from streamlit.components.v2 import component

_NAME = "craftscope.history"
_JS = """
const MOMENT_MS = 1500; // the two entries may be this far apart on a busy machine
const ONE_PLACE = ["lab"];
export default function () {
  if (window.craftscopeHistory) return; // survives page changes
  window.craftscopeHistory = true;
  const push = window.history.pushState.bind(window.history);
  let pushedAt = -Infinity;
  let isArriving = true;
  let left = null; // the URL before the last click or key: if that led to another page, this entry keeps it
  window.history.pushState = (state, title, url) => {
    const { pathname, href } = window.location;
    if (new URL(url ?? "", href).pathname === pathname) {
      const isOnePlace = ONE_PLACE.includes(pathname.split("/").pop());
      if (isArriving || isOnePlace) {
        if (!isArriving) left ??= href;
        window.history.replaceState(state, title, url);
      } else {
        pushedAt = performance.now();
        push(state, title, url);
      }
      return;
    }
    if (performance.now() - pushedAt < MOMENT_MS) {
      window.history.replaceState(state, title, url);
    } else {
      if (left) window.history.replaceState(window.history.state, "", left);
      push(state, title, url);
    }
    forget();
  };
  const forget = () => {
    pushedAt = -Infinity;
    left = null;
    isArriving = true;
  };
  const onTouch = () => {
    left = null;
    isArriving = false;
  };
  window.addEventListener("pointerdown", onTouch, true);
  window.addEventListener("keydown", onTouch, true);
  window.addEventListener("popstate", forget);
}
"""
_KEY = "history-entries"


def one_history_entry_per_page() -> None:
    component(_NAME, js=_JS)(key=_KEY, height=0)
