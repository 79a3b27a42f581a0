"""The Lab's first view: edit the rewards, and see at once what every stored episode would have earned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import streamlit as st

from core.analysis.numbers import is_equal
from core.analysis.rescore import StoredFacts
from core.errors import InvalidInput
from core.rewards import checked
from core.store import SavedReward
from core.types import RewardConfig
from pages.components.lab.shared.example import show_progress
from pages.components.lab.shared.form import LAB
from pages.components.lab.shared.lab_text import AS_PLAYED, policy_names
from pages.components.lab.shared.link import (
    COMPARED,
    PLAYED,
    begin_with_episode,
    begin_with_link,
    has_room_for,
    keep_link,
    link_troubles,
    say_trouble,
    say_unknown,
)
from pages.components.lab.shared.scope import ONE, SCOPE, episodes_in, scope_in_words, scope_picker
from pages.components.lab.what_if.advantages import show_advantages
from pages.components.lab.what_if.editor import Edited, editor
from pages.components.lab.what_if.pairs import show_pairs
from pages.components.lab.what_if.rank_changes import show_rank_changes, show_single
from pages.components.lab.what_if.rescored import REWARDS, Rescored, is_slow, rescored
from pages.components.rewards.form import DEFAULT
from pages.components.rewards.reward_text import differences
from pages.components.shared.state import store
from pages.components.text.escape import escape, one_line, safe_text
from pages.components.text.format import number, signed

PAIRS, EPISODES, ADVANTAGES = "Pairs", "Episodes", "Advantages"

_POLICIES: Final = "lab_policies"
_DEFAULTS, _SAVED = "defaults", "saved:"
_MAX_NAME_LENGTH = 40
_MAX_SENTENCE_LENGTH = 700
_SLOW_DECISIONS = 20_000
_DIFFERENCES_IN_A_LINE = 3


def show_what_if(stored: StoredFacts) -> None:
    """Draw the view."""
    saved = {entry.name: entry for entry in store().rewards.saved().rows}
    comparable = _comparable(saved)
    begin_with_link(comparable)
    with st.container(horizontal=True, vertical_alignment="top", key="lab-bar"):
        scope = scope_picker(stored)
        st.space("stretch")
        compared_with, name = _compare_picker(comparable, saved)
    say_unknown(SCOPE, scope)
    chosen = episodes_in(scope, stored)
    if scope == ONE:
        begin_with_episode(chosen.episodes[0].id)
    panel, results = st.columns([9, 14], gap="medium")
    with panel, st.container(border=True, key="lab-panel"):
        edited = editor(stored, saved)
    with results:
        _show_results(chosen, stored, edited, compared_with, name)
    keep_link(edited.config)


def _show_results(
    chosen: StoredFacts, stored: StoredFacts, edited: Edited, compared_with: RewardConfig | None, name: str
) -> None:
    try:
        if not _is_worth_the_wait(chosen, edited.config):
            return
        result = rescored(chosen, edited.config, compared_with)
    except InvalidInput as error:  # a strategy that this Craftscope does not have, or returns that are no numbers
        st.error("These two cannot be compared.")
        st.text(safe_text(str(error), 500))
        return
    st.caption(
        f"Re-scored {number(chosen.columns.n_decisions)} decisions of {scope_in_words(chosen, stored)} in "
        f"{result.took_ms:.1f} ms"
    )
    _show_figures(result, name)
    _show_warnings(result, edited, compared_with)
    if len(chosen.episodes) == 1:
        if len(stored.episodes) == 1:
            show_progress()
        show_single(result, LAB)
        return
    _sum_up(result, name)
    tabs = st.tabs((PAIRS, EPISODES, ADVANTAGES), key="lab_results", on_change="rerun", bind="query-params")
    for tab, show in zip(
        tabs,
        (
            lambda: show_pairs(result, LAB),
            lambda: show_rank_changes(result, name, _policies(stored), LAB),
            lambda: show_advantages(result),
        ),
        strict=True,
    ):
        if tab.open:
            with tab:
                show()


def _policies(stored: StoredFacts) -> Mapping[str, str]:
    """Who played each episode, by its id, called and coloured as in the other views."""
    kept = st.session_state.get(_POLICIES)
    if kept is None or kept[0] is not stored:
        names = policy_names(stored.episodes)
        by_id = {episode.id: name for episode, name in zip(stored.episodes, names, strict=True)}
        kept = st.session_state[_POLICIES] = (stored, by_id)
    return kept[1]


def _comparable(saved: Mapping[str, SavedReward]) -> dict[str, str]:
    """What rewards can be held against, and what that is called."""
    options = {PLAYED: "As played", _DEFAULTS: "The defaults"}
    return options | {_SAVED + name: f"Saved: {one_line(name, _MAX_NAME_LENGTH)}" for name in saved}


def _compare_picker(options: Mapping[str, str], saved: Mapping[str, SavedReward]) -> tuple[RewardConfig | None, str]:
    """What the edited rewards are held against (None: what was paid in play), and what that is called."""
    key = LAB.keep(COMPARED, PLAYED)
    if st.session_state[key] not in options:
        say_trouble(f"“{one_line(st.session_state[key].removeprefix(_SAVED), _MAX_NAME_LENGTH)}” was deleted.")
        st.session_state[key] = PLAYED
    picked = st.selectbox(
        "Compare with",
        list(options),
        format_func=lambda option: options.get(option) or option,
        key=key,
        persist_state="session",
        width=260,
    )
    if picked == _DEFAULTS:
        return checked(DEFAULT), "under the defaults"
    if picked.startswith(_SAVED):
        name = picked.removeprefix(_SAVED)
        return saved[name].config, f"under “{one_line(name, _MAX_NAME_LENGTH)}”"
    return None, AS_PLAYED


def _is_worth_the_wait(chosen: StoredFacts, config: RewardConfig) -> bool:
    """A strategy that scores decision by decision must not keep a page busy for minutes without being asked to."""
    count = chosen.columns.n_decisions
    if count <= _SLOW_DECISIONS or not is_slow(chosen, config):
        return True
    st.info(
        f"This strategy scores decision by decision, and {number(count)} decisions would take some "
        f"{number(max(1, count / 20_000))} s at each edit. Choose fewer episodes above, or re-score them all."
    )
    return st.toggle("Re-score all of them", key=LAB.keep("slowly", False), persist_state="session")


def _show_figures(result: Rescored, name: str) -> None:
    sum_before, sum_after = result.before.returns.sum(), result.after.returns.sum()
    total_before, total_after = float(sum_before), float(sum_before if is_equal(sum_before, sum_after) else sum_after)
    count = len(result.episodes)
    comparison = result.comparison
    several = count > 1
    in_groups = count - comparison.n_alone
    figures = [
        (
            "Total return" if several else "Return",
            signed(total_after),
            f"{signed(total_after - total_before)}",
            f"{signed(total_before)} {name}",
        ),
    ]
    if several:
        mean_change = (total_after - total_before) / count
        figures += [
            ("Mean return", signed(total_after / count), signed(mean_change), f"{signed(total_before / count)} {name}"),
            (
                "Ranks",
                number(len(comparison.ranks)),
                f"of {number(count)} change",
                "An episode’s rank is its place by return, 1 the highest.",
            ),
            (
                "Pairs",
                number(comparison.n_swaps),
                f"of {number(comparison.n_pairs)} swap",
                "Pairs of episodes in the same world (seed), and how many of them swap their order.",
            ),
            (
                "Advantages",
                number(len(comparison.advantages)) if in_groups else "n/a",
                f"of {number(in_groups)} change sign" if in_groups else "no groups",
                "Group-relative advantages (GRPO), and how many of them change their sign.",
            ),
        ]
    with st.container(key="lab-figures"):
        for column, (label, value, beside, meaning) in zip(st.columns(5), figures, strict=False):
            column.metric(label, value, beside, delta_color="off", delta_arrow="off", help=escape(meaning))


def _show_warnings(result: Rescored, edited: Edited, compared_with: RewardConfig | None) -> None:
    if edited.problem:
        st.warning("Invalid configuration. Results show the last valid one.")
    if not has_room_for(edited.config):
        st.warning("Too long for a URL: save it, or it is lost on reload.")
    if troubles := link_troubles(edited.config):
        st.warning(escape(one_line(troubles, _MAX_SENTENCE_LENGTH)))
    if result.unlike:
        with st.container(horizontal=True, vertical_alignment="top", gap="small", key="lab-unlike"):
            st.badge("Different settings", color="orange")
            st.caption(escape(_unlike_in_words(result, compared_with is None)), width="stretch")
    if compared_with is not None:
        listed = differences(compared_with, result.config)
        shown_ones = "; ".join(listed[:_DIFFERENCES_IN_A_LINE])
        more = f"; and {len(listed) - _DIFFERENCES_IN_A_LINE} more" if len(listed) > _DIFFERENCES_IN_A_LINE else ""
        st.caption(escape(f"The two differ in: {shown_ones}{more}" if listed else "Both pay the same."))


def _unlike_in_words(result: Rescored, compares_with_play: bool) -> str:
    said = f"Played under {', '.join(result.unlike)}: a longer episode can earn more under any policy."
    if any(REWARDS in part for part in result.unlike):
        said = f"Played under {', '.join(result.unlike)}."
        if compares_with_play:
            said += " Rewards as played are not on one scale; choose one configuration under “Compare with”."
    return said


def _sum_up(result: Rescored, name: str) -> None:
    """What the edit comes to in a sentence; where nothing earns anything else, where to look.

    name: what the edited rewards are held against.
    """
    same = f"Every decision earns what it earns {name}." if name != AS_PLAYED else "Same as played."
    against, comparison = result.against_achievements.n_swaps, result.comparison
    pairs = f"{number(comparison.n_pairs)} pair{'s' * (comparison.n_pairs != 1)} in the same world"
    if not comparison.n_pairs:
        said = same if result.changes_nothing else "Every episode is re-scored."
    elif not result.changes_nothing:
        swaps = "swaps its" if 1 in (comparison.n_swaps, comparison.n_pairs) else "swap their"
        said = (
            f"**{number(comparison.n_swaps)}** of {pairs} {swaps} "
            f"order. In **{number(against) if against else 'none'}** the episode with fewer achievements earns more "
            "under these rewards."
        )
    elif against:
        said = (
            f"{same} In **{number(against)}** of {pairs} the episode with **fewer achievements earns "
            "more**: see below what pays it, change that number, and watch which pairs swap."
        )
    else:
        said = f"{same} In none of {pairs} the episode with fewer achievements earns more."
    st.info(said)
