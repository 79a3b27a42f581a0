"""The Lab's audit: which configurations can be farmed, which episodes did, and where to see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pandas as pd
import streamlit as st

from core.analysis.audit import RULES, AuditThresholds, Severity, Span
from core.analysis.rescore import StoredFacts
from core.errors import CraftscopeError
from core.facts import PlayedEpisode
from core.types import RewardConfig
from pages.components.audit.alerts import found_in_words, show_alerts
from pages.components.audit.found import Audited, audited, audited_config
from pages.components.audit.thresholds_form import show_thresholds, thresholds
from pages.components.lab.shared.scope import episodes_in, scope_picker
from pages.components.shared.state import store
from pages.components.text.escape import escape, one_line, safe_text
from pages.components.text.format import number, short_id, words

_AT_ONCE: Final = 20
_MAX_CONFIGS: Final = 8
_MAX_NAMES: Final = 2
_MAX_NAME_LENGTH: Final = 40
_SHOWN: Final = "lab_audit_shown"
_CHOSEN: Final = "lab_audit_episode"


def show_audit(stored: StoredFacts) -> None:
    """Draw the view."""
    with st.container(key="lab-scope", horizontal=True, vertical_alignment="top"):
        scope = scope_picker(stored)
    chosen = episodes_in(scope, stored)
    wanted = thresholds()
    _show_configs(chosen, wanted)
    _show_episodes(chosen, wanted)
    show_thresholds("lab")


# ---------------------------------------------------------------------------------------------- configurations


def _show_configs(chosen: StoredFacts, wanted: AuditThresholds) -> None:
    """What follows from the configurations alone that these episodes were paid by."""
    st.subheader("Reward configurations", anchor=False)
    names = _names_of_configs()
    played: dict[str, list[PlayedEpisode]] = {}
    for episode in reversed(chosen.episodes):
        played.setdefault(episode.config_hash, []).append(episode)
    for config_hash, episodes in list(played.items())[:_MAX_CONFIGS]:
        config = _config_of(episodes[0])
        if config is None:
            continue
        found = audited_config(config, wanted)
        count = f"{number(len(episodes))} episode{'s' * (len(episodes) != 1)}"
        named = names.get(config_hash) or words(one_line(config.strategy, 40))
        title = f"{named} ({safe_text(config_hash, 100)[:8]}), {count}: {found_in_words(found)}"
        with st.expander(escape(title), expanded=len(played) == 1 and bool(found.n_alerts)):
            show_alerts(found, _no_span, f"config-{config_hash}")
    if len(played) > _MAX_CONFIGS:
        st.caption(f"… and {number(len(played) - _MAX_CONFIGS)} older configurations. Choose fewer episodes.")


def _names_of_configs() -> dict[str, str]:
    """Configuration hash -> the names under which people saved it."""
    names: dict[str, list[str]] = {}
    for saved in store().rewards.saved().rows:
        names.setdefault(saved.config.config_hash, []).append(f"“{one_line(saved.name, _MAX_NAME_LENGTH)}”")
    return {
        config_hash: " and ".join(its[:_MAX_NAMES])
        + f" and {number(len(its) - _MAX_NAMES)} more names" * (len(its) > _MAX_NAMES)
        for config_hash, its in names.items()
    }


def _config_of(episode: PlayedEpisode) -> RewardConfig | None:
    try:
        return store().episodes.get(episode.id).spec.reward
    except CraftscopeError:  # deleted a moment ago
        return None


def _no_span(span: Span, place: str, key: str) -> None:
    """A configuration has no frames."""


# ----------------------------------------------------------------------------------------------------- episodes


def _show_episodes(chosen: StoredFacts, wanted: AuditThresholds) -> None:
    st.subheader("Episodes", anchor=False)
    newest = chosen.episodes[::-1]
    count = min(st.session_state.get(_SHOWN, _AT_ONCE), len(newest))
    looked_at = newest[:count]
    # Those with an alert first; within both, the newest.
    audits = sorted(zip(looked_at, _audit_all(looked_at, wanted), strict=True), key=lambda one: one[1].n_alerts == 0)
    found = [one for _, one in audits]
    _say_how_many(found, len(newest))
    episodes = [episode for episode, _ in audits]
    at, is_chosen = _table(episodes, found)
    if count < len(newest):
        more = min(_AT_ONCE, len(newest) - count)
        st.button(f"Look at {number(more)} more", key="lab_audit_more", on_click=_more, args=(count,))
    if at is not None:
        _show_one(episodes[at], found[at], is_chosen)


def _audit_all(episodes: Sequence[PlayedEpisode], wanted: AuditThresholds) -> list[Audited]:
    """One after the other, with a bar while it takes long: each episode is read whole, once."""
    bar = st.progress(0.0, text="Looking through episodes…")
    found: list[Audited] = []
    for at, episode in enumerate(episodes):
        found.append(audited(store(), episode.id, episode.n_decisions, wanted))
        bar.progress((at + 1) / len(episodes), text=f"Looked through {number(at + 1)} of {number(len(episodes))}")
    bar.empty()
    return found


def _say_how_many(found: Sequence[Audited], of: int) -> None:
    alarmed = sum(bool(one.n_alerts) for one in found)
    which = f"all {number(of)}" if len(found) == of else f"the newest {number(len(found))} of {number(of)}"
    said = f"{number(alarmed)} of them raise{'s' * (alarmed == 1)} an alert" if alarmed else "none raises an alert"
    st.caption(
        f"Looked through {which}: {said}. Choose a row to see what was found and where. Each is judged by what it was "
        "paid when it was played; Edits in *What if* do not change this."
    )


def _table(episodes: Sequence[PlayedEpisode], found: Sequence[Audited]) -> tuple[int | None, bool]:
    """All of them; the row that is chosen, or else the first with an alert, and whether it is the chosen one."""
    table = pd.DataFrame(
        {
            "episode": [short_id(episode.id) for episode in episodes],
            "policy": [one_line(episode.policy, 40) for episode in episodes],
            "seed": [episode.seed for episode in episodes],
            "shaped": [episode.shaped_return for episode in episodes],
            "achievements": [episode.n_achievements for episode in episodes],
            "alerts": [one.n_alerts for one in found],
            "what": [_what(one) for one in found],
        }
    )
    ids = [episode.id for episode in episodes]
    chosen = st.session_state.get(_CHOSEN)
    at = ids.index(chosen) if chosen in ids else None
    key = f"lab_audit_table:{hash(tuple(ids))}"  # what was ticked in another order is another episode in this one

    def choose() -> None:
        rows = st.session_state[key]["selection"]["rows"]
        st.session_state[_CHOSEN] = ids[rows[0]] if rows and rows[0] < len(ids) else None

    st.dataframe(
        table,
        key=key,
        hide_index=True,
        on_select=choose,
        selection_mode="single-row",
        selection_default={"selection": {"rows": [at]}} if at is not None else None,
        height=min(38 + 35 * len(table), 38 + 35 * 10),
        row_height=35,
        column_config={
            "episode": st.column_config.TextColumn("Episode", width=90),
            "policy": st.column_config.TextColumn("Policy", width=90),
            "seed": st.column_config.NumberColumn("Seed", width=80, format="%d"),
            "shaped": st.column_config.NumberColumn("Shaped return", width=110, format="%+.2f"),
            "achievements": st.column_config.NumberColumn("Achievements", width=105),
            "alerts": st.column_config.NumberColumn("Alerts", width=70),
            "what": st.column_config.TextColumn("Found", width="large"),
        },
    )
    if at is not None:
        return at, True
    return next((place for place, one in enumerate(found) if one.n_alerts), None), False


def _what(one: Audited) -> str:
    if one.problem:
        return f"Not audited: {one_line(one.problem, 160)}"
    names = [RULES[alert.rule].name for alert in one.alerts if alert.severity is Severity.ALERT]
    return "; ".join(names) or found_in_words(one)


def _show_one(episode: PlayedEpisode, found: Audited, is_chosen: bool) -> None:
    def show_span(span: Span, place: str, key: str) -> None:
        st.page_link(
            "pages/episode.py",
            label=f"{place} →",
            query_params={"id": episode.id, "step": str(span.opening_frame), "tab": "Audit"},
            width="content",
        )

    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        which = "Episode" if is_chosen else "The first with an alert: episode"
        st.text(f"{which} {short_id(episode.id)}, {safe_text(episode.policy, 40)}, seed {episode.seed}: ")
        st.text(found_in_words(found), width="stretch")
    show_alerts(found, show_span, f"lab-{episode.id}")


def _more(count: int) -> None:
    st.session_state[_SHOWN] = count + _AT_ONCE
