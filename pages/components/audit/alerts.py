"""Runs the audit and shows its alerts as cards: what was found, by which rule, with links to the frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from core.analysis.audit import (
    EPISODE_RULES,
    RULES,
    Alert,
    AuditThresholds,
    Severity,
    Span,
    audit,
    audit_config,
    why_no_config_alert,
)
from core.errors import CraftscopeError
from core.store import EpisodeSummary, TraceStore
from core.text import plural
from core.types import RewardConfig
from pages.components.audit.thresholds_form import show_thresholds, thresholds
from pages.components.player.cursor import Cursor
from pages.components.player.position import go_to_frame
from pages.components.shared.state import store
from pages.components.text.escape import escape, one_line, safe_text
from pages.components.text.format import number, signed

ShowSpan = Callable[[Span, str, str], None]
"""Draws the link to a span's frames. Arguments: the span, the label, and a unique widget key."""

_MAX_SPANS = 3  # the others are in a popover
_MAX_TEXT_LENGTH = 600
_LETTER_PX, _ARROW_PX = 6, 44  # approximate widths in a link: of a letter, and of the arrow with its margins


@dataclass(frozen=True, slots=True)
class AuditResult:
    """problem: why the audit failed. why_none: why there is no alert. Both may be empty."""

    alerts: tuple[Alert, ...] = ()
    problem: str = ""
    why_none: str = ""

    @property
    def n_alerts(self) -> int:
        """Without notices."""
        return sum(alert.severity is Severity.ALERT for alert in self.alerts)


def audit_episode(episode_id: str, n_decisions: int, thresholds: AuditThresholds) -> AuditResult:
    """Cached. n_decisions: how many there are now, so that a running episode is audited again as it grows."""
    return _audit(store(), store().url, episode_id, n_decisions, thresholds)


# cache_resource, not cache_data: the result is frozen and needs no copy.
@st.cache_resource(max_entries=2_000, show_spinner=False)
def _audit(_store: TraceStore, url: str, episode_id: str, n_decisions: int, thresholds: AuditThresholds) -> AuditResult:
    try:
        return AuditResult(audit(_store.episodes.load(episode_id), thresholds))
    except CraftscopeError as error:  # a corrupt episode must not hide the audits of others
        return AuditResult(problem=str(error))


def audit_rewards(config: RewardConfig, thresholds: AuditThresholds) -> AuditResult:
    """The alerts that follow from a reward configuration alone."""
    try:
        return AuditResult(audit_config(config, thresholds), why_none=why_no_config_alert(config, thresholds))
    except CraftscopeError as error:
        return AuditResult(problem=str(error))


def show_audit_tab(summary: EpisodeSummary) -> None:
    """The Audit tab of an episode's page."""
    chosen = thresholds()
    with st.spinner("Auditing the episode…", show_time=False):
        result = audit_episode(summary.id, summary.n_decisions, chosen)

    def show_span(span: Span, label: str, key: str) -> None:
        at = Cursor(span.opening_frame, span.first_decision)
        st.button(f"{label} →", key=f"audit-go-{key}", on_click=go_to_frame, args=(summary.id, at), type="tertiary")

    st.markdown("**In this episode**")
    show_alerts(result, f"{summary.id}-episode", show_span)
    st.markdown("**In its reward configuration**")
    show_alerts(audit_rewards(summary.spec.reward, chosen), f"{summary.id}-config")
    show_thresholds("episode")


def show_alerts(result: AuditResult, key: str, show_span: ShowSpan | None = None) -> None:
    """show_span: not for a configuration, whose alerts have no frames."""
    if result.problem:
        st.text(f"The audit failed: {safe_text(result.problem, _MAX_TEXT_LENGTH)}")
        return
    if not result.alerts:
        checked = f"Checked: {plural(len(EPISODE_RULES), 'rule')}, listed below."
        st.caption(f"No findings. {escape(one_line(result.why_none, _MAX_TEXT_LENGTH)) or checked}")
    for at, alert in enumerate(result.alerts):
        _show_alert(alert, show_span, f"{key}-{at}")


def audit_text(result: AuditResult) -> str:
    """`2 alerts, 1 notice`."""
    if result.problem:
        return "not audited"
    counts = (result.n_alerts, "alert"), (len(result.alerts) - result.n_alerts, "notice")
    return ", ".join(plural(count, noun) for count, noun in counts if count) or "no findings"


def _show_alert(alert: Alert, show_span: ShowSpan | None, key: str) -> None:
    rule = RULES[alert.rule]
    with st.container(border=True, gap="small", key=f"alert-{key}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            is_alert = alert.severity is Severity.ALERT
            st.badge("alert" if is_alert else "notice", color="red" if is_alert else "gray")
            st.markdown(f"**{rule.name}**", width="content")
        st.text(safe_text(alert.sentence, _MAX_TEXT_LENGTH))
        if alert.evidence and show_span:
            _show_evidence(alert.evidence, show_span, key)
        st.caption(f"Rule: {alert.criterion}")


def _show_evidence(evidence: Sequence[Span], show_span: ShowSpan, key: str) -> None:
    # The highest reward first: many users click only the first link.
    by_reward = sorted(evidence, key=lambda span: -abs(span.reward))
    width = _ARROW_PX + _LETTER_PX * max(len(_label(span)) for span in evidence)
    with st.container(gap=None, key=f"evidence-{key}"):
        for at, span in enumerate(by_reward[:_MAX_SPANS]):
            _show_span(span, show_span, width, f"{key}-{at}")
    if rest := sorted(by_reward[_MAX_SPANS:], key=lambda span: span.first_frame):
        with st.popover(plural(len(rest), "more place"), type="tertiary"), st.container(gap=None):
            for at, span in enumerate(rest, _MAX_SPANS):
                _show_span(span, show_span, width, f"{key}-{at}")


def _show_span(span: Span, show_span: ShowSpan, width: int, key: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(width=width):
            show_span(span, _label(span), key)
        caption = f"{safe_text(span.caption, 200)}: " if span.caption else ""
        st.text(f"{caption}{signed(span.reward)}", width="stretch")


def _label(span: Span) -> str:
    if span.first_decision == span.last_decision:
        return f"Decision {number(span.first_decision)}"
    return f"Decisions {number(span.first_decision)} to {number(span.last_decision)}"
