"""What is recorded is what is read, at once and for good."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import InvalidInput, StoreError, UnknownEpisode
from core.scenes import unpack_scenes
from core.store import TraceStore
from core.store.recorder import CHUNK_SCENES
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
from tests.support.records import START, make_decisions, make_run, make_state, record_episode

FINISHED_AT = START + timedelta(seconds=9)


def without_store_ms(decisions: tuple[Decision, ...]) -> list[Decision]:
    """`store_ms` is the store's own addition."""
    return [replace(decision, timing=replace(decision.timing, store_ms=None)) for decision in decisions]


def begun(store: TraceStore, episode_id: str = "episode-1") -> None:
    """A running episode."""
    store.runs.create(make_run(f"run-of-{episode_id}", [episode_id]))
    assert store.queue.claim_next(worker="test")


def test_an_episode_is_read_as_it_was_recorded(store: TraceStore):
    run = make_run("run-1", ["episode-1"])
    store.runs.create(run)
    record_episode(store, "episode-1", 12)
    initial, decisions = make_decisions(12)
    loaded = store.episodes.load("episode-1")
    assert without_store_ms(loaded.decisions) == decisions
    assert replace(loaded, decisions=()) == Episode(
        id="episode-1",
        run_id="run-1",
        spec=run.episodes[0].spec,
        initial=initial,
        decisions=(),
        started_at=START,
        outcome=Outcome(StopReason.MAX_STEPS, FINISHED_AT),
    )


def test_one_decision_is_read_as_it_was_recorded(store: TraceStore):
    begun(store)
    recorder = store.recorder("episode-1")
    initial, decisions = make_decisions(8)
    recorder.start(START, initial)
    for decision in decisions:
        recorder.record(decision)
    for index in (0, 3, 7):
        assert without_store_ms((store.episodes.decision("episode-1", index),)) == [decisions[index]]
    assert store.episodes.initial("episode-1") == initial


def test_a_decision_can_be_read_as_soon_as_it_is_recorded(store: TraceStore):
    begun(store)
    recorder = store.recorder("episode-1")
    initial, decisions = make_decisions(3)
    recorder.start(START, initial)
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
    store.runs.create(make_run("run-1", ["episode-1"]))
    record_episode(store, "episode-1", 20)
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
    store.runs.create(make_run("run-1", ["episode-1"]))
    record_episode(store, "episode-1", 10)
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
        for index in range(summary.step_start, summary.step_end):
            assert store.episodes.decision_at_step("episode-1", index) == summary.index
    assert step == loaded.length


def test_what_a_call_waited_and_parsing_took_is_known_for_all_decisions(store: TraceStore):
    begun(store)
    recorder = store.recorder("episode-1")
    initial, decisions = make_decisions(3)
    recorder.start(START, initial)
    busy = (Attempt(0, 50, 429), Attempt(1_050, 30, 429), Attempt(1_500, 10, 200))
    earlier = ModelCall("h", "m", {}, "", attempts=busy[:2], parse_ms=0.5)
    asked = ModelCall("h", "m", {}, "", attempts=busy, parse_ms=0.25, earlier=(earlier,))
    older = replace(asked, parse_ms=None, earlier=())  # from elsewhere: it does not say how long parsing took
    for decision, call in zip(decisions, (None, asked, older), strict=True):
        recorder.record(replace(decision, model_call=call))
    none, first, second = store.episodes.decisions("episode-1")
    assert (none.model_calls, none.waited_ms, none.parse_ms) == (None, None, None)
    assert (first.model_calls, first.waited_ms, first.parse_ms) == (2, 1_000 + 420 + 1_000, 0.75)
    assert (second.model_calls, second.waited_ms, second.parse_ms) == (1, 1_420, None)
    assert store.episodes.decision("episode-1", 1).model_call == asked


def test_how_long_storing_took_is_written_with_the_next_transaction(store: TraceStore):
    begun(store)
    recorder = store.recorder("episode-1")
    initial, decisions = make_decisions(2)
    recorder.start(START, initial)
    recorder.record(decisions[0])
    assert store.episodes.decisions("episode-1")[0].store_ms is None
    recorder.record(decisions[1])
    first, second = store.episodes.decisions("episode-1")
    assert first.store_ms is not None and first.store_ms > 0
    assert second.store_ms is None
    recorder.finish(Outcome(StopReason.MAX_DECISIONS, FINISHED_AT))
    last = store.episodes.decision("episode-1", 1).timing.store_ms
    assert last is not None and last > 0


def test_doing_everything_twice_changes_nothing(store: TraceStore):
    begun(store)
    initial, decisions = make_decisions(4)
    outcome = Outcome(StopReason.MAX_DECISIONS, FINISHED_AT)
    first, second = store.recorder("episode-1"), store.recorder("episode-1")
    first.start(START, initial)
    first.start(START, initial)
    for decision in decisions:
        first.record(decision)
        first.record(decision)
    again = store.recorder("episode-1")
    again.start(START, initial)
    for decision in decisions:
        again.record(decision)
    again.finish(outcome)
    again.finish(outcome)
    first.finish(outcome)
    loaded = store.episodes.load("episode-1")
    assert without_store_ms(loaded.decisions) == decisions
    with pytest.raises(StoreError, match="is completed; nothing more can be recorded"):
        second.start(START, initial)


