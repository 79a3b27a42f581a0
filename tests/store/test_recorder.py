"""An episode is read exactly as it was recorded, and only its own recorder writes it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import InvalidInput, StoreError, UnknownEpisode
from core.scenes import unpack_scenes
from core.store import TraceStore
from core.store.recorder import CHUNK_SCENES, EpisodeRecorder
from core.store.tables import metadata
from core.types import (
    Attempt,
    Decision,
    Episode,
    EpisodeError,
    EpisodeStatus,
    ModelCall,
    Outcome,
    RewardBreakdown,
    RewardComponent,
    StateFacts,
    StateRecord,
    Step,
    StopReason,
    Timing,
    ToolCall,
)
from tests.support.records import (
    START,
    change,
    make_decisions,
    make_run,
    make_state,
    record_episode,
    record_run,
    start_recording,
)

FINISHED_AT = START + timedelta(seconds=9)


def without_store_ms(decisions: Iterable[Decision]) -> list[Decision]:
    """`store_ms` is the store's own addition."""
    return [replace(decision, timing=replace(decision.timing, store_ms=None)) for decision in decisions]


def test_an_episode_is_read_as_it_was_recorded(store: TraceStore):
    run = make_run("run-1", ["episode-1"])
    store.runs.create(run)
    record_episode(store, "episode-1", 12)
    initial, decisions = make_decisions(12)
    loaded = store.episodes.load("episode-1")
    assert without_store_ms(loaded.decisions) == decisions
    assert without_store_ms(store.episodes.decision("episode-1", index) for index in range(12)) == decisions
    assert replace(loaded, decisions=()) == Episode(
        id="episode-1",
        run_id="run-1",
        spec=run.episodes[0].spec,
        initial=initial,
        decisions=(),
        started_at=START,
        outcome=Outcome(StopReason.MAX_STEPS, FINISHED_AT),
    )


def test_a_decision_can_be_read_as_soon_as_it_is_recorded(store: TraceStore):
    recorder = start_recording(store)
    initial, decisions = make_decisions(3)
    assert store.episodes.latest_scene("episode-1") == initial.scene
    for count, decision in enumerate(decisions, start=1):
        recorder.record(decision)
        loaded = store.episodes.load("episode-1")
        assert without_store_ms(loaded.decisions) == decisions[:count]
        assert loaded.status is EpisodeStatus.RUNNING
        assert store.episodes.get("episode-1").env_return == loaded.env_return
        assert store.episodes.latest_scene("episode-1") == (
            loaded.steps[-1].state.scene if loaded.steps else initial.scene
        )


def test_the_summary_holds_the_sums_of_the_episode(store: TraceStore):
    record_run(store, "episode-1", decisions=20)
    loaded, summary = store.episodes.load("episode-1"), store.episodes.get("episode-1")
    assert (summary.n_steps, summary.n_decisions) == (loaded.length, 20)
    assert (summary.env_return, summary.shaped_return) == (loaded.env_return, loaded.shaped_return)
    assert len(loaded.unlock_steps) > 1
    assert set(summary.achievements) == set(loaded.unlock_steps)
    steps = [loaded.unlock_steps[name] for name in summary.achievements]
    assert steps == sorted(steps)
    assert (summary.status, summary.stop_reason) == (EpisodeStatus.COMPLETED, StopReason.MAX_STEPS)
    assert (summary.started_at, summary.ended_at) == (START, FINISHED_AT)


def test_decision_summaries_agree_with_the_decisions(store: TraceStore):
    record_run(store, "episode-1", decisions=10)
    loaded = store.episodes.load("episode-1")
    step = 0
    for summary, decision in zip(store.episodes.decisions("episode-1"), loaded.decisions, strict=True):
        assert (summary.index, summary.step_start) == (decision.index, step)
        step = summary.step_end
        assert summary.actions == decision.actions
        assert summary.unlocked == decision.unlocked
        assert (summary.reward, summary.env_reward) == (decision.reward.total, decision.env_reward)
        assert (summary.inference_ms, summary.overhead_ms) == (
            decision.timing.inference_ms,
            decision.timing.overhead_ms,
        )
        assert summary.ok
    assert step == loaded.length


