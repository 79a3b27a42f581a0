"""Values that are not what their column says. SQLite keeps any value in any column, so what is damaged is met when it
is read; one that is must not take along those beside it, and is named."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import BigInteger, ColumnElement, Connection, LargeBinary, cast, type_coerce

from core.store.blobs import damaged

UNFIT: Final = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, RecursionError)
"""What reading a stored value raises where it is not what this program wrote."""


@contextmanager
def named(what: str) -> Generator[None, None, None]:
    """What cannot be read inside leaves as StoreCorrupt, which names `what`."""
    try:
        yield
    except UNFIT as error:
        raise damaged(what, error) from error


def as_stored(connection: Connection, column: ColumnElement[Any]) -> ColumnElement[Any]:
    """The column without a look at its value: in SQLite its bytes, whatever they are, which `decoded` reads.

    A text that is not UTF-8 would fail the whole query.
    """
    return cast(column, LargeBinary) if connection.dialect.name == "sqlite" else column


def microseconds(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """A moment as it is stored, for `UtcTime.from_microseconds`: a wrong one would fail the whole query."""
    return type_coerce(column, BigInteger)


def decoded(value: object) -> str:
    """A text that was asked for with `as_stored`; what is no text is written out."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value if isinstance(value, str) else repr(value)
