"""The chance of a correct match: of one record, all cells, and the very file that is released, against fractions."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.support.matching import enumerated_match, exact_risk, told_risk
from tests.support.together import together

from maskwell import Categories, ReleasePlan
from maskwell.core.arguments import Real
from maskwell.core.cells import CellTable
from maskwell.designs import Dense
from maskwell.designs.coded import CodedDesign
from maskwell.designs.dense import design_of
from maskwell.microdata.matrices import method1
from maskwell.microdata.matrices.closed_forms import inverse_frequency
from maskwell.microdata.risk import identity_disclosure, match_chances
from maskwell.microdata.risk import released_counts as module
from maskwell.microdata.risk.arrivals import SparseArrivals
from maskwell.microdata.risk.binomial_sums import count_distributions, sums_of_terms
from maskwell.microdata.risk.file_risk import assess_risk
from maskwell.microdata.risk.identity_disclosure import cell_risks
from maskwell.microdata.risk.released_counts import realised_risks
from maskwell.microdata.stages.stage_building import build_stages

P = [[Fraction(3, 4), Fraction(1, 6)], [Fraction(1, 4), Fraction(5, 6)]]


def test_what_listing_every_released_file_gives_whatever_the_order_of_reports() -> None:
    expected = enumerated_match([2, 3], P, 0)
    assert expected == {t: Fraction(v) for t, v in enumerate(("5/11", "45/106", "120/383", "23/94", "1/5"), 1)}
    found = told_risk([2, 3], P[0], 0)
    assert {t: found.given[t] for t in expected} == pytest.approx({t: float(v) for t, v in expected.items()}, rel=1e-13)
    Q, labels = [["1/2", "1/4"], ["1/4", "3/4"], ["1/4", "0"]], [*"abc"]
    truths, turned = Categories.of(labels[:2]), Categories.of(labels[::-1])
    plain, other = Dense.of(Q, truths, Categories.of(labels)), Dense.of(Q[::-1], truths, turned)
    np.testing.assert_array_equal(cell_risks([2, 4], plain).kept, [1 / 2, 3 / 4])
    np.testing.assert_array_equal(cell_risks([2, 4], other).kept, [1 / 2, 3 / 4])


def random_rows(trials: int, seed: int) -> list[tuple[list[int], list[float], int]]:
    rng = np.random.default_rng(seed)
    special = [0, 1, 0.5, 0.25, 0.05, 0.95, 0.001, 0.999, 0.1, 0.9]
    found = []
    for trial in range(trials):
        k = int(rng.integers(1, 7))
        n = rng.integers(0, 6, k)
        x = int(rng.integers(k))
        n[x] = max(1, n[x])
        p = rng.random(k) if trial % 2 else rng.choice(special, k)
        found.append((n.tolist(), p.tolist(), x))
    return found


@together(("n", "p", "x"), [*random_rows(60, seed=11), ([3, 2], [1.0, 0.0], 0), ([1, 2], [0.0, 0.5], 0)])
def test_the_transform_agrees_with_fractions(n: list[int], p: list[float], x: int) -> None:
    expected, found = exact_risk(n, p, x), told_risk(n, p, x)
    assert found.unconditional == pytest.approx(expected.unconditional, abs=1e-14)
    assert found.in_range == pytest.approx(expected.in_range, abs=1e-13)
    assert found.strict == pytest.approx(expected.strict, abs=1e-13)
    assert (found.t_low, found.t_high) == (expected.t_low, expected.t_high)


def test_the_strict_risk_looks_at_every_number_and_kind_of_arrival() -> None:
    small = exact_risk([1, 40], [0.2, 0.7], 0)
    assert small.strict > small.in_range  # the share of the target rises with t, up to where all arrive
    assert told_risk([1, 40], [0.2, 0.7], 0).strict == pytest.approx(small.strict, rel=1e-12)
    assert told_risk([1, 4000], [0.2, 0.7], 0).strict == pytest.approx(1 / 4001, rel=1e-9)
    tiny = [1, 2, 1], [1e-12, 2e-12, 1e-9], 0
    assert told_risk(*tiny).strict == pytest.approx(exact_risk(*tiny).strict, rel=1e-12)
    pmf = told_risk([10**6, 10**9], [0.5, 1e-4], 0).pmf
    assert sum(pmf.values()) == pytest.approx(1, abs=1e-9)
    assert sum(t * p for t, p in pmf.items()) == pytest.approx(6e5, rel=1e-9)
    # One record stays with 2/5 and thirty with 1/1000; nine come from elsewhere with 1/2.
    counts, p = np.array([1, 30, 9]), np.array([0.4, 0.001, 0.5])
    arrivals = SparseArrivals.of(counts, np.array([0, 0, 1]), 2, np.zeros(3, dtype=int), np.arange(3), p)
    found = identity_disclosure.risks_of(arrivals, cells=np.array([0]), every_release=False)
    exact = exact_risk(counts, p, 0).strict
    assert exact > found.in_range[0] * 1.01
    assert found.strict[0] == pytest.approx(exact, rel=1e-12)


def test_many_targets_at_once_are_found_as_each_alone() -> None:
    """Polynomials of the first t, and the search over all t: two ways to one number, for short and long searches."""
    rng = np.random.default_rng(12)
    rows, targets = [], []
    for most in [3, 20, 300] * 8:
        n, p = rng.integers(1, most, 12), np.exp(rng.uniform(np.log(1e-5), np.log(0.9), 12))
        p[0] = 1.0 if most == 20 else p[0]
        rows.append((n, p))
        targets.append(p[int(rng.integers(1, 12))])
    at_once = match_chances.strict_risks(rows, np.array(targets))
    searches = [match_chances._known_or_open(n, p, target) for (n, p), target in zip(rows, targets, strict=True)]
    alone = [
        match_chances._searched(one.row, one.target, one.certain) if isinstance(one, match_chances._Search) else one
        for one in searches
    ]
    assert sum(not isinstance(one, float) for one in searches) > 12
    np.testing.assert_allclose(at_once, alone, rtol=1e-13)


@together("half", [0.5, np.nextafter(0.5, 0), 0.5 - 2**-27, 0.5 - 5 * 2**-54])
def test_chances_next_to_a_half_lose_no_digits(half: float) -> None:
    rows = sums_of_terms(np.zeros(2, dtype=int), np.array([1, 1]), np.array([1 / 7, half]), 1)
    window = next(count_distributions(rows, np.zeros(1, dtype=int), np.array([1 / 7])))
    np.testing.assert_allclose(window.pmf[0, :3], [1 - half, half, 0], atol=1e-15)


# ---- all cells of a file


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


@together("seed", range(30))
def test_every_number_of_a_file_agrees_with_fractions(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is too much to search, the strict risk has a bound from above."""
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
    some = cell_risks(counts, P, cells=found.cells[1:])
    np.testing.assert_allclose(some.in_range, found.in_range[1:], rtol=1e-13)
    monkeypatch.setattr(identity_disclosure, "SEARCHED", 0)
    bound = cell_risks(counts, P).strict
    assert (bound >= found.strict * (1 - 1e-12)).all()
    assert (bound <= 1 / counts[found.cells] * (1 + 1e-12)).all()


