"""Lists of episodes: filters, pages by key, totals."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, case, exists, func, or_, select
from sqlalchemy.exc import ArgumentError

from core.errors import InvalidInput, StoreCorrupt, StoreError, StoreTooNew
from core.store.arguments import whole
from core.store.blobs import damaged, from_json, typed
from core.store.damage import Damage, as_stored, countable, decoded, microseconds, number_as_stored, readable
from core.store.ids import episode_key
from core.store.records import COUNT_CAP, EpisodeFilter, EpisodePage, EpisodeSummary, Totals, Unreadable
from core.store.specs import read_spec
from core.store.tables import (
    AnyRow,
    columns_of,
    episode_achievements,
    episodes,
    reward_configs,
    runs,
    store_meta,
)
from core.types import EpisodeError, EpisodeStatus

_KEY_END: Final = 2**63
_BEYOND: Final = 2**62
"""Microseconds after any moment of the calendar."""
_COUNTERS: Final = ("n_steps", "n_decisions", "n_achievements", "env_return", "shaped_return")
_OVER: Final = [status.value for status in EpisodeStatus if status.is_over]
_NEWEST_FIRST: Final = (episodes.c.created_at.desc(), episodes.c.id.desc())


def is_empty(connection: Connection) -> bool:
    """Whether no episode is stored."""
    return connection.scalar(select(episodes.c.id).limit(1)) is None


def generation(connection: Connection) -> int:
    """How often something was deleted."""
    return connection.execute(select(counted_generation(connection))).scalar_one()


def counted_generation(connection: Connection) -> ColumnElement[int]:
    """The counter of deletions; 0 where it is no number, so that the next deletion makes it one again."""
    counter = store_meta.c.generation
    if connection.dialect.name != "sqlite":
        return counter
    return case((func.typeof(counter) == "integer", counter), else_=0)


def policies(connection: Connection) -> tuple[str, ...]:
    """The policies of stored episodes, in alphabetical order. One that is no text is written out."""
    names = connection.scalars(select(as_stored(connection, episodes.c.policy)).distinct())
    return tuple(sorted(set(map(decoded, names))))


def one(connection: Connection, episode_id: str) -> EpisodeSummary:
    """One episode. Raises UnknownEpisode, StoreCorrupt, StoreTooNew."""
    key = episode_key(connection, episode_id)
    found, damage = summaries(connection, episodes.c.id == key, [episodes.c.id])
    for _, error in damage:
        raise error
    return found[0]


def page(connection: Connection, wanted: EpisodeFilter, cursor: str | None, limit: int) -> EpisodePage:
    """A page, newest first. Raises InvalidInput for a bad cursor, filter or limit.

    What is damaged has its place in the order, and is named beside the rows.
    """
    narrowed = conditions(wanted)
    limit = whole(limit, "The length of the page")
    if cursor is not None:
        narrowed.append(_older_than(*_read_cursor(cursor)))
    keys = connection.execute(
        select(episodes.c.id, number_as_stored(connection, episodes.c.created_at).label("created_at"))
        .where(*narrowed)
        .order_by(*_NEWEST_FIRST)
        .limit(limit + 1)
    ).all()
    shown = episodes.c.id.in_([key.id for key in keys[:limit]])
    rows, damage = summaries(connection, shown, _NEWEST_FIRST)
    more = len(keys) > limit and limit > 0
    following = _cursor(keys[limit - 1].created_at, keys[limit - 1].id) if more else None
    return EpisodePage(tuple(rows), following, unreadable(damage))


def unreadable(damage: Damage) -> tuple[Unreadable, ...]:
    """Those episodes or runs with the sentences that their errors say."""
    return tuple(Unreadable(name, str(error)) for name, error in damage)


def totals(connection: Connection, wanted: EpisodeFilter) -> Totals:
    """Sums over what passes the filter, the newest `COUNT_CAP` at most. Damaged counts and returns add nothing."""
    counters = (countable(connection, episodes.c[name]).label(name) for name in _COUNTERS)
    capped = (
        select(episodes.c.status, *counters)
        .where(*conditions(wanted))
        .order_by(*_NEWEST_FIRST)
        .limit(COUNT_CAP)
        .subquery()
    )
    played = and_(capped.c.status.in_(_OVER), capped.c.n_steps > 0)

    def counted(status: EpisodeStatus) -> ColumnElement[Any]:
        return func.coalesce(func.sum(case((capped.c.status == status.value, 1), else_=0)), 0)

    def mean(column: ColumnElement[Any]) -> ColumnElement[Any]:
        return func.avg(case((played, column)))

    row = connection.execute(
        select(
            func.count().label("episodes"),
            func.coalesce(func.sum(capped.c.n_steps), 0).label("steps"),
            func.coalesce(func.sum(capped.c.n_decisions), 0).label("decisions"),
            counted(EpisodeStatus.RUNNING).label("running"),
            counted(EpisodeStatus.QUEUED).label("queued"),
            mean(capped.c.env_return).label("mean_env_return"),
            mean(capped.c.shaped_return).label("mean_shaped_return"),
            mean(capped.c.n_achievements * 1.0).label("mean_achievements"),
        ).select_from(capped)
    ).one()
    return typed(columns_of(row), Totals, "The sums over the episodes")


def summaries(
    connection: Connection, wanted: ColumnElement[bool], order: Sequence[ColumnElement[Any]]
) -> tuple[list[EpisodeSummary], Damage]:
    """The episodes under a condition, in this order, and those among them that cannot be read."""

    def read(some: ColumnElement[bool]) -> list[EpisodeSummary | tuple[str, StoreError]]:
        return list(map(_summary_or_error, *_with_achievements(connection, some, order)))

    found, damage = readable(connection, wanted, order, read)
    rows = [row for row in found if isinstance(row, EpisodeSummary)]
    return rows, [*(row for row in found if not isinstance(row, EpisodeSummary)), *damage]


def _with_achievements(
    connection: Connection, wanted: ColumnElement[bool], order: Sequence[ColumnElement[Any]]
) -> tuple[Sequence[AnyRow], list[tuple[str, ...]]]:
    """Rows of episodes, and beside each what it unlocked."""
    rows = connection.execute(
        select(episodes, reward_configs.c.config, runs.c.uuid.label("run"))
        .outerjoin(runs, runs.c.id == episodes.c.run_id)
        .outerjoin(reward_configs, reward_configs.c.hash == episodes.c.config_hash)
        .where(wanted)
        .order_by(*order)
    ).all()
    unlocked: dict[int, list[str]] = {row.id: [] for row in rows}
    by_step = (episode_achievements.c.step, episode_achievements.c.name)
    names = connection.execute(
        select(episode_achievements.c.episode_id, episode_achievements.c.name)
        .where(episode_achievements.c.episode_id.in_(list(unlocked)))
        .order_by(*by_step)
    )
    for key, name in names:
        unlocked[key].append(name)
    return rows, [tuple(unlocked[row.id]) for row in rows]


def _summary_or_error(row: AnyRow, achievements: tuple[str, ...]) -> EpisodeSummary | tuple[str, StoreError]:
    try:
        return _summary(row, achievements)
    except (StoreCorrupt, StoreTooNew) as error:
        return decoded(row.uuid), error


def _summary(row: AnyRow, achievements: tuple[str, ...]) -> EpisodeSummary:
    """Raises StoreCorrupt, StoreTooNew."""
    what = f"Episode {decoded(row.uuid)}"
    for part, name in ((row.run, "run"), (row.config, "reward configuration")):
        if part is None:
            raise damaged(what, LookupError(f"its {name} is missing"))
    spec = read_spec(row.spec, row.config, what)
    fields = {
        **columns_of(row),
        "id": row.uuid,
        "run_id": row.run,
        "spec": spec,
        "seed": spec.seed,
        "world_episode": spec.world_episode,
        "policy_seed": spec.policy_seed,
        "error": None if row.error is None else from_json(row.error, EpisodeError, f"The error of {what}"),
        "achievements": achievements,
    }
    return typed(fields, EpisodeSummary, what)


def conditions(wanted: EpisodeFilter) -> list[ColumnElement[bool]]:
    """What a filter means. Raises InvalidInput."""
    try:
        return list(_conditions_of(wanted))
    except (ArgumentError, AttributeError, TypeError) as error:
        raise InvalidInput(
            f"The filter of the list cannot be used ({error}); give an EpisodeFilter with values of the types that its "
            "fields name."
        ) from error


def _conditions_of(wanted: EpisodeFilter) -> Iterator[ColumnElement[bool]]:
    if wanted.policies:
        yield episodes.c.policy.in_(wanted.policies)
    if wanted.seeds:
        # Larger ones cannot be stored, so they match nothing.
        storable = [int(seed) for seed in wanted.seeds if abs(seed) < _KEY_END]
        yield episodes.c.seed.in_(storable)
    if wanted.statuses:
        yield episodes.c.status.in_([status.value for status in wanted.statuses])
    yield from map(_has_unlocked, wanted.achievements)
    if wanted.min_reward is not None:
        yield episodes.c.shaped_return >= wanted.min_reward
    if wanted.max_reward is not None:
        yield episodes.c.shaped_return <= wanted.max_reward
    if wanted.created_after is not None:
        yield episodes.c.created_at >= wanted.created_after
    if wanted.created_before is not None:
        yield episodes.c.created_at < wanted.created_before
    if wanted.run_id is not None:
        its_run = select(runs.c.id).where(runs.c.uuid == wanted.run_id).scalar_subquery()
        yield episodes.c.run_id == its_run


def _has_unlocked(name: str) -> ColumnElement[bool]:
    return exists().where(episode_achievements.c.episode_id == episodes.c.id, episode_achievements.c.name == name)


def _older_than(created_at: int, key: int) -> ColumnElement[bool]:
    moment = microseconds(episodes.c.created_at)
    same_moment = and_(moment == created_at, episodes.c.id < key)
    return and_(moment <= created_at, or_(moment < created_at, same_moment))


def _cursor(created_at: object, key: int) -> str:
    moment = created_at
    if not isinstance(moment, int):
        # SQLite orders what is no number after all numbers, so that newest first it comes before every moment.
        number = created_at if isinstance(created_at, float) else math.inf
        moment = math.floor(min(max(number, -_BEYOND), _BEYOND))
    return base64.urlsafe_b64encode(f"{moment}.{key}".encode()).decode().rstrip("=")


def _read_cursor(cursor: str) -> tuple[int, int]:
    """Microseconds and key. Raises InvalidInput."""
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode("ascii")
        moment, _, key = text.partition(".")
        position = int(moment), int(key)
    except (TypeError, ValueError, binascii.Error) as error:
        raise InvalidInput("That page of the list cannot be found; go back to its first page.") from error
    if not all(-_KEY_END <= number < _KEY_END for number in position):
        raise InvalidInput("That page of the list cannot be found; go back to its first page.")
    return position
