"""The Ledger tab: table, heat map, curves, return-to-go, and the check of the sum."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
import sqlalchemy as sa
from streamlit.testing.v1 import AppTest

from core.analysis.ledger import Ledger, return_to_go
from core.store import TraceStore
from core.types import RewardBreakdown, RewardComponent
from pages.components.episode.ledger_charts import (
    MAX_COLUMNS,
    MAX_CURVES,
    MAX_ROWS,
    ReturnToGo,
    curves,
    heat_map,
)
from pages.components.episode.ledger_panel import ROWS, curves_csv, decisions_around, ledger_csv, table_of
from pages.components.player.episode_data import EpisodeData
from pages.components.text.sentences import paid_sentence
from tests.support.episode_page import SCRIPTED, go_to, markdown, opened, selector
from tests.support.pages import captions, texts
from tests.support.records import decision_summary

HOSTILE = '![](http://example.org/x.png) <img src="http://example.org/y.png">'


def on_ledger(view: str = "Table", **query: str) -> AppTest:
    return opened(id=SCRIPTED, tab="Ledger", ledger=view, **query)


def charts(at: AppTest) -> int:
    return len(at.get("plotly_chart"))


def tampered(store: TraceStore, statement: str, **values: object) -> None:
    with store._database.writing() as connection:
        connection.execute(sa.text(statement), values)


def one_more(store: TraceStore, index: int, by: float = 0.5) -> None:
    """Adds `by` to the logged reward of one decision, so that its components no longer add up."""
    its = "SELECT id FROM episodes WHERE uuid = :uuid"
    tampered(
        store,
        f"UPDATE decisions SET reward = reward + :by WHERE idx = :idx AND episode_id = ({its})",
        by=by,
        idx=index,
        uuid=SCRIPTED,
    )


# -------------------------------------------------------------------------------------------- on the page


def test_every_view_draws_and_is_in_the_url(recorded: TraceStore):
    assert (charts(on_ledger("Table")), charts(on_ledger("Heat map")), charts(on_ledger("Curves"))) == (0, 1, 1)


def test_a_mismatch_is_shown_in_red_with_a_button_to_the_first_one(recorded: TraceStore):
    one_more(recorded, 9)
    one_more(recorded, 5)
    at = on_ledger(step="1")
    assert ":red[**Components do not add up.** Decision 5: logged" in markdown(at)
    assert "Components add up" not in captions(at)
    at.button(key="go-to-mismatch").click().run()
    assert selector(at).value == 5


def test_the_table_marks_the_decision_and_its_return_to_go(recorded: TraceStore):
    rewards = recorded.episodes.decisions(SCRIPTED)
    at = on_ledger()
    go_to(at, 4)
    shaped = sum(row.reward for row in rewards[4:])
    env = sum(row.env_reward for row in rewards[4:])
    assert f"Return-to-go from decision 4: shaped {shaped:+.2f}, environment {env:+.2f}" in captions(at)
    (table,) = [each for each in at.get("bidi_component") if "ledger_table" in each.proto.component_name]
    sent = json.loads(table.proto.json)
    assert sent["current"] == 4 and 4 in [row["decision"] for row in sent["rows"]]
    assert f"Components add up to the logged reward in all {len(rewards)} decisions" in captions(at)
    assert "do not add up" not in markdown(at)
    discounted = return_to_go([row.reward for row in rewards], 0.5)[0]
    assert f"(γ 0.5): shaped {discounted:+.2f}" in captions(on_ledger(to_go_gamma="0.5"))


def test_an_episode_without_rewards_says_so(recorded: TraceStore):
    tampered(recorded, "DELETE FROM reward_components")
    tampered(recorded, "UPDATE decisions SET reward = 0")
    for view in ("Table", "Heat map", "Curves"):
        assert "No component paid a reward in this episode." in texts(on_ledger(view))


def test_names_from_a_trace_are_never_read_as_markdown(recorded: TraceStore):
    tampered(recorded, "UPDATE component_types SET name = name || :hostile, kind = kind || :hostile", hostile=HOSTILE)
    for view in ("Table", "Heat map", "Curves"):
        at = on_ledger(view)
        assert "example.org" not in markdown(at)
        assert all("<img" not in chart.proto.spec for chart in at.get("plotly_chart"))


# ----------------------------------------------------------------------------------------------- its figures


def part(name: str, value: float, kind: str = "inventory") -> RewardComponent:
    return RewardComponent(kind, name, 1, value, value)


def paid(*parts: RewardComponent, by: float = 1.0) -> RewardBreakdown:
    return RewardBreakdown("mine", by, parts)


def episode_data_of(breakdowns: list[RewardBreakdown]) -> EpisodeData:
    decisions = tuple(
        replace(decision_summary(at, at, at + 1), reward=each.total, env_reward=0.1 * (at % 3))
        for at, each in enumerate(breakdowns)
    )
    return EpisodeData(None, decisions, None, "", (), {}, (), (), None, tuple(breakdowns))


def long_episode(n: int = 10_000, names: int = 40) -> list[RewardBreakdown]:
    draw = np.random.default_rng(0)
    return [
        paid(part(f"thing {draw.integers(names)}", float(draw.normal()))) if draw.random() < 0.3 else paid()
        for _ in range(n)
    ]


def traces(figure: go.Figure) -> tuple[Any, ...]:
    return tuple(figure.data)


def targets(figure: go.Figure) -> dict[str, list[list[int | None]]]:
    return figure.to_dict()["layout"]["meta"]["decisions"]


def test_the_table_lists_the_current_decision_and_rewarded_ones_around_it():
    breakdowns = [paid(part("wood", 0.1)) if at % 10 == 0 else paid() for at in range(1_000)]
    ledger = Ledger.of(breakdowns)
    assert decisions_around(ledger, 505) == sorted([*range(440, 581, 10), 505])
    assert decisions_around(ledger, 500) == list(range(430, 581, 10))
    assert decisions_around(ledger, 0) == list(range(0, 160, 10))
    assert decisions_around(ledger, 999) == [*range(850, 1_000, 10), 999]
    assert all(len(decisions_around(ledger, current)) == ROWS for current in range(0, 1_000, 7))
    data = episode_data_of(long_episode())
    logged = np.array([row.reward for row in data.decisions])
    columns, rows = table_of(data, logged, return_to_go(logged), 5_000, "dark")
    assert len(rows) == ROWS and len(columns) <= ROWS


def test_a_mismatched_decision_is_listed_even_without_components():
    data = episode_data_of([paid(part("wood", 0.1)), paid(), paid(), paid(part("wood", 0.1))])
    logged = np.array([0.1, 0.0, 0.5, 0.1])
    _, rows = table_of(data, logged, np.zeros(4), 0, "light")
    assert [(row.decision, row.shaped, row.cells == ()) for row in rows] == [
        (0, "+0.10", False),
        (2, "+0.50", True),
        (3, "+0.10", False),
    ]


def test_a_cell_explains_its_reward():
    breakdowns = [paid(part("wood", 0.1), part("health", 0.001), by=0.5), paid()]
    data = episode_data_of(breakdowns)
    logged = np.array([row.reward for row in data.decisions])
    columns, (first, second) = table_of(data, logged, return_to_go(logged), 1, "light")
    assert [column.name for column in columns] == ["wood", "health"]  # what pays most comes first
    assert [cell.text for cell in first.cells] == ["+0.05", "+0.0005"]
    assert first.cells[0].tooltip == paid_sentence(0, breakdowns[0].components[0], 0.5)
    assert first.cells[0].tooltip == "decision 0: λ 0.5 × wood +1 in inventory × 0.10 = +0.05"
    assert (first.shaped, second.cells, second.shaped, second.env) == ("+0.05", (), "0.00", "+0.10")


def test_the_heat_map_of_a_long_episode_groups_decisions():
    data = episode_data_of(long_episode())
    env = np.array([row.env_reward for row in data.decisions])
    figure, bins = heat_map(data.ledger, data.breakdowns, env, 5_000, "dark")
    cells, bars = traces(figure)
    assert bins.size == 84
    assert len(cells.x) == len(bars.x) <= MAX_COLUMNS
    assert len(cells.z) == MAX_ROWS + 1  # the last for all others
    assert len(str(figure.to_json())) < 400_000
    rows = targets(figure)["xy"]
    strongest = np.abs(data.ledger.paid[: bins.size])
    kept = [at for at in range(len(data.ledger.columns)) if strongest[:, at].any()]
    assert kept
    for row, line in zip(rows, cells.z, strict=True):
        assert None not in [target for target, place in zip(row, line, strict=True) if place is not None]
    assert all(start * bins.size <= target < (start + 1) * bins.size for start, target in picked(rows[0]))


def picked(row: list[int | None]) -> list[tuple[int, int]]:
    return [(at, target) for at, target in enumerate(row) if target is not None]


def test_a_click_on_a_heat_map_cell_goes_to_its_largest_reward():
    breakdowns = [paid() for _ in range(2 * MAX_COLUMNS)]
    breakdowns[4], breakdowns[5] = paid(part("wood", 0.1)), paid(part("wood", 0.3))
    figure, bins = heat_map(Ledger.of(breakdowns), breakdowns, np.zeros(2 * MAX_COLUMNS), 0, "light")
    assert bins.size == 2
    assert picked(targets(figure)["xy"][0]) == [(2, 5)]
    (says,) = [text for text in traces(figure)[0].hovertext[0] if text]
    assert says.startswith("<b>decisions 4–5</b>: wood in inventory +0.40")
    assert "decision 5: wood +1 in inventory × 0.30 = +0.3" in says


def test_a_click_on_an_empty_heat_map_cell_goes_to_the_largest_reward_of_its_column():
    breakdowns = [paid() for _ in range(2 * MAX_COLUMNS)]
    breakdowns[5], breakdowns[9] = paid(part("wood", 0.3)), paid(part("stone", 0.1))
    figure, _ = heat_map(Ledger.of(breakdowns), breakdowns, np.zeros(2 * MAX_COLUMNS), 0, "light")
    assert [picked(row) for row in targets(figure)["xy"]] == [[(2, 5), (4, 9)]] * 2


def test_negative_rewards_have_the_other_end_of_the_colour_scale():
    breakdowns = [paid(part("wood", 1.0)), paid(part("wood", -1.0)), paid()]
    cells = traces(heat_map(Ledger.of(breakdowns), breakdowns, np.zeros(3), 0, "light")[0])[0]
    more, less, nothing = cells.z[0]
    assert less < 0.5 < more
    assert nothing is None


def test_the_environment_has_its_own_axis_in_every_figure():
    breakdowns = long_episode(200)
    env, ledger = np.arange(200.0), Ledger.of(breakdowns)
    *others, bars = traces(heat_map(ledger, breakdowns, env, 3, "light")[0])
    assert bars.yaxis == "y2"
    assert all(trace.yaxis != "y2" for trace in others)
    lines = traces(curves(ledger, env, ReturnToGo(return_to_go(ledger.totals), return_to_go(env)), 3, "light"))
    assert [line.name for line in lines if line.yaxis == "y3"] == ["environment", "environment return-to-go"]
    assert [line.name for line in lines if line.yaxis == "y2"] == ["shaped return-to-go"]


def test_curves_end_at_their_sums_which_add_up_to_the_return():
    ledger, env = Ledger.of(long_episode(500)), np.ones(500)
    to_go = ReturnToGo(return_to_go(ledger.totals), return_to_go(env))
    *lines, shaped, paid_by_env, env_to_go = traces(curves(ledger, env, to_go, 3, "light"))
    assert len(lines) == MAX_CURVES + 1
    assert sum(line.y[-1] for line in lines) == pytest.approx(ledger.totals.sum(), abs=1e-3)
    assert (paid_by_env.x[-1], paid_by_env.y[-1]) == (499, 500.0)
    assert shaped.y[0] == pytest.approx(ledger.totals.sum(), abs=1e-3)
    assert (env_to_go.y[0], env_to_go.y[-1]) == (500.0, 1.0)
    assert paid_by_env.customdata[-1] == "+500.00"


def test_the_csv_of_the_charts_has_every_decision_and_adds_up():
    data = episode_data_of(long_episode(300, names=3))
    head, *rows = ledger_csv(data)
    assert head == [
        *("decision", "first_step", "end_step"),
        *(f"inventory: thing {at}" for at in range(3)),
        *("shaped_reward", "environment_reward"),
    ]
    assert len(rows) == 300
    for row in rows:
        *_, a, b, c, shaped, _ = [float(cell or 0) for cell in row]
        assert a + b + c == pytest.approx(shaped)
    to_go = return_to_go(data.ledger.totals)
    head, first, *_, last = curves_csv(data, ReturnToGo(to_go, to_go))
    assert head[-4:] == ["shaped_return", "environment_return", "shaped_to_go", "environment_to_go"]
    assert float(last[-4] or 0) == pytest.approx(float(first[-2] or 0)) == pytest.approx(data.ledger.totals.sum())
