"""Arguments that once ended deep inside: each is refused in a sentence that names it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maskwell as mw
from maskwell.engines.cell_counts import count_tables
from maskwell.errors import MaskwellError
from maskwell.microdata.matrices import Bounds, lower_until, method1, optimal_matrix
from maskwell.microdata.matrices.match_caps import method1_for_match
from maskwell.microdata.matrices.matrix_algebra import blockwise
from maskwell.microdata.matrices.matrix_checks import recover_counts
from maskwell.reports.pictures.revelation import plot_revealed

YES_NO = mw.Categories.of(["yes", "no"])
COIN = mw.designs.Uniform.from_gamma(3, YES_NO)
WARNER = mw.designs.Dense.of([["0.7", "0.3"], ["0.3", "0.7"]])
HUGE = 10**400
MASKED = np.ma.masked_array([3, 2], [True, False])


def anchored(**changed: Any) -> Any:
    said = ["yes", "no"] * 10
    fit, anchor = mw.estimation.regression.fit_with_anchor, mw.estimation.regression.Anchor(said, COIN)
    return fit(np.arange(20.0), said, COIN, anchor, **changed)


def surveyed(denominator: float) -> Any:
    return mw.estimation.estimate_survey([0, 1], WARNER, mw.Sampling(weights=[60, 90]), denominator=denominator)


def counted(tables: Any, **options: Any) -> Any:
    Path("people.csv").write_text("sex,region\nf,north\nm,south\n", encoding="utf-8")
    return count_tables("people.csv", tables, **options)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: anchored(attention_predictors=np.zeros(3)), "attention_predictors must be True or False"),
        (lambda: Bounds.of(odds=3).own([1]), "place must be a whole number"),
        (lambda: blockwise([0, 0], [3, 2], lambda _: method1([1, 2, 3], "1/2")), "a matrix of 3 rows"),
        (lambda: method1_for_match([1, 2, 4], "0.4", risk=lambda _: "x"), "must be numbers"),
        (lambda: method1_for_match([1, 2, 4], "0.4", risk=lambda _: [0.5]), "has shape"),
        (lambda: lower_until([1, 2, 4], "0.4", risk=lambda _: None), "must be"),
        (lambda: surveyed(1e308), "denominator = 1e\\+308 is out of range"),
        (lambda: surveyed(HUGE), "denominator"),
        (lambda: surveyed(-1.0), "denominator = -1 is out of range"),
        (lambda: counted([]), "no tables"),
        (lambda: counted([[]]), "a table has no columns"),
        (lambda: counted([["sex"]], weights="\ud800"), "has no column"),
        (lambda: mw.microdata.load_receipt("x" * 10**5), "cannot read"),
        (lambda: method1(MASKED, "1/2"), "masked"),
        (lambda: method1([HUGE, 1], "1/2"), "the counts are too large"),
        (lambda: method1(["1e-200", 1], "1/2"), "of too different sizes"),
        (lambda: method1([3, 2], "1/2", blocks=[[1], [2]]), "an element of blocks cannot be a label"),
        (lambda: recover_counts(method1([3, 2], "1/2"), [1, 2, 3]), "3 counts for 2 categories"),
        (lambda: mw.sample_size([mw.planning.Stratum("a", 1, COIN, [1, 0], HUGE)], margin=0.1), "a cost is too large"),
        (lambda: plot_revealed(-1), "parity must be 1 or more, not -1"),
        (lambda: mw.Sampling(population=range(10**12)), "too many elements"),
        (lambda: mw.ReleasePlan.of(protect=range(10**12)), "must be a list"),
        (lambda: YES_NO.with_missing([1]), "label 3 is a list"),
    ],
)
def test_it_is_refused(call: Callable[[], Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MaskwellError, match=said) as error:
        call()
    assert "\n" not in error.value.message


def test_a_generator_of_counts_is_read_once_and_a_wide_band_is_none() -> None:
    made = blockwise([0, 0, 1], (n for n in [30, 20, 50]), lambda v: method1(v, "1/2"))
    assert made.diagonal().round(3).tolist() == [0.667, 0.5, 1.0]
    wide, any_band = (optimal_matrix([5, 3, 2], Bounds.of(posterior="0.8"), band=band) for band in (HUGE, None))
    assert wide.design.matrix().tolist() == any_band.design.matrix().tolist()
