"""The two files that SQLite keeps beside an open database: `-wal` holds what was written last, `-shm` who uses it.

SQLite opens both by name, never looks at the names again, and removes them itself when the last connection closes.
Removed under an open database, they go on taking writes that nobody finds again; left beside a copy that was put back,
`-wal` is played over that copy.

What cannot be told: a copy written over the open database itself (`cp` keeps the inode). Size, times and header of that
file change with every checkpoint of any process, and the header's change counter stands still for whole runs in WAL
mode, so any alarm would also sound for our own checkpoints. The sentences for damage say to stop everything first.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import closing, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from core.errors import StoreCorrupt, StoreGone, StoreUnavailable
from core.store.failures import START_AGAIN, is_busy, sqlite_failure

LOCK_WAIT_S: Final = 30.0

_APPEARS_WITHIN_S: Final = 3.0
"""A program that just opens a database, or just closes it, has it locked without the two files for a moment."""


def identity(path: str) -> tuple[int, int] | None:
    """Device and inode of what has that name; None where nothing has. Raises OSError."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


class OpenWal:
    """The `-wal` and `-shm` of a database that this process has open.

    Holds connections of its own: while one is open, SQLite neither removes nor remakes the two files, so whatever
    happens to their names was done by somebody else.
    """

    def __init__(self, driver: ModuleType, path: str, place: str) -> None:
        """Open the database. Raises StoreUnavailable, StoreCorrupt."""
        self._driver = driver
        self._place = place
        self._path, self._wal, self._shm = _three_files(path)
        self._lock = threading.Lock()
        self._closed = self._is_saving = self._is_saved = False
        uri = Path(self._path).as_uri()
        self._writer = self._connection(f"{uri}?mode=rw")
        # The last connection to close copies its -wal into the database and removes what is called -wal by then, which
        # must not happen where that is another one by then. A connection that cannot write does neither.
        self._reader = self._connection(f"{uri}?mode=ro")
        self._opened = self._identities()
        # SQLite locks nothing on this file, so a descriptor of our own does no harm when it is closed.
        self._descriptor = None if self._opened[0] is None else os.open(self._wal, os.O_RDONLY)

    def check(self) -> None:
        """Raises StoreGone where the names do not lead to the files that were opened."""
        if self._identities() == self._opened:
            return
        with self._lock:
            if not self._closed and self._opened[0] is not None:
                self._refuse()

    def close(self) -> None:
        """Let go of the files: last of all, so that they are put in order or left as they are."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            is_whole = self._identities() == self._opened or self._save()
            for connection in (self._reader, self._writer) if is_whole else (self._writer, self._reader):
                connection.close()
            if self._descriptor is not None:
                os.close(self._descriptor)

    def _refuse(self) -> None:
        wal, _ = self._identities()
        if wal == self._opened[0]:
            raise StoreGone(
                f"The -shm file of {_lower(self._place)} was removed or replaced while it was open, so nothing was "
                f"read or written. What was stored before is kept. {START_AGAIN}"
            )
        if wal is not None:
            raise StoreGone(
                f"The -wal file of {_lower(self._place)} was replaced by another one while it was open, so nothing was "
                f"read or written. What was stored last may be missing. {START_AGAIN}"
            )
        said = f"The -wal file of {_lower(self._place)} was removed while it was open, so nothing was read or written. "
        if self._save():
            raise StoreGone(f"{said}What was stored before is kept: it is in the database itself now. {START_AGAIN}")
        if self._is_saving:
            raise StoreGone(
                f"{said}What was stored last is still being copied into the database itself: leave everything running "
                f"until this message says that it is kept. Then: {START_AGAIN}"
            )
        raise StoreGone(
            f"{said}The database itself was written since, perhaps with a copy that was put back, and was left as it "
            f"is. {START_AGAIN}"
        )

    def _save(self) -> bool:
        """Copy what a removed -wal holds into the database, while we have that file open; whether all of it is there.

        Newcomers that are Craftscope's refuse to make a second -wal meanwhile, and the others that have the old one
        open take turns. Not where the database was written after the removal: that may be a copy that was put back.
        """
        if self._is_saved or self._descriptor is None or identity(self._wal) is not None:
            return self._is_saved
        if not self._is_saving and identity(self._path) is not None:
            removed_at = os.fstat(self._descriptor).st_ctime_ns
            self._is_saving = os.stat(self._path).st_ctime_ns < removed_at
        if self._is_saving:
            with suppress(self._driver.Error):
                # Passive: waits for nobody. Where readers hold it up, the next check goes on.
                busy, written, copied = self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                self._is_saved = not busy and written == copied
        return self._is_saved

    def _identities(self) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
        return identity(self._wal), identity(self._shm)

    def _connection(self, uri: str) -> Any:
        try:
            connection = self._driver.connect(
                uri, uri=True, isolation_level=None, timeout=LOCK_WAIT_S, check_same_thread=False
            )
            connection.execute("PRAGMA schema_version").fetchall()  # the first look opens the two files
        except self._driver.Error as error:
            raise _failure(error, self._place) from error
        return connection


def refuse_wal_of_another(driver: ModuleType, path: str, place: str) -> None:
    """Raises StoreCorrupt where a -wal is beside the database that can only be that of another one.

    So it is where somebody who was killed left it and a copy was put back since: with the -wal the copy is damaged, and
    without it whole. A look with a connection that may write would play it over the copy for good. Only looked at
    where the database was touched after its -wal, as a checkpoint does too: both are read through then.
    """
    path, wal, _ = _three_files(path)
    try:
        found = os.stat(wal)
        # `cp -p` sets back the time of the last write, not of the last change; SQLite may touch the latter of -wal.
        is_suspect = found.st_size > 0 and os.stat(path).st_ctime_ns > found.st_mtime_ns
    except OSError:
        return
    if not is_suspect or _is_whole(driver, path, "mode=ro") or not _is_whole(driver, path, "immutable=1"):
        return
    raise StoreCorrupt(
        f"{place} is whole, but the -wal file beside it is of another one, such as that in whose place a copy was put, "
        "and would damage it. Nothing was changed. Stop the dashboard and the workers, move the -wal and -shm files "
        "beside it away, and start again."
    )


def refuse_second_wal(driver: ModuleType, path: str, place: str) -> None:
    """Raises StoreGone where somebody has the database open whose -wal or -shm was removed.

    To open it would make new ones, and the two parties would write over each other.
    """
    path, wal, shm = _three_files(path)
    deadline = time.monotonic() + _APPEARS_WITHIN_S
    while os.path.isfile(path) and not (os.path.exists(wal) and os.path.exists(shm)):
        if not _is_open_elsewhere(driver, path):
            return
        if time.monotonic() > deadline:
            raise StoreGone(
                f"{place} is open in another program, but the -wal or -shm file beside it is missing: it was probably "
                f"removed meanwhile. Nothing was changed. {START_AGAIN}"
            )
        time.sleep(0.01)


def _is_open_elsewhere(driver: ModuleType, path: str) -> bool:
    # In this mode SQLite locks the whole database before it looks for the two files, and does not make them where it
    # cannot. Whatever else is wrong with the database is said by those who open it next.
    with closing(driver.connect(path, isolation_level=None, timeout=0)) as connection:
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE").close()
            connection.execute("PRAGMA schema_version").fetchall()
        except driver.Error as error:
            return is_busy(error)
    return False


def _is_whole(driver: ModuleType, path: str, option: str) -> bool:
    try:
        with closing(driver.connect(f"{Path(path).as_uri()}?{option}", uri=True, timeout=LOCK_WAIT_S)) as connection:
            rows = connection.execute("PRAGMA quick_check(1)").fetchall()
    except driver.Error as error:
        return is_busy(error)  # no sign of damage
    return [said for (said,) in rows] == ["ok"]


def _three_files(path: str) -> tuple[str, str, str]:
    """The database, its -wal and its -shm: beside the file itself where the path is a link to it."""
    real = os.path.realpath(path)
    return real, f"{real}-wal", f"{real}-shm"


def _failure(error: Exception, place: str) -> Exception:
    return sqlite_failure(error, place) or StoreUnavailable(f"{place} cannot be opened ({error}).")


def _lower(place: str) -> str:
    return place[0].lower() + place[1:]
