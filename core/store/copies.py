"""Copies of a database: as a backup, or to migrate one that cannot be changed itself."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, MetaData, delete, insert, select

from core.errors import InvalidInput, StoreUnavailable
from core.store.database import Database, sqlite_driver
from core.store.failures import as_store_errors, sqlite_failure
from core.store.schema import known_revision, upgrade
from core.store.sqlite_file import create_private_file
from core.store.urls import file_url, printable, reason

_ROWS_AT_ONCE: Final = 200


def copy_to(database: Database, out: Path) -> None:
    """Copy everything into a new SQLite file with the same schema, while others may go on writing.

    Raises InvalidInput for a file that exists or cannot be created, and StoreError; no file is left then.
    """
    try:
        is_new = create_private_file(str(out))
    except OSError as error:
        raise InvalidInput(f"{printable(str(out))} cannot be created ({reason(error)}). Name another file.") from error
    if not is_new:
        raise InvalidInput(f"{printable(str(out))} exists already and was left alone. Name another file.")
    try:
        if database.is_sqlite:
            _copy_file(database, out)
        else:
            _copy_rows(database, out)
    except BaseException:
        for path in (out, Path(f"{out}-journal"), Path(f"{out}-wal"), Path(f"{out}-shm")):
            path.unlink(missing_ok=True)
        raise


def _copy_file(database: Database, out: Path) -> None:
    driver = sqlite_driver()
    database.check_file()
    with database.outside_transaction() as source, closing(driver.connect(str(out))) as target:
        try:
            source.backup(target)  # in one piece: in steps it would begin again whenever another process writes
        except driver.Error as error:
            raise sqlite_failure(error, database.place) or StoreUnavailable(
                f"{database.place} cannot be copied ({error}). Check the disks of both files, then try again."
            ) from error
    if database.check_file():
        raise StoreUnavailable(f"{database.place} was written while it was copied. Try again.")


def _copy_rows(database: Database, out: Path) -> None:
    with database.reading() as source, closing(Database(file_url(out))) as copy, copy.writing() as target:
        upgrade(target, known_revision(source, database.place))
        _copy_tables(source, target)


def _copy_tables(source: Connection, target: Connection) -> None:
    theirs, ours = MetaData(), MetaData()
    ours.reflect(target)
    theirs.reflect(source, only=list(ours.tables))
    for table in ours.sorted_tables:
        if table.name == "alembic_version":
            continue
        target.execute(delete(table))  # migrations put first rows into some
        columns = [theirs.tables[table.name].c[column.name] for column in table.columns]
        rows = source.execute(select(*columns).execution_options(yield_per=_ROWS_AT_ONCE))
        for some in rows.mappings().partitions():
            with as_store_errors(f"The copy {target.engine.url.database}"):
                target.execute(insert(table), [dict(row) for row in some])
