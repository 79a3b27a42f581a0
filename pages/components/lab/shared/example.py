"""Example episodes: the same worlds, played honestly and farmed."""

from __future__ import annotations

from typing import Final

import streamlit as st

from core import jobs
from core.errors import CraftscopeError
from core.store import RunSummary
from core.types import PolicySpec
from pages.components.shared.empty import sample_run
from pages.components.shared.state import settings, store
from pages.components.text.escape import safe_text

SEEDS: Final = (42, 4)
STEPS: Final = 2_000  # farming overtakes in both worlds after about 1,800
EXAMPLE_POLICIES: Final = (
    ("Lab example: honest", PolicySpec("scripted")),
    ("Lab example: farming", PolicySpec("farmer", {"farm": "water"})),
)
_MAX_RUNS = 50  # the newest runs, in which the example is looked for
_FAILED = "lab_example_failed"


def offer_example(key: str) -> None:
    """Shows a button that plays the example, or its progress, or that it is done."""
    if show_progress():
        return
    if set(_runs()) == {name for name, _ in EXAMPLE_POLICIES}:
        st.caption("The example is done. Its runs are stored as “Lab example: …”.")
        return
    st.text(
        f"Two policies in the worlds of seeds {' and '.join(map(str, SEEDS))}, {STEPS:,} steps each: one plays as well "
        "as it can, the other drinks for as long as it lives. Both use the default per-achievement rewards. It takes "
        "about a minute; this page updates by itself."
    )
    st.button("Play the example", key=f"lab_example_{key}", type="primary", on_click=_play, disabled=store().read_only)
    if failed := st.session_state.pop(_FAILED, ""):
        st.text(safe_text(failed, 500))


def show_progress() -> bool:
    """Shows the progress while the example is being played. Returns whether it is."""
    runs = _runs()
    count = sum(run.n_episodes for run in runs.values())
    done = sum(n for run in runs.values() for status, n in run.counts.items() if status.is_over)
    if done == count:
        return False
    st.info(
        f"Playing the example: {done} of {count} episodes finished. It takes about a minute; this page updates by "
        "itself."
    )
    return True


def _runs() -> dict[str, RunSummary]:
    """The newest run of each example policy, by its name."""
    names = {name for name, _ in EXAMPLE_POLICIES}
    newest_first = store().runs.newest(limit=_MAX_RUNS).rows
    return {run.name: run for run in reversed(newest_first) if run.n_episodes and run.name in names}


def _play() -> None:
    try:
        for name, policy in EXAMPLE_POLICIES:
            jobs.launch(store(), settings(), sample_run(name, policy, SEEDS, STEPS))
    except CraftscopeError as error:
        st.session_state[_FAILED] = f"Could not launch the example: {error}"
