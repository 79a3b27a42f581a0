"""Escape leads back from the Present view."""

from __future__ import annotations

from streamlit.components.v2 import component

_NAME = "craftscope.way_back"
_JS = """
export default function ({ setTriggerValue }) {
  // On the window, after the page: where Escape closes something first, it is not for us.
  const onKey = (event) => {
    if (event.key === "Escape" && !event.defaultPrevented) setTriggerValue("left", true);
  };
  window.addEventListener("keydown", onKey);
  return () => window.removeEventListener("keydown", onKey);
}
"""


def escape_was_pressed() -> bool:
    """True in the page run after the key press."""
    listener = component(_NAME, js=_JS)
    return bool(listener(key="way-back", on_left_change=_nothing).left)


def _nothing() -> None:
    """Streamlit reports a trigger only if it has a callback."""
