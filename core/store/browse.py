"""Lists of episodes: filters, pages by key, totals."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, case, exists, func, or_, select

from core.errors import InvalidInput
from core.store.blobs import from_json
from core.store.ids import episode_key
from core.store.records import COUNT_CAP, EpisodeFilter, EpisodePage, EpisodeSummary, Totals
from core.store.specs import read_spec
from core.store.tables import (
    AnyRow,
    AnySelect,
    UtcTime,
    episode_achievements,
    episodes,
    reward_configs,
    runs,
    store_meta,
)
from core.types import EpisodeError, EpisodeStatus, StopReason

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
    return summaries(connection, lambda query: query.where(episodes.c.id == key))[0]


def page(connection: Connection, wanted: EpisodeFilter, cursor: str | None, limit: int) -> EpisodePage:
    """A page, newest first. Raises InvalidInput for a bad cursor."""
    conditions = _conditions(wanted)
    if cursor is not None:
        conditions.append(_older_than(*_read_cursor(cursor)))
    newest_first = (episodes.c.created_at.desc(), episodes.c.id.desc())
    keys = connection.execute(
        select(episodes.c.id, episodes.c.created_at).where(*conditions).order_by(*newest_first).limit(limit + 1)
    ).all()
    shown = [key.id for key in keys[:limit]]
    rows = summaries(connection, lambda query: query.where(episodes.c.id.in_(shown)).order_by(*newest_first))
    more = len(keys) > limit and limit > 0
    return EpisodePage(rows, _cursor(keys[limit - 1].created_at, keys[limit - 1].id) if more else None)


def totals(connection: Connection, wanted: EpisodeFilter) -> Totals:
    """Sums over what the filter lets through, the newest `COUNT_CAP` at most."""
    counters = (episodes.c[name] for name in _COUNTERS)
    newest_first = (episodes.c.created_at.desc(), episodes.c.id.desc())
    capped = select(*counters).where(*_conditions(wanted)).order_by(*newest_first).limit(COUNT_CAP).subquery()
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
    return Totals(
        episodes=int(row.episodes),
        steps=int(row.steps),
        decisions=int(row.decisions),
        running=int(row.running),
        queued=int(row.queued),
        mean_env_return=_float(row.mean_env_return),
        mean_shaped_return=_float(row.mean_shaped_return),
        mean_achievements=_float(row.mean_achievements),
    )


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
    return EpisodeSummary(
        id=row.uuid,
        run_id=row.run,
        spec=spec,
        policy=row.policy,
        seed=spec.seed,
        world_episode=spec.world_episode,
        policy_seed=spec.policy_seed,
        group_index=row.group_index,
        status=EpisodeStatus(row.status),
        stop_reason=row.stop_reason and StopReason(row.stop_reason),
        error=None if row.error is None else from_json(row.error, EpisodeError, f"The error of {what}"),
        created_at=row.created_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
        n_steps=row.n_steps,
        n_decisions=row.n_decisions,
        env_return=row.env_return,
        shaped_return=row.shaped_return,
        achievements=achievements,
        config_hash=row.config_hash,
        stop_requested=row.stop_requested,
    )


def _conditions(wanted: EpisodeFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if wanted.policies:
        conditions.append(episodes.c.policy.in_(wanted.policies))
    if wanted.seeds:
        storable = [seed for seed in wanted.seeds if abs(seed) < _KEY_END]  # others cannot be stored, so match nothing
        conditions.append(episodes.c.seed.in_(storable))
    if wanted.statuses:
        conditions.append(episodes.c.status.in_([status.value for status in wanted.statuses]))
    conditions.extend(map(_has_unlocked, wanted.achievements))
    if wanted.min_reward is not None:
        conditions.append(episodes.c.shaped_return >= wanted.min_reward)
    if wanted.max_reward is not None:
        conditions.append(episodes.c.shaped_return <= wanted.max_reward)
    if wanted.created_after is not None:
        conditions.append(episodes.c.created_at >= wanted.created_after)
    if wanted.created_before is not None:
        conditions.append(episodes.c.created_at < wanted.created_before)
    if wanted.run_id is not None:
        its_run = select(runs.c.id).where(runs.c.uuid == wanted.run_id).scalar_subquery()
        conditions.append(episodes.c.run_id == its_run)
    return conditions


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
    except (ValueError, OverflowError, binascii.Error) as error:
        raise InvalidInput("That page of the list cannot be found; go back to its first page.") from error
    if abs(position[1]) >= _KEY_END:
        raise InvalidInput("That page of the list cannot be found; go back to its first page.")
    return position


def _float(value: Any) -> float | None:
    return None if value is None else float(value)
