"""The inverse-frequency method: theta for large and for small blocks, and blocks that are large enough."""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from tests.support.quiet import refused

from maskwell.errors import CountsError, ParameterError
from maskwell.microdata.matrices.closed_forms import inverse_frequency, theta_for_xi
from maskwell.microdata.matrices.matrix_checks import invariance_error
from maskwell.microdata.matrices.matrix_patterns import (
    GRID,
    blocks_for_xi,
    blocks_of_cells,
    inverse_frequency_by_block,
    thetas_for_blocks,
)


def largest_risk(counts: list[int], theta: Fraction) -> Fraction:
    """By enumeration: the largest probability of a correct match over all cells and all released counts."""
    P = inverse_frequency(counts, theta).exact_matrix()
    return max(
        P[x][x] / t * _total(counts, P[x], x, t - 1) / below
        for x in range(len(counts))
        for t in range(1, sum(counts) + 1)
        if (below := _total(counts, P[x], None, t))
    )


def _total(counts: list[int], row: list[Fraction], without: int | None, t: int) -> Fraction:
    sizes = [n - (j == without) for j, n in enumerate(counts)]
    found = Fraction(0)
    for arrived in product(*(range(min(n, t) + 1) for n in sizes)):
        if sum(arrived) == t:
            terms = [comb(n, m) * p**m * (1 - p) ** (n - m) for n, m, p in zip(sizes, arrived, row, strict=True)]
            found += np.prod(np.array(terms, dtype=object))
    return found


@pytest.mark.parametrize("counts", [[1, 1, 2], [1, 1, 1, 1], [1, 2, 3, 2], [2, 2, 2], [3, 1, 2]])
@pytest.mark.parametrize("xi", ["1/2", "9/20"])
def test_theta_of_a_block_is_the_smallest_that_keeps_the_bound(counts: list[int], xi: str) -> None:
    found = thetas_for_blocks(counts, [0] * len(counts), xi)
    theta, bound = found.theta[0], Fraction(xi)
    risk = largest_risk(counts, theta)
    assert found.reached[0] == (risk <= bound)
    if not found.reached[0]:
        assert float(found.risk[0]) == pytest.approx(float(risk), abs=1e-12)
    elif theta:
        assert largest_risk(counts, theta - Fraction(min(counts), GRID)) > bound


def test_many_cells_need_what_poisson_arrivals_need_and_risk_goes_by_records() -> None:
    counts = [1, 2] * 2000
    for xi in (0.5, 0.45, 0.4, 0.35):
        assert float(thetas_for_blocks(counts, [0] * 4000, xi).theta[0]) == pytest.approx(theta_for_xi(xi), abs=2e-3)
    found = thetas_for_blocks([1, 1], [0, 0], 0.4)
    assert found.risk.max() == pytest.approx(0.5) and found.open_cells().tolist() == [0, 1]
    counts, weights = [1, 1, 2, 3, 5], [10.5, 11.0, 21.25, 31.0, 52.5]
    found = thetas_for_blocks(counts, [0] * 5, 0.5, mass=weights)
    design = inverse_frequency_by_block(weights, found)
    assert found.reached.all()
    assert invariance_error(design, weights) < 1e-15
    assert (design.diagonal() >= design.matrix().max(axis=0) - 1e-15).all()  # never likelier as another than as itself


@pytest.mark.parametrize("xi", ["1/3", 0.2, 0, 1.1])
def test_bounds_that_many_cells_cannot_keep(xi: str | float) -> None:
    refused(ParameterError, r"outside \(1/3, 1\]", theta_for_xi, xi)


def test_blocks_are_consecutive_cells_and_grow_until_they_keep_the_bound() -> None:
    codes = np.array([[1, 1], [0, 0], [0, 1], [1, 0], [0, 2], [1, 2], [1, 3]])
    assert blocks_of_cells(codes, 3).tolist() == [1, 0, 0, 0, 0, 1, 1]
    assert blocks_of_cells(codes, 2, within=codes[:, 0]).tolist() == [1, 0, 0, 1, 0, 2, 2]
    assert blocks_of_cells(codes, 99).tolist() == [0] * 7
    codes = np.column_stack([np.repeat([0, 1, 2], 8), np.tile(np.arange(8), 3)])
    counts = np.array([1] * 16 + [1, 1] + [0] * 6)
    found = blocks_for_xi(codes, counts, 0.4, size=2, within=codes[:, 0])
    group = codes[:, 0]
    assert all(len({*group[found.blocks == b].tolist()}) == 1 for b in range(len(found.theta)))
    assert set(group[found.open_cells()].tolist()) == {2}  # two single records alone in their group
    assert "keeps a probability above 0.4" in found.notes()[0]
    refused(CountsError, "2 blocks for 3 counts", inverse_frequency, [1, 2, 3], 1, blocks=[0, 0])
    refused(CountsError, "belong together", thetas_for_blocks, [1, 2], [0, 0], 0.5, mass=[1.5, 0])
    refused(ParameterError, "outside 0 to 1", inverse_frequency, [1, 2, 3], 1.5)
