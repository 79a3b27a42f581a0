"""The Lab page. URL: `/lab?view=<view>`, with `scope` and `episode`, or the filters of Traces."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.analysis.rescore import StoredFacts
from pages.components.browser.styles import lab_styles
from pages.components.lab.audit.view import show_audit
from pages.components.lab.policies.view import show_policies
from pages.components.lab.shared.example import offer_example, show_progress
from pages.components.lab.shared.link import remember_unknown, show_unknown
from pages.components.lab.shared.reward_facts import (
    rerun_on_first_episode,
    rerun_on_new_episodes,
    show_counts,
    show_why_empty,
    stored_rewards,
)
from pages.components.lab.what_if.view import show_what_if
from pages.components.shared.router import ensure_router
from pages.components.shared.state import store

WHAT_IF = "What if"
VIEWS: dict[str, Callable[[StoredFacts], None]] = {
    WHAT_IF: show_what_if,
    "Audit": show_audit,
    "Policies": show_policies,
}

_VIEW = "view"


def main() -> None:
    ensure_router()
    lab_styles()
    with st.container(horizontal=True, vertical_alignment="center", key="lab-title"):
        st.title("Lab", anchor=False, width="content")
        view = _view_picker()
        st.space("stretch")
        counts = st.container(width="content")
    show_unknown(_VIEW, view)
    if store().episodes.is_empty():
        _show_empty()
        rerun_on_first_episode()
        return
    stored = stored_rewards()
    with counts:
        show_counts(stored)
    rerun_on_new_episodes(stored)
    if not stored.episodes:
        if not show_progress():
            show_why_empty()
        return
    VIEWS[view](stored)


def _view_picker() -> str:
    remember_unknown(_VIEW, VIEWS)
    chosen = st.segmented_control(
        "View",
        list(VIEWS),
        key=_VIEW,
        default=WHAT_IF,
        required=True,
        bind="query-params",
        label_visibility="collapsed",
    )
    return chosen if chosen in VIEWS else WHAT_IF


def _show_empty() -> None:
    _, middle, _ = st.columns([1, 2, 1])
    with middle, st.container(border=True):
        st.subheader("See what your rewards pay for", anchor=False)
        st.text(
            "The Lab re-scores every stored episode under a reward configuration that you edit: how ranks change, "
            "which decisions are responsible, and what a trainer would do. Nothing is stored yet: play the example "
            "to begin."
        )
        offer_example("empty")
        st.page_link("pages/launch.py", label="Or choose seeds and a policy yourself: Launch →")


main()
