"""An SQLite file: the driver that opens it, how it is created, and whether it is still the one that was opened."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL

from core.errors import StoreGone, StoreUnavailable
from core.store.failures import as_store_errors, is_busy, not_a_database, reason, sqlite_failure

try:
    # Bundles a newer SQLite. It has no wheel for some platforms.
    import pysqlite3 as _pysqlite3  # pyright: ignore[reportMissingTypeStubs, reportMissingImports]
except ImportError:
    _pysqlite3 = None

WRITES: Final = "craftscope_writes"
"""The execution option that says whether a transaction writes. The default is yes."""

LOCK_WAIT_S: Final = 30.0
LOCK_WAIT: Final = f"PRAGMA busy_timeout = {int(LOCK_WAIT_S * 1000)}"
_PRAGMAS: Final = (
    LOCK_WAIT,
    "PRAGMA synchronous = NORMAL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA cache_size = -65536",
    "PRAGMA journal_size_limit = 67108864",
)
_SMALLEST_PAGE: Final = 512
_WAL_RESET_FIXED: Final = (3, 51, 3)
_creating = threading.Lock()

_log = logging.getLogger(__name__)


def sqlite_driver() -> ModuleType:
    """The SQLite driver in use: pysqlite3 where it is installed, else Python's own."""
    return _pysqlite3 or sqlite3


def sqlite_backend() -> str:
    """The linked SQLite and its driver. Logs a warning for a version that may corrupt files."""
    driver = sqlite_driver()
    version: str = driver.sqlite_version
    if tuple(map(int, version.split("."))) < _WAL_RESET_FIXED:
        _log.warning(
            "SQLite %s is linked. Before 3.51.3 a rare bug around WAL resets can corrupt a database that several "
            "processes write; `pip install pysqlite3` brings a newer one where it has a wheel for this platform.",
            version,
        )
    return f"SQLite {version} ({driver.__name__})"


def sqlite_engine(url: URL, connect: Callable[[], Any]) -> Engine:
    """An engine whose transactions take the write lock when they begin, unless they only read."""
    engine = create_engine(
        url,
        module=sqlite_driver(),
        creator=connect,
        pool_size=4,
        max_overflow=60,
        pool_use_lifo=True,  # the connection with the warmest cache first
        hide_parameters=True,
    )
    event.listen(engine, "begin", _begin)
    return engine


