"""The last look at a public folder: a clean one passes, and every kind of leak is found."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.quiet import refused
from tests.support.releases import (
    COLUMNS,
    ROWS,
    changed,
    drawn,
    plan_of,
    release_of,
    roof,
    sex,
    write_csv,
)

import maskwell as mw
from maskwell import Release
from maskwell.errors import PublishError
from maskwell.microdata.folder.receipt_contents import dumps, internal_receipt, numbered
from maskwell.microdata.folder.release_folder import check_public, write_public
from maskwell.microdata.release_values import ReleasedColumn

STAGES = [roof(), sex()]


def clean(folder: Path, **changes: Any) -> Release:
    plan = plan_of(STAGES, drop=["name"], id="pid")
    release = release_of(STAGES, plan, **changes)
    folder.mkdir()
    write_csv(folder / "data.csv", COLUMNS, drawn(ROWS, COLUMNS, STAGES))
    write_public(release, folder)
    return release


def edit(path: Path, change: Callable[[Any], None]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def added(name: str) -> Callable[[Path], Any]:
    def add(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x")

    return add


def linked(folder: Path) -> None:
    shutil.move(folder / "README.md", folder.parent / "README.md")
    (folder / "README.md").symlink_to(folder.parent / "README.md")


def receipt_with(group: int | None = None, **more: Any) -> Callable[[Path], None]:
    """Other entries of the public receipt, or of one of its groups."""
    return lambda folder: edit(
        folder / "receipt.json", lambda content: (content if group is None else content["groups"][group]).update(more)
    )


def ended(name: str, text: str) -> Callable[[Path], Any]:
    """A document that ends with another text."""
    return lambda folder: (folder / name).write_text((folder / name).read_text() + text)


KEY = "0123456789ABCDEF" * 4
WITHHELD = {**STAGES[0].design.to_dict(), "provenance": {}}
GIVEN = {**numbered(STAGES[1].design).to_dict(), "provenance": {"counts": [1]}}
FIELDS = ("counts", "seed", "source", "risk", "plan", "changed", "fingerprint")
OF_GROUPS = ("theta", "changed_exactly", "clearance", "stage", "counts")
LONG: list[dict[str, Any]] = [{"vif": {"roof": 1.234}}, {"n_eff": {"roof": 12345}}, {"changed_expected": 0.12345}]
WORDS = ("README.md", "ddi.xml", "codebook.csv", "codebook.json", "datapackage.json")
LEAKS: list[tuple[str, Callable[[Path], Any]]] = [
    *(
        ("does not belong in a public folder", added(name))
        for name in ("internal.json", ".hidden", "sub/receipt.json", "risk.csv")
    ),
    (r"ddi.xml .* missing", lambda folder: (folder / "ddi.xml").unlink()),
    ("not a regular file", linked),
    *((f"'{field}', which is internal", receipt_with(**{field: 1})) for field in FIELDS),
    *((f"'{field}', which is internal", receipt_with(0, **{field: 1})) for field in OF_GROUPS),
    ("internal receipt", receipt_with(audience="internal")),
    ("it holds the matrix of roof", receipt_with(0, design=WITHHELD)),
    ("records its provenance", receipt_with(1, design=GIVEN)),
    *(("too many digits", receipt_with(0, **more)) for more in LONG),
    *(("holds a secret", ended(name, KEY.lower())) for name in WORDS),
    # matrices for all likely counts could be tried until one has this fingerprint, with labels or without
    ("holds a secret", ended("README.md", STAGES[0].design.fingerprint)),
    ("holds a secret", ended("README.md", numbered(STAGES[0].design).fingerprint)),
]


@pytest.mark.parametrize("case", range(len(LEAKS)))
def test_what_must_not_be_public_is_found(tmp_path: Path, case: int) -> None:
    saying, change = LEAKS[case]
    release = clean(tmp_path / "p")
    change(tmp_path / "p")
    caught = refused(PublishError, saying, check_public, tmp_path / "p", release, secrets=[KEY])
    assert KEY.lower() not in str(caught).lower()


@pytest.mark.parametrize("column", ["pid", "name", "roof_changed"])
def test_a_column_too_many(tmp_path: Path, column: str) -> None:
    release = clean(tmp_path / "p")
    rows = [(*row, "x") for row in drawn(ROWS, COLUMNS, STAGES)]
    write_csv(tmp_path / "p" / "data.csv", [*COLUMNS, column], rows)
    refused(PublishError, f"column '{column}'", check_public, tmp_path / "p", release)


def test_a_hidden_column_that_the_release_lists_and_the_internal_receipt(tmp_path: Path) -> None:
    release = clean(tmp_path / "p")
    public = (tmp_path / "p" / "receipt.json").read_text()
    (tmp_path / "p" / "receipt.json").write_text(dumps(internal_receipt(release)))
    refused(PublishError, "internal", check_public, tmp_path / "p", release)
    (tmp_path / "p" / "receipt.json").write_text(public)
    release = changed(release, columns=(*release.columns, ReleasedColumn("pid", "text")))
    write_csv(tmp_path / "p" / "data.csv", [*COLUMNS, "pid"], [(*row, "x") for row in ROWS])
    refused(PublishError, "'pid' is one that the plan does not publish", check_public, tmp_path / "p", release)


def parquet(folder: Path, metadata: dict[bytes, bytes] | None, of_column: dict[bytes, bytes] | None = None) -> Release:
    release = changed(clean(folder), path="true.parquet")
    (folder / "data.csv").unlink()
    columns = zip(*drawn(ROWS, COLUMNS, STAGES), strict=True)
    fields = [pa.field(name, pa.string(), metadata=of_column) for name in COLUMNS]
    table = pa.Table.from_arrays([pa.array(c) for c in columns], schema=pa.schema(fields, metadata=metadata))
    pq.write_table(table, folder / "data.parquet")
    return release


@pytest.mark.parametrize(
    ("metadata", "of_column", "saying"),
    [
        (None, None, None),
        ({b"pandas": b'{"columns": [{"name": "roof"}]}'}, None, None),
        ({b"pandas": b'{"columns": [{"name": "pid"}]}'}, None, "name a column"),
        ({b"note": STAGES[0].design.fingerprint.encode()}, None, "hold a secret"),
        (None, {b"maskwell": b'{"design": "sha256:00"}'}, "reveal the design"),
    ],
)
def test_what_a_file_says_about_itself(
    tmp_path: Path, metadata: dict[bytes, bytes] | None, of_column: dict[bytes, bytes] | None, saying: str | None
) -> None:
    release = parquet(tmp_path / "p", metadata, of_column)
    if saying is None:
        check_public(tmp_path / "p", release)
    else:
        refused(PublishError, saying, check_public, tmp_path / "p", release)


NUMBERS: list[Callable[[int], Any]] = [
    *(lambda i: i, lambda i: 1000 - i, lambda i: 17 * i, lambda i: i * i, lambda i: f"{i}.5", lambda i: f"P-{i:05}/25"),
    *(lambda i: f"{i}e{i}", lambda i: f"{i * i / 7}", lambda i: i if i % 2 else ""),
    lambda i: i if i % 20 else "",  # a few have no number
]
OTHERS: list[Callable[[int], Any]] = [lambda i: i // 2, lambda i: i if i % 3 == 0 else i % 2]


@pytest.mark.parametrize(("value", "numbered"), [*((f, True) for f in NUMBERS), *((f, False) for f in OTHERS)])
def test_a_column_that_tells_the_records_apart(tmp_path: Path, value: Callable[[int], Any], numbered: bool) -> None:
    release = clean(tmp_path / "p")
    release = changed(release, columns=(*release.columns, ReleasedColumn("line", "integer")))
    rows = [(*row, value(i)) for i, row in enumerate(drawn(ROWS, COLUMNS, STAGES))]
    write_csv(tmp_path / "p" / "data.csv", [*COLUMNS, "line"], rows)
    if numbered:
        refused(PublishError, "'line' distinguishes the records", check_public, tmp_path / "p", release)
    else:
        check_public(tmp_path / "p", release)


def test_draws_that_can_be_repeated_make_a_demonstration_that_is_marked_everywhere(tmp_path: Path) -> None:
    release = clean(tmp_path / "p", private=False)
    refused(PublishError, "seed", check_public, tmp_path / "p", release)
    check_public(tmp_path / "p", changed(release, plan=replace(release.plan, demonstration=True)))
    content = {path.name: path.read_text() for path in (tmp_path / "p").iterdir()}
    assert json.loads(content["receipt.json"])["demonstration"] is True
    assert json.loads(content["datapackage.json"])["maskwell:demonstration"] is True
    assert "demonstration" in content["README.md"].lower() and "demonstration" in content["ddi.xml"]


def test_the_original_order(tmp_path: Path) -> None:
    release = clean(tmp_path / "p", shuffled=False)
    refused(PublishError, "original order", check_public, tmp_path / "p", release)
    check_public(tmp_path / "p", changed(release, plan=replace(release.plan, order="kept")))


PLANTED = "no record has this"


def with_planted(ordered: bool) -> pa.Table:
    """A table whose dictionaries all list a label that no record has."""

    def column(labels: list[str]) -> pa.Array:
        places = pa.array([i * len(labels) // 240 if i % 7 else i % len(labels) for i in range(240)], pa.int8())
        return pa.DictionaryArray.from_arrays(places, pa.array([*labels[1:], labels[0], PLANTED]), ordered=ordered)

    rows = {"roof": ["tin", "tile", "straw"], "metal": ["yes", "no", "none"], "region": ["n", "s"], "sex": ["f", "m"]}
    return pa.table({name: column(labels) for name, labels in (rows | {"job": ["a", "b"], "pay": ["x", "y"]}).items()})


def write_arrow(table: pa.Table, path: str) -> None:
    if path.endswith(".parquet"):
        pq.write_table(table, path)
        return
    new = pa.ipc.new_stream if path.endswith(".arrows") else pa.ipc.new_file
    with pa.OSFile(path, "wb") as file, new(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=50)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("ending", ["parquet", "arrow", "arrows"])
def test_no_public_file_has_a_label_that_no_record_has(tmp_path: Path, ending: str, ordered: bool) -> None:
    """Randomized, linked, a cell of within, a key, recoded or not named at all: dictionaries tell what was there."""
    write_arrow(with_planted(ordered), path := str(tmp_path / f"a.{ending}"))
    roofs = {"variables": ["roof"], "linked": ["metal"], "within": ["region"], "method": "method1", "theta": "0.5"}
    plan = mw.ReleasePlan.of(
        [roofs], keys=["roof", "sex"], accept=["job", "pay"], recode={"pay": {"group": {"z": ["x", "y"]}}}
    )
    mw.release(path, plan, tmp_path / "r")
    files = [*(tmp_path / "r/public").iterdir()]
    assert f"data.{ending}" in {file.name for file in files}
    assert [file.name for file in files if PLANTED.encode() in file.read_bytes()] == []
    released = rows_in(tmp_path / f"r/public/data.{ending}")
    assert released.column("job").to_pylist().count("a") == with_planted(ordered).column("job").to_pylist().count("a")
    assert {*released.column("roof").to_pylist()} <= {"tin", "tile", "straw"}


def rows_in(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pq.read_table(path)
    with pa.OSFile(str(path)) as file:
        return (pa.ipc.open_stream if path.suffix == ".arrows" else pa.ipc.open_file)(file).read_all()
