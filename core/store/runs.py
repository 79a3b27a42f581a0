"""Runs: a launch and the episodes that belong to it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, func, insert, select
from sqlalchemy.exc import IntegrityError

from core.errors import DuplicateId
from core.store.arguments import text, whole
from core.store.blobs import from_json, to_json, typed
from core.store.browse import summaries
from core.store.damage import Damage
from core.store.ids import run_key
from core.store.records import EpisodeSpent, EpisodeSummary, RunSummary
from core.store.specs import episode_row, save_reward_configs
from core.store.tables import AnyRow, columns_of, decisions, episodes, runs
from core.types import EpisodeStatus, QueuedEpisode, Run, Spent


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
    """The newest runs, newest first. Raises InvalidInput."""
    limit = whole(limit, "The number of runs")
    rows = connection.execute(select(runs).order_by(runs.c.created_at.desc(), runs.c.id.desc()).limit(limit)).all()
    return _run_summaries(connection, rows)


def one(connection: Connection, run_id: str) -> RunSummary:
    """One run. Raises UnknownEpisode."""
    rows = connection.execute(select(runs).where(runs.c.id == run_key(connection, run_id))).all()
    (summary,) = _run_summaries(connection, rows)
    return summary


def episodes_of(connection: Connection, run_id: str) -> tuple[list[EpisodeSummary], Damage]:
    """All episodes of a run, in order, and those that cannot be read. Raises UnknownEpisode."""
    return summaries(connection, episodes.c.run_id == run_key(connection, run_id), [episodes.c.id])


def spent(connection: Connection, run_id: str) -> Spent:
    """What the model calls of a run's stored decisions have come to. Raises UnknownEpisode."""
    key = run_key(connection, run_id)
    parts = (decisions.c.model_calls, decisions.c.tokens_in, decisions.c.tokens_out, decisions.c.cost_usd)
    sums: AnyRow = connection.execute(
        select(*(func.coalesce(func.sum(part), 0) for part in parts))
        .join(episodes, decisions.c.episode_id == episodes.c.id)
        .where(episodes.c.run_id == key)
    ).one()
    calls, tokens_in, tokens_out, cost = sums
    return Spent(int(calls), int(tokens_in) + int(tokens_out), float(cost))


def spent_by(connection: Connection, episode_ids: Sequence[str]) -> dict[str, EpisodeSpent]:
    """The same of each of some episodes, by its whole id; those that are not stored are left out."""
    parts = (decisions.c.model_calls, decisions.c.tokens_in, decisions.c.tokens_out, decisions.c.cost_usd)
    rows = connection.execute(
        select(episodes.c.uuid, *map(func.sum, parts))
        .outerjoin(decisions, decisions.c.episode_id == episodes.c.id)
        .where(episodes.c.uuid.in_([text(id_, "The id of an episode") for id_ in episode_ids]))
        .group_by(episodes.c.uuid)
    )
    return {uuid: _spent(f"Episode {uuid}", *sums) for uuid, *sums in rows}


def _spent(what: str, calls: Any, tokens_in: Any, tokens_out: Any, cost_usd: Any) -> EpisodeSpent:
    fields = {"calls": calls or 0, "tokens_in": tokens_in, "tokens_out": tokens_out, "cost_usd": cost_usd}
    return typed(fields, EpisodeSpent, f"What was spent on {what}")


def _run_summaries(connection: Connection, rows: Sequence[AnyRow]) -> tuple[RunSummary, ...]:
    counted = connection.execute(
        select(episodes.c.run_id, episodes.c.status, func.count())
        .where(episodes.c.run_id.in_([row.id for row in rows]))
        .group_by(episodes.c.run_id, episodes.c.status)
    )
    counts: dict[int, dict[str, int]] = {row.id: {} for row in rows}
    for key, status, count in counted:
        counts[key][status] = count
    return tuple(_summary(row, counts[row.id]) for row in rows)


def _summary(row: AnyRow, counts: dict[str, int]) -> RunSummary:
    what = f"Run {row.uuid}"
    fields = {
        **columns_of(row),
        "id": row.uuid,
        "config": from_json(row.config, dict[str, Any], f"The configuration of {what}"),
        "n_episodes": sum(counts.values()),
        "counts": counts,
    }
    return typed(fields, RunSummary, what)
