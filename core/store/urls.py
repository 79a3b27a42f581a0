"""Database URLs: which can be used, and what of one may be shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from core.errors import InvalidConfig, StoreUnavailable, did_you_mean

FILE_NAME: Final = "craftscope.db"

_SQLITE: Final = ("sqlite", "sqlite+pysqlite")
_POSTGRES: Final = ("postgresql", "postgresql+psycopg")
_FORMS: Final = (
    "Give sqlite:///<file> or postgresql://<user>:<password>@<host>/<database>, or leave it unset for a file in the "
    "data folder."
)


def sqlite_url(data_dir: Path) -> str:
    """The URL of the database file in a data folder, which is made where it does not exist.

    Raises StoreUnavailable where it cannot be made.
    """
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise StoreUnavailable(
            f"The data folder {printable(str(data_dir))} cannot be made ({reason(error)}). Make it yourself and "
            "writable, or choose another with CRAFTSCOPE_DATA_DIR."
        ) from error
    return file_url(data_dir / FILE_NAME)


def file_url(file: Path) -> str:
    """The URL of an SQLite file."""
    # SQLAlchemy's own escape refuses half surrogates; such a path is refused with a sentence when it is parsed.
    escaped = "".join(f"%{ord(character):02X}" if character in "%?#" else character for character in str(file))
    return f"sqlite:///{escaped}"


def parsed_url(url: object) -> URL:
    """The URL, which names an SQLite file or a PostgreSQL database. Raises InvalidConfig, without its secrets."""
    if not isinstance(url, str):
        raise InvalidConfig(f"The database URL is a {type(url).__name__} and not a text. {_FORMS}")
    try:
        parsed = make_url(url)
    except (ArgumentError, NoSuchModuleError, ImportError, ValueError):
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
    """What people may see of it: no password, and nothing of its options, any of which may be a secret."""
    return printable(url.set(query={}).render_as_string(hide_password=True))


def printable(text: str) -> str:
    """The text with what no page or terminal can show (half surrogates of a name that is not UTF-8, NUL) escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


def reason(error: Exception) -> str:
    """What an operating system's error says, without the path that it repeats."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _check_sqlite(url: URL) -> None:
    path = url.database
    if path in (None, "", ":memory:"):
        raise InvalidConfig(
            "CRAFTSCOPE_DB_URL names an SQLite database in memory, which workers cannot share. "
            "Give a file: sqlite:///<file>."
        )
    if url.host or url.port or url.username or url.password:
        raise InvalidConfig(
            "CRAFTSCOPE_DB_URL names a host or a user, which an SQLite file does not have; "
            "give sqlite:///<file>, with three slashes before a relative path and four before a whole one."
        )
    if url.query:
        raise InvalidConfig(
            "CRAFTSCOPE_DB_URL has options after a question mark, and an SQLite file takes none; give sqlite:///<file> "
            "alone, and write a question mark that belongs to the file's name as %3F."
        )
    if "\0" in path or printable(path) != path:
        raise InvalidConfig(
            f"The database file {printable(path)} has a name with a NUL or with bytes that are not UTF-8, which SQLite "
            "cannot open; rename its folder or file, or choose another data folder with CRAFTSCOPE_DATA_DIR."
        )


def _check_postgres(url: URL) -> None:
    try:
        driver: Any = url.get_dialect().import_dbapi()
    except ImportError as error:
        raise InvalidConfig(
            f"CRAFTSCOPE_DB_URL names a PostgreSQL database, and its driver cannot be loaded ({error}); install "
            "psycopg with its binary, or give sqlite:///<file>."
        ) from error
    try:
        (url.host or "").encode("idna")
        url.get_dialect()().create_connect_args(url)
    except (ArgumentError, UnicodeError):
        raise InvalidConfig(f"CRAFTSCOPE_DB_URL names hosts or ports that there cannot be. {_FORMS}") from None
    known = {option.keyword.decode() for option in driver.pq.Conninfo.get_defaults()}
    for name, value in url.query.items():
        if name not in known:
            raise InvalidConfig(
                f'CRAFTSCOPE_DB_URL has an option "{printable(name)}", which PostgreSQL does not know'
                f"{did_you_mean(name, known) or '.'} Leave it out: postgresql://<user>:<password>@<host>/<database>."
            )
        if name == "connect_timeout" and not str(value).isdecimal():
            raise InvalidConfig(
                "CRAFTSCOPE_DB_URL has a connect_timeout that is no whole number of seconds; give "
                "postgresql://<user>:<password>@<host>/<database>?connect_timeout=10."
            )
