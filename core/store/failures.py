"""Driver errors turned into sentences: what is wrong, where, and what to do. Passwords never pass through here."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from sqlalchemy.exc import DBAPIError, TimeoutError

from core.errors import StoreCorrupt, StoreError, StoreUnavailable

# SQLite's primary result codes; the driver gives the extended ones, whose low byte is the primary code.
_PERM: Final = 3
_BUSY: Final = 5
_LOCKED: Final = 6
_READONLY: Final = 8
_IOERR: Final = 10
_CORRUPT: Final = 11
_FULL: Final = 13
_CANTOPEN: Final = 14
_AUTH: Final = 23
_NOTADB: Final = 26

_KEPT = "What was stored before is kept."
_OTHER_FOLDER = "choose another data folder with CRAFTSCOPE_DATA_DIR"

_SQLITE_SENTENCES: Final = {
    _FULL: f"The disk is full: {{place}} cannot grow. Free some space and try again. {_KEPT}",
    _READONLY: f"{{place}} can be read but not written. Make the file and its folder writable, or {_OTHER_FOLDER}.",
    _PERM: f"{{place}} may not be opened. Give yourself access to it, or {_OTHER_FOLDER}.",
    _AUTH: f"{{place}} may not be opened. Give yourself access to it, or {_OTHER_FOLDER}.",
    _CANTOPEN: f"{{place}} cannot be opened. Make sure that its folder exists and can be written, or {_OTHER_FOLDER}.",
    _BUSY: f"{{place}} stayed locked by another program for too long. Close what uses it and try again. {_KEPT}",
    _LOCKED: f"{{place}} is locked by another program. Close what uses it and try again. {_KEPT}",
    _IOERR: "{place} could not be read or written ({detail}). Check the disk that it is on, then try again.",
}

_CORRUPT_SENTENCE: Final = (
    "{place} is damaged ({detail}). Nothing in it was changed. Put back a copy that is whole, or move the file away "
    "(with the -wal and -shm files beside it): a new, empty one is made at the next start."
)
_NOT_A_DATABASE_SENTENCE: Final = (
    "{place} is not a database, or its beginning is damaged. Nothing in it was changed. Move the file away and a new, "
    "empty one is made at the next start; or name another file with CRAFTSCOPE_DB_URL."
)


@contextmanager
def as_store_errors(place: str) -> Generator[None, None, None]:
    """Driver errors that come from outside the program leave as StoreErrors that name `place`; others pass."""
    try:
        yield
    except TimeoutError as error:
        raise StoreUnavailable(
            f"Too many things use {place} at once and none made room in time. Try again in a moment."
        ) from error
    except DBAPIError as error:
        translated = _translated(error, place)
        if translated is None:
            raise
        raise translated from error


def _translated(error: DBAPIError, place: str) -> StoreError | None:
    driver_error = error.orig
    if driver_error is None:
        return None
    code = getattr(driver_error, "sqlite_errorcode", None)
    if code is not None:
        return sqlite_failure(int(code), place, str(driver_error))
    return _postgres_failure(driver_error, error.connection_invalidated, place)


def sqlite_failure(code: int, place: str, detail: str) -> StoreError | None:
    """The StoreError for an SQLite result code; None for those that only a mistake of the program can cause."""
    primary = code & 0xFF
    if primary == _CORRUPT:
        return StoreCorrupt(_CORRUPT_SENTENCE.format(place=place, detail=detail))
    if primary == _NOTADB:
        return not_a_database(place)
    sentence = _SQLITE_SENTENCES.get(primary)
    return StoreUnavailable(sentence.format(place=place, detail=detail)) if sentence else None


def not_a_database(place: str) -> StoreCorrupt:
    """The error for a file that holds something else."""
    return StoreCorrupt(_NOT_A_DATABASE_SENTENCE.format(place=place))


def is_busy(error: BaseException) -> bool:
    """Whether a driver's error only says that another connection holds the lock."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF in (_BUSY, _LOCKED)


def _postgres_failure(error: BaseException, is_disconnect: bool, place: str) -> StoreError | None:
    state: str = getattr(error, "sqlstate", None) or ""
    if state.startswith("53"):  # insufficient resources: disk full, out of memory, too many connections
        return StoreUnavailable(
            f"{place} is out of room ({_first_line(error)}). Free disk or connections there and try again. {_KEPT}"
        )
    if state.startswith(("42501", "25006")):  # no privilege, read-only
        return StoreUnavailable(
            f"{place} may not be written ({_first_line(error)}). Give the user of CRAFTSCOPE_DB_URL the right to it."
        )
    if state.startswith("XX"):
        return StoreCorrupt(
            f"{place} reports damage ({_first_line(error)}). Nothing was changed. Have its server looked at."
        )
    if is_disconnect or state.startswith(("08", "28", "3D", "57")) or type(error).__name__ == "OperationalError":
        return StoreUnavailable(
            f"{place} cannot be reached. Check that the server runs there, that it knows the database and the user, "
            f"and that CRAFTSCOPE_DB_URL names them rightly. {_KEPT}"
        )
    return None


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
