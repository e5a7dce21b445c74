"""Every library's columns through one suite: codes in, the same kind out."""

import datetime as dt
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from tests.support.quiet import quiet
from tests.support.together import together

from maskwell import Categories
from maskwell.core.adapters import LOADERS
from maskwell.errors import InputError, MissingValueError, UnknownCategoryError, WrongTypeError

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
import pyarrow as pa

TEXT = ["b", "a", "c"]
NUMBERS = [30, -5, 7]
DAYS = [dt.date(2024, 5, 1), dt.date(2023, 1, 1), dt.date(2022, 1, 1)]
TIMES = [dt.datetime(2024, 5, 1, 12), dt.datetime(2023, 1, 1), dt.datetime(2022, 1, 1)]

# name: (labels, how to make a column of values)
COLUMNS = {
    "pandas object": (TEXT, lambda v: pd.Series(v, dtype=object, name="x")),
    "pandas str": (TEXT, lambda v: pd.Series(v, dtype="str", name="x")),
    "pandas string": (TEXT, lambda v: pd.Series(v, dtype="string", name="x")),
    "pandas arrow string": (TEXT, lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.string()))),
    "pandas arrow int": (NUMBERS, lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.int16()))),
    "pandas Int64": (NUMBERS, lambda v: pd.Series(v, dtype="Int64", name="x")),
    "pandas Float32": ([0.5, 2, 4], lambda v: pd.Series(v, dtype="Float32")),
    "pandas boolean": ([True, False], lambda v: pd.Series(v, dtype="boolean")),
    "pandas float": (NUMBERS, lambda v: pd.Series(v, dtype=float)),
    "pandas datetime": (TIMES, lambda v: pd.Series(v, dtype="datetime64[ns]")),
    "pandas tuples": ([(1, 2), (3, 4)], lambda v: pd.Series(v, dtype=object)),
    "pandas Categorical": (TEXT, lambda v: pd.Categorical(v, categories=TEXT)),
    "pandas categorical": (TEXT, lambda v: pd.Series(pd.Categorical(v, categories=TEXT, ordered=True), name="x")),
    "pandas int categorical": (NUMBERS, lambda v: pd.Series(pd.Categorical(v, categories=NUMBERS))),
    "pandas object categorical": (
        TEXT,
        lambda v: pd.Series(pd.Categorical(v, categories=pd.Index(TEXT, dtype=object))),
    ),
    "pandas object Index": (TEXT, lambda v: pd.Index(v, dtype=object, name="x")),
    "pandas Index": (TEXT, lambda v: pd.Index(v, dtype="str", name="x")),
    "polars Enum": (TEXT, lambda v: pl.Series("x", v, dtype=pl.Enum(TEXT))),
    "polars Categorical": (TEXT, lambda v: pl.Series("x", v, dtype=pl.Categorical)),
    "polars String": (TEXT, lambda v: pl.Series("x", v, dtype=pl.String)),
    "polars Int8": (NUMBERS, lambda v: pl.Series("x", v, dtype=pl.Int8)),
    "polars UInt64": ([2**63, 1], lambda v: pl.Series("x", v, dtype=pl.UInt64)),
    "polars Float64": ([0.5, 2.0], lambda v: pl.Series("x", v, dtype=pl.Float64)),
    "polars Boolean": ([True, False], lambda v: pl.Series("x", v, dtype=pl.Boolean)),
    "polars Date": (DAYS, lambda v: pl.Series("x", v, dtype=pl.Date)),
    "polars Datetime": (TIMES, lambda v: pl.Series("x", v, dtype=pl.Datetime)),
    "polars List": ([(1, 2), (3,)], lambda v: pl.Series("x", v, dtype=pl.List(pl.Int64))),
    "arrow dictionary": (TEXT, lambda v: pa.array(v, pa.string()).dictionary_encode()),
    "arrow int dictionary": (NUMBERS, lambda v: pa.array(v, pa.int16()).dictionary_encode()),
    "arrow string": (TEXT, lambda v: pa.array(v, pa.string())),
    "arrow large string": (TEXT, lambda v: pa.array(v, pa.large_string())),
    "arrow int8": (NUMBERS, lambda v: pa.array(v, pa.int8())),
    "arrow uint64": ([2**63, 1], lambda v: pa.array(v, pa.uint64())),
    "arrow double": ([0.5, 2.0], lambda v: pa.array(v, pa.float64())),
    "arrow bool": ([True, False], lambda v: pa.array(v, pa.bool_())),
    "arrow date": (DAYS, lambda v: pa.array(v, pa.date32())),
    "arrow list": ([(1, 2), (3,)], lambda v: pa.array(v, pa.list_(pa.int64()))),
    "arrow chunks": (TEXT, lambda v: pa.chunked_array([v[:2], [], v[2:]], type=pa.string())),
    "arrow dictionary chunks": (
        TEXT,
        lambda v: pa.chunked_array(
            [pa.array(v[:2], pa.string()).dictionary_encode(), pa.array(v[2:], pa.string()).dictionary_encode()]
        ),
    ),
}


