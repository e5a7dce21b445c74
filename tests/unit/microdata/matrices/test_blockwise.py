"""Matrices within cells, two stages, and edit rules."""

from __future__ import annotations

import numpy as np
import pytest

from maskwell.core import Categories
from maskwell.designs import Uniform
from maskwell.errors import CountsError, MatrixError, ParameterError
from maskwell.microdata.matrices import is_invariant, method1, sequential_uniform
from maskwell.microdata.matrices.matrix_algebra import blockwise, conditional_matrix, two_stage
from maskwell.microdata.matrices.matrix_checks import expected_failures


def test_parts_within_cells() -> None:
    parts = {"n": Uniform.from_gamma(3, Categories.of(["a", "b"])), "s": [[1, 0], [0, 1]]}
    design = conditional_matrix(parts, order="x")
    assert design.inputs.labels == (("a", "n"), ("a", "s"), ("b", "n"), ("b", "s"))
    assert design.diagonal().tolist() == [0.75, 1, 0.75, 1]
    assert conditional_matrix(parts, order="y").inputs.labels[1] == ("n", "b")
    with pytest.raises(MatrixError, match="different sizes"):
        conditional_matrix([[[1]], [[1, 0], [0, 1]]])
    with pytest.raises(ParameterError, match="no matrices"):
        conditional_matrix({})


def test_two_stages_of_a_table() -> None:
    table = np.array([[6, 3], [2, 5]])
    stages = two_stage(table, lambda v: method1(v, 0.6), lambda v: method1(v, 0.5))
    assert is_invariant(stages.design, table.ravel())
    np.testing.assert_allclose(stages.design.matrix(), stages.second.matrix() @ stages.first.matrix())
    with pytest.raises(CountsError, match="1 variables"):
        two_stage(np.array([1, 2]), sequential_uniform, sequential_uniform)


def test_records_that_a_matrix_moves_into_forbidden_cells_are_counted() -> None:
    table, forbidden = np.array([30, 0, 20, 50]), np.array([False, True, False, False])
    within = blockwise([0, 1, 0, 1], table, lambda v: method1(v, "1/2"))
    assert expected_failures(within, table, forbidden) == 0
    alone = conditional_matrix([method1([30, 70], "1/2")] * 2)
    assert expected_failures(alone, table, forbidden) == pytest.approx(10.7142857)
