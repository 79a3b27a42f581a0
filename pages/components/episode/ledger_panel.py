"""The "Ledger" tab: what each component paid in each decision, whether it adds up, and what is still to come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import streamlit as st

from core.analysis.ledger import Floats, Ledger, LedgerColumn, Mismatch, cumulative, return_to_go
from core.types import RewardBreakdown
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
from pages.components.text.format import exact, short_id, signed, words
from pages.components.text.sentences import paid_sentence

VIEWS = ("Table", "Heat map", "Curves")
ROWS = 16

_ALWAYS_SHOWN = 12  # so few components are columns of every table
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


def show_ledger(track: EpisodeData, current: int, episode_id: str) -> None:
    """Draw the tab with a decision marked."""
    ledger = track.ledger
    logged, env = _rewards(track)
    view, gamma = _show_controls()
    go = partial(go_to_decision, episode_id, track.decisions)
    shaped_to_go, env_to_go = return_to_go(logged, gamma), return_to_go(env, gamma)
    by = "" if gamma == 1.0 else f", discounted by γ {gamma:g}"
    with st.container(gap="xxsmall", key="ledger-says"):
        st.caption(
            f"From decision {current:,} to the end{by}: shaped {signed(float(shaped_to_go[current]))}, "
            f"environment {signed(float(env_to_go[current]))}."
        )
        _show_check(ledger.first_mismatch(logged), len(ledger), go)
    if not ledger.columns:
        st.text("No component paid in this episode.")
        return
    theme = charts.theme()
    name = partial(file_name, "episode", short_id(episode_id), "ledger")
    if view == "Table":
        columns, rows = table_of(track, logged, shaped_to_go, current, theme)
        ledger_table(columns, rows, current, COLOURS["env"].on(theme), key=f"ledger-table-{episode_id}")
        st.caption(_what_the_table_shows(ledger, rows, columns, current))
    elif view == "Heat map":
        figure, bins = heat_map(ledger, track.breakdowns, env, current, theme)
        charts.show(
            figure,
            key=f"ledger-heat-{episode_id}",
            alt="Each component's reward per decision, above the environment's reward",
            seeks="decisions",
            download=Download(name("heat-map"), lambda: ledger_csv(track)),
        )
        st.caption(_what_the_heat_map_shows(ledger, bins.size))
    else:
        charts.show(
            curves(ledger, env, ReturnToGo(shaped_to_go, env_to_go), current, theme),
            key=f"ledger-curves-{episode_id}",
            alt="Each component's cumulative reward and the return-to-go, above the environment's",
            seeks="decisions",
            download=Download(name("curves"), lambda: curves_csv(track, ReturnToGo(shaped_to_go, env_to_go))),
        )
        if len(ledger.columns) > MAX_CURVES:
            st.caption(f"The {MAX_CURVES} components that moved most each have a line, the others one for each kind.")


def table_of(
    track: EpisodeData, logged: Floats, shaped_to_go: Floats, current: int, theme: Theme
) -> tuple[tuple[Column, ...], tuple[Row, ...]]:
    """The table's columns and rows: the current decision among those around it that earned something.

    What moved most in the whole episode comes first, so that a narrow window shows it and it stays where it is.
    """
    ledger = track.ledger
    mismatch = ledger.first_mismatch(logged)
    decisions = decisions_around(ledger, current, besides=() if mismatch is None else (mismatch.decision,))
    paid = ledger.paid[decisions]
    largest_first = np.argsort(-np.abs(ledger.paid).sum(axis=0), kind="stable").tolist()
    places = [at for at in largest_first if len(ledger.columns) <= _ALWAYS_SHOWN or paid[:, at].any()]
    most = float(np.max(np.abs(ledger.paid), initial=0.0)) or 1.0
    columns = tuple(_column(ledger.columns[at], theme) for at in places)
    rows: list[Row] = []
    for decision, values in zip(decisions, paid[:, places].tolist(), strict=True):
        breakdown, summary = track.breakdowns[decision], track.decisions[decision]
        cells = tuple(
            Cell(
                at,
                signed(value),
                _FAINTEST + (_STRONGEST - _FAINTEST) * (abs(value) / most) ** 0.5,
                one_line(_says(decision, ledger.columns[places[at]], breakdown), _MAX_CELL_LENGTH),
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
    """The current decision and those around it that earned something, so many in all where there are as many.

    besides: others that are listed in their place though none of their parts paid anything.
    """
    listed = np.union1d(ledger.earning, np.array(besides, np.int64))
    others = listed[listed != current]
    before = int(np.searchsorted(others, current))
    start = max(0, min(before - (rows - 1) // 2, len(others) - (rows - 1)))
    return sorted([current, *others[start : start + rows - 1].tolist()])


def ledger_csv(track: EpisodeData) -> list[list[CsvCell]]:
    """Every decision with what each component paid, what was logged, and what the environment paid."""
    return _csv(track, np.column_stack([track.ledger.paid, *_rewards(track)]), ["shaped_reward", "environment_reward"])


def curves_csv(track: EpisodeData, to_go: ReturnToGo) -> list[list[CsvCell]]:
    """Every decision with what each component had paid by then, both returns, and what is still to come."""
    sums = cumulative(np.column_stack([track.ledger.paid, *_rewards(track)]))
    ends = ["shaped_return", "environment_return", "shaped_to_go", "environment_to_go"]
    return _csv(track, np.column_stack([sums, to_go.shaped, to_go.env]), ends)


def _rewards(track: EpisodeData) -> tuple[Floats, Floats]:
    """What was logged and what the environment paid: two float64 (n,)."""
    logged = np.array([decision.reward for decision in track.decisions], np.float64)
    return logged, np.array([decision.env_reward for decision in track.decisions], np.float64)


def _csv(track: EpisodeData, numbers: Floats, last_names: list[str]) -> list[list[CsvCell]]:
    """A row for each decision: its number, its steps, and the numbers, those of the components first."""
    names = [f"{column.kind}: {safe_text(column.name, _MAX_CELL_LENGTH)}" for column in track.ledger.columns]
    rows: list[list[CsvCell]] = [["decision", "first_step", "end_step", *names, *last_names]]
    for decision, values in zip(track.decisions, numbers.tolist(), strict=True):
        rows.append([decision.index, decision.step_start, decision.step_end, *values])
    return rows


def _show_controls() -> tuple[str, float]:
    """The view, and gamma for what is still to come."""
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
        st.caption("Discount γ", width="content", help="Discount of the return-to-go; one decision counts as one step.")
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
    """Whether lambda times the sum of the parts is the reward that was logged."""
    if mismatch is None:
        agree = "The one decision agrees" if decisions == 1 else f"All {decisions:,} decisions agree"
        st.caption(f"{agree}: λ times the sum of the parts is the logged reward.")
        return
    at = mismatch.decision
    with st.container(horizontal=True, wrap=False, vertical_alignment="center", gap="small", key="ledger-mismatch"):
        st.markdown(
            f":red[**The books do not agree.** Decision {at:,} was logged as {_exact(mismatch.logged)}, and λ times "
            f"the sum of its parts is {_exact(mismatch.parts)}.]",
            width="stretch",
        )
        st.button(f"Go to decision {at:,}", key="go-to-mismatch", on_click=go, args=(at,))


def _what_the_table_shows(ledger: Ledger, rows: tuple[Row, ...], columns: tuple[Column, ...], current: int) -> str:
    paying = set(ledger.earning.tolist())
    listed = sum(row.decision in paying for row in rows)
    which = "all listed" if listed == len(paying) else f"the {listed} around decision {current:,} are listed"
    parts = [f"Something was paid in {len(paying):,} of {len(ledger):,} decisions; {which}."]
    left_out = len(ledger.columns) - len(columns)
    if left_out:
        parts.append(f"The {left_out} components that paid nothing in these rows have no column.")
    if np.any(ledger.lambdas != 1.0):
        parts.append("All amounts are times λ.")
    return " ".join(parts)


def _what_the_heat_map_shows(ledger: Ledger, size: int) -> str:
    parts = ["The stronger, the more was paid, by the square root; red took something away."]
    if size > 1:
        parts.append(f"Each column is the sum of {size} decisions, and a click goes to the one that paid most.")
    left_out = len(ledger.columns) - MAX_ROWS
    if left_out > 0:
        parts.append(f"The {left_out} components that moved least share the last row.")
    return " ".join(parts)


def _column(column: LedgerColumn, theme: Theme) -> Column:
    group = _GROUPS.get(column.kind, one_line(column.kind, _MAX_NAME_LENGTH))
    name = "any" if column.kind == "indicator" else words(one_line(column.name, _MAX_NAME_LENGTH))
    return Column(name, group, component_colour(*column, theme))


def _says(decision: int, column: LedgerColumn, breakdown: RewardBreakdown) -> str:
    return "; ".join(
        paid_sentence(decision, part, breakdown.effective_lambda)
        for part in breakdown.components
        if (part.kind, part.name) == column
    )


def _exact(value: float) -> str:
    return exact(round(value, 9))
