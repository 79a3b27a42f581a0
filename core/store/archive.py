"""Everything that was played, as re-scoring looks at it: who played what, and its reward facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, select

from core.errors import StoreCorrupt, StoreTooNew, UnknownEpisode
from core.facts import EpisodeFacts, FactsWriter, PlayedEpisode
from core.store.arguments import in_parts
from core.store.blobs import from_json, typed
from core.store.browse import conditions
from core.store.codec import facts_of
from core.store.episodes import PayloadReader, components_of, payloads
from core.store.ids import episode_key
from core.store.packs import pack, unpack
from core.store.records import EpisodeFilter
from core.store.specs import VERSION as SPEC_VERSION
from core.store.specs import insert_ignoring
from core.store.tables import AnyRow, columns_of, decisions, episode_packs, episodes, runs
from core.types import EnvConfig, EpisodeStatus, Limits, PolicySpec, StopReason

_OVER: Final = tuple(status.value for status in EpisodeStatus if status.is_over)
_SHOWN: Final = (
    "id", "uuid", "policy", "seed", "group_index", "created_at", "stop_reason", "n_steps", "n_decisions",
    "n_achievements", "env_return", "shaped_return", "config_hash", "spec",
)  # fmt: skip
_PLAYED: Final = (episodes.c.status.in_(_OVER), episodes.c.n_decisions > 0)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An episode whose facts cannot be read, and why, in a sentence."""

    id: str
    problem: str


@dataclass(frozen=True, slots=True)
class ArchivePart:
    """Episodes with their facts, side by side, and those that could not be read."""

    episodes: tuple[PlayedEpisode, ...]
    facts: tuple[EpisodeFacts, ...]
    unreadable: tuple[Unreadable, ...]


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


def played_ids(connection: Connection, wanted: EpisodeFilter) -> tuple[str, ...]:
    """The episodes that are over, made a decision and pass the filter, oldest launch first. Raises InvalidInput."""
    in_order = (episodes.c.created_at, episodes.c.id)
    found = tuple(connection.scalars(select(episodes.c.uuid).where(*_PLAYED, *conditions(wanted)).order_by(*in_order)))
    if not all(isinstance(name, str) for name in found):  # SQLite keeps any value in any column
        raise StoreCorrupt("An episode is stored under an id that is no text. Put back a copy that is whole.")
    return found


def reward_facts(connection: Connection, episode_id: str) -> EpisodeFacts:
    """The facts of one episode; made from its decisions where there is no pack. Raises UnknownEpisode, StoreCorrupt."""
    key = episode_key(connection, episode_id)
    blob = connection.scalar(select(episode_packs.c.blob).where(episode_packs.c.episode_id == key))
    known = None if blob is None else unpack(blob, _what(episode_id))
    return known or _made_anew(connection, key, episode_id)


def part(connection: Connection, ids: Sequence[str]) -> tuple[ArchivePart, dict[int, bytes]]:
    """The named episodes, in order of their ids' rows, and the packs that had to be made anew, by key.

    Ids that are gone or not over are passed over.
    """
    rows = connection.execute(
        select(*(episodes.c[name] for name in _SHOWN), runs.c.uuid.label("run"), episode_packs.c.blob)
        .join(runs, runs.c.id == episodes.c.run_id)
        .outerjoin(episode_packs, episode_packs.c.episode_id == episodes.c.id)
        .where(episodes.c.uuid.in_(ids), *_PLAYED)
        .order_by(episodes.c.created_at, episodes.c.id)
    ).all()
    found: list[tuple[PlayedEpisode, EpisodeFacts]] = []
    unreadable: list[Unreadable] = []
    made: dict[int, bytes] = {}
    for row in rows:
        try:
            facts = None if row.blob is None else unpack(row.blob, _what(row.uuid))
            if facts is None:
                facts = _made_anew(connection, row.id, row.uuid)
                made[row.id] = pack(facts)
            found.append((_played(row), facts))
        except (StoreCorrupt, StoreTooNew, UnknownEpisode) as error:
            unreadable.append(Unreadable(row.uuid, str(error)))
    return ArchivePart(tuple(p for p, _ in found), tuple(f for _, f in found), tuple(unreadable)), made


def save_packs(connection: Connection, packs: dict[int, bytes]) -> None:
    """Keep packs that were made anew, in place of older ones; episodes that are gone are passed over."""
    for keys in in_parts(packs):
        connection.execute(episode_packs.delete().where(episode_packs.c.episode_id.in_(keys)))
        present = connection.scalars(select(episodes.c.id).where(episodes.c.id.in_(keys)))
        rows = [{"episode_id": key, "blob": packs[key]} for key in present]
        if rows:
            connection.execute(insert_ignoring(connection, episode_packs), rows)


def _made_anew(connection: Connection, key: int, episode_id: str) -> EpisodeFacts:
    reader = PayloadReader.of(connection, key, episode_id)
    components = components_of(connection, decisions.c.episode_id == key)
    reason = connection.scalar(select(episodes.c.stop_reason).where(episodes.c.id == key))
    writer = FactsWriter()
    for row in connection.execute(payloads(key).order_by(decisions.c.idx)):
        payload = reader.payload(row.idx, row.blob)
        before, after = facts_of(payload, reader.layout)
        writer.add(
            before,
            after,
            payload.unlocked,
            env_reward=row.env_reward,
            reward=row.reward,
            step_end=row.step_end,
            components=components[row.id],
        )
    return writer.facts(foreseen_end=reason is not None and StopReason(reason).is_foreseen)


def _played(row: AnyRow) -> PlayedEpisode:
    what = f"Episode {row.uuid}"
    record = from_json(row.spec, _SpecRecord, what)
    if record.v > SPEC_VERSION:
        raise StoreTooNew(f"{what} was written by a newer Craftscope (format {record.v}). Update Craftscope to see it.")
    spec = record.spec
    fields: dict[str, Any] = {
        **columns_of(row),
        "id": row.uuid,
        "run_id": row.run,
        "policy_params": spec.policy.params,
        "world_episode": spec.world_episode,
        "env": spec.env,
        "limits": spec.limits,
        "max_actions_per_call": spec.max_actions_per_call,
    }
    return typed(fields, PlayedEpisode, what)


def _what(episode_id: str) -> str:
    return f"The reward facts of episode {episode_id}"
