"""Pairs of episodes in the same world: which swap their order, and which pay more for less."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pandas as pd
import streamlit as st

from core.analysis.numbers import is_equal
from core.analysis.rescore import SwappedPair
from pages.components.lab.shared.example import offer_example, show_progress
from pages.components.lab.shared.lab_text import achievements_in_words, from_to, named, world_in_words
from pages.components.lab.what_if.rescored import Rescored
from pages.components.lab.what_if.why import show_why
from pages.components.shared.form_state import FormState
from pages.components.text.format import amount, number

SWAPPED: Final = "swapped"
AGAINST: Final = "against"

_SHOWN: Final = "lab_pairs_shown"
_PICKED: Final = "lab_pairs_picked"
_PAIR: Final = "lab_pair"
_MAX_ROWS = 100
_ROWS_IN_SIGHT = 5
_ROW_PX = 33
# Together as wide as the results are in a window of 1,024 pixels.
_WORLD_PX, _NAME_PX, _RETURNS_PX = 58, 116, 100

_COLUMNS = {
    "world": st.column_config.TextColumn("World", width=_WORLD_PX),
    "first": st.column_config.TextColumn("Ahead before", width=_NAME_PX),
    "first_returns": st.column_config.TextColumn("Its return", width=_RETURNS_PX),
    "second": st.column_config.TextColumn("Ahead now", width=_NAME_PX),
    "second_returns": st.column_config.TextColumn("Its return", width=_RETURNS_PX),
}
_AGAINST_COLUMNS = _COLUMNS | {
    "first": st.column_config.TextColumn("More achievements", width=_NAME_PX + 14, help="And how many"),
    "second": st.column_config.TextColumn("Higher return", width=_NAME_PX + 14, help="And how many achievements"),
}


def show_pairs(result: Rescored, form: FormState) -> None:
    """The lists, and the chosen pair taken apart."""
    comparison = result.comparison
    if not comparison.n_pairs:
        if show_progress():
            return
        st.info("No two episodes here share a world, so there are no pairs to compare.")
        st.page_link("pages/launch.py", label="Launch several policies or episodes on one seed →")
        offer_example("pairs")
        return
    against = result.against_achievements
    counts = {SWAPPED: comparison.n_swaps, AGAINST: against.n_swaps}
    shown = _which(counts)
    pairs = comparison.swaps if shown == SWAPPED else against.swaps
    pair = _pair_to_show(result, pairs[:_MAX_ROWS])
    if pairs:
        _list(result, pairs, shown, counts[shown], pair)
    else:
        st.caption(_none_in_words(shown, comparison.n_pairs))
        if not any(counts.values()):
            offer_example("pairs")
    if pair is not None:
        _show_pair(result, pair, form)


def _which(counts: dict[str, int]) -> str:
    """Which list is shown: the one that was picked, else the one that says something."""
    telling = SWAPPED if counts[SWAPPED] or not counts[AGAINST] else AGAINST
    wanted: str = st.session_state.get(_PICKED) or telling
    if st.session_state.get(_SHOWN) != wanted:  # what the control holds is gone once it was not drawn
        st.session_state[_SHOWN] = wanted
    labels = {
        SWAPPED: f"Swap their order ({number(counts[SWAPPED])})",
        AGAINST: f"Fewer achievements, higher return ({number(counts[AGAINST])})",
    }
    chosen = st.segmented_control(
        "Pairs in the same world",
        (SWAPPED, AGAINST),
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


def _none_in_words(shown: str, n_pairs: int) -> str:
    pairs = f"Of {number(n_pairs)} pair{'s' * (n_pairs != 1)} in the same world"
    if shown == SWAPPED:
        return f"{pairs} none swaps its order."
    return f"{pairs} none pays more to the one with fewer achievements."


def _list(
    result: Rescored, pairs: Sequence[SwappedPair], shown: str, count: int, marked_pair: tuple[int, int] | None
) -> None:
    rows = pairs[:_MAX_ROWS]
    ids = [_ids(result, pair) for pair in rows]
    marked = next((at for at, pair in enumerate(rows) if {pair.ahead, pair.behind} == set(marked_pair or ())), None)
    # Another list must not pass on a row's mark, so each has a key of its own.
    key = f"lab_pairs:{shown}:{result.token}"
    st.dataframe(
        _table(result, rows, shown),
        key=key,
        hide_index=True,
        row_height=_ROW_PX,
        height="content" if len(rows) <= _ROWS_IN_SIGHT else _ROW_PX * (_ROWS_IN_SIGHT + 1) + 2,
        column_config=_COLUMNS if shown == SWAPPED else _AGAINST_COLUMNS,
        on_select=lambda: _choose(key, ids),
        selection_mode="single-row",
        selection_default={"selection": {"rows": [marked]}} if marked is not None else None,
    )
    if count > len(rows):
        st.caption(f"The {number(len(rows))} clearest of {number(count)}; the others are left out.")


def _choose(key: str, ids: Sequence[tuple[str, str]]) -> None:
    rows = st.session_state[key]["selection"]["rows"]
    st.session_state[_PAIR] = ids[rows[0]] if rows and rows[0] < len(ids) else None


def _table(result: Rescored, pairs: Sequence[SwappedPair], shown: str) -> pd.DataFrame:
    episodes, before, after = result.episodes, result.before.returns, result.after.returns

    def label(at: int) -> str:
        count = f" · {episodes[at].n_achievements}" if shown == AGAINST else ""
        return f"{named(episodes[at])}{count}"

    return pd.DataFrame(
        {
            "world": [world_in_words(episodes[pair.ahead]) for pair in pairs],
            "first": [label(pair.ahead) for pair in pairs],
            "first_returns": [from_to(before[pair.ahead], after[pair.ahead]) for pair in pairs],
            "second": [label(pair.behind) for pair in pairs],
            "second_returns": [from_to(before[pair.behind], after[pair.behind]) for pair in pairs],
        }
    )


def _ids(result: Rescored, pair: SwappedPair) -> tuple[str, str]:
    return result.episodes[pair.ahead].id, result.episodes[pair.behind].id


def _pair_to_show(result: Rescored, listed: Sequence[SwappedPair]) -> tuple[int, int] | None:
    """The pair that was looked at where it is listed, else the first that is.

    Where none is listed, still the one that was looked at: an edit that takes it out of the list has done its work.
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


