"""Deleting removes episodes with everything that belongs to them, and gives their space back."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import StoreError, UnknownEpisode
from core.store import TraceStore
from core.store.tables import metadata
from tests.support.records import make_run, record_episode, record_run


def test_deleting_an_episode_leaves_the_others_whole(store: TraceStore):
    record_run(store, "a-episode", "b-episode")
    kept, generation = store.episodes.load("b-episode"), store.generation
    assert store.episodes.delete(["a-episode", "never-there"]) == 1
    assert store.generation > generation
    with pytest.raises(UnknownEpisode):
        store.episodes.get("a-episode")
    assert store.episodes.load("b-episode") == kept
    assert store.episodes.delete(["a-episode"]) == 0


def test_a_run_is_deleted_with_its_last_episode(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode", "b-episode"]))
    store.runs.create(make_run("run-2", ["c-episode"]))
    store.episodes.delete(["a-episode"])
    assert {run.id for run in store.runs.newest().rows} == {"run-1", "run-2"}
    store.episodes.delete(["b-episode"])
    assert [run.id for run in store.runs.newest().rows] == ["run-2"]


def test_no_row_of_a_deleted_episode_is_left(store: TraceStore):
    record_run(store, "a-episode", decisions=20)
    store.episodes.delete(["a-episode"])
    shared = {"store_meta", "reward_configs", "component_types", "seed_descriptions"}
    with store._database.reading() as connection:
        left = {
            table.name: connection.exec_driver_sql(f"SELECT count(*) FROM {table.name}").scalar_one()
            for table in metadata.sorted_tables
            if table.name not in shared
        }
    assert set(left.values()) == {0}, left


def test_nothing_is_deleted_if_one_of_the_episodes_is_running(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode", "b-episode"]))
    store.queue.claim_next(worker="test")
    with pytest.raises(StoreError, match="Episode a-episode is still running. Stop it first"):
        store.episodes.delete(["b-episode", "a-episode"])
    assert len(store.runs.episodes("run-1").rows) == 2


def test_a_deleted_queued_episode_is_not_claimed(store: TraceStore):
    store.runs.create(make_run("run-1", ["a-episode"]))
    assert store.episodes.delete(["a-episode"]) == 1
    assert store.queue.claim_next(worker="test") is None


def test_many_episodes_are_deleted_at_once(store: TraceStore):
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
