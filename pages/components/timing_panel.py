"""The "Timing" tab: where the time of this decision went, beside all the others."""

from __future__ import annotations

import streamlit as st

from core.store import DecisionSummary
from core.types import ModelCall
from pages.components import charts
from pages.components.sentences import timing_sentence
from pages.components.track import Track

_MEANINGS = (
    "Inference is the wait for the policy's answer, environment all steps of the decision together, overhead the rest "
    "until it was ready to be stored, store its transaction (known only once the next decision is written)."
)

_MODEL_MEANINGS = (
    "Of the inference, model requests are the HTTP requests themselves, waiting is between them where they were "
    "repeated, and the rest is making the prompt and reading the answer."
)


def show_timing(decision: DecisionSummary, track: Track, key: str, call: ModelCall | None = None) -> None:
    """Draw the tab for one decision. call: its model call, where it had one."""
    theme = charts.theme()
    sentence = timing_sentence(decision, call)
    with st.container(border=True):
        st.text(sentence)
    charts.show(charts.decision_timing(decision, theme, call), key=f"parts-{key}", alt=sentence)
    figure, size = charts.timing_strip(track.decisions, decision.index, theme)
    st.caption(
        "All decisions, the current one marked"
        if size == 1
        else f"All decisions: each column is the slowest of {size} in a row, or the current one (marked)"
    )
    charts.show(figure, key=f"strip-{key}", alt="Time of every decision in its parts", seeks="decisions")
    st.caption(_MEANINGS if call is None else f"{_MEANINGS} {_MODEL_MEANINGS}")
