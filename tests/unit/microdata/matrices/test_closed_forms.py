"""Closed forms, and matrices within cells: edge cases, and what an invariant matrix tells."""

from fractions import Fraction

import numpy as np
import pytest
from tests.support.quiet import refused

from maskwell import Categories
from maskwell.designs import Dense, Sparse, Subset, Uniform
from maskwell.errors import CountsError, MatrixError, NotInvariantError, ParameterError, PublishError
from maskwell.microdata.matrices import (
    check_publishable,
    closed_forms,
    is_invariant,
    matrix_checks,
    method1,
    method2,
    sequential_uniform,
)
from maskwell.microdata.matrices.closed_forms import binary_theta, inverse_frequency
from maskwell.microdata.matrices.matrix_algebra import blockwise, chained, conditional_matrix, mixed, two_stage
from maskwell.microdata.matrices.matrix_checks import check_invariant, expected_failures, recover_counts


def test_method_1_says_how_it_was_made_and_method_2_takes_designs_of_other_kinds() -> None:
    design = method1([12, 8, 3], 0.5, categories=Categories.of(["a", "b", "c"]))
    assert design.provenance == {"method": "method1", "theta": "1/2", "invariance": "counts", "notes": []}
    assert design.inputs.labels == ("a", "b", "c")
    assert method1([0.5, 0.5], 0.5).provenance["invariance"] == "weights"
    assert method1([7, 3], binary_theta([7, 3], 1)).columns_exact(1) == {0: 1}
    assert method1([3, 7], binary_theta([3, 7], "3/7")).columns_exact(0) == {1: 1}
    refused(CountsError, "", binary_theta, [1, 2, 3], 0.5)
    refused(CountsError, "", binary_theta, [1, 0], 0.5)
    counts = [40, 30, 20, 10]
    first = Uniform.from_gamma(3, Categories.numbered(4))
    np.testing.assert_allclose(method2(counts, first).matrix(), method2(counts, first.matrix()).matrix(), atol=1e-15)
    refused(ParameterError, "set", method2, counts, Subset.from_gamma(3, Categories.numbered(4), size=2))
    R = [[1, 0, 0], [0, "1/2", 0], [0, "1/2", 0], [0, 0, 1]]
    design = method2([4, 6, 0], R)
    assert design.exact_matrix() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    refused(MatrixError, "3 columns for 2 counts", method2, [4, 6], R)
    refused(MatrixError, "", method2, [4, 6], [[0.5, 0.5], [0.4, 0.5]])


@pytest.mark.parametrize("theta", [-0.1, 1.2, 50])
def test_theta_outside_its_range(theta: float) -> None:
    refused(ParameterError, "outside 0 to 1", method1, [5, 3], theta)


def test_rounded_flows_are_exactly_invariant_and_next_to_the_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    counts = rng.integers(1, 10_000, 200)
    for design in (sequential_uniform(counts), method2(counts, Uniform.from_gamma(9, Categories.numbered(200)))):
        assert "rounded down" in design.provenance["notes"][-1]
        exact = [design.columns_exact(j) for j in range(200)]
        moved = [sum(exact[j].get(0, Fraction(0)) * int(counts[j]) for j in range(200))]
        assert moved == [counts[0]]  # not a rounding error away
        assert all(sum(column.values()) == 1 for column in exact[:5])
    counts = [512, 301, 87, 14, 1]
    R = Uniform.from_gamma(9, Categories.numbered(5))
    exact = [sequential_uniform(counts), method2(counts, R)]
    monkeypatch.setattr(closed_forms, "EXACT_BITS", 1)
    rounded = [sequential_uniform(counts), method2(counts, R)]
    for one, two in zip(exact, rounded, strict=True):
        assert one.fingerprint != two.fingerprint
        np.testing.assert_allclose(one.matrix(), two.matrix(), atol=1e-14)


def test_what_cannot_be_mixed_chained_or_fitted_together() -> None:
    wide = Sparse.of_matrix([["1/2", "1/2", 1], ["1/2", "1/2", 0]])
    refused(MatrixError, "no diagonal", mixed, wide, 0.5)
    refused(MatrixError, "2 reports, the second 3", chained, wide, wide)
    refused(ParameterError, "", mixed, sequential_uniform([2, 1]), 1.5)
    parts = {"n": Uniform.from_gamma(3, Categories.of(["a", "b"])), "s": [[1, 0], [0, 1]]}
    design = conditional_matrix(parts, order="x")
    assert design.inputs.labels == (("a", "n"), ("a", "s"), ("b", "n"), ("b", "s"))
    assert design.diagonal().tolist() == [0.75, 1, 0.75, 1]
    assert conditional_matrix(parts, order="y").inputs.labels[1] == ("n", "b")
    refused(MatrixError, "different sizes", conditional_matrix, [[[1]], [[1, 0], [0, 1]]])
    refused(ParameterError, "no matrices", conditional_matrix, {})


