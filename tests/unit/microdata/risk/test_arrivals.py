"""Who arrives where after several stages: against matrices that are written out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from maskwell.core import CellTable
from maskwell.designs import Dense
from maskwell.errors import TooLargeError
from maskwell.microdata.risk import arrivals as module
from maskwell.microdata.risk import cell_risks
from maskwell.microdata.risk import kronecker_arrivals as product_module
from maskwell.microdata.risk.arrivals import SparseArrivals, arrivals_of
from maskwell.microdata.risk.identity_disclosure import CellRisks, risks_of
from maskwell.microdata.risk.kronecker_arrivals import KroneckerArrivals
from maskwell.microdata.stages.stage import Stage, needed_columns

SIZES = {"a": 2, "b": 3, "c": 3}
COMPARED = ("before", "kept", "unconditional", "in_range", "strict", "p_unique", "true_unique")


def stage(
    variables: tuple[str, ...], P: np.ndarray, *, within: tuple[str, ...] = (), linked: dict[str, dict] | None = None
) -> Stage:
    states = list(product(*(range(SIZES[name]) for name in (*within, *variables))))
    return Stage(
        variables=variables,
        within=within,
        linked=linked or {},
        states=states,
        outputs=states,
        design=Dense.of(P.tolist()),
        counts=np.ones(len(states), dtype=np.int64),
        cells=np.zeros(len(states), dtype=np.int64),
        method="fixed",
        invariance="none",
        derived=False,
    )


def matrix(k: int, rng: np.random.Generator, diagonal: float = 0.5) -> np.ndarray:
    return diagonal * np.eye(k) + (1 - diagonal) * rng.dirichlet(np.ones(k), k).T


def blocks(count: int, k: int, rng: np.random.Generator) -> np.ndarray:
    out = np.zeros((count * k, count * k))
    for b in range(count):
        out[b * k : (b + 1) * k, b * k : (b + 1) * k] = matrix(k, rng)
    return out


def table(rng: np.random.Generator, columns: Sequence[str] = ("a", "b", "c")) -> CellTable:
    every = list(product(*(range(SIZES[name]) for name in columns)))
    return CellTable.of(columns, {cell: int(rng.integers(0, 5)) for cell in every})


def assert_same(found: CellRisks, expected: CellRisks, counts: np.ndarray) -> None:
    """``expected`` is over the whole grid, ``found`` over the cells that occur."""
    occur = np.flatnonzero(counts)
    np.testing.assert_array_equal(expected.cells, occur)
    for name in COMPARED:
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-12, err_msg=name)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("limit", [10**6, 0])
def test_independent_stages_are_a_kronecker_product(seed: int, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(module, "LISTED", limit)
    parts = [matrix(SIZES[name], rng, [0.0, 0.5, 0.95][seed % 3]) for name in "abc"]
    counted = table(rng)
    arrivals = arrivals_of([stage((n,), P) for n, P in zip("abc", parts, strict=True)], counted, ["a", "b", "c"])
    assert isinstance(arrivals, SparseArrivals if limit else KroneckerArrivals)
    whole, grid = np.kron(np.kron(*parts[:2]), parts[2]), counted.grid().ravel()
    expected = cell_risks(grid, whole)
    found = risks_of(arrivals)
    assert_same(found, expected, grid)
    assert found.any_release.max() == pytest.approx(expected.any_release.max(), abs=1e-12)
    assert (found.any_release >= expected.any_release - 1e-12).all()  # of a product, a bound from above
    assert arrivals.best_guesses().sum() == pytest.approx((whole * grid).max(axis=1).sum())
    uniques = SparseArrivals.from_design(grid, Dense.of(whole.tolist())).expected_uniques()
    assert arrivals.expected_uniques() == pytest.approx(uniques, abs=1e-12)


@pytest.mark.parametrize("limit", [10**6, 0])
def test_a_stage_within_a_column_that_stays(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    monkeypatch.setattr(module, "LISTED", limit)
    of_b, of_c = blocks(2, 3, rng), blocks(2, 3, rng)
    stages = [stage(("b",), of_b, within=("a",)), stage(("c",), of_c, within=("a",))]
    counted = table(rng)
    whole = np.zeros((18, 18))
    for a in range(2):
        own = slice(3 * a, 3 * a + 3)
        whole[9 * a : 9 * a + 9, 9 * a : 9 * a + 9] = np.kron(of_b[own, own], of_c[own, own])
    grid = counted.grid().ravel()
    assert_same(risks_of(arrivals_of(stages, counted, ["a", "b", "c"])), cell_risks(grid, whole), grid)


def test_a_stage_within_a_randomized_column_uses_the_released_value() -> None:
    rng = np.random.default_rng(9)
    of_a, of_b = matrix(2, rng), blocks(2, 3, rng)
    stages = [stage(("a",), of_a), stage(("b",), of_b, within=("a",))]
    counted = table(rng, ("a", "b"))
    grid = counted.grid().ravel()
    whole = of_b @ np.kron(of_a, np.eye(3))  # the later stage on the left
    assert_same(risks_of(arrivals_of(stages, counted, ["a", "b"])), cell_risks(grid, whole), grid)
    wrong = np.kron(of_a, np.eye(3)) @ of_b
    assert np.abs(cell_risks(grid, wrong).in_range - cell_risks(grid, whole).in_range).max() > 1e-3


def test_columns_outside_the_key_are_summed_over() -> None:
    rng = np.random.default_rng(10)
    jointly = matrix(6, rng)
    counted = table(rng, ("a", "b"))
    stages = [stage(("a", "b"), jointly)]
    assert needed_columns(stages, ["a"]) == ("a", "b")
    found = risks_of(arrivals_of(stages, counted, ["a"]))
    grid = counted.grid().ravel()
    rows = jointly.reshape(2, 3, 6).sum(axis=1)  # chance of each released a, given a and b
    for place, cell in enumerate(np.flatnonzero(grid).tolist()):
        row = rows[cell // 3]
        expected = cell_risks(grid, np.concatenate([[row], [1 - row], np.zeros((4, 6))])[_own_first(cell)])
        at = np.flatnonzero(expected.cells == cell)[0]
        assert found.in_range[place] == pytest.approx(expected.in_range[at], abs=1e-12)
        assert found.before[place] == pytest.approx(1 / counted.project(["a"]).counts[cell // 3])


def _own_first(cell: int) -> list[int]:
    """An order of rows in which row ``cell`` is the first one."""
    order = list(range(1, 6))
    order.insert(cell, 0)
    return order


def test_a_product_with_columns_outside_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(11)
    stages = [stage(("a", "b"), matrix(6, rng)), stage(("c",), matrix(3, rng))]
    counted = table(rng)
    listed = risks_of(arrivals_of(stages, counted, ["a", "c"]))
    monkeypatch.setattr(module, "LISTED", 0)
    product_of_two = arrivals_of(stages, counted, ["a", "c"])
    assert isinstance(product_of_two, KroneckerArrivals)
    for name in COMPARED:
        np.testing.assert_allclose(getattr(risks_of(product_of_two), name), getattr(listed, name), atol=1e-12)


def test_stages_that_do_not_touch_the_key_are_left_out() -> None:
    rng = np.random.default_rng(12)
    counted = table(rng, ("a", "b"))
    other = stage(("c",), matrix(3, rng))
    assert needed_columns([other], ["a", "b"]) == ("a", "b")
    found = risks_of(arrivals_of([other], counted, ["a", "b"]))
    np.testing.assert_allclose(found.in_range, found.before)


def test_a_linked_column_follows() -> None:
    rng = np.random.default_rng(13)
    follows = {(0,): "low", (1,): "high", (2,): "high"}
    cells = {(b, follows[(b,)]): int(rng.integers(1, 5)) for b in range(3)}
    counted = CellTable.of(["b", "group"], cells)
    P = matrix(3, rng)
    found = risks_of(arrivals_of([stage(("b",), P, linked={"group": follows})], counted, ["b", "group"]))
    expected = cell_risks([cells[(b, follows[(b,)])] for b in range(3)], P)
    np.testing.assert_allclose(found.in_range, expected.in_range)


def test_labels_that_are_no_state_stay_as_they_are() -> None:
    rng = np.random.default_rng(14)
    counted = CellTable.of(["b"], {(0,): 3, (1,): 2, (2,): 2, (None,): 2})
    found = risks_of(arrivals_of([stage(("b",), matrix(3, rng))], counted, ["b"]))
    assert found.kept[-1] == 1
    assert found.in_range[-1] == pytest.approx(1 / 2)


def test_a_product_that_is_too_large_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(15)
    monkeypatch.setattr(module, "LISTED", 0)
    monkeypatch.setattr(module, "ENTRIES", 0)
    monkeypatch.setattr(product_module, "GRID", 4)
    with pytest.raises(TooLargeError, match="possible cells"):
        arrivals_of([stage(("a",), matrix(2, rng)), stage(("b",), matrix(3, rng))], table(rng), ["a", "b"])
