"""Deleting episodes, and giving their space back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, delete, exists, select, update

from core.errors import StoreError
from core.store.arguments import in_parts
from core.store.browse import counted_generation
from core.store.damage import as_stored, decoded, number_as_stored
from core.store.database import Database
from core.store.tables import AnyRow, AnySelect, episodes, runs, store_meta
from core.types import EpisodeStatus

CHUNK: Final = 50
"""So many episodes a transaction: others that write wait for 61 ms at most."""

_VACUUM_PAGES: Final = 2000


def delete_episodes(database: Database, ids: Sequence[str]) -> int:
    """Delete episodes, and runs that have none left. Raises StoreError where one is running: nothing is deleted."""
    with database.reading() as connection:
        for chunk in in_parts(ids, CHUNK):
            _refuse_running(_rows(connection, chunk))
    deleted = 0
    for chunk in in_parts(ids, CHUNK):
        with database.writing() as connection:
            rows = _rows(connection, chunk)
            _refuse_running(rows)  # a queued one may have been claimed since
            deleted += _delete(connection, rows)
    if deleted and database.is_sqlite:
        _shrink(database)
    return deleted


def _refuse_running(rows: Sequence[AnyRow]) -> None:
    for row in rows:
        if row.is_running:
            raise StoreError(f"Episode {decoded(row.uuid)} is still running. Stop it first, then delete it.")


def _delete(connection: Connection, rows: Sequence[AnyRow]) -> int:
    if not rows:
        return 0
    connection.execute(delete(episodes).where(episodes.c.id.in_([row.id for row in rows])))
    is_left = exists().where(episodes.c.run_id == runs.c.id)
    its_runs = {row.run_id for row in rows if isinstance(row.run_id, int)}  # what is no number is the key of none
    connection.execute(delete(runs).where(runs.c.id.in_(its_runs), ~is_left))
    connection.execute(update(store_meta).values(generation=counted_generation(connection) + 1))
    return len(rows)


def _rows(connection: Connection, ids: Sequence[str]) -> list[AnyRow]:
    """The episodes of these ids, also those whose id is no text, by what it is written out as."""
    query: AnySelect = select(
        episodes.c.id,
        number_as_stored(connection, episodes.c.run_id).label("run_id"),
        as_stored(connection, episodes.c.uuid).label("uuid"),
        (episodes.c.status == EpisodeStatus.RUNNING.value).label("is_running"),
    )
    rows = list(connection.execute(query.where(episodes.c.uuid.in_(ids))).all())
    missing = set(ids) - {decoded(row.uuid) for row in rows}
    if missing and connection.dialect.name == "sqlite":
        rows += [row for row in connection.execute(query) if decoded(row.uuid) in missing]
    return rows


def _shrink(database: Database) -> None:
    """Give free pages back to the file system, a few at a time. (PostgreSQL's autovacuum does so by itself.)"""
    with database.outside_transaction() as connection:
        while (free := _pragma(connection, "freelist_count")) > 0:
            # executescript runs it to its end; execute would free a single page.
            connection.executescript(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})")
            if _pragma(connection, "freelist_count") >= free:
                break
        # Only a checkpoint makes the file itself shorter. Others may be reading: what cannot be done now is done later.
        busy_timeout = _pragma(connection, "busy_timeout")
        connection.execute("PRAGMA busy_timeout = 1000").close()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").close()
        connection.execute(f"PRAGMA busy_timeout = {busy_timeout}").close()


def _pragma(connection: Any, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
