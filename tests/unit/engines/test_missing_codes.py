"""Codes that stand for a missing value, in every kind of table: as if the values had been left empty."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.surveys import estimate_with, regress_with
from tests.support.together import together

import maskwell as mw
from maskwell.errors import MaskwellError, MissingValueError, ParameterError

pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))

DESIGN = mw.design("k-ary", categories=["never", "once", "often"], gamma=9)
CODED = {"y": ["never", "once", "NA", "often", "99", "never"] * 10, "age": [20, 30, 99, 40, 50, 98] * 10}
EMPTY = {"y": ["never", "once", None, "often", None, "never"] * 10, "age": [20, 30, None, 40, 50, None] * 10}


def tables(folder: Path) -> list[Any]:
    frame = pd.DataFrame(CODED)
    frame.to_csv(folder / "coded.csv", index=False)
    frame.to_parquet(folder / "coded.parquet")
    paths = [str(folder / "coded.csv"), str(folder / "coded.parquet")]
    return [CODED, frame, frame.astype({"y": "category"}), pl.DataFrame(CODED), pa.table(CODED), *paths]


def test_codes_count_as_empty_wherever_they_stand(tmp_path: Path) -> None:
    shares = mw.estimate(EMPTY, {"y": DESIGN}, missing="drop").pi_hat
    fitted = mw.regress(EMPTY, "y ~ age", {"y": DESIGN}, missing="drop")
    for table in tables(tmp_path):
        for codes in (["NA", 99], {"y": ["NA", "99"]}, "y=NA,99"):
            found = estimate_with(table, {"y": DESIGN}, missing="drop", missing_codes=codes)
            assert found.pi_hat == pytest.approx(shares) and (found.rows, found.dropped) == (60, 20)
        fit = regress_with(table, "y ~ age", {"y": DESIGN}, missing="drop", missing_codes=["NA", "98,99"])
        np.testing.assert_allclose(fit.estimates, fitted.estimates, atol=1e-8)
        counted = mw.tally(table, {"y": DESIGN}, missing="drop", missing_codes="NA,99")["y"]
        assert counted.values.tolist() == [20, 10, 10]


def test_randomizing_leaves_other_columns_and_goes_file_by_file(tmp_path: Path) -> None:
    """A code of the answers is no code of the ages, which are only copied."""
    how: dict[str, Any] = {"missing": "drop", "missing_codes": ["NA", 99]}
    kept = [age for age, y in zip(CODED["age"], EMPTY["y"], strict=True) if y is not None]
    for table in tables(tmp_path)[:5]:
        out = mw.randomize(table, {"y": DESIGN}, **how)
        assert np.asarray(out["age"]).tolist() == kept and type(out) is type(table)
    done = mw.randomize(str(tmp_path / "coded.csv"), {"y": DESIGN}, str(tmp_path / "out.csv"), **how)
    assert (done.rows, done.dropped) == (40, 20) and pd.read_csv(tmp_path / "out.csv")["age"].tolist() == kept
    for name in ("first.csv", "second.csv"):
        (tmp_path / "in").mkdir(exist_ok=True)
        pd.DataFrame(CODED).to_csv(tmp_path / "in" / name, index=False)
    how: dict[str, Any] = {"missing": "drop", "missing_codes": ["NA", 99]}
    done = mw.randomize(str(tmp_path / "in"), {"y": DESIGN}, str(tmp_path / "out"), **how)
    assert (done.rows, done.dropped) == (80, 40)
    for name in ("first.csv", "second.csv"):
        assert len(pd.read_csv(tmp_path / "out" / name)) == 40


def test_codes_that_are_categories_are_refused_and_full_dictionaries_are_read() -> None:
    """Else reports would be left out by what they say, and the estimates be wrong."""
    numbers = mw.design("k-ary", categories=[1, 2, 99], gamma=9)
    table = {"y": [1, 2, 99] * 20, "age": [20, 30, 99] * 20}
    asked: dict[str, Any] = {"missing": "drop", "missing_codes": ["NA", 99]}
    for verb in (estimate_with, mw.tally, mw.randomize):
        with pytest.raises(ParameterError, match="'99' is a category of 'y'"):
            verb(table, {"y": numbers}, **asked)
    with pytest.raises(ParameterError, match="'99' is a category of 'y'"):
        regress_with(table, "y ~ age", {"y": numbers}, **asked)
    fit = regress_with(table, "y ~ age", {"y": numbers}, missing="drop", missing_codes="age=99")
    assert fit.dropped == 20
    # A dictionary of 128 labels leaves no number of eight bits for a row without a value.
    labels = ["NA", *map(str, range(127))]
    column = pa.DictionaryArray.from_arrays(pa.array([0, 127, None, 1], pa.int8()), pa.array(labels))
    design = mw.design("k-ary", categories=labels[1:], gamma=9)
    counts = mw.tally(pa.table({"y": column}), {"y": design}, missing="drop", missing_codes="NA")["y"]
    assert counts.values.sum() == 2


@together(
    ("codes", "words"),
    [
        ({"z": ["1"]}, "no column 'z'"),
        (True, "missing_codes: a code must be a string or a number, not True"),
        ([None], "missing_codes: a code must be a string or a number, not None"),
        (object(), "missing_codes must be a list"),
    ],
)
def test_codes_that_are_none(codes: Any, words: str) -> None:
    with pytest.raises(MaskwellError, match=words):
        estimate_with(CODED, {"y": DESIGN}, missing_codes=codes)


def test_codes_need_a_word_what_to_do_and_columns_that_are_randomized() -> None:
    with pytest.raises(MissingValueError, match="category"):
        estimate_with(CODED, {"y": DESIGN}, missing_codes=["NA", 99])
    with pytest.raises(MissingValueError) as caught:
        regress_with(CODED, "y ~ 1", {"y": DESIGN}, missing_codes=["NA", 99])
    assert "category" not in str(caught.value) and "drop" in str(caught.value)  # a regression has none for them
    with pytest.raises(MaskwellError, match="'age', which is not randomized"):
        mw.randomize(CODED, {"y": DESIGN}, missing_codes={"age": [99]})