def create_private_file(path: str) -> bool:
    """Create an empty file that only its owner can read or write; False where there is one. Raises OSError.

    SQLite gives its -wal and -shm files the mode of the database.
    """
    # Closing a file drops all locks that this process has on it, so no other thread may open it in between.
    with _creating:
        try:
            os.close(os.open(os.path.realpath(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return False
        return True


class SqliteFile:
    """The file of an open store. On Unix a file that is removed or replaced still takes writes, which are then lost;
    its device and inode show that.

    read_only_reason: why it can be read but not written; empty where it can.
    """

    def __init__(self, path: str, place: str, *, read_only: bool) -> None:
        """Create or open the file. read_only: it must exist and is not changed. Raises StoreUnavailable, StoreCorrupt.

        place: what error messages call it.
        """
        self._path = os.path.abspath(path)
        self._place = place
        self._read_only = read_only
        self._check_place()
        self.read_only_reason = self._why_read_only()
        self._prepare()
        self._opened = self._identity()
        self._version = self._changes()

    def connect(self) -> Any:
        """A new connection of the driver. Never creates the file."""
        if not self.read_only_reason:
            option = "mode=rw"
        elif self._is_in_use():
            option = "mode=ro"
        else:
            option = "immutable=1"  # a WAL database needs its -shm file otherwise, which cannot be created here
        driver = sqlite_driver()
        connection = driver.connect(
            f"{Path(self._path).as_uri()}?{option}",
            uri=True,
            isolation_level=None,
            timeout=LOCK_WAIT_S,
            check_same_thread=False,
        )
        with closing(connection.cursor()) as cursor:
            for pragma in _PRAGMAS:
                cursor.execute(pragma)
            if self._read_only:
                cursor.execute("PRAGMA query_only = ON")
        return connection

    def check(self) -> None:
        """Raises StoreGone where its name does not lead to the file that was opened."""
        found = self._identity()
        if found == self._opened:
            return
        if found is None:
            raise StoreGone(
                f"{self._place} was removed while it was open, so nothing can be read from it or written to it. "
                "Put it back, or restart the dashboard, which creates a new, empty one."
            )
        raise StoreGone(
            f"{self._place} was replaced by another file while it was open, so nothing was read from it or written "
            "to it. Stop the dashboard and the workers, then start them again: they use the file that is there now."
        )

    def has_changed(self) -> bool:
        """Whether another program has written a file that is read-only here since the last call.

        SQLite does not look for changes itself where it opened a file as immutable: open connections are out of date.
        """
        if not self.read_only_reason:
            return False
        before, self._version = self._version, self._changes()
        return before != self._version

    def _check_place(self) -> None:
        if self._read_only and not os.path.exists(self._path):
            raise StoreUnavailable(f"{self._place} does not exist. Check CRAFTSCOPE_DATA_DIR and CRAFTSCOPE_DB_URL.")
        if os.path.isfile(self._path) and 0 < os.path.getsize(self._path) < _SMALLEST_PAGE:
            # SQLite would take such a file for an empty one and write over it.
            raise not_a_database(self._place)

    def _why_read_only(self) -> str:
        if not os.path.isfile(self._path):
            return ""
        real = os.path.realpath(self._path)
        closed = [
            name
            for name, path in (("file", real), ("folder", os.path.dirname(real)))
            if not os.access(path, os.W_OK)  # asks the system, so it knows of read-only disks and of root's powers
        ]
        if not closed:
            return ""
        return (
            f"{self._place} can be read but not written: its {' and '.join(closed)} cannot be written by this user. "
            "Nothing can be launched, saved or deleted. Make the file and its folder writable and start again."
        )

    def _prepare(self) -> None:
        """Put a new file into WAL mode with a free list that can be given back; look at an old one without changing it.

        What only a connection outside a transaction can set is set here. Two processes may do so at once: the switch
        to WAL does not wait for locks by itself.
        """
        driver = sqlite_driver()
        deadline = time.monotonic() + LOCK_WAIT_S
        while True:
            try:
                if not self._read_only:
                    create_private_file(self._path)
                with as_store_errors(self._place, read_only=True), closing(self.connect()) as connection:
                    self._set_journal(connection)
                return
            except driver.Error as error:
                if is_busy(error) and time.monotonic() < deadline:
                    time.sleep(0.01)
                    continue
                failure = sqlite_failure(error, self._place)
                raise failure or StoreUnavailable(f"{self._place} cannot be opened ({error}).") from error
            except OSError as error:
                raise StoreUnavailable(
                    f"{self._place} cannot be opened ({reason(error)}). Make sure that its folder exists and can be "
                    "written, or choose another data folder with CRAFTSCOPE_DATA_DIR."
                ) from error

    def _set_journal(self, connection: Any) -> None:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        is_foreign = tables and "store_meta" not in tables  # `revision_of` reports it
        if is_foreign or self.read_only_reason or self._read_only:
            return
        if not tables:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            connection.execute("PRAGMA journal_mode = WAL")

    def _is_in_use(self) -> bool:
        """Whether the -wal or -shm file of an open WAL database exists and is not empty."""
        real = os.path.realpath(self._path)
        return _size(f"{real}-wal") > 0 or _size(f"{real}-shm") > 0

    def _changes(self) -> tuple[int, int, bool]:
        try:
            found = os.stat(self._path)
        except OSError:
            return 0, 0, False
        return found.st_mtime_ns, found.st_size, self._is_in_use()

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StoreUnavailable(
                f"{self._place} cannot be reached ({reason(error)}). Check the disk and folder that it is in, "
                "then try again."
            ) from error
        return found.st_dev, found.st_ino


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _begin(connection: Connection) -> None:
    writes: bool = connection.get_execution_options().get(WRITES, True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
