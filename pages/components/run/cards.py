"""The episodes of a run: cards with the current frame, and compact rows."""

from __future__ import annotations

import html
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import streamlit as st
from PIL import Image

from core.env.render import draw_scene
from core.env.rules import ACHIEVEMENTS
from core.errors import StoreError
from core.store import EpisodeSummary, TraceStore
from core.types import EpisodeStatus, Spent
from pages.components.player.cursor import Cursor
from pages.components.player.position import go_to_frame, remember_frame
from pages.components.run.model_cards import calls_model, show_last_decision, spent_figures
from pages.components.shared.state import store
from pages.components.text.escape import escape, one_line
from pages.components.text.format import name_text, number, seconds, signed, status_badge, stop_reason_text

_CELL_PX = 32  # twice the textures' size
_LARGE_CELL_PX = 48
_FLASH = "run-flash"
_MAX_PX = 640
_MAX_FAILURE_LENGTH = 400
_LEAST_SHARE = 0.01  # of the run, before its pace says anything
_ROW_WIDTHS = (1.2, 2.0, 2.7, 1.1, 1.25, 1.0, 1.5)


def rows_with_cards(rows: tuple[EpisodeSummary, ...], places: int, shown_before: list[str]) -> list[EpisodeSummary]:
    """The episodes that get a card. One keeps its place until it is over and another one is running.

    places: the number of cards. shown_before: ids of the last redraw; updated in place.
    """
    by_id = {row.id: row for row in rows}
    places = min(places, len(rows))
    ids = [id_ for id_ in shown_before if id_ in by_id][:places]
    waiting = [row.id for row in rows if row.status is EpisodeStatus.RUNNING and row.id not in ids]
    for index, id_ in enumerate(ids):
        if waiting and by_id[id_].status is not EpisodeStatus.RUNNING:
            ids[index] = waiting.pop(0)
    for id_ in (*waiting, *by_id):
        if len(ids) < places and id_ not in ids:
            ids.append(id_)
    shown_before[:] = ids
    return [by_id[id_] for id_ in ids]


@dataclass(frozen=True, slots=True)
class Played:
    """Steps and decisions of a rollout over all its worlds, up to and including one episode: limits count these."""

    steps: int
    decisions: int


def played_by(rows: tuple[EpisodeSummary, ...]) -> dict[str, Played]:
    """By episode id. A rollout that continues in further worlds has several episodes."""
    so_far: dict[tuple[int, int], Played] = {}
    found: dict[str, Played] = {}
    for row in sorted(rows, key=lambda row: row.world_episode):
        before = so_far.get((row.seed, row.group_index), Played(0, 0))
        now = Played(before.steps + row.n_steps, before.decisions + row.n_decisions)
        found[row.id] = so_far[row.seed, row.group_index] = now
    return found


def prepare_frames(rows: list[EpisodeSummary], *, alone: bool) -> None:
    """Renders the cards' frames into the cache before the page is drawn, so that header and cards appear together."""
    for row in rows:
        _newest_frame(row, _LARGE_CELL_PX if alone else _CELL_PX)


def episode_card(
    row: EpisodeSummary, per_seed: int, played: Played, *, spent: Spent | None = None, alone: bool = False
) -> None:
    """spent: on model calls, for the language-model policy. alone: the card has the page's whole width."""
    with st.container(border=True, key=f"card-{row.id}"):
        left, right = st.columns([2, 3] if alone else [5, 6], vertical_alignment="top")
        with left.container(key=f"frame-{row.id}"):
            _show_frame(row, _LARGE_CELL_PX if alone else _CELL_PX)
        with right:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"**{episode_name(row, per_seed)}**", width="content")
                st.space("stretch")
                _badge(row)
            st.progress(*progress_of(row, played))
            st.html(_figures(row, spent))
            if row.error is not None:
                _show_failure(row)
            elif spent is not None:
                show_last_decision(row)
            st.html(_all_achievements(row) if alone else _newest_unlocks(row))
            with st.container(horizontal=True, vertical_alignment="center", key=f"actions-{row.id}"):
                _open_link(row)
                _stop_button(row, "card")
                if row.status.is_over and row.error is None:
                    st.caption(escape(_ended(row)))