def _show_pair(result: Rescored, pair: tuple[int, int], form: FormState) -> None:
    """Both episodes taken apart, side by side, with what became of their order in words."""
    with st.container(border=True, key="lab-pair"):
        # Each keeps its side when they swap: the one that achieved more is the first.
        one, other = sorted(pair, key=lambda at: (-result.episodes[at].n_achievements, at))
        st.markdown(f"**The pair on {world_in_words(result.episodes[one])}**")
        st.text(order_in_words(result, one, other))
        show_why(result, (one, other), form, "pair")


def order_in_words(result: Rescored, one: int, other: int) -> str:
    """Which of two episodes is ahead, by how much, and whether that has changed."""
    episodes, before, after = result.episodes, result.before.returns, result.after.returns
    were_equal = bool(is_equal(before[one], before[other]))
    if before[one] < before[other]:
        one, other = other, one
    ahead, behind = episodes[one], episodes[other]
    place = "is even with" if were_equal else "is ahead of"
    was = f"{named(ahead)} ({achievements_in_words(ahead)}) {place} {named(behind)} ({achievements_in_words(behind)})"
    gap = f"{amount(before[one])} to {amount(before[other])}"
    if result.changes_nothing:
        return f"{was}: {gap}."
    now = f"{amount(after[one])} to {amount(after[other])}"
    past = was.replace(f" {place} ", f" {place.replace('is', 'was', 1)} ", 1)
    if is_equal(after[one], after[other]):
        return f"{was}: {gap}, and now {now}." if were_equal else f"{past}, {gap}. Now they are equal: {now}."
    if were_equal:
        return f"{past}, {gap}. Now it is {'ahead' if after[one] > after[other] else 'behind'}: {now}."
    if after[one] < after[other]:
        return f"Swapped: {past}, {gap}. Now it is behind: {now}."
    return f"{was}: {gap}, and now {now}."
