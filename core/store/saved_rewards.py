"""Reward configurations under a name, and what stored episodes would have earned under them.

What was earned in a run is never touched by this: it stands in the episode.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import Connection, delete, func, insert, select, union
from sqlalchemy import text as sql

from core.errors import InvalidInput, StoreCorrupt
from core.store.arguments import finite, in_parts, text
from core.store.blobs import damaged
from core.store.damage import as_stored, decoded, named, number_as_stored
from core.store.records import SavedReward, Unreadable, UnreadableReward
from core.store.specs import insert_ignoring, read_reward, save_reward_configs
from core.store.tables import AnyRow, UtcTime, episodes, reward_configs, saved_rewards, scorings
from core.text import quoted
from core.types import RewardConfig

LONGEST_NAME: Final = 80

# Letters and marks that Unicode counts as printable and that show nothing.
_BLANK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_UNNAMED: Final = {"Cc": "CONTROL CHARACTER", "Cs": "HALF A PAIR", "Co": "OF PRIVATE USE"}


def all_of_them(connection: Connection) -> tuple[tuple[SavedReward, ...], tuple[UnreadableReward, ...]]:
    """Every saved configuration by name, with how many episodes were scored under it; and those that are damaged."""
    scored = select(scorings.c.config_hash, func.count().label("n")).group_by(scorings.c.config_hash).subquery("scored")
    rows = connection.execute(
        select(
            as_stored(connection, saved_rewards.c.name).label("name"),
            number_as_stored(connection, saved_rewards.c.saved_at).label("saved_at"),
            reward_configs.c.hash.is_not(None).label("is_there"),
            as_stored(connection, reward_configs.c.config).label("config"),
            func.coalesce(scored.c.n, 0).label("n"),
        )
        .select_from(saved_rewards)
        .outerjoin(reward_configs, reward_configs.c.hash == saved_rewards.c.config_hash)
        .outerjoin(scored, scored.c.config_hash == saved_rewards.c.config_hash)
        .order_by(saved_rewards.c.name)
    )
    good: list[SavedReward] = []
    damage: list[UnreadableReward] = []
    for row in rows:
        try:
            good.append(_read(row))
        except StoreCorrupt as error:
            damage.append(UnreadableReward(decoded(row.name), str(error)))
    return tuple(good), tuple(damage)


def save(connection: Connection, name: str, config: RewardConfig) -> str:
    """Put a configuration under a name, which is given back as it is stored.

    Raises InvalidInput where another one has that name, and for a name or a configuration that cannot be kept.
    """
    name = _checked_name(name)
    save_reward_configs(connection, [config])
    taken = connection.scalar(select(saved_rewards.c.config_hash).where(saved_rewards.c.name == name))
    if taken is None:
        row = {"name": name, "config_hash": config.config_hash, "saved_at": datetime.now(UTC)}
        connection.execute(insert(saved_rewards), row)
    elif taken != config.config_hash:
        raise InvalidInput(
            f'Another configuration ({str(taken)[:8]}) is saved as "{name}" and is not overwritten. Give a new name, '
            "or delete that one first."
        )
    return name


def forget(connection: Connection, name: str) -> None:
    """Take a name away, whatever stands under it, with the scorings and configurations that nothing refers to then.

    Raises InvalidInput.
    """
    name = text(name, "The name of a configuration")
    if connection.dialect.name != "sqlite":
        # Who launches episodes or saves a configuration waits, so that none is taken away from under them.
        connection.execute(sql("LOCK TABLE reward_configs IN SHARE ROW EXCLUSIVE MODE"))
    stored = as_stored(connection, saved_rewards.c.name)
    its_hash = as_stored(connection, saved_rewards.c.config_hash)
    for own_name, config_hash in connection.execute(select(stored, its_hash)).all():
        if decoded(own_name) == name:
            connection.execute(delete(saved_rewards).where(stored == own_name))
            _forget_scorings(connection, decoded(config_hash))
    _forget_unused(connection)


def save_scorings(connection: Connection, config: RewardConfig, returns: Mapping[str, float]) -> int:
    """Keep what episodes, by id, would have earned; how many are new. What is kept already stays as it is.

    Raises InvalidInput for a return that is not a finite number: nothing is kept then.
    """
    kept = {
        text(name, "The id of an episode"): finite(value, f"The return of episode {quoted(name)}")
        for name, value in returns.items()
    }
    save_reward_configs(connection, [config])
    now, new = datetime.now(UTC), 0
    for some in in_parts(kept):
        keys = connection.execute(select(episodes.c.id, episodes.c.uuid).where(episodes.c.uuid.in_(some))).all()
        rows = [
            {"episode_id": key, "config_hash": config.config_hash, "shaped_return": kept[uuid], "scored_at": now}
            for key, uuid in keys
            if uuid in kept
        ]
        if rows:
            before = _count(connection, config.config_hash)
            connection.execute(insert_ignoring(connection, scorings), rows)
            new += _count(connection, config.config_hash) - before
    return new


def scorings_of(connection: Connection, config_hash: str) -> tuple[dict[str, float], tuple[Unreadable, ...]]:
    """What episodes would have earned under a configuration, by episode id, as far as that was kept; and the damage.

    Raises InvalidInput.
    """
    rows = connection.execute(
        select(as_stored(connection, episodes.c.uuid), number_as_stored(connection, scorings.c.shaped_return))
        .join(episodes, episodes.c.id == scorings.c.episode_id)
        .where(scorings.c.config_hash == text(config_hash, "The hash of a configuration"))
    )
    good: dict[str, float] = {}
    damage: list[Unreadable] = []
    for uuid, value in rows:
        name = decoded(uuid)
        try:
            good[name] = finite(value, "it")
        except InvalidInput:
            what = f"What episode {name} would have earned under {config_hash}"
            damage.append(Unreadable(name, str(damaged(what, ValueError(f"it is {quoted(value)}")))))
    return good, tuple(damage)


def _read(row: AnyRow) -> SavedReward:
    """Raises StoreCorrupt."""
    what = f"The saved configuration {quoted(decoded(row.name))}"
    if not row.is_there:
        raise damaged(what, LookupError("what was saved under that name is missing"))
    with named(what):
        name = row.name if isinstance(row.name, str) else row.name.decode()
        saved_at = UtcTime.from_microseconds(row.saved_at)
        try:
            config = read_reward(row.config)
        except StoreCorrupt as error:
            raise damaged(what, ValueError(str(error.__cause__))) from error
    return SavedReward(name, config, saved_at, row.n)


def _checked_name(name: str) -> str:
    """The name without blanks around it. Raises InvalidInput."""
    name = text(name, "The name of a configuration").strip()
    wanted = f"A configuration's name has 1 to {LONGEST_NAME} characters that can be seen"
    if not 0 < len(name) <= LONGEST_NAME:
        raise InvalidInput(f"{wanted}; this one has {len(name)}. Give another.")
    for character in name:
        if not character.isprintable() or character in _BLANK:
            raise InvalidInput(f"{wanted}, and {_called(character)} cannot. Leave it out.")
    return name


def _called(character: str) -> str:
    """Such as `U+200D ZERO WIDTH JOINER`."""
    name = unicodedata.name(character, "") or _UNNAMED.get(unicodedata.category(character), "without a name")
    return f"U+{ord(character):04X} {name}"


def _forget_scorings(connection: Connection, config_hash: str) -> None:
    """Those of a configuration that has no name any more."""
    still_named = select(saved_rewards.c.name).where(saved_rewards.c.config_hash == config_hash)
    if connection.execute(select(still_named.exists())).scalar_one():
        return
    connection.execute(delete(scorings).where(scorings.c.config_hash == config_hash))


def _forget_unused(connection: Connection) -> None:
    """Configurations that no name, no scoring and no episode, be it queued, refers to."""
    users = (saved_rewards.c.config_hash, scorings.c.config_hash, episodes.c.config_hash)
    connection.execute(delete(reward_configs).where(reward_configs.c.hash.not_in(union(*map(select, users)))))


def _count(connection: Connection, config_hash: str) -> int:
    query = select(func.count()).select_from(scorings).where(scorings.c.config_hash == config_hash)
    return connection.execute(query).scalar_one()
