"""All episodes in scope, largest rank changes first, and the chosen one in detail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import quote

import numpy as np
import pandas as pd
import streamlit as st

from pages.components import charts
from pages.components.charts.download import Download, Table, chart_with_downloads
from pages.components.lab.shared.lab_text import episode_title, from_to, policy_of, world_text
from pages.components.lab.shared.marks import PolicyStyle, policy_places
from pages.components.lab.shared.table import show_table
from pages.components.lab.what_if.charts import returns_scatter
from pages.components.lab.what_if.rescored import Rescored
from pages.components.lab.what_if.why import change_text, show_why
from pages.components.text.format import number, signed

_EPISODE: Final = "lab_episode"
_FIRST_PAGE: Final = "lab_ranks_first_page"
_CLICKS: Final = "lab_scatter_clicks"
_MAX_POINTS = 1_500
_PAGE_ROWS = 25
_ROWS_IN_SIGHT = 8

_COLUMNS = {
    "open": st.column_config.LinkColumn("Episode", display_text=r"id=(.{8})", width=78),
    "policy": st.column_config.TextColumn("Policy", width=92),
    "world": st.column_config.TextColumn("World", width=84),
    "achievements": st.column_config.NumberColumn("Ach.", width=48, help="Achievements reached"),
    "before": st.column_config.NumberColumn("Before", width=76, help="Its return before"),
    "after": st.column_config.NumberColumn("Now", width=76, help="Its return under this configuration"),
    "change": st.column_config.NumberColumn("Change", width=76),
    "rank": st.column_config.TextColumn("Rank", width=86, help="Before → now; 1 is the highest return"),
    "climbed": st.column_config.NumberColumn("Places", width=62, help="Change in rank"),
}


def show_rank_changes(result: Rescored, before: str, policies: Mapping[str, str]) -> None:
    """before: the label of the first scoring. policies: the policy of every stored episode, by its id."""
    climbed = np.abs(result.ranks_before - result.ranks_after)
    order = np.lexsort((result.ranks_after, -np.abs(np.round(result.changes, 6)), -climbed))
    place = result.place_of(st.session_state.get(_EPISODE, ""))
    chosen = int(order[0]) if place is None else place
    _scatter(result, order, before, policies, chosen)
    _table(result, order, chosen)
    show_episode(result, chosen)


def _scatter(result: Rescored, order: np.ndarray, before: str, policies: Mapping[str, str], chosen: int) -> None:
    style = PolicyStyle(policy_places(policies.values()), charts.theme())
    drawn = [int(at) for at in order[:_MAX_POINTS]]
    download = Download("returns-before-and-now", lambda: _as_table(result))
    figure = returns_scatter(result, drawn, policies, chosen, before, style)
    key = "lab_scatter"
    with chart_with_downloads("lab-scatter", download):
        st.plotly_chart(
            figure,
            key=key,
            config=charts.CONFIG | download.config,
            theme="streamlit",
            on_select=lambda: _pick_point(key),
            selection_mode="points",
            alt="Return of each episode before and under this configuration",
        )
    left_out = len(result.episodes) - len(drawn)
    more = f" {number(left_out)} episodes with smaller changes are not drawn." if left_out else ""
    st.caption(
        f"Below the dotted line an episode earns less than before, above it more. Click a point to see why.{more}"
    )


def _pick_point(key: str) -> None:
    points = st.session_state[key]["selection"]["points"]
    if points and (clicked := points[0].get("customdata")):
        st.session_state[_EPISODE] = clicked[0]
        st.session_state[_CLICKS] = st.session_state.get(_CLICKS, 0) + 1


def _table(result: Rescored, order: np.ndarray, chosen: int) -> None:
    pages = -(-len(order) // _PAGE_ROWS)
    clicks = st.session_state.get(_CLICKS, 0)
    pager = f"lab_ranks_page:{clicks}"
    if pager not in st.session_state and clicks:  # a point was clicked: go to the page with its row
        st.session_state[_FIRST_PAGE] = int(np.flatnonzero(order == chosen)[0]) // _PAGE_ROWS + 1
    first_page = min(st.session_state.get(_FIRST_PAGE, 1), pages)
    page = min(max(1, st.session_state.get(pager, first_page)), pages)
    rows = [int(at) for at in order[(page - 1) * _PAGE_ROWS : page * _PAGE_ROWS]]

    def pick(row: int | None) -> None:
        # A table that a click in the chart replaced may still report the row that was marked in it.
        if row is not None and clicks == st.session_state.get(_CLICKS, 0):
            st.session_state[_EPISODE] = result.episodes[rows[row]].id

    show_table(
        _frame(result, rows),
        _COLUMNS,
        rows_in_sight=_ROWS_IN_SIGHT,
        key=f"lab_ranks:{page}:{clicks}:{result.token}",  # a click in the chart replaces the choice
        formats=dict.fromkeys(("before", "after", "change"), signed) | {"climbed": lambda places: signed(places, 0)},
        marked=rows.index(chosen) if chosen in rows else None,
        on_pick=pick,
    )
    if pages > 1:
        with st.container(horizontal=True, vertical_alignment="center"):
            first = (page - 1) * _PAGE_ROWS + 1
            last = first + len(rows) - 1
            st.caption(
                f"{number(first)}–{number(last)} of {number(len(order))} episodes, largest changes first",
                width="content",
            )
            st.space("stretch")
            st.pagination(pages, default=first_page, key=pager)


def _frame(result: Rescored, rows: Sequence[int]) -> pd.DataFrame:
    episodes = [result.episodes[at] for at in rows]
    old, new = result.ranks_before[rows], result.ranks_after[rows]
    return pd.DataFrame(
        {
            "open": [f"/episode?id={quote(episode.id, safe='')}" for episode in episodes],
            "policy": [policy_of(episode) for episode in episodes],
            "world": [world_text(episode) for episode in episodes],
            "achievements": [episode.n_achievements for episode in episodes],
            "before": result.before.returns[rows],
            "after": result.after.returns[rows],
            "change": result.changes[rows],
            "rank": [f"{number(one)} → {number(other)}" for one, other in zip(old, new, strict=True)],
            "climbed": old - new,
        }
    )


def _as_table(result: Rescored) -> Table:
    heading = ("episode", "policy", "seed", "achievements", "before", "now", "rank before", "rank now")
    return [
        heading,
        *(
            (
                episode.id,
                episode.policy,
                episode.seed,
                episode.n_achievements,
                float(result.before.returns[at]),
                float(result.after.returns[at]),
                int(result.ranks_before[at]),
                int(result.ranks_after[at]),
            )
            for at, episode in enumerate(result.episodes)
        ),
    ]


def show_episode(result: Rescored, at: int) -> None:
    """Shows the episode at this place of the scope: its change, and why."""
    episode = result.episodes[at]
    with st.container(border=True, key="lab-episode"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown("**The chosen episode**", width="content")
            st.page_link("pages/episode.py", label="Open it →", query_params={"id": episode.id}, width="content")
        returns = from_to(result.before.returns[at], result.after.returns[at])
        st.text(f"{episode_title(episode)}: return {returns}, {change_text(result, at)}.")
        show_why(result, (at,), "episode")
