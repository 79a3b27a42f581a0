"""Group-relative advantages: whom a trainer would push up or down, and for whom that turns round."""

from __future__ import annotations

from urllib.parse import quote

import pandas as pd
import streamlit as st

from core.rescore import AdvantageChange
from pages.components.format import number, signed
from pages.components.lab.rescored import Rescored
from pages.components.lab.words import from_to, policy_of, world_in_words

_MOST_ROWS = 200
_ROWS_IN_SIGHT = 12
_ROW_PX = 33

_COLUMNS = {
    "open": st.column_config.LinkColumn("Episode", display_text=r"id=(.{8})", width=78),
    "policy": st.column_config.TextColumn("Policy", width=92),
    "world": st.column_config.TextColumn("World", width=84),
    "returns": st.column_config.TextColumn("Return", width=136),
    "before": st.column_config.TextColumn("Advantage before", width=120),
    "after": st.column_config.TextColumn("Advantage now", width=120),
    "means": st.column_config.TextColumn("What a trainer would do"),
}


def show_advantages(result: Rescored) -> None:
    """What they are, and those that change their sign."""
    comparison = result.comparison
    st.caption(
        "GRPO compares an episode with its group: all episodes of the same seed (and world) in one launch. Its "
        "advantage is its return minus the group’s mean, over the group’s standard deviation. Above 0 a trainer makes "
        "what it did more likely, below 0 less likely. Where all of a group earn the same it is 0."
    )
    if not comparison.n_groups:
        st.info(
            f"Each of the {number(comparison.n_alone)} episodes is alone in its group (seed and launch): launch "
            "several episodes per seed to get advantages."
        )
        st.page_link("pages/launch.py", label="Launch several episodes per seed →", query_params={"episodes": "4"})
        return
    groups = f"{number(comparison.n_groups)} group{'s' * (comparison.n_groups != 1)} of several episodes"
    alone = (
        f"; {number(comparison.n_alone)} episode{'s are' if comparison.n_alone != 1 else ' is'} alone and always at 0"
        if comparison.n_alone
        else ""
    )
    changes = comparison.advantages
    if not changes:
        st.text(f"No advantage changes its sign ({groups}{alone}).")
        return
    st.text(
        f"{number(len(changes))} advantage{'s change their signs' if len(changes) != 1 else ' changes its sign'} "
        f"({groups}{alone})."
    )
    rows = changes[:_MOST_ROWS]
    st.dataframe(
        _table(result, rows),
        hide_index=True,
        row_height=_ROW_PX,
        height="content" if len(rows) <= _ROWS_IN_SIGHT else _ROW_PX * (_ROWS_IN_SIGHT + 1) + 2,
        column_config=_COLUMNS,
    )
    if len(changes) > len(rows):
        st.caption(f"The {number(len(rows))} largest changes of {number(len(changes))}; the others are left out.")


def _table(result: Rescored, changes: tuple[AdvantageChange, ...]) -> pd.DataFrame:
    episodes = [result.episodes[change.episode] for change in changes]
    return pd.DataFrame(
        {
            "open": [f"/episode?id={quote(episode.id, safe='')}" for episode in episodes],
            "policy": [policy_of(episode) for episode in episodes],
            "world": [world_in_words(episode) for episode in episodes],
            "returns": [
                from_to(result.before.returns[change.episode], result.after.returns[change.episode])
                for change in changes
            ],
            "before": [signed(change.before) for change in changes],
            "after": [signed(change.after) for change in changes],
            "means": [f"{_push(change.before)} → {_push(change.after)}" for change in changes],
        }
    )


def _push(advantage: float) -> str:
    return "more of it" if advantage > 0 else "less of it" if advantage < 0 else "nothing"
