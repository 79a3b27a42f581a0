"""What the model calls of an episode come to, in a line of the page's head."""

from __future__ import annotations

import streamlit as st

from core.evidence import ModelTotals
from pages.components.text.escape import escape
from pages.components.text.format import ms, number
from pages.components.text.model_text import kinds_in_words, tokens, usd

# One line more above the player, whose timeline must not be pushed out of the window: the room for it is taken from the
# gap between head and player, so that the line itself stands as far from its neighbours as they from each other.
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
    """Calls, tokens, cost, latency and what could not be used. Kinds of error may be a stranger's text."""
    parts = [
        f"Model: **{number(totals.calls)}** call{'' if totals.calls == 1 else 's'}",
        f"tokens **{tokens(totals.tokens_in)}** in, **{tokens(totals.tokens_out)}** out",
        f"cost **{usd(totals.cost_usd)}**",
        f"latency p50 **{ms(totals.p50_ms)}**, p90 **{ms(totals.p90_ms)}**",
        f"errors: **{escape(kinds_in_words(totals.errors))}**" if totals.errors else "no errors",
    ]
    st.html(_STYLE)
    with st.container(key="model-totals"):
        st.caption(" · ".join(parts), help=_help(totals))


def _help(totals: ModelTotals) -> str:
    lines = [
        "All model calls of this episode, answers that were asked for again included.",
        *([f"Answers that could not be used: {escape(kinds_in_words(totals.errors))}."] if totals.errors else ()),
        f"Of the input {tokens(totals.tokens_cached)} tokens were cached, of the output "
        f"{tokens(totals.tokens_reasoning)} were reasoning (n/a: the server did not say).",
    ]
    if totals.server_cost_usd is not None:
        lines.append(f"The server itself counts a cost of {usd(totals.server_cost_usd)}.")
    if totals.unpriced:
        lines.append(f"The cost of {number(totals.unpriced)} of the calls is not known.")
    if totals.retries:
        lines.append(f"{number(totals.retries)} requests were repeated; {ms(totals.waited_ms)} were waited in between.")
    return "\n\n".join(lines)
