"""What a run was asked for by (a trainer's session, a batch, an import), and an agent's own numbers of a decision."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Columns of runs and decisions. Earlier runs were launched here, and earlier decisions have no such numbers."""
    op.add_column("runs", sa.Column("source", sa.Text, nullable=False, server_default=""))
    op.add_column("runs", sa.Column("mode", sa.Text))
    op.add_column("runs", sa.Column("session_url", sa.Text))
    op.add_column("runs", sa.Column("batch_id", sa.Text))
    op.create_index("ix_runs_batch_id", "runs", ["batch_id"])
    op.add_column("decisions", sa.Column("value", sa.Float(53)))
    op.add_column("decisions", sa.Column("logprob", sa.Float(53)))
    op.add_column("decisions", sa.Column("numbers", sa.LargeBinary))
