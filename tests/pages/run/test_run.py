"""The run page: running and finished runs, stopping, and invalid links."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.env.rules import ENGINE_VERSION
from core.errors import StoreUnavailable
from core.settings import load_settings
from core.store import EpisodeSummary, Listing, TraceStore
from core.store.episodes import Episodes
from core.store.queue import Queue
from core.store.runs import Runs
from core.types import EpisodeError, EpisodeSpec, EpisodeStatus, Limits, PolicySpec, QueuedEpisode, RewardConfig, Run
from pages.components.player.cursor import Cursor
from pages.components.run.cards import Played, episode_name, played_by, progress_of, rows_with_cards, time_left
from pages.components.text.escape import escape
from pages.components.text.format import signed
from tests.support import pages
from tests.support.model.episodes import EPISODE, RUN, record, says_nothing_to_do
from tests.support.model.server import says
from tests.support.pages import captions, html, metrics, page_links
from tests.support.records import make_run, record_episode

RECORDED_RUN = "f" * 32


def opened(run_id: str | None) -> AppTest:
    return pages.opened("run", id=run_id) if run_id else pages.opened("run")


def keys(at: AppTest) -> set[str]:
    return {str(button.key) for button in at.button}


@pytest.fixture
def waiting(data_dir: Path, no_workers: None) -> TraceStore:
    """A run of three episodes: one running on a remote worker, two queued."""
    spec = EpisodeSpec(
        seed=42,
        policy=PolicySpec("scripted"),
        policy_seed=1,
        reward=RewardConfig(strategy="per_achievement", indicator_lambda=0.0),
        limits=Limits(max_steps=1234),
        engine_version=ENGINE_VERSION,
    )
    store = TraceStore.from_settings(load_settings())
    queued = tuple(QueuedEpisode(f"{index}" * 32, replace(spec, policy_seed=index), index) for index in range(3))
    store.runs.create(Run("a" * 32, datetime.now(UTC), queued, name="Live *one*"))
    store.queue.claim_next(worker="far away")
    return store


def test_a_finished_run_shows_its_results(recorded: TraceStore):
    at = opened(RECORDED_RUN)
    rows = recorded.runs.episodes(RECORDED_RUN).rows
    assert at.title[0].value == "Recorded"
    assert metrics(at)["Ended"] == "3 / 3"
    assert metrics(at)["Running"] == "0"
    assert metrics(at)["Steps"] == str(sum(row.n_steps for row in rows))
    assert at.button(key="stop-all").disabled
    assert not [key for key in keys(at) if key.startswith("stop-card-")]
    cards = [body for body in html(at) if "cs-figures" in body]
    for row in rows:
        figures = (signed(row.env_return), signed(row.shaped_return), f"{len(row.achievements)} / 22")
        assert any(all(f"<b>{figure}</b>" in card for figure in figures) for card in cards)
    assert f"run={RECORDED_RUN}" in page_links(at)["These episodes in Traces"].query_string
    at.button(key="all-runs").click().run()
    assert at.title[0].value == "Runs"


def test_an_unknown_run_shows_an_error_without_markdown(recorded: TraceStore):
    at = opened("![x](http://host/y)")
    assert "http" in at.error[0].value and "![x](" not in at.error[0].value
    assert not at.metric and "Newest runs" in page_links(at)


def test_a_running_run_shows_its_configuration_and_episodes(waiting: TraceStore):
    at = opened("a" * 32)
    assert at.title[0].value == r"Live \*one\*"
    assert metrics(at)["Ended"] == "0 / 3"
    assert metrics(at)["Running"] == "1"
    assert "0 counts as 1" in captions(at)
    assert "1,234 steps" in captions(at)
    assert {f"stop-card-{index * 32}" for index in "012"} <= keys(at)


def test_a_long_run_is_shown_a_page_at_a_time(waiting: TraceStore):
    spec = waiting.runs.episodes("a" * 32).rows[0].spec
    queued = tuple(QueuedEpisode(f"{index + 1:032x}", spec, index) for index in range(30))
    waiting.runs.create(Run("b" * 32, datetime.now(UTC), queued))
    at = opened("b" * 32)
    assert metrics(at)["Ended"] == "0 / 30"
    assert len([key for key in keys(at) if key.startswith("stop-row-")]) == 12
    assert at.get("pagination")


def test_one_episode_can_be_stopped_and_then_all(waiting: TraceStore):
    at = opened("a" * 32)
    at.button(key=f"stop-card-{'1' * 32}").click().run()
    assert not at.exception
    by_id = {row.id: row for row in waiting.runs.episodes("a" * 32).rows}
    assert by_id["1" * 32].status is EpisodeStatus.ABORTED  # it was queued: at once
    assert not by_id["0" * 32].stop_requested
    assert by_id["2" * 32].status is EpisodeStatus.QUEUED
    at.button(key="stop-all").click().run()
    assert not at.exception
    rows = waiting.runs.episodes("a" * 32).rows
    assert [row.status for row in rows] == [EpisodeStatus.RUNNING, EpisodeStatus.ABORTED, EpisodeStatus.ABORTED]
    assert rows[0].stop_requested
    assert at.button(key="stop-all").disabled


def test_without_an_id_the_newest_runs_are_listed(recorded: TraceStore):
    at = opened(None)
    assert at.title[0].value == "Runs"
    assert "3 completed" in captions(at)
    rows = recorded.runs.episodes(RECORDED_RUN).rows
    mean = sum(row.shaped_return for row in rows) / len(rows)
    assert any(f"mean shaped return {mean:+.2f}" in text.value for text in at.text)


def test_an_empty_store_explains_itself(data_dir: Path):
    at = opened(None)
    assert "Nothing is stored yet" in [subheader.value for subheader in at.subheader]


def test_a_run_whose_episodes_were_deleted_says_so(recorded: TraceStore):
    recorded.episodes.delete([row.id for row in recorded.runs.episodes(RECORDED_RUN).rows])
    at = opened(RECORDED_RUN)
    shown = [element.value for element in (*at.info, *at.error)]
    assert any("deleted" in text for text in shown)


def test_deleted_episodes_are_counted(recorded: TraceStore):
    rows = recorded.runs.episodes(RECORDED_RUN).rows
    launched = {"seeds": [42, 7], "episodes_per_seed": 1}
    queued = tuple(QueuedEpisode(letter * 32, row.spec) for letter, row in zip("de", rows, strict=False))
    recorded.runs.create(Run("b" * 32, datetime.now(UTC), queued, config=launched))
    recorded.queue.request_stop(run_id="b" * 32)
    recorded.episodes.delete(["d" * 32])
    at = opened("b" * 32)
    assert "1 of 2 episodes deleted" in captions(at)
    assert "seed **7**" in captions(at)
    assert "1 aborted, 1 deleted" in captions(opened(None))


def test_a_running_episode_without_a_frame_says_that_its_world_is_generated(waiting: TraceStore):
    at = opened("a" * 32)
    frames = [body for body in html(at) if '<div class="cs-frame-pending' in body]
    assert len(frames) == 3
    assert sum("generating the world" in body for body in frames) == 1


@pytest.mark.parametrize(("repository", "method"), [(Episodes, "latest_scene"), (Queue, "interrupt_stale")])
def test_a_store_failure_during_polling_shows_an_error_and_ends_it(waiting: TraceStore, repository: type, method: str):
    def broken(*_: object, **__: object) -> None:
        raise StoreUnavailable("The disk is full.")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repository, method, broken)
        at = opened("a" * 32)
        assert "Cannot show this run" in [subheader.value for subheader in at.subheader]
        assert "The disk is full." in [text.value for text in at.text]
        assert not at.metric  # nothing of the part that polls
    at.button(key="try_again").click().run()
    assert not at.exception
    assert metrics(at)["Running"] == "1"


def test_nothing_polls_before_the_browser_shows_the_page(waiting: TraceStore, monkeypatch: pytest.MonkeyPatch):
    polls: list[float | None] = []
    fragment = st.fragment

    def noted(function: Any, *, run_every: float | None) -> Any:
        polls.append(run_every)
        return fragment(function, run_every=run_every)

    monkeypatch.setattr(st, "fragment", noted)
    opened("a" * 32)
    monkeypatch.setattr("pages.components.browser.page_ready.page_is_ready", lambda page: True)
    opened("a" * 32)
    assert polls == [None, 1.0]


def test_hostile_text_of_a_run_is_shown_as_text_and_cut(recorded: TraceStore, monkeypatch: pytest.MonkeyPatch):
    hostile = "![x](http://example.org/x.png)\0\ud83d" + "z" * 1_000_000
    run = replace(recorded.runs.get(RECORDED_RUN), name=hostile)
    rows = tuple(
        replace(
            row,
            spec=replace(row.spec, policy=PolicySpec(hostile)),
            status=EpisodeStatus.FAILED,
            error=EpisodeError("kind", hostile),
        )
        for row in recorded.runs.episodes(RECORDED_RUN).rows
    )
    monkeypatch.setattr(Runs, "get", lambda self, run_id: run)
    monkeypatch.setattr(Runs, "newest", lambda self, limit: Listing((run,)))
    monkeypatch.setattr(Runs, "episodes", lambda self, run_id: Listing(rows))
    for at in (opened(RECORDED_RUN), opened(None)):
        labels = [link.proto.label for link in at.get("page_link")]
        texts = [element.value for element in (*at.title, *at.caption, *at.text, *at.markdown)] + labels
        assert any("example" in text for text in texts)
        assert all(len(text) < 2_000 and text.encode() for text in texts)
        assert not any("![x]" in element.value for element in (*at.title, *at.caption, *at.markdown))
        assert not any("![x]" in label for label in labels)


# ------------------------------------------------------------------------------- progress


def test_the_progress_bar_and_its_text_use_the_same_limit(recorded: TraceStore):
    row = replace(recorded.runs.episodes(RECORDED_RUN).rows[0], n_steps=687, n_decisions=312)
    row = replace(row, spec=replace(row.spec, limits=Limits(max_steps=10_000, max_decisions=1_000)))
    assert progress_of(row, Played(687, 312)) == (0.312, "312 of 1,000 decisions · 687 steps")
    assert progress_of(replace(row, n_decisions=10), Played(687, 10)) == (0.0687, "687 of 10,000 steps")


def test_limits_count_over_all_worlds_of_a_rollout(recorded: TraceStore):
    first = recorded.runs.episodes(RECORDED_RUN).rows[0]
    first = replace(first, spec=replace(first.spec, limits=Limits(max_steps=500)), n_steps=395, n_decisions=200)
    second = replace(first, id="second", spec=replace(first.spec, world_episode=2), n_steps=105, n_decisions=50)
    played = played_by((second, first))
    assert progress_of(second, played["second"]) == (1.0, "500 of 500 steps · 105 here")
    assert progress_of(first, played[first.id])[1] == "395 of 500 steps"


# ------------------------------------------------------------------------------- which episodes have a card


def _rows(recorded: TraceStore, statuses: str) -> tuple[EpisodeSummary, ...]:
    """Rows with these statuses: q(ueued), r(unning), c(ompleted). Ids are their indexes."""
    row = recorded.runs.episodes(RECORDED_RUN).rows[0]
    kinds: dict[str, Any] = {"q": EpisodeStatus.QUEUED, "r": EpisodeStatus.RUNNING, "c": EpisodeStatus.COMPLETED}
    return tuple(replace(row, id=str(index), status=kinds[letter]) for index, letter in enumerate(statuses))


@pytest.mark.parametrize(
    ("statuses", "places", "before", "shown"),
    [
        ("qqrqr", 3, [], ["2", "4", "0"]),  # running episodes first
        ("crrq", 2, ["2", "1"], ["2", "1"]),  # a running episode keeps its place
        ("crr", 2, ["0", "1"], ["2", "1"]),  # a finished one gives its card to a running one
        ("crqq", 2, ["0", "1"], ["0", "1"]),  # a finished one keeps it if no other is running
        ("rr", 4, ["9", "1"], ["1", "0"]),  # no episode has two cards, a deleted one has none
    ],
)
def test_running_episodes_have_cards_and_keep_their_places(
    recorded: TraceStore, statuses: str, places: int, before: list[str], shown: list[str]
):
    assert [row.id for row in rows_with_cards(_rows(recorded, statuses), places, before)] == shown
    assert before == shown


def test_an_episode_name_has_only_what_distinguishes_it(recorded: TraceStore):
    row = recorded.runs.episodes(RECORDED_RUN).rows[0]
    row = replace(row, spec=replace(row.spec, seed=7), group_index=1)
    assert episode_name(row, per_seed=1) == "Seed 7"
    assert episode_name(row, per_seed=3) == "Seed 7 · 2 of 3"
    assert episode_name(replace(row, spec=replace(row.spec, world_episode=2)), per_seed=1) == "Seed 7 · world 2"


def test_a_failed_episode_shows_its_error_and_links_to_the_call(data_dir: Path):
    with TraceStore.from_settings(load_settings()) as store:
        record(store, (says(says_nothing_to_do()),), decisions=1)
    at = opened(RUN)
    assert r":red[**The policy made no tool call\.**]" in [element.value for element in at.markdown]
    assert any(text.value.startswith("The answer") and "no tool call" in text.value for text in at.text)
    cards = html(at)
    assert any(">no unlocks<" in card for card in cards) and not any('class="cs-chips"' in card for card in cards)
    at.button(key=f"failed-call-{EPISODE}").click().run()
    assert not at.exception
    assert at.session_state[f"picked:{EPISODE}"] == Cursor(0, 0)


def test_a_run_says_what_asked_for_it_and_how_long_it_took(data_dir: Path):
    store = TraceStore.from_settings(load_settings())
    run = replace(
        make_run("asked", ["one"]), mode="rl", trace_correlation_id="corr-*1*", training_session_id="session-1"
    )
    store.runs.create(run)
    record_episode(store, "one")
    for at in (opened("asked"), pages.opened("episode", id="one")):
        assert "asked for by a trainer" in captions(at) and "mode rl" in captions(at)
        assert escape("correlation id corr-*1*") in captions(at)
    assert "completed, started" in captions(opened("asked")) and escape("finished after 9.0 s") in captions(
        opened("asked")
    )
    assert any("training session session-1" in text for text in pages.texts(opened(None)))


def test_the_time_that_is_left_follows_from_the_share_that_was_used(recorded: TraceStore):
    (row, *_) = recorded.episodes.page().rows
    start = datetime(2026, 3, 1, tzinfo=UTC)
    spec = replace(row.spec, limits=Limits(max_steps=100, max_decisions=100))
    half = replace(row, spec=spec, status=EpisodeStatus.RUNNING, started_at=start, n_steps=50, n_decisions=50)
    over = replace(half, id="over", status=EpisodeStatus.COMPLETED)
    waiting = replace(half, id="waiting", status=EpisodeStatus.QUEUED, started_at=None, n_steps=0, n_decisions=0)
    now = start + timedelta(seconds=60)
    played = played_by((half, over, waiting))
    assert time_left([half], played, now) == "At most about 1 min 00 s left"
    assert time_left([over, half], played, now) == "At most about 20.0 s left"
    assert time_left([waiting], played, now) == time_left([over], played, now) == ""
