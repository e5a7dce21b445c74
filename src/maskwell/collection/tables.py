"""The tables of the database, as the newest migration leaves them."""

from __future__ import annotations

import sqlalchemy as sa

ID_BYTES = 16
SALT_BYTES = 16

metadata = sa.MetaData()
accounts = sa.Table(
    "accounts",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(200), nullable=False, unique=True),
    sa.Column("password", sa.String(200), nullable=False),
)
sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("token", sa.LargeBinary(32), primary_key=True),
    sa.Column("account", sa.Integer, sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
    sa.Column("csrf", sa.String(64), nullable=False),
    sa.Column("expires", sa.BigInteger, nullable=False),
    sa.Column("name", sa.String(200)),  # of a key for programs; a browser has none
    sa.Column("made", sa.Date),
    sa.Column("used", sa.Date),
    sa.Column("scope", sa.String(10)),  # of a key: what it may do
)
links = sa.Table(
    "links",
    metadata,
    sa.Column("token", sa.LargeBinary(32), primary_key=True),
    sa.Column("account", sa.Integer, sa.ForeignKey("accounts.id", ondelete="CASCADE")),
    sa.Column("expires", sa.BigInteger, nullable=False, server_default="0"),
)
surveys = sa.Table(
    "surveys",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("code", sa.String(32), nullable=False, unique=True),
    sa.Column("state", sa.String(10), nullable=False),
    sa.Column("fingerprint", sa.String(80), nullable=False),
    sa.Column("document", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("made", sa.Date, nullable=False),
    sqlite_autoincrement=True,  # the number of a deleted survey is not given again: another process may remember it
)
members = sa.Table(
    "members",
    metadata,
    sa.Column("survey", sa.Integer, sa.ForeignKey("surveys.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("account", sa.Integer, sa.ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("role", sa.String(10), nullable=False),
)
invitations = sa.Table(
    "invitations",
    metadata,
    sa.Column("survey", sa.Integer, primary_key=True),
    sa.Column("token", sa.LargeBinary(32), primary_key=True),
    sqlite_with_rowid=False,
)
_PLACE = sa.BigInteger().with_variant(sa.Integer, "sqlite")  # the number of a row of SQLite, which keeps no other key
reports, tallies = (
    sa.Table(
        name,
        metadata,
        sa.Column("place", _PLACE, primary_key=True, autoincrement=False),
        sa.Column("lines", sa.Text, nullable=False),
    )
    for name in ("reports", "tallies")
)
holdings = sa.Table(
    "holdings",
    metadata,
    sa.Column("survey", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("salt", sa.LargeBinary(SALT_BYTES), nullable=False),
    sa.Column("room", sa.Integer, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("waiting", sa.Text, nullable=False),
)
imports = sa.Table(
    "imports",
    metadata,
    sa.Column("survey", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("mark", sa.LargeBinary(32), primary_key=True),
    sqlite_with_rowid=False,
)
pulse = sa.Table(
    "pulse",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("beat", sa.SmallInteger, nullable=False),
)
