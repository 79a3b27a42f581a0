"""Rows found by their public ids, decoded at one boundary; episode specifications as rows."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar

import msgspec
from sqlalchemy import Connection, Insert, Table, select
from sqlalchemy.dialects import postgresql, sqlite

from core.errors import InvalidInput, StoreCorrupt, StoreTooNew, UnknownEpisode
from core.store.blobs import check_version, corrupt_row, from_json, to_json, typed
from core.store.tables import AnyRow, episodes, reward_configs, runs
from core.text import cut
from core.types import EpisodeSpec, EpisodeStatus, QueuedEpisode, RewardConfig, Run

MIN_PREFIX: Final = 6
_MAX_IN_QUERY: Final = 500

# What decoding a corrupt value raises.
_CORRUPT: Final = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, RecursionError, InvalidInput)

_SPEC_VERSION: Final = 1

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A corrupt row: the id (a saved reward's name) that deletes it, and a sentence that says what is wrong."""

    id: str
    problem: str


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """The rows that can be read, and those that cannot."""

    rows: tuple[T, ...]
    unreadable: tuple[Unreadable, ...] = ()


def listing(rows: Iterable[AnyRow], noun: str, read: Callable[[AnyRow, str], T]) -> Listing[T]:
    """`read(row, name)` of each row. name: such as `Episode 3f2a...`, for messages.

    A corrupt row is reported and skipped; it must not fail the whole query. Each row has a column `uuid`.
    """
    good: list[T] = []
    unreadable: list[Unreadable] = []
    for row in rows:
        name = f"{noun} {row.uuid}"
        try:
            good.append(read(row, name))
        except (StoreCorrupt, StoreTooNew) as error:
            unreadable.append(Unreadable(row.uuid, str(error)))
        except _CORRUPT as error:
            unreadable.append(Unreadable(row.uuid, str(corrupt_row(name, error))))
    return Listing(tuple(good), tuple(unreadable))


@contextmanager
def as_store_corrupt(what: str) -> Generator[None, None, None]:
    """Turns what reading a corrupt value raises into StoreCorrupt, which names `what`."""
    try:
        yield
    except _CORRUPT as error:
        raise corrupt_row(what, error) from error


def in_parts(values: Iterable[T], size: int = _MAX_IN_QUERY) -> Iterator[tuple[T, ...]]:
    """Batches that fit into one query."""
    every = tuple(values)
    return (every[at : at + size] for at in range(0, len(every), size))


def episode_key(connection: Connection, episode_id: str) -> int:
    """The key of an episode, by its id or a unique prefix of it. Raises UnknownEpisode."""
    key: int | None = connection.scalar(select(episodes.c.id).where(episodes.c.uuid == episode_id))
    if key is not None:
        return key
    shown = repr(cut(episode_id, 80))
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
        raise UnknownEpisode(
            f"No run {cut(run_id, 80)!r} is stored. It may have been deleted, or is in another database."
        )
    return key


class _SpecRecord(msgspec.Struct, frozen=True):
    """`spec` is written without its reward configuration, so it is typed when that is added."""

    v: int
    spec: dict[str, Any]


def insert_ignoring(connection: Connection, table: Table) -> Insert:
    """An INSERT that skips existing rows."""
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    return dialect.insert(table).on_conflict_do_nothing()


def save_reward_configs(connection: Connection, configs: Iterable[RewardConfig]) -> None:
    """Store the configurations that are not stored yet."""
    rows = {config.config_hash: to_json(config) for config in configs}
    if rows:
        statement = insert_ignoring(connection, reward_configs)
        connection.execute(statement, [{"hash": name, "config": blob} for name, blob in sorted(rows.items())])


def _spec_blob(spec: EpisodeSpec) -> bytes:
    fields: dict[str, Any] = msgspec.to_builtins(spec)
    del fields["reward"]
    return to_json({"v": _SPEC_VERSION, "spec": fields})


@lru_cache(maxsize=256)
def _read_reward(blob: bytes) -> RewardConfig:
    return from_json(blob, RewardConfig, "A reward configuration")


def read_spec(blob: bytes, reward_blob: bytes, what: str) -> EpisodeSpec:
    """The specification that was stored. Raises StoreCorrupt, StoreTooNew."""
    record = from_json(blob, _SpecRecord, what)
    check_version(record.v, _SPEC_VERSION, what)
    return typed(record.spec | {"reward": _read_reward(reward_blob)}, EpisodeSpec, what)


def run_row(run: Run) -> dict[str, Any]:
    """A row of `runs`."""
    return {
        "uuid": run.id,
        "name": run.name,
        "created_at": run.created_at,
        "config": to_json(run.config),
        "training_session_id": run.training_session_id,
        "trace_correlation_id": run.trace_correlation_id,
        "source": run.source.value,
        "mode": run.mode,
        "session_url": run.session_url,
        "batch_id": run.batch_id,
    }


def episode_row(run_key: int, queued: QueuedEpisode, created_at: datetime, status: EpisodeStatus) -> dict[str, Any]:
    """A row of `episodes` for an episode that has not started."""
    return {
        "uuid": queued.id,
        "run_id": run_key,
        "policy": queued.spec.policy.name,
        "seed": queued.spec.seed,
        "group_index": queued.group_index,
        "status": status.value,
        "stop_requested": False,
        "worker": "",
        "created_at": created_at,
        "n_steps": 0,
        "n_decisions": 0,
        "n_achievements": 0,
        "env_return": 0.0,
        "shaped_return": 0.0,
        "config_hash": queued.spec.reward.config_hash,
        "spec": _spec_blob(queued.spec),
    }
