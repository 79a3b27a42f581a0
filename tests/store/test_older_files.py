"""Files that were written before a column was there come through, and say of it that it is not known."""

from __future__ import annotations

from contextlib import closing

from alembic import command
from sqlalchemy import MetaData, insert, select

from core.store import TraceStore
from core.store.database import Database
from core.store.schema import alembic_config
from tests.support.records import make_run, record_episode


def as_it_was_at(revision: str, url: str, source: TraceStore) -> None:
    """Make the database at `url` as an earlier program would have left it: with its schema, and what `source` holds."""
    config = alembic_config()
    with closing(Database(url)) as database, database.writing() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        older, newer = MetaData(), MetaData()
        older.reflect(connection)
        with source._database.reading() as reading:
            newer.reflect(reading)
            for table in older.sorted_tables:
                if table.name in ("alembic_version", "store_meta"):  # the migrations fill them
                    continue
                columns = [newer.tables[table.name].c[column.name] for column in table.columns]
                rows = [dict(row) for row in reading.execute(select(*columns)).mappings()]
                if rows:
                    connection.execute(insert(table), rows)


def test_decisions_from_before_waits_and_parsing_were_recorded_are_read(database_url: str, tmp_path):
    with TraceStore(f"sqlite:///{tmp_path / 'today.db'}") as today:
        today.runs.create(make_run("run-1", ["episode-1"]))
        record_episode(today, "episode-1", 4)
        recorded = today.episodes.load("episode-1").decisions
        as_it_was_at("0002", database_url, today)
    with TraceStore(database_url) as store:
        asked = [summary for summary in store.episodes.decisions("episode-1") if summary.model_calls]
        assert len(asked) == 2
        assert [(summary.waited_ms, summary.parse_ms) for summary in asked] == [(None, None)] * 2
        assert store.episodes.load("episode-1").decisions == recorded
