"""`store.episodes`: lists of episodes, one episode whole or in parts, deleting."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, func, or_, select, update

from core.errors import StoreCorrupt, StoreError, UnknownEpisode
from core.scenes import unpack_scenes
from core.store.blobs import from_json, typed
from core.store.codec import whole_call
from core.store.database import Database
from core.store.episode_reader import EpisodeReader, numbers_of
from core.store.records import (
    MAX_COUNTED,
    Cursor,
    DecisionSummary,
    EpisodeFilter,
    EpisodePage,
    EpisodeSummary,
    Exchange,
    Totals,
)
from core.store.rows import Listing, episode_key, in_parts, listing, read_spec
from core.store.sqlite_file import LOCK_WAIT
from core.store.tables import (
    AnyRow,
    columns_of,
    decisions,
    episode_achievements,
    episodes,
    reward_configs,
    runs,
    scene_chunks,
    store_meta,
)
from core.types import Decision, Episode, EpisodeError, EpisodeStatus, Outcome, Scene, Spent, sum_known

_KEY_END: Final = 2**63
NEWEST_FIRST: Final = (episodes.c.created_at.desc(), episodes.c.id.desc())

SPENT: Final = tuple(
    map(func.sum, (decisions.c.model_calls, decisions.c.tokens_in, decisions.c.tokens_out, decisions.c.cost_usd))
)
"""The sums that `spent_of` takes."""
ANY_EPISODE: Final = EpisodeFilter()
_OVER: Final = [status.value for status in EpisodeStatus if status.is_over]
_DELETED_AT_ONCE: Final = 50  # other writers wait for 61 ms at most
_VACUUM_PAGES: Final = 2000


class Episodes:
    """Stored episodes. Ids may be given as unique prefixes of six characters or more.

    Raises UnknownEpisode for an unknown id, StoreCorrupt for an episode that cannot be read, and what `TraceStore`
    lists.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    # -------------------------------------------------------------------------------------------------- many

    def is_empty(self) -> bool:
        """True if no episode is stored."""
        with self._database.reading() as connection:
            return connection.scalar(select(episodes.c.id).limit(1)) is None

    def page(
        self, filter: EpisodeFilter = ANY_EPISODE, *, cursor: Cursor | None = None, limit: int = 50
    ) -> EpisodePage:
        """A page of episodes, newest first. Later arrivals shift nothing on the following pages.

        cursor: `next_cursor` of the page before it.
        """
        narrowed = [*conditions(filter), *([] if cursor is None else [_older_than(cursor)])]
        with self._database.reading() as connection:
            keys = connection.execute(
                select(episodes.c.id, episodes.c.created_at).where(*narrowed).order_by(*NEWEST_FIRST).limit(limit + 1)
            ).all()
            found = summaries(connection, [episodes.c.id.in_([key.id for key in keys[:limit]])])
        last = keys[limit - 1] if len(keys) > limit > 0 else None
        following = (last.created_at, last.id) if last else None
        return EpisodePage(found.rows, found.unreadable, following)

    def totals(self, filter: EpisodeFilter = ANY_EPISODE) -> Totals:
        """Counts and means of the newest `MAX_COUNTED` episodes that pass the filter."""
        newest = select(episodes).where(*conditions(filter)).order_by(*NEWEST_FIRST).limit(MAX_COUNTED).subquery().c
        played = and_(newest.status.in_(_OVER), newest.n_steps > 0)
        query = select(
            func.count(newest.id).label("episodes"),
            func.coalesce(func.sum(newest.n_steps), 0).label("steps"),
            func.coalesce(func.sum(newest.n_decisions), 0).label("decisions"),
            func.count().filter(newest.status == EpisodeStatus.RUNNING.value).label("running"),
            func.count().filter(newest.status == EpisodeStatus.QUEUED.value).label("queued"),
            func.avg(newest.env_return).filter(played).label("mean_env_return"),
            func.avg(newest.shaped_return).filter(played).label("mean_shaped_return"),
            func.avg(newest.n_achievements * 1.0).filter(played).label("mean_achievements"),
        )
        with self._database.reading() as connection:
            return typed(columns_of(connection.execute(query).one()), Totals, "The sums over the episodes")

    def policies(self) -> tuple[str, ...]:
        """The policies of stored episodes, in alphabetical order."""
        with self._database.reading() as connection:
            return tuple(sorted(connection.scalars(select(episodes.c.policy).distinct())))

    def spent(self, ids: Sequence[str]) -> dict[str, Spent]:
        """By whole id, the calls, tokens and cost of their model calls so far. Ids that are not stored are left out."""
        with self._database.reading() as connection:
            rows: Sequence[AnyRow] = connection.execute(
                select(episodes.c.uuid, *SPENT)
                .outerjoin(decisions, decisions.c.episode_id == episodes.c.id)
                .where(episodes.c.uuid.in_(ids))
                .group_by(episodes.c.uuid)
            ).all()
        return {uuid: spent_of(*sums) for uuid, *sums in rows}

    def unlock_steps(self, ids: Iterable[str]) -> dict[str, dict[str, int]]:
        """By whole id, the index of the step that first unlocked each achievement, in order.

        An episode that unlocked nothing has an empty table; ids that are not stored are left out.
        """
        found: dict[str, dict[str, int]] = {}
        for some in in_parts(ids):
            with self._database.reading() as connection:
                for uuid, name, step in connection.execute(
                    select(episodes.c.uuid, episode_achievements.c.name, episode_achievements.c.step)
                    .outerjoin(episode_achievements, episode_achievements.c.episode_id == episodes.c.id)
                    .where(episodes.c.uuid.in_(some))
                    .order_by(episode_achievements.c.step, episode_achievements.c.name)
                ):
                    steps = found.setdefault(uuid, {})
                    if name is not None:
                        steps[name] = step
        return found

    def delete(self, ids: Iterable[str]) -> int:
        """Delete for good and give the space back; returns how many were deleted. Corrupt ones can be deleted too.

        Runs left without episodes are deleted too, and unknown ids skipped. Raises StoreError if one of the episodes is
        running: then nothing is deleted.
        """
        parts = tuple(in_parts(ids, _DELETED_AT_ONCE))
        with self._database.reading() as connection:
            for some in parts:
                _refuse_running(_to_delete(connection, some))
        deleted = 0
        for some in parts:
            with self._database.writing() as connection:
                rows = _to_delete(connection, some)
                _refuse_running(rows)  # a queued one may have been claimed since
                deleted += _delete(connection, rows)
        if deleted and self._database.is_sqlite:
            _shrink(self._database)
        return deleted

    # --------------------------------------------------------------------------------------------------- one

    def get(self, episode_id: str) -> EpisodeSummary:
        """One episode without its decisions."""
        with self._database.reading() as connection:
            return _get(connection, episode_id)

    def load(self, episode_id: str) -> Episode:
        """The whole episode, equal to what was recorded."""
        with self._database.reading() as connection:
            summary = _get(connection, episode_id)
            reader = EpisodeReader(connection, summary.id)
            scenes = unpack_scenes(reader.packed_scenes())
            outcome = None
            if summary.stop_reason is not None and summary.ended_at is not None:
                outcome = Outcome(summary.stop_reason, summary.ended_at, summary.error)
            return Episode(
                id=summary.id,
                run_id=summary.run_id,
                spec=summary.spec,
                initial=reader.start_state(scenes[0]) if scenes else None,
                decisions=tuple(reader.decisions(scenes)),
                started_at=summary.started_at or summary.created_at,
                outcome=outcome,
            )

    def decisions(self, episode_id: str) -> tuple[DecisionSummary, ...]:
        """All decisions in order, without payloads."""
        with self._database.reading() as connection:
            key = episode_key(connection, episode_id)
            rows = connection.execute(select(decisions).where(decisions.c.episode_id == key).order_by(decisions.c.idx))
            return tuple(
                typed(
                    {
                        **columns_of(row),
                        "index": row.idx,
                        "unlocked": row.unlocked.split() if row.unlocked else (),
                        "actions": row.actions.split(),
                        "numbers": numbers_of(row, f"Decision {row.idx} of episode {episode_id}"),
                    },
                    DecisionSummary,
                    f"Decision {row.idx} of episode {episode_id}",
                )
                for row in rows
            )

    def decision(self, episode_id: str, index: int) -> Decision:
        """One whole decision. Raises UnknownEpisode if the episode has no decision of that index."""
        with self._database.reading() as connection:
            reader = EpisodeReader(connection, episode_id)
            row = connection.execute(reader.rows.where(decisions.c.idx == index)).one_or_none()
            if row is None:
                n_decisions = _get(connection, episode_id).n_decisions
                raise UnknownEpisode(f"Episode {episode_id} has no decision {index}: it has {n_decisions}.")
            return reader.decision(row)

    def next_exchange(
        self,
        episode_id: str,
        *,
        after: int = -1,
        min_reward: float | None = None,
        models: Sequence[str] = (),
        with_model_call: bool = True,
    ) -> Exchange | None:
        """The first decision after that index that passes the filters, without its states; None at the end.

        min_reward: the least shaped reward, inclusive. models: by the names that they answered with; empty for any.
        with_model_call: leave out decisions that asked no model.
        """
        with self._database.reading() as connection:
            reader = EpisodeReader(connection, episode_id)
            query = reader.rows.where(decisions.c.idx > after).order_by(decisions.c.idx).limit(1)
            if min_reward is not None:
                query = query.where(decisions.c.reward >= min_reward)
            if models:
                query = query.where(decisions.c.model.in_(models))
            if with_model_call:
                query = query.where(decisions.c.model.is_not(None))
            row = connection.execute(query).one_or_none()
            return None if row is None else _exchange(reader, row)

    def packed_scenes(self, episode_id: str) -> bytes:
        """All scenes as one blob of `core.scenes`: the one of the reset first, then one a step."""
        with self._database.reading() as connection:
            return EpisodeReader(connection, episode_id).packed_scenes()

    def latest_scene(self, episode_id: str) -> Scene | None:
        """The newest scene; None if nothing was recorded yet."""
        with self._database.reading() as connection:
            reader = EpisodeReader(connection, episode_id)
            blob = connection.scalar(
                select(scene_chunks.c.blob)
                .where(scene_chunks.c.episode_id == reader.key)
                .order_by(scene_chunks.c.first.desc())
                .limit(1)
            )
            return None if blob is None else reader.unpacked(blob)[-1]


