"""One database behind one URL: its connections, and transactions that begin in the right way.

SQLite: every file connection runs in WAL mode with the pragmas below; writers begin with BEGIN IMMEDIATE, so they wait
for each other instead of failing half-way. PostgreSQL: readers see one snapshot, writers read committed.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from core.errors import InvalidConfig, StoreCorrupt, StoreUnavailable
from core.store.failures import as_store_errors, is_busy, not_a_database, sqlite_failure

try:
    # Carries its own, newer SQLite. It has no wheel for every platform, so it is not everywhere; `backend` tells.
    import pysqlite3 as _pysqlite3  # pyright: ignore[reportMissingTypeStubs, reportMissingImports]
except ImportError:
    _pysqlite3 = None

LOCK_WAIT_S: Final = 30.0
FILE_NAME: Final = "craftscope.db"

_WRITES: Final = "craftscope_writes"
_SECRET_QUERY_KEYS: Final = ("password", "sslpassword", "passfile")
_PRAGMAS: Final = (
    f"PRAGMA busy_timeout = {int(LOCK_WAIT_S * 1000)}",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA cache_size = -65536",
    "PRAGMA journal_size_limit = 67108864",
)
_SMALLEST_PAGE: Final = 512
_WAL_RESET_FIXED: Final = (3, 51, 3)

_log = logging.getLogger(__name__)


def sqlite_url(data_dir: Path) -> str:
    """The URL of the database file in a data folder, which is made where it does not exist.

    Raises StoreUnavailable where it cannot be made.
    """
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(
            f"The data folder {data_dir} cannot be made ({error.strerror or error}). Make it yourself and writable, "
            "or choose another with CRAFTSCOPE_DATA_DIR."
        ) from error
    url = URL.create("sqlite", database=str(data_dir / FILE_NAME))
    return url.render_as_string(hide_password=False)


def sqlite_driver() -> ModuleType:
    """The SQLite driver in use: pysqlite3 where it is installed, else Python's own."""
    return _pysqlite3 or sqlite3


class Database:
    """An engine and the two ways to use it.

    url: without its password. place: how sentences call it. backend: what it is, with version where that is known.
    """

    def __init__(self, url: str) -> None:
        """Make the engine; nothing is opened yet except to prepare an SQLite file. Raises as `TraceStore` says."""
        parsed = _parsed(url)
        self.url = _without_secrets(parsed).render_as_string(hide_password=True)
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        if self.is_sqlite:
            self.place = f"The database {parsed.database}"
            self.backend = _sqlite_backend()
            _prepare_sqlite(str(parsed.database), self.place)
            self.engine = _sqlite_engine(parsed)
        else:
            self.place = f"The database {self.url}"
            self.backend = "PostgreSQL"
            self.engine = create_engine(parsed, pool_pre_ping=True, pool_size=4, max_overflow=60, hide_parameters=True)
        self._readers = self._reading_engine()

    def close(self) -> None:
        """Close every connection that is not in use."""
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Generator[Connection, None, None]:
        """A transaction that sees one state of the database and changes nothing."""
        with as_store_errors(self.place), self._readers.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Generator[Connection, None, None]:
        """A transaction that is committed when the block ends, and rolled back where it raises."""
        with as_store_errors(self.place), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def outside_transaction(self) -> Generator[Any, None, None]:
        """The driver's own connection, for what a transaction cannot hold."""
        with as_store_errors(self.place), closing(self.engine.raw_connection()) as connection:
            yield connection.driver_connection

    def _reading_engine(self) -> Engine:
        if self.is_sqlite:
            return self.engine.execution_options(**{_WRITES: False})
        return self.engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
        parsed.get_dialect()
    except (ArgumentError, NoSuchModuleError, ImportError, ValueError):
        # Without the cause: its text may repeat the URL with the password in it.
        raise InvalidConfig(
            "CRAFTSCOPE_DB_URL is not a database URL that can be used. Give sqlite:///<file> or "
            "postgresql://<user>:<password>@<host>/<database>, or leave it unset for a file in the data folder."
        ) from None
    if backend not in ("sqlite", "postgresql"):
        raise InvalidConfig(
            f'CRAFTSCOPE_DB_URL names a "{backend}" database; sqlite:///<file> and postgresql://... can be used.'
        )
    if backend == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise InvalidConfig(
            "CRAFTSCOPE_DB_URL names an SQLite database in memory, which workers cannot share. "
            "Give a file: sqlite:///<file>."
        )
    return parsed


def _without_secrets(url: URL) -> URL:
    return url.difference_update_query([key for key in url.query if key.casefold() in _SECRET_QUERY_KEYS])


def _sqlite_backend() -> str:
    driver = sqlite_driver()
    version: str = driver.sqlite_version
    if tuple(map(int, version.split("."))) < _WAL_RESET_FIXED:
        _log.warning(
            "SQLite %s is linked. Before 3.51.3 a rare mistake around WAL resets can damage a database that several "
            "processes write; `pip install pysqlite3` brings a newer one where it has a wheel for this platform.",
            version,
        )
    return f"SQLite {version} ({driver.__name__})"


def _sqlite_engine(url: URL) -> Engine:
    engine = create_engine(
        url,
        module=sqlite_driver(),
        pool_size=4,
        max_overflow=60,
        pool_use_lifo=True,  # the connection with the warmest cache first
        hide_parameters=True,
        connect_args={"isolation_level": None, "timeout": LOCK_WAIT_S},
    )
    event.listen(engine, "connect", _set_pragmas)
    event.listen(engine, "begin", _begin)
    return engine


def _set_pragmas(connection: Any, record: Any) -> None:
    with closing(connection.cursor()) as cursor:
        for pragma in _PRAGMAS:
            cursor.execute(pragma)


def _begin(connection: Connection) -> None:
    writes: bool = connection.get_execution_options().get(_WRITES, True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _prepare_sqlite(path: str, place: str) -> None:
    """Put a new file into WAL mode with a free list that can be given back; look at an old one without changing it.

    What only a connection outside a transaction can set is set here. Two processes may do so at once: the switch to
    WAL does not wait for locks by itself.
    """
    if not Path(path).absolute().parent.is_dir():
        raise StoreUnavailable(
            f"{place} cannot be opened: its folder does not exist. Make it, or choose another data folder with "
            "CRAFTSCOPE_DATA_DIR."
        )
    if Path(path).is_file() and 0 < Path(path).stat().st_size < _SMALLEST_PAGE:
        # SQLite would take such a file for an empty one and write over it.
        raise not_a_database(place)
    driver = sqlite_driver()
    deadline = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            with closing(driver.connect(path, isolation_level=None, timeout=LOCK_WAIT_S)) as connection:
                _set_journal(connection, place)
            return
        except driver.Error as error:
            if is_busy(error) and time.monotonic() < deadline:
                time.sleep(0.01)
                continue
            failure = sqlite_failure(int(getattr(error, "sqlite_errorcode", 1)), place, str(error))
            raise failure or StoreUnavailable(f"{place} cannot be opened ({error}).") from error


def _set_journal(connection: Any, place: str) -> None:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables and "store_meta" not in tables:
        raise StoreCorrupt(
            f"{place} holds other tables and is not Craftscope's. Nothing in it was changed. "
            "Name another file with CRAFTSCOPE_DB_URL."
        )
    if not tables:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        connection.execute("PRAGMA journal_mode = WAL")