def test_an_agents_own_numbers_are_kept(store: TraceStore):
    recorder = start_recording(store)
    _, (first, second) = make_decisions(2)
    first = replace(first, value=0.0, logprob=-1.5, numbers={"entropy": 0.25, "p(noop)": 1e-9})
    for decision in (first, second):
        recorder.record(decision)
    assert store.episodes.decision("episode-1", 0).numbers == first.numbers
    for read in (store.episodes.decisions("episode-1"), store.episodes.load("episode-1").decisions):
        assert [(each.value, each.logprob, each.numbers) for each in read] == [
            (0.0, -1.5, first.numbers),
            (None, None, {}),
        ]


def test_decision_summaries_have_waiting_and_parsing_times(store: TraceStore):
    recorder = start_recording(store)
    _, decisions = make_decisions(3)
    busy = (Attempt(0, 50, 429), Attempt(1_050, 30, 429), Attempt(1_500, 10, 200))
    earlier = ModelCall("h", "m", {}, "", attempts=busy[:2], parse_ms=0.5)
    asked = ModelCall("h", "m", {}, "", attempts=busy, parse_ms=0.25, earlier=(earlier,))
    older = replace(asked, parse_ms=None, earlier=())  # of a version that did not measure it
    for decision, call in zip(decisions, (None, asked, older), strict=True):
        recorder.record(replace(decision, model_call=call))
    none, first, second = store.episodes.decisions("episode-1")
    assert (none.model_calls, none.waited_ms, none.parse_ms) == (None, None, None)
    assert (first.model_calls, first.waited_ms, first.parse_ms) == (2, 1_000 + 420 + 1_000, 0.75)
    assert (second.model_calls, second.waited_ms, second.parse_ms) == (1, 1_420, None)
    assert store.episodes.decision("episode-1", 1).model_call == asked


def test_store_ms_is_written_with_the_next_transaction(store: TraceStore):
    recorder = start_recording(store)
    _, decisions = make_decisions(2)
    recorder.record(decisions[0])
    assert store.episodes.decisions("episode-1")[0].store_ms is None
    recorder.record(decisions[1])
    first, second = store.episodes.decisions("episode-1")
    assert first.store_ms is not None and first.store_ms > 0
    assert second.store_ms is None
    recorder.finish(Outcome(StopReason.MAX_DECISIONS, FINISHED_AT))
    last = store.episodes.decision("episode-1", 1).timing.store_ms
    assert last is not None and last > 0


def test_a_decision_out_of_order_is_refused(store: TraceStore):
    recorder = start_recording(store)
    with pytest.raises(InvalidInput, match="Decision 1 of episode episode-1 is not the next one to record"):
        recorder.record(make_decisions(2)[1][1])
    assert store.episodes.decisions("episode-1") == ()


def test_an_episode_whose_reset_failed_has_an_end_and_nothing_else(store: TraceStore):
    store.runs.create(make_run("run-1", ["episode-1"]))
    assert store.queue.claim_next(worker="test")
    error = EpisodeError("ValueError", "The world could not be made.", "env.py:1")
    store.recorder("episode-1").finish(Outcome(StopReason.ENV_ERROR, FINISHED_AT, error))
    loaded = store.episodes.load("episode-1")
    assert (loaded.initial, loaded.decisions, loaded.status) == (None, (), EpisodeStatus.FAILED)
    assert loaded.outcome == Outcome(StopReason.ENV_ERROR, FINISHED_AT, error)
    assert store.episodes.latest_scene("episode-1") is None
    assert unpack_scenes(store.episodes.packed_scenes("episode-1")) == ()
    assert store.rewards.facts("episode-1").n_decisions == 0


# ------------------------------------------------------------------- a recorder writes only its own, running episode

WRITES: tuple[Callable[[EpisodeRecorder], None], ...] = (
    lambda recorder: recorder.record(make_decisions(1)[1][0]),
    lambda recorder: recorder.finish(Outcome(StopReason.MAX_STEPS, FINISHED_AT)),
)


def every_row(store: TraceStore) -> dict[str, list[tuple[object, ...]]]:
    """The rows of all tables."""
    with store._database.reading() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(table.select()).all()), key=repr)
            for table in metadata.sorted_tables
        }


