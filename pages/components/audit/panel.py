"""The "Audit" tab of an episode: what is odd about what it was paid, each with a way to its frames."""

from __future__ import annotations

import streamlit as st

from core.analysis.audit import Span
from core.store import EpisodeSummary
from pages.components.audit.alerts import show_alerts
from pages.components.audit.found import audited, audited_config
from pages.components.audit.thresholds_form import show_thresholds, thresholds
from pages.components.player.cursor import Cursor
from pages.components.player.position import go_to_frame
from pages.components.shared.state import store


def show_audit_of(summary: EpisodeSummary) -> None:
    """Draw the tab."""
    wanted = thresholds()
    with st.spinner("Looking through the episode…", show_time=False):
        found = audited(store(), summary.id, summary.n_decisions, wanted)

    def show_span(span: Span, place: str, key: str) -> None:
        at = Cursor(span.opening_frame, span.first_decision)
        st.button(f"{place} →", key=f"audit-go-{key}", on_click=go_to_frame, args=(summary.id, at), type="tertiary")

    st.markdown("**In this episode**")
    show_alerts(found, show_span, f"{summary.id}-episode")
    st.markdown("**In its reward configuration**")
    show_alerts(audited_config(summary.spec.reward, wanted), show_span, f"{summary.id}-config")
    show_thresholds("episode")
