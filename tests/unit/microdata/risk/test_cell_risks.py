"""Risks of all cells of a file."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.matching import exact_risk

from maskwell.designs import Sparse
from maskwell.errors import CountsError, MatrixError
from maskwell.microdata.risk import cell_risks
from maskwell.microdata.risk import identity_disclosure as module
from maskwell.microdata.risk.arrivals import SparseArrivals
from maskwell.microdata.risk.binomial_sums import count_distributions, sums_of_terms
from maskwell.microdata.risk.match_chances import match_risk_row


def random_case(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    counts = rng.integers(0, 5, k)
    counts[0] = max(1, counts[0])
    P = rng.dirichlet(np.full(k, 0.5), k).T
    if seed % 3 == 0:
        P = 0.7 * np.eye(k) + 0.3 * P
    elif seed % 3 == 1:
        P = np.where(P < 0.2, 0, P)
        P = P / P.sum(axis=0)
    return counts, P


@pytest.mark.parametrize("seed", range(30))
def test_every_number_agrees_with_fractions(seed: int) -> None:
    counts, P = random_case(seed)
    found = cell_risks(counts, P)
    assert found.cells.tolist() == np.flatnonzero(counts).tolist()
    for place, x in enumerate(found.cells.tolist()):
        own = exact_risk(counts, P[x], x)
        elsewhere = max(exact_risk(counts, row, x).strict for row in P)
        assert found.unconditional[place] == pytest.approx(own.unconditional, abs=1e-13)
        assert found.in_range[place] == pytest.approx(own.in_range, abs=1e-13)
        assert found.strict[place] == pytest.approx(own.strict, abs=1e-13)
        assert found.any_release[place] == pytest.approx(elsewhere, abs=1e-13)
        assert found.before[place] == 1 / counts[x]


def test_a_smarter_intruder_looks_where_the_record_goes() -> None:
    P = np.array([[0.35, 0.1, 0.1], [0.65, 0.7, 0], [0, 0.2, 0.9]])
    found = cell_risks([1, 2, 20], P)
    assert found.any_release[0] > found.in_range[0]
    assert cell_risks([1, 2, 20], P, every_release=False).any_release.tolist() == found.strict.tolist()


def test_some_cells_alone_are_the_same_as_all() -> None:
    counts, P = random_case(3)
    every = cell_risks(counts, P)
    some = cell_risks(counts, P, cells=every.cells[1:])
    np.testing.assert_allclose(some.in_range, every.in_range[1:], rtol=1e-13)


def test_sparse_designs_and_matrices_give_the_same() -> None:
    P = [["1/2", "1/4", 0], ["1/2", "3/4", 0], [0, 0, 1]]
    sparse, plain = cell_risks([2, 4, 1], Sparse.of_matrix(P)), cell_risks([2, 4, 1], P)
    np.testing.assert_array_equal(sparse.in_range, plain.in_range)
    assert plain.true_unique.tolist() == [0, 0, 1]  # a record that nothing touches is found for sure


def test_large_cells_of_many_sizes() -> None:
    rng = np.random.default_rng(4)
    counts = np.unique(np.concatenate([rng.integers(1, 40, 20), rng.integers(100, 30000, 20)]))
    k = len(counts)
    P = np.full((k, k), 0.0) + 0.9 / (k - 1) * counts.min() / counts
    np.fill_diagonal(P, 1 - 0.9 * counts.min() / counts)
    found = cell_risks(counts, P)
    assert (found.in_range <= found.before * (1 + 1e-12)).all()  # randomizing never raises the risk
    assert (found.strict >= found.in_range).all()
    for x in range(k):
        alone = match_risk_row(counts, P[x], x)
        assert found.in_range[x] == pytest.approx(alone.risk_in_range, rel=1e-11)
        assert found.unconditional[x] == pytest.approx(alone.p_correct, rel=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_a_bound_from_above_where_there_is_too_much_to_search(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counts, P = random_case(seed)
    exact = cell_risks(counts, P).strict
    monkeypatch.setattr(module, "SEARCHED", 0)
    bound = cell_risks(counts, P).strict
    assert (bound >= exact * (1 - 1e-12)).all()
    assert (bound <= cell_risks(counts, P).before * (1 + 1e-12)).all()


def test_bad_input_is_named() -> None:
    with pytest.raises(CountsError, match="cell 1 has no record"):
        cell_risks([3, 0], np.eye(2), cells=[1])
    with pytest.raises(MatrixError, match="3 counts"):
        cell_risks([3, 1, 1], np.eye(2))


@pytest.mark.parametrize("half", [0.5, np.nextafter(0.5, 0), 0.5 - 2**-27, 0.5 - 5 * 2**-54])
def test_chances_next_to_a_half_lose_no_digits(half: float) -> None:
    rows = sums_of_terms(np.zeros(2, dtype=int), np.array([1, 1]), np.array([1 / 7, half]), 1)
    window = next(count_distributions(rows, np.zeros(1, dtype=int), np.array([1 / 7])))
    np.testing.assert_allclose(window.pmf[0, :3], [1 - half, half, 0], atol=1e-15)


def test_records_with_the_same_key_hide_each_other_only_if_they_come_as_often() -> None:
    """One record stays with 2/5 and thirty with 1/1000; nine come from elsewhere with 1/2."""
    counts, p = np.array([1, 30, 9]), np.array([0.4, 0.001, 0.5])
    arrivals = SparseArrivals.of(counts, np.array([0, 0, 1]), 2, np.zeros(3, dtype=int), np.arange(3), p)
    found = module.risks_of(arrivals, cells=[0], every_release=False)
    assert found.before[0] == pytest.approx(1 / 31)
    exact = exact_risk(counts, p, 0).strict
    assert exact > found.in_range[0] * 1.01
    assert found.strict[0] == pytest.approx(exact, rel=1e-12)
