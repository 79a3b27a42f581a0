"""A database: its URL, its connections, and how transactions begin.

SQLite: every file connection runs in WAL mode with the pragmas of `sqlite_file`; writers begin with BEGIN IMMEDIATE, so
they wait for each other instead of failing half-way. PostgreSQL: readers see one snapshot, writers read committed.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from core.errors import InvalidConfig, StoreReadOnly, StoreUnavailable
from core.store.failures import as_store_errors, reason
from core.store.sqlite_file import LOCK_WAIT_S, WRITES, SqliteFile, sqlite_backend, sqlite_engine
from core.store.tables import metadata
from core.text import storable, visible

FILE_NAME: Final = "craftscope.db"

_SQLITE: Final = ("sqlite", "sqlite+pysqlite")
_POSTGRES: Final = ("postgresql", "postgresql+psycopg")
_FORMS: Final = (
    "Give sqlite:///<file> or postgresql://<user>:<password>@<host>/<database>, or leave it unset for a file in the "
    "data folder."
)

# Tables that do not exist yet are left out: whether they can be created shows when that is tried.
_CAN_WRITE_IN_POSTGRES = text(
    "SELECT current_setting('default_transaction_read_only') = 'off' AND NOT pg_is_in_recovery()"
    " AND coalesce(bool_and(has_table_privilege(c.oid, p)), true)"
    " FROM pg_class c, unnest(ARRAY['INSERT', 'UPDATE', 'DELETE']) p"
    " WHERE c.relname = ANY(:tables) AND pg_table_is_visible(c.oid)"
)


class Database:
    """An engine and the two ways to use it.

    url: without its secrets. place: its name in error messages. backend: SQLite with its version, or PostgreSQL.
    """

    def __init__(self, url: str, *, read_only: bool = False) -> None:
        """read_only: never create or change anything. Raises what `TraceStore` lists."""
        parsed = parsed_url(url)
        self.url = shown_url(parsed)
        self._file: SqliteFile | None = None
        if parsed.get_backend_name() == "sqlite":
            self.place = f"The database {visible(str(parsed.database))}"
            self.backend = sqlite_backend()
            self._file = SqliteFile(str(parsed.database), self.place, read_only=read_only)
            self.engine = sqlite_engine(parsed, self._file.connect)
        else:
            self.place = f"The database {self.url}"
            self.backend = "PostgreSQL"
            self.engine = create_engine(parsed, pool_pre_ping=True, pool_size=4, max_overflow=60, hide_parameters=True)
            event.listen(self.engine, "connect", _set_lock_wait)
        self._read_only = read_only
        if self._file is not None:
            self._readers = self.engine.execution_options(**{WRITES: False})
        else:
            self._readers = self.engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    @property
    def is_sqlite(self) -> bool:
        return self._file is not None

    def close(self) -> None:
        """Close every connection that is not in use."""
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Generator[Connection, None, None]:
        """A read-only transaction on one snapshot."""
        self.check_file()
        with as_store_errors(self.place, read_only=True), self._readers.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Generator[Connection, None, None]:
        """A transaction: committed at the end of the block, rolled back if it raises."""
        if self.read_only_reason:
            raise StoreReadOnly(self.read_only_reason)
        self.check_file()
        with as_store_errors(self.place), self.engine.connect() as connection, connection.begin():
            yield connection
            self.check_file()  # before the commit: what is written into a removed file is lost

    @contextmanager
    def outside_transaction(self) -> Generator[Any, None, None]:
        """The driver's own connection, for statements that cannot run in a transaction."""
        self.check_file()
        with as_store_errors(self.place), closing(self.engine.raw_connection()) as connection:
            yield connection.driver_connection

    def check_file(self) -> bool:
        """Raises StoreGone if the file was removed or replaced. True if it is read-only here and has changed."""
        if self._file is None:
            return False
        self._file.check()
        has_changed = self._file.has_changed()
        if has_changed:
            self.engine.dispose()
        return has_changed

    @cached_property
    def read_only_reason(self) -> str:
        """Why it can be read but not written; empty where it can. Raises StoreUnavailable."""
        if self._read_only:
            return f"{self.place} was opened for reading."
        if self._file is not None:
            return self._file.read_only_reason
        tables = [table.name for table in metadata.sorted_tables]
        with as_store_errors(self.place), self.engine.connect() as connection:
            if connection.execute(_CAN_WRITE_IN_POSTGRES, {"tables": tables}).scalar_one():
                return ""
        return (
            f"{self.place} can be read but not written: the server or the user's rights do not allow it. Nothing can "
            "be launched, saved or deleted. Grant the user of CRAFTSCOPE_DB_URL the right to write and start again."
        )


