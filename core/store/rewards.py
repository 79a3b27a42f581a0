"""`store.rewards`: reward facts for re-scoring, saved reward configurations, and returns under them.

Rewards as played are stored with the episode and never changed here.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, delete, func, insert, select, text, union

from core.errors import InvalidInput, StoreCorrupt, StoreError
from core.facts import EpisodeFacts
from core.store.blobs import corrupt_row, from_json
from core.store.database import Database
from core.store.episode_reader import EpisodeReader
from core.store.episodes import ANY_EPISODE, conditions, summaries
from core.store.packs import pack, unpack
from core.store.records import EpisodeFilter, EpisodeSummary, SavedReward
from core.store.rows import Listing, Unreadable, episode_key, in_parts, insert_ignoring, listing, save_reward_configs
from core.store.tables import AnyRow, episode_packs, episodes, reward_configs, saved_rewards, scorings
from core.types import EpisodeStatus, RewardConfig, StopReason

MAX_NAME_LENGTH: Final = 80

# Printable by Unicode's definition, but invisible.
_BLANK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")

_IS_OVER: Final = episodes.c.status.in_([status.value for status in EpisodeStatus if status.is_over])
_PLAYED: Final = (_IS_OVER, episodes.c.n_decisions > 0)
_OLDEST_FIRST: Final = (episodes.c.created_at, episodes.c.id)

_log = logging.getLogger(__name__)


class Rewards:
    """Rewards over many episodes. Methods also raise what `TraceStore` lists."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # ------------------------------------------------------------------------------------------------- facts

    def played_ids(self, filter: EpisodeFilter = ANY_EPISODE) -> tuple[str, ...]:
        """The episodes that are over, have a decision and pass the filter, oldest first."""
        query = select(episodes.c.uuid).where(*_PLAYED, *conditions(filter)).order_by(*_OLDEST_FIRST)
        with self._database.reading() as connection:
            return tuple(connection.scalars(query))

    def without_decision(self) -> dict[str, int]:
        """By policy, how many episodes are over and have no decision; `played_ids` omits them."""
        query = (
            select(episodes.c.policy, func.count())
            .where(_IS_OVER, episodes.c.n_decisions == 0)
            .group_by(episodes.c.policy)
            .order_by(episodes.c.policy)
        )
        with self._database.reading() as connection:
            return {policy: count for policy, count in connection.execute(query)}

    def facts(self, episode_id: str) -> EpisodeFacts:
        """The reward facts of one episode, also while it runs. Raises UnknownEpisode, StoreCorrupt."""
        with self._database.reading() as connection:
            row = connection.execute(_with_pack(episodes.c.id == episode_key(connection, episode_id))).one()
            return _stored_facts(row) or _rebuilt_facts(connection, row)

    def played(self, ids: Iterable[str]) -> Listing[tuple[EpisodeSummary, EpisodeFacts]]:
        """These episodes with their reward facts, oldest first; ids that are deleted or not over are skipped.

        Facts that are missing (of an interrupted episode, say), stale or unreadable are rebuilt from the decisions and
        stored if the database can be written.
        """
        found: list[tuple[EpisodeSummary, EpisodeFacts]] = []
        unreadable: list[Unreadable] = []
        can_save = True
        for some in in_parts(ids):
            with self._database.reading() as connection:
                part, rebuilt = _read_played(connection, some)
            found += part.rows
            unreadable += part.unreadable
            can_save = can_save and self._save_packs(rebuilt)
        return Listing(tuple(found), tuple(unreadable))

    def _save_packs(self, rebuilt: Mapping[str, EpisodeFacts]) -> bool:
        """Whether rebuilt packs, by episode id, could be stored. They only save time: a busy store may refuse."""
        if not rebuilt:
            return True
        present = select(episodes.c.id, episodes.c.uuid).where(episodes.c.uuid.in_(rebuilt))
        try:
            with self._database.writing() as connection:
                # The lock keeps PostgreSQL from deleting an episode before its pack is stored.
                keys = connection.execute(present.with_for_update(key_share=True)).all()
                if keys:
                    stale = delete(episode_packs).where(episode_packs.c.episode_id.in_([key for key, _ in keys]))
                    connection.execute(stale)
                    rows = [{"episode_id": key, "blob": pack(rebuilt[uuid])} for key, uuid in keys]
                    connection.execute(insert_ignoring(connection, episode_packs), rows)
        except StoreError as error:
            _log.info("Rebuilt reward facts are not stored: %s", error)
            return False
        return True

    # ------------------------------------------------------------------------------------ saved configurations

    def saved(self) -> Listing[SavedReward]:
        """The saved reward configurations, by name. `delete_saved` also takes the names of unreadable ones."""
        scored = select(scorings.c.config_hash, func.count().label("n")).group_by(scorings.c.config_hash).subquery()
        query = (
            select(
                saved_rewards.c.name.label("uuid"),
                saved_rewards.c.saved_at,
                reward_configs.c.config,
                func.coalesce(scored.c.n, 0).label("n_scored"),
            )
            .select_from(saved_rewards)
            .join(reward_configs, reward_configs.c.hash == saved_rewards.c.config_hash)
            .outerjoin(scored, scored.c.config_hash == saved_rewards.c.config_hash)
            .order_by(saved_rewards.c.name)
        )
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return listing(
            rows,
            "The saved configuration",
            lambda row, name: SavedReward(
                row.uuid, from_json(row.config, RewardConfig, name), row.saved_at, row.n_scored
            ),
        )

    def save(self, name: str, config: RewardConfig) -> str:
        """Save a checked configuration under a name; returns the name as it is stored, without blanks around it.

        Raises InvalidInput if another one is saved under it, and for a name with a character that cannot be seen.
        """
        name = _checked_name(name)
        with self._database.writing() as connection:
            save_reward_configs(connection, [config])
            taken = connection.scalar(select(saved_rewards.c.config_hash).where(saved_rewards.c.name == name))
            if taken is None:
                row = {"name": name, "config_hash": config.config_hash, "saved_at": datetime.now(UTC)}
                connection.execute(insert(saved_rewards), row)
            elif taken != config.config_hash:
                raise InvalidInput(
                    f'Another configuration ({taken[:8]}) is saved as "{name}" and is not overwritten. Give a new '
                    "name, or delete that one first."
                )
        return name

    def delete_saved(self, name: str) -> None:
        """Delete a saved configuration, readable or not, and the returns under it.

        What episodes earned in play stays, and so does a configuration that an episode was or will be played with.
        """
        with self._database.writing() as connection:
            if connection.dialect.name != "sqlite":
                # Launches and saves wait, so that no configuration is deleted that they are about to refer to.
                connection.execute(text("LOCK TABLE reward_configs IN SHARE ROW EXCLUSIVE MODE"))
            its_hash = connection.scalar(select(saved_rewards.c.config_hash).where(saved_rewards.c.name == name))
            connection.execute(delete(saved_rewards).where(saved_rewards.c.name == name))
            still_named = select(saved_rewards.c.config_hash)
            connection.execute(
                delete(scorings).where(scorings.c.config_hash == its_hash, scorings.c.config_hash.not_in(still_named))
            )
            in_use = union(*(select(table.c.config_hash) for table in (saved_rewards, scorings, episodes)))
            connection.execute(delete(reward_configs).where(reward_configs.c.hash.not_in(in_use)))

    # ------------------------------------------------------------------------------------------------ returns

    def save_scorings(self, config: RewardConfig, returns: Mapping[str, float]) -> int:
        """Store what episodes, by id, would have earned under a checked configuration; returns how many are new.

        What is stored already stays.
        """
        now = datetime.now(UTC)
        count = select(func.count()).select_from(scorings).where(scorings.c.config_hash == config.config_hash)
        with self._database.writing() as connection:
            save_reward_configs(connection, [config])
            before = connection.execute(count).scalar_one()
            for some in in_parts(returns):
                keys = connection.execute(select(episodes.c.id, episodes.c.uuid).where(episodes.c.uuid.in_(some)))
                rows = [
                    {"episode_id": key, "config_hash": config.config_hash, "shaped_return": returns[uuid]}
                    for key, uuid in keys
                ]
                if rows:
                    connection.execute(insert_ignoring(connection, scorings).values(scored_at=now), rows)
            return connection.execute(count).scalar_one() - before

    def scorings(self, config_hash: str) -> dict[str, float]:
        """What episodes, by id, would have earned under a configuration, as far as that is stored."""
        query = (
            select(episodes.c.uuid, scorings.c.shaped_return)
            .join(episodes, episodes.c.id == scorings.c.episode_id)
            .where(scorings.c.config_hash == config_hash)
        )
        with self._database.reading() as connection:
            return {uuid: value for uuid, value in connection.execute(query)}