def _get(connection: Connection, episode_id: str) -> EpisodeSummary:
    found = summaries(connection, [episodes.c.id == episode_key(connection, episode_id)])
    for corrupt in found.unreadable:
        raise StoreCorrupt(corrupt.problem)
    return found.rows[0]


def _exchange(reader: EpisodeReader, row: AnyRow) -> Exchange:
    payload = reader.payload(row)
    call = whole_call(payload, reader.parts_of(payload))
    failed_as = payload.error.kind if payload.error else None
    return Exchange(
        index=row.idx,
        observation=payload.observation,
        tool_calls=payload.tool_calls,
        model_call=call,
        executed=tuple(step.action for step in payload.steps),
        reward=row.reward,
        env_reward=row.env_reward,
        unlocked=payload.unlocked,
        error_kind=call.error_kind if call else failed_as,
        warning=payload.warning,
        answered_s=payload.timing.agent_response_s,
        value=row.value,
        logprob=row.logprob,
    )


def _to_delete(connection: Connection, ids: Sequence[str]) -> Sequence[AnyRow]:
    columns = (episodes.c.id, episodes.c.uuid, episodes.c.run_id, episodes.c.status)
    return connection.execute(select(*columns).where(episodes.c.uuid.in_(ids))).all()


def _refuse_running(rows: Sequence[AnyRow]) -> None:
    for row in rows:
        if row.status == EpisodeStatus.RUNNING.value:
            raise StoreError(f"Episode {row.uuid} is still running. Stop it first, then delete it.")


