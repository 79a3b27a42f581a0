"""The "Ledger" tab: each component's reward in each decision, the check of the sum, and the return-to-go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import streamlit as st

from core.analysis.ledger import Ledger, LedgerColumn, Mismatch, return_to_go
from core.text import plural
from core.types import Floats, RewardBreakdown
from pages.components import charts
from pages.components.charts.component_colours import component_colour
from pages.components.charts.download import Cell as CsvCell
from pages.components.charts.download import Download, file_name
from pages.components.charts.figure import COLOURS, Theme
from pages.components.episode.ledger_charts import MAX_CURVES, MAX_ROWS, ReturnToGo, curves, heat_map
from pages.components.episode.ledger_table import Cell, Column, Row, ledger_table
from pages.components.player.episode_data import EpisodeData
from pages.components.player.position import go_to_decision
from pages.components.text.escape import one_line, safe_text
from pages.components.text.format import exact, name_text, number, short_id, signed
from pages.components.text.sentences import paid_sentence

VIEWS = ("Table", "Heat map", "Curves")
ROWS = 16

_ALWAYS_SHOWN = 12  # with at most so many components, all of them are columns
_STRONGEST = 0.5
_FAINTEST = 0.14
_MAX_NAME_LENGTH = 30
_MAX_CELL_LENGTH = 300
_GROUPS = {
    "indicator": "unlock",
    "achievement": "unlock",
    "inventory": "in inventory",
    "achievement_count": "count",
    "environment": "environment",
    "potential": "potential",
}


def show_ledger(data: EpisodeData, current: int, episode_id: str) -> None:
    ledger = data.ledger
    logged, env = _rewards(data)
    view, gamma = _show_controls()
    go = partial(go_to_decision, episode_id, data.decisions)
    shaped_to_go, env_to_go = return_to_go(logged, gamma), return_to_go(env, gamma)
    by = "" if gamma == 1.0 else f" (γ {gamma:g})"
    with st.container(gap="xxsmall", key="ledger-summary"):
        st.caption(
            f"Return-to-go from decision {current:,}{by}: shaped {signed(float(shaped_to_go[current]))}, "
            f"environment {signed(float(env_to_go[current]))}"
        )
        _show_check(ledger.first_mismatch(logged), len(ledger), go)
    if not ledger.columns:
        st.text("No component paid a reward in this episode.")
        return
    theme = charts.theme()
    name = partial(file_name, "episode", short_id(episode_id), "ledger")
    if view == "Table":
        columns, rows = table_of(data, logged, shaped_to_go, current, theme)
        ledger_table(columns, rows, current, COLOURS["env"].on(theme), key=f"ledger-table-{episode_id}")
        st.caption(_table_note(ledger, rows, columns, current))
    elif view == "Heat map":
        figure, bins = heat_map(ledger, data.breakdowns, env, current, theme)
        charts.show(
            figure,
            key=f"ledger-heat-{episode_id}",
            alt="Each component's reward per decision, above the environment's reward",
            seeks="decisions",
            download=Download(name("heat-map"), lambda: ledger_csv(data)),
        )
        st.caption(_heat_map_note(ledger, bins.size))
    else:
        charts.show(
            curves(ledger, env, ReturnToGo(shaped_to_go, env_to_go), current, theme),
            key=f"ledger-curves-{episode_id}",
            alt="Each component's cumulative reward and the return-to-go, above the environment's",
            seeks="decisions",
            download=Download(name("curves"), lambda: curves_csv(data, ReturnToGo(shaped_to_go, env_to_go))),
        )
        if len(ledger.columns) > MAX_CURVES:
            st.caption(f"One line for each of the {MAX_CURVES} largest components, and one for the rest of each kind")


def table_of(
    data: EpisodeData, logged: Floats, shaped_to_go: Floats, current: int, theme: Theme
) -> tuple[tuple[Column, ...], tuple[Row, ...]]:
    """The table's columns and rows; see `decisions_around` for which decisions are rows.

    Columns are sorted by their sum over the whole episode: a narrow window shows the largest, and they keep their
    places when another decision is chosen.
    """
    ledger = data.ledger
    mismatch = ledger.first_mismatch(logged)
    decisions = decisions_around(ledger, current, besides=() if mismatch is None else (mismatch.decision,))
    paid = ledger.paid[decisions]
    largest_first = np.argsort(-np.abs(ledger.paid).sum(axis=0), kind="stable").tolist()
    places = [at for at in largest_first if len(ledger.columns) <= _ALWAYS_SHOWN or paid[:, at].any()]
    most = float(np.max(np.abs(ledger.paid), initial=0.0)) or 1.0
    columns = tuple(_column(ledger.columns[at], theme) for at in places)
    rows: list[Row] = []
    for decision, values in zip(decisions, paid[:, places].tolist(), strict=True):
        breakdown, summary = data.breakdowns[decision], data.decisions[decision]
        cells = tuple(
            Cell(
                at,
                signed(value),
                _FAINTEST + (_STRONGEST - _FAINTEST) * (abs(value) / most) ** 0.5,
                one_line(_explanation(decision, ledger.columns[places[at]], breakdown), _MAX_CELL_LENGTH),
            )
            for at, value in enumerate(values)
            if value
        )
        rows.append(
            Row(
                decision,
                f"{decision:,}",
                signed(float(logged[decision])),
                signed(float(shaped_to_go[decision])),
                signed(summary.env_reward) if summary.env_reward else "",
                cells,
            )
        )
    return columns, tuple(rows)


def decisions_around(ledger: Ledger, current: int, rows: int = ROWS, besides: Sequence[int] = ()) -> list[int]:
    """Indexes of at most `rows` decisions, in order: the current one and the nearest that earned a reward.

    besides: decisions to list even if their components are all 0.
    """
    listed = np.union1d(ledger.earning, np.array(besides, np.int64))
    others = listed[listed != current]
    before = int(np.searchsorted(others, current))
    start = max(0, min(before - (rows - 1) // 2, len(others) - (rows - 1)))
    return sorted([current, *others[start : start + rows - 1].tolist()])


def ledger_csv(data: EpisodeData) -> list[list[CsvCell]]:
    return _csv(data, np.column_stack([data.ledger.paid, *_rewards(data)]), ["shaped_reward", "environment_reward"])


def curves_csv(data: EpisodeData, to_go: ReturnToGo) -> list[list[CsvCell]]:
    """A row for each decision: cumulative reward of each component, both returns, both returns-to-go."""
    sums = np.cumsum(np.column_stack([data.ledger.paid, *_rewards(data)]), axis=0)
    ends = ["shaped_return", "environment_return", "shaped_to_go", "environment_to_go"]
    return _csv(data, np.column_stack([sums, to_go.shaped, to_go.env]), ends)


def _rewards(data: EpisodeData) -> tuple[Floats, Floats]:
    """The shaped and the environment's reward of each decision: two float64 (n,)."""
    logged = np.array([decision.reward for decision in data.decisions], np.float64)
    return logged, np.array([decision.env_reward for decision in data.decisions], np.float64)


