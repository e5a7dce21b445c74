"""What functions say to arguments of the wrong kind: the kind that is needed, and a line that can be pasted."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import maskwell as mw
from maskwell.core.arguments import MADE_BY, MATRIX
from maskwell.core.cells import CellTable
from maskwell.core.row_sums import Cells
from maskwell.errors import (
    InputError,
    MaskwellError,
    MissingValueError,
    ReportError,
    UnknownCategoryError,
    WrongTypeError,
)

COLUMNS_SUM = [[0.75, 0.5], [0.25, 0.5]]
KINDS: dict[str, Callable[[Any], Any]] = {"list": list, "NumPy": np.array, "frame": pd.DataFrame}
COIN = mw.design("warner", p="0.7")
SETS = mw.designs.Unary.oue_from_gamma(3, mw.Categories.of(["a", "b"]))
TAKE_DESIGNS: dict[str, Callable[[Any], Any]] = {
    "improve": mw.improve,
    "compare": lambda given: mw.compare(given, given),
    "certify": mw.certify,
    "posterior": mw.privacy.posterior,
    "hazard": lambda given: mw.privacy.hazard(given, [0]),
    "audit": mw.audit,
    "device": mw.device,
    "sample_size": lambda given: mw.sample_size(given, n=100),
}


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("name", list(TAKE_DESIGNS))
def test_a_matrix_is_no_design_and_the_hint_makes_one(name: str, kind: str) -> None:
    matrix = KINDS[kind](COLUMNS_SUM)
    with pytest.raises(WrongTypeError, match="must be a Design") as raised:
        TAKE_DESIGNS[name](matrix)
    assert raised.value.hint == MATRIX
    for pasted in re.findall(r"mw\.designs\.Dense\.\w+\(matrix\)", MATRIX):
        given = matrix if pasted.startswith("mw.designs.Dense.of") else KINDS[kind](np.transpose(COLUMNS_SUM).tolist())
        TAKE_DESIGNS[name](eval(pasted, {"mw": mw, "matrix": given}))  # our own hint, as a reader pastes it


def test_hints_name_what_exists() -> None:
    named = [name for hint in MADE_BY.values() for name in re.findall(r"mw\.([\w.]+)", hint)]
    for name in named:
        found: Any = mw
        for part in name.split("."):
            found = getattr(found, part)
    assert named
    assert all(len(hint) <= 94 for hint in MADE_BY.values())


MISSING: dict[str, Any] = {
    "None": ["yes", None],
    "NaN": ["yes", float("nan")],
    "NA": ["yes", pd.NA],
    "NaT": ["yes", pd.NaT],
    "masked": np.ma.masked_array(["yes", "no"], [False, True]),
    "pandas": pd.Series(["yes", None], dtype="string"),
    "categorical": pd.Series(["yes", None], dtype="category"),
    "Arrow": pa.array(["yes", None]),
}


@pytest.mark.parametrize("name", list(MISSING))
def test_missing_reports_are_refused_with_a_hint_that_can_be_followed(name: str) -> None:
    plan = mw.Sampling(weights=[1.0, 2.0])
    for count in (COIN.tally, SETS.tally, lambda column: mw.estimation.estimate_survey(column, COIN, plan)):
        with pytest.raises(MissingValueError) as raised:
            count(MISSING[name])
        assert "missing=" not in raised.value.hint


def test_a_label_is_found_by_its_value_or_its_text_and_a_number_is_no_code() -> None:
    for labels, given in (([1, 2], 2), (["1", "2"], "2"), (["1", "2"], 2)):
        assert mw.Categories.of(labels).find(given) == 1
    for labels, given in (([1, 2], 0), (["1", "2"], 0), (["a", "b"], True), (["a", "b"], -1), ([5, "b"], 1)):
        with pytest.raises(UnknownCategoryError):
            mw.Categories.of(labels).find(given)


@pytest.mark.parametrize("random", [3, np.random.default_rng(1), mw.SeededRandom])
def test_a_seed_is_no_random_source(random: Any) -> None:
    with pytest.raises(WrongTypeError, match="random must be") as raised:
        COIN.randomize(["yes"], random=random)
    assert "mw.SeededRandom(1)" in raised.value.hint


WRONG: dict[str, Callable[[], Any]] = {
    "masked codes": lambda: COIN.sample(np.ma.masked_array([0, 1], [False, True])),
    "masked weights": lambda: mw.Sampling(weights=np.ma.masked_array([1.0, 2.0], [False, True])),
    "a set of strata": lambda: mw.Sampling(weights=[1.0, 2.0], strata={"a", "b"}),
    "half a record": lambda: CellTable.of(["sex"], {("f",): 1.5}),  # type: ignore[dict-item]
    "a negative count": lambda: CellTable.of(["sex"], {("f",): -1}),
    "half a report": lambda: Cells.of([0, 1], count=[1.5, 1]),
    "a path that is a number": lambda: mw.load_design(0),  # type: ignore[arg-type]
    "a path with NUL": lambda: mw.load_design("a\0b"),
    "an endless list": lambda: mw.designs.Dense.of(range(10**12)),
    "a seed that is a list": lambda: mw.SeededRandom([1]),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", list(WRONG))
def test_what_was_taken_for_something_else_is_refused(name: str) -> None:
    with pytest.raises(MaskwellError) as raised:
        WRONG[name]()
    assert isinstance(raised.value, ReportError | InputError | WrongTypeError)
    assert raised.value.hint
