"""Traces: every stored episode, newest first. Filters live in the URL, so a filtered list can be sent to others."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from core.env.rules import ACHIEVEMENTS
from core.errors import StoreError
from core.exports import episode_json
from core.store import Cursor, EpisodeFilter, EpisodeSummary, Totals
from core.text import plural
from pages.components.browser.styles import traces_styles
from pages.components.rewards.reward_text import reward_text, strategy_label
from pages.components.shared.corrupt_rows import show_corrupt_episodes
from pages.components.shared.empty import show_empty_store
from pages.components.shared.export_files import DOWNLOAD_FAILED, episodes_zip, report_missing, safe_file_name
from pages.components.shared.router import ensure_router
from pages.components.shared.state import store
from pages.components.text.escape import escape, one_line
from pages.components.text.format import number, run_label, short_id, signed, status_label, stop_reason_text, when
from pages.components.traces.export_panel import export_popover
from pages.components.traces.filter import filter_bar
from pages.components.traces.import_panel import import_popover

_PAGE_SIZE = 50
_MAX_COUNTED = 10_000
_MAX_ROWS_IN_FULL = 16
_ROW_PX = 33
_MAX_NAME_LENGTH = 60
_SCOPE = "mean over episodes that ended after at least one step"


def main() -> None:
    ensure_router()
    traces_styles()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.title("Traces", anchor=False, width="content")
        st.space("stretch")
        import_popover()
    failed = st.session_state.pop(DOWNLOAD_FAILED, "")
    if failed:
        st.error(escape(failed))
    if store().episodes.is_empty():
        show_empty_store()
        return
    chosen = filter_bar(store().episodes.policies())
    _show_totals(store().episodes.totals(chosen))
    _show_list(chosen)


def _show_totals(totals: Totals) -> None:
    figures = [
        ("Episodes", f"{number(_MAX_COUNTED)}+" if totals.episodes > _MAX_COUNTED else number(totals.episodes), ""),
        ("Running", number(totals.running), ""),
        ("Queued", number(totals.queued), ""),
        ("Steps", number(totals.steps), ""),
        ("Mean achievements", _mean(totals.mean_achievements, lambda n: number(n, 1)), f"Of 22; {_SCOPE}"),
        ("Mean env return", _mean(totals.mean_env_return, signed), f"Crafter's own rewards; {_SCOPE}"),
        ("Mean shaped return", _mean(totals.mean_shaped_return, signed), f"Shaped rewards; {_SCOPE}"),
    ]
    with st.container(key="trace-totals"):
        for column, (label, value, meaning) in zip(st.columns(_TOTALS_WIDTHS), figures, strict=True):
            column.metric(label, value, help=meaning or None)


def _mean(value: float | None, as_text: Callable[[float], str]) -> str:
    return "n/a" if value is None else as_text(value)


def _show_list(chosen: EpisodeFilter) -> None:
    cursors: list[Cursor | None] = st.session_state.setdefault(f"trace_cursors:{chosen!r}", [None])
    page = store().episodes.page(chosen, cursor=cursors[-1], limit=_PAGE_SIZE)
    if not page.rows and not page.unreadable and len(cursors) == 1:
        st.info("No stored episode matches these filters. Clear one or all of them.")
        return
    event = st.dataframe(
        _table(page.rows),
        key=f"trace_table:{len(cursors)}:{store().generation}",  # by row index: a deletion must reset the selection
        hide_index=True,
        height="content" if len(page.rows) <= _MAX_ROWS_IN_FULL else _ROW_PX * (_MAX_ROWS_IN_FULL + 1) + 2,
        row_height=_ROW_PX,
        on_select="rerun",
        selection_mode="multi-row",
        column_config=_COLUMNS,
    )
    selected = [page.rows[index] for index in event["selection"]["rows"] if index < len(page.rows)]
    with st.container(horizontal=True, vertical_alignment="center"):
        _show_actions(selected)
        export_popover(chosen, page.rows, selected)
        show_corrupt_episodes(page.unreadable, "trace_corrupt", deletable=True)
        st.space("stretch")
        if len(cursors) > 1 or page.next_cursor is not None:
            _show_pages(cursors, page.next_cursor)
    if len(selected) == 1:
        _show_detail(selected[0])


def _show_pages(cursors: list[Cursor | None], following: Cursor | None) -> None:
    if st.button("← Newer", disabled=len(cursors) == 1, key="newer"):
        cursors.pop()
        st.rerun()
    st.caption(f"Page {len(cursors)}", width="content")
    if st.button("Older →", disabled=following is None, key="older"):
        cursors.append(following)
        st.rerun()


def _table(rows: tuple[EpisodeSummary, ...]) -> Styler:
    """Cells hold numbers, so that the browser can sort them; the style formats them."""
    table = pd.DataFrame(
        {
            "open": [f"/episode?id={quote(row.id, safe='')}" for row in rows],
            "status": [status_label(row.status, row.stop_reason) for row in rows],
            "policy": [one_line(row.policy, _MAX_NAME_LENGTH) for row in rows],
            "seed": [row.seed for row in rows],
            "achievements": [len(row.achievements) for row in rows],
            "env_return": [row.env_return for row in rows],
            "shaped_return": [row.shaped_return for row in rows],
            "strategy": [_strategy(row) for row in rows],
            "steps": [row.n_steps for row in rows],
            "created": [when(row.created_at).removesuffix(" UTC") for row in rows],
        }
    )
    style = table.style
    style.format(
        {
            "env_return": lambda value: signed(value).rjust(8, _PAD),
            "shaped_return": lambda value: signed(value).rjust(9, _PAD),
            "steps": lambda value: number(value).rjust(6, _PAD),
        }
    )
    return style


def _strategy(row: EpisodeSummary) -> str:
    reward = row.spec.reward
    return one_line(strategy_label(reward.strategy), _MAX_NAME_LENGTH) if reward.is_active else "off"


_TOTALS_WIDTHS = (1, 0.8, 0.8, 0.9, 1.25, 1.15, 1.3)
# Headings are left-aligned, so numbers are too, padded so that their last digits line up.
_PAD = "\u2007"  # as wide as a digit
# Widths such that all columns fit into a window of 1024 pixels.
_COLUMNS = {
    "open": st.column_config.LinkColumn("Episode", display_text=r"id=(.{8})", width=76),
    "status": st.column_config.TextColumn("Status", width=161),
    "policy": st.column_config.TextColumn("Policy"),
    "seed": st.column_config.NumberColumn("Seed", format="%d", width=66, alignment="left"),
    "achievements": st.column_config.ProgressColumn(
        "Achievements", min_value=0, max_value=len(ACHIEVEMENTS), format="%d / 22", width=98
    ),
    "env_return": st.column_config.NumberColumn(
        "Env return", width=78, alignment="left", help="Sum of Crafter's own rewards"
    ),
    "shaped_return": st.column_config.NumberColumn(
        "Shaped return", width=98, alignment="left", help="Sum of the shaped rewards"
    ),
    "strategy": st.column_config.TextColumn("Reward"),
    "steps": st.column_config.NumberColumn("Steps", width=58, alignment="left"),
    "created": st.column_config.TextColumn("Created (UTC)", width=118),
}


def _show_actions(selected: list[EpisodeSummary]) -> None:
    if not selected:
        st.caption("Select episodes to open, download or delete them.", width="content")
        return
    only = selected[0] if len(selected) == 1 else None
    if only and st.button(f"Open {escape(short_id(only.id))}", type="primary", key="open_episode"):
        st.switch_page("pages/episode.py", query_params={"id": only.id})
    _show_download([row.id for row in selected])
    if st.button(f"Delete {len(selected)}…", key="delete_episodes", disabled=store().read_only):
        _confirm_deletion(selected)


def _show_download(ids: list[str]) -> None:
    stored, only = store(), ids[0] if len(ids) == 1 else None
    st.download_button(
        "Download JSON" if only else f"Download {len(ids)} as JSON",
        data=(lambda: episode_json(stored, only)) if only else (lambda: episodes_zip(stored, ids)),
        file_name=f"craftscope-{safe_file_name(short_id(only))}.json" if only else "craftscope-episodes.zip",
        mime="application/json" if only else "application/zip",
        help=None if only else "A zip file with one JSON file per episode",
        on_click=report_missing,
        args=(ids,),
        key="download_episode" if only else "download_episodes",
    )


def _show_detail(row: EpisodeSummary) -> None:
    try:
        name = run_label(store().runs.get(row.run_id).name, row.run_id)
    except StoreError:  # the run's own page shows the error
        name = short_id(row.run_id)
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="trace-detail"):
        st.page_link("pages/run.py", label=f"Run: {escape(name)}", query_params={"id": row.run_id}, width="content")
        ended = (
            f"Ended: {stop_reason_text(row.stop_reason, row.spec.on_done)}" if row.status.is_over else "Still running"
        )
        facts = (
            ended,
            plural(row.n_decisions, "decision"),
            f"reward {one_line(reward_text(row.spec.reward), _MAX_NAME_LENGTH)}",
            f"world {row.world_episode} of seed {row.seed}",
        )
        st.caption(escape(" · ".join(facts)), width="content")


@st.dialog("Delete for good?")
def _confirm_deletion(selected: list[EpisodeSummary]) -> None:
    running = [row for row in selected if not row.status.is_over]
    if running:
        st.warning(f"{plural(len(running), 'episode')} still queued or running. Stop them on the run's page first.")
        return
    st.write(f"{plural(len(selected), 'stored episode')} with all frames and rewards:")
    for row in selected[:8]:
        st.text(
            f"{short_id(row.id)} · {one_line(row.policy, _MAX_NAME_LENGTH)} · seed {row.seed} · "
            f"{len(row.achievements)} / {len(ACHIEVEMENTS)} achievements · "
            f"shaped return {signed(row.shaped_return)}"
        )
    if len(selected) > 8:
        st.caption(f"… and {len(selected) - 8} more")
    st.caption("This cannot be undone.")
    with st.container(horizontal=True):
        if st.button("Delete", key="confirm_delete"):
            try:
                store().episodes.delete([row.id for row in selected])
            except StoreError as error:
                st.error(escape(str(error)))
                return
            st.rerun()
        if st.button("Cancel", key="cancel_delete"):
            st.rerun()


main()
