"""What was asked and answered is read decision by decision, and no more of an episode than it needs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import delete, select

from core.errors import StoreCorrupt, UnknownEpisode
from core.store import ExchangeFilter, TraceStore
from core.store.database import Database
from core.store.tables import request_parts
from tests.support.records import START, make_decisions, make_run, record_episode


@pytest.fixture
def recorded(store: TraceStore) -> TraceStore:
    """One episode of 12 decisions; those of odd index asked the model `model-1`."""
    store.runs.create(make_run("run-1", ["episode-1"]))
    record_episode(store, "episode-1", 12)
    return store


def indices(store: TraceStore, **wanted: Any) -> list[int]:
    found: list[int] = []
    while (
        exchange := store.episodes.next_exchange("episode-1", ExchangeFilter(**wanted), after=max([-1, *found]))
    ) is not None:
        found.append(exchange.index)
    return found


def test_an_exchange_is_a_part_of_its_decision(recorded: TraceStore) -> None:
    for decision in make_decisions(12)[1]:
        exchange = recorded.episodes.next_exchange(
            "episode-1", ExchangeFilter(with_model_call=False), after=decision.index - 1
        )
        assert exchange is not None
        same = ("index", "observation", "tool_calls", "model_call", "env_reward", "unlocked", "warning")
        for name in same:
            assert getattr(exchange, name) == getattr(decision, name), name
        assert (exchange.reward, exchange.executed) == (decision.reward.total, decision.actions)
        assert exchange.answered_s == decision.timing.agent_response_s


def test_filters_pass_over_decisions(recorded: TraceStore) -> None:
    rewards = {decision.index: decision.reward.total for decision in make_decisions(12)[1]}
    assert indices(recorded) == [1, 3, 5, 7, 9, 11]
    assert indices(recorded, with_model_call=False) == list(range(12))
    assert indices(recorded, models=("model-1",)) == [1, 3, 5, 7, 9, 11]
    assert indices(recorded, models=("model-2",)) == []
    least = sorted(rewards.values())[6]
    some = [index for index, reward in rewards.items() if reward >= least]
    assert indices(recorded, with_model_call=False, min_reward=least) == some


def test_a_decision_reads_no_messages_but_its_own(sqlite_store: TraceStore, sqlite_url: str) -> None:
    sqlite_store.runs.create(make_run("run-1", ["episode-1"]))
    record_episode(sqlite_store, "episode-1", 12)
    decision = sqlite_store.episodes.decision("episode-1", 3)
    exchange = sqlite_store.episodes.next_exchange("episode-1", after=2)
    database = Database(sqlite_url)
    with database.writing() as connection:
        newest = connection.scalar(select(request_parts.c.idx).order_by(request_parts.c.idx.desc()).limit(1))
        connection.execute(delete(request_parts).where(request_parts.c.idx == newest))
    database.close()
    assert sqlite_store.episodes.decision("episode-1", 3) == decision
    assert sqlite_store.episodes.next_exchange("episode-1", after=2) == exchange
    with pytest.raises(StoreCorrupt, match="Decision 11 of Episode episode-1 is stored but cannot be read"):
        sqlite_store.episodes.next_exchange("episode-1", after=10)


def test_a_prompt_of_very_many_messages_comes_back(store: TraceStore) -> None:
    store.runs.create(make_run("run-1", ["episode-1"]))
    store.queue.claim_next(worker="test")
    initial, decisions = make_decisions(2)
    call = decisions[1].model_call
    assert call is not None
    messages = [{"role": "user", "content": str(number % 1_500)} for number in range(3_000)]
    long = replace(decisions[1], model_call=replace(call, request={"messages": messages}))
    recorder = store.recorder("episode-1")
    recorder.start(START, initial)
    recorder.record(decisions[0])
    recorder.record(long)
    exchange = store.episodes.next_exchange("episode-1")
    assert exchange is not None and exchange.model_call == long.model_call
    assert store.episodes.decision("episode-1", 1).model_call == long.model_call


def test_an_unknown_episode_has_no_exchange(recorded: TraceStore) -> None:
    with pytest.raises(UnknownEpisode):
        recorded.episodes.next_exchange("nothing-like-it")
