"""Keeps the step in the address bar, so that what a person sees can be sent to others.

Setting `st.query_params` would add an entry to the browser's history at each step, and Back would walk through the
episode instead of leaving it. This replaces the entry.
"""

from __future__ import annotations

from streamlit.components.v2 import component

_NAME = "craftscope.address"
_JS = """
export default function ({ data }) {
  const address = new URL(window.location.href);
  const shown = address.searchParams.get("id"); // may be a part of the id
  if (address.pathname.split("/").pop() !== data.page || (shown && !data.id.startsWith(shown))) return;
  if (address.searchParams.get("step") === String(data.step)) return;
  address.searchParams.set("id", shown || data.id);
  address.searchParams.set("step", String(data.step));
  window.history.replaceState(window.history.state, "", address);
}
"""


def keep_step_in_address(page: str, episode_id: str, step: int) -> None:
    """Write `step` into the address, if that still shows `page` (its URL path) with this episode."""
    address = component(_NAME, js=_JS)
    address(key=f"address-{page}", data={"page": page, "id": episode_id, "step": step}, height=0)
