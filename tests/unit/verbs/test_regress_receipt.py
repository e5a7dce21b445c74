"""Regressions of released files: what is kept is fitted as it stands, a known matrix is a design."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.support.releases import COLUMNS, ROWS, plan_of, release_of, stage_within
from tests.support.surveys import regress_with

import maskwell as mw
from maskwell.core import Categories
from maskwell.designs import Uniform
from maskwell.errors import ParameterError
from maskwell.microdata import Receipt
from maskwell.microdata.folder.receipt import receipt_from_dict
from maskwell.microdata.folder.receipt_contents import public_receipt
from maskwell.microdata.stages.stage import Stage

TABLE = {name: [row[place] for row in ROWS] for place, name in enumerate(COLUMNS)} | {"w": [1, 2] * 60}
STILL = Uniform.of(1, Categories.of(["f", "m"]))


def receipt_of(*stages: Stage) -> Receipt:
    return receipt_from_dict(public_receipt(release_of(stages, plan_of(stages))))


def test_what_is_kept_is_fitted_as_it_stands() -> None:
    """Variances are those of an open file times 2 - 1/n, and exactly those where values were swapped."""
    plain = mw.regress(TABLE, "sex ~ region", {"sex": STILL})
    stage = stage_within(ROWS, COLUMNS, ["sex"], ["region"])
    for made, factor in ((stage, 2 - 1 / 120), (replace(stage, method="swap"), 1)):
        fit = regress_with(TABLE, "sex ~ region", receipt=receipt_of(made))
        assert fit.estimates == pytest.approx(plain.estimates, abs=1e-6)
        assert fit.covariance == pytest.approx(factor * plain.covariance, rel=1e-4)
        assert bool(fit.incomparable) == (factor > 1)
    untouched = regress_with(
        TABLE, "sex ~ region", receipt=receipt_of(stage_within(ROWS, COLUMNS, ["roof"])), weights="w"
    )
    weighted = mw.regress(TABLE, "sex ~ region", {"sex": STILL}, sampling=mw.Sampling(weights="w"))
    assert untouched.covariance == pytest.approx(weighted.covariance)


def test_a_part_of_a_released_file_is_said() -> None:
    receipt = receipt_of(stage_within(ROWS, COLUMNS, ["sex"], ["region"]))
    part = {name: values[::2] for name, values in TABLE.items()}
    for table, said in ((TABLE, False), (part, True)):
        flags = regress_with(table, "sex ~ region", receipt=receipt).flags
        assert any("is of 120 records, the file has 60" in flag for flag in flags) == said


def test_a_known_matrix_is_a_design() -> None:
    from tests.support.releases import fixed_stage

    design = Uniform.from_gamma(5, Categories.of(["f", "m"]))
    fit = regress_with(TABLE, "sex ~ region", receipt=receipt_of(fixed_stage(ROWS, COLUMNS, "sex", design)))
    expected = mw.regress(TABLE, "sex ~ region", {"sex": design})
    assert np.array_equal(fit.estimates, expected.estimates) and np.array_equal(fit.covariance, expected.covariance)


def test_what_is_refused() -> None:
    apart, within = stage_within(ROWS, COLUMNS, ["sex"]), stage_within(ROWS, COLUMNS, ["sex"], ["region"])
    with pytest.raises(ParameterError, match="matrix of sex is withheld"):
        regress_with(TABLE, "sex ~ region", receipt=receipt_of(apart))
    with pytest.raises(ParameterError, match="weights with columns whose matrix is withheld"):
        regress_with(TABLE, "sex ~ region", receipt=receipt_of(within), weights="w")
    with pytest.raises(ParameterError, match="weights with columns whose matrix is withheld"):
        regress_with(TABLE, "sex ~ region", receipt=receipt_of(within), weights=np.ones(120))
    roof = stage_within(ROWS, COLUMNS, ["roof"])
    with pytest.raises(ParameterError, match="matrix of roof is withheld"):
        regress_with(TABLE, "sex ~ region", receipt=receipt_of(roof), latent="~ roof")
    once = receipt_of(within)
    each = tuple(replace(group, each="unit") for group in once.groups)
    with pytest.raises(ParameterError, match="one draw for all records of a unit"):
        regress_with(TABLE, "sex ~ region", receipt=replace(once, groups=each))
    with pytest.raises(ParameterError, match="cannot be combined with designs"):
        mw.Survey(TABLE, {"sex": STILL}, receipt=receipt_of(within))
    with pytest.raises(ParameterError, match="neither design nor receipt"):
        mw.regress(TABLE, "sex ~ region")
