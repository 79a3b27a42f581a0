"""Database errors as messages: what happened, where, and what to do.

`as_store_errors` is the one boundary: driver errors, an incomplete schema and unreadable values leave it as errors of
`core.errors`. Messages never hold a password.
"""

from __future__ import annotations

import re
import sqlite3
import struct
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from sqlalchemy.exc import DBAPIError, MultipleResultsFound, NoResultFound, TimeoutError

from core.errors import CraftscopeError, StoreCorrupt, StoreUnavailable
from core.text import cut, visible

_KEPT = "What was stored before is kept."
_OTHER_FOLDER = "choose another data folder with CRAFTSCOPE_DATA_DIR"

_IS_LOCKED = f"{{place}} stayed locked by another program. Close what uses it and try again. {_KEPT}"
_CANNOT_OPEN = f"{{place}} cannot be opened. Make sure that its folder exists and can be written, or {_OTHER_FOLDER}."

# By SQLite's primary result codes; the driver gives the extended ones, whose low byte is the primary code.
_SENTENCES: Final = {
    sqlite3.SQLITE_FULL: f"The disk is full: {{place}} cannot grow. Free some space and try again. {_KEPT}",
    sqlite3.SQLITE_READONLY: (
        f"{{place}} can be read but not written. Make the file and its folder writable, or {_OTHER_FOLDER}."
    ),
    sqlite3.SQLITE_PERM: _CANNOT_OPEN,
    sqlite3.SQLITE_CANTOPEN: _CANNOT_OPEN,
    sqlite3.SQLITE_BUSY: _IS_LOCKED,
    sqlite3.SQLITE_LOCKED: _IS_LOCKED,
    sqlite3.SQLITE_PROTOCOL: _IS_LOCKED,
    sqlite3.SQLITE_IOERR: (
        "{place} could not be read or written ({detail}). Check the disk that it is on, then stop the dashboard and "
        "the workers and start them again."
    ),
    sqlite3.SQLITE_NOMEM: f"There is not enough memory to use {{place}}. Close other programs and try again. {_KEPT}",
}

# SQLite replays a -wal file that is left beside a restored backup, which corrupts it.
_RESTORE: Final = (
    "Restore a backup: stop the dashboard and the workers, and move the file away with its -wal and -shm files before "
    "you put the backup in its place"
)

_CORRUPT_SENTENCE: Final = (
    f"{{place}} is corrupt ({{detail}}). {_RESTORE}. Without a backup, the next start creates a new, empty database."
)
_NOT_A_DATABASE_SENTENCE: Final = (
    "{place} is not a database, or its first page is corrupt. It was not changed. Stop the dashboard and the workers, "
    "and move the file away with its -wal and -shm files: the next start creates a new, empty one. Or name another "
    "file with CRAFTSCOPE_DB_URL."
)
_SCHEMA_SENTENCE: Final = (
    f"{{place}} has an incomplete schema ({{detail}}). {_RESTORE}. Or name another database with CRAFTSCOPE_DB_URL."
)
_UNREADABLE_SENTENCE: Final = (
    "{place} has a value that cannot be read ({detail}). It was not changed, and the rest can still be used. Restore a "
    "backup, or delete the episode or run."
)

# Raised by decoding bytes that this program did not write. A missing row shows as LookupError or NoResultFound.
_UNREADABLE: Final = (
    *(ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError, struct.error),
    *(MultipleResultsFound, NoResultFound),
)
# Messages of SQLite's general error (code 1) that only another schema causes.
_SCHEMA_PART: Final = re.compile(r"no such (table|column|index|module|collation)|has no column named|no query solution")
_NOT_UTF8_MESSAGE: Final = "Could not decode"
_LOCK_TIMEOUT_IN_POSTGRES: Final = "55P03"
_UNDEFINED_IN_POSTGRES: Final = ("42P01", "42703", "3F000", "42804", "42883")


