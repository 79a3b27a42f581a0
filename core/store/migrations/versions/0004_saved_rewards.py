"""Reward configurations that people save under a name, and what episodes would have earned under them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.BigInteger()  # microseconds since 1970, UTC


def upgrade() -> None:
    """Two tables; nothing that was there changes."""
    op.create_table(
        "saved_rewards",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("config_hash", sa.Text, nullable=False),
        sa.Column("saved_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_saved_rewards"),
        sa.ForeignKeyConstraint(["config_hash"], ["reward_configs.hash"], name="fk_saved_rewards_config_hash"),
    )
    op.create_table(
        "scorings",
        sa.Column("episode_id", KEY, nullable=False),
        sa.Column("config_hash", sa.Text, nullable=False),
        sa.Column("shaped_return", sa.Float(53), nullable=False),
        sa.Column("scored_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("episode_id", "config_hash", name="pk_scorings"),
        sa.ForeignKeyConstraint(["episode_id"], ["episodes.id"], ondelete="CASCADE", name="fk_scorings_episode_id"),
        sa.ForeignKeyConstraint(["config_hash"], ["reward_configs.hash"], name="fk_scorings_config_hash"),
    )
    op.create_index("ix_scorings_config_hash", "scorings", ["config_hash"])
