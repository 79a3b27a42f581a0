"""Runs: a launch and the episodes that belong to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, case, func, insert, select, true
from sqlalchemy.exc import IntegrityError

from core.errors import DuplicateId, StoreCorrupt, UnknownEpisode
from core.store.arguments import text, whole
from core.store.blobs import from_json, to_json, typed
from core.store.browse import summaries
from core.store.damage import Damage, countable, decoded, readable
from core.store.ids import run_key
from core.store.records import EpisodeSpent, EpisodeSummary, RunSummary
from core.store.specs import episode_row, save_reward_configs
from core.store.tables import AnyRow, columns_of, decisions, episodes, runs
from core.types import EpisodeStatus, QueuedEpisode, Run, Spent

_NEWEST_FIRST: Final = (runs.c.created_at.desc(), runs.c.id.desc())
_STATUSES: Final = [status.value for status in EpisodeStatus]


def insert_run(connection: Connection, run: Run) -> None:
    """Store a run and its episodes as queued. Raises DuplicateId."""
    if connection.scalar(select(runs.c.id).where(runs.c.uuid == run.id)) is not None:
        raise DuplicateId(f"A run with the id {run.id!r} is stored already. Nothing was launched; give another id.")
    try:
        key = connection.execute(
            insert(runs)
            .values(
                uuid=run.id,
                name=run.name,
                created_at=run.created_at,
                config=to_json(run.config),
                training_session_id=run.training_session_id,
                trace_correlation_id=run.trace_correlation_id,
            )
            .returning(runs.c.id)
        ).scalar_one()
        save_reward_configs(connection, (episode.spec.reward for episode in run.episodes))
        rows = [episode_row(key, episode, run.created_at, EpisodeStatus.QUEUED) for episode in run.episodes]
        if rows:
            connection.execute(insert(episodes), rows)
    except IntegrityError as error:
        raise DuplicateId(
            f"The run {run.id!r}, or an episode of it, has an id that is in use. Nothing was launched."
        ) from error


def insert_following(connection: Connection, run_id: str, episode: QueuedEpisode, worker: str) -> None:
    """Store an episode that is played already. Raises DuplicateId, UnknownEpisode."""
    key = run_key(connection, run_id)
    now = datetime.now(UTC)
    save_reward_configs(connection, [episode.spec.reward])
    row = episode_row(key, episode, now, EpisodeStatus.RUNNING)
    try:
        connection.execute(insert(episodes), [{**row, "worker": worker, "started_at": now, "heartbeat_at": now}])
    except IntegrityError as error:
        raise DuplicateId(f"An episode with the id {episode.id!r} is stored already.") from error


def newest(connection: Connection, limit: int) -> tuple[RunSummary, ...]:
    """The newest runs that can be read, newest first. Raises InvalidInput."""
    limit = whole(limit, "The number of runs")
    skipped = 0
    while True:
        # What is damaged, such as a moment that sorts before all others, takes the place of no run that is not.
        newest_keys = select(runs.c.id).order_by(*_NEWEST_FIRST).limit(limit + skipped)
        found, damage = _summaries(connection, runs.c.id.in_(newest_keys))
        if len(damage) <= skipped or limit <= 0:
            return tuple(found)
        skipped = len(damage)


def damaged_ones(connection: Connection) -> Damage:
    """All runs that cannot be read."""
    return _summaries(connection, true())[1]


def one(connection: Connection, run_id: str) -> RunSummary:
    """One run. Raises UnknownEpisode, StoreCorrupt."""
    try:
        key = run_key(connection, run_id)
    except UnknownEpisode:
        # One whose id is no text is found under what that is written out as.
        for name, error in damaged_ones(connection):
            if name == run_id:
                raise error from None
        raise
    found, damage = _summaries(connection, runs.c.id == key)
    for _, error in damage:
        raise error
    return found[0]


def episodes_of(connection: Connection, run_id: str) -> tuple[list[EpisodeSummary], Damage]:
    """All episodes of a run, in order, and those that cannot be read. Raises UnknownEpisode."""
    return summaries(connection, episodes.c.run_id == run_key(connection, run_id), [episodes.c.id])


def spent(connection: Connection, run_id: str) -> Spent:
    """What the model calls of a run's stored decisions have come to. Raises UnknownEpisode.

    Here and below, damaged counts and costs add nothing.
    """
    key = run_key(connection, run_id)
    sums: AnyRow = connection.execute(
        select(*(func.coalesce(part, 0) for part in _spent_sums(connection)))
        .join(episodes, decisions.c.episode_id == episodes.c.id)
        .where(episodes.c.run_id == key)
    ).one()
    calls, tokens_in, tokens_out, cost = sums
    return Spent(int(calls), int(tokens_in) + int(tokens_out), float(cost))


def spent_by(connection: Connection, episode_ids: Sequence[str]) -> dict[str, EpisodeSpent]:
    """The same of each of some episodes, by its whole id; those that are not stored are left out."""
    rows = connection.execute(
        select(episodes.c.uuid, *_spent_sums(connection))
        .outerjoin(decisions, decisions.c.episode_id == episodes.c.id)
        .where(episodes.c.uuid.in_([text(id_, "The id of an episode") for id_ in episode_ids]))
        .group_by(episodes.c.uuid)
    )
    return {uuid: _spent(f"Episode {uuid}", *sums) for uuid, *sums in rows}


def _spent_sums(connection: Connection) -> list[ColumnElement[Any]]:
    parts = (decisions.c.model_calls, decisions.c.tokens_in, decisions.c.tokens_out, decisions.c.cost_usd)
    return [func.sum(countable(connection, part)) for part in parts]


def _spent(what: str, calls: Any, tokens_in: Any, tokens_out: Any, cost_usd: Any) -> EpisodeSpent:
    fields = {"calls": calls or 0, "tokens_in": tokens_in, "tokens_out": tokens_out, "cost_usd": cost_usd}
    return typed(fields, EpisodeSpent, f"What was spent on {what}")


def _summaries(connection: Connection, wanted: ColumnElement[bool]) -> tuple[list[RunSummary], Damage]:
    """The runs under a condition, newest first, and those among them that cannot be read."""

    def read(some: ColumnElement[bool]) -> list[AnyRow]:
        return list(connection.execute(select(runs).where(some).order_by(*_NEWEST_FIRST)))

    rows, damage = readable(connection, wanted, _NEWEST_FIRST, read, runs)
    counts = _counts(connection, [row.id for row in rows])
    found: list[RunSummary] = []
    for row in rows:
        try:
            found.append(_summary(row, counts[row.id]))
        except StoreCorrupt as error:
            damage.append((decoded(row.uuid), error))
    return found, damage


def _counts(connection: Connection, keys: Sequence[int]) -> dict[int, Counter[str | None]]:
    """By run, how many of its episodes have which status; None stands for all that nobody knows."""
    status = episodes.c.status
    counted = connection.execute(
        select(episodes.c.run_id, case((status.in_(_STATUSES), status)), func.count())
        .where(episodes.c.run_id.in_(keys))
        .group_by(episodes.c.run_id, status)
    )
    counts: dict[int, Counter[str | None]] = {key: Counter() for key in keys}
    for key, name, count in counted:
        counts[key][name] += count
    return counts


def _summary(row: AnyRow, counts: Counter[str | None]) -> RunSummary:
    """Raises StoreCorrupt."""
    what = f"Run {decoded(row.uuid)}"
    fields = {
        **columns_of(row),
        "id": row.uuid,
        "config": from_json(row.config, dict[str, Any], f"The configuration of {what}"),
        "n_episodes": counts.total(),
        "counts": {name: count for name, count in counts.items() if name is not None},
    }
    return typed(fields, RunSummary, what)
