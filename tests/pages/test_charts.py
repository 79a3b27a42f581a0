"""Figures show all parts, their sum, and where the reader stands; long episodes are thinned without losing the ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import plotly.graph_objects as go
import pytest

from core.types import RewardBreakdown, RewardComponent
from pages.components.charts import COLOURS, cumulative_rewards, reward_waterfall, timing_strip, world_map
from tests.pages.test_cursor import DECISIONS, decision

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


def test_the_waterfall_goes_on_where_the_part_before_ended_and_closes_with_the_total():
    (bars,) = traces(reward_waterfall(RewardBreakdown("per_achievement", 1.0, PARTS), "dark"))
    assert bars.base == pytest.approx([0.0, 1.0, 1.2, 0.0])
    assert bars.x == pytest.approx([1.0, 0.2, 0.08, 1.28])


def test_the_waterfall_shows_the_base_where_lambda_scales_it():
    (bars,) = traces(reward_waterfall(RewardBreakdown("per_achievement", 0.5, PARTS), "dark"))
    assert bars.x[-2:] == pytest.approx([1.28, 0.64])


def test_each_kind_of_part_has_its_colour_and_an_unknown_kind_one_too():
    parts = (*PARTS, RewardComponent("my_own", "x", 1, -1.0, -1.0))
    (bars,) = traces(reward_waterfall(RewardBreakdown("mine", 1.0, parts), "light"))
    kinds = ["achievement", "inventory", "achievement_count", "other", "total"]
    assert list(bars.marker.color) == [COLOURS[kind].light for kind in kinds]


def test_names_are_inert_in_labels():
    part = RewardComponent("inventory", '<a href="http://example.org">wood</a>', 1, 0.1, 0.1)
    figure = reward_waterfall(RewardBreakdown("mine", 1.0, (part,)), "light")
    assert "<a" not in layout(figure).yaxis.ticktext[0]
    assert "<a" not in traces(figure)[0].hovertext[0]


def test_both_returns_end_at_their_sums_and_the_frame_is_marked():
    figure = cumulative_rewards(DECISIONS, (0.5, 0.7, 1.5, 1.5), ENV_TOTALS, {}, 5, "dark")
    lines = {trace.name: trace for trace in traces(figure) if trace.mode == "lines"}
    assert (lines["shaped"].x[-1], lines["shaped"].y[-1]) == (6, 1.5)
    assert (lines["environment"].x[-1], lines["environment"].y[-1]) == (6, 0.9)
    assert layout(figure).shapes[0].x0 == 5
    (dots,) = [trace for trace in traces(figure) if trace.showlegend is False]
    assert list(dots.y) == [1.0, 0.7]  # the third decision has not ended, so nothing of it is paid yet


def test_unlocks_are_marked_at_their_steps_and_not_where_the_decision_ended():
    figure = cumulative_rewards(DECISIONS, (1.0,) * 4, ENV_TOTALS, {"wake_up": 1, "eat_cow": 1}, 0, "dark")
    (marks,) = [trace for trace in traces(figure) if trace.name == "unlock"]
    assert (list(marks.x), list(marks.y)) == ([2], [1.0])
    assert marks.customdata[0] == "wake up, eat cow<br>step 2, decision 0"


def test_a_long_or_broken_name_is_cut_before_it_is_drawn():
    part = RewardComponent("inventory", "\ud83d" * 10**6, 1, 0.1, 0.1)
    figure = reward_waterfall(RewardBreakdown("mine", 1.0, (part,)), "light")
    assert len(str(figure.to_json()).encode("utf-8")) < 20_000


def test_a_column_of_a_long_episode_shows_its_slowest_decision():
    decisions = [decision(index, index, index + 1) for index in range(1_000)]
    decisions[503] = replace(decisions[503], inference_ms=80.0)
    figure, size = timing_strip(decisions, current=10, theme="light")
    assert size == 5
    inference = next(trace for trace in traces(figure) if trace.name == "inference")
    assert len(inference.y) == 200
    assert max(inference.y) == 80.0


def test_a_short_episode_has_a_column_for_each_decision():
    figure, size = timing_strip(DECISIONS, current=3, theme="light")
    assert size == 1
    assert all(len(trace.y) == len(DECISIONS) for trace in traces(figure))


def test_the_path_is_split_at_the_frame():
    positions = [(5, 5), (5, 5), (6, 5), (6, 6), (7, 6)]
    figure = world_map("data:image/png;base64,", (64, 64), positions, 2, "dark")
    _, ahead, _, walked, *_ = traces(figure)
    assert list(walked.customdata) == [0, 2]
    assert list(ahead.customdata) == [2, 3, 4]
    assert (walked.x[-1], walked.y[-1]) == (6.5, 5.5)
