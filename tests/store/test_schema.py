"""The schema is created once, older ones are migrated, and newer ones are left alone."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from core.errors import StoreCorrupt, StoreTooNew
from core.store import TraceStore
from core.store.schema import head_revision
from core.store.tables import metadata
from tests.support.processes import forks, start
from tests.support.records import change, copy_as_of, make_run, record_run


def test_migrations_create_the_declared_tables(store: TraceStore):
    with store._database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_a_database_of_an_older_schema_is_migrated(database_url: str, tmp_path: Path):
    with TraceStore(f"sqlite:///{tmp_path / 'today.db'}") as today:
        record_run(today, "episode-1", decisions=4)
        recorded = today.episodes.load("episode-1").decisions
        copy_as_of("0002", database_url, today)
    with TraceStore(database_url) as store:
        asked = [summary for summary in store.episodes.decisions("episode-1") if summary.model_calls]
        assert len(asked) == 2
        assert [(summary.waited_ms, summary.parse_ms) for summary in asked] == [(None, None)] * 2  # not recorded then
        assert store.episodes.load("episode-1").decisions == recorded


def test_a_database_of_a_newer_schema_is_left_alone(database_url: str):
    with TraceStore(database_url) as store:
        store.runs.create(make_run("run-1", ["a-episode"]))
        change(store, "UPDATE alembic_version SET version_num = '9999'")
        with pytest.raises(StoreTooNew, match="written by a newer Craftscope .*'9999'.* Update Craftscope, or choose"):
            TraceStore(database_url)
        change(store, f"UPDATE alembic_version SET version_num = '{head_revision()}'")
        assert store.episodes.get("a-episode").id == "a-episode"


def test_a_database_without_a_schema_revision_is_left_alone(database_url: str):
    with TraceStore(database_url) as store:
        change(store, "DELETE FROM alembic_version")
    with pytest.raises(StoreCorrupt, match="has no schema revision"):
        TraceStore(database_url)


def test_a_postgresql_database_with_other_tables_is_left_alone(postgres_url: str):
    with TraceStore(postgres_url) as store:
        change(store, *(f"DROP TABLE {table.name}" for table in reversed(metadata.sorted_tables)))
    with pytest.raises(StoreCorrupt, match="holds other tables.* Give Craftscope a database of its own"):
        TraceStore(postgres_url)


def test_processes_that_create_one_database_at_once_all_succeed(database_url: str):
    together = forks.Barrier(6)
    results = forks.Queue()
    processes = [start(_open_and_add, database_url, n, together, results) for n in range(6)]
    opened = sorted(results.get(timeout=120) for _ in processes)
    for process in processes:
        process.join()
    results.close()
    assert opened == [f"run-{number}" for number in range(6)]
    with TraceStore(database_url) as store:
        assert sorted(run.id for run in store.runs.newest().rows) == opened


def _open_and_add(url: str, number: int, together, results) -> None:
    together.wait(timeout=60)
    try:
        with TraceStore(url) as store:
            store.runs.create(make_run(f"run-{number}", [f"episode-{number}"]))
        results.put(f"run-{number}")
    except Exception as error:  # noqa: BLE001  handed to the test
        results.put(repr(error))


def _announce_and_open(url: str, begins: Connection) -> None:
    begins.send("opening")
    TraceStore(url).close()


def test_a_process_killed_while_it_creates_the_database_leaves_a_usable_file(tmp_path: Path):
    for number in range(5):
        url = f"sqlite:///{tmp_path / f'{number}.db'}"
        begun, begins = forks.Pipe(duplex=False)
        process = start(_announce_and_open, url, begins)
        begun.recv()
        process.join(timeout=0.01 * number)
        process.kill()
        process.join()
        begun.close()
        begins.close()
        with TraceStore(url) as store:
            store.runs.create(make_run("run-after", ["after"]))
            assert store.episodes.get("after").id == "after"
