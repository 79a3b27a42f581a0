"""Tells when the browser has come to a page, so that nothing polls before.

A polling fragment names its page with each request. One that is sent while the browser still holds the page before,
which can take seconds on a busy machine, names that one: Streamlit then empties the page that was come to, and the
next poll ends in a white window ("Bad delta path index"). What is mounted here belongs to the new page, so it speaks
only once the browser holds it.
"""

from __future__ import annotations

from streamlit.components.v2 import component

_NAME = "craftscope.arrival"
_JS = """
const told = new WeakSet();
export default function ({ parentElement, setStateValue }) {
  if (told.has(parentElement)) return;
  const tell = () => {
    told.add(parentElement);
    setStateValue("arrived", true);
  };
  const timer = setTimeout(tell, 0); // not during the mount
  return () => clearTimeout(timer);
}
"""


def page_is_ready(page: str) -> bool:
    """False in the first run of a page; a further run follows as soon as the browser shows it, and gives True."""
    listener = component(_NAME, js=_JS)
    return bool(listener(key=f"arrival-{page}", on_arrived_change=_nothing, height=0).arrived)


def _nothing() -> None:
    """Streamlit reports a state only where a callback names it."""
