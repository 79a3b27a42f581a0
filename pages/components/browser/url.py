"""Keeps the URL in step with the view, so that it can be sent to others.

It replaces the current history entry, so Back leaves the page instead of undoing each step and edit. Setting
`st.query_params` would add an entry at each change, and fails while widgets of the previous page are still bound to
parameters of the same names.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from streamlit.components.v2 import component

_NAME = "craftscope.url"
_JS = """
export default function ({ data }) {
  const url = new URL(window.location.href);
  if (url.pathname.split("/").pop() !== data.page) return;
  const query = new URLSearchParams(data.is_whole ? "" : url.search);
  if (data.episode) {
    const shown = query.get("id"); // may be a part of the id
    if (shown && !data.episode.startsWith(shown)) return;
    query.set("id", shown || data.episode);
  }
  for (const [name, value] of Object.entries(data.fields)) {
    if (value === null) query.delete(name);
    else query.set(name, value);
  }
  if (url.searchParams.toString() === query.toString()) return;
  url.search = query.toString();
  window.history.replaceState(window.history.state, "", url);
}
"""


def write_step_to_url(page: str, episode_id: str, step: int, tab: str | None = None) -> None:
    """Write `step` into the URL, if it still shows `page` (its URL path) with this episode. tab: the open tab, which
    Streamlit reads from the URL but does not write."""
    fields = {"step": str(step)} | ({"tab": tab} if tab else {})
    _write(f"url-{page}", page, fields, episode=episode_id)


def write_form_to_url(page: str, fields: Mapping[str, str]) -> None:
    """Make `fields` the whole query of the URL, if it still shows `page`."""
    _write(f"url-form-{page}", page, fields, is_whole=True)


def write_to_url(page: str, what: str, fields: Mapping[str, str | None]) -> None:
    """Set `fields` in the URL's query and remove those that are None. what: a name for this group of fields.

    Written even if unchanged: Back within the page restores an older URL, but not the values of that time.
    """
    _write(f"url-{page}-{what}", page, fields, drawn=time.monotonic_ns())


def _write(
    key: str,
    page: str,
    fields: Mapping[str, str | None],
    *,
    is_whole: bool = False,
    episode: str | None = None,
    drawn: int = 0,
) -> None:
    """drawn: if it differs from the last run, the URL is written again."""
    data = {"page": page, "fields": dict(fields), "is_whole": is_whole, "episode": episode, "drawn": drawn}
    component(_NAME, js=_JS)(key=key, data=data, height=0)
