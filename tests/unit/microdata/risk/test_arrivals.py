"""Who arrives where after several stages: as a list, as a product of matrices, and in one matrix that is written out.

That all numbers follow from the records, whatever the stages, tests/properties/test_release_risk_by_records.py shows.
"""

from itertools import product

import numpy as np
import pytest
from tests.support.quiet import refused
from tests.support.releases import assessed, stage_of
from tests.support.together import together

from maskwell.core.cells import CellTable
from maskwell.designs import Dense
from maskwell.errors import TooLargeError
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.risk import arrivals as arrivals_module
from maskwell.microdata.risk import arrivals as module
from maskwell.microdata.risk import identity_disclosure
from maskwell.microdata.risk import kronecker_arrivals as product_module
from maskwell.microdata.risk.arrivals import SparseArrivals, arrivals_of
from maskwell.microdata.risk.file_risk import assess_risk
from maskwell.microdata.risk.identity_disclosure import cell_risks, risks_of
from maskwell.microdata.risk.kronecker_arrivals import KroneckerArrivals
from maskwell.microdata.risk.risk_report import RiskReport
from maskwell.microdata.stages.stage import Stage

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


def test_a_key_that_never_changes_is_kept_and_a_large_product_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probabilities of parts of a key are sums of floats, here of 1 + 2**-52: what is certain stays certain."""
    k, column = 6, ["3/44", "11/44", "4/44", "13/44", "9/44", "4/44"]
    states = [("a", f"job {i}") for i in range(k)]
    still = stage_of(["town", "job"], states, [[p] * k for p in column])
    after = assess_risk(CellTable.of(["town", "job"], dict.fromkeys(states, 3)), ["town"], [still]).after
    assert after.max_risk == 1 / (3 * k) and after.expected_uniques == 0
    rng = np.random.default_rng(15)
    monkeypatch.setattr(module, "LISTED", 0)
    monkeypatch.setattr(module, "ENTRIES", 0)
    monkeypatch.setattr(product_module, "GRID", 4)
    stages = [stage_of([name], [(i,) for i in range(SIZES[name])], matrix(SIZES[name], rng).tolist()) for name in "ab"]
    refused(TooLargeError, "possible combinations", arrivals_of, stages, table(rng), ["a", "b"])


KEYS = ["region", "job", "age"]


def people(seed: int, n: int = 4000) -> CellTable:
    draw = np.random.default_rng(seed)
    parts = [draw.choice(size, n, p=draw.dirichlet(np.full(size, 0.5))) for size in (6, 12, 9)]
    cells, counts = np.unique(np.stack(parts, axis=1), axis=0, return_counts=True)
    levels = tuple(tuple(f"{name} {i}" for i in range(size)) for name, size in zip(KEYS, (6, 12, 9), strict=True))
    return CellTable(tuple(KEYS), levels, cells.astype(np.int32), counts.astype(np.int64))


def stages_of(table: CellTable, protect: dict[str, object]) -> tuple[Stage, ...]:
    plan = ReleasePlan.of([protect], keys=KEYS, match="0.3")
    return assessed(table, plan).stages


def drawn(table: CellTable, stages: tuple[Stage, ...]) -> CellTable:
    """The counts of a released file."""
    (stage,) = stages
    codes = np.repeat(np.arange(len(stage.states)), stage.counts).astype(np.uint32)
    released = np.asarray(stage.design.sample(codes).data)
    return CellTable.of(stage.columns, {stage.outputs[i]: int(n) for i, n in enumerate(np.bincount(released)) if n})


def compared(one: RiskReport, other: RiskReport) -> None:
    """What somebody learns from all counts stops at a bound for cells that cannot be the worst, in parts later."""
    assert {*one.per_cell} == {*other.per_cell}
    for name in {*one.per_cell} - {"released_counts"}:
        assert one.per_cell[name].tolist() == pytest.approx(other.per_cell[name].tolist(), rel=1e-9), name
    if "released_counts" in one.per_cell:
        assert (one.per_cell["released_counts"] <= other.per_cell["released_counts"] + 1e-9).all()
    found = one.after.to_dict()
    for name, b in other.after.to_dict().items():
        a = found[name]
        assert a == (b if b is None or isinstance(b, dict) else pytest.approx(b, rel=1e-9)), name


@together(
    "protect",
    [
        {"variables": KEYS, "method": "mixing", "block_size": 8},
        {"variables": KEYS[1:], "within": KEYS[:1], "method": "inverse-frequency", "xi": "0.4"},
        {"variables": KEYS[1:], "within": KEYS[:1], "method": "sequential"},
        {"variables": KEYS[1:], "method": "mixing"},  # the region is no part of what is randomized: one part
    ],
)
def test_parts_are_the_whole(protect: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    table = people(5)
    stages = stages_of(table, protect)
    released = drawn(table, stages) if {*protect["variables"], *protect.get("within", [])} == {*KEYS} else None  # type: ignore[misc]
    whole = assess_risk(table, KEYS, stages, released=released, threshold=0.3)
    monkeypatch.setattr(arrivals_module, "PART", 40)
    monkeypatch.setattr(identity_disclosure, "STRETCH", 16)
    compared(assess_risk(table, KEYS, stages, released=released, threshold=0.3), whole)


def test_a_file_that_is_not_of_the_release_is_known_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where released records lie in cells that no record can come to, what all counts tell is not told."""
    table = people(7)
    stages = stages_of(table, {"variables": KEYS, "method": "mixing", "block_size": 8})
    monkeypatch.setattr(arrivals_module, "PART", 40)
    other = CellTable(table.columns, table.levels, table.codes, np.roll(table.counts, 1))
    report = assess_risk(table, KEYS, stages, released=other)
    assert report.after.max_risk_released_counts is None
