"""The schema is made once, by whoever comes first, and a newer one is left alone."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect

from core.errors import StoreCorrupt, StoreTooNew
from core.store import TraceStore
from core.store.schema import alembic_config
from core.store.tables import metadata
from tests.support.processes import forks, start
from tests.support.records import make_run


def test_the_migrations_lead_to_the_tables_that_the_program_uses(store: TraceStore):
    with store._database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_the_columns_are_those_that_are_written_down(store: TraceStore):
    with store._database.reading() as connection:
        inspector = inspect(connection)
        columns = {
            name: [column["name"] for column in inspector.get_columns(name)]
            for name in inspector.get_table_names()
            if name != "alembic_version"
        }
    assert columns == {table.name: [column.name for column in table.columns] for table in metadata.sorted_tables}
    assert columns["decision_payloads"] == ["decision_id", "blob"]


def test_opening_again_changes_nothing(database_url: str):
    with TraceStore(database_url) as store:
        store.runs.create(make_run("run-1", ["a-episode"]))
    with TraceStore(database_url) as store:
        assert store.episodes.get("a-episode").id == "a-episode"


def test_a_database_of_a_newer_program_is_left_alone(database_url: str):
    with TraceStore(database_url) as store:
        store.runs.create(make_run("run-1", ["a-episode"]))
        with store._database.writing() as connection:
            connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
        with pytest.raises(StoreTooNew, match="written by a newer Craftscope .*'9999'.* Update Craftscope, or choose"):
            TraceStore(database_url)
        with store._database.writing() as connection:
            head = ScriptDirectory.from_config(alembic_config()).get_current_head()
            connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{head}'")
        assert store.episodes.get("a-episode").id == "a-episode"


def test_a_database_that_does_not_know_its_schema_is_left_alone(database_url: str):
    with TraceStore(database_url) as store, store._database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM alembic_version")
    with pytest.raises(StoreCorrupt, match="does not say which schema it has"):
        TraceStore(database_url)


def test_a_postgresql_database_with_other_tables_is_left_alone(postgres_url: str):
    with TraceStore(postgres_url) as store, store._database.writing() as connection:
        for table in reversed(metadata.sorted_tables):
            connection.exec_driver_sql(f"DROP TABLE {table.name}")
    with pytest.raises(StoreCorrupt, match="holds other tables.* Give Craftscope a database of its own"):
        TraceStore(postgres_url)


@pytest.mark.parametrize("attempt", range(2))
def test_processes_that_create_the_database_at_once_all_succeed(database_url: str, attempt: int):
    together = forks.Barrier(6)
    results = forks.Queue()
    processes = [start(_open_and_add, database_url, n, together, results) for n in range(6)]
    said = sorted(results.get(timeout=120) for _ in processes)
    for process in processes:
        process.join()
    results.close()
    assert said == [f"run-{number}" for number in range(6)]
    with TraceStore(database_url) as store:
        assert sorted(run.id for run in store.runs.newest().rows) == said


def _open_and_add(url: str, number: int, together, results) -> None:
    together.wait(timeout=60)
    try:
        with TraceStore(url) as store:
            store.runs.create(make_run(f"run-{number}", [f"episode-{number}"]))
        results.put(f"run-{number}")
    except Exception as error:  # noqa: BLE001  handed to the test
        results.put(repr(error))


def _say_and_open(url: str, begins: Connection) -> None:
    begins.send("opens now")
    TraceStore(url).close()


def test_a_process_that_dies_while_it_creates_the_database_leaves_nothing_half_done(tmp_path: Path):
    for number in range(5):
        url = f"sqlite:///{tmp_path / f'{number}.db'}"
        begun, begins = forks.Pipe(duplex=False)
        process = start(_say_and_open, url, begins)
        begun.recv()
        process.join(timeout=0.01 * number)
        process.kill()
        process.join()
        begun.close()
        begins.close()
        with TraceStore(url) as store:
            store.runs.create(make_run("run-after", ["after"]))
            assert store.episodes.get("after").id == "after"
