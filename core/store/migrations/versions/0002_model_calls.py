"""What model calls cost, and the connection profiles that people keep."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Two columns of decisions and one table; older decisions had no model and keep NULL."""
    op.add_column("decisions", sa.Column("model_calls", sa.Integer))
    op.add_column("decisions", sa.Column("cost_usd", sa.Float(53)))
    op.create_table(
        "model_profiles",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("profile", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_model_profiles"),
    )
