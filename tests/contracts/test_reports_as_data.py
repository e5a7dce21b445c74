"""Reports travel: randomized in any kind of table or file, written, read and counted by whoever comes next.

Whatever the road, the counts are those of the reports that the design draws from the same random words.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

import pyarrow.csv as pa_csv
import pyarrow.feather as pa_feather
import pyarrow.parquet as pa_parquet
from tests.support.together import together

from maskwell import Categories, Counts, Design, SeededRandom, estimate, randomize, tally
from maskwell.designs import LocalDiversity, Subset, Unary, Uniform
from maskwell.engines import counts_from_arrow, counts_to_arrow
from maskwell.errors import MissingValueError, ReportError, WrongTypeError
from maskwell.estimation import estimate_by_moments

LABELS = [f"item {i}" for i in range(11)]
CATEGORIES = Categories.of(LABELS)
DESIGNS: dict[str, Design] = {
    "subset": Subset.from_gamma(3, CATEGORIES, size=3),
    "unary": Unary.oue_from_gamma(3, CATEGORIES),
    "l-diverse": LocalDiversity.of(4, CATEGORIES),
    "k-ary": Uniform.from_gamma(3, CATEGORIES),
}
SET_DESIGNS = [name for name, design in DESIGNS.items() if design.reports_are_sets]
N = 300
CODES = np.random.default_rng(4).integers(0, 11, N)
TRUE = [LABELS[code] for code in CODES]
ROWS: dict[str, Any] = {"id": list(range(N)), "answer": TRUE}
BYTES = 2

KINDS: dict[str, Callable[[], Any]] = {
    "dict of lists": lambda: dict(ROWS),
    "dict of NumPy": lambda: {"id": np.arange(N), "answer": np.array(TRUE)},
    "pandas": lambda: pd.DataFrame(ROWS, index=[f"r{i}" for i in range(N)]),
    "pandas category": lambda: pd.DataFrame(ROWS).astype({"answer": "category"}),
    "polars": lambda: pl.DataFrame(ROWS),
    "polars Enum": lambda: pl.DataFrame(ROWS).with_columns(pl.col("answer").cast(pl.Enum(LABELS[::-1]))),
    "Arrow": lambda: pa.table(ROWS),
    "Arrow dictionary": lambda: pa.table({**ROWS, "answer": pa.array(TRUE).dictionary_encode()}),
    "Arrow chunks": lambda: pa.concat_tables([pa.table(ROWS).slice(0, 100), pa.table(ROWS).slice(100)]),
}

each_design = together("name", DESIGNS)
each_set_design = together("name", SET_DESIGNS)
each_kind = together("kind", KINDS)
each_form = together("sets", ["packed", "texts"])


def expected(name: str) -> list[int]:
    """The counts of the reports themselves."""
    design = DESIGNS[name]
    counts: list[int] = design.tally(design.sample(CODES, random=SeededRandom(8))).values.tolist()
    return counts


def randomized(kind: str, name: str, sets: str = "packed") -> Any:
    return randomize(KINDS[kind](), {"answer": DESIGNS[name]}, random=SeededRandom(8), sets=sets)


@each_design
@each_kind
@each_form
def test_what_any_table_holds_is_counted_alike(kind: str, name: str, sets: str) -> None:
    table, design = randomized(kind, name, sets), DESIGNS[name]
    assert tally(table, {"answer": design})["answer"].values.tolist() == expected(name)
    assert design.tally(table["answer"]).values.tolist() == expected(name)  # one column by itself
    if isinstance(table, dict):
        assert type(table["answer"]) is type(KINDS[kind]()["answer"])


@each_kind
def test_sets_come_packed_unless_texts_are_asked_for(kind: str) -> None:
    packed, texts = (randomized(kind, "subset", sets)["answer"] for sets in ("packed", "texts"))
    values, shown = ([*_python(column)] for column in (packed, texts))
    assert {*map(type, values)} == {bytes}
    assert {*map(len, values)} == {BYTES}
    assert {*map(len, shown)} == {11}
    bits = np.unpackbits(np.frombuffer(b"".join(values), np.uint8).reshape(N, BYTES), axis=1, bitorder="little")
    assert ["".join(map(str, row)) for row in bits[:, :11].tolist()] == shown


def _python(column: Any) -> list[Any]:
    made = (
        next(getattr(column, way)() for way in ("to_pylist", "to_list", "tolist") if hasattr(column, way))
        if (not isinstance(column, list))
        else column
    )
    return list(made)


WRITERS: dict[str, tuple[str, str, Callable[[Any, str], Any]]] = {
    "pandas to Parquet": ("pandas", ".parquet", lambda table, path: table.to_parquet(path)),
    "pandas to CSV": ("pandas", ".csv", lambda table, path: table.to_csv(path, index=False)),
    "pandas to Feather": ("pandas category", ".arrow", lambda table, path: table.to_feather(path)),
    "polars to Parquet": ("polars", ".parquet", lambda table, path: table.write_parquet(path)),
    "polars to CSV": ("polars", ".csv", lambda table, path: table.write_csv(path)),
    "polars to Arrow IPC": ("polars", ".arrow", lambda table, path: table.write_ipc(path)),
    "Arrow to Parquet": ("Arrow", ".parquet", pa_parquet.write_table),
    "Arrow to CSV": ("Arrow", ".csv", pa_csv.write_csv),
    "Arrow to Arrow IPC": ("Arrow", ".arrow", pa_feather.write_feather),
}
TEXT = {"answer": "str"}
READERS: dict[str, dict[str, Callable[[str], Any]]] = {
    ".parquet": {"pandas": pd.read_parquet, "polars": pl.read_parquet, "Arrow": pa_parquet.read_table, "file": str},
    ".arrow": {"pandas": pd.read_feather, "polars": pl.read_ipc, "Arrow": pa_feather.read_table, "file": str},
    ".csv": {
        "pandas": lambda path: pd.read_csv(path, dtype=TEXT),
        "polars": lambda path: pl.read_csv(path, schema_overrides={"answer": pl.String}),
        "file": str,
    },
}


@each_design
@together("writer", WRITERS)
@each_form
def test_what_python_wrote_is_read_by_all(writer: str, name: str, sets: str, tmp_path: Path) -> None:
    kind, ending, write = WRITERS[writer]
    if ending == ".csv" and sets == "packed" and DESIGNS[name].reports_are_sets:
        pytest.skip("CSV holds no bytes")
    path, design = str(tmp_path / f"reports{ending}"), DESIGNS[name]
    write(randomized(kind, name, sets), path)
    for read in READERS[ending].values():
        table = read(path)
        counts = tally(table, {"answer": design})["answer"]
        assert counts.values.tolist() == expected(name)
        if table is not path:
            assert design.tally(table["answer"]).values.tolist() == expected(name)
    result = estimate(path, {"answer": design})
    shares = estimate_by_moments(Counts(np.array(expected(name)), N, design.fingerprint), design)
    np.testing.assert_allclose(result.estimate.pi_hat, shares.pi_hat)


def test_bytes_that_pandas_wrote_to_csv_are_refused_with_the_way_out(tmp_path: Path) -> None:
    path, design = str(tmp_path / "reports.csv"), DESIGNS["subset"]
    randomized("pandas", "subset").to_csv(path, index=False)
    for data in (path, pd.read_csv(path)):
        with pytest.raises(ReportError, match="sets='texts'"):
            tally(data, {"answer": design})


def masks(name: str) -> Any:
    return DESIGNS[name].sample(CODES, random=SeededRandom(8)).data


def characters(row: Any) -> str:
    return "".join(map(str, np.unpackbits(row, count=11, bitorder="little")))


FORMS: dict[str, Callable[[Any], Any]] = {
    "list of bytes": lambda bits: [row.tobytes() for row in bits],
    "tuple of bytes": lambda bits: tuple(row.tobytes() for row in bits),
    "NumPy void": lambda bits: bits.view(f"V{BYTES}").ravel(),
    "NumPy bytes": lambda bits: bits.view(f"S{BYTES}").ravel(),
    "NumPy objects": lambda bits: np.array([row.tobytes() for row in bits], dtype=object),
    "strided": lambda bits: np.repeat(bits.view(f"V{BYTES}").ravel(), 2)[::2],
    "pandas objects": lambda bits: pd.Series([row.tobytes() for row in bits]),
    "pandas category": lambda bits: pd.Series([row.tobytes() for row in bits], dtype="category"),
    "large binary": lambda bits: pa.array([row.tobytes() for row in bits], pa.large_binary()),
    "binary view": lambda bits: pa.array(
        [row.tobytes() for row in bits], pa.binary_view() if hasattr(pa, "binary_view") else pa.binary()
    ),
    "dictionary": lambda bits: pa.array([row.tobytes() for row in bits]).dictionary_encode(),
    "cut": lambda bits: pa.array([b"??", *(row.tobytes() for row in bits), b"???"])[1:-1],
    "cut, fixed": lambda bits: pa.array([b"??", *(row.tobytes() for row in bits)], pa.binary(BYTES))[1:],
    "no chunks and some": lambda bits: pa.chunked_array([[], [row.tobytes() for row in bits], []], pa.binary()),
    "characters as bytes": lambda bits: pa.array([characters(row).encode() for row in bits]),
    "large texts": lambda bits: pa.array([*map(characters, bits)], pa.large_string()),
}


@each_set_design
@together("form", FORMS)
def test_every_form_of_a_column_is_read(form: str, name: str) -> None:
    assert DESIGNS[name].tally(FORMS[form](masks(name))).values.tolist() == expected(name)


def wrong_columns() -> dict[str, Any]:
    return {
        "another width": [b"\x01", b"\x02"],
        "different widths": [b"\x01\x00", b"\x02"],
        "different widths, Arrow": pa.array([b"\x01\x00", b"\x02"]),
        "another width, Arrow": pa.array([b"\x01", b"\x02"]),
        "another width, fixed": pa.array([b"\x01", b"\x02"], pa.binary(1)),
        "no width": pa.array([b"", b""]),
        "no width, NumPy": np.array([b"", b""]),
        "bits beyond the last category": [b"\x00\x08"],
        "bits beyond, Arrow": pa.array([b"\x07\xf0"]),
        "bytes and texts": [b"\x07\x00", "11100000000"],
        "numbers": pa.array([1, 2]),
        "texts of 0, 1 and more": ["1110000000x"],
        "short texts": pa.array(["111"]),
        "another size": [b"\x01\x00"],
    }


@together("wrong", list(wrong_columns()))
def test_anything_else_is_refused_without_a_traceback_of_another_library(wrong: str) -> None:
    with pytest.raises(ReportError):
        DESIGNS["subset"].tally(wrong_columns()[wrong])


SOME = [b"\x07\x00", None]


@together("column", [SOME, pa.array(SOME), pd.Series(SOME), pl.Series(SOME)], ids=["list", "Arrow", "pandas", "polars"])
def test_a_missing_report_is_said(column: Any) -> None:
    with pytest.raises(MissingValueError, match=r"1 of 2 reports"):
        DESIGNS["subset"].tally(column)
    data = {"answer": column}
    if not isinstance(column, pd.Series | pl.Series):
        with pytest.raises(MissingValueError):
            tally(data, {"answer": DESIGNS["subset"]})
        assert tally(data, {"answer": DESIGNS["subset"]}, missing="drop")["answer"].n == 1


PRIVATE, SEEDED = (Counts(np.array([3, 1]), 4, "sha256:1", private) for private in (True, False))


def test_counts_add_up_and_what_came_from_a_seed_says_so_to_the_end() -> None:
    total = sum([PRIVATE, PRIVATE, PRIVATE])
    assert isinstance(total, Counts)
    assert (total.values.tolist(), total.n, total.private) == ([9, 3], 12, True)
    with pytest.raises(TypeError):
        sum([PRIVATE], start=1)  # type: ignore[list-item, call-overload]
    with pytest.raises(ReportError, match="two different designs"):
        PRIVATE + Counts(np.array([3, 1]), 4, "sha256:2")
    with pytest.raises(ReportError, match="2 and 3 reports"):
        PRIVATE + Counts(np.array([3, 1, 0]), 4, "sha256:1")
    with pytest.raises(ReportError, match="more than"):
        Counts(np.array([2**62]), 2**62, "f") + Counts(np.array([2**62]), 2**62, "f")
    assert not sum([PRIVATE, SEEDED, PRIVATE]).private  # type: ignore[union-attr]
    assert not Counts.from_dict(json.loads(json.dumps(SEEDED.to_dict()))).private
    assert [part.private for part in counts_from_arrow(counts_to_arrow([PRIVATE, SEEDED]))] == [True, False]
    for name, design in DESIGNS.items():
        assert not design.tally(design.sample(CODES, random=SeededRandom(8))).private
        assert design.tally(design.sample(CODES)).private
        table = randomized("Arrow", name)  # says in its metadata that a seed was used
        assert not tally(table, {"answer": design})["answer"].private
        assert tally(randomize(KINDS["Arrow"](), {"answer": design}), {"answer": design})["answer"].private


@each_design
def test_counts_of_parts_travel_as_json_and_as_rows_of_a_table(name: str) -> None:
    design, table = DESIGNS[name], randomized("Arrow", name)
    parts = [tally(table.slice(start, 100), {"answer": design})["answer"] for start in (0, 100, 200)]
    by_json = [Counts.from_dict(json.loads(json.dumps(part.to_dict()))) for part in parts]
    one_by_one = pa.concat_tables([counts_to_arrow(part) for part in parts])
    for road in (by_json, counts_from_arrow(one_by_one), counts_from_arrow(pl.from_arrow(one_by_one))):
        total = sum(road)
        assert isinstance(total, Counts)
        assert (total.values.tolist(), total.n, total.private) == (expected(name), N, False)
        estimate_by_moments(total, design)


def broken_forms() -> list[Any]:
    good = PRIVATE.to_dict()
    changed: list[tuple[str, Any]] = [("values", values) for values in ([1.5], [True], [2**70], None, [-1])]
    changed += [("n", -1), ("n", 2**63)]
    changed += [("n", 1.0), ("version", 2), ("maskwell", "design"), ("more", 1)]
    return [None, [], {}, "x", {k: v for k, v in good.items() if k != "private"}, *({**good, k: v} for k, v in changed)]


@together("form", broken_forms(), ids=str)
def test_what_is_no_form_of_counts_is_refused(form: Any) -> None:
    with pytest.raises(ReportError):
        Counts.from_dict(form)


def test_what_is_no_table_of_counts_is_refused() -> None:
    good = counts_to_arrow([PRIVATE, SEEDED])
    kept = {n: good.column(n) for n in ("design", "private", "values", "n")}
    lost = pa.table({**kept, "n": pa.array([None, 4], pa.int64())})
    hole = pa.table({**kept, "values": pa.array([[1, None], [1, 1]])})
    texts = pa.table({**{n: good.column(n) for n in ("design", "private", "n")}, "values": pa.array(["a", "b"])})
    for table in (good.drop_columns(["n"]), lost, hole, texts):
        with pytest.raises(ReportError):
            counts_from_arrow(table)
    with pytest.raises(WrongTypeError):
        counts_from_arrow([PRIVATE])
    assert counts_from_arrow(counts_to_arrow([])) == []
