"""Episodes without their decisions: filters, cursors, and rows as `EpisodeSummary`."""

from __future__ import annotations

import base64
import binascii
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

from sqlalchemy import BigInteger, ColumnElement, Connection, and_, exists, or_, select, type_coerce

from core.errors import InvalidInput
from core.store.blobs import from_json, typed
from core.store.records import EpisodeFilter, EpisodeSummary
from core.store.rows import Listing, listing
from core.store.specs import read_spec
from core.store.tables import AnyRow, UtcTime, columns_of, episode_achievements, episodes, reward_configs, runs
from core.types import EpisodeError

_KEY_END: Final = 2**63
NEWEST_FIRST: Final = (episodes.c.created_at.desc(), episodes.c.id.desc())


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
    spec = read_spec(row.spec, row.config, name)
    fields = {
        **columns_of(row),
        "id": row.uuid,
        "run_id": row.run,
        "spec": spec,
        "seed": spec.seed,
        "world_episode": spec.world_episode,
        "policy_seed": spec.policy_seed,
        "error": None if row.error is None else from_json(row.error, EpisodeError, f"The error of {name}"),
        "achievements": achievements,
    }
    return typed(fields, EpisodeSummary, name)


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
