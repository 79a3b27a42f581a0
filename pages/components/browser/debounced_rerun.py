"""Reruns the page once after a pause in editing a table, instead of after each cell.

A browser that redraws the page loses what is typed into its table: the editor of one cell closes while the next one
opens. So the table itself triggers no run (`on_change="ignore"`); this component does, a moment after the last edit,
and that run sees all edits.

A click on a button or link during the pause is held back until that run is over. Otherwise the button would act on the
table as it was before the edits.
"""

from __future__ import annotations

import streamlit as st
from streamlit.components.v2 import component

_NAME = "craftscope.debounced_rerun"
_AFTER_MS = 400  # a fast typist's move from cell to cell
_JS = """
const CLICKABLE = "button, a[href], label, [role=button], [role=tab], [role=option], [role=menuitem]";
const LOOK_MS = 40, MOST_MS = 10_000;
const states = new WeakMap();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const isIdle = () => document.querySelector("[data-testid=stApp]")?.dataset.testScriptState === "notRunning";

/** Waits for the run that was asked for at that time: it brings the time back (an earlier run that was still under way
 *  cannot), and is over a while after that. */
async function untilItIsOver(state, asked) {
  while ((state.answered < asked || !isIdle()) && Date.now() - asked < MOST_MS) await pause(LOOK_MS);
}

/** The element that was clicked, in the current page: it may have been redrawn since. */
function found(target, key) {
  if (target.isConnected || !key) return target;
  const there = [...document.querySelectorAll(`.${CSS.escape(key)} ${target.tagName}`)];
  return there.find((element) => element.textContent === target.textContent) ?? target;
}

export default function ({ data, parentElement, setStateValue }) {
  const state = states.get(parentElement) ?? { timer: 0, run: null, held: null, isPassing: false };
  states.set(parentElement, state);
  state.answered = data.asked;
  const isOpen = () => document.querySelector("#portal .gdg-clip-region, #portal .gdg-style") !== null;
  const isOfTable = (target) => target.closest?.(`.st-key-${data.table}, #portal`);
  const send = () => {
    clearTimeout(state.timer);
    state.timer = 0;
    if (!parentElement.isConnected) return;
    const asked = Date.now();
    setStateValue("asked", asked);
    const run = untilItIsOver(state, asked).then(() => { if (state.run === run) state.run = null; });
    state.run = run;
  };
  const wait = (ms = data.ms) => {
    clearTimeout(state.timer);
    state.timer = setTimeout(() => (isOpen() ? wait() : send()), ms);
  };
  const onKey = (event) => {
    const mayEdit = ["Enter", "Tab", "Delete", "Backspace"].includes(event.key) && isOfTable(event.target);
    if (mayEdit || state.timer) wait();
  };
  const onPress = (event) => {
    if (isOpen() || state.timer) wait(isOfTable(event.target) ? data.ms : 0);
  };
  const onPaste = (event) => { if (isOfTable(document.activeElement ?? event.target)) wait(); };
  const onClick = async (event) => {
    const target = event.target.closest?.(CLICKABLE);
    const opensElsewhere = event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0;
    if (!target || state.isPassing || opensElsewhere || isOfTable(target)) return;
    if (!(state.held || state.timer || state.run || isOpen())) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (state.held) return; // a second click of the same hand
    state.held = target;
    const key = [...(target.closest("[class*='st-key-']")?.classList ?? [])].find((name) => name.startsWith("st-key-"));
    const until = performance.now() + MOST_MS;
    while ((isOpen() || state.timer || state.run) && performance.now() < until) await (state.run ?? pause(LOOK_MS));
    state.held = null;
    state.isPassing = true;
    found(target, key).click();
    state.isPassing = false;
  };
  document.addEventListener("keydown", onKey, true);
  document.addEventListener("pointerdown", onPress, true);
  document.addEventListener("paste", onPaste, true);
  document.addEventListener("click", onClick, true);
  return () => {
    document.removeEventListener("keydown", onKey, true);
    document.removeEventListener("pointerdown", onPress, true);
    document.removeEventListener("paste", onPaste, true);
    document.removeEventListener("click", onClick, true);
  };
}
"""


def debounced_rerun(table: str) -> None:
    """Rerun the page a moment after the last edit. table: key of the container of the table."""
    listener = component(_NAME, js=_JS)
    key = f"rest-{table}"
    asked = st.session_state.get(key, {}).get("asked", 0)
    # Streamlit reports a value only if it has a callback.
    listener(key=key, data={"table": table, "ms": _AFTER_MS, "asked": asked}, on_asked_change=lambda: None, height=0)