def _delete(connection: Connection, rows: Sequence[AnyRow]) -> int:
    if not rows:
        return 0
    connection.execute(delete(episodes).where(episodes.c.id.in_([row.id for row in rows])))
    has_episode = exists().where(episodes.c.run_id == runs.c.id)
    connection.execute(delete(runs).where(runs.c.id.in_({row.run_id for row in rows}), ~has_episode))
    connection.execute(update(store_meta).values(generation=store_meta.c.generation + 1))
    return len(rows)


def _shrink(database: Database) -> None:
    """Give free pages back to the file system, a few at a time. (PostgreSQL's autovacuum does so by itself.)"""
    with database.outside_transaction() as connection:
        while (free := _free_pages(connection)) > 0:
            # executescript runs it to its end; execute would free a single page.
            connection.executescript(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})")
            if _free_pages(connection) >= free:
                break
        # Only a checkpoint makes the file itself shorter. It waits for readers; the next one does what is left.
        connection.execute("PRAGMA busy_timeout = 1000").close()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").close()
        connection.execute(LOCK_WAIT).close()


def _free_pages(connection: Any) -> int:
    return int(connection.execute("PRAGMA freelist_count").fetchone()[0])


def summaries(
    connection: Connection,
    wanted: Sequence[ColumnElement[bool]],
    order: Sequence[ColumnElement[Any]] = NEWEST_FIRST,
) -> Listing[EpisodeSummary]:
    """The episodes under these conditions, in this order."""
    rows = connection.execute(
        select(episodes, reward_configs.c.config, runs.c.uuid.label("run"))
        .join(runs, runs.c.id == episodes.c.run_id)
        .join(reward_configs, reward_configs.c.hash == episodes.c.config_hash)
        .where(*wanted)
        .order_by(*order)
    ).all()
    unlocked = defaultdict[int, list[str]](list)
    by_step = (episode_achievements.c.step, episode_achievements.c.name)
    for key, name in connection.execute(
        select(episode_achievements.c.episode_id, episode_achievements.c.name)
        .where(episode_achievements.c.episode_id.in_([row.id for row in rows]))
        .order_by(*by_step)
    ):
        unlocked[key].append(name)
    return listing(rows, "Episode", lambda row, name: _summary(row, name, unlocked[row.id]))


