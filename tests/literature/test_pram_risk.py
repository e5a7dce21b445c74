"""Worked-out numbers about the risk of a match."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import maskwell as mw
from maskwell.core import Categories
from maskwell.designs.dense import design_of
from maskwell.microdata.risk.arrivals import SparseArrivals
from maskwell.microdata.risk.match_chances import match_risk_row
from maskwell.microdata.risk.released_counts import realised_risks
from maskwell.microdata.stages.stage import Stage

Vectors = dict[str, list[dict[str, Any]]]


def test_match_risk(pram_vectors: Vectors) -> None:
    for case in pram_vectors["match_risk"]:
        given, expected, tol = case["input"], case["expected"], case["tol"]
        risk = mw.microdata.risk.match_risk(given["counts"], given["P"], given["x"], level=given["level"])
        for t, value in expected["pmf_T"].items():
            assert risk.at(int(t))[0] == pytest.approx(value, abs=tol), case["id"]
        for t, value in expected["p_correct_given_T"].items():
            assert risk.at(int(t))[1] == pytest.approx(value, abs=tol), case["id"]
        for t, value in case.get("exact", {}).get("p_correct_given_T", {}).items():
            assert risk.at(int(t))[1] == pytest.approx(float(Fraction(value)), rel=1e-14), case["id"]
        for name in ("t_low", "t_high", "risk_in_range", "risk_strict", "p_correct", "before"):
            assert getattr(risk, name) == pytest.approx(expected[name], abs=tol), (case["id"], name)


def test_match_risk_of_a_row(pram_vectors: Vectors) -> None:
    for case in pram_vectors["match_risk_row"]:
        given, expected = case["input"], case["expected"]
        risk = match_risk_row(given["counts"], given["row_of_P"], given["x"], level=given["level"])
        assert (risk.t_low, risk.t_high) == (expected["t_low"], expected["t_high"])
        assert risk.risk_in_range == pytest.approx(expected["risk_in_range"], rel=1e-12)
        for t, value in expected["pmf_T_at"].items():
            assert risk.at(int(t))[0] == pytest.approx(value, rel=1e-12)
        for t, value in expected["p_correct_given_T_at"].items():
            assert risk.at(int(t))[1] == pytest.approx(value, rel=1e-12)


def test_file_risk(pram_vectors: Vectors) -> None:
    for case in pram_vectors["file_risk"]:
        counts, P, expected, tol = case["input"]["counts"], case["input"]["P"], case["expected"], case["tol"]
        table = mw.core.CellTable.of(["x"], {(i,): n for i, n in enumerate(counts)})
        states = table.labels()
        stage = Stage(
            variables=("x",),
            states=states,
            outputs=states,
            design=mw.designs.Dense.of(P, Categories.numbered(len(counts))),
            counts=table.counts,
            cells=table.counts * 0,
            method="method1",
            invariance="counts",
            derived=True,
        )
        report = mw.microdata.risk.assess_risk(table, ["x"], [stage])
        assert report.after is not None
        assert report.before.uniques == expected["uniques_before"]
        assert report.before.expected_matches == expected["expected_correct_matches_before"]
        assert report.after.expected_uniques == pytest.approx(expected["expected_uniques_after"], abs=tol)
        assert report.after.expected_true_uniques == pytest.approx(expected["expected_true_uniques_kept"], abs=tol)
        assert report.after.expected_matches == pytest.approx(expected["expected_correct_matches_after"], abs=tol)


def test_an_empty_target_is_refused(pram_vectors: Vectors) -> None:
    cases = [case["input"]["match_risk"] for case in pram_vectors["bad_input"] if "match_risk" in case["input"]]
    assert cases
    for given in cases:
        with pytest.raises(mw.MaskwellError, match="no record can be the target"):
            mw.microdata.risk.match_risk(given["counts"], [[0.5, 0.5], [0.5, 0.5]], given["x"])


def test_realised_risk(mixing_vectors: list[dict[str, Any]]) -> None:
    """The vectors look at a person's own value; whoever looks where it is easiest finds no less."""
    for case in mixing_vectors:
        counts, expected = np.array(case["input"]["counts"]), case["expected"]
        listed = SparseArrivals.from_design(counts, design_of(expected["P"]))
        found = realised_risks(replace(listed, seen=np.array(case["input"]["released_counts"])))
        assert found is not None
        own = np.array([0.0 if value is None else value for value in expected["realised_risk"]])
        assert (found >= own - case["tol"]).all(), case["id"]
        assert found.max() == pytest.approx(own.max(), abs=case["tol"]), case["id"]
        strict = mw.microdata.risk.cell_risks(counts, expected["P"]).strict.max()
        assert strict == pytest.approx(expected["strict_risk"], abs=case["tol"]), case["id"]