def episode_row(row: EpisodeSummary, per_seed: int, played: Played) -> None:
    with st.container(key=f"row-{row.id}"):
        cells = st.columns(_ROW_WIDTHS, vertical_alignment="center")
        cells[0].html(f'<div class="cs-cell">{episode_name(row, per_seed)}</div>')
        with cells[1]:
            _badge(row)
        with cells[2]:
            st.progress(*progress_of(row, played))
        values = (signed(row.env_return), signed(row.shaped_return), f"{len(row.achievements)} / {len(ACHIEVEMENTS)}")
        for cell, value in zip(cells[3:6], values, strict=True):
            cell.html(f'<div class="cs-cell cs-end">{value}</div>')
        with (
            cells[6],
            st.container(
                horizontal=True, horizontal_alignment="right", vertical_alignment="center", key=f"links-{row.id}"
            ),
        ):
            _open_link(row)
            _stop_button(row, "row")


def row_headings() -> None:
    cells = st.columns(_ROW_WIDTHS, vertical_alignment="bottom")
    names = ("Episode", "Status", "Progress", "Env return", "Shaped return", "Unlocked", "")
    for cell, name, end in zip(cells, names, (False, False, False, True, True, True, True), strict=True):
        cell.html(f'<div class="cs-cell cs-muted{" cs-end" if end else ""}">{name}</div>')


def episode_name(row: EpisodeSummary, per_seed: int) -> str:
    """`Seed 42`, `Seed 42 · 2 of 3`, `Seed 42 · world 2`."""
    parts = [f"Seed {row.seed}"]
    if per_seed > 1:
        parts.append(f"{row.group_index + 1} of {per_seed}")
    if row.world_episode > 1:
        parts.append(f"world {row.world_episode}")
    return " · ".join(parts)


def _badge(row: EpisodeSummary) -> None:
    if row.status is EpisodeStatus.RUNNING and row.stop_requested:
        st.badge("◼ stopping", color="orange")
        return
    text, colour = status_badge(row.status, row.stop_reason)
    why = f"{_ended(row)} {row.error.detail if row.error else ''}"
    st.badge(text, color=colour, help=escape(why) if row.status.is_over else None)  # pyright: ignore[reportArgumentType]


def _ended(row: EpisodeSummary) -> str:
    reason = stop_reason_text(row.stop_reason, row.spec.on_done)
    return f"{reason[:1].upper()}{reason[1:]}."


def _show_failure(row: EpisodeSummary) -> None:
    """The error, and a link to the last decision."""
    with st.container(border=True, gap="xsmall", key=f"failed-{row.id}"):
        st.markdown(f":red[**{escape(_ended(row))}**]")
        if row.error is not None:
            st.text(one_line(row.error.detail, _MAX_FAILURE_LENGTH))
        if row.n_decisions and st.button("Open the call →", key=f"failed-call-{row.id}", type="tertiary"):
            at = Cursor(row.n_steps, row.n_decisions - 1)
            remember_frame(row.id, at.frame)
            go_to_frame(row.id, at)
            tab = "Model" if calls_model(row) else "Tool call"
            st.switch_page("pages/episode.py", query_params={"id": row.id, "tab": tab})


def progress_of(row: EpisodeSummary, played: Played) -> tuple[float, str]:
    """Share used of the nearest limit, and its text.

    Limits count over all worlds of a rollout; the text adds the steps in this world where they differ.
    """
    if row.status is EpisodeStatus.QUEUED:
        return 0.0, "Waiting for a worker"
    limits = row.spec.limits
    of_steps, of_decisions = played.steps / limits.max_steps, played.decisions / limits.max_decisions
    if of_steps >= of_decisions:
        used = f"{number(played.steps)} of {number(limits.max_steps)} steps"
        rest = "" if played.steps == row.n_steps else f" · {number(row.n_steps)} here"
    else:
        used = f"{number(played.decisions)} of {number(limits.max_decisions)} decisions"
        rest = f" · {number(row.n_steps)} steps" + ("" if played.steps == row.n_steps else " here")
    return min(1.0, max(of_steps, of_decisions)), used + rest


def time_left(rows: Sequence[EpisodeSummary], played: Mapping[str, Played], now: datetime) -> str:
    """How long a run will take at most, by the share of its limits that was used since it started; empty if unknown."""
    started = min((row.started_at for row in rows if row.started_at), default=None)
    used = sum(1.0 if row.status.is_over else progress_of(row, played[row.id])[0] for row in rows) / len(rows)
    if started is None or not _LEAST_SHARE <= used < 1:
        return ""
    left_s = (now - started).total_seconds() * (1 - used) / used
    return f"At most about {seconds(max(1.0, left_s))} left"