def _summary(row: AnyRow, name: str, achievements: Sequence[str]) -> EpisodeSummary:
    fields = {
        **columns_of(row),
        "id": row.uuid,
        "run_id": row.run,
        "spec": read_spec(row.spec, row.config, name),
        "error": None if row.error is None else from_json(row.error, EpisodeError, f"The error of {name}"),
        "achievements": achievements,
    }
    return typed(fields, EpisodeSummary, name)


def spent_of(calls: Any, tokens_in: Any, tokens_out: Any, cost_usd: Any) -> Spent:
    """Sums over decisions, each None where none of them has a number. PostgreSQL adds integers up to a Decimal."""
    tokens = sum_known((tokens_in, tokens_out))
    return Spent(int(calls or 0), None if tokens is None else int(tokens), cost_usd)


def conditions(wanted: EpisodeFilter) -> Iterator[ColumnElement[bool]]:
    """The SQL conditions of a filter."""
    if wanted.policies:
        yield episodes.c.policy.in_(wanted.policies)
    if wanted.seeds:
        # Larger ones cannot be stored, so they match nothing.
        yield episodes.c.seed.in_([seed for seed in wanted.seeds if abs(seed) < _KEY_END])
    if wanted.statuses:
        yield episodes.c.status.in_([status.value for status in wanted.statuses])
    for name in wanted.achievements:
        yield exists().where(episode_achievements.c.episode_id == episodes.c.id, episode_achievements.c.name == name)
    if wanted.min_reward is not None:
        yield episodes.c.shaped_return >= wanted.min_reward
    if wanted.max_reward is not None:
        yield episodes.c.shaped_return <= wanted.max_reward
    if wanted.created_after is not None:
        yield episodes.c.created_at >= wanted.created_after
    if wanted.created_before is not None:
        yield episodes.c.created_at < wanted.created_before
    if wanted.run_id is not None:
        yield episodes.c.run_id == select(runs.c.id).where(runs.c.uuid == wanted.run_id).scalar_subquery()
    of_runs: list[ColumnElement[bool]] = []
    if wanted.sources:
        of_runs.append(runs.c.source.in_([source.value for source in wanted.sources]))
    if wanted.mode is not None:
        of_runs.append(runs.c.mode == wanted.mode)
    if wanted.trainer_id is not None:
        ids = (runs.c.trace_correlation_id, runs.c.training_session_id, runs.c.batch_id)
        of_runs.append(or_(*(column == wanted.trainer_id for column in ids)))
    if of_runs:
        yield episodes.c.run_id.in_(select(runs.c.id).where(*of_runs))


def _older_than(cursor: Cursor) -> ColumnElement[bool]:
    moment, key = cursor
    # The first condition alone lets the database use its index.
    return and_(episodes.c.created_at <= moment, or_(episodes.c.created_at < moment, episodes.c.id < key))
