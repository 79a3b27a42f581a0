"""The head of the episode page: what it is, how it went, and what can be done with it."""

from __future__ import annotations

import streamlit as st

from core import replay
from core.env.rules import ACHIEVEMENTS
from core.errors import CraftscopeError, StoreError
from core.export import episode_json
from core.store import EpisodeSummary, TraceStore
from pages.components.call_panel import show_problem
from pages.components.choice import inert
from pages.components.format import number, reason_in_words, seconds, short_id, signed, status_badge
from pages.components.state import store

_FOLLOW_EVERY_S = 2.0
_STYLE = """
<style>
[data-testid="stMainBlockContainer"] { padding-top: 4.2rem; }
.st-key-episode-figures { padding: 0.55rem 1rem 0.5rem; }
.st-key-episode-figures [data-testid="stMetricValue"] { font-size: 1.35rem; line-height: 1.3; }
.st-key-episode-figures [data-testid="stMetricLabel"] { opacity: 0.75; }
</style>
"""


def show_header(summary: EpisodeSummary) -> None:
    """Draw the head."""
    st.html(_STYLE)
    title, actions = st.columns([0.52, 0.48], vertical_alignment="center")
    with title, st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.subheader(f"Episode {inert(short_id(summary.id))}", anchor=False, width="content")
        _show_badges(summary)
    with (
        actions,
        st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="right", gap="xsmall"),
    ):
        _show_actions(summary)
    _show_figures(summary)
    if summary.error is not None:
        show_problem("The episode ended with an error", summary.error.kind, summary.error.detail)
    if not summary.status.is_over:
        _follow(summary)


def _show_badges(summary: EpisodeSummary) -> None:
    label, colour = status_badge(summary.status)
    st.badge(label, color=colour)  # pyright: ignore[reportArgumentType]
    st.badge(f"seed {summary.seed}", color="gray")
    if summary.world_episode != 1:
        st.badge(f"world {summary.world_episode}", color="gray", help="Which world of this seed, the first is 1")
    st.badge(inert(summary.policy), color="violet", help=f"The policy, with policy seed {summary.policy_seed}")
    if summary.status.is_over:
        st.caption(f"Ended: {reason_in_words(summary.stop_reason)}", width="content")


def _show_actions(summary: EpisodeSummary) -> None:
    earlier, later = _neighbours(summary)
    for label, neighbour, word in (("←", earlier, "Previous"), ("→", later, "Next")):
        if st.button(label, key=f"{word}-episode", disabled=neighbour is None, help=f"{word} episode of this run"):
            st.switch_page("pages/episode.py", query_params={"id": neighbour or ""})
    if st.button("Present", key="present", help="For showing to others: the player and nothing else"):
        frame = st.session_state.get(f"frame:{summary.id}", 0)
        st.switch_page("pages/present.py", query_params={"id": summary.id, "step": str(frame)})
    st.download_button(
        "JSON",
        data=lambda: episode_json(store(), summary.id),
        file_name=f"craftscope-{inert(short_id(summary.id))}.json",
        mime="application/json",
        on_click="ignore",
        key="download",
        help="The whole episode as versioned JSON",
    )
    if summary.n_decisions:
        with st.container(width="content"):
            _check_replay(summary)


def _show_figures(summary: EpisodeSummary) -> None:
    figures = [
        ("Achievements", f"{len(summary.achievements)} / {len(ACHIEVEMENTS)}", None),
        ("Env return", signed(summary.env_return), "The sum of what Crafter itself paid"),
        ("Shaped return", signed(summary.shaped_return), "The sum of what the reward configuration paid"),
        ("Steps", number(summary.n_steps), None),
        ("Decisions", number(summary.n_decisions), None),
        ("Took", _lasted(summary), None),
    ]
    with st.container(border=True, key="episode-figures"):
        for column, (label, value, meaning) in zip(st.columns(len(figures)), figures, strict=True):
            column.metric(label, value, help=meaning)


def _lasted(summary: EpisodeSummary) -> str:
    if summary.started_at is None or summary.ended_at is None:
        return "n/a"
    return seconds((summary.ended_at - summary.started_at).total_seconds())


def _neighbours(summary: EpisodeSummary) -> tuple[str | None, str | None]:
    order = _run_order(store(), store().url, summary.run_id)
    if summary.id not in order:
        return None, None
    at = order.index(summary.id)
    return (order[at - 1] if at else None), (order[at + 1] if at + 1 < len(order) else None)


@st.cache_data(ttl=10, max_entries=16, show_spinner=False)
def _run_order(_store: TraceStore, url: str, run_id: str) -> tuple[str, ...]:
    return tuple(episode.id for episode in _store.run_episodes(run_id))


@st.fragment
def _check_replay(summary: EpisodeSummary) -> None:
    """Simulate again on demand; what came out stays for as long as no more is stored."""
    key = f"replay-check:{summary.id}:{summary.n_steps}"
    if st.button("Check replay", key="check-replay", help="Simulate seed and actions again, compare digests"):
        with st.spinner(f"Simulating {summary.n_steps:,} steps again…"):
            st.session_state[key] = _checked(summary.id)
    is_exact, sentence = st.session_state.get(key, (None, ""))
    if is_exact is None:
        return
    if is_exact:
        st.badge("Replay exact", color="green", help="Every state came out again, digest for digest")
    else:
        st.badge("Replay differs", color="red")
        st.text(sentence)


def _checked(episode_id: str) -> tuple[bool, str]:
    try:
        result = replay.check(store().load_episode(episode_id))
    except CraftscopeError as error:
        return False, f"It could not be simulated again: {error}"
    return result.exact, result.sentence


@st.fragment(run_every=_FOLLOW_EVERY_S)
def _follow(shown: EpisodeSummary) -> None:
    """Say how far a running episode is, without moving what is on the screen; draw it anew once it is over."""
    try:
        now = store().episode(shown.id)
    except StoreError:  # deleted meanwhile, say: the whole page has the sentence for it
        st.rerun()
    if now.status != shown.status:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        if now.started_at is None:
            st.text("It waits for a worker and starts by itself.")
        else:
            new = now.n_steps - shown.n_steps
            newer = f"{number(new)} of them newer than what is shown here" if new else "all of them shown here"
            st.text(f"Running: {number(now.n_steps)} steps so far, {newer}.")
            if st.button("Show them", key="show-newer", disabled=not new):
                st.rerun()
        st.page_link("pages/run.py", label="Follow the run live", query_params={"id": shown.run_id})
