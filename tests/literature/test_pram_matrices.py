"""Worked-out matrices of releases, through the public interface."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.support.quiet import quiet

import maskwell as mw
from maskwell import errors
from maskwell.microdata.matrices import Bounds, lower_until, optimal_matrix
from maskwell.microdata.matrices import matrix_checks as checks
from maskwell.microdata.matrices.closed_forms import binary_theta, inverse_frequency, theta_for_xi
from maskwell.microdata.matrices.match_caps import method1_for_match
from maskwell.microdata.matrices.matrix_algebra import blockwise, conditional_matrix, two_stage
from maskwell.microdata.matrices.matrix_patterns import thetas_for_blocks, unprotected_states
from maskwell.microdata.matrices.optimal_flows import OptimalMatrix
from maskwell.microdata.matrices.swap_flows import IntegerFlows

Cases = dict[str, list[dict[str, Any]]]


def close(found: Any, case: dict[str, Any], name: str) -> None:
    expected = np.array(case["expected"][name], dtype=float)
    np.testing.assert_allclose(found, expected, atol=case["tol"], rtol=case["tol"], err_msg=f"{case['id']} {name}")


def exact(design: mw.designs.Sparse, case: dict[str, Any], name: str = "P") -> None:
    assert design.exact_matrix() == [[Fraction(p) for p in row] for row in case["exact"][name]], case["id"]


def test_methods_1_and_2_and_sequential_uniformity(pram_vectors: Cases) -> None:
    assert len(pram_vectors["method1"]) == 3
    for case in pram_vectors["method1"]:
        counts = case["input"]["counts"]
        theta = Fraction(case["input"]["theta"]).limit_denominator(1000)
        design = mw.microdata.matrices.method1(counts, theta)
        exact(design, case)
        close(mw.microdata.matrices.expected_changed(design, counts), case, "expected_changed")
        close(design.guess_probability(np.array(counts) / sum(counts)), case, "guess")
        assert mw.microdata.matrices.is_invariant(design, counts)
    assert len(pram_vectors["method2"]) == 2
    for case in pram_vectors["method2"]:
        design = mw.microdata.matrices.method2(case["input"]["pi"], case["input"]["R"])
        exact(design, case)
        assert design.rank() <= case["expected"]["rank_at_most"]
    assert len(pram_vectors["sequential_uniform"]) == 3
    for case in pram_vectors["sequential_uniform"]:
        counts = case["input"]["counts"]
        design = mw.microdata.matrices.sequential_uniform(counts)
        exact(design, case)
        close(checks.flows(design, counts).toarray(), case, "flows")
        close(design.guess_probability(np.array(counts) / sum(counts)), case, "guess")
        close(1 - mw.microdata.matrices.expected_changed(design, counts), case, "agreement")
        assert (design.rank() < len(counts)) == case["expected"]["singular"]
        assert bool(design.provenance["notes"]) == case["expected"]["singular"]


def test_what_matrices_keep_and_tell(pram_vectors: Cases) -> None:
    (case,) = pram_vectors["conditional_matrix"]
    parts = case["input"]["P_given_y"]
    close(conditional_matrix(parts, order="x").matrix(), case, "x_slowest")
    close(conditional_matrix(parts, order="y").matrix(), case, "y_slowest")
    (case,) = pram_vectors["block_preservation"]
    counts, blocks = np.array(case["input"]["counts"]), np.array(case["input"]["blocks"])
    design = mw.designs.Sparse.of_matrix(case["input"]["P"])
    assert mw.microdata.matrices.is_invariant(design, counts) == case["expected"]["invariant"]
    within = blocks[design.rows] == np.repeat(blocks, np.diff(design.starts))
    assert within.all()  # nothing leaves a block, so that its total is the same in every release
    assert {b: int(counts[blocks == b].sum()) for b in "ab"} == case["expected"]["block_totals"]
    F = checks.flows(design, counts).toarray()
    P = design.matrix()
    close((np.diag(F.sum(axis=1)) - F @ P.T) / counts.sum() ** 2, case, "cov")
    (case,) = pram_vectors["recover_counts"]
    found = checks.recover_counts(mw.designs.Sparse.of_matrix(case["input"]["P"]), case["input"]["n"])
    np.testing.assert_allclose(found, case["expected"]["counts"], atol=1e-9)


def test_two_stages_and_margins_that_stay_exactly(pram_vectors: Cases) -> None:
    (case,) = pram_vectors["two_stage"]
    table, given = np.array(case["input"]["table_x_by_y"]), case["input"]
    found = two_stage(
        table,
        lambda v: mw.microdata.matrices.method1(v, given["theta_stage1_x_within_y"]),
        lambda v: mw.microdata.matrices.method1(v, given["theta_stage2_y_within_x"]),
    )
    close(found.first.matrix(), case, "P_stage1")
    exact(found.design, case, "P_total")
    assert mw.microdata.matrices.is_invariant(found.design, table.ravel())
    (case,) = pram_vectors["margin_exact_swap"]
    found = IntegerFlows.of(case["input"]["integer_flows"])
    assert found.counts.tolist() == case["expected"]["counts"]
    close(found.design().matrix(), case, "P")


def test_inverse_frequency_its_theta_and_edit_rules(pram_vectors: Cases) -> None:
    (case,) = pram_vectors["inverse_frequency"]
    counts, theta = case["input"]["counts"], case["input"]["theta"]
    close(inverse_frequency(counts, theta).matrix(), case, "P")
    found = thetas_for_blocks(counts, [0] * len(counts), case["expected"]["max_risk_strict"])
    assert float(found.theta[0]) == pytest.approx(theta, abs=2e-6)  # the risk that this theta has asks for this theta
    assert len(pram_vectors["inverse_frequency_theta"]) == 2
    for case in pram_vectors["inverse_frequency_theta"]:
        close(theta_for_xi(case["input"]["xi"]), case, "theta")
    (case,) = pram_vectors["edit_constraint"]
    table, theta = np.array(case["input"]["table_x_by_y"]), case["input"]["theta"]
    forbidden = np.zeros(table.shape, dtype=bool)
    forbidden[tuple(np.array(case["input"]["forbidden_cells"]).T)] = True
    within = blockwise(np.tile([0, 1], 2), table.ravel(), lambda v: mw.microdata.matrices.method1(v, theta))
    close(within.matrix(), case, "P_x_slowest")
    close(checks.expected_failures(within, table.ravel(), forbidden.ravel()), case, "expected_edit_failures_within")
    alone = mw.microdata.matrices.method1(table.sum(axis=1), theta).matrix() @ table
    close(alone[forbidden].sum(), case, "expected_edit_failures_margin_only")
    held = table.ravel()[unprotected_states(within, table.ravel())].sum()
    close(held, case, "unprotected_records")


def given(pram_vectors: Cases, number: int) -> dict[str, Any]:
    return next(case["input"] for case in pram_vectors["bad_input"] if case["id"] == f"pub-{number:03}")


def test_bad_input_is_refused(pram_vectors: Cases) -> None:
    for number in (50, 51, 52):
        with pytest.raises(errors.MatrixError):
            mw.designs.Sparse.of_matrix(given(pram_vectors, number)["P"])
    wrong = given(pram_vectors, 53)
    with pytest.raises(errors.MatrixError, match=r"2 categories for 3 counts"):
        checks.check_invariant(mw.designs.Sparse.of_matrix(wrong["P"]), wrong["counts"])
    with pytest.raises(errors.OrientationError, match="rows sum to 1"):
        mw.designs.Sparse.of_matrix(given(pram_vectors, 60)["P"])
    for number, error in ((54, errors.CountsError), (55, errors.CountsError), (56, errors.ParameterError)):
        with pytest.raises(error):
            mw.microdata.matrices.method1(*given(pram_vectors, number)["method1"].values())
    binary = given(pram_vectors, 57)["binary"]
    with pytest.raises(errors.ParameterError, match="outside 0 to 3/7"):
        binary_theta([binary["pi1"], 1 - binary["pi1"]], binary["theta"])
    case = given(pram_vectors, 59)
    with pytest.raises(errors.NotInvariantError):
        checks.check_invariant(mw.designs.Sparse.of_matrix(case["P"]), case["counts"])
    case = given(pram_vectors, 62)
    with pytest.raises(errors.PublishError, match="2 of 2 counts"):
        mw.microdata.matrices.check_publishable(mw.designs.Sparse.of_matrix(case["P"]), case["counts"], clearance=None)
    mw.microdata.matrices.check_publishable(
        mw.designs.Sparse.of_matrix(case["P"]), case["counts"], clearance="published in the yearbook"
    )
    case = given(pram_vectors, 63)
    with quiet(errors.UnknownCategoryError, values="'c'"):
        mw.Categories.of(case["codebook"]).encode(case["values"])


NAMES = {"beta_diag": "posterior_own", "gamma": "guess", "eta": "parity", "factor": "factor"}


def _solved(given: dict[str, Any]) -> OptimalMatrix:
    bounds = Bounds.of(**{NAMES[name]: value for name, value in given.items() if name in NAMES})
    return optimal_matrix(given["counts"], bounds, cost=given.get("cost"), forbidden=given.get("forbid", ()))


def test_the_optimum_and_the_worked_example_by_thresholds_and_one_parameter(pram_vectors: Cases) -> None:
    """The specified 0.60 and 0.966 belong to another choice among the best matrices: docs/adr/0049."""
    assert len(pram_vectors["lp"]) == 9
    for case in pram_vectors["lp"]:
        if not case["expected"]["feasible"]:
            with pytest.raises(errors.InfeasibleError):
                _solved(case["input"])
            continue
        found = _solved(case["input"])
        assert found.optimum == pytest.approx(case["expected"]["optimum"], abs=case["tol"])
        assert checks.invariance_error(found.design, case["input"]["counts"]) < 1e-15
        for i, j in case["input"].get("forbid", ()):
            assert i not in found.design.columns_exact(j)
    found = lower_until([1, 2, 4, 10, 30], "0.4")
    assert [float(found.caps.get(x, 1)) for x in range(5)] == [0.35, 0.65, 1, 1, 1] and found.rounds == 14
    assert found.found.optimum == pytest.approx(0.970, abs=5e-4) and found.risk.max() <= 0.4
    found = method1_for_match([1, 2, 4, 10, 30], "0.4")
    assert float(found.theta) == pytest.approx(0.758917, abs=2e-6)
    assert found.risk.argmax() == 1  # the cell of two records binds
