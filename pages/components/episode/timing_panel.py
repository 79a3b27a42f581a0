"""The "Timing" tab: how long the parts of this decision and of all decisions took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from core.store import DecisionSummary
from pages.components import charts
from pages.components.charts.binned import Binned
from pages.components.charts.download import Cell, Download, file_name
from pages.components.charts.figure import (
    COLOURS,
    Theme,
    band,
    columns,
    hover_line,
    pointer,
    styled,
    with_click_targets,
)
from pages.components.player.episode_data import EpisodeData
from pages.components.text.format import ms, short_id
from pages.components.text.sentences import timing_parts, timing_sentence, total_ms

_MAX_COLUMNS = 240
_MEANINGS = (
    "Inference: waiting for the policy's answer. Environment: all steps of the decision. Overhead: the rest until the "
    "decision can be stored. Storing: its transaction (known once the next decision is written)."
)
_MODEL_MEANINGS = (
    "For a model, inference has two separate parts. Waiting: pauses between HTTP attempts. Parsing: reading the "
    "answers. The rest is building the prompt and the requests."
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


def decision_timing(decision: DecisionSummary, theme: Theme, of_model: bool | None = None) -> go.Figure:
    """The parts of one decision as one stacked bar. of_model: see `timing_parts`."""
    whole = total_ms(decision)
    bars: list[dict[str, Any]] = [
        {
            "type": "bar",
            "orientation": "h",
            "x": [value or 0.0],
            "y": [0],
            "name": name,
            "marker": {"color": COLOURS[name].on(theme), "line": {"width": 0}},
            "hovertemplate": f"{name} {ms(value)}{_share(value, whole)}<extra></extra>",
        }
        for name, value in timing_parts(decision, of_model)
    ]
    return styled(
        bars,
        theme,
        height=130,
        x={"title": {"text": "milliseconds"}, "range": [0, max(whole, 1e-6)], "showgrid": False},
        y={"visible": False},
        barmode="stack",
        bargap=0,
    )


def timing_strip(decisions: Sequence[DecisionSummary], current: int, theme: Theme) -> tuple[go.Figure, int]:
    """All decisions as stacked columns, and the number of decisions per column.

    With several decisions per column, it shows the slowest of them, or the current one.
    """
    of_model = any(decision.model_calls for decision in decisions)
    bins = Binned.of(len(decisions), _MAX_COLUMNS)
    groups = [decisions[start : start + bins.size] for start in bins.starts.tolist()]
    here = current // bins.size
    shown = [decisions[current] if at == here else max(group, key=total_ms) for at, group in enumerate(groups)]
    parts = [dict(timing_parts(decision, of_model)) for decision in shown]
    traces = [
        columns(
            bins.middles,
            [round(of_one[name] or 0.0, 3) for of_one in parts],
            bins.size,
            COLOURS[name].on(theme),
            stacked=True,
        )
        | {"name": name}
        for name in parts[0]
    ]
    tops = [round(total_ms(decision), 3) for decision in shown]
    middle, ink = bins.middles[here], COLOURS["ink"].on(theme)
    figure = styled(
        [*traces, hover_line(bins.middles, tops, [_timing_hover(decision) for decision in shown])],
        theme,
        height=220,
        x={"title": {"text": "decision (click to go there)"}, "range": bins.axis, "showgrid": False},
        y={"title": {"text": "milliseconds"}, "rangemode": "tozero"},
        barmode="stack",
        bargap=0,
        showlegend=False,
        hovermode="x",
        margin={"l": 4, "r": 12, "t": 18, "b": 4},
        shapes=[band(middle - bins.size / 2, middle + bins.size / 2, ink)],
        annotations=[pointer(middle, ink)],
    )
    return with_click_targets(figure, {"xy": [[decision.index for decision in shown]]}), bins.size


def _timing_hover(decision: DecisionSummary) -> str:
    parts = "<br>".join(f"{name} {ms(value)}" for name, value in timing_parts(decision))
    return f"decision {decision.index}: {ms(total_ms(decision))}<br>{parts}"


def _share(value: float | None, whole: float) -> str:
    return f" ({(value or 0.0) / whole:.0%})" if whole else ""
