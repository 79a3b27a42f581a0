"""Lists of episodes: filters, pages by key, totals."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, case, exists, func, or_, select
from sqlalchemy.exc import ArgumentError

from core.errors import InvalidInput, StoreCorrupt
from core.store.arguments import whole
from core.store.blobs import from_json, typed
from core.store.ids import episode_key
from core.store.records import COUNT_CAP, EpisodeFilter, EpisodePage, EpisodeSummary, Totals
from core.store.specs import read_spec
from core.store.tables import (
    AnyRow,
    AnySelect,
    UtcTime,
    columns_of,
    episode_achievements,
    episodes,
    reward_configs,
    runs,
    store_meta,
)
from core.types import EpisodeError, EpisodeStatus

_KEY_END: Final = 2**63
_COUNTERS: Final = ("status", "n_steps", "n_decisions", "n_achievements", "env_return", "shaped_return")
_OVER: Final = [status.value for status in EpisodeStatus if status.is_over]


def is_empty(connection: Connection) -> bool:
    """Whether no episode is stored."""
    return connection.scalar(select(episodes.c.id).limit(1)) is None


def generation(connection: Connection) -> int:
    """How often something was deleted."""
    return connection.execute(select(store_meta.c.generation)).scalar_one()


def policies(connection: Connection) -> tuple[str, ...]:
    """The policies of stored episodes."""
    return tuple(connection.scalars(select(episodes.c.policy).distinct().order_by(episodes.c.policy)))


def one(connection: Connection, episode_id: str) -> EpisodeSummary:
    """One episode. Raises UnknownEpisode."""
    key = episode_key(connection, episode_id)
    found = summaries(connection, lambda query: query.where(episodes.c.id == key))
    if not found:
        raise StoreCorrupt(
            f"Episode {episode_id} is stored without its run or its reward configuration. Delete it, or put back a "
            "copy of the database that is whole."
        )
    return found[0]


def page(connection: Connection, wanted: EpisodeFilter, cursor: str | None, limit: int) -> EpisodePage:
    """A page, newest first. Raises InvalidInput for a bad cursor, filter or limit."""
    narrowed = conditions(wanted)
    limit = whole(limit, "The length of the page")
    if cursor is not None:
        narrowed.append(_older_than(*_read_cursor(cursor)))
    newest_first = (episodes.c.created_at.desc(), episodes.c.id.desc())
    keys = connection.execute(
        select(episodes.c.id, episodes.c.created_at).where(*narrowed).order_by(*newest_first).limit(limit + 1)
    ).all()
    shown = [key.id for key in keys[:limit]]
    rows = summaries(connection, lambda query: query.where(episodes.c.id.in_(shown)).order_by(*newest_first))
    more = len(keys) > limit and limit > 0
    return EpisodePage(rows, _cursor(keys[limit - 1].created_at, keys[limit - 1].id) if more else None)


def totals(connection: Connection, wanted: EpisodeFilter) -> Totals:
    """Sums over what the filter lets through, the newest `COUNT_CAP` at most."""
    counters = (episodes.c[name] for name in _COUNTERS)
    newest_first = (episodes.c.created_at.desc(), episodes.c.id.desc())
    capped = select(*counters).where(*conditions(wanted)).order_by(*newest_first).limit(COUNT_CAP).subquery()
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


def summaries(connection: Connection, narrowed: Callable[[AnySelect], AnySelect]) -> tuple[EpisodeSummary, ...]:
    """The episodes that a narrowed and ordered query over `episodes` finds."""
    query = (
        select(episodes, reward_configs.c.config, runs.c.uuid.label("run"))
        .join(runs, runs.c.id == episodes.c.run_id)
        .join(reward_configs, reward_configs.c.hash == episodes.c.config_hash)
    )
    rows = connection.execute(narrowed(query)).all()
    unlocked: dict[int, list[str]] = {row.id: [] for row in rows}
    by_step = (episode_achievements.c.step, episode_achievements.c.name)
    names = connection.execute(
        select(episode_achievements.c.episode_id, episode_achievements.c.name)
        .where(episode_achievements.c.episode_id.in_(list(unlocked)))
        .order_by(*by_step)
    )
    for key, name in names:
        unlocked[key].append(name)
    return tuple(_summary(row, tuple(unlocked[row.id])) for row in rows)


def _summary(row: AnyRow, achievements: tuple[str, ...]) -> EpisodeSummary:
    what = f"Episode {row.uuid}"
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


def _older_than(created_at: datetime, key: int) -> ColumnElement[bool]:
    same_moment = and_(episodes.c.created_at == created_at, episodes.c.id < key)
    return and_(episodes.c.created_at <= created_at, or_(episodes.c.created_at < created_at, same_moment))


def _cursor(created_at: datetime, key: int) -> str:
    text = f"{UtcTime.to_microseconds(created_at)}.{key}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read_cursor(cursor: str) -> tuple[datetime, int]:
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode("ascii")
        moment, _, key = text.partition(".")
        position = UtcTime.from_microseconds(int(moment)), int(key)
    except (TypeError, ValueError, OverflowError, binascii.Error) as error:
        raise InvalidInput("That page of the list cannot be found; go back to its first page.") from error
    if abs(position[1]) >= _KEY_END:
        raise InvalidInput("That page of the list cannot be found; go back to its first page.")
    return position
