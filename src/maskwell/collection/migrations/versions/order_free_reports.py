"""Reports and counts in leaves, which hide the order; names and days of keys; links that expire; numbers given once."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from alembic import op

from maskwell.collection.leaves import ROOM, SPAN, Leaves, leaf_text, lines_of, record_lines, room_of
from maskwell.collection.report_cells import Parts, longest_content
from maskwell.collection.survey import Survey

revision = "0002"
down_revision = "0001"

AT_ONCE = 50_000
_PLACE = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Move what is there into the new tables."""
    for name in ("reports", "tallies"):
        op.rename_table(name, f"old_{name}")
        op.create_table(
            name,
            sa.Column("place", _PLACE, primary_key=True, autoincrement=False),
            sa.Column("lines", sa.Text, nullable=False),
        )
    op.create_table(
        "holdings",
        sa.Column("survey", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("salt", sa.LargeBinary(16), nullable=False),
        sa.Column("room", sa.Integer, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("waiting", sa.Text, nullable=False),
    )
    for column in (sa.Column("name", sa.String(200)), sa.Column("made", sa.Date), sa.Column("used", sa.Date)):
        op.add_column("sessions", column)
    op.add_column("links", sa.Column("expires", sa.BigInteger, nullable=False, server_default="0"))
    connection = op.get_bind()
    for row in connection.execute(sa.text("SELECT id, document FROM surveys")).all():
        survey = Survey.from_dict(json.loads(row.document))
        _move_reports(connection, row.id, room_of(longest_content(survey)))
        _move_tallies(connection, row.id, Parts.of(survey))
    for name in ("reports", "tallies"):
        op.drop_table(f"old_{name}")
    if connection.dialect.name == "sqlite":
        _number_once(connection)


def downgrade() -> None:
    """A downgrade is impossible: the order of rows is gone, as it should be."""
    raise RuntimeError("restore a backup of the earlier version")


def _move_reports(connection: sa.Connection, survey: int, room: int) -> None:
    words = {"survey": survey}
    size = connection.execute(sa.text("SELECT count(*) FROM old_reports WHERE survey = :survey"), words).scalar_one()
    leaves = Leaves(survey * SPAN, secrets.token_bytes(16), room)
    rows = connection.execute(sa.text("SELECT id, content FROM old_reports WHERE survey = :survey"), words)
    for some in rows.partitions(AT_ONCE):
        lines: dict[int, list[str]] = {}
        for key, content in some:
            at = leaves.place(bytes(key), leaves.count(size))
            lines.setdefault(at, []).extend(record_lines({bytes(key): content}))
        _put(connection, "reports", lines, room)
    holding = {"salt": leaves.salt, "room": room, "size": size, "waiting": leaf_text([])}
    columns = "survey, salt, room, size, waiting"
    connection.execute(
        sa.text(f"INSERT INTO holdings ({columns}) VALUES (:survey, :salt, :room, :size, :waiting)"),  # noqa: S608
        {**words, **holding},
    )


def _move_tallies(connection: sa.Connection, survey: int, parts: Parts) -> None:
    chosen = "SELECT part, cell, sum(count) FROM old_tallies WHERE survey = :survey GROUP BY part, cell"
    lines: dict[int, list[str]] = {}
    for part, cell, count in connection.execute(sa.text(chosen), {"survey": survey}):
        lines.setdefault(survey * SPAN + parts.leaf(part, cell), []).append(f"{cell} {int(count)}")
    _put(connection, "tallies", lines)


def _put(connection: sa.Connection, table: str, lines: Mapping[int, Iterable[str]], room: int = ROOM) -> None:
    """Write lines into the leaves of their places, beside those that are there."""
    read = sa.text(f"SELECT lines FROM {table} WHERE place = :place")  # noqa: S608 (one of two names)
    write = sa.text(
        f"INSERT INTO {table} (place, lines) VALUES (:place, :lines) "  # noqa: S608
        "ON CONFLICT (place) DO UPDATE SET lines = excluded.lines"
    )
    rows: list[dict[str, Any]] = []
    for place, more in sorted(lines.items()):
        before = connection.execute(read, {"place": place}).scalar()
        rows.append({"place": place, "lines": leaf_text([*more, *(lines_of(before) if before else [])], room)})
    if rows:
        connection.execute(write, rows)


def _number_once(connection: sa.Connection) -> None:
    """The first files of SQLite gave the number of a deleted survey to another one."""
    made = connection.execute(sa.text("SELECT sql FROM sqlite_master WHERE name = 'surveys'")).scalar_one()
    if "AUTOINCREMENT" in made.upper():
        return
    members = [dict(row) for row in connection.execute(sa.text("SELECT * FROM members")).mappings()]
    with op.batch_alter_table("surveys", recreate="always", table_kwargs={"sqlite_autoincrement": True}):
        pass
    if members:  # they went with the table that they refer to
        connection.execute(sa.text("DELETE FROM members"))
        insert = "INSERT INTO members (survey, account, role) VALUES (:survey, :account, :role)"
        connection.execute(sa.text(insert), members)
