"""Folders, partitions and patterns read as one file; and files that are not what they should be."""

import bz2
import gzip
import io
import os
import sys
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import maskwell as mw
from maskwell import SeededRandom
from maskwell.core import atomic
from maskwell.engines import arrow_files, column_randomizer, record_reader
from maskwell.engines.row_sources import ENGINES, open_source
from maskwell.errors import DataFileError, ParameterError, UnknownCategoryError

LABELS = ["never", "once", "often"]
DESIGN = mw.design("k-ary", categories=mw.Categories.of(LABELS), epsilon=2)
DESIGNS = {"drugs": DESIGN}


def answers(rows: int, first: int = 0) -> pa.Table:
    drugs = [LABELS[i] for i in np.random.default_rng(first).integers(0, 3, rows)]
    return pa.table({"id": [f"p{first + i}" for i in range(rows)], "drugs": drugs, "age": np.arange(rows) % 60})


def rows_in(path, **options) -> pa.Table:
    with open_source(str(path), **options) as source:
        whole = pa.Table.from_batches([*source.batches()])
        return whole.cast(source.schema)


def names_in(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write(table: pa.Table, path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path, pyarrow.csv.WriteOptions(quoting_style="none"))
    else:
        with pa.OSFile(str(path), "wb") as file, pyarrow.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)


@pytest.fixture
def folder(tmp_path, request):
    ending = getattr(request, "param", "csv")
    for i in range(3):
        write(answers(100, 100 * i), tmp_path / "data" / f"part-{i}.{ending}")
    return tmp_path / "data"


@pytest.mark.parametrize("folder", ["csv", "parquet", "arrow"], indirect=True)
def test_a_folder_and_a_pattern_are_read_as_one_file(folder, tmp_path):
    (folder / "_SUCCESS").write_text("")
    (folder / ".part-0.crc").write_text("x")
    (folder / "_temporary").mkdir()
    (folder / "_temporary" / "part-9.csv").write_text("not,these\n1,2\n")
    expected = [f"p{i}" for i in range(300)]
    ending = next(folder.glob("part-0.*")).suffix
    for path in (folder, folder / f"part-*{ending}", folder / f"part-[0-2]{ending}"):
        assert rows_in(path).column("id").to_pylist() == expected
        made = tmp_path / f"out{ending}"
        done = mw.randomize(str(path), DESIGNS, str(made), force=True)
        assert done.rows == 300 and rows_in(made).column("id").to_pylist() == expected
        assert mw.tally(path, DESIGNS)["drugs"].n == 300


def test_partitions_become_columns(tmp_path):
    for year in ("2024", "2025"):
        for town in ("Bad%20Ems", "__HIVE_DEFAULT_PARTITION__"):
            write(answers(50), tmp_path / "data" / f"year={year}" / f"town={town}" / "part-0.parquet")
    table = rows_in(tmp_path / "data")
    assert table.schema.names == ["id", "drugs", "age", "year", "town"]
    assert table.column("year").to_pylist() == ["2024"] * 100 + ["2025"] * 100
    assert table.column("town").to_pylist()[:100] == ["Bad Ems"] * 50 + [None] * 50
    mw.randomize(tmp_path / "data", DESIGNS, tmp_path / "out.parquet")
    stored = pq.read_table(tmp_path / "out.parquet")
    assert stored.column("year").to_pylist() == table.column("year").to_pylist()
    assert stored.schema.field("year").type == pa.string()
    by_year = mw.estimate(tmp_path / "data" / "year=*" / "*" / "*.parquet", DESIGNS, by="year")
    assert "2024" in repr(by_year)


def test_columns_that_folders_name_too_and_those_that_files_store_in_different_ways(tmp_path):
    """Places in a dictionary, plain texts and a column of many labels make one column."""
    for year in (1, 2):
        write(answers(10), tmp_path / f"year={year}" / "a.parquet")
    with open_source(str(tmp_path)) as source:
        (first, second) = source.batches([3])
        assert first.schema.names == ["year"] and second.column("year").to_pylist() == ["2"] * 10
    with open_source(str(tmp_path)) as source:
        assert next(iter(source.batches([3, 1]))).schema.names == ["drugs", "year"]
    write(answers(5), tmp_path / "texts" / "age=99" / "a.csv")
    assert rows_in(tmp_path / "texts").column("age").to_pylist() == ["0", "1", "2", "3", "4"]
    few = pa.table({"drugs": LABELS * 100, "note": ["x", "y", "z"] * 100})
    many = pa.table({"drugs": LABELS * 100, "note": [f"note number {i}" for i in range(300)]})
    for name, table in (("a", few), ("b", many), ("c", few)):
        write(table, tmp_path / "data" / f"{name}.parquet")
    mw.randomize(tmp_path / "data", DESIGNS, tmp_path / "out.parquet")
    stored = pq.read_table(tmp_path / "out.parquet")
    notes = [table["note"].to_pylist() for table in (few, many, few)]
    assert stored.column("note").to_pylist() == [*chain.from_iterable(notes)]


