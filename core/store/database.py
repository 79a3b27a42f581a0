"""One database behind one URL: its connections, and transactions that begin in the right way.

SQLite: every file connection runs in WAL mode with the pragmas of `sqlite_file`; writers begin with BEGIN IMMEDIATE, so
they wait for each other instead of failing half-way. PostgreSQL: readers see one snapshot, writers read committed.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, text

from core.store.failures import as_store_errors
from core.store.sqlite_file import WRITES, SqliteFile, less_patient, sqlite_backend, sqlite_driver, sqlite_engine
from core.store.urls import FILE_NAME, parsed_url, printable, shown_url, sqlite_url

__all__ = ["FILE_NAME", "Database", "sqlite_driver", "sqlite_url"]


class Database:
    """An engine and the two ways to use it.

    url: without its secrets. place: how sentences call it. backend: what it is, with version where that is known.
    """

    def __init__(self, url: str) -> None:
        """Make the engine; nothing is opened yet except to prepare an SQLite file. Raises as `TraceStore` says."""
        parsed = parsed_url(url)
        self.url = shown_url(parsed)
        self._file: SqliteFile | None = None
        if parsed.get_backend_name() == "sqlite":
            self.place = f"The database {printable(str(parsed.database))}"
            self.backend = sqlite_backend()
            self._file = SqliteFile(str(parsed.database), self.place)
            self.engine = sqlite_engine(parsed)
        else:
            self.place = f"The database {self.url}"
            self.backend = "PostgreSQL"
            self.engine = create_engine(parsed, pool_pre_ping=True, pool_size=4, max_overflow=60, hide_parameters=True)
        self._readers = self._reading_engine()

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file of SQLite; PostgreSQL otherwise."""
        return self._file is not None

    def close(self) -> None:
        """Close every connection that is not in use."""
        self.engine.dispose()
        if self._file is not None:
            self._file.close()

    @contextmanager
    def reading(self) -> Generator[Connection, None, None]:
        """A transaction that sees one state of the database and changes nothing."""
        self._check_file()
        with as_store_errors(self.place, only_reads=True), self._readers.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Generator[Connection, None, None]:
        """A transaction that is committed when the block ends, and rolled back where it raises."""
        self._check_file()
        with as_store_errors(self.place), self.engine.connect() as connection, connection.begin():
            yield connection
            self._check_file()  # before the commit: what is written into a removed file is lost

    @contextmanager
    def writing_soon(self, wait_ms: int) -> Generator[Connection, None, None]:
        """The same, for what can be left undone: raises StoreUnavailable where a lock is not free within `wait_ms`."""
        self._check_file()
        with as_store_errors(self.place), self.engine.connect() as connection:
            if self.is_sqlite:
                with less_patient(connection, wait_ms), connection.begin():
                    yield connection
                    self._check_file()
            else:
                with connection.begin():
                    connection.execute(text(f"SET LOCAL lock_timeout = {wait_ms}"))
                    yield connection

    @contextmanager
    def outside_transaction(self) -> Generator[Any, None, None]:
        """The driver's own connection, for what a transaction cannot hold."""
        self._check_file()
        with as_store_errors(self.place), closing(self.engine.raw_connection()) as connection:
            yield connection.driver_connection

    def _check_file(self) -> None:
        # Before a connection is taken too: SQLite would make a new, empty file in the place of one that is gone.
        if self._file is not None:
            self._file.check()

    def _reading_engine(self) -> Engine:
        if self.is_sqlite:
            return self.engine.execution_options(**{WRITES: False})
        return self.engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