def listed_releases(counts: Sequence[int], P: Real) -> dict[tuple[int, ...], Real]:
    """For all released counts that can be, the largest chance of each cell over all released values."""
    records = [j for j, n in enumerate(counts) for _ in range(n)]
    together: dict[tuple[int, ...], Real] = {}
    for released in itertools.product(range(len(P)), repeat=len(records)):
        chance = float(np.prod([P[i, j] for i, j in zip(released, records, strict=True)]))
        m = tuple(np.bincount(released, minlength=len(P)).tolist())
        flows = together.setdefault(m, np.zeros(P.shape))
        np.add.at(flows, (np.array(released), np.array(records)), chance)
    found = {}
    for m, flows in together.items():
        if flows.sum() > 0:
            total = flows.sum() / len(records)
            found[m] = (flows / total / np.maximum(m, 1)[:, None] / np.array(counts)).max(axis=0)
    return found


def risks(counts: Sequence[int], design: CodedDesign, released: Sequence[int]) -> Real | None:
    listed = SparseArrivals.from_design(np.array(counts), design)
    return realised_risks(replace(listed, seen=np.array(released)))


@together("theta", ["0.3", "0.6", "0.75"])
def test_every_release_of_a_small_block_that_deals_evenly(theta: str) -> None:
    counts = [1, 1, 2, 2]
    design = inverse_frequency(counts, theta)
    every = listed_releases(counts, np.asarray(design.matrix()))
    assert len(every) == 84
    for released, chances in every.items():
        found = risks(counts, design, released)
        assert found.max() == pytest.approx(chances.max(), abs=1e-14)
        np.testing.assert_allclose(found[:2], chances[:2], atol=1e-14)  # those that could be the worst


