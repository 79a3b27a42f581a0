"""Group-relative advantages (GRPO) before and after the edit, and which of them change their sign."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from urllib.parse import quote

import pandas as pd
import streamlit as st

from core.analysis.rescore import AdvantageChange, advantages
from core.text import plural
from pages.components.lab.shared.lab_text import from_to, policy_of, world_text
from pages.components.lab.shared.table import show_table
from pages.components.lab.what_if.rescored import Rescored
from pages.components.text.format import number, signed

_MAX_ROWS = 200
_ROWS_IN_SIGHT = 12

_COLUMNS = {
    "open": st.column_config.LinkColumn("Episode", display_text=r"id=(.{8})", width=76),
    "policy": st.column_config.TextColumn("Policy", width=72),
    "world": st.column_config.TextColumn("World", width=62),
    "returns": st.column_config.TextColumn("Return", width=108),
    "before": st.column_config.TextColumn("Before", width=60, help="Advantage before"),
    "after": st.column_config.TextColumn("Now", width=60, help="Advantage under this configuration"),
    "effect": st.column_config.TextColumn("Effect in training", width=150),
}


def show_advantages(result: Rescored) -> None:
    comparison = result.comparison
    st.caption(
        "GRPO compares an episode with its group: all episodes of the same seed (and world) in one run. Its "
        "advantage is its return minus the group’s mean, over the group’s standard deviation. Above 0 a trainer makes "
        "its actions more likely, below 0 less likely. If all returns of a group are equal, all advantages are 0. In a "
        "group of two with different returns they are +1 and −1."
    )
    if not comparison.n_groups:
        st.info(
            f"Each of the {number(comparison.n_alone)} episodes is alone in its group (seed and run). Launch "
            "several episodes per seed to get advantages."
        )
        st.page_link("pages/launch.py", label="Launch several episodes per seed →", query_params={"episodes": "4"})
        return
    groups = f"{plural(comparison.n_groups, 'group')} of several episodes"
    alone = f"; {plural(comparison.n_alone, 'episode')} alone, always at 0" if comparison.n_alone else ""
    flipped = {change.episode for change in comparison.advantages}
    st.text(f"Sign changes: {number(len(flipped))} ({groups}{alone}).")
    changes = _in_groups(result, flipped)
    rows = changes[:_MAX_ROWS]
    show_table(_table(result, rows), _COLUMNS, rows_in_sight=_ROWS_IN_SIGHT, key="lab_advantages")
    if len(changes) > len(rows):
        st.caption(
            f"Showing {number(len(rows))} of {number(len(changes))}: sign changes first, then the largest changes."
        )


def _in_groups(result: Rescored, flipped: Collection[int]) -> list[AdvantageChange]:
    """Every episode that is not alone in its group: sign changes first, then the largest changes."""
    sizes = Counter(episode.group for episode in result.episodes)
    before = advantages(result.episodes, result.before.returns)
    after = advantages(result.episodes, result.after.returns)
    changes = [
        AdvantageChange(at, float(before[at]), float(after[at]))
        for at, episode in enumerate(result.episodes)
        if sizes[episode.group] > 1
    ]
    return sorted(changes, key=lambda change: (change.episode not in flipped, -abs(change.after - change.before)))


def _table(result: Rescored, changes: Sequence[AdvantageChange]) -> pd.DataFrame:
    episodes = [result.episodes[change.episode] for change in changes]
    return pd.DataFrame(
        {
            "open": [f"/episode?id={quote(episode.id, safe='')}" for episode in episodes],
            "policy": [policy_of(episode) for episode in episodes],
            "world": [world_text(episode) for episode in episodes],
            "returns": [
                from_to(result.before.returns[change.episode], result.after.returns[change.episode])
                for change in changes
            ],
            "before": [signed(change.before) for change in changes],
            "after": [signed(change.after) for change in changes],
            "effect": [_effects(change) for change in changes],
        }
    )


def _effects(change: AdvantageChange) -> str:
    before, after = _effect(change.before), _effect(change.after)
    return before if before == after else f"{before} → {after}"


def _effect(advantage: float) -> str:
    return "more likely" if advantage > 0 else "less likely" if advantage < 0 else "unchanged"
