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
        return None if value is None else self.to_microseconds(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        """To a datetime in UTC; anything else stays, so that reading its row reports it and not the whole query."""
        try:
            return None if value is None else _EPOCH + timedelta(microseconds=value)
        except (TypeError, OverflowError):
            return value

    @staticmethod
    def to_microseconds(moment: datetime) -> int:
        """Whole microseconds since 1970."""
        return (moment - _EPOCH) // timedelta(microseconds=1)


class PlainText(TypeDecorator[str]):
    """Text as every database takes it: NUL and half surrogate pairs become U+FFFD, in what is asked for too."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """The text without what some database refuses."""
        return None if value is None else self.cleaned(value)

    @staticmethod
    def cleaned(text: str) -> str:
        """The text as it comes back once it was stored."""
        if text.isascii() and "\0" not in text:
            return text
        return text.replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


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
    Index(None, "created_at", "id"),
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

episode_starts = Table(
    "episode_starts",
    metadata,
    _episode_key(primary_key=True),
    Column("blob", LargeBinary, nullable=False),
)

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
    UniqueConstraint("episode_id", "idx"),
)

decision_payloads = Table(
    "decision_payloads",
    metadata,
    _decision_key(),
    Column("blob", LargeBinary, nullable=False),
)

request_parts = Table(
    "request_parts",
    metadata,
    Column("id", Key, primary_key=True),
    _episode_key(),
    Column("idx", Integer, nullable=False),
    Column("blob", LargeBinary, nullable=False),
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

scene_chunks = Table(
    "scene_chunks",
    metadata,
    Column("id", Key, primary_key=True),
    _episode_key(),
    Column("first", Integer, nullable=False),
    Column("n", Integer, nullable=False),
    Column("blob", LargeBinary, nullable=False),
    UniqueConstraint("episode_id", "first"),
)

episode_packs = Table(
    "episode_packs",
    metadata,
    _episode_key(primary_key=True),
    Column("blob", LargeBinary, nullable=False),
)

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
