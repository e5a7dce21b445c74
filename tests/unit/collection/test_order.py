"""What the files of the database tell about the order in which reports came: nothing, once they are tidy."""

import json
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from tests.support.collecting import BY_INVITATION, REPORTS, SURVEY, database, new_store, opened, submission

from maskwell.collection.leaves import Leaves, leaf_text, lines_of
from maskwell.collection.report_cells import Parts, longest_content
from maskwell.collection.store import Store
from maskwell.collection.stored_survey import StoredSurvey, Submission, token_hash
from maskwell.collection.survey import Survey
from maskwell.collection.tables import holdings, reports, tallies

SALT = bytes(16)
PAGE = 4096
HEX_LINE = re.compile(rb"[0-9a-f]{32} [0-9,]+\n")


def filled(path: Path, sent: Sequence[tuple[bytes, dict[str, Any]]], at_once: int) -> tuple[Store, StoredSurvey]:
    """A file with these reports, sent in this order; the salt is always the same."""
    store = Store(f"sqlite:///{path}")
    store.create()
    stored = opened(store)
    with store.engine.begin() as connection:
        connection.execute(sa.update(holdings).values(salt=SALT))
    for at in range(0, len(sent), at_once):
        store.accept([submission(stored, content, id=key) for key, content in sent[at : at + at_once]])
    assert store.tidy()
    return store, stored


ONE = '{{ name = "q{}", ask = "?", answers = {}, design = {{ family = "subset", gamma = 3 }} }}'
LONG = 'survey = { title = "Long", results = "live", demand = { epsilon = 500 }, accept_no_protection = true }'
LONG += f"\nquestion = [{', '.join(ONE.format(i, [*map(str, range(100))]) for i in range(8))}]"


def test_long_reports_tell_no_order_either(tmp_path: Path) -> None:
    """Eight sets of a hundred: 800 characters and more for each report, and leaves of several pages."""
    chance = np.random.default_rng(8)
    sent = [(chance.bytes(16), ",".join(["01" * 50] * 8)) for _ in range(60)]
    contents = []
    for name, order in (("first", sent), ("second", sent[::-1])):
        store = Store(f"sqlite:///{tmp_path / name}")
        store.create()
        stored = opened(store, LONG)
        with store.engine.begin() as connection:
            connection.execute(sa.update(holdings).values(salt=SALT))
        for key, content in order:
            store.accept([Submission(stored.id, key, content)])
        assert store.tidy()
        raw = (tmp_path / name).read_bytes()
        contents.append([page for at in range(0, len(raw), PAGE) if b"0101010101" in (page := raw[at : at + PAGE])])
        store.close()
    assert len(contents[0]) > 10 and contents[0] == contents[1]


def some_reports(count: int) -> list[tuple[bytes, dict[str, Any]]]:
    chance = np.random.default_rng(5)
    return [
        (chance.bytes(16), {**REPORTS, "cash": int(chance.integers(4)), "tax": int(chance.integers(2))})
        for _ in range(count)
    ]


@pytest.mark.parametrize("at_once", [1, 40])
def test_the_file_is_the_same_whichever_way_reports_came(tmp_path: Path, at_once: int) -> None:
    """Byte for byte, besides the survey itself, whose code is random."""
    sent = some_reports(120)
    contents = []
    for name, order in (("first", sent), ("second", sent[::-1])):
        store, stored = filled(tmp_path / name, order, at_once)
        with store.engine.connect() as connection:
            contents.append([connection.execute(sa.select(table)).all() for table in (reports, tallies)])
        raw = (tmp_path / name).read_bytes()
        held = [raw[at : at + PAGE] for at in range(0, len(raw), PAGE)]
        contents[-1].append([page for page in held if HEX_LINE.search(page)])
        assert (tmp_path / f"{name}-wal").stat().st_size == 0 and store.size(stored) == 120
        store.close()
    assert len(contents[0][2]) > 2 and contents[0] == contents[1]


def test_no_rank_can_be_read_from_the_file(tmp_path: Path) -> None:
    """400 reports, one after the other: the correlation of ranks would be beyond 0.35 by chance below 1e-10.

    A table with a row for each report, also one in the order of random ids, has 1 for as many as fit on a page.
    """
    sent = some_reports(400)
    store, _ = filled(tmp_path / "surveys.db", sent, 1)
    raw = (tmp_path / "surveys.db").read_bytes()
    at = np.array([raw.find(key.hex().encode()) for key, _ in sent])
    assert (at >= 0).all()
    in_page = at % 4096
    for place in (at, in_page):
        assert abs(spearmanr(place, np.arange(len(sent))).statistic) < 0.35
    store.close()


