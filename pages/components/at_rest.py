"""Tells when nobody is editing a table any more, so that the page is drawn anew once, and not between two cells.

While a browser draws a page it is busy, and its table then loses what is typed: the field of one cell is closed and
that of the next opened in one go, which says what the first one said and takes no Enter. So the table itself asks for
no run (`on_change="ignore"`); what is mounted here does, a moment after the last edit. The run finds all of them.
"""

from __future__ import annotations

from streamlit.components.v2 import component

_NAME = "craftscope.at_rest"
_AFTER_MS = 400  # from cell to cell, of a quick hand
_JS = """
const timers = new WeakMap();
export default function ({ data, parentElement, setTriggerValue }) {
  const isOpen = () => document.querySelector("#portal .gdg-clip-region, #portal .gdg-style") !== null;
  const isOfTable = (target) => target.closest?.(`.st-key-${data.table}, #portal`);
  const wait = () => {
    clearTimeout(timers.get(parentElement));
    timers.set(parentElement, setTimeout(() => {
      if (isOpen()) return wait();
      timers.delete(parentElement);
      if (parentElement.isConnected) setTriggerValue("rested", true);
    }, data.ms));
  };
  const onKey = (event) => {
    const mayEdit = ["Enter", "Tab", "Delete", "Backspace"].includes(event.key) && isOfTable(event.target);
    if (mayEdit || timers.has(parentElement)) wait();
  };
  const onPress = () => { if (isOpen() || timers.has(parentElement)) wait(); };
  const onPaste = (event) => { if (isOfTable(document.activeElement ?? event.target)) wait(); };
  document.addEventListener("keydown", onKey, true);
  document.addEventListener("pointerdown", onPress, true);
  document.addEventListener("paste", onPaste, true);
  return () => {
    document.removeEventListener("keydown", onKey, true);
    document.removeEventListener("pointerdown", onPress, true);
    document.removeEventListener("paste", onPaste, true);
  };
}
"""


def run_when_at_rest(table: str) -> None:
    """A run of the page follows a moment after the last edit. table: the key of the container that holds the table."""
    listener = component(_NAME, js=_JS)
    listener(key=f"rest-{table}", data={"table": table, "ms": _AFTER_MS}, on_rested_change=_nothing, height=0)


def _nothing() -> None:
    """Streamlit reports a trigger only where a callback names it."""
