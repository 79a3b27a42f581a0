"""The player beside the tabs that explain the frame. One fragment: a step redraws this part, not the page."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Literal

import streamlit as st

from core.errors import CraftscopeError
from core.store import DecisionSummary, EpisodeSummary
from core.types import Decision, StateFacts
from pages.components import charts
from pages.components.audit.alerts import show_audit_tab
from pages.components.browser.url import write_step_to_url
from pages.components.episode.call_panel import show_tool_calls
from pages.components.episode.ledger_panel import show_ledger
from pages.components.episode.map_panel import show_map
from pages.components.episode.model_panel import show_model
from pages.components.episode.potential_panel import show_potential
from pages.components.episode.reward_panel import show_reward
from pages.components.episode.state_panel import show_state
from pages.components.episode.timing_panel import show_timing
from pages.components.player import first_frame_mark, player
from pages.components.player.cursor import Cursor, cursor_at
from pages.components.player.episode_data import EpisodeData
from pages.components.player.position import go_to_decision, go_to_frame, last_frame, picked_of, remember_frame, seek_of
from pages.components.shared.state import stop_with, store
from pages.components.text.escape import escape, one_line, safe_text
from pages.components.text.format import name_text, signed
from pages.components.text.sentences import steps_phrase

_MAX_LABEL_LENGTH = 40

# The player draws at multiples of 144 pixels; a column of that width leaves no dark bars beside the frame.
_STYLE = """
<style>
.st-key-decision-selector [data-testid="stNumberInputClearButton"] { display: none; } /* one is always selected */
.st-key-decision-headline { flex-wrap: nowrap; overflow: hidden; }
[class*="st-key-seek-"] .nsewdrag { cursor: pointer !important; }
/* The local view in an observation is a text grid: never wrap its lines. */
[class*="-grid-of-66"] code { display: block; min-width: 66ch; }
[class*="-grid-of-84"] code { display: block; min-width: 84ch; }
[class*="-grid-of-"] pre { overflow-x: auto; }
@media (max-width: 1299px) {
  [class*="-grid-of-"] :is(pre, code) { font-size: 0.72rem; }
  [class*="-grid-of-"] pre { padding: 0.6rem; }
}
@media (min-width: 1000px) {
  [data-testid="stColumn"]:has(> div .st-key-episode-player) { flex: 0 0 432px; }
  [data-testid="stColumn"]:has(> div .st-key-episode-player) + [data-testid="stColumn"] { flex: 1 1 0; min-width: 0; }
}
@media (min-width: 1300px) {
  [data-testid="stColumn"]:has(> div .st-key-episode-player) { flex: 0 0 576px; }
}
@media (min-width: 1840px) {
  [data-testid="stColumn"]:has(> div .st-key-episode-player) { flex: 0 0 720px; }
}
</style>
"""
_TABS: tuple[str, ...] = ("Reward", "Ledger", "Tool call", "Model", "Timing", "State", "Map", "Audit", "Potential")
_MODEL_TAB = "Model"  # this tab exists only if a model was called


@st.fragment
def show_episode(summary: EpisodeSummary, data: EpisodeData) -> None:
    """Draws player and tabs, and keeps the URL in step with them."""
    frame_first = data.player is not None and is_first_look()
    st.html(_STYLE + first_frame_mark(frame_first))
    left, right = st.columns([0.48, 0.52], gap="medium")
    with left, st.container(key="episode-player"):
        cursor = _show_player(summary, data)
    with right, charts.placeholders() if frame_first else nullcontext():
        if cursor.decision is None:
            _show_no_decision(summary)
            return
        decision = data.decisions[cursor.decision]
        _show_selector(summary.id, data, decision, cursor.frame)
        _show_headline(decision, cursor)
        tab = _show_tabs(summary, data, decision, cursor)
    write_step_to_url("episode", summary.id, cursor.frame, tab)


def is_first_look() -> bool:
    """True once per session. Charts load megabytes of script, which blocks a browser for a second: the first time, the
    frame is drawn before them."""
    key = "charts-are-loaded"
    first = key not in st.session_state
    st.session_state[key] = True
    return first


def _show_player(summary: EpisodeSummary, data: EpisodeData) -> Cursor:
    if data.player is None:
        st.text(data.problem or "No frame recorded yet")
        picked = picked_of(summary.id)
        return picked if picked and data.decisions else cursor_at(data.decisions, 0)
    frame = player(data.player, key=f"player-{summary.id}", start_step=last_frame(summary.id), seek=seek_of(summary.id))
    remember_frame(summary.id, frame)
    return cursor_at(data.decisions, frame, picked_of(summary.id))


def _show_no_decision(summary: EpisodeSummary) -> None:
    with st.container(border=True):
        st.text("The policy made no decision." if summary.status.is_over else "The policy has not made a decision yet.")


def _show_selector(episode_id: str, data: EpisodeData, decision: DecisionSummary, frame: int) -> None:
    decisions, last = data.decisions, len(data.decisions) - 1
    key = f"decision-{episode_id}"
    st.session_state[key] = decision.index

    def go(index: int) -> None:
        go_to_decision(episode_id, decisions, index)

    def go_to_typed() -> None:
        typed: int | None = st.session_state[key]
        if typed is None:  # the field was emptied
            return
        if 0 <= typed <= last:
            go(typed)
        else:
            st.session_state[f"no-{key}"] = (typed, decision.index, frame)

    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="decision-selector"):
        st.markdown("**Decision**", width="content")
        # A form: while the player runs, the browser may report a number that is no longer shown, so only a submitted
        # one counts.
        with (
            st.form(f"go-to-decision-{episode_id}", border=False, width="content"),
            st.container(horizontal=True, gap="xsmall", width="content"),
        ):
            # No min and max: the browser would show a number outside them in red, without an explanation.
            st.number_input("Decision", value=None, step=1, key=key, label_visibility="collapsed", width=112)
            st.form_submit_button("Go", on_click=go_to_typed, key=f"go-{episode_id}")
        typed, *where = st.session_state.get(f"no-{key}", (None,))
        if where == [decision.index, frame]:
            st.markdown(f":red[No decision {typed:,} (0 to {last:,})]", width="content")
        else:
            st.caption(f"0 to {last:,}", width="content")
        st.button(
            "‹ Prev",
            key="decision-back",
            on_click=go,
            args=(decision.index - 1,),
            disabled=decision.index == 0 and frame == 0,
            help="Previous decision (\\[)",
        )
        # At the world after reset, the next decision is the first.
        following = 0 if frame == 0 and decision.index == 0 and decision.step_end else decision.index + 1
        st.button(
            "Next ›",
            key="decision-forward",
            on_click=go,
            args=(following,),
            disabled=following > last and frame >= decision.step_end,
            help="Next decision (\\])",
        )
        _show_unlock_jump(episode_id, data)


def _show_unlock_jump(episode_id: str, data: EpisodeData) -> None:
    unlocking = {name: decision.index for decision in data.decisions for name in decision.unlocked}
    if not unlocking:
        return
    key = f"unlock-{episode_id}"

    def go() -> None:
        name = st.session_state[key]
        st.session_state[key] = None
        if name in unlocking:
            index = unlocking[name]
            frame = data.unlocks[name] + 1 if name in data.unlocks else data.decisions[index].step_end
            go_to_frame(episode_id, Cursor(frame, index))

    st.selectbox(
        "Go to an unlock",
        list(unlocking),
        index=None,
        key=key,
        format_func=lambda name: f"{name_text(safe_text(name, 60))} (decision {unlocking[name]})",
        placeholder="Go to an unlock…",
        on_change=go,
        label_visibility="collapsed",
    )


def _show_headline(decision: DecisionSummary, cursor: Cursor) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="decision-headline"):
        if cursor.frame == 0 and decision.index == 0:
            st.badge("before the first action", color="gray", help="The frame shows the world after reset")
        st.badge(steps_phrase(decision), color="gray")
        shaped, env, steps = decision.reward, decision.env_reward, decision.step_end - decision.step_start
        over = f" over {steps} steps" if steps > 1 else ""
        st.badge(f"shaped {signed(shaped)}", color=_colour(shaped), help="Shaped reward of this decision")
        st.badge(f"env {signed(env)}{over}", color=_colour(env), help="Environment reward of its steps")
        if not decision.ok:
            st.badge("failed", color="red")
        for name in decision.unlocked:
            st.badge(f"◆ {escape(one_line(name_text(name), _MAX_LABEL_LENGTH))}", color="orange", help="Unlocked here")


def _colour(value: float) -> Literal["green", "red", "gray"]:
    return "green" if value > 0 else "red" if value < 0 else "gray"


def _show_tabs(summary: EpisodeSummary, data: EpisodeData, decision: DecisionSummary, cursor: Cursor) -> str:
    """Draws the open tab and returns its name."""
    names = [name for name in _TABS if name != _MODEL_TAB or data.model is not None]
    tabs = st.tabs(names, key="tab", on_change="rerun", bind="query-params")
    at = next((at for at, tab in enumerate(tabs) if tab.open), 0)
    with tabs[at]:
        try:
            _show_tab(names[at], summary, data, decision, cursor)
        except CraftscopeError as error:  # such as a deleted episode; the player stays usable
            stop_with("Cannot read this", error)
    return names[at]


def _show_tab(tab: str, summary: EpisodeSummary, data: EpisodeData, decision: DecisionSummary, cursor: Cursor) -> None:
    match tab:
        case "Ledger":
            show_ledger(data, decision.index, summary.id)
        case "Audit":
            show_audit_tab(summary)
        case "Potential":
            show_potential(summary, data, decision.index)
        case "Timing":
            show_timing(decision, data, summary.id)
        case "Map":
            show_map(summary.spec, data, cursor.frame, summary.id)
        case _:
            _show_decision_tab(tab, summary, data, store().episodes.decision(summary.id, decision.index), cursor)


def _show_decision_tab(
    tab: str, summary: EpisodeSummary, data: EpisodeData, decision: Decision, cursor: Cursor
) -> None:
    """The tabs that need the whole decision."""
    if tab == "Reward":
        show_reward(decision, summary.spec.reward, data, cursor, summary.id)
    elif tab == "Tool call":
        show_tool_calls(decision, cursor)
    elif tab == "Model":
        show_model(decision, _caller_before(summary.id, data, decision.index), f"model-{summary.id}")
    else:
        facts = _facts_at(decision, data, cursor)
        show_state(facts, decision.before, decision.index, data.unlocks, cursor.frame)


def _caller_before(episode_id: str, data: EpisodeData, index: int) -> Decision | None:
    """The newest earlier decision that called a model; the one just before may have called none."""
    caller = next((earlier.index for earlier in reversed(data.decisions[:index]) if earlier.model_calls), None)
    return None if caller is None else store().episodes.decision(episode_id, caller)


def _facts_at(decision: Decision, data: EpisodeData, cursor: Cursor) -> StateFacts:
    if cursor.frame == 0 and data.initial is not None:
        return data.initial.facts
    facts = [step.state.facts for step in decision.steps if step.index == cursor.step]
    return facts[0] if facts else decision.after
