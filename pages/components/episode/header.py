"""The header of the episode page: badges, actions, figures, and following a running episode."""

from __future__ import annotations

import streamlit as st

from core import replay
from core.env.rules import ACHIEVEMENTS
from core.errors import CraftscopeError, StoreError
from core.evidence import ModelTotals
from core.exports import SftFilter, episode_json
from core.store import EpisodeSummary, RunSummary, TraceStore
from core.text import cut, plural
from pages.components.browser.page_ready import page_is_ready
from pages.components.episode.model_totals import show_model_totals
from pages.components.player.cursor import Cursor
from pages.components.player.position import go_to_frame, last_frame, picked_of
from pages.components.shared.export_files import MAX_BYTES, MAX_EXAMPLES, examples_file, safe_file_name
from pages.components.shared.origin import origin_text
from pages.components.shared.problem import show_problem
from pages.components.shared.state import store
from pages.components.text.escape import escape, one_line
from pages.components.text.format import number, seconds, short_id, signed, status_badge, stop_reason_text
from pages.components.text.model_text import warning_text

_FOLLOW_EVERY_S = 2.0
_MAX_NAME_LENGTH = 40
_MAX_ORIGIN_LENGTH = 90
_MAX_REASON_LENGTH = 160
_ERROR_PX = 96  # low, so that the player below stays in the window
_REPLAY_HELP = "Simulate the seed and actions again and compare every state digest with the stored one"
_FOLLOW_HELP = "Show each new decision until you go to another one"
_STYLE = """
<style>
[data-testid="stMainBlockContainer"] { padding: 3.75rem 2rem 2rem; }
.st-key-episode-head :is([data-testid="stButton"], [data-testid="stDownloadButton"]) button { min-height: 2rem;
  padding: 0.15rem 0.6rem; }
.st-key-episode-figures { padding: 0.15rem 0.9rem 0.3rem; }
.st-key-episode-figures [data-testid="stMetricValue"] { font-size: 1.15rem; line-height: 1.25; }
.st-key-episode-figures [data-testid="stMetricLabel"] { height: 1.5rem; min-height: 0; opacity: 0.75; }
.st-key-episode-figures [data-testid="stMetricLabel"] p { font-size: 0.82rem; line-height: 1.5rem; }
.st-key-page-ready-episode { position: absolute; } /* invisible: must not take up a gap */
.st-key-episode-line { flex-wrap: nowrap; height: 1.75rem; overflow: hidden; }
.st-key-episode-line :is([data-testid="stButton"] button, [data-testid="stPageLink"] a) { min-height: 1.6rem;
  padding: 0 0.3rem; white-space: nowrap; }
.st-key-episode-line [data-testid="stPageLink"] a { padding-left: 0; }
.st-key-episode-line [data-testid="stPageLink"] p { max-width: 26ch; overflow: hidden;
  text-overflow: ellipsis; }
.st-key-episode-line :is([data-testid="stText"], [data-testid="stCaptionContainer"] p) {
  overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
</style>
"""


