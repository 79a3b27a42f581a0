"""The filter bar of the Traces page. Every filter is part of the URL."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.env.rules import ACHIEVEMENTS
from core.errors import InvalidInput, UnknownEpisode
from core.plan import parse_seeds
from core.store import EpisodeFilter
from core.types import EpisodeStatus, RunSource
from pages.components.links.filters import MAX_VALUE_LENGTH, show_ignored, unknown_in_url
from pages.components.shared.origin import SOURCES
from pages.components.shared.state import store
from pages.components.text.escape import escape, one_line
from pages.components.text.format import name_text, run_label

_EMPTY: dict[str, object] = {
    **dict.fromkeys(("policy", "status", "achievements"), ()),
    "seeds": "",
    "source": (),
    "trainer_id": "",
    **dict.fromkeys(("mode", "min_reward", "max_reward", "since", "until")),
}
_STATUSES = tuple(status.value for status in EpisodeStatus)
_SOURCES = {text: source for source, text in SOURCES.items()}
_MODES = ("rl", "eval")
_RUN = "run"


def filter_bar(policies: tuple[str, ...]) -> EpisodeFilter:
    """The filter. Invalid parts are reported and ignored; the others apply."""
    ignored = _invalid_in_url(policies)  # before the widgets, which remove such values from the URL
    _accept_stored_names()
    with st.container(border=True):
        top = st.columns([1.3, 1.6, 1.2, 2.2])
        chosen_policies = top[0].multiselect(
            "Policy", policies, key="policy", bind="query-params", placeholder="Any", format_func=_named
        )
        statuses = top[1].multiselect("Status", _STATUSES, key="status", bind="query-params", placeholder="Any")
        seeds_text = top[2].text_input("Seeds", key="seeds", bind="query-params", placeholder="0-9, 42")
        achievements = top[3].multiselect(
            "Achievements (all of)",
            ACHIEVEMENTS,
            key="achievements",
            bind="query-params",
            placeholder="Any",
            format_func=name_text,
        )
        sources, mode, trainer_id = _of_runs(st.columns([2, 1, 2.2]))
        low = st.columns([1, 1, 1, 1, 1], vertical_alignment="bottom")
        min_reward = low[0].number_input(
            "Shaped return from", value=None, key="min_reward", bind="query-params", placeholder="any"
        )
        max_reward = low[1].number_input(
            "Shaped return to", value=None, key="max_reward", bind="query-params", placeholder="any"
        )
        since = low[2].date_input("Created from (UTC)", value=None, key="since", bind="query-params")
        until = low[3].date_input("Created to (UTC)", value=None, key="until", bind="query-params")
        low[4].button("Clear filters", on_click=_clear, width="stretch", key="clear_filters")
        seeds: tuple[int, ...] = ()
        try:
            seeds = parse_seeds(seeds_text) if seeds_text and seeds_text.strip() else ()
        except InvalidInput as error:
            st.error(f"Seeds filter ignored: {escape(str(error))}")
        run_id = _only_run(ignored)
        show_ignored(ignored)
    return EpisodeFilter(
        policies=tuple(chosen_policies),
        seeds=seeds,
        statuses=tuple(EpisodeStatus(status) for status in statuses),
        achievements=tuple(achievements),
        min_reward=_finite(min_reward),
        max_reward=_finite(max_reward),
        created_after=_start_of(since),
        created_before=_start_of(until + timedelta(days=1)) if until and until < date.max else None,
        run_id=run_id,
        sources=sources,
        mode=mode,
        trainer_id=trainer_id,
    )


def _of_runs(places: Sequence[DeltaGenerator]) -> tuple[tuple[RunSource, ...], str | None, str | None]:
    """Sources, mode and an id that a trainer knows a run by."""
    sources = places[0].multiselect("Source", list(_SOURCES), key="source", bind="query-params", placeholder="Any")
    mode = places[1].selectbox("Mode", _MODES, index=None, key="mode", bind="query-params", placeholder="Any")
    trainer_id = places[2].text_input(
        "Correlation id, training session or batch", key="trainer_id", bind="query-params", placeholder="any"
    )
    return tuple(_SOURCES[name] for name in sources), mode, (trainer_id or "").strip() or None


def _only_run(ignored: list[str]) -> str | None:
    """The id of the run that the link filters by, with a link to it."""
    run_id = st.query_params.get(_RUN)
    if not run_id:
        return None
    try:
        run = store().runs.get(run_id)
    except UnknownEpisode:
        ignored.append(f'run "{_named(run_id)}" (unknown run)')
        return None
    with st.container(horizontal=True, vertical_alignment="center", key="only-run"):
        st.markdown("Only episodes of", width="content")
        st.page_link(
            "pages/run.py",
            label=f"Run: {escape(run_label(run.name, run.id))}",
            query_params={"id": run.id},
            width="content",
        )
        st.button("Show all runs", key="clear_run", on_click=_clear_run)
    return run.id


def _clear_run() -> None:
    st.query_params.pop(_RUN, None)


def _accept_stored_names() -> None:
    """Links may name achievements as stored (`collect_wood`); the widget accepts only their labels (`collect wood`)."""
    named = [name for name in st.query_params.get_all("achievements") if name in ACHIEVEMENTS]
    if named and "achievements" not in st.session_state:
        st.session_state["achievements"] = named


def _named(text: str) -> str:
    return one_line(text, MAX_VALUE_LENGTH)


def _invalid_in_url(policies: Sequence[str]) -> list[str]:
    """Invalid filter values in the URL, each with what would be accepted."""
    return [
        *unknown_in_url("policy", [_named(policy) for policy in policies]),
        *unknown_in_url("status", _STATUSES),
        *unknown_in_url("source", list(_SOURCES)),
        *unknown_in_url("mode", _MODES),
        *unknown_in_url("achievements", [name_text(name) for name in ACHIEVEMENTS], also=ACHIEVEMENTS),
        *(text for name in ("min_reward", "max_reward") for text in _unparsed(name, _is_number, "a number")),
        *(text for name in ("since", "until") for text in _unparsed(name, _is_day, "a day such as 2026-03-01")),
    ]


def _unparsed(name: str, is_valid: Callable[[str], bool], accepted: str) -> Iterable[str]:
    return (
        f'{name} "{_named(given)}" (enter {accepted})'
        for given in st.query_params.get_all(name)
        if given and not is_valid(given)
    )


def _is_number(text: str) -> bool:
    try:
        return text.isascii() and math.isfinite(float(text))
    except ValueError:
        return False


def _is_day(text: str) -> bool:
    try:
        return text.isascii() and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _start_of(day: date | None) -> datetime | None:
    return datetime.combine(day, time.min, tzinfo=UTC) if day else None


def _clear() -> None:
    """Also clears the URL, as the widgets are bound to it."""
    for key, value in _EMPTY.items():
        st.session_state[key] = value
    _clear_run()
