"""The tables. Changing one needs a migration in `migrations/versions`; a test compares the two.

Integer keys join the tables; the ids that people and URLs use are `runs.uuid` and `episodes.uuid`. Everything that
belongs to an episode goes with it (ON DELETE CASCADE). Blobs are described in `codec.py`, `packs.py`, `core.scenes`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    Select,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.types import TypeDecorator

AnyRow = Row[*tuple[Any, ...]]
AnySelect = Select[*tuple[Any, ...]]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class UtcTime(TypeDecorator[datetime]):
    """A moment as whole microseconds since 1970: exact, and ordered alike in every database."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        """From an aware datetime; a naive one raises TypeError."""
        return None if value is None else (value - _EPOCH) // timedelta(microseconds=1)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        """To a datetime in UTC."""
        return None if value is None else _EPOCH + timedelta(microseconds=value)


class PlainText(TypeDecorator[str]):
    """Text as every database takes it: NUL and half surrogate pairs become U+FFFD, in what is asked for too."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None or (value.isascii() and "\0" not in value):
            return value
        return value.replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def columns_of(row: AnyRow) -> dict[str, Any]:
    """A row's values by the names of their columns."""
    return {str(name): value for name, value in zip(row._fields, row, strict=True)}  # pyright: ignore[reportPrivateUsage]


# SQLite gives a rowid only to a column that is declared INTEGER.
Key = BigInteger().with_variant(Integer(), "sqlite")

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _episode_key(**kwargs: Any) -> Column[int]:
    return Column("episode_id", Key, ForeignKey("episodes.id", ondelete="CASCADE"), nullable=False, **kwargs)


def _decision_key() -> Column[int]:
    return Column("decision_id", Key, ForeignKey("decisions.id", ondelete="CASCADE"), primary_key=True)


def _blob_table(name: str, *columns: Column[Any] | UniqueConstraint) -> Table:
    return Table(name, metadata, *columns, Column("blob", LargeBinary, nullable=False))


store_meta = Table(
    "store_meta",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("generation", BigInteger, nullable=False),
)

