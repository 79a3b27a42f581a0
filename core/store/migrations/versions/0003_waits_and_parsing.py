"""What a model's decision waited between attempts, and how long its answers took to be read."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Two columns of decisions; those that were recorded before keep NULL, which means that it is not known."""
    op.add_column("decisions", sa.Column("waited_ms", sa.Float(53)))
    op.add_column("decisions", sa.Column("parse_ms", sa.Float(53)))