@together("seed", range(6))
def test_every_release_under_any_matrix(seed: int) -> None:
    random = np.random.default_rng(seed)
    counts, P = random.integers(1, 4, 3), random.dirichlet(np.ones(3), 3).T
    P[random.integers(3), random.integers(3)] = 0
    P /= P.sum(axis=0)
    for released, chances in listed_releases(counts.tolist(), P).items():
        found = risks(counts.tolist(), design_of(P), released)
        assert found.max() == pytest.approx(chances.max(), abs=1e-12)


@together(
    ("counts", "design"),
    [
        ([1, 2, 2, 3, 40], inverse_frequency([1, 2, 2, 3, 40], "0.7")),  # few leave
        ([10, 12, 15], inverse_frequency([10, 12, 15], 6)),  # many leave
        ([20, 25], inverse_frequency([20, 25], 10)),  # all leave
        ([60, 70, 80], method1([60, 70, 80], "0.6")),  # many leave each
    ],
)
def test_the_integral_and_the_polynomials_agree(counts: list[int], design: CodedDesign) -> None:
    random, P = np.random.default_rng(7), np.asarray(design.matrix())
    for _ in range(3):
        released = sum(random.multinomial(n, P[:, j]) for j, n in enumerate(counts))
        blocks = module._Blocks(
            replace(SparseArrivals.from_design(np.array(counts), design), seen=np.asarray(released)),
            np.ones(len(counts)),
        )
        (group,) = blocks.grouped(blocks.dealt())
        by_integral = module.dealt_risks(group)[0][np.argsort(group.cells[0])]
        np.testing.assert_allclose(by_integral, blocks.block(0).risks(), rtol=1e-11)


def test_values_that_no_record_has_can_be_dealt_to_and_what_counts_cannot_tell_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    P = np.full((3, 2), 0.2)
    P[0, 0] = P[1, 1] = 0.6
    table = CellTable.of(["x"], {("a",): 1, ("b",): 2})
    for released, chances in listed_releases([1, 2], P).items():
        labels = {(name,): n for name, n in zip("abc", released, strict=True) if n}
        plan = ReleasePlan.of(
            [{"variables": "x", "method": "uniform", "gamma": "3"}], keys=["x"], codebook={"x": ["a", "b", "c"]}
        )
        report = assess_risk(table, ["x"], build_stages(plan, {("x",): table}), released=CellTable.of(["x"], labels))
        assert report.after.max_risk_released_counts == pytest.approx(chances.max(), abs=1e-12)
    P, counts = np.array([[0.5, 0.2, 0.1], [0.3, 0.7, 0.2], [0.2, 0.1, 0.7]]), [1, 5, 9]
    assert risks(counts, design_of(P), [2, 5, 8]) is not None
    assert risks(counts, design_of(P), [2, 5, 9]) is None  # sixteen records of fifteen
    assert risks([1, 1], design_of(np.eye(2)), [2, 0]) is None  # nobody moves
    table = CellTable.of(["x"], {("a",): 1, ("b",): 5, ("c",): 9})
    plan = ReleasePlan.of([{"variables": "x", "method": "lowered", "match": "0.4"}], keys=["x"])
    stages = build_stages(plan, {("x",): table})
    for limit, is_told in ((module.STATES, True), (1, False)):
        monkeypatch.setattr(module, "STATES", limit)
        report = assess_risk(table, ["x"], stages, released=table)
        assert report.worst >= report.after.max_risk
        assert (report.after.max_risk_released_counts is not None) is is_told
        assert report.is_flagged("all-counts-not-covered") is not is_told
    assert risks(counts, design_of(P), [2, 5, 8]) is None
    table = CellTable.of(["x"], {("a",): 2, ("b",): 5, ("c",): 9})
    plan = ReleasePlan.of([{"variables": "x", "method": "swap", "base": "method1", "theta": "1/2"}], keys=["x"])
    after = assess_risk(table, ["x"], build_stages(plan, {("x",): table}), released=table).after
    assert after.max_risk_released_counts == after.max_risk_any_release
