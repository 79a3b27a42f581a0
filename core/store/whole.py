"""Stores an episode that was played elsewhere, in one transaction: whole or not at all."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from sqlalchemy import Connection, insert, select

from core.errors import InvalidInput
from core.store.database import Database, OneTransaction
from core.store.recorder import EpisodeRecorder
from core.store.rows import episode_row, run_row, save_reward_configs
from core.store.tables import episodes, runs
from core.types import Episode, EpisodeStatus, QueuedEpisode, Run

_WORKER: Final = "import"
_AT_ONCE: Final = 100  # decisions; their scenes are one chunk, which is read as a whole


def store_whole(database: Database, run: Run, episode: Episode, *, group_index: int, created_at: datetime) -> bool:
    """Store an episode that is over, and its run if there is none of that id. False if it is stored already.

    Raises InvalidInput for an episode that is not over.
    """
    if episode.outcome is None:
        raise InvalidInput(f"Episode {episode.id} is not over.")
    with database.writing() as connection:
        if connection.scalar(select(episodes.c.id).where(episodes.c.uuid == episode.id)) is not None:
            return False
        key = connection.scalar(select(runs.c.id).where(runs.c.uuid == run.id)) or _insert_run(connection, run)
        save_reward_configs(connection, [episode.spec.reward])
        queued = QueuedEpisode(episode.id, episode.spec, group_index)
        row = episode_row(key, queued, created_at, EpisodeStatus.RUNNING)
        started = {"worker": _WORKER, "started_at": episode.started_at, "heartbeat_at": created_at}
        connection.execute(insert(episodes), {**row, **started})
        recorder = EpisodeRecorder(OneTransaction(connection), episode.id)
        if episode.initial is not None:
            recorder.start(episode.started_at, episode.initial)
        for first in range(0, len(episode.decisions), _AT_ONCE):
            recorder.record_all(episode.decisions[first : first + _AT_ONCE])
        recorder.finish(episode.outcome)
    return True


def _insert_run(connection: Connection, run: Run) -> int:
    return connection.execute(insert(runs).returning(runs.c.id), run_row(run)).scalar_one()