def test_two_stages_of_a_table_and_what_fails_in_forbidden_cells() -> None:
    table = np.array([[6, 3], [2, 5]])
    stages = two_stage(table, lambda v: method1(v, 0.6), lambda v: method1(v, 0.5))
    assert is_invariant(stages.design, table.ravel())
    np.testing.assert_allclose(stages.design.matrix(), stages.second.matrix() @ stages.first.matrix())
    refused(CountsError, "1 variables", two_stage, np.array([1, 2]), sequential_uniform, sequential_uniform)
    table, forbidden = np.array([30, 0, 20, 50]), np.array([False, True, False, False])
    within = blockwise([0, 1, 0, 1], table, lambda v: method1(v, "1/2"))
    assert expected_failures(within, table, forbidden) == 0
    alone = conditional_matrix([method1([30, 70], "1/2")] * 2)
    assert expected_failures(alone, table, forbidden) == pytest.approx(10.7142857)


COUNTS = [512, 301, 87, 14, 1]


def test_the_category_that_moves_most_is_named_and_blocks_need_their_totals() -> None:
    caught = refused(NotInvariantError, "", check_invariant, Dense.of([[0.9, 0.3], [0.1, 0.7]]), [5, 5])
    assert "the share of category 1 changes by +0.1" in caught.message
    check_invariant(Dense.of([[0.8, 0.3], [0.2, 0.7]]), [6, 4])
    counts = [5, 3, 2, 7, 1]
    design = inverse_frequency(counts, 1, blocks=[0, 0, 1, 1, 2])
    refused(ParameterError, "3 groups", recover_counts, design, 18)
    released = [4, 4, 6, 3, 1]  # of one release: totals of blocks are as they were
    np.testing.assert_allclose(recover_counts(design, released), counts)


def test_an_invariant_matrix_is_not_published(monkeypatch: pytest.MonkeyPatch) -> None:
    caught = refused(PublishError, "", check_publishable, method1(COUNTS, 0.5), COUNTS, None)
    assert "5 of 5 counts follow from it" in caught.message
    np.testing.assert_allclose(caught.objects["recovered"], COUNTS)  # type: ignore[call-overload]
    refused(PublishError, "", check_publishable, method1(COUNTS, 0.5), COUNTS, "  ")
    check_publishable(method1(COUNTS, 0.5), COUNTS, "table 3 of the yearbook")
    design = inverse_frequency([5, 3, 9], 1, blocks=[0, 0, 1])
    refused(PublishError, "2 of 3 counts", check_publishable, design, [5, 3, 9], None)
    monkeypatch.setattr(matrix_checks, "DENSE_STATES", 2)
    caught = refused(PublishError, "", check_publishable, method1(COUNTS, 0.5), COUNTS, None)
    assert caught.objects["recovered"] is None


def test_a_rounded_invariant_matrix_is_not_published() -> None:
    """It is not invariant to 1e-9, yet the counts follow from it with an error below 1/2."""
    counts = [1200, 830, 317]

    def rounded(decimals: int) -> Dense:
        P = [[Fraction(round(x * 10**decimals), 10**decimals) for x in row] for row in method1(counts, "2/3").matrix()]
        for j in range(3):
            P[j][j] = 1 - sum(P[i][j] for i in range(3) if i != j)
        return Dense.of([[str(x) for x in row] for row in P])

    for decimals in (8, 6):
        design = rounded(decimals)
        assert not is_invariant(design, counts)
        caught = refused(PublishError, "3 of 3 counts", check_publishable, design, counts, None)
        np.testing.assert_allclose(caught.objects["recovered"], counts, atol=0.5)  # type: ignore[call-overload]
        check_publishable(design, counts, "table 3 of the yearbook")
    check_publishable(rounded(2), counts, None)  # its counts are off by more than one
    check_publishable(rounded(8), [900, 830, 617], None)  # made from other counts
    check_publishable(Uniform.from_gamma(3, Categories.of(["a", "b", "c"])), counts, None)