def kind(values):
    categories = getattr(getattr(values, "cat", None), "categories", None)
    chunks = [len(chunk) for chunk in values.chunks] if isinstance(values, pa.ChunkedArray) else None
    return getattr(values, "dtype", None), getattr(values, "type", None), getattr(categories, "dtype", None), chunks


@pytest.fixture(params=COLUMNS, ids=str)
def column(request):
    return COLUMNS[request.param]


def as_list(values):
    listed = values.to_pylist() if isinstance(values, pa.Array | pa.ChunkedArray) else list(values)
    return [tuple(v) if isinstance(v, list | pl.Series) else v for v in listed]


def test_round_trip(column):
    labels, make = column
    codes = np.arange(20) * 7 % len(labels)
    values = make([labels[code] for code in codes])
    categories = Categories.of(labels)
    encoded = categories.encode(values)
    assert encoded.codes.tolist() == codes.tolist() and encoded.codes.dtype == np.uint8
    back = categories.decode(encoded.codes, like=values)
    assert type(back) is type(values) and kind(back) == kind(values) and as_list(back) == as_list(values)
    assert getattr(back, "name", None) == getattr(values, "name", None)


def test_missing_values(column):
    labels, make = column
    values = make([labels[1], None, labels[0], None])
    categories = Categories.of(labels)
    with pytest.raises(MissingValueError, match=r"2 of 4 values are missing \(rows 1, 3,"):
        categories.encode(values)
    dropped = categories.encode(values, missing="drop")
    assert dropped.codes.tolist() == [1, 0] and dropped.kept.tolist() == [True, False, True, False]
    own = categories.with_missing()
    encoded = own.encode(values, missing="category")
    assert encoded.codes.tolist() == [1, len(labels), 0, len(labels)]
    back = as_list(own.decode(encoded.codes, like=values))
    assert back in (
        [labels[1], "missing", labels[0], "missing"],
        [str(labels[1]), "missing", str(labels[0]), "missing"],
    )


def test_missing_values_and_none_but_those(column):
    labels, make = column
    categories = Categories.of(labels)
    assert categories.encode(make([])).codes.tolist() == [] and len(categories.decode([], like=make([]))) == 0
    assert categories.encode(make([None, None]), missing="drop").n_missing == 2
    labels, make = column
    values = make([labels[1], labels[0], labels[0], None])
    with quiet(UnknownCategoryError, match="2 of 4 .*first in row 1, counted from 0", values=r".+ \(2 times\)"):
        Categories.of(labels[1:]).encode(values)


@together("values", [pl.Series([None]), pa.nulls(1), pd.Series([pd.NA]), pd.Series([pd.NaT])])
def test_columns_of_nothing(values):
    assert Categories.of(["a"]).encode(values, missing="drop").n_missing == 1


@together(
    "values",
    [
        pd.DataFrame({"x": ["a"]}),
        pl.DataFrame({"x": ["a"]}),
        pa.table({"x": ["a"]}),
        pd.MultiIndex.from_tuples([("a", "b")]),
        pl.LazyFrame({"x": ["a"]}),
    ],
    ids=lambda values: type(values).__name__,
)
def test_tables_are_not_columns(values):
    with pytest.raises(WrongTypeError, match="a column of values must be given, not a"):
        Categories.of(["a"]).encode(values)