def test_another_recorder_goes_on_where_one_stopped(store: TraceStore):
    store.runs.create(make_run("run-1", ["whole", "halves"]))
    initial, decisions = make_decisions(30)
    record_episode(store, "whole", 30)
    assert store.queue.claim_next(worker="test")
    first = store.recorder("halves")
    first.start(START, initial)
    for decision in decisions[:13]:
        first.record(decision)
    second = store.recorder("halves")
    for decision in decisions[13:]:
        second.record(decision)
    second.finish(Outcome(StopReason.MAX_STEPS, FINISHED_AT))
    whole, halves = store.episodes.load("whole"), store.episodes.load("halves")
    assert without_store_ms(halves.decisions) == without_store_ms(whole.decisions)
    assert store.episodes.get("halves").shaped_return == store.episodes.get("whole").shaped_return
    assert store.episodes.packed_scenes("halves") == store.episodes.packed_scenes("whole")
    ours, theirs = store.rewards.facts("halves"), store.rewards.facts("whole")
    assert ours.deltas.tolist() == theirs.deltas.tolist()
    with pytest.raises(StoreError, match="nothing more can be recorded"):
        first.record(decisions[13])


def test_two_recorders_of_one_episode_cannot_mix(store: TraceStore):
    begun(store)
    initial, decisions = make_decisions(3)
    first, second = store.recorder("episode-1"), store.recorder("episode-1")
    first.start(START, initial)
    first.record(decisions[0])
    with pytest.raises(StoreError, match="another recorder writes it too"):
        second.record(decisions[0])
    first.record(decisions[1])
    assert without_store_ms(store.episodes.load("episode-1").decisions) == decisions[:2]


def test_two_recorders_of_one_episode_cannot_both_start_it(store: TraceStore):
    begun(store)
    initial, _ = make_decisions(1)
    first, second = store.recorder("episode-1"), store.recorder("episode-1")
    first.start(START, initial)
    with pytest.raises(StoreError, match="was started already: another recorder writes it too"):
        second.start(START + timedelta(hours=1), initial)
    assert store.episodes.get("episode-1").started_at == START


def test_a_decision_out_of_order_is_refused(store: TraceStore):
    begun(store)
    recorder = store.recorder("episode-1")
    initial, decisions = make_decisions(3)
    recorder.start(START, initial)
    with pytest.raises(InvalidInput, match="does not follow on 0 decisions"):
        recorder.record(decisions[1])
    assert store.episodes.decisions("episode-1") == ()


def paid(*values: float, delta: float = 1.0, weight: float = 1.0, effective_lambda: float = 1.0) -> RewardBreakdown:
    """What a strategy of somebody's own might answer."""
    parts = tuple(RewardComponent("own", "ratio", delta, weight, value) for value in values)
    return RewardBreakdown("own", effective_lambda, parts)


@pytest.mark.parametrize(
    ("reward", "wrong"),
    [
        (paid(math.nan), "the value of 'ratio' is nan"),
        (paid(1.0, math.inf), "the value of 'ratio' is inf"),
        (paid(math.inf, -math.inf), "the value of 'ratio' is inf"),
        (paid(1.0, delta=-math.inf), "the delta of 'ratio' is -inf"),
        (paid(1.0, weight=math.nan), "the weight of 'ratio' is nan"),
        (paid(effective_lambda=math.inf), "lambda is inf"),
        (paid(1e300, effective_lambda=1e300), "it is inf"),
    ],
    ids=str,
)
def test_a_reward_that_is_not_finite_is_refused_and_nothing_of_it_stored(
    store: TraceStore, reward: RewardBreakdown, wrong: str
):
    begun(store)
    recorder = store.recorder("episode-1")
    initial, (decision,) = make_decisions(1)
    recorder.start(START, initial)
    with pytest.raises(InvalidInput, match=f"Decision 0 of episode episode-1 .*not a finite number: {wrong}"):
        recorder.record(replace(decision, reward=reward))
    recorder.record(decision)
    assert without_store_ms(store.episodes.load("episode-1").decisions) == [decision]


def test_what_the_environment_pays_must_be_finite_too(store: TraceStore):
    begun(store)
    recorder = store.recorder("episode-1")
    initial, decisions = make_decisions(4)
    recorder.start(START, initial)
    decision = next(decision for decision in decisions if decision.steps)
    for earlier in decisions[: decision.index]:
        recorder.record(earlier)
    steps = (replace(decision.steps[0], env_reward=math.inf), *decision.steps[1:])
    with pytest.raises(InvalidInput, match="the environment paid inf for step 0"):
        recorder.record(replace(decision, steps=steps))


