"""`store.episodes`: lists of episodes, one episode whole or in parts, deleting."""

from __future__ import annotations

import base64
import binascii
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    and_,
    case,
    delete,
    exists,
    func,
    or_,
    select,
    type_coerce,
    update,
)

from core.errors import InvalidInput, StoreCorrupt, StoreError, UnknownEpisode
from core.store.blobs import from_json, typed
from core.store.codec import whole_call
from core.store.database import Database
from core.store.episode_reader import EpisodeReader
from core.store.records import (
    COUNT_CAP,
    DecisionSummary,
    EpisodeFilter,
    EpisodePage,
    EpisodeSummary,
    Exchange,
    ExchangeFilter,
    Totals,
)
from core.store.rows import Listing, as_store_corrupt, episode_key, in_parts, listing, read_spec
from core.store.tables import (
    AnyRow,
    UtcTime,
    columns_of,
    decisions,
    episode_achievements,
    episodes,
    reward_configs,
    runs,
    scene_chunks,
    store_meta,
)
from core.types import Decision, Episode, EpisodeError, EpisodeStatus, Outcome, Scene, Spent, StateRecord, sum_known

_KEY_END: Final = 2**63
NEWEST_FIRST: Final = (episodes.c.created_at.desc(), episodes.c.id.desc())

SPENT: Final = tuple(
    map(func.sum, (decisions.c.model_calls, decisions.c.tokens_in, decisions.c.tokens_out, decisions.c.cost_usd))
)
"""The sums that `spent_of` takes."""
ANY_EPISODE: Final = EpisodeFilter()
_ANY_MODEL_CALL: Final = ExchangeFilter()
_OVER: Final = [status.value for status in EpisodeStatus if status.is_over]
_INT_MAX: Final = 2**31 - 1
_DELETED_AT_ONCE: Final = 50  # other writers wait for 61 ms at most
_VACUUM_PAGES: Final = 2000


