"""Run: one run, live and when it is over. URL: /run?id=<run id>, or /run?batch=<batch id> for the runs of a batch; with
neither, the newest runs."""

from __future__ import annotations

from datetime import UTC, datetime
from statistics import fmean
from typing import Any

import streamlit as st

from core.errors import CraftscopeError, StoreError, UnknownEpisode
from core.policies import POLICIES
from core.store import EpisodeFilter, EpisodeSummary, RunSummary, Unreadable
from core.text import plural
from core.types import EnvConfig, EpisodeStatus, OnDone, Spent
from pages.components.browser.notification import notification_switch
from pages.components.browser.page_ready import page_is_ready
from pages.components.browser.styles import live_styles
from pages.components.launch.link import link_of, spec_values
from pages.components.rewards.reward_text import strategy_label
from pages.components.run.batch import is_active, runs_in, show_batch, sweep_workers
from pages.components.run.cards import (
    Played,
    episode_card,
    episode_row,
    flash,
    played_by,
    prepare_frames,
    row_headings,
    rows_with_cards,
    show_flash,
    time_left,
)
from pages.components.run.model_cards import calls_model, show_spent, spent_on
from pages.components.shared.corrupt_rows import show_corrupt_episodes, show_corrupt_runs
from pages.components.shared.empty import show_empty_store
from pages.components.shared.origin import origin_text
from pages.components.shared.router import ensure_router
from pages.components.shared.state import settings, stop_with, store
from pages.components.text.escape import escape, one_line
from pages.components.text.format import number, run_label, seconds, seeds_label, short_id, signed, when
from pages.components.text.sentences import lambda_text

_POLL_S = 1.0
_MAX_CARDS = 4
_ROWS = 12
_MAX_NAME_LENGTH = 120
_ERROR = "run-error"
_TOTALS_WIDTHS = (0.8, 0.7, 0.8, 1.15, 1.35, 1.3, 1.0)


def main() -> None:
    ensure_router()
    live_styles()
    run_id, batch_id = st.query_params.get("id"), st.query_params.get("batch")
    if not run_id:
        if batch_id:
            _show_batch(batch_id)
        else:
            _show_newest()
        return
    try:
        run = store().runs.get(run_id)
        found = store().runs.episodes(run.id)
    except UnknownEpisode as error:
        _show_unknown(error)
        return
    # Links of this page's own list leave the URL without an id.
    st.query_params.from_dict({"id": run.id})
    if (error := st.session_state.pop(_ERROR, None)) is not None:
        stop_with("Cannot show this run", error)
    _show_header(run, found.rows, found.unreadable)
    live = st.container()
    active = any(not row.status.is_over for row in found.rows)
    _notify(run.id, _title(run), is_over=not active)
    polls = page_is_ready("run") and active
    with live:
        st.fragment(_follow, run_every=_POLL_S if polls else None)(run.id, active)


def _show_newest() -> None:
    st.title("Runs", anchor=False)
    runs = store().runs.newest(20)
    if not runs.rows and not runs.unreadable:
        show_empty_store()
        return
    show_corrupt_runs(runs.unreadable, "corrupt_runs")
    for run in runs.rows:
        with st.container(border=True, key=f"run-line-{run.id}", gap="xxsmall"):
            with st.container(horizontal=True, vertical_alignment="center", key=f"run-title-{run.id}"):
                st.page_link("pages/run.py", label=f"**{escape(_title(run))}**", query_params={"id": run.id})
                st.space("stretch")
                st.caption(f"{_counts(run)} · {when(run.created_at)}", width="content")
            texts = (one_line(_config_text(run.config), _MAX_NAME_LENGTH), *_mean_returns(run), origin_text(run))
            st.text(" · ".join(filter(None, texts)))


def _show_batch(batch_id: str) -> None:
    st.query_params["batch"] = batch_id  # links of this page's own list leave the URL without it
    runs = runs_in(batch_id)
    with st.container(horizontal=True, vertical_alignment="center", key="run-head"):
        st.title("Batch", anchor=False, width="content")
        st.space("stretch")
        st.button("All runs", key="all-runs", type="tertiary", on_click=_leave_run)
        if runs:
            st.page_link("pages/traces.py", label="These episodes in Traces", query_params={"trainer_id": batch_id})
    if not runs:
        st.error(f"No run of the batch {escape(one_line(batch_id, _MAX_NAME_LENGTH))} is stored.")
        return
    st.caption(escape(one_line(batch_id, _MAX_NAME_LENGTH)))
    active = is_active(runs)
    _notify(batch_id, f"Batch of {plural(len(runs), 'run')}", is_over=not active)
    polls = page_is_ready("batch") and active
    st.fragment(_follow_batch, run_every=_POLL_S if polls else None)(batch_id, active)


def _follow_batch(batch_id: str, was_active: bool) -> None:
    """As `_follow`, for all runs of a batch."""
    try:
        is_over = show_batch(batch_id, was_active)
    except CraftscopeError as error:
        st.session_state[_ERROR] = error
        st.rerun()
    if is_over and was_active:
        st.rerun()


