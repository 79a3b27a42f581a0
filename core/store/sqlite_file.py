"""An SQLite file: the driver that opens it, how it is prepared, and whether it is still the one that was opened."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL

from core.errors import StoreCorrupt, StoreGone, StoreUnavailable
from core.store.failures import START_AGAIN, as_store_errors, is_busy, not_a_database, sqlite_failure
from core.store.sqlite_wal import LOCK_WAIT_S, OpenWal, identity, refuse_second_wal, refuse_wal_of_another

try:
    # Carries its own, newer SQLite. It has no wheel for every platform, so it is not everywhere; `backend` tells.
    import pysqlite3 as _pysqlite3  # pyright: ignore[reportMissingTypeStubs, reportMissingImports]
except ImportError:
    _pysqlite3 = None

WRITES: Final = "craftscope_writes"
"""The execution option that says whether a transaction writes; it does where nothing is said."""

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


def sqlite_driver() -> ModuleType:
    """The SQLite driver in use: pysqlite3 where it is installed, else Python's own."""
    return _pysqlite3 or sqlite3


def sqlite_backend() -> str:
    """The linked SQLite and its driver; one that may damage files is warned of."""
    driver = sqlite_driver()
    version: str = driver.sqlite_version
    if tuple(map(int, version.split("."))) < _WAL_RESET_FIXED:
        _log.warning(
            "SQLite %s is linked. Before 3.51.3 a rare mistake around WAL resets can damage a database that several "
            "processes write; `pip install pysqlite3` brings a newer one where it has a wheel for this platform.",
            version,
        )
    return f"SQLite {version} ({driver.__name__})"


def sqlite_engine(url: URL) -> Engine:
    """An engine whose transactions take the write lock when they begin, unless they only read."""
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


@contextmanager
def less_patient(connection: Connection, wait_ms: int) -> Generator[None, None, None]:
    """Outside a transaction: one that begins inside waits only so long for the lock."""
    driver: Any = connection.connection.driver_connection
    driver.execute(f"PRAGMA busy_timeout = {wait_ms}").close()
    try:
        yield
    finally:
        driver.execute(_PRAGMAS[0]).close()


class SqliteFile:
    """The file behind an open store, with its -wal and -shm. Unix lets go of a name while the file lives on, so one
    that was removed or replaced would go on taking writes that nobody finds again; its device and inode tell."""

    def __init__(self, path: str, place: str) -> None:
        """Prepare the file, which is made where it does not exist. Raises StoreUnavailable, StoreCorrupt."""
        self._path = os.path.abspath(path)
        self._place = place
        self._lock = threading.Lock()
        self._wal: OpenWal | None = None
        _prepare(path, place)
        self._opened = self._identity()

    def check(self) -> None:
        """Raises StoreGone where its name, or those of the files beside it, do not lead to what was opened."""
        found = self._identity()
        if found == self._opened:
            self._open_wal().check()
        elif found is None:
            raise StoreGone(
                f"{self._place} was removed while it was open, so nothing can be read from it or written to it. "
                "Put it back where it was, or restart the dashboard: a new, empty one is made then."
            )
        else:
            raise StoreGone(
                f"{self._place} was replaced by another file while it was open, so nothing was read from it or written "
                f"to it. {START_AGAIN} The file that is there now is used then."
            )

    def close(self) -> None:
        """Let go of it, when all other connections are closed; the next check opens it again."""
        with self._lock:
            wal, self._wal = self._wal, None
        if wal is not None:
            wal.close()

    def _open_wal(self) -> OpenWal:
        with self._lock:
            if self._wal is None:
                self._wal = OpenWal(sqlite_driver(), self._path, self._place)
            return self._wal

    def _identity(self) -> tuple[int, int] | None:
        try:
            return identity(self._path)
        except OSError as error:
            raise StoreUnavailable(
                f"{self._place} cannot be reached ({error.strerror}). Check the disk and folder that it is in, "
                "then try again."
            ) from error


def _set_pragmas(connection: Any, record: Any) -> None:
    with closing(connection.cursor()) as cursor:
        for pragma in _PRAGMAS:
            cursor.execute(pragma)


def _begin(connection: Connection) -> None:
    writes: bool = connection.get_execution_options().get(WRITES, True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _prepare(path: str, place: str) -> None:
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
    refuse_wal_of_another(driver, path, place)
    refuse_second_wal(driver, path, place)
    deadline = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            with (
                as_store_errors(place, only_reads=True),
                closing(driver.connect(path, isolation_level=None, timeout=LOCK_WAIT_S)) as connection,
            ):
                _set_journal(connection, place)
            return
        except driver.Error as error:
            if is_busy(error) and time.monotonic() < deadline:
                time.sleep(0.01)
                continue
            failure = sqlite_failure(error, place)
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
