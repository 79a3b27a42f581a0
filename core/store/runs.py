"""`store.runs`: a run and the episodes that belong to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, func, insert, select
from sqlalchemy.exc import IntegrityError

from core.errors import DuplicateId
from core.store.blobs import from_json, typed
from core.store.database import Database
from core.store.episodes import SPENT, spent_of, summaries
from core.store.records import EpisodeSummary, RunSummary
from core.store.rows import Listing, episode_row, listing, run_key, run_row, save_reward_configs
from core.store.tables import AnyRow, columns_of, decisions, episodes, runs
from core.types import EpisodeStatus, QueuedEpisode, Run, Spent

_NEWEST_FIRST: Final = (runs.c.created_at.desc(), runs.c.id.desc())


class Runs:
    """Stored runs. Methods also raise what `TraceStore` lists."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, run: Run) -> None:
        """Store a run with its episodes as queued. Raises DuplicateId, and then nothing is stored."""
        with self._database.writing() as connection:
            try:
                key = connection.execute(insert(runs).returning(runs.c.id), run_row(run)).scalar_one()
                save_reward_configs(connection, (episode.spec.reward for episode in run.episodes))
                rows = [episode_row(key, episode, run.created_at, EpisodeStatus.QUEUED) for episode in run.episodes]
                if rows:
                    connection.execute(insert(episodes), rows)
            except IntegrityError as error:
                raise DuplicateId(
                    f"The id of run {run.id!r} or of one of its episodes is stored already. Nothing was launched."
                ) from error

    def create_if_new(self, run: Run) -> bool:
        """Store a run unless one of its id is stored; whether it was. For programs that may start twice."""
        try:
            self.create(run)
        except DuplicateId:
            return False
        return True

    def add_queued(self, run_id: str, queued: Sequence[QueuedEpisode]) -> None:
        """Add episodes to a run, for workers to claim. Raises UnknownEpisode, DuplicateId; nothing is stored then."""
        now = datetime.now(UTC)
        with self._database.writing() as connection:
            key = run_key(connection, run_id)
            save_reward_configs(connection, (episode.spec.reward for episode in queued))
            rows = [episode_row(key, episode, now, EpisodeStatus.QUEUED) for episode in queued]
            try:
                connection.execute(insert(episodes), rows)
            except IntegrityError as error:
                raise DuplicateId(f"An episode of run {run_id!r} is stored already.") from error

    def add_episode(self, run_id: str, episode: QueuedEpisode, *, worker: str = "") -> None:
        """Store a further world of a rollout, which `worker` is playing. Raises UnknownEpisode."""
        now = datetime.now(UTC)
        with self._database.writing() as connection:
            key = run_key(connection, run_id)
            save_reward_configs(connection, [episode.spec.reward])
            row = episode_row(key, episode, now, EpisodeStatus.RUNNING)
            connection.execute(insert(episodes), {**row, "worker": worker, "started_at": now, "heartbeat_at": now})

    def newest(self, limit: int = 50, *, batch_id: str | None = None) -> Listing[RunSummary]:
        """The newest runs, newest first; with an id only those of that batch."""
        with self._database.reading() as connection:
            keys = select(runs.c.id).order_by(*_NEWEST_FIRST).limit(limit)
            if batch_id is not None:
                keys = keys.where(runs.c.batch_id == batch_id)
            rows, groups = _rows(connection, runs.c.id.in_(keys))
        return listing(rows, "Run", lambda row, name: _summary(row, groups[row.id], name))

    def get(self, run_id: str) -> RunSummary:
        """One run. Raises UnknownEpisode, StoreCorrupt."""
        with self._database.reading() as connection:
            (row,), groups = _rows(connection, runs.c.id == run_key(connection, run_id))
            return _summary(row, groups[row.id], f"Run {run_id}")

    def episodes(self, run_id: str) -> Listing[EpisodeSummary]:
        """All episodes of a run, in launch order. Raises UnknownEpisode."""
        with self._database.reading() as connection:
            return summaries(connection, [episodes.c.run_id == run_key(connection, run_id)], [episodes.c.id])

    def spent(self, run_id: str) -> Spent:
        """The calls, tokens and cost of all its model calls so far. Raises UnknownEpisode."""
        query = select(*SPENT).join(episodes, decisions.c.episode_id == episodes.c.id)
        with self._database.reading() as connection:
            sums = connection.execute(query.where(episodes.c.run_id == run_key(connection, run_id))).one()
        return spent_of(*sums)


class _Group(NamedTuple):
    """The episodes of one run that have the same status."""

    status: str
    episodes: int
    started_at: datetime | None
    ended_at: datetime | None


def _rows(connection: Connection, wanted: ColumnElement[bool]) -> tuple[list[AnyRow], defaultdict[int, list[_Group]]]:
    """Runs, newest first, and by their keys how many episodes have which status, first start and last end."""
    rows = list(connection.execute(select(runs).where(wanted).order_by(*_NEWEST_FIRST)))
    counted = connection.execute(
        select(
            episodes.c.run_id,
            episodes.c.status,
            func.count().label("episodes"),
            func.min(episodes.c.started_at).label("started_at"),
            func.max(episodes.c.ended_at).label("ended_at"),
        )
        .where(episodes.c.run_id.in_([row.id for row in rows]))
        .group_by(episodes.c.run_id, episodes.c.status)
    )
    groups = defaultdict[int, list[_Group]](list)
    for group in counted:
        groups[group.run_id].append(_Group(group.status, group.episodes, group.started_at, group.ended_at))
    return rows, groups


def _summary(row: AnyRow, groups: Sequence[_Group], name: str) -> RunSummary:
    fields = {
        **columns_of(row),
        "id": row.uuid,
        "config": from_json(row.config, dict[str, Any], f"The configuration of {name}"),
        "n_episodes": sum(group.episodes for group in groups),
        "counts": {group.status: group.episodes for group in groups},
        "started_at": min((group.started_at for group in groups if group.started_at), default=None),
        "last_end": max((group.ended_at for group in groups if group.ended_at), default=None),
    }
    return typed(fields, RunSummary, name)