def refuses(store: TraceStore, recorder: EpisodeRecorder, because: str) -> None:
    before = every_row(store)
    for write in WRITES:
        with pytest.raises(StoreError, match=because):
            write(recorder)
    assert every_row(store) == before


def test_an_episode_with_the_key_of_a_deleted_one_is_left_alone(store: TraceStore):
    deleted = start_recording(store, "episode-1")
    unstarted = store.recorder("episode-1")
    store.queue.interrupt("episode-1", "It was stopped.")
    store.episodes.delete(["episode-1"])
    store.runs.create(make_run("run-2", ["episode-2"]))
    store.queue.claim_next(worker="test")
    with pytest.raises(UnknownEpisode, match="Episode episode-1 was deleted while it was recorded"):
        unstarted.start(START, make_decisions(0)[0])
    store.recorder("episode-2").start(START, make_decisions(0)[0])
    refuses(store, deleted, "Episode episode-1 was deleted while it was recorded")
    if store.backend.startswith("SQLite"):
        with store._database.reading() as connection:
            assert connection.exec_driver_sql("SELECT id FROM episodes").scalar_one() == 1, "the key was reused"


def test_an_episode_that_another_worker_claimed_is_left_alone(store: TraceStore):
    recorder = start_recording(store)
    change(store, "UPDATE episodes SET worker = 'worker-2'")
    refuses(store, recorder, r"Episode episode-1 belongs to another worker now \('worker-2'\)")


def test_an_interrupted_episode_keeps_what_was_recorded_and_takes_nothing_more(store: TraceStore):
    recorder = start_recording(store)
    _, decisions = make_decisions(2)
    recorder.record(decisions[0])
    assert store.queue.interrupt("episode-1", "Its worker died.")
    with pytest.raises(StoreError, match="is interrupted"):
        recorder.record(decisions[1])
    with pytest.raises(StoreError, match="is interrupted"):
        recorder.finish(Outcome(StopReason.MAX_STEPS, FINISHED_AT))
    loaded = store.episodes.load("episode-1")
    assert without_store_ms(loaded.decisions) == decisions[:1]
    assert loaded.outcome is not None and loaded.outcome.error == EpisodeError("interrupted", "Its worker died.")


def test_two_recorders_cannot_record_one_episode(store: TraceStore):
    first, second = start_recording(store), store.recorder("episode-1")
    initial, (decision,) = make_decisions(1)
    with pytest.raises(StoreError, match="recorded by another recorder too"):
        second.start(START + timedelta(hours=1), initial)
    first.record(decision)
    with pytest.raises(InvalidInput):
        second.record(decision)
    assert store.episodes.get("episode-1").started_at == START
    assert without_store_ms(store.episodes.load("episode-1").decisions) == [decision]


# --------------------------------------------------------------------------------------------- what is stored once


