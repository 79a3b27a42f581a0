"""Pairs of episodes in the same world: those that swap their order, and those where fewer achievements earn more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pandas as pd
import streamlit as st

from core.analysis.rescore import SwappedPair
from core.analysis.tolerance import is_equal
from core.text import plural
from pages.components.lab.shared.example import offer_example, show_progress
from pages.components.lab.shared.lab_text import episode_name, from_to, world_text
from pages.components.lab.shared.table import show_table
from pages.components.lab.what_if.rescored import Rescored
from pages.components.lab.what_if.why import show_why
from pages.components.text.format import amount, number

SWAPPED: Final = "swapped"
CONTRARY: Final = "contrary"

_SHOWN: Final = "lab_pairs_shown"
_PICKED: Final = "lab_pairs_picked"
_PAIR: Final = "lab_pair"
_MAX_ROWS = 100
_ROWS_IN_SIGHT = 5
# These add up to the width of the results in a window of 1,024 pixels.
_WORLD_PX, _NAME_PX, _RETURNS_PX = 58, 116, 100

_COLUMNS = {
    "world": st.column_config.TextColumn("World", width=_WORLD_PX),
    "first": st.column_config.TextColumn("Ahead before", width=_NAME_PX),
    "first_returns": st.column_config.TextColumn("Its return", width=_RETURNS_PX),
    "second": st.column_config.TextColumn("Ahead now", width=_NAME_PX),
    "second_returns": st.column_config.TextColumn("Its return", width=_RETURNS_PX),
}
_CONTRARY_COLUMNS = _COLUMNS | {
    "first": st.column_config.TextColumn("More achievements", width=_NAME_PX + 14, help="And how many"),
    "second": st.column_config.TextColumn("Higher return", width=_NAME_PX + 14, help="And how many achievements"),
}


def show_pairs(result: Rescored) -> None:
    """Shows one of the two lists, and the chosen pair in detail."""
    comparison = result.comparison
    if not comparison.swaps.n_pairs:
        if show_progress():
            return
        st.info("No two episodes here share a world, so there are no pairs to compare.")
        st.page_link("pages/launch.py", label="Launch several policies or episodes on one seed →")
        offer_example("pairs")
        return
    contrary = result.against_achievements
    counts = {SWAPPED: comparison.swaps.n_swaps, CONTRARY: contrary.n_swaps}
    shown = _list_picker(counts)
    pairs = comparison.swaps.pairs if shown == SWAPPED else contrary.pairs
    pair = _pair_to_show(result, pairs[:_MAX_ROWS])
    if pairs:
        _table(result, pairs, shown, counts[shown], pair)
    else:
        pairs_text = plural(comparison.swaps.n_pairs, "pair")
        what = "swap their order" if shown == SWAPPED else "pay more for fewer achievements"
        st.caption(f"Of {pairs_text} in the same world, none {what}.")
        if not any(counts.values()):
            offer_example("pairs")
    if pair is not None:
        _show_pair(result, pair)


def _list_picker(counts: dict[str, int]) -> str:
    """Returns which list to show: the picked one, else one that is not empty."""
    default = SWAPPED if counts[SWAPPED] or not counts[CONTRARY] else CONTRARY
    wanted: str = st.session_state.get(_PICKED) or default
    if st.session_state.get(_SHOWN) != wanted:  # Streamlit drops the value of a widget that was not drawn
        st.session_state[_SHOWN] = wanted
    labels = {
        SWAPPED: f"Swap their order ({number(counts[SWAPPED])})",
        CONTRARY: f"Fewer achievements, higher return ({number(counts[CONTRARY])})",
    }
    chosen = st.segmented_control(
        "Pairs in the same world",
        (SWAPPED, CONTRARY),
        format_func=lambda which: labels[which],
        key=_SHOWN,
        required=True,
        on_change=_pick,
        label_visibility="collapsed",
        help="Pairs of episodes of the same seed and world.",
    )
    return chosen or wanted


def _pick() -> None:
    st.session_state[_PICKED] = st.session_state[_SHOWN]


def _table(
    result: Rescored, pairs: Sequence[SwappedPair], shown: str, count: int, marked: tuple[int, int] | None
) -> None:
    rows = pairs[:_MAX_ROWS]

    def pick(row: int | None) -> None:
        st.session_state[_PAIR] = None if row is None else _ids(result, rows[row])

    show_table(
        _rows(result, rows, shown),
        _COLUMNS if shown == SWAPPED else _CONTRARY_COLUMNS,
        rows_in_sight=_ROWS_IN_SIGHT,
        key=f"lab_pairs:{shown}:{result.token}",
        marked=next((at for at, pair in enumerate(rows) if {pair.ahead, pair.behind} == set(marked or ())), None),
        on_pick=pick,
    )
    if count > len(rows):
        st.caption(f"The {number(len(rows))} clearest of {number(count)}; the rest is not listed.")


def _rows(result: Rescored, pairs: Sequence[SwappedPair], shown: str) -> pd.DataFrame:
    episodes, before, after = result.episodes, result.before.returns, result.after.returns

    def label(at: int) -> str:
        count = f" · {episodes[at].n_achievements}" if shown == CONTRARY else ""
        return f"{episode_name(episodes[at])}{count}"

    return pd.DataFrame(
        {
            "world": [world_text(episodes[pair.ahead]) for pair in pairs],
            "first": [label(pair.ahead) for pair in pairs],
            "first_returns": [from_to(before[pair.ahead], after[pair.ahead]) for pair in pairs],
            "second": [label(pair.behind) for pair in pairs],
            "second_returns": [from_to(before[pair.behind], after[pair.behind]) for pair in pairs],
        }
    )


def _ids(result: Rescored, pair: SwappedPair) -> tuple[str, str]:
    return result.episodes[pair.ahead].id, result.episodes[pair.behind].id


def _pair_to_show(result: Rescored, listed: Sequence[SwappedPair]) -> tuple[int, int] | None:
    """The chosen pair if it is listed, else the first one listed.

    With an empty list it stays the chosen pair: the user wants to see how the edit resolved it.
    """
    chosen: tuple[str, str] | None = st.session_state.get(_PAIR)
    if listed:
        pair = next((pair for pair in listed if set(_ids(result, pair)) == set(chosen or ())), listed[0])
        st.session_state[_PAIR] = _ids(result, pair)
        return pair.ahead, pair.behind
    if chosen is None:
        return None
    one, other = (result.place_of(name) for name in chosen)
    return None if one is None or other is None else (one, other)


def _show_pair(result: Rescored, pair: tuple[int, int]) -> None:
    with st.container(border=True, key="lab-pair"):
        # Sorted by achievements, so that both keep their sides when they swap.
        one, other = sorted(pair, key=lambda at: (-result.episodes[at].n_achievements, at))
        st.markdown(f"**The pair on {world_text(result.episodes[one])}**")
        st.text(order_text(result, one, other))
        show_why(result, (one, other), "pair")


def order_text(result: Rescored, one: int, other: int) -> str:
    """Which of two episodes is ahead, by how much, and whether that has changed."""
    episodes, before, after = result.episodes, result.before.returns, result.after.returns
    were_equal = bool(is_equal(before[one], before[other]))

    def text(at: int) -> str:
        return f"{episode_name(episodes[at])} ({plural(episodes[at].n_achievements, 'achievement')})"

    if before[one] < before[other]:
        one, other = other, one
    place = "is even with" if were_equal else "is ahead of"
    was = f"{text(one)} {place} {text(other)}"
    gap = f"{amount(before[one])} to {amount(before[other])}"
    if result.changes_nothing:
        return f"{was}: {gap}."
    now = f"{amount(after[one])} to {amount(after[other])}"
    past = f"{text(one)} {place.replace('is', 'was', 1)} {text(other)}"
    if is_equal(after[one], after[other]):
        return f"{was}: {gap}, and now {now}." if were_equal else f"{past}, {gap}. Now they are equal: {now}."
    if were_equal:
        return f"{past}, {gap}. Now it is {'ahead' if after[one] > after[other] else 'behind'}: {now}."
    if after[one] < after[other]:
        return f"Swapped: {past}, {gap}. Now it is behind: {now}."
    return f"{was}: {gap}, and now {now}."