def _read_played(
    connection: Connection, ids: Sequence[str]
) -> tuple[Listing[tuple[EpisodeSummary, EpisodeFacts]], dict[str, EpisodeFacts]]:
    """Episodes with their facts, and by id those facts that had to be rebuilt."""
    rebuilt: dict[str, EpisodeFacts] = {}
    found = summaries(connection, (*_PLAYED, episodes.c.uuid.in_(ids)), _OLDEST_FIRST)
    played = {summary.id: summary for summary in found.rows}

    def read(row: AnyRow, name: str) -> tuple[EpisodeSummary, EpisodeFacts]:
        facts = _stored_facts(row)
        if facts is None:
            facts = rebuilt[row.uuid] = _rebuilt_facts(connection, row)
        return played[row.uuid], facts

    packed = listing(connection.execute(_with_pack(episodes.c.uuid.in_(played))).all(), "Episode", read)
    return Listing(packed.rows, (*found.unreadable, *packed.unreadable)), rebuilt


def _with_pack(wanted: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    shown = (episodes.c.id, episodes.c.uuid, episodes.c.stop_reason, episodes.c.n_steps, episodes.c.n_decisions)
    return (
        select(*shown, episode_packs.c.blob)
        .outerjoin(episode_packs, episode_packs.c.episode_id == episodes.c.id)
        .where(wanted)
        .order_by(*_OLDEST_FIRST)
    )


def _stored_facts(row: AnyRow) -> EpisodeFacts | None:
    """The episode's pack; None if it is missing, corrupt, of an older version, or of other counts than the episode."""
    if row.blob is None:
        return None
    try:
        facts = unpack(row.blob, f"The reward facts of episode {row.uuid}")
    except StoreCorrupt:
        return None
    if facts is None or facts.n_decisions != row.n_decisions:
        return None
    n_steps = facts.step_ends[-1] if facts.n_decisions else 0
    return facts if n_steps == row.n_steps else None


def _rebuilt_facts(connection: Connection, row: AnyRow) -> EpisodeFacts:
    """The facts of all stored decisions. Raises StoreCorrupt, StoreTooNew, which name the episode."""
    known_end = row.stop_reason is not None and StopReason(row.stop_reason).is_known_at_scoring
    facts = EpisodeReader(connection, row.uuid).reward_facts(known_end=known_end)
    if facts.n_decisions != row.n_decisions:
        problem = f"{facts.n_decisions} decisions are stored, not {row.n_decisions}"
        raise corrupt_row(f"Episode {row.uuid}", LookupError(problem))
    return facts


def _checked_name(name: str) -> str:
    """The name without blanks around it. Raises InvalidInput."""
    name = name.strip()
    if not 0 < len(name) <= MAX_NAME_LENGTH:
        raise InvalidInput(f"A configuration's name has 1 to {MAX_NAME_LENGTH} characters; this one has {len(name)}.")
    for character in name:
        if not character.isprintable() or character in _BLANK:
            raise InvalidInput(f"A name cannot contain the invisible character U+{ord(character):04X}. Remove it.")
    return name
