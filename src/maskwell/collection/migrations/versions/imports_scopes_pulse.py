"""Files that were imported, what keys may do, and a row that is written to see whether anything can be."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the tables; keys that are there may do what they could do before."""
    op.create_table(
        "imports",
        sa.Column("survey", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("mark", sa.LargeBinary(32), primary_key=True),
        sqlite_with_rowid=False,
    )
    pulse = op.create_table(
        "pulse",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("beat", sa.SmallInteger, nullable=False),
    )
    op.bulk_insert(pulse, [{"id": 1, "beat": 0}])
    op.add_column("sessions", sa.Column("scope", sa.String(10)))
    op.execute("UPDATE sessions SET scope = 'manage' WHERE name IS NOT NULL")


def downgrade() -> None:
    """Remove them."""
    op.drop_column("sessions", "scope")
    for name in ("pulse", "imports"):
        op.drop_table(name)
