"""The first schema."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.BigInteger()  # microseconds since 1970, UTC


def upgrade() -> None:
    """Create every table."""
    _create_runs()
    _create_episodes()
    _create_decisions()
    _create_rewards()
    _create_scenes_and_packs()
    _create_seed_descriptions()
    op.create_table(
        "store_meta",
        sa.Column("id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("generation", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_store_meta"),
    )
    op.execute("INSERT INTO store_meta (id, generation) VALUES (1, 0)")


def _episode_key() -> sa.Column[Any]:
    return sa.Column("episode_id", KEY, nullable=False)


def _of_episode(table: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_episode_id"
    return sa.ForeignKeyConstraint(["episode_id"], ["episodes.id"], ondelete="CASCADE", name=name)


def _of_decision(table: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_decision_id"
    return sa.ForeignKeyConstraint(["decision_id"], ["decisions.id"], ondelete="CASCADE", name=name)


def _create_runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", KEY, nullable=False),
        sa.Column("uuid", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("config", sa.LargeBinary, nullable=False),
        sa.Column("training_session_id", sa.Text),
        sa.Column("trace_correlation_id", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.UniqueConstraint("uuid", name="uq_runs_uuid"),
    )
    op.create_index("ix_runs_created_at_id", "runs", ["created_at", "id"])
    op.create_table(
        "reward_configs",
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("config", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_reward_configs"),
    )


def _create_episodes() -> None:
    op.create_table(
        "episodes",
        sa.Column("id", KEY, nullable=False),
        sa.Column("uuid", sa.Text, nullable=False),
        sa.Column("run_id", KEY, nullable=False),
        sa.Column("policy", sa.Text, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("group_index", sa.Integer, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("stop_reason", sa.Text),
        sa.Column("stop_requested", sa.Boolean, nullable=False),
        sa.Column("worker", sa.Text, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("started_at", TIME),
        sa.Column("heartbeat_at", TIME),
        sa.Column("ended_at", TIME),
        sa.Column("n_steps", sa.Integer, nullable=False),
        sa.Column("n_decisions", sa.Integer, nullable=False),
        sa.Column("n_achievements", sa.Integer, nullable=False),
        sa.Column("env_return", sa.Float(53), nullable=False),
        sa.Column("shaped_return", sa.Float(53), nullable=False),
        sa.Column("config_hash", sa.Text, nullable=False),
        sa.Column("spec", sa.LargeBinary, nullable=False),
        sa.Column("error", sa.LargeBinary),
        sa.PrimaryKeyConstraint("id", name="pk_episodes"),
        sa.UniqueConstraint("uuid", name="uq_episodes_uuid"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE", name="fk_episodes_run_id"),
        sa.ForeignKeyConstraint(["config_hash"], ["reward_configs.hash"], name="fk_episodes_config_hash"),
    )
    for columns in (
        ["created_at", "id"],
        ["policy", "created_at"],
        ["run_id"],
        ["seed"],
        ["shaped_return"],
        ["status"],
    ):
        op.create_index("_".join(["ix_episodes", *columns]), "episodes", columns)
    op.create_table(
        "episode_achievements",
        _episode_key(),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("step", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("episode_id", "name", name="pk_episode_achievements"),
        _of_episode("episode_achievements"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_episode_achievements_name_episode_id", "episode_achievements", ["name", "episode_id"])
    op.create_table(
        "episode_starts",
        _episode_key(),
        sa.Column("blob", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("episode_id", name="pk_episode_starts"),
        _of_episode("episode_starts"),
    )


def _create_decisions() -> None:
    op.create_table(
        "decisions",
        sa.Column("id", KEY, nullable=False),
        _episode_key(),
        sa.Column("idx", sa.Integer, nullable=False),
        sa.Column("step_start", sa.Integer, nullable=False),
        sa.Column("step_end", sa.Integer, nullable=False),
        sa.Column("env_reward", sa.Float(53), nullable=False),
        sa.Column("reward", sa.Float(53), nullable=False),
        sa.Column("ok", sa.Boolean, nullable=False),
        sa.Column("error_kind", sa.Text),
        sa.Column("unlocked", sa.Text),
        sa.Column("actions", sa.Text, nullable=False),
        sa.Column("inference_ms", sa.Float(53), nullable=False),
        sa.Column("env_step_ms", sa.Float(53), nullable=False),
        sa.Column("overhead_ms", sa.Float(53), nullable=False),
        sa.Column("store_ms", sa.Float(53)),
        sa.Column("model", sa.Text),
        sa.Column("tokens_in", sa.Integer),
        sa.Column("tokens_out", sa.Integer),
        sa.Column("latency_ms", sa.Float(53)),
        sa.PrimaryKeyConstraint("id", name="pk_decisions"),
        sa.UniqueConstraint("episode_id", "idx", name="uq_decisions_episode_id_idx"),
        _of_episode("decisions"),
    )
    op.create_table(
        "decision_payloads",
        sa.Column("decision_id", KEY, nullable=False),
        sa.Column("blob", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("decision_id", name="pk_decision_payloads"),
        _of_decision("decision_payloads"),
    )
    op.create_table(
        "request_parts",
        sa.Column("id", KEY, nullable=False),
        _episode_key(),
        sa.Column("idx", sa.Integer, nullable=False),
        sa.Column("blob", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_request_parts"),
        sa.UniqueConstraint("episode_id", "idx", name="uq_request_parts_episode_id_idx"),
        _of_episode("request_parts"),
    )


def _create_rewards() -> None:
    op.create_table(
        "component_types",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_component_types"),
        sa.UniqueConstraint("kind", "name", name="uq_component_types_kind_name"),
    )
    op.create_table(
        "reward_components",
        sa.Column("decision_id", KEY, nullable=False),
        sa.Column("k", sa.Integer, nullable=False),
        sa.Column("type_id", sa.Integer, nullable=False),
        sa.Column("delta", sa.Float(53), nullable=False),
        sa.Column("weight", sa.Float(53), nullable=False),
        sa.Column("value", sa.Float(53), nullable=False),
        sa.Column("count_prior", sa.Integer),
        sa.Column("count_limit", sa.Integer),
        sa.PrimaryKeyConstraint("decision_id", "k", name="pk_reward_components"),
        sa.ForeignKeyConstraint(["type_id"], ["component_types.id"], name="fk_reward_components_type_id"),
        _of_decision("reward_components"),
        sqlite_with_rowid=False,
    )
    columns = ["type_id", "decision_id", "value"]
    op.create_index("_".join(["ix_reward_components", *columns]), "reward_components", columns)


def _create_scenes_and_packs() -> None:
    op.create_table(
        "scene_chunks",
        sa.Column("id", KEY, nullable=False),
        _episode_key(),
        sa.Column("first", sa.Integer, nullable=False),
        sa.Column("n", sa.Integer, nullable=False),
        sa.Column("blob", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_scene_chunks"),
        sa.UniqueConstraint("episode_id", "first", name="uq_scene_chunks_episode_id_first"),
        _of_episode("scene_chunks"),
    )
    op.create_table(
        "episode_packs",
        _episode_key(),
        sa.Column("blob", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("episode_id", name="pk_episode_packs"),
        _of_episode("episode_packs"),
    )


def _create_seed_descriptions() -> None:
    columns = ("seed", "world_episode", "env", "engine_version")
    op.create_table(
        "seed_descriptions",
        sa.Column("id", KEY, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("world_episode", sa.Integer, nullable=False),
        sa.Column("env", sa.Text, nullable=False),
        sa.Column("engine_version", sa.Text, nullable=False),
        sa.Column("description", sa.LargeBinary, nullable=False),
        sa.Column("picture_png", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_seed_descriptions"),
        sa.UniqueConstraint(*columns, name="_".join(["uq_seed_descriptions", *columns])),
    )
