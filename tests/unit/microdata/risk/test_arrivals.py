"""Who arrives where after several stages: as a list, as a product of matrices, and in one matrix that is written out.

That all numbers follow from the records, whatever the stages, tests/properties/test_release_risk_by_records.py shows.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.support.releases import stage_of
from tests.support.together import together

from maskwell.core import CellTable
from maskwell.designs import Dense
from maskwell.errors import TooLargeError
from maskwell.microdata.risk import arrivals as module
from maskwell.microdata.risk import assess_risk
from maskwell.microdata.risk import kronecker_arrivals as product_module
from maskwell.microdata.risk.arrivals import SparseArrivals, arrivals_of
from maskwell.microdata.risk.identity_disclosure import cell_risks, risks_of
from maskwell.microdata.risk.kronecker_arrivals import KroneckerArrivals

SIZES = {"a": 2, "b": 3, "c": 3}


def matrix(k: int, rng: np.random.Generator, diagonal: float = 0.5) -> np.ndarray:
    return diagonal * np.eye(k) + (1 - diagonal) * rng.dirichlet(np.ones(k), k).T


def table(rng: np.random.Generator) -> CellTable:
    every = product(*(range(size) for size in SIZES.values()))
    return CellTable.of([*SIZES], {cell: int(rng.integers(0, 5)) for cell in every})


@together(("seed", "limit"), product(range(6), [10**6, 0]))
def test_independent_stages_are_a_kronecker_product(seed: int, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(module, "LISTED", limit)
    parts = [matrix(size, rng, [0.0, 0.5, 0.95][seed % 3]) for size in SIZES.values()]
    counted, whole = table(rng), np.kron(np.kron(*parts[:2]), parts[2])
    stages = [stage_of([name], [(i,) for i in range(len(P))], P.tolist()) for name, P in zip(SIZES, parts, strict=True)]
    arrivals, grid = arrivals_of(stages, counted, [*SIZES]), counted.grid().ravel()
    assert isinstance(arrivals, SparseArrivals if limit else KroneckerArrivals)
    found, expected = risks_of(arrivals), cell_risks(grid, whole)
    np.testing.assert_array_equal(expected.cells, np.flatnonzero(grid))
    for name in ("kept", "unconditional", "in_range", "strict", "true_unique"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-12, err_msg=name)
    assert found.any_release.max() == pytest.approx(expected.any_release.max(), abs=1e-12)
    assert (found.any_release >= expected.any_release - 1e-12).all()  # of a product, a bound from above
    assert arrivals.best_guesses().sum() == pytest.approx((whole * grid).max(axis=1).sum())
    uniques = SparseArrivals.from_design(grid, Dense.of(whole.tolist())).expected_uniques()
    assert arrivals.expected_uniques() == pytest.approx(uniques, abs=1e-12)


def test_a_product_that_is_too_large_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(15)
    monkeypatch.setattr(module, "LISTED", 0)
    monkeypatch.setattr(module, "ENTRIES", 0)
    monkeypatch.setattr(product_module, "GRID", 4)
    stages = [stage_of([name], [(i,) for i in range(SIZES[name])], matrix(SIZES[name], rng).tolist()) for name in "ab"]
    with pytest.raises(TooLargeError, match="possible cells"):
        arrivals_of(stages, table(rng), ["a", "b"])


def test_a_key_that_never_changes_is_kept_for_sure() -> None:
    """Probabilities of parts of a key are sums of floats, here of 1 + 2**-52: what is certain stays certain."""
    k, column = 6, ["3/44", "11/44", "4/44", "13/44", "9/44", "4/44"]
    states = [("a", f"job {i}") for i in range(k)]
    still = stage_of(["town", "job"], states, [[p] * k for p in column])
    after = assess_risk(CellTable.of(["town", "job"], dict.fromkeys(states, 3)), ["town"], [still]).after
    assert after.max_risk == 1 / (3 * k) and after.expected_uniques == 0
