"""Lists, filters, sums, and episodes found by their ids, whatever text they hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import event

from core.errors import UnknownEpisode
from core.store import EpisodeFilter, EpisodePage, TraceStore
from core.types import EpisodeError, EpisodeStatus, Outcome, PolicySpec, Spent, StopReason
from tests.support.records import START, make_decisions, make_run, record_episode, record_run


def ids(page: EpisodePage) -> list[str]:
    """The episodes of a page."""
    return [row.id for row in page.rows]


def all_ids(store: TraceStore, filter: EpisodeFilter) -> list[str]:
    """The episodes of all pages."""
    return ids(store.episodes.page(filter, limit=1000))


def test_an_empty_store_has_nothing_to_show(store: TraceStore):
    assert store.episodes.is_empty()
    assert store.episodes.page() == EpisodePage(())
    assert (store.runs.newest().rows, store.episodes.policies()) == ((), ())
    totals = store.episodes.totals()
    assert (totals.episodes, totals.steps, totals.running, totals.mean_env_return) == (0, 0, 0, None)


def test_episodes_are_listed_newest_first(store: TraceStore):
    store.runs.create(make_run("run-2", ["c-episode"], minutes=5))
    store.runs.create(make_run("run-1", ["a-episode", "b-episode"]))
    assert not store.episodes.is_empty()
    assert ids(store.episodes.page()) == ["c-episode", "b-episode", "a-episode"]


@pytest.mark.parametrize("limit", [1, 5, 12])
def test_every_episode_is_on_one_page(store: TraceStore, limit: int):
    for number in range(4):  # several of the same moment
        store.runs.create(make_run(f"run-{number}", [f"{number}-{i}" for i in range(3)], minutes=number // 2))
    found: list[str] = []
    cursor = None
    while True:
        page = store.episodes.page(cursor=cursor, limit=limit)
        assert len(page.rows) <= limit
        found += ids(page)
        cursor = page.next_cursor
        if cursor is None:
            break
    assert found == ids(store.episodes.page(limit=100))
    assert len(found) == 12


def test_new_and_deleted_episodes_do_not_shift_pages(store: TraceStore):
    store.runs.create(make_run("run-1", [f"old-{number}" for number in range(6)]))
    first = store.episodes.page(limit=2)
    store.runs.create(make_run("run-2", ["new-1", "new-2"], minutes=1))
    store.episodes.delete([first.rows[1].id])
    second = store.episodes.page(cursor=first.next_cursor, limit=2)
    assert ids(first) + ids(second) == ["old-5", "old-4", "old-3", "old-2"]


def test_filters_select_matching_episodes(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode", "b-episode"]))
    store.runs.create(make_run("run-2", ["c-episode"], minutes=1, policy=PolicySpec("scripted")))
    record_episode(store, "a-episode", 20)
    minute = timedelta(minutes=1)
    assert all_ids(store, EpisodeFilter(policies=("scripted",))) == ["c-episode"]
    assert all_ids(store, EpisodeFilter(policies=("random", "scripted"))) == ["c-episode", "b-episode", "a-episode"]
    assert all_ids(store, EpisodeFilter(policies=("unknown",))) == []
    assert all_ids(store, EpisodeFilter(seeds=(1,))) == ["b-episode"]
    assert all_ids(store, EpisodeFilter(seeds=(10**30,))) == []
    assert all_ids(store, EpisodeFilter(statuses=(EpisodeStatus.COMPLETED,))) == ["a-episode"]
    assert all_ids(store, EpisodeFilter(run_id="run-2")) == ["c-episode"]
    assert all_ids(store, EpisodeFilter(run_id="run-3")) == []
    assert all_ids(store, EpisodeFilter(created_after=START + minute)) == ["c-episode"]
    assert all_ids(store, EpisodeFilter(created_before=START + minute)) == ["b-episode", "a-episode"]
    assert all_ids(store, EpisodeFilter(seeds=(0,), policies=("random",))) == ["a-episode"]
    assert store.episodes.policies() == ("random", "scripted")


def test_the_reward_filter_compares_the_shaped_return(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode", "b-episode"]))
    record_episode(store, "a-episode", 20)
    earned = store.episodes.get("a-episode").shaped_return
    assert earned > 0
    assert all_ids(store, EpisodeFilter(min_reward=earned)) == ["a-episode"]
    assert all_ids(store, EpisodeFilter(min_reward=earned + 0.1)) == []
    assert all_ids(store, EpisodeFilter(max_reward=0.0)) == ["b-episode"]


def test_the_achievement_filter_requires_all_of_them(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode", "b-episode"]))
    record_episode(store, "a-episode", 30)
    unlocked = store.episodes.get("a-episode").achievements
    assert len(unlocked) >= 2
    assert all_ids(store, EpisodeFilter(achievements=unlocked)) == ["a-episode"]
    assert all_ids(store, EpisodeFilter(achievements=(unlocked[0],))) == ["a-episode"]
    assert all_ids(store, EpisodeFilter(achievements=(unlocked[0], "fly"))) == []


def test_totals_count_all_episodes_and_average_those_played(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode", "b-episode", "c-episode", "d-episode"]))
    record_episode(store, "a-episode", 10, seed=1)
    record_episode(store, "b-episode", 20, seed=2)
    store.queue.claim_next(worker="test")
    totals = store.episodes.totals()
    a, b = store.episodes.get("a-episode"), store.episodes.get("b-episode")
    assert (totals.episodes, totals.running, totals.queued) == (4, 1, 1)
    assert (totals.steps, totals.decisions) == (a.n_steps + b.n_steps, 30)
    assert totals.mean_env_return == pytest.approx((a.env_return + b.env_return) / 2)
    assert totals.mean_shaped_return == pytest.approx((a.shaped_return + b.shaped_return) / 2)
    assert totals.mean_achievements == pytest.approx((len(a.achievements) + len(b.achievements)) / 2)
    assert store.episodes.totals(EpisodeFilter(seeds=(1,))).decisions == 20


def test_a_run_counts_its_episodes_by_status(store: TraceStore):
    run = make_run("run-1", ["a-episode", "b-episode", "c-episode"])
    store.runs.create(run)
    store.runs.create(make_run("run-2", ["d-episode"], minutes=1))
    record_episode(store, "a-episode")
    summary = store.runs.get("run-1")
    assert (summary.id, summary.name, summary.created_at, summary.config) == (
        "run-1",
        run.name,
        run.created_at,
        run.config,
    )
    assert summary.n_episodes == 3
    assert summary.counts == {EpisodeStatus.COMPLETED: 1, EpisodeStatus.QUEUED: 2}
    assert [run.id for run in store.runs.newest().rows] == ["run-2", "run-1"]
    assert [run.id for run in store.runs.newest(limit=1).rows] == ["run-2"]
    assert [episode.id for episode in store.runs.episodes("run-1").rows] == ["a-episode", "b-episode", "c-episode"]
    with pytest.raises(UnknownEpisode, match="No run 'run-3' is stored"):
        store.runs.get("run-3")


def test_a_run_has_what_it_was_asked_for_by(store: TraceStore):
    run = make_run("run-1", ["one"])
    store.runs.create(run)
    summary = store.runs.get("run-1")
    for name in ("source", "mode", "session_url", "batch_id"):
        assert getattr(summary, name) == getattr(run, name)


def test_a_run_starts_with_its_first_episode_and_finishes_with_its_last(store: TraceStore):
    store.runs.create(make_run("run-1", ["one", "two"]))
    waiting = store.runs.get("run-1")
    assert (waiting.status, waiting.started_at, waiting.finished_at) == (EpisodeStatus.QUEUED, None, None)
    record_episode(store, "one", stop_reason=StopReason.POLICY_ERROR)
    playing = store.runs.get("run-1")
    assert (playing.status, playing.started_at, playing.finished_at) == (EpisodeStatus.RUNNING, START, None)
    record_episode(store, "two")
    finished = store.runs.get("run-1")
    assert (finished.status, finished.finished_at) == (EpisodeStatus.FAILED, START + timedelta(seconds=9))
    with pytest.raises(UnknownEpisode):
        store.runs.episodes("run-3")


def test_the_specification_is_read_as_it_was_stored(store: TraceStore):
    run = make_run("run-1", ["a-episode", "b-episode"], max_actions_per_call=9)
    store.runs.create(run)
    assert [episode.spec for episode in store.runs.episodes("run-1").rows] == [episode.spec for episode in run.episodes]
    assert store.episodes.get("a-episode").config_hash == run.episodes[0].spec.reward.config_hash


def test_an_episode_is_found_by_a_unique_prefix_of_its_id(store: TraceStore):
    store.runs.create(make_run("run-1", ["abcdef-1", "abcdef-2", "abc%ef-3"]))
    assert store.episodes.get("abcdef-2").id == "abcdef-2"
    assert store.episodes.get("abc%ef").id == "abc%ef-3"
    with pytest.raises(UnknownEpisode, match="Several episodes begin with 'abcdef'"):
        store.episodes.get("abcdef")
    with pytest.raises(UnknownEpisode, match="the first six characters or more"):
        store.episodes.get("abcde")
    with pytest.raises(UnknownEpisode, match="No episode '______' is stored"):
        store.episodes.get("______")


@pytest.mark.parametrize("unknown", ["", "x" * 5000, "nothing-like-it"])
def test_an_unknown_episode_is_reported(store: TraceStore, unknown: str):
    for ask in (
        store.episodes.get,
        store.episodes.decisions,
        store.episodes.load,
        store.episodes.packed_scenes,
        store.episodes.latest_scene,
    ):
        with pytest.raises(UnknownEpisode) as caught:
            ask(unknown)
        assert len(str(caught.value)) < 300


def test_an_unknown_decision_is_reported_with_their_number(store: TraceStore):
    record_run(store, "a-episode")
    for index in (-1, 5):
        with pytest.raises(UnknownEpisode, match=f"Episode a-episode has no decision {index}: it has 5."):
            store.episodes.decision("a-episode", index)


# ------------------------------------------------------------------------------- sums and unlocks of many episodes


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


def test_spent_sums_the_model_calls_of_each_episode_in_one_query(store: TraceStore):
    store.runs.create(make_run("run-1", ["episode-1", "episode-2", "no-call", "waiting"]))
    for episode_id, decisions in (("episode-1", 4), ("episode-2", 9), ("no-call", 1)):
        record_episode(store, episode_id, decisions)
    with statements(store) as sent:
        spent = store.episodes.spent(["episode-1", "episode-2", "no-call", "waiting", "unknown"])
    assert len(sent) == 1 and "decision_payloads" not in sent[0]
    assert spent.keys() == {"episode-1", "episode-2", "no-call", "waiting"}
    assert spent["no-call"] == spent["waiting"] == Spent()
    for episode_id in ("episode-1", "episode-2"):
        calls = [decision.model_call for decision in store.episodes.load(episode_id).decisions]
        asked = [call for call in calls if call is not None]
        assert spent[episode_id].calls == len(asked) > 0
        assert spent[episode_id].cost_usd == pytest.approx(sum(call.cost_usd or 0 for call in asked))
        assert spent[episode_id].tokens == sum((call.tokens_in or 0) + (call.tokens_out or 0) for call in asked)


def test_decision_summaries_are_read_without_payloads(store: TraceStore):
    record_run(store, "episode-1", decisions=50)
    with statements(store) as sent:
        summaries = store.episodes.decisions("episode-1")
    assert len(summaries) == 50 and any(summary.waited_ms is not None for summary in summaries)
    assert [statement for statement in sent if "decision_payloads" in statement] == []


def test_unlock_steps_of_many_episodes_are_those_of_each_episode(sqlite_store: TraceStore):
    store = sqlite_store
    names = ["a-episode", "b-episode", *(f"waiting-{number}" for number in range(1_200))]  # more than a query may name
    store.runs.create(make_run("run-1", names))
    record_episode(store, "a-episode", 30)
    record_episode(store, "b-episode", 12, seed=2)
    found = store.episodes.unlock_steps([*names, "unknown", "a-epis"])
    assert found.keys() == set(names)
    assert {name: steps for name, steps in found.items() if steps} == {
        name: store.episodes.load(name).unlock_steps for name in ("a-episode", "b-episode")
    }
    assert list(found["a-episode"].values()) == sorted(found["a-episode"].values())


def test_episodes_that_ended_without_a_decision_are_counted_by_policy(store: TraceStore):
    store.runs.create(make_run("run-1", ["none-1", "none-2", "played"]))
    store.runs.create(make_run("run-2", ["none-3"], minutes=1, policy=PolicySpec("scripted")))
    for name, decisions in (("none-1", 0), ("none-2", 0), ("played", 3), ("none-3", 0)):
        record_episode(store, name, decisions, stop_reason=StopReason.POLICY_ERROR)
    store.runs.create(make_run("run-3", ["running", "waiting"]))
    assert store.queue.claim_next(worker="test") is not None
    assert store.rewards.played_ids() == ("played",)
    assert store.rewards.without_decision() == {"random": 2, "scripted": 1}


# ------------------------------------------------------------------------------------------------- hostile text

NASTY = "\x00 half \ud83d '; DROP TABLE runs; -- \u202e 🙂"


def test_any_text_can_be_stored(store: TraceStore):
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


def test_any_text_can_be_searched_for(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode"]))
    for ask in (store.episodes.get, store.episodes.load, store.runs.get, store.runs.episodes, store.recorder):
        with pytest.raises(UnknownEpisode):
            ask(NASTY)
    wanted = EpisodeFilter(policies=(NASTY,), achievements=(NASTY,), run_id=NASTY)
    assert store.episodes.page(wanted).rows == ()
    assert store.queue.stop_requested(NASTY)
    assert store.episodes.delete([NASTY]) == 0
