"""Text from models and people may hold anything; no database may choke on it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.errors import UnknownEpisode
from core.store import EpisodeFilter, TraceStore
from core.types import EpisodeError, Outcome, RewardComponent, StopReason
from tests.support.records import START, make_decisions, make_run

NASTY = "\x00 half \ud83d '; DROP TABLE runs; -- \u202e 🙂"


def test_any_text_can_be_stored_everywhere(store: TraceStore):
    run = make_run("run-1", ["a-episode"])
    store.runs.create(replace(run, name=NASTY, config={NASTY: [NASTY]}, training_session_id=NASTY))
    store.queue.claim_next(worker=NASTY)
    recorder = store.recorder("a-episode")
    initial, decisions = make_decisions(2)
    call = decisions[1].model_call
    assert call is not None
    messages = [{"role": "user", "content": NASTY}]
    nasty = replace(
        decisions[1],
        observation=NASTY,
        error=EpisodeError(NASTY, NASTY, NASTY),
        model_call=replace(call, model=NASTY, response_text=NASTY, request={"messages": messages}),
    )
    recorder.start(START, initial)
    recorder.record(decisions[0])
    recorder.record(nasty)
    recorder.finish(Outcome(StopReason.POLICY_ERROR, START, EpisodeError(NASTY, NASTY)))
    loaded = store.episodes.load("a-episode")
    assert replace(loaded.decisions[1], timing=nasty.timing) == nasty
    assert loaded.outcome is not None and loaded.outcome.error == EpisodeError(NASTY, NASTY)
    assert store.runs.get("run-1").config == {NASTY: [NASTY]}
    assert store.runs.get("run-1").name == NASTY.replace("\x00", "\ufffd").replace("\ud83d", "\ufffd")
    assert store.episodes.decisions("a-episode")[1].error_kind is not None


def test_any_text_can_be_asked_for(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode"]))
    for ask in (store.episodes.get, store.episodes.load, store.runs.get, store.runs.episodes, store.recorder):
        with pytest.raises(UnknownEpisode):
            ask(NASTY)
    wanted = EpisodeFilter(policies=(NASTY,), achievements=(NASTY,), run_id=NASTY)
    assert store.episodes.page(wanted).rows == ()
    assert store.queue.stop_requested(NASTY)
    assert store.episodes.delete([NASTY]) == 0


def test_a_part_of_a_reward_may_be_called_anything(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode"]))
    store.queue.claim_next(worker="test")
    recorder = store.recorder("a-episode")
    initial, decisions = make_decisions(2)
    recorder.start(START, initial)
    names = (NASTY, "nul \x00", "half \udcff", "nul \ufffd", "plain")
    for decision in decisions:
        parts = tuple(RewardComponent(name, name, 1.0, 2.0, 2.0) for name in names)
        recorder.record(replace(decision, reward=replace(decision.reward, components=parts)))
    recorder.finish(Outcome(StopReason.MAX_STEPS, START))
    cleaned = [name.replace("\x00", "\ufffd").replace("\ud83d", "\ufffd").replace("\udcff", "\ufffd") for name in names]
    for decision in store.episodes.load("a-episode").decisions:
        assert [part.name for part in decision.reward.components] == cleaned
        assert [part.kind for part in decision.reward.components] == cleaned
        assert decision.reward.base == 2.0 * len(names)
