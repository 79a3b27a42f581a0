"""Keeps a form in the address bar, so that it can be sent to others.

It replaces the entry of the browser's history: Back leaves the form, and does not walk through what was typed into it.
Setting `st.query_params` would add an entry at each change, and cannot be done at all while widgets of the page before
are still bound to parameters of the same names.
"""

from __future__ import annotations

from collections.abc import Mapping

from streamlit.components.v2 import component

_NAME = "craftscope.form_address"
_JS = """
export default function ({ data }) {
  const address = new URL(window.location.href);
  if (address.pathname.split("/").pop() !== data.page) return;
  const wanted = new URLSearchParams(data.fields).toString();
  if (address.searchParams.toString() === wanted) return;
  address.search = wanted;
  window.history.replaceState(window.history.state, "", address);
}
"""


def show_in_address(page: str, fields: Mapping[str, str]) -> None:
    """Make `fields` the query of the address, if that still shows `page` (its URL path)."""
    address = component(_NAME, js=_JS)
    address(key=f"form-address-{page}", data={"page": page, "fields": dict(fields)}, height=0)
