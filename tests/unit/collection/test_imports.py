"""An import in either database: all rows or none, once."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from tests.support.collecting import opened
from tests.support.inside.collection import Desk, Store

from maskwell.errors import DataFileError, ReportError

HEADER, ROW = "region,cash,tax,sources", "south,,yes,1010"


def written(folder: Path, name: str, *rows: str) -> Path:
    path = folder / name
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_a_table_is_taken_once(store: Store, tmp_path: Path) -> None:
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
    assert (whole["imported"], whole["known"]) == (10, 10)
    assert store.differences(stored) == []


def test_what_is_deleted_takes_its_marks_along(store: Store, tmp_path: Path) -> None:
    stored, desk = opened(store), Desk(store)
    desk.import_file(stored.code, written(tmp_path, "rows.csv", HEADER, ROW))
    store.delete(stored.code)
    with store.reader.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM imports").scalar() == 0


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
    with pytest.raises(DataFileError, match="columns of an export of kobo"):
        desk.import_file(stored.code, other)
    assert store.size(stored) == 10
    assert desk.import_file(stored.code, other, "table")["imported"] == 10  # whoever says so means it
