"""Worked-out numbers about estimates from released files, what these tell, and the risk of a match."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.matching import told_risk
from tests.support.released import known_matrix, moved
from tests.support.releases import stage_of

import maskwell as mw
from maskwell import ReleasePlan
from maskwell.core.cells import CellTable
from maskwell.designs.dense import design_of
from maskwell.errors import MaskwellError, NotIdentifiableError, OrientationError
from maskwell.estimation import Sample
from maskwell.estimation.direct_estimate import Released, estimate_unknown
from maskwell.microdata.assessment import assess_file
from maskwell.microdata.kept_bounds import check_kept
from maskwell.microdata.matrices import is_invariant
from maskwell.microdata.matrices.mixing import GRID, BlockRates, mixing_rate
from maskwell.microdata.risk.arrivals import SparseArrivals
from maskwell.microdata.risk.file_risk import assess_risk
from maskwell.microdata.risk.identity_disclosure import cell_risks
from maskwell.microdata.risk.released_counts import realised_risks
from maskwell.microdata.utility.utility_measures import cramers_v, table_distance

Cases = dict[str, list[dict[str, Any]]]


def close(value: Any, expected: Any, tol: float) -> None:
    np.testing.assert_allclose(np.asarray(value, dtype=float), np.asarray(expected, dtype=float), rtol=tol, atol=tol)


def case(cases: Cases, kind: str, number: int) -> list[dict[str, Any]]:
    assert len(cases[kind]) == number
    return cases[kind]


def test_conditional_and_weighted_covariance(pram_vectors: Cases) -> None:
    for v in case(pram_vectors, "conditional_covariance", 3):
        P, counts, out = v["input"]["P"], v["input"]["counts"], v["expected"]
        design, p = mw.designs.Dense.of(P), np.array(counts) / sum(counts)
        C = moved(design.matrix(), counts) / sum(counts) ** 2
        close(C, out["cov"], v["tol"])
        close(design.apply(p), out["mean"], v["tol"])
        assert is_invariant(design, counts) is out["invariant"]
        if out["invariant"]:
            close(1 + sum(counts) * np.diag(C) / (p * (1 - p)), out["vif_conditional"], v["tol"])
    for v in case(pram_vectors, "weighted_covariance", 1):
        given, out = v["input"], v["expected"]
        codes, w = np.array(given["record_categories"]), np.array(given["weights"])
        weights, squares = np.bincount(codes, w), np.bincount(codes, w**2)
        design = mw.designs.Dense.of(given["P"])
        close(moved(design.matrix(), squares) / weights.sum() ** 2, out["cov"], v["tol"])
        close(design.apply(weights / weights.sum()), out["mean"], v["tol"])
        close(design.forward(np.array(given["counts"], dtype=float)), out["expected_unweighted_counts"], v["tol"])
        assert is_invariant(design, weights) is out["weighted_invariant"]


def test_estimates_with_and_without_the_matrix(pram_vectors: Cases) -> None:
    for v in case(pram_vectors, "invariant_variance_estimate", 1):
        released, P = v["input"]["released_counts"], mw.designs.Dense.of(v["input"]["P"]).matrix()
        found, file = (known_matrix(released, P, target) for target in ("population", "file"))
        close(found.covariance, v["expected"]["V"], v["tol"])
        close(found.randomization_variance, np.diag(v["expected"]["W"]), v["tol"])
        close(file.covariance, v["expected"]["W"], v["tol"])
    for v in case(pram_vectors, "moment_estimate", 2):
        sample = Sample.of(v["input"]["released_counts"], mw.designs.Dense.of(v["input"]["P"]))
        found = mw.estimation.estimate_by_moments(sample.counts, sample.design)
        close(found.pi_hat, v["expected"]["pi_hat"], v["tol"])
        close(found.covariance, v["expected"]["cov_hat"], v["tol"])
        assert any("outside [0, 1]" in flag for flag in found.flags) is v["expected"]["negative"]
    for v in case(pram_vectors, "invariant_bounds", 2):
        counts, a, out = v["input"]["released_counts"], v["input"]["a"], v["expected"]
        whole = estimate_unknown(Released.of(counts))
        close(whole.contrast(a), (out["estimate"], out["upper_conservative"] ** 0.5), v["tol"])
        half = whole.critical_value(0.975) * whole.contrast(a).standard_error
        close((out["estimate"] - half, out["estimate"] + half), out["ci95"], v["tol"])
        close(whole.effective, [out["n_effective_floor"]] * 3, v["tol"])


def test_posteriors_guesses_distances_and_association(pram_vectors: Cases) -> None:
    for v in case(pram_vectors, "guess_and_posterior", 3):
        design, pi, out = mw.designs.Dense.of(v["input"]["P"]), np.array(v["input"]["pi"], dtype=float), v["expected"]
        pi = pi / pi.sum()
        close(design.largest_in_rows(pi)[0].sum(), out["guess"], v["tol"])
        close(pi.max(), out["floor"], v["tol"])
        close(mw.privacy.posterior(design, pi), out["posterior_rows"], v["tol"])
    for v in case(pram_vectors, "utility", 1):
        before, after = v["input"]["original_table"], v["input"]["released_table"]
        found = table_distance(before, after)
        close(found.total_variation, v["expected"]["total_variation"], v["tol"])
        close(found.hellinger, v["expected"]["hellinger"], v["tol"])
        close(cramers_v(before), v["expected"]["cramers_v_original"], v["tol"])
        close(cramers_v(after), v["expected"]["cramers_v_released"], v["tol"])


def test_bad_or_singular_matrices_and_bad_counts_are_refused(pram_vectors: Cases) -> None:
    seen = 0
    for v in pram_vectors["bad_input"]:
        given = v["input"]
        if "P" not in given or "counts" not in given or "publish_P" in given:
            continue
        P = [[float(x) for x in row] for row in given["P"]]
        if given.get("require_invariant"):
            assert not is_invariant(mw.designs.Dense.of(P), given["counts"])
        else:
            wrong_way = "convention" in v["expected"]["must"]
            with pytest.raises(OrientationError if wrong_way else MaskwellError):
                Sample.of(given["counts"], mw.designs.Dense.of(P))
        seen += 1
    assert seen == 6
    (v,) = [v for v in pram_vectors["bad_input"] if "released_counts" in v["input"]]
    sample = Sample.of(v["input"]["released_counts"], mw.designs.Dense.of(v["input"]["P"]))
    with pytest.raises(NotIdentifiableError):
        mw.estimation.estimate_by_moments(sample.counts, sample.design)


NAMES = {"t_low": "t_low", "t_high": "t_high", "in_range": "risk_in_range", "strict": "risk_strict"}
NAMES["unconditional"] = "p_correct"
"""Figures, and what the vectors call them."""


def test_match_risk_and_that_of_a_row(pram_vectors: Cases) -> None:
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
    for case in pram_vectors["match_risk_row"]:
        given, expected = case["input"], case["expected"]
        risk = told_risk(given["counts"], given["row_of_P"], given["x"], given["level"])
        assert (risk.t_low, risk.t_high) == (expected["t_low"], expected["t_high"])
        assert risk.in_range == pytest.approx(expected["risk_in_range"], rel=1e-12)
        for t, value in expected["pmf_T_at"].items():
            assert risk.pmf[int(t)] == pytest.approx(value, rel=1e-12)
        for t, value in expected["p_correct_given_T_at"].items():
            assert risk.given[int(t)] == pytest.approx(value, rel=1e-12)


def test_file_risk(pram_vectors: Cases) -> None:
    for case in pram_vectors["file_risk"]:
        counts, P, expected, tol = case["input"]["counts"], case["input"]["P"], case["expected"], case["tol"]
        table = CellTable.of(["x"], {(i,): n for i, n in enumerate(counts)})
        states = table.labels()
        stage = stage_of(["x"], states, P, table.counts)
        report = assess_risk(table, ["x"], [stage])
        assert report.before.uniques == expected["uniques_before"]
        assert report.before.expected_matches == expected["expected_correct_matches_before"]
        assert report.after.expected_uniques == pytest.approx(expected["expected_uniques_after"], abs=tol)
        assert report.after.expected_true_uniques == pytest.approx(expected["expected_true_uniques_kept"], abs=tol)
        assert report.after.expected_matches == pytest.approx(expected["expected_correct_matches_after"], abs=tol)


def test_realised_risk_and_worked_out_matrices(mixing_vectors: list[dict[str, Any]]) -> None:
    """The vectors look at a person's own value; whoever looks where it is easiest finds no less."""
    for case in mixing_vectors:
        counts, expected = np.array(case["input"]["counts"]), case["expected"]
        listed = SparseArrivals.from_design(counts, design_of(expected["P"]))
        found = realised_risks(replace(listed, seen=np.array(case["input"]["released_counts"])))
        own = np.array([0.0 if value is None else value for value in expected["realised_risk"]])
        assert (found >= own - case["tol"]).all(), case["id"]
        assert found.max() == pytest.approx(own.max(), abs=case["tol"]), case["id"]
        strict = cell_risks(counts, expected["P"]).strict.max()
        assert strict == pytest.approx(expected["strict_risk"], abs=case["tol"]), case["id"]
    # Rates are rounded up to the grid, which changes an entry by no more than a step of it.
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
    assert len(release.risk.table) == 884 and release.risk.after.max_risk_any_release <= float(match) + 1e-9
    assert release.expected_change() == pytest.approx(changed, abs=2e-4)
