"""Everything that was played, as re-scoring looks at it: who played what, and its reward facts.

Packs are derived: one that is missing, damaged or not its episode's is made anew from the decisions. An episode for
which that fails too is named, and takes none of the others along.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Connection, and_, bindparam, func, select, update

from core.errors import StoreCorrupt, StoreTooNew
from core.facts import EpisodeFacts, PlayedEpisode
from core.store.arguments import text
from core.store.blobs import damaged, from_json, typed
from core.store.browse import conditions
from core.store.damage import UNFIT, Damage, as_stored, decoded, microseconds, named, readable
from core.store.fitting import misfits
from core.store.ids import episode_key
from core.store.packs import pack, unpack
from core.store.played_again import facts_from_decisions
from core.store.records import EpisodeFilter, Unreadable
from core.store.specs import VERSION as SPEC_VERSION
from core.store.specs import insert_ignoring
from core.store.tables import AnyRow, AnySelect, UtcTime, columns_of, episode_packs, episodes, runs
from core.types import EnvConfig, EpisodeStatus, Limits, PolicySpec, StopReason

_OVER: Final = frozenset(status.value for status in EpisodeStatus if status.is_over)
_SHOWN: Final = (
    "id", "uuid", "policy", "seed", "group_index", "status", "stop_reason", "n_steps", "n_decisions", "n_achievements",
    "env_return", "shaped_return", "config_hash", "spec",
)  # fmt: skip
# So that a status or a count that nobody knows is met, and named, and not passed over.
_IS_OVER: Final = episodes.c.status.not_in([status.value for status in EpisodeStatus if not status.is_over])
_PLAYED: Final = (_IS_OVER, episodes.c.n_decisions != 0)
_IN_ORDER: Final = (episodes.c.created_at, episodes.c.id)
_SHOWN_OF_THEM: Final = (
    select(
        *(episodes.c[name] for name in _SHOWN),
        microseconds(episodes.c.created_at).label("created_at"),
        runs.c.uuid.label("run"),
    )
    .outerjoin(runs, runs.c.id == episodes.c.run_id)
    .outerjoin(episode_packs, episode_packs.c.episode_id == episodes.c.id)
)


@dataclass(frozen=True, slots=True)
class ArchivePart:
    """Episodes with their facts, side by side, and those that could not be read."""

    episodes: tuple[PlayedEpisode, ...]
    facts: tuple[EpisodeFacts, ...]
    unreadable: tuple[Unreadable, ...]


@dataclass(frozen=True, slots=True)
class MadePack:
    """A pack that was made anew. seen: what was there in its place, None for nothing."""

    seen: bytes | None
    blob: bytes


@dataclass(slots=True)
class _Taken:
    """An episode on its way out. blob: its pack as it is stored. facts: of that, then those that were made anew."""

    key: int
    played: PlayedEpisode
    blob: bytes | None
    facts: EpisodeFacts | None


class _Settings(msgspec.Struct, frozen=True):
    """What of a specification matters here."""

    policy: PolicySpec
    world_episode: int
    env: EnvConfig
    limits: Limits
    max_actions_per_call: int


class _SpecRecord(msgspec.Struct, frozen=True):
    v: int
    spec: _Settings


class _Recorded(msgspec.Struct, frozen=True):
    """What the facts of an episode are held against."""

    n_steps: int
    n_decisions: int
    env_return: float
    shaped_return: float
    stop_reason: StopReason | None


def played_ids(connection: Connection, wanted: EpisodeFilter) -> tuple[str, ...]:
    """The episodes that are over, made a decision and pass the filter, oldest launch first. Raises InvalidInput.

    Damaged ones are among them, so that somebody hears of them.
    """
    name = as_stored(connection, episodes.c.uuid)
    found = connection.scalars(select(name).where(*_PLAYED, *conditions(wanted)).order_by(*_IN_ORDER))
    return tuple(map(decoded, found))


def without_decision(connection: Connection, wanted: EpisodeFilter) -> dict[str, int]:
    """By policy, how many episodes are over, made no decision and pass the filter. Raises InvalidInput."""
    policy = as_stored(connection, episodes.c.policy)
    undecided = (_IS_OVER, episodes.c.n_decisions == 0)
    rows = connection.execute(
        select(policy.label("policy"), func.count()).where(*undecided, *conditions(wanted)).group_by(policy)
    )
    counts = {decoded(name): count for name, count in rows}
    return dict(sorted(counts.items()))


def reward_facts(connection: Connection, episode_id: str) -> EpisodeFacts:
    """The facts of one episode; made from its decisions where there is no pack, or not its own.

    Raises UnknownEpisode, StoreCorrupt, StoreTooNew.
    """
    key = episode_key(connection, episode_id)
    columns = (episodes.c[name] for name in ("uuid", *_Recorded.__struct_fields__))
    with named(f"Episode {episode_id}"):
        row = connection.execute(select(*columns).where(episodes.c.id == key)).one()
        blob = connection.scalar(
            select(as_stored(connection, episode_packs.c.blob)).where(episode_packs.c.episode_id == key)
        )
    recorded = typed(columns_of(row), _Recorded, f"Episode {row.uuid}")
    facts = None if blob is None else _unpacked(blob, row.uuid)
    if facts is None or misfits([recorded], [facts])[0]:
        facts = _made_anew(connection, key, row.uuid, recorded)
    return facts


def part(connection: Connection, ids: Sequence[str]) -> tuple[ArchivePart, dict[str, MadePack]]:
    """The named episodes, oldest launch first, and the packs that had to be made anew, by id. Raises InvalidInput.

    Ids that are gone or not over are passed over.
    """
    rows, damage = _rows(connection, [text(episode_id, "The id of an episode") for episode_id in ids])
    unreadable = {name: str(error) for name, error in damage}
    taken: list[_Taken] = []
    for row in rows:
        try:
            taken.append(_taken(row))
        except (StoreCorrupt, StoreTooNew) as error:
            unreadable[row.uuid] = str(error)
    made: dict[str, MadePack] = {}
    for one in _not_fitting(taken):
        name = one.played.id
        try:
            one.facts = _made_anew(connection, one.key, name, one.played)
            made[name] = MadePack(one.blob, pack(one.facts))
        except (StoreCorrupt, StoreTooNew) as error:
            one.facts = None
            unreadable[name] = str(error)
    unreadable |= _nameless(connection, set(ids) - {row.uuid for row in rows} - unreadable.keys())
    found = [(one.played, one.facts) for one in taken if one.facts is not None]
    problems = tuple(Unreadable(name, problem) for name, problem in unreadable.items())
    return ArchivePart(tuple(one for one, _ in found), tuple(facts for _, facts in found), problems), made


def save_packs(connection: Connection, packs: Mapping[str, MadePack]) -> None:
    """Keep packs that were made anew, by the ids of their episodes, where what was seen is still what is there."""
    its_key = select(episodes.c.id).where(episodes.c.uuid == bindparam("name"), *_PLAYED)
    stored = as_stored(connection, episode_packs.c.blob)
    replace = (
        update(episode_packs)
        .where(episode_packs.c.episode_id == its_key.scalar_subquery(), stored == bindparam("seen"))
        .values(blob=bindparam("new"))
    )
    # The lock keeps PostgreSQL from deleting the episode meanwhile; SQLite has one writer at a time.
    present = its_key.add_columns(bindparam("new", type_=episode_packs.c.blob.type)).with_for_update(
        read=True, key_share=True
    )
    add = insert_ignoring(connection, episode_packs, present)
    for name, made in packs.items():
        values: dict[str, Any] = {"name": name, "new": made.blob}
        if made.seen is None:
            connection.execute(add, values)
        else:
            connection.execute(replace, {**values, "seen": made.seen})


def _rows(connection: Connection, ids: Sequence[str]) -> tuple[list[AnyRow], Damage]:
    def read(wanted: ColumnElement[bool]) -> list[AnyRow]:
        return list(connection.execute(query.where(wanted)).all())

    blob = as_stored(connection, episode_packs.c.blob).label("blob")
    query: AnySelect = _SHOWN_OF_THEM.add_columns(blob).order_by(*_IN_ORDER)
    return readable(connection, and_(episodes.c.uuid.in_(ids), *_PLAYED), _IN_ORDER, read)


def _taken(row: AnyRow) -> _Taken:
    """Raises StoreCorrupt, StoreTooNew."""
    facts = None if row.blob is None else _unpacked(row.blob, row.uuid)
    return _Taken(row.id, _played(row), row.blob, facts)


def _unpacked(blob: bytes, episode_id: str) -> EpisodeFacts | None:
    """The facts of a pack; None where it is of an older version or damaged. Raises StoreTooNew."""
    try:
        return unpack(blob, f"The reward facts of episode {episode_id}")
    except StoreCorrupt:
        return None


def _not_fitting(taken: Sequence[_Taken]) -> list[_Taken]:
    """Those without facts, or with facts that are not theirs."""
    packed = [(one, one.facts) for one in taken if one.facts is not None]
    problems = misfits([one.played for one, _ in packed], [facts for _, facts in packed])
    fitting = {one.key for (one, _), problem in zip(packed, problems, strict=True) if not problem}
    return [one for one in taken if one.key not in fitting]


def _made_anew(connection: Connection, key: int, episode_id: str, recorded: _Recorded | PlayedEpisode) -> EpisodeFacts:
    facts = facts_from_decisions(connection, key, episode_id, recorded.stop_reason)
    (problem,) = misfits([recorded], [facts])
    if problem:
        raise damaged(f"Episode {episode_id}", ValueError(f"its decisions do not fit it: {problem}"))
    return facts


def _nameless(connection: Connection, ids: Collection[str]) -> dict[str, str]:
    """Of ids under which nothing was found, those of episodes that are there: their id is no text."""
    if not ids or connection.dialect.name != "sqlite":
        return {}
    stored = connection.scalars(select(as_stored(connection, episodes.c.uuid)).where(*_PLAYED))
    problem = "An episode is stored under an id that is no text. Put back a copy of the database that is whole."
    return {name: problem for name in map(decoded, stored) if name in ids}


def _played(row: AnyRow) -> PlayedEpisode:
    """Who played. Raises StoreCorrupt, StoreTooNew."""
    what = f"Episode {row.uuid}"
    try:
        if row.status not in _OVER:
            raise ValueError(f"its status is {row.status!r}")
        if row.run is None:
            raise ValueError("its run is missing")
        created_at = UtcTime.from_microseconds(row.created_at)
    except UNFIT as error:
        raise damaged(what, error) from error
    record = from_json(row.spec, _SpecRecord, what)
    if record.v > SPEC_VERSION:
        raise StoreTooNew(f"{what} was written by a newer Craftscope (format {record.v}). Update Craftscope to see it.")
    spec = record.spec
    fields: dict[str, Any] = {
        **columns_of(row),
        "id": row.uuid,
        "run_id": row.run,
        "created_at": created_at,
        "policy_params": spec.policy.params,
        "world_episode": spec.world_episode,
        "env": spec.env,
        "limits": spec.limits,
        "max_actions_per_call": spec.max_actions_per_call,
    }
    return typed(fields, PlayedEpisode, what)