def test_an_episode_that_was_interrupted_takes_nothing_more(store: TraceStore):
    begun(store)
    recorder = store.recorder("episode-1")
    initial, decisions = make_decisions(2)
    recorder.start(START, initial)
    recorder.record(decisions[0])
    assert store.queue.interrupt("episode-1", "Its worker died.")
    with pytest.raises(StoreError, match="is interrupted"):
        recorder.record(decisions[1])
    with pytest.raises(StoreError, match="is interrupted"):
        recorder.finish(Outcome(StopReason.MAX_STEPS, FINISHED_AT))
    loaded = store.episodes.load("episode-1")
    assert without_store_ms(loaded.decisions) == decisions[:1]
    assert loaded.outcome is not None and loaded.outcome.error == EpisodeError("interrupted", "Its worker died.")


def test_an_episode_that_was_deleted_says_so(store: TraceStore):
    begun(store)
    recorder = store.recorder("episode-1")
    initial, _ = make_decisions(1)
    store.queue.interrupt("episode-1", "Its worker died.")
    assert store.episodes.delete(["episode-1"]) == 1
    with pytest.raises(UnknownEpisode, match="was deleted while it was recorded"):
        recorder.start(START, initial)
    with pytest.raises(UnknownEpisode, match="No episode 'episode-1' is stored"):
        store.recorder("episode-1")


def test_an_episode_whose_world_could_not_be_made_has_an_end_and_nothing_else(store: TraceStore):
    begun(store)
    error = EpisodeError("ValueError", "The world could not be made.", "env.py:1")
    store.recorder("episode-1").finish(Outcome(StopReason.ENV_ERROR, FINISHED_AT, error))
    loaded = store.episodes.load("episode-1")
    assert (loaded.initial, loaded.decisions, loaded.status) == (None, (), EpisodeStatus.FAILED)
    assert loaded.outcome == Outcome(StopReason.ENV_ERROR, FINISHED_AT, error)
    assert store.episodes.initial("episode-1") is None
    assert store.episodes.latest_scene("episode-1") is None
    assert unpack_scenes(store.episodes.packed_scenes("episode-1")) == ()
    assert store.rewards.facts("episode-1").n_decisions == 0


def test_scenes_lie_in_small_pieces_until_there_are_enough_for_a_large_one(sqlite_store: TraceStore):
    store = sqlite_store
    begun(store)
    recorder = store.recorder("episode-1")
    initial, decisions = make_decisions(CHUNK_SCENES)
    recorder.start(START, initial)
    most_pieces = 0
    for decision in decisions:
        recorder.record(decision)
        most_pieces = max(most_pieces, _pieces(store))
    assert 50 < most_pieces <= CHUNK_SCENES
    recorder.finish(Outcome(StopReason.MAX_STEPS, FINISHED_AT))
    assert _pieces(store) == 2
    states = [initial, *(step.state for decision in decisions for step in decision.steps)]
    assert len(states) > CHUNK_SCENES
    assert list(unpack_scenes(store.episodes.packed_scenes("episode-1"))) == [state.scene for state in states]
    for index in (0, len(decisions) // 2, len(decisions) - 1):
        assert without_store_ms((store.episodes.decision("episode-1", index),)) == [decisions[index]]


def _pieces(store: TraceStore) -> int:
    with store._database.reading() as connection:
        return connection.exec_driver_sql("SELECT count(*) FROM scene_chunks").scalar_one()


def test_what_comes_again_in_every_request_is_stored_once(sqlite_store: TraceStore):
    begun(sqlite_store)
    recorder = sqlite_store.recorder("episode-1")
    initial, decisions = make_decisions(20)
    recorder.start(START, initial)
    for decision in decisions:
        recorder.record(decision)
    calls = [decision.model_call for decision in decisions if decision.model_call]
    different = {str(part) for call in calls for part in (*call.request["messages"], *call.request["tools"])}
    with sqlite_store._database.reading() as connection:
        stored = connection.exec_driver_sql("SELECT count(*) FROM request_parts").scalar_one()
    assert stored == len(different) < sum(len(call.request["messages"]) for call in calls)


# ---------------------------------------------------------------------------- whatever may occur in a record

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
    number = len(sqlite_store.runs.newest(limit=1000).rows)
    begun(sqlite_store, f"episode-{number}")
    recorder = sqlite_store.recorder(f"episode-{number}")
    state = replace(make_state(0, random.Random(1)), facts=initial)
    recorder.start(START, state)
    for decision in decisions:
        recorder.record(decision)
    loaded = sqlite_store.episodes.load(f"episode-{number}")
    assert loaded.initial == state
    assert without_store_ms(loaded.decisions) == decisions
    assert without_store_ms(tuple(sqlite_store.episodes.decision(loaded.id, d.index) for d in decisions)) == decisions
