"""What the model calls of single episodes have come to: for a page that looks once a second."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import event

from core.store import TraceStore
from core.types import Spent
from tests.support.records import START, make_decisions, make_run, record_episode


@contextmanager
def statements(store: TraceStore) -> Iterator[list[str]]:
    """The SELECT statements sent in the block."""
    sent: list[str] = []

    def note(connection, cursor, statement: str, *_: object) -> None:
        if statement.lstrip().upper().startswith("SELECT"):
            sent.append(statement)

    event.listen(store._database.engine, "before_cursor_execute", note)
    yield sent
    event.remove(store._database.engine, "before_cursor_execute", note)


def test_each_episode_has_its_own_sums(store: TraceStore):
    store.runs.create(make_run("run-1", ["episode-1", "episode-2"]))
    record_episode(store, "episode-1", 4)
    record_episode(store, "episode-2", 9)
    spent = store.episodes.spent(["episode-1", "episode-2"])
    for episode_id in ("episode-1", "episode-2"):
        calls = [decision.model_call for decision in store.episodes.load(episode_id).decisions]
        asked = [call for call in calls if call is not None]
        assert spent[episode_id].calls == len(asked) > 0
        assert spent[episode_id].cost_usd == pytest.approx(sum(call.cost_usd or 0 for call in asked))
        assert spent[episode_id].tokens == sum((call.tokens_in or 0) + (call.tokens_out or 0) for call in asked)


def test_without_model_calls_tokens_and_cost_are_unknown(store: TraceStore):
    store.runs.create(make_run("run-1", ["episode-1", "waiting"]))
    record_episode(store, "episode-1", 1)  # its only decision asked no model
    assert store.episodes.spent(["episode-1", "waiting"]) == {"episode-1": Spent(), "waiting": Spent()}
    assert Spent().tokens is None


def test_unknown_ids_are_left_out(store: TraceStore):
    assert store.episodes.spent(["nothing-like-it"]) == {}
    assert store.episodes.spent([]) == {}


def test_all_of_them_are_one_query_without_a_payload(store: TraceStore):
    ids = [f"episode-{number}" for number in range(4)]
    store.runs.create(make_run("run-1", ids))
    for episode_id in ids:
        record_episode(store, episode_id, 3)
    with statements(store) as sent:
        assert len(store.episodes.spent(ids)) == 4
    assert len(sent) == 1
    assert "decision_payloads" not in sent[0]


def test_the_time_of_all_decisions_in_its_parts_is_one_query_without_a_payload(store: TraceStore):
    store.runs.create(make_run("run-1", ["episode-1"]))
    recorder_initial, decisions = make_decisions(50)
    assert store.queue.claim_next(worker="test")
    recorder = store.recorder("episode-1")
    recorder.start(START, recorder_initial)
    for decision in decisions:
        recorder.record(decision)
    with statements(store) as sent:
        summaries = store.episodes.decisions("episode-1")
    assert len(summaries) == 50 and any(summary.waited_ms is not None for summary in summaries)
    assert [statement for statement in sent if "decision_payloads" in statement] == []
    assert len([statement for statement in sent if "FROM decisions" in statement]) == 1