class Episodes:
    """Stored episodes. Ids may be given as unique prefixes of six characters or more.

    Raises UnknownEpisode for an id that nothing is stored under, StoreCorrupt for an episode that cannot be read, and
    what `TraceStore` says.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    # -------------------------------------------------------------------------------------------------- many

    def is_empty(self) -> bool:
        """True if no episode is stored."""
        with self._database.reading() as connection:
            return connection.scalar(select(episodes.c.id).limit(1)) is None

    def page(self, filter: EpisodeFilter = ANY_EPISODE, *, cursor: str | None = None, limit: int = 50) -> EpisodePage:
        """A page of episodes, newest first. Later arrivals shift nothing on the following pages.

        Raises InvalidInput for a cursor that no page gave.
        """
        narrowed = [*conditions(filter), *([] if cursor is None else [older_than(cursor)])]
        with self._database.reading() as connection:
            keys = connection.execute(
                select(episodes.c.id, episodes.c.created_at).where(*narrowed).order_by(*NEWEST_FIRST).limit(limit + 1)
            ).all()
            found = summaries(connection, [episodes.c.id.in_([key.id for key in keys[:limit]])])
        following = cursor_after(keys[limit - 1]) if len(keys) > limit > 0 else None
        return EpisodePage(found.rows, found.unreadable, following)

    def totals(self, filter: EpisodeFilter = ANY_EPISODE) -> Totals:
        """Counts and means of the newest `COUNT_CAP` episodes that pass the filter."""
        counters = ("status", "n_steps", "n_decisions", "n_achievements", "env_return", "shaped_return")
        capped = (
            select(*(episodes.c[name] for name in counters))
            .where(*conditions(filter))
            .order_by(*NEWEST_FIRST)
            .limit(COUNT_CAP)
            .subquery()
        )
        played = and_(capped.c.status.in_(_OVER), capped.c.n_steps > 0)

        def counted(status: EpisodeStatus) -> ColumnElement[Any]:
            return func.coalesce(func.sum(case((capped.c.status == status.value, 1), else_=0)), 0)

        def mean(column: ColumnElement[Any]) -> ColumnElement[Any]:
            return func.avg(case((played, column)))

        query = select(
            func.count().label("episodes"),
            func.coalesce(func.sum(capped.c.n_steps), 0).label("steps"),
            func.coalesce(func.sum(capped.c.n_decisions), 0).label("decisions"),
            counted(EpisodeStatus.RUNNING).label("running"),
            counted(EpisodeStatus.QUEUED).label("queued"),
            mean(capped.c.env_return).label("mean_env_return"),
            mean(capped.c.shaped_return).label("mean_shaped_return"),
            mean(capped.c.n_achievements * 1.0).label("mean_achievements"),
        ).select_from(capped)
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

        Runs without episodes go with them; whole ids that are gone already are skipped. Raises StoreError if one of
        them is running: then nothing is deleted.
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
            scenes = reader.all_scenes()
            with as_store_corrupt(reader.name):
                initial = reader.start_state(scenes[0]) if scenes else None
            outcome = None
            if summary.stop_reason is not None and summary.ended_at is not None:
                outcome = Outcome(summary.stop_reason, summary.ended_at, summary.error)
            return Episode(
                id=summary.id,
                run_id=summary.run_id,
                spec=summary.spec,
                initial=initial,
                decisions=tuple(reader.decisions(scenes)),
                started_at=summary.started_at or summary.created_at,
                outcome=outcome,
            )

    def initial(self, episode_id: str) -> StateRecord | None:
        """The world after reset; None before it, or if reset failed."""
        with self._database.reading() as connection:
            reader = EpisodeReader(connection, episode_id)
            return next((reader.start_state(scene) for scene in reader.scenes(0, 1)), None)

    def decisions(self, episode_id: str) -> tuple[DecisionSummary, ...]:
        """All decisions in order, without their bulk."""
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
            row = None
            if 0 <= index <= _INT_MAX:
                row = connection.execute(reader.rows.where(decisions.c.idx == index)).one_or_none()
            if row is None:
                raise UnknownEpisode(f"Episode {episode_id} has no decision {index}.{_sizes(connection, episode_id)}")
            return reader.decision(row)

    def decision_at_step(self, episode_id: str, step: int) -> int:
        """The index of the decision that a step belongs to. Raises UnknownEpisode for a step that was not taken."""
        with self._database.reading() as connection:
            key = episode_key(connection, episode_id)
            index: int | None = None
            if 0 <= step <= _INT_MAX:
                around = (decisions.c.step_start <= step, decisions.c.step_end > step)
                index = connection.scalar(select(decisions.c.idx).where(decisions.c.episode_id == key, *around))
            if index is None:
                raise UnknownEpisode(f"Episode {episode_id} has no step {step}.{_sizes(connection, episode_id)}")
            return index

    def next_exchange(
        self, episode_id: str, filter: ExchangeFilter = _ANY_MODEL_CALL, *, after: int = -1
    ) -> Exchange | None:
        """The first decision after that index that passes the filter, without its states; None at the end."""
        with self._database.reading() as connection:
            reader = EpisodeReader(connection, episode_id)
            row = connection.execute(
                reader.rows.where(decisions.c.idx > after, *_passes(filter)).order_by(decisions.c.idx).limit(1)
            ).one_or_none()
            return None if row is None else _exchange(reader, row)

    def packed_scenes(self, episode_id: str) -> bytes:
        """All scenes as one blob of `core.scenes`: that of the reset first, then one a step."""
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


def _sizes(connection: Connection, episode_id: str) -> str:
    summary = _get(connection, episode_id)
    if not summary.n_decisions:
        return " Nothing of it was recorded."
    return f" It has {summary.n_decisions} decisions and {summary.n_steps} steps, which count from 0."


def _passes(wanted: ExchangeFilter) -> Iterator[ColumnElement[bool]]:
    if wanted.min_reward is not None:
        yield decisions.c.reward >= wanted.min_reward
    if wanted.models:
        yield decisions.c.model.in_(wanted.models)
    if wanted.with_model_call:
        yield decisions.c.model.is_not(None)


def _exchange(reader: EpisodeReader, row: AnyRow) -> Exchange:
    payload = reader.payload(row)
    with as_store_corrupt(f"Decision {row.idx} of {reader.name}"):
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
        while (free := _pragma(connection, "freelist_count")) > 0:
            # executescript runs it to its end; execute would free a single page.
            connection.executescript(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})")
            if _pragma(connection, "freelist_count") >= free:
                break
        # Only a checkpoint makes the file itself shorter. Others may be reading: what cannot be done now is done later.
        busy_timeout = _pragma(connection, "busy_timeout")
        connection.execute("PRAGMA busy_timeout = 1000").close()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").close()
        connection.execute(f"PRAGMA busy_timeout = {busy_timeout}").close()


def _pragma(connection: Any, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


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
    """What a filter means."""
    if wanted.policies:
        yield episodes.c.policy.in_(wanted.policies)
    if wanted.seeds:
        # Larger ones cannot be stored, so they match nothing.
        yield episodes.c.seed.in_([seed for seed in wanted.seeds if abs(seed) < _KEY_END])
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
        yield episodes.c.run_id == select(runs.c.id).where(runs.c.uuid == wanted.run_id).scalar_subquery()


def _has_unlocked(name: str) -> ColumnElement[bool]:
    return exists().where(episode_achievements.c.episode_id == episodes.c.id, episode_achievements.c.name == name)


def cursor_after(row: AnyRow) -> str:
    """What asks for the page that follows on a row with `created_at` and `id`."""
    text = f"{UtcTime.to_microseconds(row.created_at)}.{row.id}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def older_than(cursor: str) -> ColumnElement[bool]:
    """The episodes that follow on a cursor. Raises InvalidInput."""
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode("ascii")
        created_at, key = map(int, text.split("."))
        if not all(-_KEY_END <= number < _KEY_END for number in (created_at, key)):
            raise ValueError("a number is beyond 64 bits")
    except (ValueError, binascii.Error) as error:
        raise InvalidInput("That page of the list cannot be found; go back to its first page.") from error
    moment = type_coerce(episodes.c.created_at, BigInteger)
    return and_(moment <= created_at, or_(moment < created_at, episodes.c.id < key))
