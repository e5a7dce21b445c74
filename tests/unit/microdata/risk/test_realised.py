"""The risk of the very file that is released, against listing every way in which it can come about."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.support.together import together

from maskwell.core import CellTable
from maskwell.core.arguments import Real
from maskwell.designs.coded import CodedDesign
from maskwell.designs.dense import design_of
from maskwell.microdata import ReleasePlan
from maskwell.microdata.matrices import inverse_frequency, method1
from maskwell.microdata.risk import assess_risk
from maskwell.microdata.risk import released_counts as module
from maskwell.microdata.risk.arrivals import SparseArrivals
from maskwell.microdata.risk.released_counts import realised_risks
from maskwell.microdata.stages.stage_building import build_stages


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


def test_values_that_no_record_has_can_be_dealt_to() -> None:
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


def test_what_cannot_be_told_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
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
