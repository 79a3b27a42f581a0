"""`store.queue`: claim queued episodes, send heartbeats, stop and interrupt."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, select, update

from core.errors import StoreCorrupt
from core.store.blobs import to_json
from core.store.database import Database
from core.store.rows import episode_key, read_spec, run_key
from core.store.tables import AnyRow, episodes, reward_configs, runs
from core.types import EpisodeError, EpisodeStatus, QueuedEpisode, StopReason

_QUEUED = episodes.c.status == EpisodeStatus.QUEUED.value
_RUNNING = episodes.c.status == EpisodeStatus.RUNNING.value


class Queue:
    """Queued and running episodes. Methods also raise what `TraceStore` lists."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def claim_next(self, *, worker: str, run_id: str | None = None) -> tuple[str, QueuedEpisode] | None:
        """Mark the oldest queued episode as running on `worker`: (run id, episode), or None if none is queued.

        A corrupt one is interrupted with the reason, so that it does not block those behind it. Raises UnknownEpisode.
        """
        query = (
            select(episodes.c.id, episodes.c.uuid, episodes.c.spec, episodes.c.group_index, reward_configs.c.config)
            .add_columns(runs.c.uuid.label("run"))
            .join(runs, runs.c.id == episodes.c.run_id)
            .join(reward_configs, reward_configs.c.hash == episodes.c.config_hash)
            .where(_QUEUED)
            .order_by(episodes.c.id)
            .limit(1)
            .with_for_update(skip_locked=True, of=episodes)
        )
        with self._database.writing() as connection:
            if run_id is not None:
                query = query.where(episodes.c.run_id == run_key(connection, run_id))
            while row := connection.execute(query).one_or_none():
                here = update(episodes).where(episodes.c.id == row.id)
                try:
                    spec = read_spec(row.spec, row.config, f"Episode {row.uuid}")
                except StoreCorrupt as error:
                    ended = _end(StopReason.INTERRUPTED, EpisodeError("unreadable", str(error)))
                    connection.execute(here.values(**ended))
                    continue
                now = datetime.now(UTC)
                connection.execute(
                    here.values(status=EpisodeStatus.RUNNING.value, worker=worker, started_at=now, heartbeat_at=now)
                )
                return row.run, QueuedEpisode(row.uuid, spec, row.group_index)
        return None

    def is_empty(self) -> bool:
        """Whether no episode waits for a worker."""
        with self._database.reading() as connection:
            return connection.scalar(select(episodes.c.id).where(_QUEUED).limit(1)) is None

    def heartbeat(self, episode_id: str) -> None:
        """Store that the episode's worker is alive now. Does nothing if the episode is over."""
        here = (episodes.c.uuid == episode_id) & _RUNNING
        with self._database.writing() as connection:
            connection.execute(update(episodes).where(here).values(heartbeat_at=datetime.now(UTC)))

    def request_stop(self, *, episode_id: str | None = None, run_id: str | None = None) -> int:
        """Stop one episode or all of a run; returns how many. Raises UnknownEpisode.

        Queued ones are aborted at once; running ones get a flag that their worker polls.
        """
        aborted = _end(StopReason.ABORTED, EpisodeError("aborted", "Stopped before it started."))
        with self._database.writing() as connection:
            chosen: ColumnElement[bool]
            if run_id is not None:
                chosen = episodes.c.run_id == run_key(connection, run_id)
            else:
                chosen = episodes.c.id == episode_key(connection, episode_id or "")
            queued = update(episodes).where(chosen, _QUEUED).values(stop_requested=True, **aborted)
            running = update(episodes).where(chosen, _RUNNING).values(stop_requested=True)
            return connection.execute(queued).rowcount + connection.execute(running).rowcount

    def stop_requested(self, episode_id: str) -> bool:
        """Whether its worker should stop: a stop was requested, or the episode is over or deleted."""
        with self._database.reading() as connection:
            row = connection.execute(
                select(episodes.c.stop_requested, episodes.c.status).where(episodes.c.uuid == episode_id)
            ).one_or_none()
        return row is None or row.stop_requested or row.status != EpisodeStatus.RUNNING.value

    def interrupt_stale(self, *, older_than_s: float = 15.0) -> tuple[str, ...]:
        """End running episodes without a heartbeat for that long as interrupted; returns their ids."""
        with self._database.reading() as connection:  # most calls find none, and need no write lock
            if not _stale(connection, older_than_s):
                return ()
        interrupted: list[str] = []
        with self._database.writing() as connection:
            for row in _stale(connection, older_than_s):
                worker = f"Its worker ({row.worker})" if row.worker else "Its worker"
                detail = (
                    f"{worker} gave no sign of life after {row.heartbeat_at:%Y-%m-%d %H:%M:%S} UTC. "
                    "What had been recorded until then is kept."
                )
                unchanged = episodes.c.heartbeat_at == row.heartbeat_at  # a late heartbeat wins
                ended = _end(StopReason.INTERRUPTED, EpisodeError("interrupted", detail))
                here = update(episodes).where(episodes.c.id == row.id, _RUNNING, unchanged).values(**ended)
                if connection.execute(here).rowcount:
                    interrupted.append(row.uuid)
        return tuple(interrupted)

    def interrupt(self, episode_id: str, detail: str) -> bool:
        """End a running episode as interrupted. False if it was not running. Raises UnknownEpisode."""
        ended = _end(StopReason.INTERRUPTED, EpisodeError("interrupted", detail))
        with self._database.writing() as connection:
            here = (episodes.c.id == episode_key(connection, episode_id)) & _RUNNING
            return bool(connection.execute(update(episodes).where(here).values(**ended)).rowcount)

    def interrupt_queued(self, run_id: str, detail: str) -> int:
        """End the episodes of a run that wait for a worker as interrupted; returns how many. Raises UnknownEpisode."""
        ended = _end(StopReason.INTERRUPTED, EpisodeError("interrupted", detail))
        with self._database.writing() as connection:
            here = (episodes.c.run_id == run_key(connection, run_id)) & _QUEUED
            return connection.execute(update(episodes).where(here).values(**ended)).rowcount


def _stale(connection: Connection, older_than_s: float) -> Sequence[AnyRow]:
    oldest = datetime.now(UTC) - timedelta(seconds=older_than_s)
    columns = (episodes.c.id, episodes.c.uuid, episodes.c.worker, episodes.c.heartbeat_at)
    return connection.execute(select(*columns).where(_RUNNING, episodes.c.heartbeat_at < oldest)).all()


def _end(reason: StopReason, error: EpisodeError) -> dict[str, Any]:
    return {
        "status": reason.status.value,
        "stop_reason": reason.value,
        "ended_at": datetime.now(UTC),
        "error": to_json(error),
    }
