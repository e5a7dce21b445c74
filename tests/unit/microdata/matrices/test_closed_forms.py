"""Method 1, Method 2, sequential uniformity and mixtures: edge cases, and the same on another way."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from maskwell.core import Categories
from maskwell.designs import Sparse, Subset, Uniform
from maskwell.errors import CountsError, MatrixError, ParameterError
from maskwell.microdata.matrices import closed_forms, method1, method2, sequential_uniform
from maskwell.microdata.matrices.closed_forms import binary_theta
from maskwell.microdata.matrices.matrix_algebra import chained, mixed


def test_method_1_says_how_it_was_made() -> None:
    design = method1([12, 8, 3], 0.5, categories=Categories.of(["a", "b", "c"]))
    assert design.provenance == {"method": "method1", "theta": "1/2", "invariance": "counts", "notes": []}
    assert design.inputs.labels == ("a", "b", "c")
    assert method1([0.5, 0.5], 0.5).provenance["invariance"] == "weights"


@pytest.mark.parametrize("theta", [-0.1, 1.2, 50])
def test_theta_outside_its_range(theta: float) -> None:
    with pytest.raises(ParameterError, match="outside 0 to 1"):
        method1([5, 3], theta)


def test_two_categories_by_the_chance_of_the_second() -> None:
    assert method1([7, 3], binary_theta([7, 3], 1)).columns_exact(1) == {0: 1}
    assert method1([3, 7], binary_theta([3, 7], "3/7")).columns_exact(0) == {1: 1}
    with pytest.raises(CountsError):
        binary_theta([1, 2, 3], 0.5)
    with pytest.raises(CountsError):
        binary_theta([1, 0], 0.5)


def test_method_2_takes_designs_of_other_kinds() -> None:
    counts = [40, 30, 20, 10]
    first = Uniform.from_gamma(3, Categories.numbered(4))
    np.testing.assert_allclose(method2(counts, first).matrix(), method2(counts, first.matrix()).matrix(), atol=1e-15)
    with pytest.raises(ParameterError, match="set"):
        method2(counts, Subset.from_gamma(3, Categories.numbered(4), size=2))
    R = [[1, 0, 0], [0, "1/2", 0], [0, "1/2", 0], [0, 0, 1]]
    design = method2([4, 6, 0], R)
    assert design.exact_matrix() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    with pytest.raises(MatrixError, match="3 columns for 2 counts"):
        method2([4, 6], R)
    with pytest.raises(MatrixError):
        method2([4, 6], [[0.5, 0.5], [0.4, 0.5]])


def test_rounded_flows_are_exactly_invariant_and_near_the_formula() -> None:
    rng = np.random.default_rng(5)
    counts = rng.integers(1, 10_000, 200)
    for design in (sequential_uniform(counts), method2(counts, Uniform.from_gamma(9, Categories.numbered(200)))):
        assert "rounded down" in design.provenance["notes"][-1]
        exact = [design.columns_exact(j) for j in range(200)]
        moved = [sum(exact[j].get(0, Fraction(0)) * int(counts[j]) for j in range(200))]
        assert moved == [counts[0]]  # not a rounding error away
        assert all(sum(column.values()) == 1 for column in exact[:5])


def test_what_cannot_be_mixed_or_chained() -> None:
    wide = Sparse.of_matrix([["1/2", "1/2", 1], ["1/2", "1/2", 0]])
    with pytest.raises(MatrixError, match="no diagonal"):
        mixed(wide, 0.5)
    with pytest.raises(MatrixError, match="2 reports, the second 3"):
        chained(wide, wide)
    with pytest.raises(ParameterError):
        mixed(sequential_uniform([2, 1]), 1.5)


def test_rounding_changes_next_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = [512, 301, 87, 14, 1]
    R = Uniform.from_gamma(9, Categories.numbered(5))
    exact = [sequential_uniform(counts), method2(counts, R)]
    monkeypatch.setattr(closed_forms, "EXACT_BITS", 1)
    rounded = [sequential_uniform(counts), method2(counts, R)]
    for one, two in zip(exact, rounded, strict=True):
        assert one.fingerprint != two.fingerprint
        np.testing.assert_allclose(one.matrix(), two.matrix(), atol=1e-14)
