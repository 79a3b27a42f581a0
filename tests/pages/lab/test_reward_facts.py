"""The open Lab page updates when any program stores an episode."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st

from core.settings import load_settings
from core.store import TraceStore
from tests.support.lab_episodes import HONEST, record_changes
from tests.support.pages import opened
from tests.support.records import make_run


@pytest.fixture
def store(data_dir: Path) -> Iterator[TraceStore]:
    with TraceStore.from_settings(load_settings()) as opened_store:
        yield opened_store


class Polls:
    """A fragment of the page: its function, its interval, and how often it reran the page."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.every_s: list[float | None] = []
        self.reruns = 0
        self._calls: list[Callable[[], None]] = []
        self._fragment = st.fragment
        monkeypatch.setattr(st, "fragment", self._record)
        monkeypatch.setattr("pages.components.lab.shared.reward_facts.page_is_ready", lambda page: True)
        self._monkeypatch = monkeypatch

    def again(self) -> int:
        """Calls it as the browser would. Returns how often it reran the page."""
        with self._monkeypatch.context() as patch:
            before = self.reruns
            patch.setattr(st, "rerun", self._count)
            self._calls[-1]()
            return self.reruns - before

    def _count(self, *, scope: str) -> None:
        assert scope == "app"
        self.reruns += 1

    def _record(self, function: Any, *, run_every: float | None = None) -> Any:
        if not function.__module__.endswith("lab.shared.reward_facts"):
            return self._fragment(function, run_every=run_every)
        self.every_s.append(run_every)
        return lambda *given: self._calls.append(lambda: function(*given))


def test_an_idle_lab_polls_slowly_and_finds_episodes_of_other_programs(
    store: TraceStore, monkeypatch: pytest.MonkeyPatch
):
    record_changes(store, "honest01", HONEST)
    polls = Polls(monkeypatch)
    opened("lab")
    assert polls.every_s == [10.0]
    assert polls.again() == 0
    record_changes(store, "honest02", HONEST, minutes=1)
    assert polls.again() == 1


def test_a_lab_with_unfinished_episodes_polls_often(store: TraceStore, monkeypatch: pytest.MonkeyPatch):
    record_changes(store, "honest01", HONEST)
    store.runs.create(make_run("waiting", ["waiting01"]))
    monkeypatch.setattr("core.jobs.sweep", lambda *given: ())
    polls = Polls(monkeypatch)
    opened("lab")
    assert polls.every_s == [2.0]
    assert polls.again() == 0


def test_an_idle_lab_reruns_once_an_episode_is_queued(store: TraceStore, monkeypatch: pytest.MonkeyPatch):
    record_changes(store, "honest01", HONEST)
    monkeypatch.setattr("core.jobs.sweep", lambda *given: ())
    polls = Polls(monkeypatch)
    opened("lab")
    store.runs.create(make_run("waiting", ["waiting01"]))
    assert polls.again() == 1


def test_an_empty_lab_reruns_on_the_first_episode(store: TraceStore, monkeypatch: pytest.MonkeyPatch):
    polls = Polls(monkeypatch)
    opened("lab")
    assert polls.again() == 0
    record_changes(store, "honest01", HONEST)
    assert polls.again() == 1
