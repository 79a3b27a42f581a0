"""Figures of the episode page: all parts, their sum, the current position; long episodes are thinned."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import plotly.graph_objects as go
import pytest

from core.store import DecisionSummary
from core.types import RewardBreakdown, RewardComponent
from pages.components.charts import COLOURS
from pages.components.charts.component_colours import component_colour
from pages.components.charts.figure import Theme
from pages.components.episode.map_panel import world_map
from pages.components.episode.reward_charts import cumulative_rewards, reward_waterfall
from pages.components.episode.timing_panel import decision_timing, timing_strip
from tests.support.records import DECISIONS, decision_summary

PARTS = (
    RewardComponent("achievement", "collect_wood", 1, 1.0, 1.0),
    RewardComponent("inventory", "wood", 2, 0.1, 0.2),
    RewardComponent("achievement_count", "collect_wood", 1, 0.08, 0.08),
)
ENV_TOTALS = (0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.9)  # at the frames of DECISIONS


def traces(figure: go.Figure) -> tuple[Any, ...]:
    return tuple(figure.data)


def layout(figure: go.Figure) -> Any:
    return figure.layout


def test_the_waterfall_chains_its_parts_and_ends_with_the_total():
    (bars,) = traces(reward_waterfall(RewardBreakdown("per_achievement", 1.0, PARTS), "dark"))
    assert bars.base == pytest.approx([0.0, 1.0, 1.2, 0.0])
    assert bars.x == pytest.approx([1.0, 0.2, 0.08, 1.28])
    (bars,) = traces(reward_waterfall(RewardBreakdown("per_achievement", 0.5, PARTS), "dark"))
    assert bars.x[-2:] == pytest.approx([1.28, 0.64])  # the base, as lambda scales it, and the total


def test_each_part_has_its_own_colour():
    parts = (*PARTS, RewardComponent("my_own", "x", 1, -1.0, -1.0))
    (bars,) = traces(reward_waterfall(RewardBreakdown("mine", 1.0, parts), "light"))
    colours = [component_colour(part.kind, part.name, "light") for part in parts]
    assert list(bars.marker.color) == [*colours, COLOURS["total"].light]
    assert len(set(colours)) == len(colours)


@pytest.mark.parametrize("ground", ["light", "dark"])
def test_components_often_paid_together_have_distinct_colours(ground: Theme):
    names = ("health", "food", "drink", "energy", "sapling", "wood", "stone", "")
    colours = [component_colour("inventory", name, ground) for name in names]
    channels = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in colours]
    assert min(math.dist(one, other) for one, other in itertools.combinations(channels, 2)) > 28


def test_hostile_names_in_labels_are_escaped_and_cut():
    name = '<a href="http://example.org">wood</a>' + "\ud83d" * 10**6
    part = RewardComponent("inventory", name, 1, 0.1, 0.1)
    figure = reward_waterfall(RewardBreakdown("mine", 1.0, (part,)), "light")
    assert "<a" not in layout(figure).yaxis.ticktext[0]
    assert "<a" not in traces(figure)[0].hovertext[0]
    assert len(str(figure.to_json()).encode("utf-8")) < 20_000


def test_both_returns_end_at_their_sums_and_the_frame_is_marked():
    figure = cumulative_rewards(DECISIONS, (0.5, 0.7, 1.5, 1.5), ENV_TOTALS, {}, 5, "dark")
    lines = {trace.name: trace for trace in traces(figure) if trace.mode == "lines"}
    assert (lines["shaped"].x[-1], lines["shaped"].y[-1]) == (6, 1.5)
    assert (lines["environment"].x[-1], lines["environment"].y[-1]) == (6, 0.9)
    assert layout(figure).shapes[0].x0 == 5
    (dots,) = [trace for trace in traces(figure) if trace.showlegend is False]
    assert list(dots.y) == [1.0, 0.7]  # the third decision has not ended, so nothing of it is paid yet


def test_unlocks_are_marked_at_their_steps():
    figure = cumulative_rewards(DECISIONS, (1.0,) * 4, ENV_TOTALS, {"wake_up": 1, "eat_cow": 1}, 0, "dark")
    (marks,) = [trace for trace in traces(figure) if trace.name == "unlock"]
    assert (list(marks.x), list(marks.y)) == ([2], [1.0])
    assert marks.customdata[0] == "wake up, eat cow<br>step 2, decision 0"


def test_a_column_of_a_long_episode_shows_its_slowest_decision():
    decisions = [decision_summary(index, index, index + 1) for index in range(1_000)]
    decisions[503] = replace(decisions[503], inference_ms=80.0)
    figure, size = timing_strip(decisions, current=10, theme="light")
    assert size == 5
    inference = next(trace for trace in traces(figure) if trace.name == "inference")
    assert len(inference.y) == 200
    assert max(inference.y) == 80.0
    figure, size = timing_strip(DECISIONS, current=3, theme="light")
    assert size == 1
    assert [trace.name for trace in traces(figure) if trace.name] == ["inference", "environment", "overhead", "storing"]
    assert all(len(trace.y) == len(DECISIONS) for trace in traces(figure))


def asked(index: int, *, waited_ms: float | None, parse_ms: float | None) -> DecisionSummary:
    """A decision of a model with 100 ms of inference."""
    made = decision_summary(index, index, index + 1)
    return replace(made, inference_ms=100.0, model_calls=1, waited_ms=waited_ms, parse_ms=parse_ms)


def test_the_strip_splits_all_decisions_of_a_model():
    decisions = [
        asked(0, waited_ms=0.0, parse_ms=1.5),
        asked(1, waited_ms=60.0, parse_ms=2.0),
        decision_summary(2, 2, 3),
    ]
    figure, _ = timing_strip(decisions, current=0, theme="light")
    parts = {trace.name: list(trace.y) for trace in traces(figure) if trace.name}
    assert list(parts) == ["inference", "waiting", "parsing", "environment", "overhead", "storing"]
    assert parts["inference"] == pytest.approx([98.5, 38.0, 1.0])
    assert parts["waiting"] == pytest.approx([0.0, 60.0, 0.0])
    assert parts["parsing"] == pytest.approx([1.5, 2.0, 0.0])
    tops = next(trace for trace in traces(figure) if trace.name is None)
    assert [sum(column) for column in zip(*parts.values(), strict=True)] == pytest.approx(list(tops.y))
    assert "waiting 60.0 ms" in tops.hovertext[1]


def test_unrecorded_parts_stay_in_the_inference():
    figure, _ = timing_strip([asked(0, waited_ms=None, parse_ms=None)], current=0, theme="light")
    parts = {trace.name: list(trace.y) for trace in traces(figure) if trace.name}
    assert (parts["inference"], parts["waiting"], parts["parsing"]) == ([100.0], [0.0], [0.0])


def test_the_bar_of_a_decision_has_every_part_of_its_episode_in_its_legend():
    figure = decision_timing(decision_summary(0, 0, 1), "light", of_model=True)
    names = [trace.name for trace in traces(figure)]
    assert names == ["inference", "waiting", "parsing", "environment", "overhead", "storing"]
    assert set(names) <= set(COLOURS)


def test_the_path_is_split_at_the_frame():
    positions = [(5, 5), (5, 5), (6, 5), (6, 6), (7, 6)]
    figure = world_map("data:image/png;base64,", (64, 64), positions, 2, "dark")
    _, ahead, _, walked, *_ = traces(figure)
    assert list(walked.customdata) == [0, 2]
    assert list(ahead.customdata) == [2, 3, 4]
    assert (walked.x[-1], walked.y[-1]) == (6.5, 5.5)
