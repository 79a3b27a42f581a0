"""Episode specifications as rows: the reward configuration is stored once for all episodes that share it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, Insert, Table
from sqlalchemy.dialects import postgresql, sqlite

from core.errors import InvalidInput, StoreCorrupt, StoreTooNew
from core.store.blobs import from_json, to_json
from core.store.tables import AnySelect, reward_configs
from core.types import EpisodeSpec, EpisodeStatus, QueuedEpisode, RewardConfig

VERSION: Final = 1


class _SpecRecord(msgspec.Struct, frozen=True):
    """`spec` is written without its reward configuration."""

    v: int
    spec: EpisodeSpec


def insert_ignoring(connection: Connection, table: Table, rows: AnySelect | None = None) -> Insert:
    """An INSERT that passes over rows that are there already; of what a query finds, where one is given."""
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    insert = dialect.insert(table)
    if rows is not None:
        insert = insert.from_select([column.name for column in table.columns], rows)
    return insert.on_conflict_do_nothing()


def save_reward_configs(connection: Connection, configs: Iterable[RewardConfig]) -> None:
    """Store the configurations that are not stored yet. Raises InvalidInput for one that could not be read again."""
    rows = {config.config_hash: _reward_blob(config) for config in configs}
    if rows:
        statement = insert_ignoring(connection, reward_configs)
        connection.execute(statement, [{"hash": name, "config": blob} for name, blob in sorted(rows.items())])


def _reward_blob(config: RewardConfig) -> bytes:
    blob = to_json(config)
    try:
        json.dumps(msgspec.to_builtins(config), allow_nan=False)  # msgspec would write what is not finite as null
        from_json(blob, RewardConfig, "It")
    except (ValueError, StoreCorrupt) as error:
        raise InvalidInput(
            f"A reward configuration cannot be kept: a value in it is not finite or of a wrong type ({error}). Check "
            "its weights, limits and parameters."
        ) from error
    return blob


def spec_blob(spec: EpisodeSpec) -> bytes:
    """A specification without its reward configuration."""
    fields: dict[str, Any] = msgspec.to_builtins(spec)
    del fields["reward"]
    return to_json({"v": VERSION, "spec": fields})


@lru_cache(maxsize=256)
def read_reward(blob: bytes) -> RewardConfig:
    """A reward configuration that was stored. Raises StoreCorrupt."""
    return from_json(blob, RewardConfig, "A reward configuration")


def read_spec(blob: bytes, reward_blob: bytes, what: str) -> EpisodeSpec:
    """The specification that was stored. Raises StoreCorrupt, StoreTooNew."""
    record = from_json(blob, _SpecRecord, what)
    if record.v > VERSION:
        raise StoreTooNew(f"{what} was written by a newer Craftscope (format {record.v}). Update Craftscope to see it.")
    return replace(record.spec, reward=read_reward(reward_blob))


def episode_row(run_key: int, queued: QueuedEpisode, created_at: datetime, status: EpisodeStatus) -> dict[str, Any]:
    """A row of `episodes` for an episode that has not begun."""
    return {
        "uuid": queued.id,
        "run_id": run_key,
        "policy": queued.spec.policy.name,
        "seed": queued.spec.seed,
        "group_index": queued.group_index,
        "status": status.value,
        "stop_requested": False,
        "worker": "",
        "created_at": created_at,
        "n_steps": 0,
        "n_decisions": 0,
        "n_achievements": 0,
        "env_return": 0.0,
        "shaped_return": 0.0,
        "config_hash": queued.spec.reward.config_hash,
        "spec": spec_blob(queued.spec),
    }
