"""Lists, filters, totals, and episodes found by their ids."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.errors import InvalidInput, UnknownEpisode
from core.store import EpisodeFilter, EpisodePage, TraceStore
from core.types import EpisodeStatus, PolicySpec
from tests.support.records import START, make_run, record_episode


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


@pytest.mark.parametrize("limit", [1, 3, 4, 12])
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


@pytest.mark.parametrize(
    "cursor", ["", "?", "abc", "MTIz", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTkuMQ", "MS45OTk5OTk5OTk5OTk5OTk5OTk5OTk5"]
)
def test_an_invalid_cursor_is_refused(store: TraceStore, cursor: str):
    with pytest.raises(InvalidInput, match="go back to its first page"):
        store.episodes.page(cursor=cursor)


def test_filters_select_matching_episodes(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode", "b-episode"]))
    store.runs.create(make_run("run-2", ["c-episode"], minutes=1, policy=PolicySpec("scripted")))
    record_episode(store, "a-episode", 20)
    minute = timedelta(minutes=1)
    assert all_ids(store, EpisodeFilter(policies=("scripted",))) == ["c-episode"]
    assert all_ids(store, EpisodeFilter(policies=("random", "scripted"))) == ["c-episode", "b-episode", "a-episode"]
    assert all_ids(store, EpisodeFilter(policies=("nobody",))) == []
    assert all_ids(store, EpisodeFilter(seeds=(1,))) == ["b-episode"]
    assert all_ids(store, EpisodeFilter(seeds=(10**30,))) == []
    assert all_ids(store, EpisodeFilter(statuses=(EpisodeStatus.COMPLETED,))) == ["a-episode"]
    assert all_ids(store, EpisodeFilter(run_id="run-2")) == ["c-episode"]
    assert all_ids(store, EpisodeFilter(run_id="run-3")) == []
    assert all_ids(store, EpisodeFilter(created_after=START + minute)) == ["c-episode"]
    assert all_ids(store, EpisodeFilter(created_before=START + minute)) == ["b-episode", "a-episode"]
    assert all_ids(store, EpisodeFilter(seeds=(0,), policies=("random",))) == ["a-episode"]
    assert store.episodes.policies() == ("random", "scripted")


def test_the_reward_filter_looks_at_the_shaped_return(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode", "b-episode"]))
    record_episode(store, "a-episode", 20)
    earned = store.episodes.get("a-episode").shaped_return
    assert earned > 0
    assert all_ids(store, EpisodeFilter(min_reward=earned)) == ["a-episode"]
    assert all_ids(store, EpisodeFilter(min_reward=earned + 0.1)) == []
    assert all_ids(store, EpisodeFilter(max_reward=0.0)) == ["b-episode"]


def test_the_achievement_filter_wants_all_of_them(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode", "b-episode"]))
    record_episode(store, "a-episode", 30)
    unlocked = store.episodes.get("a-episode").achievements
    assert len(unlocked) >= 2
    assert all_ids(store, EpisodeFilter(achievements=unlocked)) == ["a-episode"]
    assert all_ids(store, EpisodeFilter(achievements=(unlocked[0],))) == ["a-episode"]
    assert all_ids(store, EpisodeFilter(achievements=(unlocked[0], "fly"))) == []


def test_totals_count_everything_and_average_what_was_played(store: TraceStore):
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
    with pytest.raises(UnknownEpisode):
        store.runs.episodes("run-3")


def test_the_specification_comes_back_equal(store: TraceStore):
    run = make_run("run-1", ["a-episode", "b-episode"], max_actions_per_call=9)
    store.runs.create(run)
    assert [episode.spec for episode in store.runs.episodes("run-1").rows] == [episode.spec for episode in run.episodes]
    assert store.episodes.get("a-episode").config_hash == run.episodes[0].spec.reward.config_hash


def test_an_episode_is_found_by_the_beginning_of_its_id(store: TraceStore):
    store.runs.create(make_run("run-1", ["abcdef-1", "abcdef-2", "abc%ef-3"]))
    assert store.episodes.get("abcdef-2").id == "abcdef-2"
    assert store.episodes.get("abc%ef").id == "abc%ef-3"
    with pytest.raises(UnknownEpisode, match="Several episodes begin with 'abcdef'"):
        store.episodes.get("abcdef")
    with pytest.raises(UnknownEpisode, match="the first six characters or more"):
        store.episodes.get("abcde")
    with pytest.raises(UnknownEpisode, match="No episode '______' is stored"):
        store.episodes.get("______")


@pytest.mark.parametrize("unknown", ["", "x" * 5000, "nothing-like-it", "'; DROP TABLE episodes; --"])
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


def test_an_unknown_decision_or_step_is_reported_with_their_number(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode", "b-episode"]))
    record_episode(store, "a-episode", 5)
    n_steps = store.episodes.get("a-episode").n_steps
    for index in (-1, 5, 10**30):
        with pytest.raises(UnknownEpisode, match=f"has no decision {index}. It has 5 decisions and {n_steps} steps"):
            store.episodes.decision("a-episode", index)
    for step in (-1, n_steps, 10**30):
        with pytest.raises(UnknownEpisode, match=f"has no step {step}"):
            store.episodes.decision_at_step("a-episode", step)
    with pytest.raises(UnknownEpisode, match="Nothing of it was recorded"):
        store.episodes.decision("b-episode", 0)
