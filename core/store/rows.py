"""Rows: found by the ids that people use, and turned into records at one boundary."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from sqlalchemy import Connection, select

from core.errors import InvalidInput, StoreCorrupt, StoreTooNew, UnknownEpisode
from core.store.blobs import corrupt_row
from core.store.tables import AnyRow, episodes, runs

MIN_PREFIX: Final = 6
_MAX_IN_QUERY: Final = 500

# What reading a stored value raises if it is not what this program wrote.
_CORRUPT: Final = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, RecursionError, InvalidInput)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A corrupt row: the id (a saved reward's name) that deletes it, and a sentence that says what is wrong."""

    id: str
    problem: str


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """The rows that can be read, and beside them those that cannot."""

    rows: tuple[T, ...]
    unreadable: tuple[Unreadable, ...] = ()


def listing(rows: Iterable[AnyRow], noun: str, read: Callable[[AnyRow, str], T]) -> Listing[T]:
    """What `read(row, name)` makes of each row; name: such as `Episode 3f2a...`, for sentences.

    A corrupt row is reported and skipped; it must not fail the whole query. Each row has a column `uuid`.
    """
    good: list[T] = []
    unreadable: list[Unreadable] = []
    for row in rows:
        name = f"{noun} {row.uuid}"
        try:
            with as_store_corrupt(name):
                good.append(read(row, name))
        except (StoreCorrupt, StoreTooNew) as error:
            unreadable.append(Unreadable(row.uuid, str(error)))
    return Listing(tuple(good), tuple(unreadable))


@contextmanager
def as_store_corrupt(what: str) -> Generator[None, None, None]:
    """Turns what reading a corrupt value raises into StoreCorrupt, which names `what`."""
    try:
        yield
    except _CORRUPT as error:
        raise corrupt_row(what, error) from error


def in_parts(values: Iterable[T], size: int = _MAX_IN_QUERY) -> Iterator[tuple[T, ...]]:
    """As many at once as a query may ask for."""
    every = tuple(values)
    return (every[at : at + size] for at in range(0, len(every), size))


def episode_key(connection: Connection, episode_id: str) -> int:
    """The key of an episode, by its id or a unique prefix of it. Raises UnknownEpisode."""
    key: int | None = connection.scalar(select(episodes.c.id).where(episodes.c.uuid == episode_id))
    if key is not None:
        return key
    shown = _shown(episode_id)
    if len(episode_id) < MIN_PREFIX:
        raise UnknownEpisode(f"No episode {shown} is stored. Give its whole id, or the first six characters or more.")
    prefixed = episodes.c.uuid.startswith(episode_id, autoescape=True)
    found = connection.execute(select(episodes.c.id, episodes.c.uuid).where(prefixed).limit(2)).all()
    if not found:
        raise UnknownEpisode(f"No episode {shown} is stored. It may have been deleted, or is in another database.")
    if len(found) > 1:
        raise UnknownEpisode(f"Several episodes begin with {shown}, such as {found[0].uuid} and {found[1].uuid}.")
    return found[0].id


def run_key(connection: Connection, run_id: str) -> int:
    """The key of a run. Raises UnknownEpisode."""
    key: int | None = connection.scalar(select(runs.c.id).where(runs.c.uuid == run_id))
    if key is None:
        raise UnknownEpisode(f"No run {_shown(run_id)} is stored. It may have been deleted, or is in another database.")
    return key


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:80] + "...")
