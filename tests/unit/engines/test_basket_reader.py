"""Baskets in tables and files: every form gives the same bits, and what cannot be read is said in one error."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import maskwell as mw
from maskwell import SeededRandom, errors
from maskwell.designs.basket_bits import item_bits
from maskwell.engines.assignments import Assignment
from maskwell.engines.basket_reader import basket_columns, read_baskets
from maskwell.engines.rows import Rows
from maskwell.procedures.category_encodings import bits

ITEMS = ["bread", "milk", "7"]
DESIGN = bits(ITEMS, p="0.9")
LISTS = [["bread", "7"], [], ["milk"], ["7", "milk", "bread"]]
TEXTS = ["bread 7", "", " milk ", "7  milk bread"]
REPORTS = ["101", "000", "010", "111"]
EXPECTED = [[5], [0], [2], [7]]


def read(data, columns="items", design=DESIGN, **options) -> list[list[int]]:
    return read_baskets(Rows.of(data), Assignment.of(columns, design), **options).bits.tolist()


@pytest.mark.parametrize(
    "column",
    [
        LISTS,
        TEXTS,
        REPORTS,
        pa.array(LISTS),
        pa.array(LISTS, pa.large_list(pa.string())),
        pa.array(TEXTS).dictionary_encode(),
        pa.array([bytes(row) for row in EXPECTED], pa.binary(1)),
        ["bread 7", "000", "milk", "111"],
    ],
    ids=["lists", "texts", "reports", "arrow lists", "large lists", "dictionary", "packed", "mixed"],
)
def test_every_form_of_a_basket(column) -> None:
    assert read({"items": column} if isinstance(column, list) else pa.table({"items": column})) == EXPECTED


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table, dict])
@pytest.mark.parametrize("values", [(True, False), (1, 0), ("1", "0"), ("true", "false"), (1.0, 0.0)])
def test_every_form_of_a_table_of_bits(kind, values) -> None:
    one, zero = values
    held = {"bread": [5, 7], "milk": [2, 7], "7": [5, 7]}
    table = {name: [one if row[0] >> place & 1 else zero for row in EXPECTED] for place, name in enumerate(held)}
    assert read(kind(table), "bread,milk,7") == EXPECTED


def test_numbers_are_items_by_their_text() -> None:
    numbered = bits(["7", "12"], p="0.9")
    numbers = pa.array([[7], [12, 7], []], pa.list_(pa.int64()))
    assert read(pa.table({"items": numbers}), design=numbered) == [[1], [3], [0]]
    assert read({"items": [7, 12]}, design=numbered) == [[1], [2]]


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "parquet", "arrow"])
def test_files_are_randomized_and_read_back(tmp_path, ending) -> None:
    """The same seed gives the same reports in every kind of file and in memory: packed, or texts of 0 and 1."""
    truth = [["bread"], ["milk", "7"], [], ["bread", "milk", "7"]] * 50
    memory = mw.randomize({"items": truth}, {"items": DESIGN}, random=SeededRandom(5))
    lines = "\n".join(f'"{" ".join(basket)}"' for basket in truth)
    (tmp_path / "true.csv").write_text(f"items\n{lines}\n", encoding="utf-8")
    output = str(tmp_path / f"reports.{ending}")
    done = mw.randomize(str(tmp_path / "true.csv"), {"items": DESIGN}, output, random=SeededRandom(5)).to_dict()
    assert read(output) == read(memory)
    told = {"k": 3, "encoding": "bits", "parity": 729.0, "private": False, "missing": 0, "item_parity": 9.0}
    assert done["columns"]["items"] | {"design": ""} == told | {"design": ""}
    assert (done["parity_joint"], done["rows"]) == (729.0, 200)


@pytest.mark.parametrize("items", [33, 70])
def test_wide_tables_are_randomized_column_by_column(items) -> None:
    names = [f"i{i}" for i in range(items)]
    table = {name: [1, 0] * 2000 for name in names}
    reports = mw.randomize(table, {",".join(names): bits(names, p="0.9")}, random=SeededRandom(2))
    share = np.array([reports[name] for name in names])
    assert abs(share[:, ::2].mean() - 0.9) < 0.005 and abs(share[:, 1::2].mean() - 0.1) < 0.005
    assert len({tuple(row) for row in share.tolist()}) == items  # every column has draws of its own


def refused(data, kind: type[errors.MaskwellError], columns="items", **options) -> errors.MaskwellError:
    with pytest.raises(kind) as raised:
        read(data, columns, **options)
    assert len(raised.value.message) <= 93 and len(raised.value.hint) <= 94
    return raised.value


def test_items_that_are_unknown_or_named_twice_and_counts_are_refused_without_their_names() -> None:
    error = refused({"items": ["bread", "secret", "milk secret other"]}, errors.UnknownCategoryError)
    assert error.message == "column 'items': 2 of 3 baskets name an unknown item, the first in data row 2"
    assert "secret" not in error.message + error.hint and "'secret' (2 times)" in error.values
    error = refused({"items": [["milk"], ["bread", "bread"]]}, errors.UnknownCategoryError)
    assert error.message == "column 'items': 1 of 2 baskets names an item twice, in data row 2"
    assert "'bread'" in error.values
    error = refused({"bread": [1, 2], "milk": [0, 1], "7": [1, 1]}, errors.UnknownCategoryError, "bread,milk,7")
    assert error.message == "column 'bread': 1 of 2 values is not a bit, in data row 2"
    assert error.hint == "allowed: 1, 0: whether the item is in the basket, not how often"


def test_missing_and_other_wrong_input_is_refused(tmp_path) -> None:
    data = {"items": ["bread", None, "secret"]}
    assert "1 of 3 values is missing" in refused({"items": ["bread", None, ""]}, errors.MissingValueError).message
    assert read({"items": ["bread", None, ""]}, missing="drop") == [[1], [0]]
    assert "in data row 3" in refused(data, errors.UnknownCategoryError, missing="drop").message
    with pytest.raises(errors.ParameterError, match="holds baskets, which have no category for missing values"):
        mw.randomize(data, {"items": DESIGN}, missing="category")
    refused({"items": []}, errors.DataFileError)
    refused({"other": ["bread"]}, errors.DataFileError)
    refused({"items": [{"bread": 1}]}, errors.MaskwellError)
    refused(pa.table({"items": pa.array([b"abc"], pa.binary(3))}), errors.ReportError)
    refused(pa.table({"items": pa.array([bytes([8])], pa.binary(1))}), errors.ReportError)
    refused({"items": ["01"]}, errors.LabelError, design=bits(["01", "b"], p="0.9"))
    made = mw.randomize(pa.table({"items": LISTS}), {"items": bits(ITEMS, p="0.8")})
    assert "another design" in refused(made, errors.ReportError).message


def test_columns_are_found_where_nobody_names_them() -> None:
    items = item_bits(DESIGN)
    assert basket_columns(Rows.of({"7": [1], "milk": [0], "x": [2], "bread": [1]}), items) == ("bread", "milk", "7")
    assert basket_columns(Rows.of({"x": [1], "items": ["milk"]}), items) == ("items",)
    made = mw.randomize(pa.table({"bought": LISTS, "items": TEXTS}), {"bought": DESIGN})
    assert basket_columns(Rows.of(made), items) == ("bought",)
    with pytest.raises(
        errors.ParameterError, match="standard input can be read only once, so the columns of the baskets must be named"
    ):
        basket_columns(Rows.of("-"), items)
    with pytest.raises(errors.ParameterError, match="neither a column 'items'"):
        basket_columns(Rows.of({"x": [1]}), items)


@pytest.mark.parametrize("verb", [mw.estimate, mw.tally])
def test_a_column_of_baskets_is_mined_not_estimated(verb) -> None:
    with pytest.raises(errors.ParameterError, match="holds baskets of 3 items") as raised:
        verb({"items": TEXTS}, {"items": DESIGN})
    assert "maskwell mine" in raised.value.hint
