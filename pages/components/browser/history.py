"""One entry in the browser's history for each page, so that one press of Back leads to the page before.

Streamlit adds an entry of its own wherever the server changes the parameters of the address, and it does so in steps:

- Where parameters of the old address are bound to widgets, it writes the new page's parameters behind the old page's
  name first, and adds the true address a moment later. The second takes the place of the first.
- Where widgets of the new page still hold what was chosen at an earlier visit, it adds the page's bare address first,
  and then one with their parameters. Whatever the address becomes before anybody touches the page belongs to coming to
  it, and takes the place of what came before.
- Where widgets go away, so do their parameters. The Lab is one place, however it is looked at: it has one entry.
"""

from __future__ import annotations

from streamlit.components.v2 import component

_NAME = "craftscope.history"
_JS = """
const MOMENT_MS = 1500; // on a busy machine the two are this far apart
const ONE_PLACE = ["lab"];
export default function () {
  if (window.craftscopeHistory) return; // it outlasts the page
  window.craftscopeHistory = true;
  const push = window.history.pushState.bind(window.history);
  let pushedAt = -Infinity;
  let isArriving = true;
  let left = null; // the address before the last touch changed it: if that led to another page, it stays behind
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
  const touched = () => {
    left = null;
    isArriving = false;
  };
  window.addEventListener("pointerdown", touched, true);
  window.addEventListener("keydown", touched, true);
  window.addEventListener("popstate", forget);
}
"""
_KEY = "history-entries"


def one_entry_a_page() -> None:
    """Draw what sees to it; nothing is seen of it."""
    component(_NAME, js=_JS)(key=_KEY, height=0)
