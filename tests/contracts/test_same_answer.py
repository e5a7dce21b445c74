"""Whatever holds the rows, the answer is the same, and so are the types of its labels."""

import datetime as dt
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.surveys import estimate_with
from tests.support.together import together

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pyreadstat = pytest.importorskip("pyreadstat")
import pyarrow as pa
import pyarrow.parquet as pa_parquet

import maskwell as mw
from maskwell import errors

DAYS = [dt.date(2020, 1, 1), dt.date(2020, 1, 2)]
COLUMNS: dict[str, list[Any]] = {
    "y": ["yes", "no", "yes"] * 8,
    "whole": [1, 2] * 12,
    "float": [1.0, 2.0] * 12,
    "half": [1.5, 2.0] * 12,
    "text": ["b", "a"] * 12,
    "zeros": ["01", "02"] * 12,
    "day": DAYS * 12,
    "gaps": [1.0, 2.0, math.nan, 1.0] * 6,
    "truth": [True, False] * 12,
    "lost": ["yes", "no", None] * 8,
}
LABELS = {
    "whole": [1, 2],
    "float": [1, 2],
    "half": [1.5, 2.0],
    "text": ["a", "b"],
    "zeros": ["01", "02"],
    "day": DAYS,
    "midnight": DAYS,
    "gaps": [1, 2],
    "truth": [False, True],
}
"""How domains and directly asked answers are labelled, in this order."""

NOT_IN_SPSS = {"truth"}
CONTAINERS = ["csv", "parquet", "arrow", "views", "pandas", "polars", "dict", "numpy", "spss"]


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    folder = tmp_path_factory.mktemp("held")
    frame = pd.DataFrame(COLUMNS)
    frame["midnight"] = pd.to_datetime(frame["day"]).astype("datetime64[ns]")
    table = pa.Table.from_pandas(frame, preserve_index=False)
    frame.to_csv(folder / "rows.csv", index=False)
    pa_parquet.write_table(table, folder / "rows.parquet")
    pyreadstat.write_sav(frame.drop(columns=[*NOT_IN_SPSS]), folder / "rows.sav")
    views = pa.schema([f.with_type(pa.string_view()) if f.type == pa.string() else f for f in table.schema])
    return {
        "csv": str(folder / "rows.csv"),
        "parquet": str(folder / "rows.parquet"),
        "arrow": table,
        "views": pa.Table.from_arrays(
            [pa.array(c.to_pylist(), f.type) for c, f in zip(table.columns, views, strict=True)], schema=views
        ),
        "pandas": frame,
        "polars": pl.from_arrow(table),
        "dict": {name: list(frame[name]) for name in frame},
        "numpy": {name: frame[name].to_numpy() for name in frame},
        "spss": Path(folder / "rows.sav"),
    }


WARNER = mw.design("warner", p="0.7")


def typed(labels: Any) -> list[tuple[type, Any]]:
    return [(type(label), label) for label in labels]


@together("container", CONTAINERS)
@together("column", [*LABELS])
def test_domains_and_direct_answers_have_the_same_labels(held: Mapping[str, Any], column: str, container: str) -> None:
    if container == "spss" and column in NOT_IN_SPSS:
        return
    rows, expected = held[container], typed(LABELS[column])
    result = mw.estimate(rows, {"y": WARNER}, by=column, missing="drop")
    assert typed(result.estimate.domains) == expected
    assert typed(estimate_with(rows, None, direct=column, missing="drop").categories) == expected
    assert "00:00:00" not in str(result)


@together("container", CONTAINERS)
def test_shares_are_the_same(held: Mapping[str, Any], container: str) -> None:
    rows = held[container]
    asked: dict[str, Any] = {"by": "gaps", "missing": "drop", "weights": "half"}
    mine, other = (estimate_with(data, {"y": WARNER}, **asked).to_dict() for data in (rows, held["dict"]))
    assert mine == other
    assert mw.estimate(rows, {"lost": WARNER}, missing="drop").n == 16
    pairs = mw.estimate(rows, {"y": WARNER}, by=["day", "float"], missing="drop").estimate.domains
    assert [typed(pair) for pair in pairs] == [typed((DAYS[0], 1)), typed((DAYS[1], 2))]
    with pytest.raises(errors.MissingValueError, match=r"'gaps': 6 values are missing, the first in data row 3"):
        mw.estimate(rows, {"y": WARNER}, by="gaps")


@together("container", CONTAINERS)
@together("labels", [(1, 2), ("1", "2"), (1.0, 2.0), ("1.0", "2.0")])
def test_categories_are_found_by_their_text(held: Mapping[str, Any], labels: tuple[Any, ...], container: str) -> None:
    design = mw.design("k-ary", categories=labels, gamma=3)
    for column in ("whole", "float"):
        assert mw.estimate(held[container], {column: design}).n == 24


UNORDERED: list[Any] = [{"yes", "no"}, frozenset({"yes", "no"})]


@together("given", UNORDERED, ids=["set", "frozenset"])
def test_nothing_takes_its_order_from_a_set(given: Any) -> None:
    for call in (
        lambda: mw.Categories.of(given),
        lambda: mw.design("warner", p="0.7", categories=given),
        lambda: mw.design("bits", items=given, p="0.7"),
        lambda: mw.choose(categories=given, gamma=3),
        lambda: mw.estimate({"y": given}, {"y": WARNER}),
        lambda: mw.randomize({"y": given}, {"y": WARNER}),
        lambda: WARNER.randomize(given),
        lambda: mw.tally({"y": given}, {"y": WARNER}),
        lambda: mw.estimate({"y": ["yes", "no"], "g": given}, {"y": WARNER}, by="g"),
        lambda: mw.risk({"y": given}, keys=["y"]),
        lambda: mw.risk({"yes": ["a", "b"], "no": ["a", "b"]}, keys=given),
    ):
        with pytest.raises(errors.WrongTypeError, match=r"not (a|an) (frozen)?set|names of columns"):
            call()


def test_integers_that_no_table_or_person_reads_are_refused() -> None:
    rows = {"y": ["yes", "no"], "w": [2**64, 1], "x": [2**62, 2**62]}
    with pytest.raises(errors.WrongTypeError, match="more than 64 bits"):
        mw.estimate(rows, {"y": WARNER}, sampling=mw.Sampling(weights="w"))
    del rows["w"]
    with pytest.raises(errors.ParameterError, match="too large to be a number of people"):
        mw.estimate(rows, {"y": WARNER}, sampling=mw.Sampling(weights="x"))
    for call in (
        lambda: mw.design("warner", p=HUGE),
        lambda: mw.design("k-ary", k=3, gamma=HUGE),
        lambda: mw.design("k-ary", k=HUGE, gamma=3),
        lambda: mw.estimate({"yes": 1, "no": 2}, WARNER, level=HUGE),
        lambda: estimate_with({"yes": 1, "no": 2}, WARNER, interval="bootstrap", seed=HUGE),
    ):
        with pytest.raises(errors.ParameterError, match=r"more than [\d,]+ digits"):
            call()


HUGE = 10**5000
