"""Rows that are read where they are once: what is looked at again comes back as it passed, and no file is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.together import together

from maskwell.engines import kept_rows
from maskwell.engines.rows import FileRows, MemoryTable, Rows

pa = pytest.importorskip("pyarrow")
csv, ipc, parquet = (pytest.importorskip(f"pyarrow.{name}") for name in ("csv", "ipc", "parquet"))
TABLE = pa.table(
    {
        "k": pa.array([f"v{i % 7}" for i in range(3_000)]),
        "x": pa.array([None if i % 5 == 0 else i / 8 for i in range(3_000)]),
        "n": pa.array(range(3_000)),
    }
)


def read(rows: Rows, names: list[str]) -> list[Any]:
    with rows.open_stored(["k"]) as source:
        places = [source.schema.names.index(name) for name in names]
        batches = [*source.batches(places)]
    columns = [[value for batch in batches for value in batch.column(name).to_pylist()] for name in names]
    return [len(batches) > 0, *columns]


@together("ending", [".csv", ".parquet", ".arrow"])
@pytest.mark.parametrize("in_memory", [1, 1 << 25])
def test_what_passed_comes_back_as_often_as_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, in_memory: int
) -> None:
    monkeypatch.setattr(kept_rows, "IN_MEMORY", in_memory)
    path = tmp_path / f"rows{ending}"
    if ending == ".csv":
        csv.write_csv(TABLE, path)
    elif ending == ".parquet":
        parquet.write_table(TABLE, path, row_group_size=700)
    else:
        with ipc.new_file(path, TABLE.schema) as writer:
            writer.write_table(TABLE, max_chunksize=500)
    with kept_rows.kept_rows(Rows.of(path), ["k"], lambda names: {"k", "x"} & {*names}) as rows:
        assert (str(rows), rows.path, rows.schema.names) == (str(path), str(path), ["k", "x", "n"])
        first = read(rows, ["k", "x", "n"])
        path.unlink()  # nobody reads it again
        assert rows.schema.names == ["k", "x"]
        for _ in range(2):
            assert read(rows, ["k", "x"]) == first[:3]
            assert read(rows, ["x"]) == [True, first[2]]
    assert [*tmp_path.iterdir()] == []


def test_dictionaries_and_types_may_change_on_the_way(tmp_path: Path) -> None:
    parts = [pa.array(["b", "a", "b"]).dictionary_encode(), pa.array(["c", "b"]).dictionary_encode(), pa.array(["d"])]

    class Changing:
        def __init__(self, source: Any) -> None:
            self.style, self.done, self.close = source.style, source.done, source.close
            self.schema = pa.schema([("k", pa.string())])

        def batches(self, only: Any = None) -> Any:
            yield from (pa.RecordBatch.from_arrays([part], ["k"]) for part in parts)

    path = tmp_path / "rows.csv"
    path.write_text("k\na\n")
    rows = FileRows(str(path)).with_view(lambda source, _: Changing(source))
    with kept_rows.kept_rows(rows, [], lambda names: names) as kept:
        assert read(kept, ["k"])[1] == read(kept, ["k"])[1] == ["b", "a", "b", "c", "b", "d"]


def test_a_table_in_memory_is_read_where_it_is() -> None:
    rows = MemoryTable(TABLE)
    with kept_rows.kept_rows(rows, ["k"], lambda names: names) as kept:
        assert kept is rows
