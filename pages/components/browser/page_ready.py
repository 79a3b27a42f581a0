"""Tells when the browser shows a page, so that polling does not start before.

A polling fragment names its page in each request. While the browser still shows the previous page, which can take
seconds on a busy machine, it names that one: Streamlit then clears the new page, and the next poll ends in a white
window ("Bad delta path index"). This component belongs to the new page, so it reports only once the browser shows it.
"""

from __future__ import annotations

from streamlit.components.v2 import component

_NAME = "craftscope.page_ready"
_JS = """
const told = new WeakSet();
export default function ({ parentElement, setStateValue }) {
  if (told.has(parentElement)) return;
  const tell = () => {
    told.add(parentElement);
    setStateValue("ready", true);
  };
  const timer = setTimeout(tell, 0); // not during the mount
  return () => clearTimeout(timer);
}
"""


def page_is_ready(page: str) -> bool:
    """False in a page's first run; another run follows when the browser shows the page, and returns True."""
    listener = component(_NAME, js=_JS)
    # Streamlit reports a state only if it has a callback.
    return bool(listener(key=f"page-ready-{page}", on_ready_change=lambda: None, height=0).ready)
