"""Exchanges: what was asked and answered, decision by decision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.errors import StoreCorrupt, UnknownEpisode
from core.store import TraceStore
from tests.support.records import change, make_decisions, record_run, start_recording


@pytest.fixture
def recorded(store: TraceStore) -> TraceStore:
    """One episode of 12 decisions; those of odd index asked the model `model-1`."""
    record_run(store, "episode-1", decisions=12)
    return store


def indices(store: TraceStore, **wanted: Any) -> list[int]:
    found: list[int] = []
    while exchange := store.episodes.next_exchange("episode-1", after=max([-1, *found]), **wanted):
        found.append(exchange.index)
    return found


def test_an_exchange_equals_its_decision(recorded: TraceStore):
    for decision in make_decisions(12)[1]:
        exchange = recorded.episodes.next_exchange("episode-1", after=decision.index - 1, with_model_call=False)
        assert exchange is not None
        same = ("index", "observation", "tool_calls", "model_call", "env_reward", "unlocked", "warning")
        for name in same:
            assert getattr(exchange, name) == getattr(decision, name), name
        assert (exchange.reward, exchange.executed) == (decision.reward.total, decision.actions)
        assert exchange.answered_s == decision.timing.agent_response_s


def test_filters_skip_decisions(recorded: TraceStore):
    rewards = {decision.index: decision.reward.total for decision in make_decisions(12)[1]}
    assert indices(recorded) == [1, 3, 5, 7, 9, 11]
    assert indices(recorded, with_model_call=False) == list(range(12))
    assert indices(recorded, models=("model-1",)) == [1, 3, 5, 7, 9, 11]
    assert indices(recorded, models=("model-2",)) == []
    least = sorted(rewards.values())[6]
    some = [index for index, reward in rewards.items() if reward >= least]
    assert indices(recorded, with_model_call=False, min_reward=least) == some


def test_only_the_messages_of_a_decision_are_read(sqlite_store: TraceStore):
    record_run(sqlite_store, "episode-1", decisions=12)
    decision = sqlite_store.episodes.decision("episode-1", 3)
    exchange = sqlite_store.episodes.next_exchange("episode-1", after=2)
    change(sqlite_store, "DELETE FROM request_parts WHERE idx = (SELECT max(idx) FROM request_parts)")
    assert sqlite_store.episodes.decision("episode-1", 3) == decision
    assert sqlite_store.episodes.next_exchange("episode-1", after=2) == exchange
    with pytest.raises(StoreCorrupt, match="traces.db has a value that cannot be read"):
        sqlite_store.episodes.next_exchange("episode-1", after=10)


def test_a_prompt_of_thousands_of_messages_is_read_whole(store: TraceStore):
    recorder = start_recording(store)
    _, decisions = make_decisions(2)
    call = decisions[1].model_call
    assert call is not None
    messages = [{"role": "user", "content": str(number % 1_500)} for number in range(3_000)]
    long = replace(decisions[1], model_call=replace(call, request={"messages": messages}))
    recorder.record(decisions[0])
    recorder.record(long)
    exchange = store.episodes.next_exchange("episode-1")
    assert exchange is not None and exchange.model_call == long.model_call
    assert store.episodes.decision("episode-1", 1).model_call == long.model_call


def test_an_unknown_episode_has_no_exchange(recorded: TraceStore):
    with pytest.raises(UnknownEpisode):
        recorded.episodes.next_exchange("nothing-like-it")
