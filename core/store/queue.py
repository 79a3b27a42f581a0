"""The queue of episodes: claiming, signs of life, stopping, and what becomes of those whose worker died."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, select, update

from core.errors import InvalidInput, StoreCorrupt
from core.store.blobs import to_json
from core.store.ids import episode_key, run_key
from core.store.specs import read_spec
from core.store.tables import AnyRow, episodes, reward_configs, runs
from core.types import EpisodeError, EpisodeStatus, QueuedEpisode, StopReason

_QUEUED = episodes.c.status == EpisodeStatus.QUEUED.value
_RUNNING = episodes.c.status == EpisodeStatus.RUNNING.value


def claim_next(connection: Connection, worker: str, run_id: str | None) -> tuple[str, QueuedEpisode] | None:
    """Make the oldest queued episode running and this worker's. Raises UnknownEpisode for an unknown run.

    One that cannot be read is ended with the reason, so that it does not stand in the way of those behind it.
    """
    query = select(episodes.c.id, episodes.c.uuid).where(_QUEUED).order_by(episodes.c.id).limit(1)
    if run_id is not None:
        query = query.where(episodes.c.run_id == run_key(connection, run_id))
    while waiting := connection.execute(query.with_for_update(skip_locked=True)).one_or_none():
        try:
            claimed = _read(connection, waiting.id, waiting.uuid)
        except StoreCorrupt as error:
            ended = _end(StopReason.INTERRUPTED, EpisodeError("unreadable", str(error)))
            connection.execute(update(episodes).where(episodes.c.id == waiting.id).values(**ended))
            continue
        now = datetime.now(UTC)
        running = {"status": EpisodeStatus.RUNNING.value, "worker": worker, "started_at": now, "heartbeat_at": now}
        connection.execute(update(episodes).where(episodes.c.id == waiting.id).values(**running))
        return claimed
    return None


def _read(connection: Connection, key: int, episode_id: str) -> tuple[str, QueuedEpisode]:
    row = connection.execute(
        select(episodes.c.spec, episodes.c.group_index, reward_configs.c.config, runs.c.uuid.label("run"))
        .join(runs, runs.c.id == episodes.c.run_id)
        .join(reward_configs, reward_configs.c.hash == episodes.c.config_hash)
        .where(episodes.c.id == key)
    ).one_or_none()
    if row is None:
        raise StoreCorrupt(f"Episode {episode_id} is stored without its run or its reward configuration. Delete it.")
    spec = read_spec(row.spec, row.config, f"Episode {episode_id}")
    return row.run, QueuedEpisode(episode_id, spec, row.group_index)


def heartbeat(connection: Connection, episode_id: str) -> None:
    """Write the moment of a sign of life."""
    here = (episodes.c.uuid == episode_id) & _RUNNING
    connection.execute(update(episodes).where(here).values(heartbeat_at=datetime.now(UTC)))


def request_stop(connection: Connection, episode_id: str | None, run_id: str | None) -> int:
    """Abort what is queued, flag what is running; how many that was. Raises UnknownEpisode, InvalidInput."""
    if (episode_id is None) == (run_id is None):
        raise InvalidInput("What is to stop is not said; give either an episode_id or a run_id.")
    chosen: ColumnElement[bool]
    if episode_id is not None:
        chosen = episodes.c.id == episode_key(connection, episode_id)
    else:
        chosen = episodes.c.run_id == run_key(connection, run_id or "")
    aborted = _end(StopReason.ABORTED, EpisodeError("aborted", "It was stopped before a worker began with it."))
    return (
        connection.execute(update(episodes).where(chosen, _QUEUED).values(stop_requested=True, **aborted)).rowcount
        + connection.execute(update(episodes).where(chosen, _RUNNING).values(stop_requested=True)).rowcount
    )


def stop_requested(connection: Connection, episode_id: str) -> bool:
    """Whether the episode's worker should stop."""
    row = connection.execute(
        select(episodes.c.stop_requested, episodes.c.status).where(episodes.c.uuid == episode_id)
    ).one_or_none()
    return row is None or row.stop_requested or row.status != EpisodeStatus.RUNNING.value


def stale(connection: Connection, older_than_s: float) -> Sequence[AnyRow]:
    """Running episodes (id, uuid, worker, heartbeat_at) without a sign of life for that long."""
    oldest = datetime.now(UTC) - timedelta(seconds=older_than_s)
    columns = (episodes.c.id, episodes.c.uuid, episodes.c.worker, episodes.c.heartbeat_at)
    return connection.execute(select(*columns).where(_RUNNING, episodes.c.heartbeat_at < oldest)).all()


def interrupt_stale(connection: Connection, older_than_s: float) -> tuple[str, ...]:
    """End the stale ones as interrupted; their ids."""
    interrupted: list[str] = []
    for row in stale(connection, older_than_s):
        worker = f"Its worker ({row.worker})" if row.worker else "Its worker"
        detail = (
            f"{worker} gave no sign of life after {row.heartbeat_at:%Y-%m-%d %H:%M:%S} UTC. "
            "What had been recorded until then is kept."
        )
        unchanged = episodes.c.heartbeat_at == row.heartbeat_at  # a late sign of life wins
        ended = _end(StopReason.INTERRUPTED, EpisodeError("interrupted", detail))
        here = update(episodes).where(episodes.c.id == row.id, _RUNNING, unchanged).values(**ended)
        if connection.execute(here).rowcount:
            interrupted.append(row.uuid)
    return tuple(interrupted)


def interrupt(connection: Connection, episode_id: str, detail: str) -> bool:
    """End a running episode as interrupted. Raises UnknownEpisode."""
    here = (episodes.c.id == episode_key(connection, episode_id)) & _RUNNING
    ended = _end(StopReason.INTERRUPTED, EpisodeError("interrupted", detail))
    return bool(connection.execute(update(episodes).where(here).values(**ended)).rowcount)


def _end(reason: StopReason, error: EpisodeError) -> dict[str, Any]:
    return {
        "status": reason.status.value,
        "stop_reason": reason.value,
        "ended_at": datetime.now(UTC),
        "error": to_json(error),
    }