def _notify(about: str, title: str, *, is_over: bool) -> None:
    notification_switch(about, is_over=is_over, title=f"{title} is over", text="Open the page to see its returns.")


def _title(run: RunSummary) -> str:
    return run_label(run.name, run.id) if run.name else f"Run {short_id(run.id)}"


def _mean_returns(run: RunSummary) -> tuple[str, ...]:
    """Means over episodes that ended after at least one step."""
    totals = store().episodes.totals(EpisodeFilter(run_id=run.id))
    if totals.mean_env_return is None or totals.mean_shaped_return is None:
        return ()
    return (
        f"mean env return {signed(totals.mean_env_return)}",
        f"mean shaped return {signed(totals.mean_shaped_return)}",
    )


def _config_text(config: dict[str, Any]) -> str:
    """The configuration in a line. A run that was not launched here may lack parts of it."""
    seeds, times = config.get("seeds", ()), config.get("episodes_per_seed", 1)
    played = seeds_label(seeds) + (f" × {times}" if times != 1 else "") if seeds else ""
    strategy = strategy_label(config.get("reward", {}).get("strategy", ""))
    return " · ".join(filter(None, (config.get("policy", {}).get("name"), played, strategy)))


def _counts(run: RunSummary) -> str:
    parts = [f"{number(count)} {status.value}" for status, count in run.counts.items() if count]
    if (deleted := _launched(run) - run.n_episodes) > 0:
        parts.append(f"{number(deleted)} deleted")
    return ", ".join(parts) or "no episodes"


def _launched(run: RunSummary) -> int:
    """How many episodes were launched; 0 if the configuration does not say."""
    return len(run.config.get("seeds", ())) * run.config.get("episodes_per_seed", 1)


def _show_unknown(error: UnknownEpisode) -> None:
    st.title("Run", anchor=False)
    st.error(escape(str(error)))
    st.page_link("pages/run.py", label="Newest runs")


def _show_header(run: RunSummary, rows: tuple[EpisodeSummary, ...], unreadable: tuple[Unreadable, ...]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="run-head"):
        st.title(escape(_title(run)), anchor=False, width="content")
        st.space("stretch")
        st.button("All runs", key="all-runs", type="tertiary", on_click=_leave_run)
        if rows:
            if run.batch_id:
                st.page_link("pages/run.py", label="All runs of its batch", query_params={"batch": run.batch_id})
            st.page_link("pages/traces.py", label="These episodes in Traces", query_params={"run": run.id})
            if rows[0].policy in POLICIES:  # not an agent of another program
                st.page_link("pages/launch.py", label="Launch again →", query_params=_link(rows))
    facts = [when(run.created_at), *(_spec_texts(rows) if rows else ())]
    if run.name:  # the title is the name, so the id is shown here
        facts.insert(1, f"run {escape(short_id(run.id))}")
    hashes = f"\n\nReward configuration: {escape(rows[0].config_hash)}" if rows else ""
    st.caption(" · ".join(facts), help=f"Run: {escape(run.id)}{hashes}")
    st.caption(escape(" · ".join(filter(None, (_times(run), origin_text(run))))))
    show_corrupt_episodes(unreadable, "corrupt_episodes")
    first_worlds = sum(row.world_episode == 1 for row in rows) + len(unreadable)
    if rows and first_worlds < _launched(run):
        deleted = _launched(run) - first_worlds
        st.caption(
            f"{number(deleted)} of {plural(_launched(run), 'episode')} deleted. Figures cover the remaining ones."
        )


def _times(run: RunSummary) -> str:
    """The run's status, when it started, and how long it took."""
    if run.started_at is None:
        return f"{run.status.value}, not started"
    if run.finished_at is None:
        return f"{run.status.value} since {when(run.started_at)}"
    took = seconds((run.finished_at - run.started_at).total_seconds())
    return f"{run.status.value}, started {when(run.started_at)}, finished after {took}"


def _leave_run() -> None:
    st.query_params.clear()


def _spec_texts(rows: tuple[EpisodeSummary, ...]) -> list[str]:
    """The settings of the run, as Markdown texts."""
    spec = rows[0].spec
    reward = spec.reward
    strategy = escape(one_line(strategy_label(reward.strategy), _MAX_NAME_LENGTH))
    noun, seeds = seeds_label(_seeds(rows)).split(" ", 1)
    return [
        f"**{escape(one_line(spec.policy.name, _MAX_NAME_LENGTH))}**",
        f"{noun} **{escape(one_line(seeds, _MAX_NAME_LENGTH))}**",
        f"reward **{strategy}**, {lambda_text(reward)}" if reward.is_active else "reward shaping off",
        f"max {number(spec.limits.max_steps)} steps, {number(spec.limits.max_decisions)} decisions",
        "continues in the next world" if spec.on_done is OnDone.RESET else "stops when the world ends",
        *([f"world {spec.env.area[0]} × {spec.env.area[1]}"] if spec.env.area != EnvConfig().area else ()),
    ]


