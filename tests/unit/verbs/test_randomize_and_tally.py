"""randomize and tally as calls of the library: any kind of table or file in, the same kind out."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.quiet import refused

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

import maskwell as mw
from maskwell import Categories, SeededRandom, randomize, tally
from maskwell.designs import Kronecker, Subset, Uniform
from maskwell.designs.wire import save_design
from maskwell.errors import DataFileError, MissingValueError, ParameterError, UnknownCategoryError, WrongTypeError

DRUGS = Uniform.from_gamma(3, Categories.of(["never", "once", "often"]))
SEX = Uniform.from_gamma(5, Categories.of(["1", "2"]))
SETS = Subset.from_gamma(3, Categories.of(["never", "once", "often"]), size=1)
DESIGNS = {"drugs": DRUGS, "sex": SEX}

rng = np.random.default_rng(1)
ROWS: dict[str, list[Any]] = {
    "id": list(range(200)),
    "drugs": [*rng.choice(["never", "once", "often"], 199).tolist(), None],
    "sex": rng.choice(["1", "2"], 200).tolist(),
}

KINDS = {
    "dict": dict,
    "pandas": lambda rows: pd.DataFrame(rows, index=[f"r{i}" for i in range(200)]),
    "polars": pl.DataFrame,
    "Arrow": pa.table,
}


def column(table: Any, name: str) -> list[Any]:
    values = table[name]
    return (
        list(values) if isinstance(values, list) else values.to_pylist() if hasattr(values, "to_pylist") else [*values]
    )


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = str(tmp_path / "rows.csv")
    pl.DataFrame(ROWS).write_csv(path)
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_comes_back_as_it_was_with_the_reports_of_a_file(kind: str, file: str, tmp_path: Path) -> None:
    data = KINDS[kind](ROWS)
    table = randomize(data, DESIGNS, random=SeededRandom(7), missing="drop")
    done = randomize(file, DESIGNS, tmp_path / "out.csv", random=SeededRandom(7), missing="drop")
    written = pl.read_csv(tmp_path / "out.csv", infer_schema_length=0)
    assert type(table) is type(data)
    assert done.to_dict()["rows"] == 199
    for name in ("drugs", "sex"):
        assert column(table, name) == written[name].to_list()
    assert column(table, "id") == list(range(199))
    assert column(data, "drugs") == ROWS["drugs"] or kind == "pandas"  # what was given stays as it is


def test_pandas_keeps_index_and_types_and_arrow_names_the_design_once() -> None:
    data = pd.DataFrame(ROWS, index=[f"r{i}" for i in range(200)]).astype({"drugs": "category", "sex": "int64"})
    table = randomize(data, DESIGNS, random=SeededRandom(7), missing="drop")
    assert [*table.index] == [f"r{i}" for i in range(199)] and table.dtypes["sex"] == np.int64
    assert [*table["drugs"].cat.categories] == ["never", "once", "often"]
    table = randomize(pa.table(ROWS), {"sex": SEX}, random=SeededRandom(1))
    assert SEX.fingerprint in table.schema.field("sex").metadata[b"maskwell"].decode()
    assert table.schema.field("id").metadata is None
    refused(DataFileError, "already holds reports", randomize, table, {"sex": SEX})


def test_draws_are_private_designs_may_be_files_and_a_file_needs_an_output(file: str, tmp_path: Path) -> None:
    done = randomize(file, {"sex": SEX}, tmp_path / "out.csv")
    assert done.private
    first, second = (randomize(ROWS, {"sex": SEX})["sex"] for _ in range(2))
    assert first != second  # equal once in 2 to the power of more than 100
    path = tmp_path / "sex.json"
    save_design(SEX, str(path))
    assert randomize(ROWS, {"sex": path}, random=SeededRandom(1)) == randomize(
        ROWS, {"sex": SEX}, random=SeededRandom(1)
    )
    refused((DataFileError, ParameterError), "", randomize, file, {"sex": path}, tmp_path / "rows.csv", force=True)
    refused(ParameterError, "is a file, so an output must be named", randomize, file, {"sex": SEX})
    refused(ParameterError, "output needs a file", randomize, ROWS, {"sex": SEX}, "out.csv")


def test_every_column_drops_its_own_missing_values(file: str) -> None:
    counts = tally(file, DESIGNS, missing="drop")
    assert (counts["drugs"].n, counts["sex"].n) == (199, 200)
    refused(MissingValueError, "1 of 200 values is missing", tally, file, DESIGNS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("sets", "length"), [("packed", 1), ("texts", 3)])
def test_sets_are_bytes_or_texts_in_a_table(kind: str, sets: str, length: int) -> None:
    table = randomize(KINDS[kind](ROWS), {"drugs": SETS}, random=SeededRandom(7), missing="drop", sets=sets)
    assert {*map(len, column(table, "drugs"))} == {length}
    counts = tally(table, {"drugs": SETS, "sex": SEX})
    assert counts["drugs"].values.tolist() == SETS.tally(column(table, "drugs")).values.tolist()


def test_the_columns_of_a_product_are_drawn_and_counted_together() -> None:
    both = Kronecker.of([DRUGS, SEX])
    rows = {name: values[:199] for name, values in ROWS.items()}
    table = randomize(rows, {"drugs,sex": both}, random=SeededRandom(3))
    counts = tally(table, {("drugs", "sex"): both})
    assert counts["drugs,sex"].n == 199 and len(counts["drugs,sex"].values) == 6


@pytest.mark.parametrize(
    ("data", "designs", "error", "message"),
    [
        ({"x": ["1", "3"]}, {"x": SEX}, UnknownCategoryError, "1 of 2 values is not a category"),
        ({"x": []}, {"x": SEX}, DataFileError, "the table has no rows"),
        ({"x": ["1"]}, {"y": SEX}, DataFileError, "the table has no column 'y'"),
        ({"x": ["1"], "z": []}, {"x": SEX}, Exception, "different lengths"),
        ({"x": ["1"]}, {}, ParameterError, "at least one design must be given"),
        ({"x": ["1"]}, {"x": mw.When({"g": 1}, SEX)}, ParameterError, "for some rows only"),
        (3, {"x": SEX}, Exception, "a table must be given, not a"),
    ],
)
def test_what_cannot_be_randomized_is_refused(data: Any, designs: Any, error: Any, message: str) -> None:
    refused(error, message, randomize, data, designs)


# ---- draws kept by a key

KEY = mw.KeyedRandom.of(bytes(range(32)), "kept")
PEOPLE = {"id": [f"p{i}" for i in range(60)], "a": ["yes", "no", "no"] * 20, "b": ["no", "yes"] * 30}


def kept(data: Any, designs: Any, **options: Any) -> Any:
    return mw.randomize(data, designs, key=KEY, id="id", **options)


def test_kept_draws_follow_the_person_the_value_and_the_design() -> None:
    coin = mw.design("warner", p="0.7")
    first = kept(PEOPLE, {"a": coin, "b": coin})
    backwards = {name: column[::-1] for name, column in PEOPLE.items()}
    assert [column[::-1] for column in kept(backwards, {"a": coin, "b": coin}).values()] == [*first.values()]
    assert kept({"id": PEOPLE["id"], "a": PEOPLE["a"]}, {"a": coin})["a"] == first["a"], "whatever else is there"
    some = kept({"id": PEOPLE["id"][5:9], "a": PEOPLE["a"][5:9]}, {"a": coin})["a"]
    assert some == first["a"][5:9], "whoever else is there"
    assert kept({"id": PEOPLE["id"], "b": PEOPLE["a"]}, {"b": coin})["b"] != first["a"], "another column"
    others = {**PEOPLE, "id": [f"q{i}" for i in range(60)]}
    assert kept(others, {"a": coin})["a"] != first["a"], "other people"
    assert kept(PEOPLE, {"a": mw.design("warner", p="0.71")})["a"] != first["a"], "another design"
    lost = {**PEOPLE, "a": [None, *PEOPLE["a"][1:]]}
    assert kept(lost, {"a": coin}, missing="drop")["a"] == first["a"][1:], "rows that are left out"


def test_kept_draws_are_those_of_the_keyed_sampler() -> None:
    """Of one column, of a product, and of every item of a basket."""
    from maskwell.designs.sampler import KeyedSampler

    coin = mw.design("warner", p="0.7")
    codes = [coin.inputs.encode(PEOPLE[name]).codes for name in "ab"]
    product = Kronecker.of([coin, coin])
    joint = KeyedSampler(product, KEY, '["a", "b"]').sample(codes[0] * 2 + codes[1], PEOPLE["id"]).data
    drawn = kept(PEOPLE, {"a,b": product})
    assert [coin.outputs.encode(drawn[name]).codes.tolist() for name in "ab"] == [[*(joint // 2)], [*(joint % 2)]]
    bits = mw.design("bits", items=["bread", "milk"], p="0.8")
    baskets = {"id": PEOPLE["id"], "items": [["bread"], ["milk"], []] * 20}
    texts = kept(baskets, {"items": bits}, sets="texts")["items"]
    for place, item in enumerate(["bread", "milk"]):
        leaf = bits.leaves[place]
        truth = leaf.inputs.encode([int(item in basket) for basket in baskets["items"]]).codes
        reports = KeyedSampler(leaf, KEY, f'["items", "{item}"]').sample(truth, PEOPLE["id"]).data
        assert [int(text[place]) for text in texts] == leaf.outputs.decode(reports).tolist()


def test_persons_that_are_none_are_refused(tmp_path) -> None:
    coin = {"a": mw.design("warner", p="0.7")}
    for options, message in (
        ({"key": KEY}, "key needs id"),
        ({"id": "id"}, "id needs key"),
        ({"key": KEY, "id": "a"}, "'a' identifies the person of each row and cannot be randomized"),
        ({"key": KEY, "id": "id", "random": mw.SeededRandom(1)}, "cannot be combined with"),
    ):
        refused(ParameterError, message, mw.randomize, PEOPLE, coin, **options)
    with pytest.raises(WrongTypeError, match="the value in data row 2 cannot identify a person"):
        kept({"id": ["p", ""], "a": ["yes", "no"]}, coin)
    refused(MissingValueError, "1 value is missing, in data row 2", kept, {"id": ["p", None], "a": ["yes", "no"]}, coin)
    with pytest.raises(ParameterError, match="'region' does not identify persons: 1 different values in 200 rows"):
        mw.randomize({"region": ["north"] * 200, "a": ["yes"] * 200}, coin, key=KEY, id="region")
