"""Charts, CSV data and texts of the Policies view."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from core.analysis.statistics import (
    RANDOM,
    ComponentPay,
    Difference,
    Estimate,
    NoCorrelation,
    RankCorrelation,
    Sample,
    SeedOverlap,
    Summary,
    UnlockTime,
    distribution,
    published_rows,
    summarise,
    unlock_curve,
)
from core.env.rules import ACHIEVEMENTS
from core.types import RewardConfig
from pages.components.charts.component_colours import component_colour
from pages.components.lab.policies.charts import component_bars, dots_by_group, scores, success_rates
from pages.components.lab.policies.policies_text import (
    correlation_sentence,
    differences_sentences,
    differences_title,
    interval_text,
    with_interval,
)
from pages.components.lab.policies.spread_charts import (
    return_against_achievements,
    returns,
    thinned,
    unlock_curves,
    unlock_quartiles,
)
from pages.components.lab.policies.tables import difficulty_csv, pay_csv, scores_csv, success_csv
from pages.components.lab.shared.marks import PolicyStyle, policy_places
from tests.support.statistics_samples import played

HOSTILE = '<a href="http://example.org">x</a>'
DRAW = np.random.default_rng(3)
STYLE = PolicyStyle({HOSTILE: 0, "a": 0, "b": 1}, "light")


def sample(n: int) -> Sample:
    unlocked = DRAW.random((n, len(ACHIEVEMENTS))) < 0.4
    returns = unlocked.sum(axis=1).astype(float)
    return Sample(ACHIEVEMENTS, np.arange(n), unlocked, returns, 2 * returns, np.full(n, 50), DRAW.random(n) < 0.5)


@pytest.fixture(scope="module")
def summaries() -> dict[str, Summary]:
    return {"b": summarise(sample(12)), HOSTILE: summarise(sample(9))}


def traces(figure: go.Figure) -> list[Any]:
    return list(figure.data)


def marks(figure: go.Figure) -> list[Any]:
    return [trace for trace in traces(figure) if trace.mode == "markers"]


def test_stored_policies_are_filled_marks_above_hollow_published_ones(summaries: dict[str, Summary]):
    published = [row for row in published_rows() if row.entry == RANDOM]
    found = marks(scores(summaries, published, STYLE))
    stored = [mark for mark in found if mark.error_x.array is not None]
    hollow = [mark for mark in found if mark.error_x.array is None]
    score = summaries["b"].score
    assert score.high is not None
    assert stored[0].x[0] == score.value
    assert stored[0].x[0] + stored[0].error_x.array[0] == pytest.approx(score.high)
    assert [mark.marker.color for mark in stored] == [STYLE.colour(name) for name in ("b", "b", HOSTILE, HOSTILE)]
    assert all(mark.marker.symbol.endswith("-open") for mark in hollow)
    assert min(mark.y[0] for mark in hollow) > max(mark.y[0] for mark in stored)
    assert hollow[0].x[0] == 1.55
    assert all(mark.cliponaxis is False for mark in found)  # a mark at 0 is not cut in half


def test_achievements_are_sorted_by_success_rate(summaries: dict[str, Summary]):
    figure = success_rates({"b": summaries["b"]}, [], STYLE)
    (mark,) = marks(figure)
    assert list(mark.x) == sorted(mark.x, reverse=True)
    layout: Any = figure.layout
    first = ACHIEVEMENTS.index(layout.yaxis.ticktext[0].replace(" ", "_"))
    assert f"b in {summaries['b'].n_successes[first]} of 12 episodes" in mark.hovertext[0]
    assert "95% interval" in mark.hovertext[0]


def test_marks_at_equal_rates_do_not_overlap(summaries: dict[str, Summary]):
    published = [row for row in published_rows() if row.success is not None][:4]
    figure = success_rates(summaries, published, STYLE)
    layout: Any = figure.layout
    a_row = layout.height / len(ACHIEVEMENTS)
    heights = sorted(mark.y[0] * a_row for mark in marks(figure))
    assert len(heights) == 6
    assert min(np.diff(heights)) >= marks(figure)[0].marker.size
    assert heights[-1] - heights[0] < a_row


def test_a_policy_keeps_its_colour_beside_others():
    few = policy_places(["scripted", "farmer", "my policy"])
    more = policy_places(["farmer", "my policy", "random", "llm", "human", "scripted"])
    assert few == {name: more[name] for name in few}
    style = PolicyStyle(more, "light")
    assert len({style.colour(name) for name in more}) == len(more)


def test_many_policies_get_different_marks_that_avoid_used_ones():
    many = policy_places(f"policy {n}" for n in range(60))
    assert len(set(many.values())) == 60
    assert not set(policy_places(["x", "y", "scripted"], many).values()) - {0} & set(many.values())


def test_bars_show_each_component_in_its_colour():
    pays = {
        "a": (ComponentPay("achievement", "wake_up", 4.0, 2.0, 0.8), ComponentPay("inventory", "drink", 1.0, 0.5, 0.2)),
        "b": (ComponentPay("inventory", "drink", -3.0, -3.0, 1.0),),
    }
    bars = traces(component_bars(pays, False, "dark"))
    assert {bar.name: list(bar.x) for bar in bars} == {"wake up unlock": [2.0, 0.0], "drink": [0.5, -3.0]}
    colours = {bar.name: bar.marker.color for bar in bars}
    assert colours["drink"] == component_colour("inventory", "drink", "dark")
    shares = {bar.name: list(bar.x) for bar in traces(component_bars(pays, True, "dark"))}
    assert shares["drink"] == [20.0, -100.0]


def test_components_beyond_the_largest_are_one_bar():
    pays = {"a": tuple(ComponentPay("own", f"part {n}", 1.0, 1.0, 0.01) for n in range(100))}
    bars = traces(component_bars(pays, False, "light"))
    assert bars[-1].name == "others"
    assert sum(bar.x[0] for bar in bars) == pytest.approx(100.0)


def test_a_policy_has_marks_only_in_its_groups():
    estimates = {
        "easy": {"a": (Estimate(1.0, 0.5, 2.0), "")},
        "hard": {"a": (Estimate(3.0), ""), "b": (Estimate(2.0), "")},
    }
    found = {mark.name: mark for mark in marks(dots_by_group(estimates, ["a", "b"], "x", STYLE))}
    assert (len(found["a"].x), len(found["b"].x)) == (2, 1)
    assert list(found["a"].error_x.array) == [1.0, 0.0]


def test_thinning_keeps_extremes_and_small_samples():
    values = DRAW.normal(size=5_000)
    few = thinned(values, np.arange(5_000), 100)
    assert len(few) == 100
    assert {values.argmin(), values.argmax()} <= set(few.tolist())
    assert np.median(values[few]) == pytest.approx(np.median(values), abs=0.05)
    assert thinned(values, np.arange(7), 100).tolist() == list(range(7))


def test_points_carry_episode_ids_and_each_return_has_a_panel():
    its, episodes = sample(5), [played(number) for number in range(5)]
    rows = {"a": np.array([0, 2, 4])}
    spreads = {"a": (distribution(its.shaped_returns[rows["a"]]), distribution(its.env_returns[rows["a"]]))}
    found = marks(returns(its, episodes, rows, spreads, STYLE))
    shaped, env = (mark for mark in found if mark.customdata is not None)
    assert (shaped.xaxis, env.xaxis) == ("x", "x2")
    assert [row[0] for row in shaped.customdata] == ["episode-0", "episode-2", "episode-4"]
    assert list(shaped.x) == [2 * x for x in env.x]
    (cloud,) = marks(return_against_achievements(its, episodes, rows, STYLE))
    assert [round(y) for y in cloud.y] == its.n_unlocked[rows["a"]].tolist()


def test_unlock_times_show_reached_achievements_paler_if_rare():
    never = UnlockTime(4, 0, None, None, None)
    times = {
        "a": [UnlockTime(4, 4, 5.0, 8.0, 9.0), UnlockTime(4, 2, 1.0, 2.0, 3.0), *[never] * (len(ACHIEVEMENTS) - 2)]
    }
    mark = marks(unlock_quartiles(times, STYLE))[0]
    assert list(mark.x) == [2.0, 8.0]
    assert list(mark.marker.opacity) == [0.5, 1.0]
    assert "reached in 2 of 4 episodes (50%)" in mark.hovertext[0]


def test_an_unlock_curve_has_steps_in_percent():
    curve = unlock_curve(np.array([3.0, np.nan]), np.array([10, 10]), np.zeros(2, np.bool_))
    (line,) = traces(unlock_curves("wake_up", {"a": curve}, {"a": 2}, STYLE))
    assert (list(line.x), list(line.y), line.line.shape) == ([0, 3, 10], [0.0, 50.0, 50.0], "hv")


def test_hostile_names_are_escaped_in_charts(summaries: dict[str, Summary]):
    its, rows = sample(3), {HOSTILE: np.arange(3)}
    spreads = {HOSTILE: (distribution(its.shaped_returns), distribution(its.env_returns))}
    episodes = [played(number, policy=HOSTILE) for number in range(3)]
    pays = {HOSTILE: (ComponentPay(HOSTILE, HOSTILE, 1.0, 1.0, 1.0),)}
    curve = unlock_curve(np.array([3.0]), np.array([10]), np.zeros(1, np.bool_))
    for figure in (
        scores(summaries, published_rows()[:3], STYLE),
        success_rates(summaries, published_rows()[:3], STYLE),
        component_bars(pays, False, "light"),
        returns(its, episodes, rows, spreads, STYLE),
        return_against_achievements(its, episodes, rows, STYLE),
        unlock_curves("wake_up", {HOSTILE: curve}, {HOSTILE: 1}, STYLE),
    ):
        assert "<a" not in str(figure.to_json()).replace("\\u003c", "<")


def test_csv_rows_are_as_long_as_their_headings(summaries: dict[str, Summary]):
    pays = {"a": (ComponentPay("inventory", "drink", 1.0, 1.0, 1.0),)}
    for table in (
        scores_csv(summaries, published_rows()),
        success_csv(summaries, published_rows()),
        difficulty_csv({"easy": summaries}),
        pay_csv(pays),
    ):
        assert len(table) > 1
        assert {len(row) for row in table} == {len(table[0])}


def test_interval_texts_name_their_seeds():
    assert interval_text(Estimate(2.0, 1.5, 2.5)) == "1.5 – 2.5"
    assert interval_text(Estimate(0.0, -1.0, 1.0), 2) == "−1.00 – 1.00"
    assert interval_text(Estimate(2.0)) == "n/a"
    assert with_interval(Estimate(2.0), 1) == "no interval: 1 seed, needs 3"
    assert with_interval(Estimate(1.0, 1.0, 1.0), 4) == "no spread: equal on all 4 seeds"
    assert with_interval(Estimate(0.5, 0.2, 0.8), 9, 0, 100, "%") == "95% interval 20 – 80% over 9 seeds, rough"
    assert with_interval(Estimate(0.5, 0.2, 0.8), 12, 0, 100, "%") == "95% interval 20 – 80% over 12 seeds"


def test_differences_have_a_title_and_a_sentence_each():
    found = [
        Difference("reward configuration", (("a" * 16, {"x": 2, "y": 1}), ("b" * 16, {"y": 1}))),
        Difference("world's area", (((64, 64), {"x": 2}), ((32, 32), {"y": 2}))),
        Difference("time limit", ((3_600.0, {"x": 2}), (1.5, {"y": 2}))),
        Difference("ended early", ((False, {"x": 2}), (True, {"y": 1}))),
        Difference("policy settings", (((("model", "m" * 500),), {"x": 1}), ((("model", "n"),), {"x": 1}))),
    ]
    overlap = SeedOverlap({"x": (1, 2), "y": (2,)}, (2,))
    title = differences_title(found, overlap)
    assert title.startswith("Different settings: reward configuration, world's area, time limit")
    assert title.endswith("seeds. Some episodes were cut short.")
    reward, area, time_limit, early, settings, seeds = differences_sentences(found, overlap, {"a" * 16: RewardConfig()})
    assert reward.startswith("Reward configuration: aaaaaaaa: ")
    assert "bbbbbbbb (y 1 episode)" in reward
    assert "64×64 (x 2 episodes), 32×32 (y 2 episodes)" in area
    assert "3,600 s (x 2 episodes), 1.5 s" in time_limit
    assert early.startswith("Cut short (failed, stopped or interrupted): y 1 episode.")
    assert len(settings) < 300 and "They are compared as one policy" in settings
    assert seeds.startswith("Seeds: x 2, y 1; 1 in common.")
    assert differences_title([], SeedOverlap({"x": (1,)}, (1,))) == ""


def test_a_missing_correlation_is_explained():
    assert "ρ = +0.50, 95% interval +0.20 to +0.70 (40 episodes on 20 seeds)" in correlation_sentence(
        "a", RankCorrelation(40, 20, 0.5, 0.2, 0.7)
    )
    absent = correlation_sentence("a", RankCorrelation(4, 4, problem=NoCorrelation.SECOND_IS_CONSTANT))
    assert absent == (
        "a: n/a, because all its episodes unlocked the same number of achievements (4 episodes on 4 seeds)."
    )
    assert "one or two seeds have no interval" in correlation_sentence("a", RankCorrelation(4, 1, 0.5))
