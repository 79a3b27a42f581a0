"""Sums over an episode's model calls, as one line of the page's header."""

from __future__ import annotations

import streamlit as st

from core.evidence import ModelTotals
from core.text import plural
from pages.components.text.escape import escape
from pages.components.text.format import ms, number
from pages.components.text.model_text import error_counts_text, tokens, usd

# This extra line takes its room from the gap below the header, so that the player's timeline stays in the window.
_STYLE = """
<style>
.st-key-model-totals { margin: 0 0 -0.45rem; }
.st-key-model-totals [data-testid="stCaptionContainer"] p { line-height: 1.1rem; white-space: nowrap; overflow: hidden;
  text-overflow: ellipsis; }
.st-key-episode-head:has(.st-key-model-totals) { margin-bottom: -0.55rem; }
.st-key-episode-head:has(.st-key-model-totals) .st-key-episode-line { height: 1.6rem; }
</style>
"""


def show_model_totals(totals: ModelTotals) -> None:
    parts = [
        f"Model: **{plural(totals.calls, 'call')}**",
        f"tokens **{tokens(totals.tokens_in)}** in, **{tokens(totals.tokens_out)}** out",
        f"cost **{usd(totals.cost_usd)}**",
        f"latency p50 **{ms(totals.p50_ms)}**, p90 **{ms(totals.p90_ms)}**",
        f"errors: **{escape(error_counts_text(totals.errors))}**" if totals.errors else "no errors",
    ]
    st.html(_STYLE)
    with st.container(key="model-totals"):
        st.caption(" · ".join(parts), help=_help(totals))


def _help(totals: ModelTotals) -> str:
    lines = [
        "All model calls of this episode, including retries after invalid answers.",
        *([f"Invalid answers: {escape(error_counts_text(totals.errors))}."] if totals.errors else ()),
        f"Cached input tokens: {tokens(totals.tokens_cached)}. Reasoning tokens: {tokens(totals.tokens_reasoning)}. "
        "n/a: not reported by the server.",
    ]
    if totals.server_cost_usd is not None:
        lines.append(f"Cost reported by the server: {usd(totals.server_cost_usd)}.")
    if totals.unpriced:
        lines.append(f"Calls with unknown cost: {number(totals.unpriced)}.")
    if totals.retries:
        lines.append(f"Repeated HTTP requests: {number(totals.retries)}, waiting {ms(totals.waited_ms)} in between.")
    return "\n\n".join(lines)
