"""Keeps what a person sees in the address bar, so that it can be sent to others.

It replaces the entry of the browser's history: Back leaves the page, and does not walk through every step and edit.
Setting `st.query_params` would add an entry at each change, and cannot be done at all while widgets of the page before
are still bound to parameters of the same names.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from streamlit.components.v2 import component

_NAME = "craftscope.address"
_JS = """
export default function ({ data }) {
  const address = new URL(window.location.href);
  if (address.pathname.split("/").pop() !== data.page) return;
  const query = new URLSearchParams(data.is_whole ? "" : address.search);
  if (data.episode) {
    const shown = query.get("id"); // may be a part of the id
    if (shown && !data.episode.startsWith(shown)) return;
    query.set("id", shown || data.episode);
  }
  for (const [name, value] of Object.entries(data.fields)) {
    if (value === null) query.delete(name);
    else query.set(name, value);
  }
  if (address.searchParams.toString() === query.toString()) return;
  address.search = query.toString();
  window.history.replaceState(window.history.state, "", address);
}
"""


def keep_step_in_address(page: str, episode_id: str, step: int, tab: str | None = None) -> None:
    """Write `step` into the address, if that still shows `page` (its URL path) with this episode. tab: the one that is
    shown; Streamlit reads it from the address and does not write it there."""
    fields = {"step": str(step)} | ({"tab": tab} if tab else {})
    _show(f"address-{page}", page, fields, episode=episode_id)


def show_form_in_address(page: str, fields: Mapping[str, str]) -> None:
    """Make `fields` the whole query of the address, if that still shows `page`."""
    _show(f"form-address-{page}", page, fields, is_whole=True)


def keep_in_address(page: str, what: str, fields: Mapping[str, str | None]) -> None:
    """Write `fields` into the address beside what it says, and take out those that are None. what: names the place.

    Also where they are what they were: Back within the page brings an address of before, and not what was tried then.
    """
    _show(f"address-{page}-{what}", page, fields, drawn=time.monotonic_ns())


def _show(
    key: str,
    page: str,
    fields: Mapping[str, str | None],
    *,
    is_whole: bool = False,
    episode: str | None = None,
    drawn: int = 0,
) -> None:
    """drawn: where it is another than before, the address is looked at again."""
    address = component(_NAME, js=_JS)
    data = {"page": page, "fields": dict(fields), "is_whole": is_whole, "episode": episode, "drawn": drawn}
    address(key=key, data=data, height=0)