runs = Table(
    "runs",
    metadata,
    Column("id", Key, primary_key=True),
    Column("uuid", PlainText, nullable=False, unique=True),
    Column("name", PlainText, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("config", LargeBinary, nullable=False),
    Column("training_session_id", PlainText),
    Column("trace_correlation_id", PlainText),
    Column("source", PlainText, nullable=False, server_default=""),
    Column("mode", PlainText),
    Column("session_url", PlainText),
    Column("batch_id", PlainText),
    Index(None, "created_at", "id"),
    Index(None, "batch_id"),
)

reward_configs = Table(
    "reward_configs",
    metadata,
    Column("hash", PlainText, primary_key=True),
    Column("config", LargeBinary, nullable=False),
)

episodes = Table(
    "episodes",
    metadata,
    Column("id", Key, primary_key=True),
    Column("uuid", PlainText, nullable=False, unique=True),
    Column("run_id", Key, ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    Column("policy", PlainText, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("group_index", Integer, nullable=False),
    Column("status", PlainText, nullable=False),
    Column("stop_reason", PlainText),
    Column("stop_requested", Boolean, nullable=False),
    Column("worker", PlainText, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("started_at", UtcTime),
    Column("heartbeat_at", UtcTime),
    Column("ended_at", UtcTime),
    Column("n_steps", Integer, nullable=False),
    Column("n_decisions", Integer, nullable=False),
    Column("n_achievements", Integer, nullable=False),
    Column("env_return", Float(53), nullable=False),
    Column("shaped_return", Float(53), nullable=False),
    Column("config_hash", PlainText, ForeignKey("reward_configs.hash"), nullable=False),
    Column("spec", LargeBinary, nullable=False),
    Column("error", LargeBinary),
    Index(None, "created_at", "id"),
    Index(None, "policy", "created_at"),
    Index(None, "run_id"),
    Index(None, "seed"),
    Index(None, "shaped_return"),
    Index(None, "status"),
)

episode_achievements = Table(
    "episode_achievements",
    metadata,
    _episode_key(primary_key=True),
    Column("name", PlainText, primary_key=True),
    Column("step", Integer, nullable=False),
    Index(None, "name", "episode_id"),
    sqlite_with_rowid=False,
)

episode_starts = _blob_table("episode_starts", _episode_key(primary_key=True))

decisions = Table(
    "decisions",
    metadata,
    Column("id", Key, primary_key=True),
    _episode_key(),
    Column("idx", Integer, nullable=False),
    Column("step_start", Integer, nullable=False),
    Column("step_end", Integer, nullable=False),
    Column("env_reward", Float(53), nullable=False),
    Column("reward", Float(53), nullable=False),
    Column("ok", Boolean, nullable=False),
    Column("error_kind", PlainText),
    Column("unlocked", PlainText),
    Column("actions", PlainText, nullable=False),
    Column("inference_ms", Float(53), nullable=False),
    Column("env_step_ms", Float(53), nullable=False),
    Column("overhead_ms", Float(53), nullable=False),
    Column("store_ms", Float(53)),
    Column("model", PlainText),
    Column("tokens_in", Integer),
    Column("tokens_out", Integer),
    Column("latency_ms", Float(53)),
    Column("model_calls", Integer),
    Column("cost_usd", Float(53)),
    Column("waited_ms", Float(53)),
    Column("parse_ms", Float(53)),
    Column("value", Float(53)),
    Column("logprob", Float(53)),
    Column("numbers", LargeBinary),
    UniqueConstraint("episode_id", "idx"),
)

decision_payloads = _blob_table("decision_payloads", _decision_key())

request_parts = _blob_table(
    "request_parts",
    Column("id", Key, primary_key=True),
    _episode_key(),
    Column("idx", Integer, nullable=False),
    UniqueConstraint("episode_id", "idx"),
)

component_types = Table(
    "component_types",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("kind", PlainText, nullable=False),
    Column("name", PlainText, nullable=False),
    UniqueConstraint("kind", "name"),
)

reward_components = Table(
    "reward_components",
    metadata,
    _decision_key(),
    Column("k", Integer, primary_key=True),
    Column("type_id", Integer, ForeignKey("component_types.id"), nullable=False),
    Column("delta", Float(53), nullable=False),
    Column("weight", Float(53), nullable=False),
    Column("value", Float(53), nullable=False),
    Column("count_prior", Integer),
    Column("count_limit", Integer),
    Index(None, "type_id", "decision_id", "value"),
    sqlite_with_rowid=False,
)

scene_chunks = _blob_table(
    "scene_chunks",
    Column("id", Key, primary_key=True),
    _episode_key(),
    Column("first", Integer, nullable=False),
    Column("n", Integer, nullable=False),
    UniqueConstraint("episode_id", "first"),
)

episode_packs = _blob_table("episode_packs", _episode_key(primary_key=True))

saved_rewards = Table(
    "saved_rewards",
    metadata,
    Column("name", PlainText, primary_key=True),
    Column("config_hash", PlainText, ForeignKey("reward_configs.hash"), nullable=False),
    Column("saved_at", UtcTime, nullable=False),
)

scorings = Table(
    "scorings",
    metadata,
    _episode_key(primary_key=True),
    Column("config_hash", PlainText, ForeignKey("reward_configs.hash"), primary_key=True),
    Column("shaped_return", Float(53), nullable=False),
    Column("scored_at", UtcTime, nullable=False),
    Index(None, "config_hash"),
)

seed_descriptions = Table(
    "seed_descriptions",
    metadata,
    Column("id", Key, primary_key=True),
    Column("seed", BigInteger, nullable=False),
    Column("world_episode", Integer, nullable=False),
    Column("env", PlainText, nullable=False),
    Column("engine_version", PlainText, nullable=False),
    Column("description", LargeBinary, nullable=False),
    Column("picture_png", LargeBinary, nullable=False),
    UniqueConstraint("seed", "world_episode", "env", "engine_version"),
)

model_profiles = Table(
    "model_profiles",
    metadata,
    Column("name", PlainText, primary_key=True),
    Column("profile", LargeBinary, nullable=False),
)