def _figures(row: EpisodeSummary, spent: Spent | None) -> str:
    figures = (
        ("Env return", signed(row.env_return)),
        ("Shaped return", signed(row.shaped_return)),
        ("Achievements", f"{len(row.achievements)} / {len(ACHIEVEMENTS)}"),
        *(spent_figures(spent) if spent is not None else ()),
    )
    cells = "".join(f"<div><span>{label}</span><b>{html.escape(value)}</b></div>" for label, value in figures)
    return f'<div class="cs-figures">{cells}</div>'


def _newest_unlocks(row: EpisodeSummary) -> str:
    newest_first = [name_text(name) for name in reversed(row.achievements) if name in ACHIEVEMENTS]
    return f'<div class="cs-unlocks">{", ".join(newest_first) or _nothing_unlocked(row)}</div>'


def _nothing_unlocked(row: EpisodeSummary) -> str:
    return "no unlocks" if row.status.is_over else "no unlocks yet"


def _all_achievements(row: EpisodeSummary) -> str:
    if not row.achievements:
        return f'<div class="cs-unlocks">{_nothing_unlocked(row)}</div>'
    chips = "".join(
        f"<span{' class=cs-done' if name in row.achievements else ''}>{name_text(name)}</span>" for name in ACHIEVEMENTS
    )
    return f'<div class="cs-chips">{chips}</div>'


def _open_link(row: EpisodeSummary) -> None:
    if row.n_steps or row.n_decisions:
        st.page_link("pages/episode.py", label="Open →", query_params={"id": row.id})


def _stop_button(row: EpisodeSummary, place: str) -> None:
    if not row.status.is_over:
        st.button(
            "Stop",
            key=f"stop-{place}-{row.id}",
            on_click=_stop,
            args=(row.id,),
            disabled=row.stop_requested or store().read_only,
        )


def _stop(episode_id: str) -> None:
    try:
        store().queue.request_stop(episode_id=episode_id)
    except StoreError as error:
        flash(str(error))


def flash(sentence: str) -> None:
    """Shows a message at the next redraw, because callbacks cannot draw in a fragment."""
    st.session_state[_FLASH] = sentence


def show_flash() -> None:
    sentence = st.session_state.pop(_FLASH, None)
    if sentence:
        st.toast(escape(sentence))


def _show_frame(row: EpisodeSummary, cell: int) -> None:
    """The newest frame, or a placeholder of its size, so that nothing moves when it comes."""
    picture = _newest_frame(row, cell)
    if picture is not None:
        st.image(picture, width="stretch", output_format="PNG", alt=f"Seed {row.seed} at step {row.n_steps}")
        return
    text, moves = _PLACEHOLDERS.get(row.status, ("no frame recorded", False))
    st.html(f'<div class="cs-frame-pending cs-pending{"" if moves else " cs-still"}"><span>{text}</span></div>')


def _newest_frame(row: EpisodeSummary, cell: int) -> bytes | None:
    if row.status is EpisodeStatus.QUEUED:
        return None
    view = row.spec.env.view
    return _drawn(store(), row.id, row.n_steps, view, _size(view, cell), (row.seed, row.world_episode))


_PLACEHOLDERS = {
    EpisodeStatus.QUEUED: ("", False),  # the progress bar says "Waiting for a worker"
    EpisodeStatus.RUNNING: ("generating the world…", True),
}


@st.cache_data(max_entries=64, show_spinner=False)
def _drawn(
    _store: TraceStore,
    episode_id: str,
    n_steps: int,
    view: tuple[int, int],
    size: tuple[int, int],
    world: tuple[int, int],
) -> bytes | None:
    """The newest frame as PNG, or None. n_steps: part of the cache key. world: (seed, episode)."""
    scene = _store.episodes.latest_scene(episode_id)
    return (
        None
        if scene is None or not scene.is_known
        else _png(Image.fromarray(draw_scene(scene, view, size, (*world, scene.step))))
    )


def _size(view: tuple[int, int], cell: int) -> tuple[int, int]:
    cell = max(2, min(cell, _MAX_PX // max(view)))
    return view[0] * cell, view[1] * cell


def _png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)  # fast, as a frame is shown for a second
    return buffer.getvalue()
