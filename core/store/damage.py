"""Values that are not what their column says. SQLite keeps any value in any column, so what is damaged is met when it
is read; one that is must not take along those beside it, and is named."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Float,
    LargeBinary,
    Table,
    and_,
    case,
    cast,
    func,
    select,
    type_coerce,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.types import NullType

from core.errors import StoreCorrupt, StoreError
from core.store.blobs import damaged
from core.store.failures import is_damaged_value
from core.store.tables import episodes

UNFIT: Final = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, RecursionError)
"""What reading a stored value raises where it is not what this program wrote."""

Found = TypeVar("Found")
Damage = list[tuple[str, StoreError]]
"""Ids of episodes or runs, and why each cannot be read."""

_MOST: Final = 2**31 - 1
"""More is in no column that counts: PostgreSQL would not take it."""


@contextmanager
def named(what: str) -> Generator[None, None, None]:
    """What cannot be read inside leaves as StoreCorrupt, which names `what`."""
    try:
        yield
    except (*UNFIT, DBAPIError) as error:
        if not _is_damage(error):
            raise
        raise _damaged(what, error) from error


def readable(
    connection: Connection,
    wanted: ColumnElement[bool],
    order: Sequence[ColumnElement[Any]],
    read: Callable[[ColumnElement[bool]], list[Found]],
    table: Table = episodes,
) -> tuple[list[Found], Damage]:
    """What `read` finds under a condition on episodes (or runs), and those for which that fails, in this order.

    A value that cannot even be fetched fails the query for all of them. Then it is asked for halves, and for halves of
    those, until the ones that are damaged stand alone.
    """
    try:
        return read(wanted), []
    except (*UNFIT, DBAPIError) as error:
        if not _is_damage(error):
            raise
    keys = connection.scalars(select(table.c.id).where(wanted).order_by(*order)).all()
    return _halved(connection, keys, read, table)


def as_stored(connection: Connection, column: ColumnElement[Any]) -> ColumnElement[Any]:
    """The column without a look at its value: in SQLite its bytes, whatever they are, which `decoded` reads.

    A text that is not UTF-8 would fail the whole query.
    """
    return cast(column, LargeBinary) if connection.dialect.name == "sqlite" else column


def microseconds(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """A moment to compare with numbers, or for `UtcTime.from_microseconds`: a wrong one would fail the whole query."""
    return type_coerce(column, BigInteger)


def number_as_stored(connection: Connection, column: ColumnElement[Any]) -> ColumnElement[Any]:
    """A column of numbers or moments without a look at its value: what is a text in SQLite comes as its bytes.

    The driver would decode it, and one that is not UTF-8 would fail the whole query.
    """
    value = type_coerce(column, NullType())
    if connection.dialect.name != "sqlite":
        return value
    return case((func.typeof(column) == "text", type_coerce(cast(column, LargeBinary), NullType())), else_=value)


def countable(connection: Connection, column: ColumnElement[Any]) -> ColumnElement[Any]:
    """The column, NULL where SQLite keeps something in it that cannot be summed up."""
    if connection.dialect.name != "sqlite":
        return column
    kinds, most = (("real", "integer"), sys.float_info.max) if isinstance(column.type, Float) else (("integer",), _MOST)
    # abs() of the least number that SQLite keeps would be an overflow.
    return case((and_(func.typeof(column).in_(kinds), column.between(-most, most)), column))


def decoded(value: object) -> str:
    """A text that was asked for with `as_stored`; what is no text is written out."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value if isinstance(value, str) else repr(value)


def _halved(
    connection: Connection, keys: Sequence[int], read: Callable[[ColumnElement[bool]], list[Found]], table: Table
) -> tuple[list[Found], Damage]:
    found: list[Found] = []
    unreadable: Damage = []
    middle = (len(keys) + 1) // 2
    for half in filter(None, (keys[:middle], keys[middle:])):
        try:
            found += read(table.c.id.in_(half))
        except (*UNFIT, DBAPIError) as error:
            if not _is_damage(error):
                raise
            if len(half) == 1:
                name = _name(connection, half[0], table)
                what = "Episode" if table is episodes else "Run"
                unreadable.append((name, _damaged(f"{what} {name}", error)))
            else:
                more, worse = _halved(connection, half, read, table)
                found += more
                unreadable += worse
    return found, unreadable


def _name(connection: Connection, key: int, table: Table) -> str:
    return decoded(connection.scalar(select(as_stored(connection, table.c.uuid)).where(table.c.id == key)))


def _is_damage(error: Exception) -> bool:
    """Whether it is about what is stored, and not about reaching it, or about SQL that nobody understands."""
    return not isinstance(error, DBAPIError) or (error.orig is not None and is_damaged_value(error.orig))


def _damaged(what: str, error: Exception) -> StoreCorrupt:
    # Around what the driver says, SQLAlchemy puts the statement.
    return damaged(what, ValueError(str(error.orig)) if isinstance(error, DBAPIError) else error)
