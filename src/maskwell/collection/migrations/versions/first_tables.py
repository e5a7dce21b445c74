"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make all tables."""
    op.create_table(
        "accounts",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(200), nullable=False, unique=True),
        sa.Column("password", sa.String(200), nullable=False),
    )
    op.create_table(
        "sessions",
        sa.Column("token", sa.LargeBinary(32), primary_key=True),
        sa.Column("account", sa.Integer, sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
        sa.Column("csrf", sa.String(64), nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "links",
        sa.Column("token", sa.LargeBinary(32), primary_key=True),
        sa.Column("account", sa.Integer, sa.ForeignKey("accounts.id", ondelete="CASCADE")),
    )
    op.create_table(
        "surveys",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("code", sa.String(32), nullable=False, unique=True),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("fingerprint", sa.String(80), nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("made", sa.Date, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "members",
        sa.Column("survey", sa.Integer, sa.ForeignKey("surveys.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("account", sa.Integer, sa.ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("role", sa.String(10), nullable=False),
    )
    op.create_table(
        "invitations",
        sa.Column("survey", sa.Integer, primary_key=True),
        sa.Column("token", sa.LargeBinary(32), primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "reports",
        sa.Column("survey", sa.Integer, primary_key=True),
        sa.Column("id", sa.LargeBinary(16), primary_key=True),
        sa.Column("content", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tallies",
        sa.Column("survey", sa.Integer, primary_key=True),
        sa.Column("shard", sa.SmallInteger, primary_key=True),
        sa.Column("part", sa.String(100), primary_key=True),
        sa.Column("cell", sa.String(200), primary_key=True),
        sa.Column("count", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    """Remove all tables, with all that was collected."""
    for name in ("tallies", "reports", "invitations", "members", "surveys", "links", "sessions", "accounts"):
        op.drop_table(name)
