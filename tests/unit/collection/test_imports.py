"""An import in either database: all rows or none, once."""

import csv
import gzip
import hashlib
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from tests.support.collecting import opened

from maskwell.collection import imports
from maskwell.collection.desk import Desk
from maskwell.collection.store import Store
from maskwell.errors import DataFileError, ReportError


@pytest.fixture(autouse=True)
def _quick_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Marks are hashed as the service does it, but with less work, which changes nothing of what is tested."""
    monkeypatch.setattr(imports, "_SLOW", {**imports._SLOW, "time_cost": 1, "memory_cost": 64})


HEADER, ROW = "region,cash,tax,sources", "south,,yes,1010"


def written(folder: Path, name: str, *rows: str) -> Path:
    path = folder / name
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_a_changed_row_among_known_ones_takes_nothing(store: Store, tmp_path: Path) -> None:
    stored, desk = opened(store), Desk(store)
    rows = [f"{ROW},id {i}" for i in range(20)]
    before = written(tmp_path, "before.csv", f"{HEADER},_uuid", *rows[:10])
    assert desk.import_file(stored.code, before)["imported"] == 10
    changed = written(tmp_path, "changed.csv", f"{HEADER},_uuid", *rows[10:], rows[3].replace("yes", "no"))
    with pytest.raises(ReportError, match="data row 11 was imported before with other reports"):
        desk.import_file(stored.code, changed)
    assert store.size(stored) == 10
    whole = desk.import_file(stored.code, written(tmp_path, "after.csv", f"{HEADER},_uuid", *rows))
    assert (whole["imported"], whole["known"]) == (10, 10) and store.differences(stored) == []


@pytest.mark.parametrize("ending", [".csv.gz", ".parquet", ".tsv"])
def test_an_export_with_ids_is_not_taken_without_them(store: Store, tmp_path: Path, ending: str) -> None:
    """Packed or in another format its ids would not be read, and its rows would be counted a second time."""
    stored, desk = opened(store), Desk(store)
    export = written(tmp_path, "export.csv", f"{HEADER},_uuid", *[f"{ROW},id {i}" for i in range(10)])
    assert desk.import_file(stored.code, export)["imported"] == 10
    other = tmp_path / f"export{ending}"
    if ending == ".parquet":
        texts = pa_csv.ConvertOptions(column_types={"sources": "string"})
        pq.write_table(pa_csv.read_csv(export, convert_options=texts), other)
    else:
        content = export.read_bytes()
        other.write_bytes(gzip.compress(content) if ending == ".csv.gz" else content.replace(b",", b"\t"))
    with pytest.raises(DataFileError, match=r"export, whose ids are read from a plain \.csv file only"):
        desk.import_file(stored.code, other)
    assert store.size(stored) == 10
    assert desk.import_file(stored.code, other, "table")["imported"] == 10  # whoever says so means it


BESIDE = "region,cash,tax,sources,age,score,at,tz,day,known,note"
ASIDE = [
    'south,,yes,1010,41,1.50,2026-05-01 10:30:00,2026-05-01T10:30:00Z,2026-05-02,True,"one, two"',
    "south,,no,1010,007,2.0,2026-05-01 00:00:00,2026-05-01T00:00:00Z,2026-05-03,False,",
    "south,,yes,1010,,,,,,,Ärger",
]


def _with_types(path: Path) -> pa.Table:
    columns = {name: pa.string() for name in BESIDE.split(",")}
    columns |= {"age": pa.int64(), "score": pa.float64(), "at": pa.timestamp("us"), "day": pa.date32()}
    columns |= {"known": pa.bool_(), "tz": pa.timestamp("ms", "UTC")}
    options = pa_csv.ConvertOptions(column_types=columns, strings_can_be_null=True)
    return pa_csv.read_csv(path, convert_options=options)


def _packed(path: Path, content: str, table: pa.Table, name: str) -> Path:
    made = path.with_name(name)
    if name.endswith(".parquet"):
        pq.write_table(table.select(table.column_names[::-1]) if "turned" in name else table, made)
    elif name.endswith(".arrow"):
        with pa.ipc.new_file(made, table.schema) as file:
            file.write_table(table)
    elif name.endswith(".gz"):
        made.write_bytes(gzip.compress(content.encode()))
    else:
        rows = [*csv.reader(io.StringIO(content))]
        with made.open("w", encoding="utf-8-sig" if "mark" in name else "utf-8", newline="") as file:
            comma = "\t" if name.endswith(".tsv") else ";" if "semicolons" in name else ","
            ends = "\r\n" if "windows" in name else "\n"
            quoting = csv.QUOTE_MINIMAL if "plain" in name else csv.QUOTE_NONNUMERIC
            writer = csv.writer(file, delimiter=comma, lineterminator=ends, quoting=quoting)
            writer.writerows([[cell or None for cell in row] for row in rows])
    return made


CONTAINERS = ("rows.csv.gz", "rows.parquet", "turned.parquet", "rows.arrow", "tabs.tsv", "plain.tsv")
CONTAINERS += ("semicolons.csv", "windows.csv", "mark.csv")


def test_rows_without_ids_are_known_again_in_another_container(store: Store, tmp_path: Path) -> None:
    """A file was known by its bytes: packed, or with other line ends, its rows were counted a second time."""
    stored, desk = opened(store), Desk(store)
    path = written(tmp_path, "first.csv", BESIDE, *ASIDE)
    assert desk.import_file(stored.code, path)["imported"] == 3
    for name in CONTAINERS:
        other = _packed(path, path.read_text(encoding="utf-8"), _with_types(path), name)
        with pytest.raises(ReportError, match="these rows were imported before"):
            desk.import_file(stored.code, other)
    assert store.size(stored) == 3 and desk.import_file(stored.code, other, again=True)["imported"] == 3
    assert store.size(stored) == 6


@pytest.mark.parametrize("change", [lambda rows: rows[::-1], lambda rows: [*rows[:2], rows[2].replace("Ä", "A")]])
def test_rows_count_with_their_order_and_their_other_columns(store, tmp_path, change) -> None:
    """The reports are in the database: a hash of them alone would let its thief confirm guesses of their order."""
    stored, desk = opened(store), Desk(store)
    desk.import_file(stored.code, written(tmp_path, "first.csv", BESIDE, *ASIDE))
    assert desk.import_file(stored.code, written(tmp_path, "second.csv", BESIDE, *change(ASIDE)))["imported"] == 3
    assert len({mark for (mark,) in _marks(store)}) == 2


def test_marks_are_slow_to_guess_differ_between_surveys_and_go_when_these_are_deleted(store, tmp_path) -> None:
    stored, desk = opened(store), Desk(store)
    desk.import_file(stored.code, written(tmp_path, "rows.csv", HEADER, ROW))
    store.delete(stored.code)
    with store.reader.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM imports").scalar() == 0
    path = written(tmp_path, "rows.csv", HEADER, ROW)
    for stored in (opened(store), opened(store)):
        Desk(store).import_file(stored.code, path)
    marks = [bytes(mark) for (mark,) in _marks(store)]
    plain = hashlib.sha256(path.read_bytes()).digest()
    assert len({*marks, plain}) == 3 and all(len(mark) == 32 for mark in marks)


def _marks(store: Store) -> list[tuple[bytes]]:
    with store.reader.connect() as connection:
        return [(row[0],) for row in connection.exec_driver_sql("SELECT mark FROM imports")]


def test_tables_and_exports_without_ids_are_taken_once(store: Store, tmp_path: Path) -> None:
    stored, desk = opened(store), Desk(store)
    path = written(tmp_path, "rows.csv", HEADER, *[ROW] * 25)
    assert desk.import_file(stored.code, path)["imported"] == 25
    with pytest.raises(ReportError, match="imported before"):
        desk.import_file(stored.code, path)
    other = opened(store)
    assert desk.import_file(other.code, path)["imported"] == 25  # another survey knows nothing of it
    assert desk.import_file(stored.code, path, again=True)["imported"] == 25
    assert (store.size(stored), store.size(other)) == (50, 25)
    assert store.differences(stored) == store.differences(other) == []
    stored, desk = opened(store), Desk(store)
    rows = [f"{ROW},2026-05-0{day}" for day in (1, 2)]
    path = written(tmp_path, "export.csv", f"{HEADER},submitdate", *rows)
    assert desk.import_file(stored.code, path, "limesurvey")["imported"] == 2
    path.write_text(path.read_text(encoding="utf-8").replace(",", ";"), encoding="utf-8")
    with pytest.raises(ReportError, match="imported before"):
        desk.import_file(stored.code, path, "limesurvey")
