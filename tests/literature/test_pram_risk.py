"""Worked-out numbers about the risk of a match."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.matching import told_risk
from tests.support.releases import stage_of

import maskwell as mw
from maskwell.designs.dense import design_of
from maskwell.microdata import ReleasePlan, assess_file
from maskwell.microdata.kept_bounds import check_kept
from maskwell.microdata.matrices.mixing import GRID, BlockRates, mixing_rate
from maskwell.microdata.risk.arrivals import SparseArrivals
from maskwell.microdata.risk.identity_disclosure import cell_risks
from maskwell.microdata.risk.released_counts import realised_risks

Vectors = dict[str, list[dict[str, Any]]]
NAMES = {
    "t_low": "t_low",
    "t_high": "t_high",
    "in_range": "risk_in_range",
    "strict": "risk_strict",
    "unconditional": "p_correct",
}
"""Figures, and what the vectors call them."""


def test_match_risk(pram_vectors: Vectors) -> None:
    for case in pram_vectors["match_risk"]:
        given, expected, tol = case["input"], case["expected"], case["tol"]
        x = given["x"]
        row = [float(Fraction(p)) for p in given["P"][x]]
        risk = told_risk(given["counts"], row, x, given["level"])
        for t, value in expected["pmf_T"].items():
            assert risk.pmf.get(int(t), 0.0) == pytest.approx(value, abs=tol), case["id"]
        for t, value in expected["p_correct_given_T"].items():
            assert risk.given[int(t)] == pytest.approx(value, abs=tol), case["id"]
        for t, value in case.get("exact", {}).get("p_correct_given_T", {}).items():
            assert risk.given[int(t)] == pytest.approx(float(Fraction(value)), rel=1e-13), case["id"]
        for name, old in NAMES.items():
            assert getattr(risk, name) == pytest.approx(expected[old], abs=tol), (case["id"], name)
        assert expected["before"] == 1 / given["counts"][x]


def test_match_risk_of_a_row(pram_vectors: Vectors) -> None:
    for case in pram_vectors["match_risk_row"]:
        given, expected = case["input"], case["expected"]
        risk = told_risk(given["counts"], given["row_of_P"], given["x"], given["level"])
        assert (risk.t_low, risk.t_high) == (expected["t_low"], expected["t_high"])
        assert risk.in_range == pytest.approx(expected["risk_in_range"], rel=1e-12)
        for t, value in expected["pmf_T_at"].items():
            assert risk.pmf[int(t)] == pytest.approx(value, rel=1e-12)
        for t, value in expected["p_correct_given_T_at"].items():
            assert risk.given[int(t)] == pytest.approx(value, rel=1e-12)


def test_file_risk(pram_vectors: Vectors) -> None:
    for case in pram_vectors["file_risk"]:
        counts, P, expected, tol = case["input"]["counts"], case["input"]["P"], case["expected"], case["tol"]
        table = mw.core.CellTable.of(["x"], {(i,): n for i, n in enumerate(counts)})
        states = table.labels()
        stage = stage_of(["x"], states, P, table.counts)
        report = mw.microdata.risk.assess_risk(table, ["x"], [stage])
        assert report.after is not None
        assert report.before.uniques == expected["uniques_before"]
        assert report.before.expected_matches == expected["expected_correct_matches_before"]
        assert report.after.expected_uniques == pytest.approx(expected["expected_uniques_after"], abs=tol)
        assert report.after.expected_true_uniques == pytest.approx(expected["expected_true_uniques_kept"], abs=tol)
        assert report.after.expected_matches == pytest.approx(expected["expected_correct_matches_after"], abs=tol)


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
        strict = cell_risks(counts, expected["P"]).strict.max()
        assert strict == pytest.approx(expected["strict_risk"], abs=case["tol"]), case["id"]


def test_worked_out_matrices(mixing_vectors: list[dict[str, Any]]) -> None:
    """Rates are rounded up to the grid, which changes an entry by no more than a step of it."""
    for case in mixing_vectors:
        counts, expected = np.array(case["input"]["counts"]), case["expected"]
        rates = mixing_rate(counts, Fraction(str(case["input"]["xi"])))
        assert rates.tolist() == pytest.approx(expected["rates"], abs=case["tol"]), case["id"]
        raised = np.minimum(rates * case["input"]["factor"], 1.0)
        steps = np.ceil(raised * GRID).astype(np.int64)
        made = BlockRates(Fraction(1), np.zeros_like(steps), steps, np.ones(1)).design(counts).matrix()
        assert np.abs(made - np.array(expected["P"])).max() <= 1.5 / GRID, case["id"]


@pytest.mark.parametrize(("match", "changed"), [("0.5", 0.0028), ("0.4", 0.0053), ("0.2", 0.0122), ("0.1", 0.0264)])
def test_few_records_of_a_real_file_change(shared: Path, match: str, changed: float) -> None:
    """Four keys in 884 cells, within ten regions; no record keeps a chance above the bound, wherever one looks."""
    protect = {"variables": ["sex", "relate", "ethnic"], "within": ["region"], "method": "mixing"}
    keys = ["region", "sex", "relate", "ethnic"]
    drop = ["hhid", "clust", "weight", "income"]
    plan = ReleasePlan.of([protect], keys=keys, match=match, drop=drop)
    release = assess_file(str(shared / "data" / "simpop_ghana.csv"), plan)
    check_kept(release)
    assert release.risk is not None
    assert release.risk.after is not None
    assert len(release.risk.table) == 884
    assert release.risk.after.max_risk_any_release <= float(match) + 1e-9
    assert release.expected_change() == pytest.approx(changed, abs=2e-4)
