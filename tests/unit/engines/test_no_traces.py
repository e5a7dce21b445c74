"""What a randomized file must not tell beside its reports: where it was cut, and notes about the true file."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from maskwell import Categories, KeyedRandom, SeededRandom
from maskwell.designs import Subset, Uniform
from maskwell.engines.assignments import Assignment
from maskwell.engines.column_randomizer import KeptDraws, Persons
from maskwell.engines.randomized_data import randomize_file
from maskwell.errors import ParameterError

LABELS = Categories.of(["no", "a much longer answer"])
DESIGN = Uniform.from_gamma(3, LABELS)
ROWS = 300_000


def layout(path):
    if path.suffix == ".parquet":
        stored = pq.ParquetFile(path).metadata
        return [stored.row_group(i).num_rows for i in range(stored.num_row_groups)]
    reader = pyarrow.ipc.open_file(path)
    return [len(reader.get_batch(i)) for i in range(reader.num_record_batches)]


@pytest.mark.parametrize("ending", ["arrow", "parquet"])
@pytest.mark.parametrize("source", ["csv", "parquet", "arrow"])
def test_the_cuts_of_a_file_do_not_depend_on_the_truth(tmp_path, ending, source):
    found = []
    for share in (0, 0.5, 1):
        truth = np.where(np.arange(ROWS) < share * ROWS, LABELS.labels[1], LABELS.labels[0])
        table = pa.table({"id": np.arange(ROWS), "answer": truth})
        given, made = tmp_path / f"{share}.{source}", tmp_path / f"{share}-out.{ending}"
        if source == "csv":
            pa.csv.write_csv(table, given)
        elif source == "parquet":
            pq.write_table(table, given, row_group_size=50_000 + int(10_000 * share))
        else:
            with pa.OSFile(str(given), "wb") as file, pyarrow.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table, max_chunksize=50_000 + int(10_000 * share))
        randomize_file(str(given), str(made), [Assignment.of("answer", DESIGN)])
        found.append(layout(made))
    assert sum(found[0]) == ROWS and found[0] == found[1] == found[2]


def test_zipped_text_and_set_reports_do_not_depend_on_the_cuts(tmp_path):
    """The same reports give the same bytes, whatever lengths the true values had."""
    made = []
    for share in (0, 1):
        truth = np.where(np.arange(100_000) < share * 100_000, LABELS.labels[1], LABELS.labels[0])
        given, out = tmp_path / f"{share}.csv", tmp_path / f"{share}-out.csv.gz"
        pa.csv.write_csv(pa.table({"id": np.arange(100_000), "answer": truth}), given)
        randomize_file(str(given), str(out), [Assignment.of("answer", FLAT)], random=SeededRandom(1))
        made.append(out.read_bytes())
    assert made[0] == made[1]
    design = Subset.from_gamma(3, Categories.of(["a", "b" * 40, "c"]), size=1)
    found = []
    for label in ("a", "b" * 40):
        pa.csv.write_csv(pa.table({"answer": [label] * 200_000}), tmp_path / "true.csv")
        made = randomize_file(
            str(tmp_path / "true.csv"), str(tmp_path / "out.arrow"), [Assignment.of("answer", design)], force=True
        )
        assert made.rows == 200_000
        found.append(layout(tmp_path / "out.arrow"))
    assert found[0] == found[1]


def test_notes_and_types_of_the_true_file_are_left_behind(tmp_path):
    frame = pd.DataFrame({"answer": pd.Categorical(["no"] * 50, categories=["no"]), "x": range(50)})
    frame.index = pd.Index(range(100, 150), name="person")
    frame.attrs = {"note": "everyone said no"}
    table = pa.Table.from_pandas(frame)
    table = table.replace_schema_metadata({**table.schema.metadata, b"other": b"50 times no"})
    pq.write_table(table, tmp_path / "true.parquet")
    randomize_file(str(tmp_path / "true.parquet"), str(tmp_path / "out.parquet"), [Assignment.of("answer", DESIGN)])
    schema = pq.read_schema(tmp_path / "out.parquet")
    text = json.dumps({k.decode(): v.decode() for k, v in schema.metadata.items() if k != b"ARROW:schema"})
    assert "num_categories" not in text and "everyone" not in text and "50 times" not in text
    back = pd.read_parquet(tmp_path / "out.parquet")
    assert back.index.name == "person" and list(back.columns) == ["answer", "x"]
    found = []
    for kind, nullable in ((pa.int8(), True), (pa.int16(), False)):
        column = pa.array(["no"] * 5).dictionary_encode().cast(pa.dictionary(kind, pa.string()))
        table = pa.table([column], schema=pa.schema([pa.field("answer", column.type, nullable=nullable)]))
        pq.write_table(table, tmp_path / "true.parquet")
        out = tmp_path / "out.parquet"
        randomize_file(str(tmp_path / "true.parquet"), str(out), [Assignment.of("answer", DESIGN)], force=True)
        found.append(pq.read_schema(out).field("answer"))
    assert found[0].type == found[1].type and found[0].nullable and found[1].nullable


@pytest.mark.parametrize(
    "notes",
    [
        {"columns": [], "secret": "all no"},
        {"columns": [{"name": "answer", "field_name": None, "metadata": {"num_categories": "all no"}}]},
        {"columns": ["all no"]},
        {"columns": None, "note": "all no"},
        ["all no"],
    ],
)
def test_notes_of_any_form_are_left_behind(tmp_path, notes):
    table = pa.table({"answer": ["no"] * 3, "x": [1, 2, 3]})
    pq.write_table(table.replace_schema_metadata({b"pandas": json.dumps(notes).encode()}), tmp_path / "true.parquet")
    randomize_file(str(tmp_path / "true.parquet"), str(tmp_path / "out.parquet"), [Assignment.of("answer", DESIGN)])
    kept = pq.read_schema(tmp_path / "out.parquet").metadata or {}
    assert b"all no" not in kept.get(b"pandas", b"")


FLAT = Uniform.of("1e-300", LABELS)
"""Never the truth in as many draws as are made here: equal words give equal reports, whatever the truth."""

TEXTS = [f"a rather long text {i}" * (i % 3) for i in range(3000)]
KINDS = {
    "views": lambda: pa.array(TEXTS).cast(pa.string_view()),
    "bytes": lambda: pa.array([text.encode() for text in TEXTS]).cast(pa.binary_view()),
    "texts": lambda: pa.array([None if i % 7 == 0 else text for i, text in enumerate(TEXTS)]),
    "lists": lambda: pa.array([None if i % 3 == 0 else [text, None] for i, text in enumerate(TEXTS)]),
    "structs": lambda: pa.array([{"a": text, "b": i} if i % 5 else None for i, text in enumerate(TEXTS)]),
    "dictionaries": lambda: pa.array([text[: 18 + i % 4] for i, text in enumerate(TEXTS)]).dictionary_encode(),
    "numbers": lambda: pa.array([None if i % 9 == 0 else i / 3 for i in range(3000)]),
    "truths": lambda: pa.array([None if i % 9 == 0 else i % 2 == 0 for i in range(3000)]),
}


@pytest.mark.parametrize("ending", ["arrow", "parquet", "csv"])
@pytest.mark.parametrize("kind", KINDS)
def test_equal_reports_and_columns_make_equal_bytes_whatever_the_truth(tmp_path, kind, ending):
    if ending == "csv" and kind in ("lists", "structs", "bytes"):
        pytest.skip("text files hold no such columns")
    made = []
    for share in (0, 0.5, 1):
        truth = np.where(np.arange(3000) < share * 3000, LABELS.labels[1], LABELS.labels[0])
        table = pa.table({"x": KINDS[kind](), "answer": truth})
        with pa.OSFile(str(tmp_path / "true.arrow"), "wb") as file, pyarrow.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=200 + int(1500 * share))
        out = tmp_path / f"{share}.{ending}"
        randomize_file(str(tmp_path / "true.arrow"), str(out), [Assignment.of("answer", FLAT)], random=SeededRandom(1))
        made.append(out.read_bytes())
    assert made[0] == made[1] == made[2]


def masked(kind):
    """A column in whose buffers a secret stands where a value is missing."""
    gone = pa.py_buffer(b"\x01")  # only the first of two values is there
    texts = pa.array(["plain", "secret"])
    if kind == "texts":
        return pa.Array.from_buffers(pa.string(), 2, [gone, *texts.buffers()[1:]])
    if kind == "numbers":
        return pa.Array.from_buffers(pa.binary(6), 2, [gone, pa.py_buffer(b"_plainsecret")])
    if kind == "structs":
        return pa.Array.from_buffers(pa.struct([("a", pa.string())]), 2, [gone], children=[texts])
    lists = pa.array([["plain"], ["secret"]])
    return pa.Array.from_buffers(lists.type, 2, [gone, lists.buffers()[1]], children=[lists.values])


@pytest.mark.parametrize("ending", ["arrow", "parquet"])
@pytest.mark.parametrize("kind", ["texts", "numbers", "structs", "lists"])
def test_what_stood_where_a_value_is_missing_now_is_not_copied(tmp_path, kind, ending):
    table = pa.table({"x": masked(kind), "answer": ["no", "no"]})
    with pa.OSFile(str(tmp_path / "true.arrow"), "wb") as file, pyarrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    assert b"secret" in (tmp_path / "true.arrow").read_bytes()
    out = tmp_path / f"out.{ending}"
    randomize_file(str(tmp_path / "true.arrow"), str(out), [Assignment.of("answer", DESIGN)])
    assert b"secret" not in out.read_bytes() and b"plain" in out.read_bytes()


@pytest.mark.parametrize("ordered", [False, True])
def test_dictionaries_hold_what_the_rows_hold_in_their_order(tmp_path, ordered):
    """Not values of rows that were left out, nor of others that the column once had, nor the order of the input."""
    places, values = pa.array([2, 1, 3, 1], pa.int8()), pa.array(["unused", "a", "left out", "b"])
    copied = pa.DictionaryArray.from_arrays(places, values, ordered=ordered)
    given, made = tmp_path / "given.parquet", tmp_path / "made.parquet"
    pq.write_table(pa.table({"answer": [None, "no", "no", "no"], "copied": copied}), given)
    randomize_file(str(given), str(made), [Assignment.of("answer", DESIGN)], missing="drop")
    assert not any(text in made.read_bytes() for text in (b"unused", b"left out"))
    assert pq.read_table(made).column("copied").to_pylist() == ["a", "b", "a"]
    pq.write_table(pa.table({"answer": ["no"] * 3, "copied": copied.take([2, 1, 2])}), given)
    randomize_file(str(given), str(made), [Assignment.of("answer", DESIGN)], force=True)
    dictionary = pq.read_table(made).column("copied").chunk(0).dictionary.to_pylist()
    assert dictionary == (["a", "b"] if ordered else ["b", "a"])


def test_few_persons_are_noticed_however_small_the_batches():
    persons = Persons(KeptDraws(KeyedRandom.of(bytes(range(32)), "d"), "region"))
    for row in range(0, 160, 40):
        persons.names(pa.array(["north", "south"] * 20), row)
    with pytest.raises(
        ParameterError, match="column 'region' does not identify persons: 2 different values in 200 rows"
    ):
        persons.names(pa.array(["north", "south"] * 20), 160)