def test_pandas_keeps_its_index_and_takes_the_categories_of_the_design():
    values = pd.Series(["a", None, "b"], index=[10, 20, 30], name="x")
    categories = Categories.of(["a", "b"])
    encoded = categories.encode(values, missing="drop")
    back = categories.decode(encoded.codes, like=values, kept=encoded.kept)
    assert back.index.tolist() == [10, 30] and back.name == "x"
    with pytest.raises(InputError, match="there are 2 codes for a Series of 3 rows"):
        categories.decode(encoded.codes, like=values)
    values = pd.Series(pd.Categorical(["a", "b"], categories=["z", "b", "a"]), index=["i", "j"])
    back = Categories.of(["a", "b", "refused"]).decode([1, 2], like=values)
    assert back.cat.categories.tolist() == ["a", "b", "refused"] and back.index.tolist() == ["i", "j"]


MODELS = [pd.Series([1, 2]), pl.Series([1, 2]), pa.array([1, 2]), pa.chunked_array([[1, 2]])]
TEXT_MODELS = [pd.Series(["a", "b"]), pl.Series(["a", "b"]), pa.array(["a", "b"])]


def test_columns_that_cannot_hold_the_labels_change() -> None:
    for like in TEXT_MODELS:
        assert as_list(Categories.of([5, 7]).decode([1, 0], like=like)) == [7, 5]
        assert as_list(Categories.numbered(10**6).decode([999_999, 0], like=like)) == [999_999, 0]
    for like in [*MODELS, *TEXT_MODELS]:
        back = as_list(Categories.of([5, "x"]).decode([1, 0], like=like))
        assert back == (["x", 5] if isinstance(like, pd.Series) else ["x", "5"])
    for like in MODELS:
        assert as_list(Categories.of(["no", "yes"]).decode([1, 0], like=like)) == ["yes", "no"]
        categories = Categories.of(["2", "1"])
        assert categories.encode(like, match="text").codes.tolist() == [1, 0]
        back = categories.decode([0, 1], like=like, match="text")
        assert as_list(back) == [2, 1]
        assert getattr(back, "dtype", getattr(back, "type", None)) == getattr(
            like, "dtype", getattr(like, "type", None)
        )


def test_dictionaries_differ_between_chunks_and_libraries_are_loaded_when_their_column_comes():
    chunks = pa.chunked_array([pa.array(["a", "b"]).dictionary_encode(), pa.array(["b", "a"]).dictionary_encode()])
    assert Categories.of(["a", "b"]).encode(chunks).codes.tolist() == [0, 1, 1, 0]
    nothing = pa.chunked_array([], type=chunks.type)
    assert Categories.of(["a", "b"]).encode(nothing).codes.tolist() == []
    assert len(Categories.of(["a", "b"]).decode([], like=nothing)) == 0
    values = pd.Series(pd.Categorical([2, 1]))
    back = Categories.of(["2", "1"]).decode([0, 1], like=values, match="text")
    assert back.cat.categories.tolist() == [2, 1]
    enum = pl.Series(["2", "1"], dtype=pl.Enum(["1", "2"]))
    assert Categories.of([2, 1]).encode(enum, match="text").codes.tolist() == [0, 1]
    assert Categories.of([2, 1]).decode([0, 1], like=enum, match="text").to_list() == ["2", "1"]
    assert Categories.of([2, 1]).decode([0, 1], like=enum).to_list() == [2, 1]
    code = (
        "import sys, numpy; from maskwell.core.categories import Categories;"
        "Categories.of(['a', 'b']).encode(numpy.array(['a'])); Categories.of([1, 5]).decode([0], like=[]);"
        f"assert not {set(LOADERS)!r} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@together("dtype", [pl.Categorical, pl.String], ids=str)
def test_labels_that_first_occur_late_are_seen(dtype: Any) -> None:
    """The labels of the first rows are tried first; those of later rows, known or not, are not taken for missing."""
    from maskwell.engines.polars_columns import FIRST_ROWS

    categories = Categories.of(["a", "b", "c"])
    many = ["a", None, "b"] * FIRST_ROWS
    late = pl.Series("x", [*many, "c", None, "a"], dtype=dtype)
    encoded = categories.encode(late, missing="drop")
    assert encoded.codes.tolist() == [0, 1] * FIRST_ROWS + [2, 0] and encoded.n_missing == FIRST_ROWS + 1
    with pytest.raises(UnknownCategoryError) as raised:
        categories.encode(pl.Series("x", [*many, "z"], dtype=dtype), missing="drop")
    assert raised.value.objects["offenders"] == {"z": 1}
    assert categories.encode(pl.Series("x", [None] * 3, dtype=dtype), missing="drop").n_missing == 3
    assert categories.encode(pl.Series("x", [], dtype=dtype)).codes.tolist() == []