def _csv(data: EpisodeData, numbers: Floats, last_names: list[str]) -> list[list[CsvCell]]:
    """numbers: float64 (decisions, components + last_names)."""
    names = [f"{column.kind}: {safe_text(column.name, _MAX_CELL_LENGTH)}" for column in data.ledger.columns]
    rows: list[list[CsvCell]] = [["decision", "first_step", "end_step", *names, *last_names]]
    for decision, values in zip(data.decisions, numbers.tolist(), strict=True):
        rows.append([decision.index, decision.step_start, decision.step_end, *values])
    return rows


def _show_controls() -> tuple[str, float]:
    """The view and the discount."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="ledger-controls"):
        view = st.segmented_control(
            "View",
            VIEWS,
            default=VIEWS[0],
            required=True,
            key="ledger",
            label_visibility="collapsed",
            bind="query-params",
            persist_state="session",
        )
        st.space("stretch")
        st.caption("Discount γ", width="content", help="Discount of the return-to-go, per decision")
        gamma = st.number_input(
            "Discount γ",
            min_value=0.0,
            max_value=1.0,
            value=1.0,
            step=0.01,
            format="%g",
            key="to_go_gamma",
            label_visibility="collapsed",
            width=130,
            bind="query-params",
            persist_state="session",
        )
    return view or VIEWS[0], gamma


def _show_check(mismatch: Mismatch | None, decisions: int, go: Callable[[int], None]) -> None:
    if mismatch is None:
        where = "the only decision" if decisions == 1 else f"all {number(decisions)} decisions"
        st.caption(f"Components add up to the logged reward in {where}")
        return
    at = mismatch.decision
    with st.container(horizontal=True, wrap=False, vertical_alignment="center", gap="small", key="ledger-mismatch"):
        st.markdown(
            f":red[**Components do not add up.** Decision {at:,}: logged {_exact(mismatch.logged)}, "
            f"λ × components {_exact(mismatch.parts)}.]",
            width="stretch",
        )
        st.button(f"Go to decision {at:,}", key="go-to-mismatch", on_click=go, args=(at,))


def _table_note(ledger: Ledger, rows: tuple[Row, ...], columns: tuple[Column, ...], current: int) -> str:
    paying = set(ledger.earning.tolist())
    listed = sum(row.decision in paying for row in rows)
    which = "all shown" if listed == len(paying) else f"the {listed} around decision {current:,} are shown"
    parts = [f"{len(paying):,} of {plural(len(ledger), 'decision')} earned a reward; {which}"]
    if hidden := len(ledger.columns) - len(columns):
        parts.append(f"Hidden: {plural(hidden, 'component')} with no reward here")
    if np.any(ledger.lambdas != 1.0):
        parts.append("All amounts include λ")
    return ". ".join(parts)


def _heat_map_note(ledger: Ledger, size: int) -> str:
    parts = ["Colour strength: square root of the reward. Red: negative"]
    if size > 1:
        parts.append(f"Each column sums {size} decisions; a click goes to the largest")
    if (others := len(ledger.columns) - MAX_ROWS) > 0:
        parts.append(f"The {others} smallest components share the last row")
    return ". ".join(parts)


def _column(column: LedgerColumn, theme: Theme) -> Column:
    group = _GROUPS.get(column.kind, one_line(column.kind, _MAX_NAME_LENGTH))
    name = "any" if column.kind == "indicator" else name_text(one_line(column.name, _MAX_NAME_LENGTH))
    return Column(name, group, component_colour(*column, theme))


def _explanation(decision: int, column: LedgerColumn, breakdown: RewardBreakdown) -> str:
    return "; ".join(
        paid_sentence(decision, part, breakdown.effective_lambda)
        for part in breakdown.components
        if (part.kind, part.name) == column
    )


def _exact(value: float) -> str:
    return exact(round(value, 9))