def test_no_rank_can_be_read_from_postgresql(tmp_path: Path) -> None:
    with database("postgresql", tmp_path) as url:
        store = Store(url)
        store.create()
        stored = opened(store)
        made = [submission(stored) for _ in range(300)]
        for one in made:
            store.accept([one])
        place = _places(store)
        assert len({xmin for _, xmin in place.values()}) > 5 and store.tidy()
        place = _places(store)
        assert len({xmin for _, xmin in place.values()}) == 1
        rank = [place[one.id.hex()][0] for one in made]
        assert abs(spearmanr(rank, np.arange(len(made))).statistic) < 0.4  # by chance below 1e-10
        with store.engine.connect() as connection:
            cells = connection.execute(sa.text("SELECT count(DISTINCT xmin::text) FROM tallies")).scalar()
        assert cells == 1
        store.close()


def _places(store: Store) -> dict[str, tuple[int, str]]:
    chosen = sa.text("SELECT lines, xmin::text AS made FROM reports ORDER BY reports.ctid")
    with store.engine.connect() as connection:
        rows = connection.execute(chosen).all()
    return {line[:32]: (at, row.made) for at, row in enumerate(rows) for line in lines_of(row.lines)}


def test_a_used_invitation_leaves_no_trace_in_the_file(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    stored = opened(store, BY_INVITATION)
    tokens = store.invite(stored.code, 300)
    for token in tokens[:200]:
        assert store.accept([submission(stored, invitation=token_hash(token))]) == ["accepted"]
    assert store.tidy()
    raw = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not any(token_hash(token) in raw for token in tokens[:200])
    kept = [raw.find(token_hash(token)) for token in tokens[200:]]
    assert min(kept) > 0
    assert abs(spearmanr(kept, np.arange(100)).statistic) < 0.68  # by chance below 1e-10
    store.close()


def test_somebody_who_reads_for_long_is_not_waited_for(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    stored = opened(store)
    store.accept([submission(stored)])
    reading = store.records(stored)
    next(reading)
    store.accept([submission(stored)])
    assert not store.tidy() and len([*reading]) == 0 and store.tidy()
    assert (tmp_path / "surveys.db-wal").stat().st_size == 0
    store.close()


@given(st.lists(st.binary(min_size=16, max_size=16), unique=True, max_size=90), st.randoms())
def test_leaves_grow_to_where_they_would_have_been(keys: list[bytes], chance: Any) -> None:
    """Splitting the leaves that are named, and no other, leads to the leaves of the final number."""
    leaves = Leaves(1000, SALT, 960)
    held: dict[int, set[bytes]] = {1000: set()}
    size = 0
    while size < len(keys):
        some = keys[size : size + chance.randint(1, 20)]
        before, after = leaves.count(size), leaves.count(size + len(some))
        split = leaves.split(before, after)
        assert split <= set(held)
        moved = set().union(*(held[leaf] for leaf in split)) | set(some)
        for leaf in (*split, *range(1000 + before, 1000 + after)):
            held[leaf] = set()
        for key in moved:
            held[leaves.place(key, after)].add(key)
        size += len(some)
    expected: dict[int, set[bytes]] = {leaf: set() for leaf in range(1000, 1000 + leaves.count(size))}
    for key in keys:
        expected[leaves.place(key, leaves.count(size))].add(key)
    assert held == expected


@given(st.lists(st.text("0123456789,abcdef ", max_size=50), unique=True, max_size=60))
def test_a_leaf_keeps_its_lines_and_not_their_order(lines: list[str]) -> None:
    leaf = leaf_text(lines)
    assert lines_of(leaf) == sorted(lines) and leaf == leaf_text(lines[::-1]) and len(leaf) % 960 == 0


def test_leaves_hold_what_was_planned_and_nobody_outside_can_fill_one(store: Store) -> None:
    """Ids that differ in their last bits only, as somebody would choose them who wants to slow the service down."""
    stored = opened(store)
    ids = [number.to_bytes(16, "big") for number in range(600)]
    store.accept([submission(stored, id=key) for key in ids])
    with store.engine.connect() as connection:
        sizes = [len(lines_of(leaf)) for leaf in connection.execute(sa.select(reports.c.lines)).scalars()]
    assert sum(sizes) == 600 and max(sizes) < 8 * 600 / len(sizes)
    survey = Survey.from_toml(SURVEY)
    assert longest_content(survey) == len("1,3,1,1010")
    parts = Parts.of(survey)
    assert {leaf for leaves in parts.leaves.values() for leaf in leaves} == set(
        range(sum(map(len, parts.leaves.values())))
    )
    for name, cell in parts.cells("1,,1,0101"):
        assert parts.leaf(name, cell) in parts.leaves[name]


def old_file(path: Path, count: int) -> tuple[list[Submission], int]:
    """A file as version 0001 made it, without the number that is given once; its reports."""
    survey = Survey.from_toml(SURVEY)
    engine = sa.create_engine(f"sqlite:///{path}")
    made = [Submission(7, secrets.token_bytes(16), f"0,{number % 4},1,1010") for number in range(count)]
    parts = Parts.of(survey)
    with engine.begin() as connection:
        for statement in OLD:
            connection.exec_driver_sql(statement)
        connection.exec_driver_sql("INSERT INTO alembic_version VALUES ('0001')")
        connection.exec_driver_sql("INSERT INTO accounts VALUES (1, 'ann', 'x')")
        document = json.dumps(survey.to_dict())
        row = (7, "abc123", "open", survey.fingerprint, document, SURVEY, "2026-11-01")
        connection.exec_driver_sql("INSERT INTO surveys VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        connection.exec_driver_sql("INSERT INTO members VALUES (7, 1, 'owner')")
        for number, one in enumerate(made):
            connection.exec_driver_sql("INSERT INTO reports VALUES (?, ?, ?)", (7, one.id, one.content))
            for part, cell in parts.cells(one.content):
                add = "INSERT INTO tallies VALUES (7, ?, ?, ?, 1) ON CONFLICT DO UPDATE SET count = count + 1"
                connection.exec_driver_sql(add, (number % 2, part, cell))
    engine.dispose()
    return made, 7


OLD = (
    "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)",
    "CREATE TABLE accounts (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(200) NOT NULL UNIQUE, "
    "password VARCHAR(200) NOT NULL)",
    "CREATE TABLE sessions (token BLOB NOT NULL PRIMARY KEY, account INTEGER NOT NULL REFERENCES accounts (id) "
    "ON DELETE CASCADE, csrf VARCHAR(64) NOT NULL, expires BIGINT NOT NULL)",
    "CREATE TABLE links (token BLOB NOT NULL PRIMARY KEY, account INTEGER REFERENCES accounts (id) ON DELETE CASCADE)",
    "CREATE TABLE surveys (id INTEGER NOT NULL PRIMARY KEY, code VARCHAR(32) NOT NULL UNIQUE, state VARCHAR(10) "
    "NOT NULL, fingerprint VARCHAR(80) NOT NULL, document TEXT NOT NULL, source TEXT NOT NULL, made DATE NOT NULL)",
    "CREATE TABLE members (survey INTEGER NOT NULL REFERENCES surveys (id) ON DELETE CASCADE, account INTEGER NOT NULL "
    "REFERENCES accounts (id) ON DELETE CASCADE, role VARCHAR(10) NOT NULL, PRIMARY KEY (survey, account))",
    "CREATE TABLE invitations (survey INTEGER NOT NULL, token BLOB NOT NULL, PRIMARY KEY (survey, token)) "
    "WITHOUT ROWID",
    "CREATE TABLE reports (survey INTEGER NOT NULL, id BLOB NOT NULL, content TEXT NOT NULL, "
    "PRIMARY KEY (survey, id)) WITHOUT ROWID",
    "CREATE TABLE tallies (survey INTEGER NOT NULL, shard SMALLINT NOT NULL, part VARCHAR(100) NOT NULL, "
    "cell VARCHAR(200) NOT NULL, count BIGINT NOT NULL, PRIMARY KEY (survey, shard, part, cell)) WITHOUT ROWID",
)


def test_an_update_that_was_killed_before_its_end_leaves_no_trace_after_the_next_start(tmp_path, monkeypatch) -> None:
    """The new tables are there, and old rows still stand in the file: what removed them is in the log alone."""
    made, _ = old_file(tmp_path / "surveys.db", 230)
    killed, following = (Store(f"sqlite:///{tmp_path / 'surveys.db'}") for _ in range(2))
    monkeypatch.setattr(killed, "compact", lambda: None)
    killed.create()
    assert any(one.id in (tmp_path / "surveys.db").read_bytes() for one in made)
    following.create()
    assert not any(one.id in path.read_bytes() for path in tmp_path.iterdir() for one in made)
    for store in (killed, following):
        store.close()


def test_a_file_of_before_is_brought_up_to_date(tmp_path: Path) -> None:
    made, number = old_file(tmp_path / "surveys.db", 230)
    store = new_store(tmp_path)
    stored = store.survey("abc123")
    assert dict(store.records(stored)) == {one.id: one.content for one in made}
    assert store.differences(stored) == [] and store.size(stored) == 230
    assert [one.code for one in store.surveys(1)] == ["abc123"]  # its owner still sees it
    assert store.accept([made[0], submission(stored)]) == ["accepted", "accepted"]
    assert store.size(stored) == 231
    raw = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not any(one.id in raw for one in made)  # as bytes: where they stood before
    store.delete("abc123")
    assert store.survey(store.add_survey(Survey.from_toml(SURVEY))).id > number
    store.close()