def test_scenes_are_merged_into_large_chunks(sqlite_store: TraceStore):
    store = sqlite_store
    recorder = start_recording(store)
    initial, decisions = make_decisions(CHUNK_SCENES)
    max_chunks = 0
    for decision in decisions:
        recorder.record(decision)
        max_chunks = max(max_chunks, _chunks(store))
    assert 50 < max_chunks <= CHUNK_SCENES
    recorder.finish(Outcome(StopReason.MAX_STEPS, FINISHED_AT))
    assert _chunks(store) == 2
    states = [initial, *(step.state for decision in decisions for step in decision.steps)]
    assert len(states) > CHUNK_SCENES
    assert list(unpack_scenes(store.episodes.packed_scenes("episode-1"))) == [state.scene for state in states]
    some = (0, len(decisions) // 2, len(decisions) - 1)
    assert without_store_ms(store.episodes.decision("episode-1", i) for i in some) == [decisions[i] for i in some]


def _chunks(store: TraceStore) -> int:
    with store._database.reading() as connection:
        return connection.exec_driver_sql("SELECT count(*) FROM scene_chunks").scalar_one()


def test_messages_repeated_in_every_request_are_stored_once(sqlite_store: TraceStore):
    recorder = start_recording(sqlite_store)
    _, decisions = make_decisions(20)
    for decision in decisions:
        recorder.record(decision)
    calls = [decision.model_call for decision in decisions if decision.model_call]
    different = {str(part) for call in calls for part in (*call.request["messages"], *call.request["tools"])}
    with sqlite_store._database.reading() as connection:
        stored = connection.exec_driver_sql("SELECT count(*) FROM request_parts").scalar_one()
    assert stored == len(different) < sum(len(call.request["messages"]) for call in calls)


# ---------------------------------------------------------------------------- any value that may occur in a record

texts = st.text(st.characters(), max_size=30)  # with NUL and halves of surrogate pairs
words = st.text("abcdefgh_", min_size=1, max_size=6)
floats = st.floats(-1e100, 1e100)
counts = st.integers(0, 254)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | floats | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
facts = st.builds(
    StateFacts,
    achievements=st.dictionaries(words, st.booleans(), max_size=4),
    inventory=st.dictionaries(words, st.integers(-9, 10**6), max_size=4),
    achievement_counts=st.dictionaries(words, st.integers(0, 10**6), max_size=4),
    position=st.none() | st.tuples(st.integers(-5, 500), st.integers(-5, 500)),
)
tool_calls = st.builds(ToolCall, name=texts, arguments=texts, actions=st.lists(words, max_size=3).map(tuple))
model_calls = st.builds(
    ModelCall,
    provider=texts,
    model=texts,
    request=st.dictionaries(texts, json_values, max_size=3),
    response_text=texts,
    tokens_in=st.none() | counts,
    cost_usd=st.none() | floats,
)
components = st.builds(RewardComponent, words, words, floats, floats, floats, st.none() | counts, st.none() | counts)


@st.composite
def decision_lists(draw: st.DrawFn) -> list[Decision]:
    """Decisions in order, with anything in them."""
    made: list[Decision] = []
    n_steps = 0
    for index in range(draw(st.integers(1, 4))):
        steps: list[Step] = []
        for _ in range(draw(st.integers(0, 2))):
            scene = make_state(n_steps + 1, draw(st.randoms(use_true_random=False))).scene
            state = StateRecord(draw(facts), scene, draw(words), draw(words))
            steps.append(Step(n_steps, draw(words), draw(floats), draw(st.booleans()), draw(st.booleans()), state))
            n_steps += 1
        breakdown = RewardBreakdown(
            draw(texts), draw(floats), tuple(draw(st.lists(components, max_size=3))), (draw(words),), (draw(words),)
        )
        unlocked = tuple(draw(st.lists(words, max_size=2, unique=True)))
        made.append(
            Decision(
                index=index,
                observation=draw(texts),
                tool_calls=tuple(draw(st.lists(tool_calls, max_size=2))),
                steps=tuple(steps),
                not_executed=tuple(draw(st.lists(words, max_size=2))),
                before=draw(facts),
                reward=breakdown,
                unlocked=unlocked,
                unique_unlocked=unlocked[:1],
                timing=Timing(draw(floats), draw(floats), tuple((draw(floats), draw(floats)) for _ in steps), 1.0),
                model_call=draw(st.none() | model_calls),
                error=draw(st.none() | st.builds(EpisodeError, texts, texts, texts)),
                warning=draw(st.none() | texts),
            )
        )
    return made


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(initial=facts, decisions=decision_lists())
def test_any_record_comes_back_equal(sqlite_store: TraceStore, initial: StateFacts, decisions: list[Decision]):
    episode_id = f"episode-{len(sqlite_store.runs.newest(limit=1000).rows)}"
    sqlite_store.runs.create(make_run(f"run-of-{episode_id}", [episode_id]))
    assert sqlite_store.queue.claim_next(worker="test")
    recorder = sqlite_store.recorder(episode_id)
    state = replace(make_state(0, random.Random(1)), facts=initial)
    recorder.start(START, state)
    for decision in decisions:
        recorder.record(decision)
    loaded = sqlite_store.episodes.load(episode_id)
    assert loaded.initial == state
    assert without_store_ms(loaded.decisions) == decisions
    assert without_store_ms(sqlite_store.episodes.decision(episode_id, d.index) for d in decisions) == decisions
