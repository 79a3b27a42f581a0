"""What goes wrong with a database, as sentences: what is wrong, where, and what to do.

`as_store_errors` is the one boundary: driver errors, a schema with something missing, and stored values that cannot be
read all leave through it as errors of our tree. Passwords never pass through here.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from sqlalchemy.exc import DBAPIError, MultipleResultsFound, NoResultFound, StatementError, TimeoutError

from core.errors import CraftscopeError, InvalidInput, StoreCorrupt, StoreUnavailable

# SQLite's primary result codes; the driver gives the extended ones, whose low byte is the primary code.
_PERM: Final = 3
_BUSY: Final = 5
_LOCKED: Final = 6
_NOMEM: Final = 7
_READONLY: Final = 8
_IOERR: Final = 10
_CORRUPT: Final = 11
_FULL: Final = 13
_CANTOPEN: Final = 14
_PROTOCOL: Final = 15
_TOOBIG: Final = 18
_MISMATCH: Final = 20
_AUTH: Final = 23
_FORMAT: Final = 24
_NOTADB: Final = 26

_KEPT = "What was stored before is kept."
_OTHER_FOLDER = "choose another data folder with CRAFTSCOPE_DATA_DIR"

_SENTENCES: Final = {
    _FULL: f"The disk is full: {{place}} cannot grow. Free some space and try again. {_KEPT}",
    _READONLY: f"{{place}} can be read but not written. Make the file and its folder writable, or {_OTHER_FOLDER}.",
    _PERM: f"{{place}} may not be opened. Give yourself access to it, or {_OTHER_FOLDER}.",
    _AUTH: f"{{place}} may not be opened. Give yourself access to it, or {_OTHER_FOLDER}.",
    _CANTOPEN: f"{{place}} cannot be opened. Make sure that its folder exists and can be written, or {_OTHER_FOLDER}.",
    _BUSY: f"{{place}} stayed locked by another program for too long. Close what uses it and try again. {_KEPT}",
    _LOCKED: f"{{place}} is locked by another program. Close what uses it and try again. {_KEPT}",
    _PROTOCOL: f"{{place}} is locked by another program. Close what uses it and try again. {_KEPT}",
    _IOERR: (
        "{place} could not be read or written ({detail}). Check the disk that it is on, then stop the dashboard and "
        "the workers and start them again."
    ),
    _NOMEM: f"The machine's memory does not suffice to use {{place}}. Close other programs and try again. {_KEPT}",
}

# A -wal that stays beside a copy is played over it, and damages it as soon as it is opened.
_ANOTHER_IN_ITS_PLACE: Final = (
    "stop the dashboard and the workers first, and move the file away together with the -wal and -shm files beside it: "
    "those would damage the copy"
)

_CORRUPT_SENTENCE: Final = (
    f"{{place}} is damaged ({{detail}}). Put back a copy that is whole, but {_ANOTHER_IN_ITS_PLACE}. Without a copy, a "
    "new, empty one is made at the next start."
)
_NOT_A_DATABASE_SENTENCE: Final = (
    "{place} is not a database, or its beginning is damaged. Nothing in it was changed. Move the file away (with the "
    "-wal and -shm files beside it, once the dashboard and the workers are stopped) and a new, empty one is made at "
    "the next start; or name another file with CRAFTSCOPE_DB_URL."
)
_SCHEMA_SENTENCE: Final = (
    "{place} lacks a part that this Craftscope needs ({detail}): another program has changed it, or it is damaged. Put "
    f"back a copy that is whole, but {_ANOTHER_IN_ITS_PLACE}; or name another database with CRAFTSCOPE_DB_URL."
)
_UNREADABLE_SENTENCE: Final = (
    "{place} holds something here that cannot be read ({detail}). Nothing in it was changed and the rest can still be "
    "used. Put back a copy that is whole, or delete the episode or run that this is about."
)
_UNSTORABLE_SENTENCE: Final = (
    "A value that was given cannot be looked for or kept in {place} ({detail}). Give ids and names as text, and "
    "numbers that fit 64 bits."
)

# What reading stored bytes back raises where they are not what this program wrote. A stored row that is missing
# beside another one shows as a LookupError or as NoResultFound.
_UNREADABLE: Final = (
    *(ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError, struct.error),
    *(MultipleResultsFound, NoResultFound),
)
# The messages of SQLite's general error (code 1) for what only another schema can cause.
_SCHEMA_PART: Final = re.compile(r"no such (table|column|index|module|collation)|has no column named|no query solution")
_NOT_UTF8: Final = "Could not decode"
_LOCK_TIMEOUT_IN_POSTGRES: Final = "55P03"
_UNDEFINED_IN_POSTGRES: Final = ("42P01", "42703", "3F000", "42804", "42883")
_LONGEST_DETAIL: Final = 160


@contextmanager
def as_store_errors(place: str, *, only_reads: bool = False) -> Generator[None, None, None]:
    """What comes from the database or from a value that was given leaves as an error of our tree that names `place`.

    only_reads: what Python raises inside is the fault of what is stored. Mistakes of the program (SQL that no schema
    would understand) pass as they are.
    """
    try:
        yield
    except CraftscopeError:
        raise
    except TimeoutError as error:
        raise StoreUnavailable(
            f"Too many things use {place} at once and none made room in time. Try again in a moment."
        ) from error
    except DBAPIError as error:
        translated = _translated(error, place)
        if translated is None:
            raise
        raise translated from error
    except StatementError as error:  # a value that was bound is of another type than its column
        raise _sentence(InvalidInput, _UNSTORABLE_SENTENCE, place, error.orig or error) from error
    except _UNREADABLE as error:
        if isinstance(error, OverflowError) and "SQLite INTEGER" in str(error):
            raise _sentence(InvalidInput, _UNSTORABLE_SENTENCE, place, error) from error
        if not only_reads:
            raise
        raise _sentence(StoreCorrupt, _UNREADABLE_SENTENCE, place, error) from error


def _translated(error: DBAPIError, place: str) -> CraftscopeError | None:
    driver_error = error.orig
    if driver_error is None:
        return None
    if str(driver_error).startswith(("Error binding parameter", "cannot adapt type")):
        return _sentence(InvalidInput, _UNSTORABLE_SENTENCE, place, driver_error)
    if "sqlite3" in type(driver_error).__module__:
        return sqlite_failure(driver_error, place)
    return _postgres_failure(error, driver_error, place)


def sqlite_failure(error: BaseException, place: str) -> CraftscopeError | None:
    """What an error of the SQLite driver says; None for those that only a mistake of the program can cause."""
    primary = int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
    if primary == _NOTADB:
        return not_a_database(place)
    if primary in (_CORRUPT, _FORMAT, _MISMATCH):
        return _sentence(StoreCorrupt, _CORRUPT_SENTENCE, place, error)
    if primary == _TOOBIG:
        return _sentence(InvalidInput, _UNSTORABLE_SENTENCE, place, error)
    if sentence := _SENTENCES.get(primary):
        return _sentence(StoreUnavailable, sentence, place, error)
    if _SCHEMA_PART.search(str(error)):
        return _sentence(StoreCorrupt, _SCHEMA_SENTENCE, place, error)
    if str(error).startswith(_NOT_UTF8):  # raised by the driver itself, without a code
        return _sentence(StoreCorrupt, _UNREADABLE_SENTENCE, place, error)
    return None


def not_a_database(place: str) -> StoreCorrupt:
    """The error for a file that holds something else."""
    return StoreCorrupt(_NOT_A_DATABASE_SENTENCE.format(place=place))


def is_busy(error: BaseException) -> bool:
    """Whether a driver's error only says that another connection holds the lock."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF in (_BUSY, _LOCKED)


