"""Reward configurations under a name, and what stored episodes would have earned under them.

What was earned in a run is never touched by this: it stands in the episode.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import Connection, delete, func, insert, select

from core.errors import InvalidInput
from core.store.arguments import in_parts
from core.store.records import SavedReward
from core.store.specs import insert_ignoring, read_reward, save_reward_configs
from core.store.tables import PlainText, episodes, reward_configs, saved_rewards, scorings
from core.types import RewardConfig

LONGEST_NAME: Final = 80


def all_of_them(connection: Connection) -> tuple[SavedReward, ...]:
    """Every saved configuration by name, with how many episodes were scored under it. Raises StoreCorrupt."""
    scored = select(scorings.c.config_hash, func.count().label("n")).group_by(scorings.c.config_hash).subquery("scored")
    rows = connection.execute(
        select(saved_rewards, reward_configs.c.config, func.coalesce(scored.c.n, 0).label("n"))
        .join(reward_configs, reward_configs.c.hash == saved_rewards.c.config_hash)
        .outerjoin(scored, scored.c.config_hash == saved_rewards.c.config_hash)
        .order_by(saved_rewards.c.name)
    )
    return tuple([SavedReward(row.name, read_reward(row.config), row.saved_at, row.n) for row in rows])


def save(connection: Connection, name: str, config: RewardConfig) -> None:
    """Put a configuration under a name. Raises InvalidInput where another one has that name."""
    name = PlainText.cleaned(name.strip())
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise InvalidInput(f"A configuration's name has 1 to {LONGEST_NAME} characters that can be seen; give another.")
    taken = connection.scalar(select(saved_rewards.c.config_hash).where(saved_rewards.c.name == name))
    if taken == config.config_hash:
        return
    if taken is not None:
        raise InvalidInput(
            f'Another configuration ({taken[:8]}) is saved as "{name}" and is not overwritten. Give a new name, or '
            "delete that one first."
        )
    save_reward_configs(connection, [config])
    row = {"name": name, "config_hash": config.config_hash, "saved_at": datetime.now(UTC)}
    connection.execute(insert(saved_rewards), row)


def forget(connection: Connection, name: str) -> None:
    """Take a name away, and the scorings of its configuration where no other name stands for it."""
    config_hash = connection.scalar(select(saved_rewards.c.config_hash).where(saved_rewards.c.name == name))
    connection.execute(delete(saved_rewards).where(saved_rewards.c.name == name))
    others = connection.scalar(select(saved_rewards.c.name).where(saved_rewards.c.config_hash == config_hash).limit(1))
    if config_hash is not None and others is None:
        connection.execute(delete(scorings).where(scorings.c.config_hash == config_hash))


def save_scorings(connection: Connection, config: RewardConfig, returns: Mapping[str, float]) -> int:
    """Keep what episodes, by id, would have earned; how many are new. What is kept already stays as it is."""
    save_reward_configs(connection, [config])
    now, new = datetime.now(UTC), 0
    for some in in_parts(returns):
        keys = connection.execute(select(episodes.c.id, episodes.c.uuid).where(episodes.c.uuid.in_(some))).all()
        rows = [
            {
                "episode_id": key,
                "config_hash": config.config_hash,
                "shaped_return": returns[uuid],
                "scored_at": now,
            }
            for key, uuid in keys
        ]
        if rows:
            before = _count(connection, config.config_hash)
            connection.execute(insert_ignoring(connection, scorings), rows)
            new += _count(connection, config.config_hash) - before
    return new


def scorings_of(connection: Connection, config_hash: str) -> dict[str, float]:
    """What episodes would have earned under a configuration, by episode id, as far as it was saved."""
    rows = connection.execute(
        select(episodes.c.uuid, scorings.c.shaped_return)
        .join(episodes, episodes.c.id == scorings.c.episode_id)
        .where(scorings.c.config_hash == config_hash)
    )
    return {uuid: value for uuid, value in rows}


def _count(connection: Connection, config_hash: str) -> int:
    query = select(func.count()).select_from(scorings).where(scorings.c.config_hash == config_hash)
    return connection.execute(query).scalar_one()