@pytest.mark.parametrize("ending", [ending for ending in ENGINES if ending.startswith((".csv.", ".tsv."))])
def test_compressed_texts_there_and_back(tmp_path, ending):
    write(answers(2000), tmp_path / "a.csv")
    packed, out = tmp_path / f"a{ending}", tmp_path / "out.csv"
    unchanged = {"drugs": mw.design("matrix", matrix=np.eye(3).tolist(), categories=LABELS)}
    mw.randomize(tmp_path / "a.csv", unchanged, packed)
    mw.randomize(packed, unchanged, out)
    assert out.read_bytes().splitlines()[1:] == (tmp_path / "a.csv").read_bytes().splitlines()[1:]
    raw = packed.read_bytes()
    unpack = {"gz": gzip.decompress, "bz2": bz2.decompress}.get(ending.rpartition(".")[2])
    assert b"p1999" in (unpack(raw) if unpack else pa.CompressedInputStream(io.BytesIO(raw), "zstd").read())
    packed.write_bytes(raw[: len(raw) // 2])
    with pytest.raises(DataFileError, match="cannot read"):
        mw.randomize(packed, unchanged, out, force=True)


def test_a_stream_of_arrow_on_standard_input(monkeypatch, tmp_path):
    stream = io.BytesIO()
    with pyarrow.ipc.new_stream(stream, answers(1).schema) as writer:
        writer.write_table(answers(500), max_chunksize=200)
    stream.seek(0)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(stream)))
    done = mw.randomize("-", DESIGNS, tmp_path / "out.parquet")
    assert done.rows == 500 and pq.read_table(tmp_path / "out.parquet").column("age").type == pa.int64()


def refuse(path, tmp_path, saying, designs=DESIGNS):
    before = names_in(tmp_path)
    for output in ("out.csv", "out.parquet"):
        with pytest.raises((DataFileError, UnknownCategoryError), match=saying) as caught:
            mw.randomize(path, designs, tmp_path / output)
        assert names_in(tmp_path) == before and len(caught.value.hint) <= 94
    return caught.value


@pytest.mark.parametrize(
    ("change", "saying", "column"),
    [
        (lambda t: t.drop_columns(["age"]), r"part-1\.\w+ has no column 'age', and part-0", "age"),
        (lambda t: t.append_column("new", t["age"]), r"part-1\.\w+ has a column 'new', and part-0", "new"),
        (lambda t: t.select([1, 0, 2]), r"part-1\.\w+ has the column 'drugs' in another place", "drugs"),
    ],
)
@pytest.mark.parametrize("folder", ["csv", "parquet", "arrow"], indirect=True)
def test_a_part_with_other_columns(folder, tmp_path, change, saying, column):
    ending = next(folder.glob("part-0.*")).suffix
    write(change(answers(10)), folder / f"part-1{ending}")
    assert refuse(folder, tmp_path, saying).objects["column"] == column
    with pytest.raises(DataFileError, match=saying):
        mw.tally(folder, DESIGNS)


@pytest.mark.parametrize("folder", ["parquet"], indirect=True)
def test_parts_of_another_type_or_another_design_are_refused(folder, tmp_path):
    table = answers(10)
    write(table.set_column(2, "age", table["age"].cast(pa.string())), folder / "part-2.parquet")
    refuse(folder, tmp_path, "part-2.parquet has string in column 'age', and part-0.parquet has int64")
    other = mw.design("k-ary", categories=mw.Categories.of(LABELS), epsilon=1)
    (tmp_path / "r").mkdir()
    for i, design in enumerate((DESIGN, other)):
        mw.randomize(folder / f"part-{i}.parquet", {"drugs": design}, tmp_path / "r" / f"{i}.parquet")
    with pytest.raises(DataFileError, match=r"1\.parquet has other reports in column 'drugs' than 0\.parquet"):
        mw.tally(tmp_path / "r", DESIGNS)


