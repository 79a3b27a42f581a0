"""The runs of one batch: what is over, and the mean returns of each policy under each reward configuration."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import streamlit as st

from core import jobs
from core.errors import JobError
from core.store import EpisodeFilter, RunSummary
from core.text import plural
from core.types import EpisodeStatus
from pages.components.run.cards import flash, show_flash
from pages.components.shared.state import settings, store
from pages.components.text.escape import escape, one_line
from pages.components.text.format import number, run_label, seconds, short_id, signed

MAX_RUNS = 200
_MAX_NAME_LENGTH = 80
_LEAST_SHARE = 0.01  # of the episodes, before their pace says anything


def runs_in(batch_id: str) -> tuple[RunSummary, ...]:
    """Oldest first, as they were launched."""
    return tuple(reversed(store().runs.newest(MAX_RUNS, batch_id=batch_id).rows))


def is_active(runs: tuple[RunSummary, ...]) -> bool:
    return any(not status.is_over for run in runs for status in run.counts)


def show_batch(batch_id: str, was_active: bool) -> bool:
    """Draws the progress and the table of runs; returns whether all are over."""
    show_flash()
    if was_active:
        sweep_workers(True)
    runs = runs_in(batch_id)
    counts = Counter[EpisodeStatus]()
    for run in runs:
        counts.update(run.counts)
    total = sum(run.n_episodes for run in runs)
    over = sum(count for status, count in counts.items() if status.is_over)
    with st.container(horizontal=True, vertical_alignment="center", key="batch-totals"):
        states = ", ".join(f"{number(count)} {status.value}" for status, count in counts.items() if count)
        st.text(f"{plural(len(runs), 'run')}, {plural(total, 'episode')}: {states}")
        st.space("stretch")
        st.button(
            "Stop all",
            key="stop-batch",
            on_click=_stop,
            args=(runs,),
            disabled=store().read_only or not is_active(runs),
        )
    st.progress(over / max(1, total), text=_left(runs, over, total) or None)
    for run in runs:
        _show_run(run)
    return not is_active(runs)


def _show_run(run: RunSummary) -> None:
    over = sum(count for status, count in run.counts.items() if status.is_over)
    totals = store().episodes.totals(EpisodeFilter(run_id=run.id))
    name = run_label(run.name, run.id) if run.name else f"Run {short_id(run.id)}"
    with st.container(border=True, key=f"batch-run-{run.id}", gap="xxsmall"):
        cells = st.columns([3.4, 1.6, 1.2, 1.2, 1.2], vertical_alignment="center")
        cells[0].page_link(
            "pages/run.py", label=f"**{escape(one_line(name, _MAX_NAME_LENGTH))}**", query_params={"id": run.id}
        )
        cells[1].progress(over / max(1, run.n_episodes), text=f"{number(over)} / {number(run.n_episodes)}")
        figures = (
            ("Mean env return", totals.mean_env_return, signed),
            ("Mean shaped return", totals.mean_shaped_return, signed),
            ("Mean achievements", totals.mean_achievements, lambda value: number(value, 1)),
        )
        for cell, (label, value, as_text) in zip(cells[2:], figures, strict=True):
            cell.metric(label, "n/a" if value is None else as_text(value))


def _left(runs: tuple[RunSummary, ...], over: int, total: int) -> str:
    """How long it will take, by the episodes that are over; empty if unknown."""
    started = min((run.started_at for run in runs if run.started_at), default=None)
    share = over / max(1, total)
    if started is None or not _LEAST_SHARE <= share < 1:
        return ""
    left_s = (datetime.now(UTC) - started).total_seconds() * (1 - share) / share
    return f"About {seconds(max(1.0, left_s))} left"


def sweep_workers(active: bool) -> None:
    """Interrupts episodes whose worker died and starts workers for queued ones."""
    try:
        jobs.sweep(store(), settings())
    except JobError as error:
        st.warning(escape(str(error)))
    if active:
        for sentence in jobs.worker_problems(settings()):
            st.warning(escape(sentence))


def _stop(runs: tuple[RunSummary, ...]) -> None:
    stopping = sum(store().queue.request_stop(run_id=run.id) for run in runs)
    flash(f"Stopping {plural(stopping, 'episode')}.")