def _seeds(rows: tuple[EpisodeSummary, ...]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(row.seed for row in rows))


def _per_seed(rows: tuple[EpisodeSummary, ...]) -> int:
    return max(row.group_index for row in rows) + 1


def _link(rows: tuple[EpisodeSummary, ...]) -> dict[str, str]:
    return link_of(spec_values(rows[0].spec, _seeds(rows), _per_seed(rows)))


def _follow(run_id: str, was_active: bool) -> None:
    """The live part, redrawn every second until the run is over.

    Only a rerun of the whole page ends the polling, so an error is kept for that rerun to show.
    """
    try:
        is_over = _draw(run_id, was_active)
    except CraftscopeError as error:
        st.session_state[_ERROR] = error
        st.rerun()
    if is_over and was_active:
        st.rerun()


def _draw(run_id: str, was_active: bool) -> bool:
    """Draws the live part and returns whether the run is over."""
    show_flash()
    sweep_workers(was_active)
    found = store().runs.episodes(run_id)
    rows = found.rows
    if not rows:
        st.info(
            "All episodes of this run are corrupt." if found.unreadable else "All episodes of this run were deleted."
        )
        return True
    active = [row for row in rows if not row.status.is_over]
    if was_active and not active:
        return True
    per_seed = _per_seed(rows)
    played = played_by(rows)
    all_as_cards = len(rows) <= _MAX_CARDS
    places = len(rows) if all_as_cards else min(_MAX_CARDS, max(2, settings().max_workers))
    cards = rows_with_cards(rows, places, st.session_state.setdefault(f"cards-{run_id}", []))
    prepare_frames(cards, alone=len(cards) == 1)
    _show_totals(run_id, rows, active, time_left(rows, played, datetime.now(UTC)) if active else "")
    if any(calls_model(row) for row in rows):
        show_spent(run_id)
    _show_cards(sorted(cards, key=rows.index) if all_as_cards else cards, per_seed, played, spent_on(cards))
    if not all_as_cards:
        _show_rows(rows, per_seed, played)
    return not active


def _show_totals(run_id: str, rows: tuple[EpisodeSummary, ...], active: list[EpisodeSummary], left: str) -> None:
    """left: how long it will take, or empty."""
    ended = len(rows) - len(active)
    played = [row for row in rows if row.n_steps]
    over = f"Mean over {plural(len(played), 'episode')} with at least one step, including running ones"
    figures = [
        ("Ended", f"{number(ended)} / {number(len(rows))}", None),
        ("Running", number(sum(row.status is EpisodeStatus.RUNNING for row in rows)), None),
        ("Steps", number(sum(row.n_steps for row in rows)), None),
        ("Mean env return", signed(fmean(row.env_return for row in played)) if played else "n/a", over),
        ("Mean shaped return", signed(fmean(row.shaped_return for row in played)) if played else "n/a", over),
        ("Mean achievements", number(fmean(len(row.achievements) for row in played), 1) if played else "n/a", over),
    ]
    with st.container(key="run-totals"):
        *cells, last = st.columns(_TOTALS_WIDTHS, vertical_alignment="center")
    for cell, (label, value, meaning) in zip(cells, figures, strict=True):
        cell.metric(label, value, help=meaning)
    last.button(
        "Stop all",
        key="stop-all",
        on_click=_stop_all,
        args=(run_id,),
        width="stretch",
        disabled=store().read_only or all(row.stop_requested for row in active),
    )
    st.progress(ended / len(rows), text=left or None)


def _stop_all(run_id: str) -> None:
    try:
        stopping = store().queue.request_stop(run_id=run_id)
    except StoreError as error:
        flash(str(error))
        return
    flash(f"Stopping {plural(stopping, 'episode')}.")


def _show_cards(cards: list[EpisodeSummary], per_seed: int, played: dict[str, Played], spent: dict[str, Spent]) -> None:
    if len(cards) == 1:
        (row,) = cards
        episode_card(row, per_seed, played[row.id], spent=spent.get(row.id), alone=True)
        return
    for start in range(0, len(cards), 2):
        for column, row in zip(st.columns(2), cards[start : start + 2], strict=False):
            with column:
                episode_card(row, per_seed, played[row.id], spent=spent.get(row.id))


def _show_rows(rows: tuple[EpisodeSummary, ...], per_seed: int, played: dict[str, Played]) -> None:
    st.subheader("All episodes", anchor=False)
    pages = -(-len(rows) // _ROWS)
    page = st.session_state.get("run-page", 1) if pages > 1 else 1
    page = min(page, pages)
    row_headings()
    for row in rows[(page - 1) * _ROWS : page * _ROWS]:
        episode_row(row, per_seed, played[row.id])
    if pages > 1:
        st.pagination(pages, key="run-page")


main()