def test_folders_of_several_kinds_and_partitions_are_refused(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    refuse(tmp_path / "empty", tmp_path, "holds no data files")
    refuse(tmp_path / "none-*.csv", tmp_path, r"no file name matches .*none-\*\.csv")
    (folder / "readme.txt").write_text("hello")
    refuse(folder, tmp_path, "which is not a")
    (folder / "readme.txt").unlink()
    (folder / "part-7.csv").write_text("")
    refuse(folder, tmp_path, r"part-7\.csv is empty")
    (folder / "part-7.csv").unlink()
    (folder / "part-8.csv").symlink_to("nowhere.csv")
    refuse(folder, tmp_path, r"part-8\.csv does not exist")
    write(answers(5), tmp_path / "data" / "a=1" / "x.csv")
    write(answers(5), tmp_path / "data" / "b=1" / "x.csv")
    refuse(tmp_path / "data", tmp_path, r"lies in the partitions 'b', and a=1.x\.csv in 'a'")
    for name in ("a.sav", "b.sav"):
        (tmp_path / name).write_bytes(b"$FL2")
    with pytest.raises(DataFileError, match=r"several \.sav files"):
        mw.tally(tmp_path / "*.sav", DESIGNS)


def test_the_output_lies_elsewhere_and_is_read_by_none_who_may_not_read_every_part(folder, tmp_path):
    for path in folder.iterdir():
        path.chmod(0o644)
    (folder / "part-2.csv").chmod(0o600)
    mw.randomize(folder, DESIGNS, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").stat().st_mode & 0o077 == 0
    with pytest.raises(DataFileError, match="is in the input folder"):
        mw.randomize(folder, DESIGNS, folder / "out.csv")
    with pytest.raises(DataFileError, match="is also an input"):
        mw.randomize(folder / "part-*.csv", DESIGNS, folder / "part-1.csv", force=True)


def test_a_label_first_seen_late_is_told_with_its_row_and_file(folder, tmp_path, monkeypatch):
    table = answers(40_000)
    drugs = table["drugs"].to_pylist()
    drugs[34_567] = "daily"
    write(table.set_column(1, "drugs", [drugs]), folder / "part-1.csv")
    monkeypatch.setattr(record_reader, "BLOCK_BYTES", 1 << 14)  # some thirty blocks before it
    error = refuse(
        folder, tmp_path, r"1 of 40,200 values is not a category of the design, in row 34,568 of part-1\.csv"
    )
    assert "daily" not in error.message and "'daily'" in error.values
    assert error.objects["path"] == str(folder / "part-1.csv")
    error = refuse(
        folder / "part-1.csv", tmp_path, "1 of 40,000 values is not a category of the design, in data row 34568"
    )
    assert "'daily'" in error.values


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("change", ["append", "touch", "replace", "delete"])
def test_a_file_that_changes_while_it_is_read(tmp_path, monkeypatch, ending, change):
    given, moment = tmp_path / f"a.{ending}", []
    write(answers(3000), given)

    def changed(rows, share):
        if moment:
            return
        moment.append(rows)
        if change == "append":
            with given.open("ab") as file:
                file.write(b"p,once,1\n")
        elif change == "touch":
            os.utime(given, ns=(1, 1))
        elif change == "replace":
            write(answers(3000), tmp_path / f"b.{ending}")
            (tmp_path / f"b.{ending}").replace(given)
        else:
            given.unlink()

    with pytest.raises(DataFileError, match="was changed while it was read"):
        mw.randomize(given, DESIGNS, tmp_path / f"out.{ending}", progress=changed)
    assert moment and not (tmp_path / f"out.{ending}").exists()
    assert not [name for name in names_in(tmp_path) if "partial" in name]


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.bz2", "csv.zst", "parquet", "arrow"])
def test_a_full_disk(tmp_path, monkeypatch, ending, capfd):
    """Whichever write fails, the one error names the output, and nothing is left."""
    write(answers(60_000), tmp_path / "a.csv")

    class Full(io.FileIO):
        room = 20_000

        def write(self, data):
            self.room -= len(data)
            if self.room < 0:
                raise OSError(28, "No space left on device")
            return super().write(data)

    def new_file(place):
        return Full(place, "xb", opener=lambda path, flags: os.open(path, flags, 0o600))

    monkeypatch.setattr(atomic, "_new_file", new_file)
    with pytest.raises(DataFileError, match="No space left on device") as caught:
        mw.randomize(tmp_path / "a.csv", DESIGNS, tmp_path / f"out.{ending}")
    assert f"out.{ending}" in caught.value.message and "make room" in caught.value.hint
    assert names_in(tmp_path) == ["a.csv"] and capfd.readouterr().err == ""


def test_parquet_made_from_dictionaries_is_the_file_that_texts_make(tmp_path, monkeypatch):
    table = answers(5000).append_column("note", pa.array(["a", None, "b", "", "ü"] * 1000))
    write(table, tmp_path / "a.parquet")
    made = []
    for name, coded in (("coded", True), ("plain", False)):
        monkeypatch.setattr(arrow_files, "_takes_dictionaries", lambda coded=coded: coded)
        mw.randomize(tmp_path / "a.parquet", DESIGNS, tmp_path / f"{name}.parquet", random=SeededRandom(1))
        made.append(pq.ParquetFile(tmp_path / f"{name}.parquet"))
    coded, plain = made
    assert coded.schema_arrow.equals(plain.schema_arrow, check_metadata=True)
    assert coded.schema.equals(plain.schema) and coded.read().equals(plain.read())
    assert coded.metadata.metadata == plain.metadata.metadata
    for i in range(coded.metadata.num_columns):
        one, other = (file.metadata.row_group(0).column(i) for file in made)
        assert (one.encodings, one.total_uncompressed_size) == (other.encodings, other.total_uncompressed_size)


def test_dictionaries_tell_neither_what_was_left_out_nor_how_the_input_was_cut(tmp_path, monkeypatch):
    """A value of a copied column that only rows without an answer had is nowhere in the output."""
    table = pa.table({"drugs": ["never", "once", None] * 2000, "note": ["open", "open", "SECRET"] * 2000})
    write(table, tmp_path / "a.parquet")
    mw.randomize(tmp_path / "a.parquet", DESIGNS, tmp_path / "out.parquet", missing="drop")
    assert b"SECRET" in (tmp_path / "a.parquet").read_bytes()
    assert b"SECRET" not in (tmp_path / "out.parquet").read_bytes()
    assert b"open" in (tmp_path / "out.parquet").read_bytes()
    monkeypatch.setattr(arrow_files, "GROUP_ROWS", 1 << 14)
    monkeypatch.setattr(column_randomizer, "BATCH_ROWS", 1 << 12)
    table, made = answers(60_000).drop_columns(["id"]).append_column("note", pa.array(["b", "a", "c"] * 20_000)), []
    for size in (60_000, 7_000, 999):
        pq.write_table(table, tmp_path / "a.parquet", row_group_size=size)
        mw.randomize(tmp_path / "a.parquet", DESIGNS, tmp_path / "out.parquet", random=SeededRandom(1), force=True)
        made.append((tmp_path / "out.parquet").read_bytes())
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_texts_that_need_quotes_come_out_as_they_went_in(tmp_path, newline, ending):
    """An empty text, a missing value, separators, quotes and line ends, in copied columns and in reports."""
    texts = ["plain", '""', "", '"a,b"', '"c\td"', '"say ""no"""', '"two\nlines"', "ü"]
    mark = "," if ending == "csv" else "\t"
    bare = {"csv": '"c\td"', "tsv": '"a,b"'}[ending]
    texts = [text.strip('"') if text == bare else text for text in texts]
    lines = [f"y{mark}note", *(mark.join((one, other)) for one in texts for other in texts if one)]
    given, out = tmp_path / f"a.{ending}", tmp_path / f"out.{ending}"
    given.write_bytes("".join(line + newline for line in lines).encode())
    labels = mw.Categories.of(["plain", "", "a,b", "c\td", 'say "no"', "two\nlines", "ü"])
    truth = mw.design("matrix", matrix=np.eye(7).tolist(), categories=labels)
    mw.randomize(given, {"y": truth}, out)
    assert out.read_bytes() == given.read_bytes()


def test_an_empty_text_is_no_missing_value(tmp_path):
    """Nothing else needs quotes: an empty text in quotes, and a missing value without."""
    expected = b'y,note\nplain,x\nplain,""\nplain,\nplain,""\nplain,x\n'
    write(pa.table({"y": ["plain"] * 5, "note": ["x", "", None, "", "x"]}), tmp_path / "a.parquet")
    (tmp_path / "b.csv").write_bytes(expected)
    (tmp_path / "c.csv").write_bytes(expected.replace(b"\n", b"\r\n"))
    truth = {"y": mw.design("matrix", matrix=np.eye(2).tolist(), categories=["plain", "other"])}
    for name in ("a.parquet", "b.csv", "c.csv"):
        mw.randomize(tmp_path / name, truth, tmp_path / "out.csv", force=True)
        assert (tmp_path / "out.csv").read_bytes().replace(b"\r\n", b"\n") == expected


def yearly(folder: Path, rows: dict[str, list[str]]) -> str:
    for year, answers in rows.items():
        place = folder / "in" / f"year={year}"
        place.mkdir(parents=True)
        table = pa.table({"id": pa.array(range(len(answers)), pa.int64()), "answer": pa.array(answers, pa.string())})
        pq.write_table(table, place / "part.parquet")
    return str(folder / "in")


YEARS = {"2024": ["yes", "no"] * 40, "2025": [], "2026": ["no"] * 30}
WARNER = {"answer": mw.design("warner", p="0.8")}


def test_a_folder_is_randomized_into_one_with_the_same_files(tmp_path: Path) -> None:
    data = yearly(tmp_path, YEARS)
    (tmp_path / "in").chmod(0o750)
    done = mw.randomize(data, WARNER, tmp_path / "out", random=mw.SeededRandom(1))
    mw.randomize(data, WARNER, tmp_path / "one.parquet", random=mw.SeededRandom(1))
    files = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.*")}
    assert files == {f"year={year}/part.parquet" for year in YEARS}, "also one without rows"
    parts = [pq.read_table(tmp_path / "out" / f"year={year}" / "part.parquet", partitioning=None) for year in YEARS]
    assert [part.num_rows for part in parts] == [80, 0, 30] and done.rows == 110
    assert {*parts[0].column_names} == {"id", "answer"}, "the year is in the name of the folder"
    whole = pq.read_table(tmp_path / "one.parquet")
    assert pa.concat_tables(parts).column("answer").to_pylist() == whole.column("answer").to_pylist()
    assert mw.tally(str(tmp_path / "out"), WARNER)["answer"].n == 110
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o777 & ~umask() & (tmp_path / "in/year=2024").stat().st_mode
    assert {path.name for path in tmp_path.iterdir()} == {"in", "out", "one.parquet"}


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_folder_that_cannot_be_written_leaves_nothing_and_standard_output_gets_a_stream(
    tmp_path: Path, capsysbinary
) -> None:
    data = yearly(tmp_path, {**YEARS, "2027": ["yes", "maybe"]})
    with pytest.raises(UnknownCategoryError, match=r"in row 2 of .*27/part\.parquet\n"):
        mw.randomize(data, WARNER, f"{tmp_path}/out/")
    year = {"year": mw.design("k-ary", categories=mw.Categories.of([*YEARS, "2027"]), epsilon=1)}
    with pytest.raises(ParameterError, match="the folder names reveal the true values of column 'year'"):
        mw.randomize(data, year, tmp_path / "out")
    with pytest.raises(DataFileError, match="does not exist"):
        mw.randomize(data, WARNER, tmp_path / "nowhere" / "out")
    with pytest.raises(DataFileError, match="in exists; folders are not replaced"):
        mw.randomize(f"{data}/*/part.parquet", WARNER, data, force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    (tmp_path / "more").mkdir()
    data = yearly(tmp_path / "more", YEARS)
    mw.randomize(data, WARNER, tmp_path / "one.arrows", random=mw.SeededRandom(1))
    mw.randomize(data, WARNER, "-", format="arrow", random=mw.SeededRandom(1))
    written = capsysbinary.readouterr().out
    assert written == (tmp_path / "one.arrows").read_bytes() and pa.ipc.open_stream(written).read_all().num_rows == 110
    assert mw.tally(tmp_path / "one.arrows", WARNER)["answer"].n == 110
    with pytest.raises(ParameterError, match="format needs standard output, but the output is another one"):
        mw.randomize(data, WARNER, tmp_path / "two.csv", format="arrow")
    with pytest.raises(ParameterError, match="format"):
        mw.randomize(data, WARNER, "-", format="parquet")