def show_header(summary: EpisodeSummary, model: ModelTotals | None = None) -> None:
    """model: sums over its model calls; None if no model was called."""
    st.html(_STYLE)
    _go_to_newest_if_followed(summary)
    with st.container(key="episode-head", gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
            st.subheader(f"Episode {escape(short_id(summary.id))}", anchor=False, width="content")
            _show_badges(summary)
            st.space("stretch")
            _show_actions(summary, has_model=model is not None)
        _show_figures(summary)
        if model is not None:
            show_model_totals(model)
        polls = not summary.status.is_over and page_is_ready("episode")
        st.fragment(_show_line, run_every=_FOLLOW_EVERY_S if polls else None)(summary)
    if summary.error is not None:
        show_problem(
            "The episode ended with an error",
            warning_text(summary.error.kind),
            summary.error.detail,
            long_px=_ERROR_PX,
        )


def _show_badges(summary: EpisodeSummary) -> None:
    label, colour = status_badge(summary.status, summary.stop_reason)
    st.badge(label, color=colour)  # pyright: ignore[reportArgumentType]
    st.badge(f"seed {summary.seed}", color="gray")
    if summary.world_episode != 1:
        st.badge(f"world {summary.world_episode}", color="gray", help="Which world of this seed; 1 is the first")
    st.badge(
        escape(one_line(summary.policy, _MAX_NAME_LENGTH)),
        color="violet",
        help=f"The policy, with policy seed {summary.spec.policy_seed}",
    )


def _show_actions(summary: EpisodeSummary, *, has_model: bool) -> None:
    earlier, later = _neighbours(summary)
    for label, neighbour, word in (("← Episode", earlier, "Previous"), ("Episode →", later, "Next")):
        if st.button(label, key=f"{word}-episode", disabled=neighbour is None, help=f"{word} episode of this run"):
            st.switch_page("pages/episode.py", query_params={"id": neighbour or ""})
    if st.button("Present", key="present", help="Only the player, for an audience"):
        frame = last_frame(summary.id)
        st.switch_page("pages/present.py", query_params={"id": summary.id, "step": str(frame)})
    st.download_button(
        "JSON",
        data=lambda: episode_json(store(), summary.id),
        file_name=f"craftscope-{safe_file_name(short_id(summary.id))}.json",
        mime="application/json",
        on_click="rerun",  # so that the page shows the error if the episode has been deleted
        key="download",
        help="The whole episode as versioned JSON",
    )
    if has_model:
        _show_examples(summary.id)


def _show_examples(episode_id: str) -> None:
    stored = store()
    st.download_button(
        "SFT",
        data=lambda: examples_file(stored, SftFilter(episode_ids=(episode_id,))),
        file_name=f"craftscope-{safe_file_name(short_id(episode_id))}-sft.jsonl",
        mime="application/jsonl",
        on_click="rerun",
        key="download-sft",
        help="Decisions with a valid call as training examples, one per line; at most "
        f"{number(MAX_EXAMPLES)} or {number(MAX_BYTES / 2**20)} MB",
    )


def _show_figures(summary: EpisodeSummary) -> None:
    figures = [
        ("Achievements", f"{len(summary.achievements)} / {len(ACHIEVEMENTS)}", None),
        ("Env return", signed(summary.env_return), "Sum of Crafter's own rewards"),
        ("Shaped return", signed(summary.shaped_return), "Sum of the shaped rewards"),
        ("Steps", number(summary.n_steps), None),
        ("Decisions", number(summary.n_decisions), None),
        ("Duration", _duration(summary), None),
    ]
    with st.container(border=True, key="episode-figures"):
        for column, (label, value, meaning) in zip(st.columns(len(figures)), figures, strict=True):
            column.metric(label, value, help=meaning)


def _duration(summary: EpisodeSummary) -> str:
    if summary.started_at is None or summary.ended_at is None:
        return "n/a"
    return seconds((summary.ended_at - summary.started_at).total_seconds())


def _neighbours(summary: EpisodeSummary) -> tuple[str | None, str | None]:
    _, order = _run_of(store(), store().url, summary.run_id)
    if summary.id not in order:
        return None, None
    at = order.index(summary.id)
    return (order[at - 1] if at else None), (order[at + 1] if at + 1 < len(order) else None)


@st.cache_data(ttl=10, max_entries=16, show_spinner=False)
def _run_of(_store: TraceStore, url: str, run_id: str) -> tuple[RunSummary, tuple[str, ...]]:
    """The run and the ids of its episodes, in order."""
    return _store.runs.get(run_id), tuple(episode.id for episode in _store.runs.episodes(run_id).rows)


def _show_line(summary: EpisodeSummary) -> None:
    """One line of fixed height: the run, the progress or the reason of the end, and the replay check."""
    key = f"replay-check:{summary.id}:{summary.n_steps}"  # the result is shown until more steps are stored
    with st.container(key="episode-line", horizontal=True, vertical_alignment="center", gap="small"):
        label, origin = _run_label(summary)
        st.page_link("pages/run.py", label=label, query_params={"id": summary.run_id}, width="content")
        if origin:
            st.caption(escape(cut(origin, _MAX_ORIGIN_LENGTH)), width="content", help=escape(origin))
        if summary.status.is_over:
            st.caption(f"Ended: {stop_reason_text(summary.stop_reason, summary.spec.on_done)}", width="content")
        else:
            _follow(summary)
        st.space("stretch")
        with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
            result = st.empty()
        if not summary.n_decisions:
            return
        if st.button("Check replay", key="check-replay", type="tertiary", help=_REPLAY_HELP):
            result.caption(f"Simulating {summary.n_steps:,} steps again…")
            st.session_state[key] = _check_replay(summary.id)
        if key in st.session_state:
            sentence, more = st.session_state[key]
            result.text(sentence, help=more or None)


def _run_label(summary: EpisodeSummary) -> tuple[str, str]:
    """The label of the link to its run, and where the run comes from."""
    try:
        run, _ = _run_of(store(), store().url, summary.run_id)
    except StoreError:  # the run's own page shows the error
        return f"Run: {escape(short_id(summary.run_id))}", ""
    name = one_line(run.name, _MAX_NAME_LENGTH) if run.name else short_id(run.id)
    return f"Run: {escape(name)}", origin_text(run)


def _check_replay(episode_id: str) -> tuple[str, str]:
    """The result, and details for its tooltip. Steps count from 1, as everywhere on this page."""
    try:
        result = replay.check(store().episodes.load(episode_id))
    except CraftscopeError as error:
        return f"Replay failed: {one_line(str(error), _MAX_REASON_LENGTH)}", escape(str(error))
    if result.exact and result.frames:
        return f"Replay exact: all {result.frames - 1:,} steps match", ""
    if result.diverged_at is None:
        return result.sentence, ""
    at = f"at step {result.diverged_at:,}" if result.diverged_at else "in the world after reset"
    return f"Replay diverged {at}", escape(result.sentence)


def _follow(shown: EpisodeSummary) -> None:
    """The progress of a running episode. The page is redrawn when it is over, or at each new decision if followed."""
    try:
        now = store().episodes.get(shown.id)
    except StoreError:  # it may have been deleted; the page shows the error
        st.rerun()
    if now.status != shown.status:
        st.rerun()
    if now.started_at is None:
        st.caption("Waiting for a worker", width="content")
        return
    if _is_followed(shown.id) and _wants_newer(shown, now):
        st.rerun()
    new = now.n_steps - shown.n_steps
    st.caption(plural(new, "new step") if new else f"Running: {plural(now.n_steps, 'step')}", width="content")
    if st.button("Load", key="show-newer", type="tertiary", disabled=not new):
        st.rerun()
    key = f"follow-{shown.id}"
    st.session_state[key] = _is_followed(shown.id)
    st.toggle("Follow", key=key, on_change=_on_toggle, args=(shown.id,), help=_FOLLOW_HELP)


# ------------------------------------------------------------------------------------------------------ following
# `followed-to` is the position that following last moved to. While player and panels are at it, the user has not moved.


def _is_followed(episode_id: str) -> bool:
    return st.session_state.get(f"following:{episode_id}", False)


def _on_toggle(episode_id: str) -> None:
    st.session_state[f"following:{episode_id}"] = st.session_state[f"follow-{episode_id}"]
    st.session_state.pop(f"followed-to:{episode_id}", None)
    st.session_state.pop(f"moved_away:{episode_id}", None)


def _user_moved(episode_id: str) -> bool:
    """Whether the user moved away since following last moved."""
    followed: Cursor | None = st.session_state.get(f"followed-to:{episode_id}")
    return followed is not None and (last_frame(episode_id), picked_of(episode_id)) != (followed.frame, followed)


def _wants_newer(shown: EpisodeSummary, now: EpisodeSummary) -> bool:
    """Whether to redraw the page for new decisions. Following ends when the user moves away: only if two polls in a row
    see it, as the browser may report its position one poll late."""
    moved_away = f"moved_away:{shown.id}"
    if _user_moved(shown.id):
        if st.session_state.get(moved_away):
            st.session_state[f"following:{shown.id}"] = False
        st.session_state[moved_away] = True
        return False
    st.session_state[moved_away] = False
    return now.n_decisions > shown.n_decisions or f"followed-to:{shown.id}" not in st.session_state


def _go_to_newest_if_followed(summary: EpisodeSummary) -> None:
    if not _is_followed(summary.id):
        return
    if not _user_moved(summary.id):
        newest = Cursor(summary.n_steps, summary.n_decisions - 1 if summary.n_decisions else None)
        if st.session_state.get(f"followed-to:{summary.id}") != newest:
            st.session_state[f"followed-to:{summary.id}"] = newest
            go_to_frame(summary.id, newest)
    if summary.status.is_over:
        st.session_state[f"following:{summary.id}"] = False