@contextmanager
def as_store_errors(place: str, *, read_only: bool = False) -> Generator[None, None, None]:
    """Turns errors of the database, and of values given to it, into errors of `core.errors` that name `place`.

    read_only: errors of Python inside mean a corrupt value. Programming errors, such as invalid SQL, pass unchanged.
    """
    try:
        yield
    except CraftscopeError:
        raise
    except TimeoutError as error:
        raise StoreUnavailable(f"Too many connections to {place} are in use. Try again in a moment.") from error
    except DBAPIError as error:
        translated = _translated(error, place)
        if translated is None:
            raise
        raise translated from error
    except _UNREADABLE as error:
        if not read_only:
            raise
        raise _sentence(StoreCorrupt, _UNREADABLE_SENTENCE, place, error) from error


def _translated(error: DBAPIError, place: str) -> CraftscopeError | None:
    driver_error = error.orig
    if driver_error is None:
        return None
    if "sqlite3" in type(driver_error).__module__:
        return sqlite_failure(driver_error, place)
    return _postgres_failure(error, driver_error, place)


def sqlite_failure(error: BaseException, place: str) -> CraftscopeError | None:
    """The error for one of the SQLite driver; None for programming errors."""
    primary = int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
    if primary == sqlite3.SQLITE_NOTADB:
        return not_a_database(place)
    if primary == sqlite3.SQLITE_CORRUPT:
        return _sentence(StoreCorrupt, _CORRUPT_SENTENCE, place, error)
    if sentence := _SENTENCES.get(primary):
        return _sentence(StoreUnavailable, sentence, place, error)
    if _SCHEMA_PART.search(str(error)):
        return _sentence(StoreCorrupt, _SCHEMA_SENTENCE, place, error)
    if str(error).startswith(_NOT_UTF8_MESSAGE):  # raised by the driver itself, without a code
        return _sentence(StoreCorrupt, _UNREADABLE_SENTENCE, place, error)
    return None


def not_a_database(place: str) -> StoreCorrupt:
    return StoreCorrupt(_NOT_A_DATABASE_SENTENCE.format(place=place))


def is_busy(error: BaseException) -> bool:
    """Whether a driver's error only says that another connection holds the lock."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _postgres_failure(wrapped: DBAPIError, error: BaseException, place: str) -> CraftscopeError | None:
    state: str = getattr(error, "sqlstate", None) or ""
    if state.startswith("53"):  # insufficient resources: disk full, out of memory, too many connections
        return StoreUnavailable(
            f"{place} is out of resources ({_first_line(error)}). Free disk space or connections there and "
            f"try again. {_KEPT}"
        )
    if state.startswith(("42501", "25006")):  # no privilege, read-only
        return StoreUnavailable(
            f"{place} may not be written ({_first_line(error)}). Grant the user of CRAFTSCOPE_DB_URL the right to "
            "write."
        )
    if state.startswith(_LOCK_TIMEOUT_IN_POSTGRES):
        return _sentence(StoreUnavailable, _IS_LOCKED, place, error)
    if state.startswith("XX"):
        return StoreCorrupt(f"{place} is corrupt ({_first_line(error)}). Nothing was changed. Check its server.")
    if state.startswith(_UNDEFINED_IN_POSTGRES):
        return _sentence(StoreCorrupt, _SCHEMA_SENTENCE, place, error)
    # Without a state the driver failed by itself: it got no answer, or does not know an option.
    if not state or wrapped.connection_invalidated or state.startswith(("08", "28", "3D", "57")):
        return StoreUnavailable(
            f"{place} cannot be reached. Check that the server runs, and the database, user, password and options in "
            f"CRAFTSCOPE_DB_URL. {_KEPT}"
        )
    return None


def _sentence(kind: type[CraftscopeError], sentence: str, place: str, error: BaseException) -> CraftscopeError:
    return kind(sentence.format(place=place, detail=_detail(error)))


def _detail(error: BaseException) -> str:
    """The error's first line; for Python's own errors with their type, because a KeyError's message is only the key."""
    line = _first_line(error) or "no message"
    return shortened(f"{type(error).__name__}: {line}" if isinstance(error, _UNREADABLE) else line)


def shortened(text: str) -> str:
    """Cut to fit a sentence, with unprintable characters escaped: stored text may be part of it."""
    return cut(visible(text), 160)


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


def reason(error: Exception) -> str:
    """An operating system error's message, without the path."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
