"""What is deleted is gone, its space too, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import StoreError, UnknownEpisode
from core.store import TraceStore
from core.store.tables import metadata
from tests.support.records import make_run, record_episode


def test_a_deleted_episode_is_gone_and_the_others_are_whole(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode", "b-episode"]))
    record_episode(store, "a-episode", 6)
    record_episode(store, "b-episode", 6)
    kept, generation = store.episodes.load("b-episode"), store.generation
    assert store.episodes.delete(["a-episode", "never-there"]) == 1
    assert store.generation > generation
    with pytest.raises(UnknownEpisode):
        store.episodes.get("a-episode")
    assert store.episodes.load("b-episode") == kept
    assert store.episodes.delete(["a-episode"]) == 0


def test_a_run_without_episodes_goes_with_its_last_one(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode", "b-episode"]))
    store.runs.create(make_run("run-2", ["c-episode"]))
    store.episodes.delete(["a-episode"])
    assert {run.id for run in store.runs.newest().rows} == {"run-1", "run-2"}
    store.episodes.delete(["b-episode"])
    assert [run.id for run in store.runs.newest().rows] == ["run-2"]


def test_nothing_is_left_of_what_was_deleted(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode"]))
    record_episode(store, "a-episode", 20)
    store.episodes.delete(["a-episode"])
    shared = {"store_meta", "reward_configs", "component_types", "seed_descriptions"}
    with store._database.reading() as connection:
        left = {
            table.name: connection.exec_driver_sql(f"SELECT count(*) FROM {table.name}").scalar_one()
            for table in metadata.sorted_tables
            if table.name not in shared
        }
    assert set(left.values()) == {0}, left


def test_a_running_episode_is_not_deleted_and_nothing_beside_it(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode", "b-episode"]))
    store.queue.claim_next(worker="test")
    with pytest.raises(StoreError, match="Episode a-episode is still running. Stop it first"):
        store.episodes.delete(["b-episode", "a-episode"])
    assert len(store.runs.episodes("run-1").rows) == 2


def test_a_queued_episode_can_be_deleted_and_is_never_played(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode"]))
    assert store.episodes.delete(["a-episode"]) == 1
    assert store.queue.claim_next(worker="test") is None


def test_more_than_one_chunk_is_deleted(store: TraceStore):
    ids = [f"episode-{number}" for number in range(120)]
    store.runs.create(make_run("run-1", ids))
    assert store.episodes.delete(ids[:-1]) == 119
    assert [row.id for row in store.episodes.page().rows] == ["episode-119"]


def test_deleting_makes_the_file_smaller(sqlite_store: TraceStore, tmp_path: Path):
    file = tmp_path / "traces.db"
    sqlite_store.runs.create(make_run("run-1", [f"episode-{number}" for number in range(12)]))
    for number in range(12):
        record_episode(sqlite_store, f"episode-{number}", 60, seed=number)
    sqlite_store.episodes.delete(["episode-0"])  # so that everything is in the file itself
    full = file.stat().st_size
    assert sqlite_store.episodes.delete([f"episode-{number}" for number in range(1, 11)]) == 10
    assert file.stat().st_size < 0.4 * full
    assert file.with_name("traces.db-wal").stat().st_size < 0.1 * full
    assert len(sqlite_store.episodes.load("episode-11").decisions) == 60