class OneTransaction:
    """A database whose transactions are all parts of one that is open already."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @contextmanager
    def reading(self) -> Generator[Connection, None, None]:
        yield self._connection

    writing = reading


def _set_lock_wait(connection: Any, _: object) -> None:
    """Wait for locks as long as with SQLite; PostgreSQL's default is forever."""
    connection.execute(f"SET lock_timeout = {int(LOCK_WAIT_S * 1000)}")
    connection.commit()


def sqlite_url(data_dir: Path) -> str:
    """The URL of the database file in a data folder, which is created if it does not exist.

    Raises StoreUnavailable if it cannot be created.
    """
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise StoreUnavailable(
            f"The data folder {visible(str(data_dir))} cannot be created ({reason(error)}). Create it with write "
            "permission, or choose another with CRAFTSCOPE_DATA_DIR."
        ) from error
    return file_url(data_dir / FILE_NAME)


def file_url(file: Path) -> str:
    """The URL of an SQLite file."""
    # SQLAlchemy's own escape refuses half surrogates; such a path is refused with a sentence when it is parsed.
    escaped = "".join(f"%{ord(character):02X}" if character in "%?#" else character for character in str(file))
    return f"sqlite:///{escaped}"


def parsed_url(url: str) -> URL:
    """The URL, which names an SQLite file or a PostgreSQL database. Raises InvalidConfig, without its secrets."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        # Without the cause: its text may repeat the URL with the password in it.
        raise InvalidConfig(f"CRAFTSCOPE_DB_URL is not a database URL that can be used. {_FORMS}") from None
    if parsed.drivername in _SQLITE:
        _check_sqlite(parsed)
    elif parsed.drivername in _POSTGRES:
        _check_postgres(parsed)
    else:
        raise InvalidConfig(f'CRAFTSCOPE_DB_URL names a "{parsed.drivername}" database, which cannot be used. {_FORMS}')
    return parsed


def shown_url(url: URL) -> str:
    """The URL without its password and options, any of which may be a secret."""
    return visible(url.set(query={}).render_as_string(hide_password=True))


def _check_sqlite(url: URL) -> None:
    path = url.database
    if path in (None, "", ":memory:"):
        raise InvalidConfig(
            "CRAFTSCOPE_DB_URL names an SQLite database in memory, which workers cannot share. "
            "Give a file: sqlite:///<file>."
        )
    if url.host or url.port or url.username or url.password or url.query:
        raise InvalidConfig(
            "CRAFTSCOPE_DB_URL names a host, a user or options, which an SQLite file does not have. Give "
            "sqlite:///<file>, with three slashes before a relative path and four before an absolute one, and write a "
            "question mark in the file's name as %3F."
        )
    if "\0" in path or storable(path) != path:
        raise InvalidConfig(
            f"The database file {visible(path)} has a name with a NUL or with bytes that are not UTF-8, which SQLite "
            "cannot open. Rename its folder or file, or choose another data folder with CRAFTSCOPE_DATA_DIR."
        )


def _check_postgres(url: URL) -> None:
    try:
        url.get_dialect().import_dbapi()
        (url.host or "").encode("idna")
        url.get_dialect()().create_connect_args(url)
    except ImportError as error:
        raise InvalidConfig(
            f"CRAFTSCOPE_DB_URL names a PostgreSQL database, and its driver cannot be loaded ({error}). Install "
            "psycopg[binary], or give sqlite:///<file>."
        ) from error
    except (ArgumentError, UnicodeError):
        raise InvalidConfig(f"CRAFTSCOPE_DB_URL has an invalid host or port. {_FORMS}") from None