def _postgres_failure(wrapped: DBAPIError, error: BaseException, place: str) -> CraftscopeError | None:
    state: str = getattr(error, "sqlstate", None) or ""
    if state.startswith("53"):  # insufficient resources: disk full, out of memory, too many connections
        return StoreUnavailable(
            f"{place} is out of room ({_first_line(error)}). Free disk or connections there and try again. {_KEPT}"
        )
    if state.startswith(("42501", "25006")):  # no privilege, read-only
        return StoreUnavailable(
            f"{place} may not be written ({_first_line(error)}). Give the user of CRAFTSCOPE_DB_URL the right to it."
        )
    if state.startswith(_LOCK_TIMEOUT_IN_POSTGRES):
        return _sentence(StoreUnavailable, _SENTENCES[_BUSY], place, error)
    if state.startswith("XX"):
        return StoreCorrupt(
            f"{place} reports damage ({_first_line(error)}). Nothing was changed. Have its server looked at."
        )
    if state.startswith(_UNDEFINED_IN_POSTGRES):
        return _sentence(StoreCorrupt, _SCHEMA_SENTENCE, place, error)
    if state.startswith("22003"):  # a number out of range
        return _sentence(InvalidInput, _UNSTORABLE_SENTENCE, place, error)
    is_disconnect = wrapped.connection_invalidated
    if is_disconnect or state.startswith(("08", "28", "3D", "57")) or type(error).__name__ == "OperationalError":
        return StoreUnavailable(
            f"{place} cannot be reached. Check that the server runs there, that it knows the database and the user, "
            f"and that CRAFTSCOPE_DB_URL names them rightly. {_KEPT}"
        )
    return None


def _sentence(kind: type[CraftscopeError], sentence: str, place: str, error: BaseException) -> CraftscopeError:
    return kind(sentence.format(place=place, detail=_detail(error)))


def _detail(error: BaseException) -> str:
    """The error's first line; Python's own errors with their kind, without which `'x'` would say nothing."""
    line = _first_line(error) or "no message"
    return shortened(f"{type(error).__name__}: {line}" if isinstance(error, _UNREADABLE) else line)


def shortened(text: str) -> str:
    """Short enough for a sentence. What is stored may be part of it: what no page or terminal can show is escaped."""
    printable = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return printable if len(printable) <= _LONGEST_DETAIL else f"{printable[:_LONGEST_DETAIL]}..."


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


def printable(text: str) -> str:
    """The text with what no page or terminal can show (half surrogates of a name that is not UTF-8, NUL) escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


def reason(error: Exception) -> str:
    """What an operating system's error says, without the path that it repeats."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
