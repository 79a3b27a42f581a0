"""Episodes that ended before their policy decided anything: left out of what was played, and counted."""

from __future__ import annotations

import pytest

from core.store import EpisodeFilter, TraceStore
from core.types import EpisodeStatus, PolicySpec, StopReason
from tests.support.records import make_run, record_episode

SCRIPTED = PolicySpec("scripted")


@pytest.fixture
def some(store: TraceStore) -> TraceStore:
    """Three that decided nothing, one that did, one that runs and one that waits."""
    store.runs.create(make_run("run-1", ["none-1", "none-2", "played"]))
    store.runs.create(make_run("run-2", ["none-3"], minutes=1, policy=SCRIPTED))
    for name, decisions in (("none-1", 0), ("none-2", 0), ("played", 3), ("none-3", 0)):
        record_episode(store, name, decisions, stop_reason=StopReason.POLICY_ERROR)
    store.runs.create(make_run("run-3", ["running", "waiting"]))
    assert store.queue.claim_next(worker="test") is not None
    return store


def test_episodes_without_decisions_are_counted_by_policy(some: TraceStore):
    assert some.rewards.played_ids() == ("played",)
    assert some.rewards.without_decision() == {"random": 2, "scripted": 1}


def test_the_filter_applies_to_episodes_without_decisions(some: TraceStore):
    assert some.rewards.without_decision(EpisodeFilter(run_id="run-2")) == {"scripted": 1}
    assert some.rewards.without_decision(EpisodeFilter(seeds=(1,))) == {"random": 1}
    assert some.rewards.without_decision(EpisodeFilter(statuses=(EpisodeStatus.COMPLETED,))) == {}


def test_policies_whose_episodes_all_have_decisions_are_absent(store: TraceStore):
    store.runs.create(make_run("run-1", ["played"]))
    record_episode(store, "played", 3)
    assert store.rewards.without_decision() == {}
