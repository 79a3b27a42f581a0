"""One alert as a card: what was found, by which rule, and where to look."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from core.analysis.audit import EPISODE_RULES, RULES, Alert, Severity, Span
from pages.components.audit.found import Audited
from pages.components.text.escape import escape, one_line, safe_text
from pages.components.text.format import number, signed

ShowSpan = Callable[[Span, str, str], None]
"""Draws the way to a span's frames: the span, what the way is called, and a key of its own."""

_FIRST = 3
_MAX_TEXT_LENGTH = 600
_LETTER_PX, _ARROW_PX = 6, 44  # about what a letter of a link and its arrow with the room around it take


def show_alerts(found: Audited, show_span: ShowSpan, key: str) -> None:
    """All alerts of an audit, or that there is none. Where it could not be made, why."""
    if found.problem:
        st.text(f"It could not be audited: {safe_text(found.problem, _MAX_TEXT_LENGTH)}")
        return
    if not found.alerts:
        looked = f"{number(len(EPISODE_RULES))} rules were looked at; they stand below."
        st.caption(f"No findings. {escape(one_line(found.why_none, _MAX_TEXT_LENGTH)) or looked}")
    for at, alert in enumerate(found.alerts):
        _show_alert(alert, show_span, f"{key}-{at}")


def found_in_words(found: Audited) -> str:
    """`2 alerts, 1 notice`."""
    if found.problem:
        return "not audited"
    parts = [
        f"{number(count)} {what}{'s' * (count != 1)}"
        for count, what in ((found.n_alerts, "alert"), (found.n_notices, "notice"))
        if count
    ]
    return ", ".join(parts) or "nothing found"


def _show_alert(alert: Alert, show_span: ShowSpan, key: str) -> None:
    rule = RULES[alert.rule]
    with st.container(border=True, gap="small", key=f"alert-{key}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            is_alert = alert.severity is Severity.ALERT
            st.badge("alert" if is_alert else "notice", color="red" if is_alert else "gray")
            st.markdown(f"**{rule.name}**", width="content")
        st.text(safe_text(alert.sentence, _MAX_TEXT_LENGTH))
        if alert.evidence:
            _show_evidence(alert.evidence, show_span, key)
        st.caption(f"Rule: {alert.criterion}")


def _show_evidence(evidence: Sequence[Span], show_span: ShowSpan, key: str) -> None:
    # What pays most first: it is what somebody clicks who clicks once.
    by_reward = sorted(evidence, key=lambda span: -abs(span.reward))
    width = _ARROW_PX + _LETTER_PX * max(len(_place(span)) for span in evidence)
    with st.container(gap=None, key=f"evidence-{key}"):
        for at, span in enumerate(by_reward[:_FIRST]):
            _show_span(span, show_span, width, f"{key}-{at}")
    if rest := sorted(by_reward[_FIRST:], key=lambda span: span.first_frame):
        more = f"{number(len(rest))} more place{'s' * (len(rest) != 1)}"
        with st.popover(more, type="tertiary"), st.container(gap=None):
            for at, span in enumerate(rest, _FIRST):
                _show_span(span, show_span, width, f"{key}-{at}")


def _show_span(span: Span, show_span: ShowSpan, width: int, key: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(width=width):
            show_span(span, _place(span), key)
        caption = f"{safe_text(span.caption, 200)}: " if span.caption else ""
        st.text(f"{caption}{signed(span.reward)}", width="stretch")


def _place(span: Span) -> str:
    if span.first_decision == span.last_decision:
        return f"Decision {number(span.first_decision)}"
    return f"Decisions {number(span.first_decision)} to {number(span.last_decision)}"
