"""A switch for a desktop notification when something ends, by the browser's own Notification interface.

The browser asks for permission when the switch is turned on. It is remembered for what it is about, in the browser's
tab, so it holds over reruns and page changes; the notification comes while the page is open, in front or behind others.
"""

from __future__ import annotations

from streamlit.components.v2 import component

_NAME = "craftscope.notification"
_HTML = """
<label class="cs-notify"><input type="checkbox"><span></span></label><span class="cs-notify-note" role="status"></span>
"""
_CSS = """
:host, .cs-notify, .cs-notify-note { font-family: var(--st-font); font-size: 0.875rem; color: var(--st-text-color); }
.cs-notify { display: inline-flex; align-items: center; gap: 0.4rem; cursor: pointer; white-space: nowrap; }
.cs-notify[hidden] { display: none; }
.cs-notify input { accent-color: var(--st-primary-color); width: 1rem; height: 1rem; margin: 0; }
.cs-notify-note { margin-left: 0.6rem; opacity: 0.7; }
"""
_JS = """
const DENIED = "The browser blocks notifications of this page. Allow them in its settings.";
export default function ({ data, parentElement }) {
  const box = parentElement.querySelector("input");
  const note = parentElement.querySelector(".cs-notify-note");
  const wanted = "craftscope-notify-" + data.about;
  parentElement.querySelector(".cs-notify span").textContent = data.label;
  const isWanted = () => sessionStorage.getItem(wanted) === "yes";
  const isAllowed = () => "Notification" in window && Notification.permission === "granted";
  box.checked = isWanted() && isAllowed();
  box.disabled = !("Notification" in window);
  box.onchange = async () => {
    note.textContent = "";
    if (!box.checked) return sessionStorage.removeItem(wanted);
    const answer = await Notification.requestPermission();
    box.checked = answer === "granted";
    if (box.checked) sessionStorage.setItem(wanted, "yes");
    else note.textContent = DENIED;
  };
  if (data.isOver && isWanted()) {
    sessionStorage.removeItem(wanted);
    if (isAllowed()) new Notification(data.title, { body: data.text, tag: wanted });
    box.checked = false;
  }
  parentElement.querySelector(".cs-notify").hidden = data.isOver;
}
"""


def notification_switch(about: str, *, is_over: bool, title: str, text: str) -> None:
    """about: an id. title, text: of the notification, shown once when `is_over` is drawn after the switch was on."""
    switch = component(_NAME, html=_HTML, css=_CSS, js=_JS)
    data = {"about": about, "isOver": is_over, "title": title, "text": text, "label": "Notify me when it ends"}
    switch(key=f"notify-{about}", data=data)
