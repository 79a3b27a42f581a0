"""Traces: every stored episode, newest first. Filters live in the URL, so a filtered list can be sent to others."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.errors import StoreError
from core.export import episode_json
from core.store import EpisodeFilter, EpisodeSummary, Totals
from pages.components.empty import show_empty_store
from pages.components.format import number, reason_in_words, short_id, signed, status_label, when
from pages.components.plain import plain, shown
from pages.components.router import inside_the_dashboard
from pages.components.state import store
from pages.components.trace_filter import filter_bar

_PAGE_SIZE = 50
_COUNT_CAP = 10_000


def main() -> None:
    """Draw the page."""
    inside_the_dashboard()
    st.title("Traces", anchor=False)
    if store().is_empty():
        show_empty_store()
        return
    chosen = filter_bar(store().policies())
    if chosen is None:
        return
    _show_totals(store().totals(chosen))
    _show_list(chosen)


def _show_totals(totals: Totals) -> None:
    capped = totals.episodes > _COUNT_CAP
    figures = [
        ("Episodes", f"{number(_COUNT_CAP)}+" if capped else number(totals.episodes)),
        ("Running, queued", f"{totals.running}, {totals.queued}"),
        ("Steps", number(totals.steps)),
        ("Decisions", number(totals.decisions)),
        ("Mean achievements", _or_na(totals.mean_achievements, 1)),
        ("Mean env return", _or_na(totals.mean_env_return, 2)),
        ("Mean shaped return", _or_na(totals.mean_shaped_return, 2)),
    ]
    for column, (label, value) in zip(st.columns(len(figures)), figures, strict=True):
        column.metric(label, value)


def _or_na(value: float | None, digits: int) -> str:
    return "n/a" if value is None else number(value, digits)


def _show_list(chosen: EpisodeFilter) -> None:
    cursors: list[str | None] = st.session_state.setdefault(f"trace_cursors:{chosen!r}", [None])
    page = store().episodes(chosen, cursor=cursors[-1], limit=_PAGE_SIZE)
    if not page.rows:
        st.info("No stored episode fits these filters. Loosen one of them, or clear them all.")
        return
    event = st.dataframe(
        _table(page.rows),
        key=f"trace_table:{len(cursors)}:{store().generation}",  # ticks are by row: a deletion must not pass them on
        hide_index=True,
        height=min(37 + 35 * len(page.rows), 560),
        on_select="rerun",
        selection_mode="multi-row",
        column_config=_COLUMNS,
    )
    selected = [page.rows[index] for index in event["selection"]["rows"] if index < len(page.rows)]
    with st.container(horizontal=True, vertical_alignment="center"):
        _show_actions(selected)
        st.space("stretch")
        if st.button("← Newer", disabled=len(cursors) == 1, key="newer"):
            cursors.pop()
            st.rerun()
        st.caption(f"Page {len(cursors)}", width="content")
        if st.button("Older →", disabled=page.next_cursor is None, key="older"):
            cursors.append(page.next_cursor)
            st.rerun()


def _table(rows: tuple[EpisodeSummary, ...]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "open": [f"/episode?id={row.id}" for row in rows],
            "status": [status_label(row.status) for row in rows],
            "policy": [shown(row.policy, 60) for row in rows],
            "seed": [row.seed for row in rows],
            "achievements": [len(row.achievements) for row in rows],
            "env_return": [row.env_return for row in rows],
            "shaped_return": [row.shaped_return for row in rows],
            "strategy": [shown(row.spec.reward.strategy, 60) for row in rows],
            "steps": [row.n_steps for row in rows],
            "decisions": [row.n_decisions for row in rows],
            "ended": [_why(row) for row in rows],
            "created": [when(row.created_at).removesuffix(" UTC") for row in rows],
        }
    )


def _why(row: EpisodeSummary) -> str:
    return reason_in_words(row.stop_reason) if row.status.is_over else "…"


_COLUMNS = {
    "open": st.column_config.LinkColumn("Episode", display_text=r"id=(.{8})", width=85),
    "status": st.column_config.TextColumn("Status", width=105),
    "policy": st.column_config.TextColumn("Policy", width=85),
    "seed": st.column_config.NumberColumn("Seed", format="%d", width=95),
    "achievements": st.column_config.ProgressColumn(
        "Achievements", min_value=0, max_value=22, format="%d / 22", width=150
    ),
    "env_return": st.column_config.NumberColumn("Env return", format="%.2f", help="Sum of Crafter's own rewards"),
    "shaped_return": st.column_config.NumberColumn("Shaped return", format="%.2f", help="Sum of decision rewards"),
    "strategy": st.column_config.TextColumn("Reward strategy", width=115),
    "steps": st.column_config.NumberColumn("Steps", format="localized", width="small"),
    "decisions": st.column_config.NumberColumn("Decisions", format="localized", width="small"),
    "ended": st.column_config.TextColumn("Why it ended", width=170),
    "created": st.column_config.TextColumn("Created (UTC)", width=130),
}


def _show_actions(selected: list[EpisodeSummary]) -> None:
    if not selected:
        st.caption("Tick episodes to open, download or delete them.", width="content")
        return
    only = selected[0] if len(selected) == 1 else None
    if only and st.button(f"Open {short_id(only.id)}", type="primary", key="open_episode"):
        st.switch_page("pages/episode.py", query_params={"id": only.id})
    if only:
        st.download_button(
            "Download JSON",
            data=lambda: episode_json(store(), only.id),
            file_name=f"craftscope-{short_id(only.id)}.json",
            mime="application/json",
            on_click="ignore",
            key="download_episode",
        )
    if st.button(f"Delete {len(selected)}", key="delete_episodes"):
        _confirm_deletion(selected)


@st.dialog("Delete for good?")
def _confirm_deletion(selected: list[EpisodeSummary]) -> None:
    running = [row for row in selected if not row.status.is_over]
    if running:
        st.warning(f"{len(running)} of them are queued or running. Stop them on their run's page first.")
        return
    st.write(f"{len(selected)} stored episode{'s' if len(selected) > 1 else ''} with all frames and rewards:")
    for row in selected[:8]:
        st.text(
            f"{short_id(row.id)} · {row.policy} · seed {row.seed} · {len(row.achievements)}/22 · "
            f"shaped return {signed(row.shaped_return)}"
        )
    if len(selected) > 8:
        st.caption(f"… and {len(selected) - 8} more")
    st.caption("This cannot be undone.")
    with st.container(horizontal=True):
        if st.button("Delete", type="primary", key="confirm_delete"):
            try:
                store().delete_episodes([row.id for row in selected])
            except StoreError as error:
                st.error(plain(str(error)))
                return
            st.rerun()
        if st.button("Keep them", key="cancel_delete"):
            st.rerun()


main()
