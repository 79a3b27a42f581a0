"""The Lab's Audit view: alerts of the reward configurations and of the episodes in scope."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pandas as pd
import streamlit as st

from core.analysis.audit import RULES, AuditThresholds, Severity, Span
from core.analysis.rescore import StoredFacts
from core.store import EpisodeSummary
from core.text import join, plural
from pages.components.audit.alerts import AuditResult, audit_episode, audit_rewards, audit_text, show_alerts
from pages.components.audit.thresholds_form import show_thresholds, thresholds
from pages.components.lab.shared.scope import episodes_in, scope_picker
from pages.components.lab.shared.table import show_table
from pages.components.rewards.reward_text import reward_text, strategy_label
from pages.components.shared.state import store
from pages.components.text.escape import escape, one_line, safe_text
from pages.components.text.format import number, short_id

_PAGE_SIZE: Final = 20
_ROWS_IN_SIGHT: Final = 10
_MAX_CONFIGS: Final = 8
_MAX_NAMES: Final = 2
_MAX_NAME_LENGTH: Final = 40
_SHOWN: Final = "lab_audit_shown"
_CHOSEN: Final = "lab_audit_episode"
_COLUMNS: Final = {
    "episode": st.column_config.TextColumn("Episode", width=90),
    "policy": st.column_config.TextColumn("Policy", width=90),
    "seed": st.column_config.NumberColumn("Seed", width=80, format="%d"),
    "shaped": st.column_config.NumberColumn("Shaped return", width=110, format="%+.2f"),
    "achievements": st.column_config.NumberColumn("Achievements", width=105),
    "alerts": st.column_config.NumberColumn("Alerts", width=70),
    "what": st.column_config.TextColumn("Found", width="large"),
}


def show_audit(stored: StoredFacts) -> None:
    with st.container(key="lab-scope", horizontal=True, vertical_alignment="top"):
        scope = scope_picker(stored)
    chosen = episodes_in(scope, stored)
    limits = thresholds()
    _show_configs(chosen, limits)
    _show_episodes(chosen, limits)
    show_thresholds("lab")


# ---------------------------------------------------------------------------------------------- configurations


def _show_configs(chosen: StoredFacts, limits: AuditThresholds) -> None:
    """The alerts of each reward configuration of these episodes, newest first."""
    st.subheader("Reward configurations", anchor=False)
    names = _names_of_configs()
    played: dict[str, list[EpisodeSummary]] = {}
    for episode in reversed(chosen.episodes):
        played.setdefault(episode.config_hash, []).append(episode)
    for config_hash, episodes in list(played.items())[:_MAX_CONFIGS]:
        config = episodes[0].spec.reward
        result = audit_rewards(config, limits)
        name = names.get(config_hash) or one_line(strategy_label(config.strategy), 40)
        count = plural(len(episodes), "episode")
        title = f"{name} ({safe_text(config_hash, 100)[:8]}), {count}: {audit_text(result)}"
        with st.expander(escape(title), expanded=len(played) == 1 and bool(result.n_alerts)):
            st.caption(escape(reward_text(config)))
            show_alerts(result, f"config-{config_hash}")
    if len(played) > _MAX_CONFIGS:
        st.caption(f"… and {number(len(played) - _MAX_CONFIGS)} older configurations. Choose fewer episodes.")


def _names_of_configs() -> dict[str, str]:
    """Configuration hash -> the names it is saved under."""
    names: dict[str, list[str]] = {}
    for saved in store().rewards.saved().rows:
        names.setdefault(saved.config.config_hash, []).append(f"“{one_line(saved.name, _MAX_NAME_LENGTH)}”")
    for own in names.values():
        own[_MAX_NAMES:] = [plural(len(own) - _MAX_NAMES, "more name")] if len(own) > _MAX_NAMES else []
    return {config_hash: join(own) for config_hash, own in names.items()}


# ----------------------------------------------------------------------------------------------------- episodes


def _show_episodes(chosen: StoredFacts, limits: AuditThresholds) -> None:
    st.subheader("Episodes", anchor=False)
    newest = chosen.episodes[::-1]
    count = min(st.session_state.get(_SHOWN, _PAGE_SIZE), len(newest))
    shown = newest[:count]
    # Episodes with an alert first, then by age.
    audits = sorted(zip(shown, _audit_all(shown, limits), strict=True), key=lambda audit: audit[1].n_alerts == 0)
    results = [result for _, result in audits]
    _show_count(results, len(newest))
    episodes = [episode for episode, _ in audits]
    at, is_chosen = _table(episodes, results)
    if count < len(newest):
        more = min(_PAGE_SIZE, len(newest) - count)
        st.button(f"Audit {number(more)} more", key="lab_audit_more", on_click=_more, args=(count,))
    if at is not None:
        _show_one(episodes[at], results[at], is_chosen)


def _audit_all(episodes: Sequence[EpisodeSummary], limits: AuditThresholds) -> list[AuditResult]:
    """Shows a progress bar: the first audit reads the whole episode."""
    bar = st.progress(0.0, text="Auditing episodes…")
    results: list[AuditResult] = []
    for done, episode in enumerate(episodes, start=1):
        results.append(audit_episode(episode.id, episode.n_decisions, limits))
        bar.progress(done / len(episodes), text=f"Audited {number(done)} of {number(len(episodes))}")
    bar.empty()
    return results


def _show_count(results: Sequence[AuditResult], of: int) -> None:
    n_with_alert = sum(bool(result.n_alerts) for result in results)
    which = f"all {number(of)}" if len(results) == of else f"the newest {number(len(results))} of {number(of)}"
    st.caption(
        f"Audited {which}; {number(n_with_alert) if n_with_alert else 'none'} with an alert. Select a row for details. "
        "Rewards are as played; edits in *What if* do not change this."
    )


def _table(episodes: Sequence[EpisodeSummary], results: Sequence[AuditResult]) -> tuple[int | None, bool]:
    """Returns the chosen row, else the first with an alert; and whether it was chosen."""
    table = pd.DataFrame(
        {
            "episode": [short_id(episode.id) for episode in episodes],
            "policy": [one_line(episode.policy, 40) for episode in episodes],
            "seed": [episode.seed for episode in episodes],
            "shaped": [episode.shaped_return for episode in episodes],
            "achievements": [episode.n_achievements for episode in episodes],
            "alerts": [result.n_alerts for result in results],
            "what": [_findings(result) for result in results],
        }
    )
    ids = [episode.id for episode in episodes]
    chosen = st.session_state.get(_CHOSEN)
    at = ids.index(chosen) if chosen in ids else None

    def pick(row: int | None) -> None:
        st.session_state[_CHOSEN] = None if row is None else ids[row]

    key = f"lab_audit_table:{hash(tuple(ids))}"
    show_table(table, _COLUMNS, rows_in_sight=_ROWS_IN_SIGHT, key=key, marked=at, on_pick=pick)
    if at is not None:
        return at, True
    return next((row for row, result in enumerate(results) if result.n_alerts), None), False


def _findings(result: AuditResult) -> str:
    if result.problem:
        return f"Not audited: {one_line(result.problem, 160)}"
    names = [RULES[alert.rule].name for alert in result.alerts if alert.severity is Severity.ALERT]
    return "; ".join(names) or audit_text(result)


def _show_one(episode: EpisodeSummary, result: AuditResult, is_chosen: bool) -> None:
    def show_span(span: Span, label: str, key: str) -> None:
        st.page_link(
            "pages/episode.py",
            label=f"{label} →",
            query_params={"id": episode.id, "step": str(span.opening_frame), "tab": "Audit"},
            width="content",
        )

    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        which = "Episode" if is_chosen else "First with an alert: episode"
        st.text(f"{which} {short_id(episode.id)}, {safe_text(episode.policy, 40)}, seed {episode.seed}: ")
        st.text(audit_text(result), width="stretch")
    show_alerts(result, f"lab-{episode.id}", show_span)


def _more(count: int) -> None:
    st.session_state[_SHOWN] = count + _PAGE_SIZE
