"""The "Timing" tab: how long the parts of this decision and of all decisions took."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.store import DecisionSummary
from pages.components import charts
from pages.components.charts.download import Cell, Download, file_name
from pages.components.episode.timing_charts import decision_timing, timing_strip
from pages.components.player.episode_data import EpisodeData
from pages.components.text.format import short_id
from pages.components.text.sentences import timing_parts, timing_sentence, total_ms

_MEANINGS = (
    "Inference: waiting for the policy's answer. Environment: all steps of the decision. Overhead: the rest until it "
    "was ready to be stored. Storing: its transaction (known once the next decision is written)."
)
_MODEL_MEANINGS = (
    "For a model, inference has two parts of its own. Waiting: pauses between HTTP attempts. Parsing: reading the "
    "answers. The rest is building the prompt and the requests themselves."
)
_NOT_RECORDED = "n/a: not recorded, included in inference."


def show_timing(decision: DecisionSummary, data: EpisodeData, key: str) -> None:
    theme = charts.theme()
    of_model = data.model is not None
    sentence = timing_sentence(decision, of_model)
    with st.container(border=True):
        st.text(sentence)
    name = file_name("episode", short_id(key), "decision", str(decision.index), "timing")
    parts = Download(name, lambda: timing_table([decision], of_model))
    charts.show(decision_timing(decision, theme, of_model), key=f"parts-{key}", alt=sentence, download=parts)
    figure, size = timing_strip(data.decisions, decision.index, theme)
    st.caption(
        "All decisions, current one marked"
        if size == 1
        else f"All decisions. Each column: the slowest of {size} in a row, or the current one (marked)"
    )
    every = Download(file_name("episode", short_id(key), "timing"), lambda: timing_table(data.decisions, of_model))
    alt = "Time of every decision in its parts"
    charts.show(figure, key=f"strip-{key}", alt=alt, seeks="decisions", download=every)
    st.caption(" ".join(_meanings(data) if of_model else (_MEANINGS,)))


def timing_table(decisions: Sequence[DecisionSummary], of_model: bool) -> list[list[Cell]]:
    """Milliseconds; None where a part was not recorded."""
    rows: list[list[Cell]] = [
        [decision.index, *(value for _, value in timing_parts(decision, of_model)), total_ms(decision)]
        for decision in decisions
    ]
    names = [name for name, _ in timing_parts(decisions[0], of_model)] if decisions else []
    return [["decision", *(f"{name}_ms" for name in names), "total_ms"], *rows]


def _meanings(data: EpisodeData) -> tuple[str, ...]:
    is_unknown = any(decision.model_calls and decision.parse_ms is None for decision in data.decisions)
    return (_MEANINGS, _MODEL_MEANINGS, *((_NOT_RECORDED,) if is_unknown else ()))
