"""The What if view: edit a reward configuration, and see what every stored episode would have earned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import streamlit as st

from core.analysis.rescore import StoredFacts
from core.analysis.tolerance import is_equal
from core.errors import InvalidInput
from core.rewards import checked_reward, to_changes
from core.store import SavedReward
from core.text import join, plural
from core.types import RewardConfig
from pages.components.lab.shared.example import show_progress
from pages.components.lab.shared.lab_text import AS_PLAYED, policy_names
from pages.components.lab.shared.link import (
    COMPARED,
    LAB,
    PLAYED,
    link_problems,
    report_problem,
    show_unknown,
    start_with_episode,
    start_with_url,
    update_url,
)
from pages.components.lab.shared.scope import ONE, SCOPE, episodes_in, scope_picker, scope_text
from pages.components.lab.what_if.advantages import show_advantages
from pages.components.lab.what_if.editor import Edited, editor
from pages.components.lab.what_if.pairs import show_pairs
from pages.components.lab.what_if.rank_changes import show_episode, show_rank_changes
from pages.components.lab.what_if.rescored import REWARDS, Rescored, is_slow, rescored
from pages.components.links.values import fits_in_url
from pages.components.rewards.form import DEFAULT
from pages.components.rewards.reward_text import differences
from pages.components.shared.state import store
from pages.components.text.escape import escape, one_line, safe_text
from pages.components.text.format import listed, number, signed

PAIRS, EPISODES, ADVANTAGES = "Pairs", "Episodes", "Advantages"

_POLICIES: Final = "lab_policies"
_DEFAULTS, _SAVED = "defaults", "saved:"
_MAX_NAME_LENGTH = 40
_MAX_SENTENCE_LENGTH = 700
_SLOW_DECISIONS = 20_000
_DIFFERENCES_IN_A_LINE = 3


def show_what_if(stored: StoredFacts) -> None:
    saved = {entry.name: entry for entry in store().rewards.saved().rows}
    comparable = _comparable(saved)
    start_with_url(comparable)
    with st.container(horizontal=True, vertical_alignment="top", key="lab-bar"):
        scope = scope_picker(stored)
        st.space("stretch")
        compared_with, name = _compare_picker(comparable, saved)
    show_unknown(SCOPE, scope)
    chosen = episodes_in(scope, stored)
    if scope == ONE:
        start_with_episode(chosen.episodes[0].id)
    panel, results = st.columns([9, 14], gap="medium")
    with panel, st.container(border=True, key="lab-panel"):
        edited = editor(stored, saved)
    with results:
        _show_results(chosen, stored, edited, compared_with, name)
    update_url(edited.config)


def _show_results(
    chosen: StoredFacts, stored: StoredFacts, edited: Edited, compared_with: RewardConfig | None, name: str
) -> None:
    try:
        if not _is_fast_or_wanted(chosen, edited.config):
            return
        result = rescored(chosen, edited.config, compared_with)
    except InvalidInput as error:  # a strategy that raises
        st.error("Cannot compare the two configurations.")
        st.text(safe_text(str(error), 500))
        return
    st.caption(
        f"Re-scored {number(chosen.columns.n_decisions)} decisions of {scope_text(chosen, stored)} in "
        f"{result.took_ms:.1f} ms"
    )
    _show_figures(result, name)
    _show_warnings(result, edited, compared_with)
    if len(chosen.episodes) == 1:
        if len(stored.episodes) == 1:
            show_progress()
        show_episode(result, 0)
        return
    _show_summary(result, name)
    tabs = st.tabs((PAIRS, EPISODES, ADVANTAGES), key="lab_results", on_change="rerun", bind="query-params")
    for tab, show in zip(
        tabs,
        (
            lambda: show_pairs(result),
            lambda: show_rank_changes(result, name, _policies(stored)),
            lambda: show_advantages(result),
        ),
        strict=True,
    ):
        if tab.open:
            with tab:
                show()


def _policies(stored: StoredFacts) -> Mapping[str, str]:
    """Episode id -> policy, of all stored episodes, so that names and colours are those of the other views."""
    cached = st.session_state.get(_POLICIES)
    if cached is None or cached[0] is not stored:
        names = policy_names(stored.episodes)
        by_id = {episode.id: name for episode, name in zip(stored.episodes, names, strict=True)}
        cached = st.session_state[_POLICIES] = (stored, by_id)
    return cached[1]


def _comparable(saved: Mapping[str, SavedReward]) -> dict[str, str]:
    """The options of the Compare with field -> their labels."""
    options = {PLAYED: "As played", _DEFAULTS: "The defaults"}
    return options | {_SAVED + name: f"Saved: {one_line(name, _MAX_NAME_LENGTH)}" for name in saved}


def _compare_picker(options: Mapping[str, str], saved: Mapping[str, SavedReward]) -> tuple[RewardConfig | None, str]:
    """Returns the configuration to compare with (None: as played) and its label in sentences."""
    key = LAB.keep(COMPARED, PLAYED)
    if st.session_state[key] not in options:
        report_problem(f"“{one_line(st.session_state[key].removeprefix(_SAVED), _MAX_NAME_LENGTH)}” was deleted.")
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
        return checked_reward(DEFAULT), "under the defaults"
    if picked.startswith(_SAVED):
        name = picked.removeprefix(_SAVED)
        return saved[name].config, f"under “{one_line(name, _MAX_NAME_LENGTH)}”"
    return None, AS_PLAYED


def _is_fast_or_wanted(chosen: StoredFacts, config: RewardConfig) -> bool:
    """Asks before a slow strategy re-scores so many decisions that the page is busy for minutes."""
    count = chosen.columns.n_decisions
    if count <= _SLOW_DECISIONS or not is_slow(chosen, config):
        return True
    st.info(
        f"This strategy scores decision by decision, and {number(count)} decisions take about "
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
                number(comparison.swaps.n_swaps),
                f"of {number(comparison.swaps.n_pairs)} swap",
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
    if not fits_in_url(to_changes(edited.config)):
        st.warning("Too long for a URL: save it, or it is lost on reload.")
    if problems := link_problems(edited.config):
        st.warning(escape(one_line(problems, _MAX_SENTENCE_LENGTH)))
    if result.different_settings:
        with st.container(horizontal=True, vertical_alignment="top", gap="small", key="lab-unlike"):
            st.badge("Different settings", color="orange")
            st.caption(escape(_settings_text(result, compared_with is None)), width="stretch")
    if compared_with is not None:
        found = listed(differences(compared_with, result.config), _DIFFERENCES_IN_A_LINE, "; ")
        st.caption(escape(f"The two differ in: {found}" if found else "Both pay the same."))


def _settings_text(result: Rescored, compares_with_play: bool) -> str:
    text = f"The episodes have {join(result.different_settings)}"
    if not any(REWARDS in part for part in result.different_settings):
        return f"{text}: a longer episode can earn more under any policy."
    scale = " Rewards as played are not on one scale; choose one configuration under “Compare with”."
    return f"{text}.{scale if compares_with_play else ''}"


def _show_summary(result: Rescored, name: str) -> None:
    """Shows the effect of the edit in a sentence. name: the label of the configuration it is compared with."""
    same = f"Every decision earns the same as {name}." if name != AS_PLAYED else "Same as played."
    against, comparison = result.against_achievements.n_swaps, result.comparison
    pairs = plural(comparison.swaps.n_pairs, "same-world pair")
    if not comparison.swaps.n_pairs:
        text = same if result.changes_nothing else "Every episode is re-scored."
    elif not result.changes_nothing:
        swaps = "swaps its" if 1 in (comparison.swaps.n_swaps, comparison.swaps.n_pairs) else "swap their"
        text = (
            f"**{number(comparison.swaps.n_swaps)}** of {pairs} {swaps} order. In "
            f"**{number(against) if against else 'none'}**, fewer achievements earn more under this configuration."
        )
    elif against:
        text = (
            f"{same} In **{number(against)}** of {pairs}, **fewer achievements earn more**: see below which component "
            "pays for that, change its weight, and watch which pairs swap."
        )
    else:
        text = f"{same} In all {pairs}, more achievements earn at least as much."
    st.info(text)
