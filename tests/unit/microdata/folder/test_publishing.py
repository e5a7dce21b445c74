"""Which matrices tell the counts of a file: those made from it, however rounded, reordered or hidden among others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from maskwell.core import Categories
from maskwell.designs import Dense, Sparse, Uniform
from maskwell.errors import PublishError
from maskwell.microdata import ReleasePlan
from maskwell.microdata.folder.matrix_disclosure import check_matrix, told
from maskwell.microdata.matrices import method1, sequential_uniform
from maskwell.microdata.stages.stage import Stage

MAKERS = {"method1": lambda counts: method1(counts, "1/2"), "sequential": sequential_uniform}


def rounded(P: Any, digits: int) -> Any:
    """To so many digits, with columns that still sum to one."""
    found = np.asarray(P, dtype=float).round(digits)
    for j in range(found.shape[1]):
        found[found[:, j].argmax(), j] += 1 - found[:, j].sum()
    return [[Fraction(f"{entry:.{digits}f}") for entry in row] for row in found]


def stage_of(P: Any, counts: Sequence[int], **changes: Any) -> Stage:
    """A matrix that was given, in a file with these counts."""
    states = [(f"s{i}",) for i in range(len(counts))]
    made = {"states": states, "outputs": states, "cells": np.zeros(len(counts), dtype=int), **changes}
    outputs = Categories.of([label for (label,) in made["outputs"]])
    return Stage(
        variables=("roof",),
        counts=np.array(counts),
        design=Dense.of(P, Categories.of([label for (label,) in states]), outputs),
        method="fixed",
        invariance="none",
        derived=False,
        **made,
    )


def tells(stage: Stage) -> bool:
    counts = stage.counts.astype(float)
    return told(stage, counts, counts) is not None


@pytest.mark.parametrize("digits", [2, 3, 4])
@pytest.mark.parametrize("counts", [(12, 8, 3), (758, 242), (620, 380), (40, 35, 25), (100, 101, 99)], ids=str)
@pytest.mark.parametrize("maker", MAKERS)
def test_two_digits_of_a_matrix_of_the_file_tell_its_counts(maker: str, counts: Sequence[int], digits: int) -> None:
    stage = stage_of(rounded(MAKERS[maker](counts).matrix(), digits), counts)
    plan = ReleasePlan.of([{"variables": "roof", "method": "uniform", "gamma": 3, "publish": "included"}])
    with pytest.raises(PublishError, match=r"the matrix of roof reveals .*true counts (to within [\d.]+|exactly)"):
        check_matrix(plan, stage)
    check_matrix(replace(plan, protections=(replace(plan.protections[0], publish="withheld"),)), stage)


@pytest.mark.parametrize(
    ("counts", "digits"), [((512, 301, 87, 14, 1), 2), ((51234, 30411, 10550, 203, 7), 3)], ids=str
)
def test_of_a_sequential_matrix_a_few_digits_tell_more_than_the_file(counts: Sequence[int], digits: int) -> None:
    assert tells(stage_of(rounded(sequential_uniform(counts).matrix(), digits), counts))


@pytest.mark.parametrize("n", [1_000, 20_000])
def test_matrices_from_elsewhere_are_hardly_ever_refused(n: int) -> None:
    """Seeded, 300 matrices; a fixed matrix meets the counts by chance in at most 2 %."""
    random, refused = np.random.default_rng(7), 0
    for _ in range(300):
        k = int(random.integers(2, 7))
        P = 0.7 * np.eye(k) + 0.3 * random.dirichlet(np.full(k, 0.5), k).T
        refused += tells(stage_of(rounded(P, 2), random.multinomial(n, random.dirichlet(np.full(k, 2.0))).tolist()))
    assert refused <= 6


def test_a_matrix_that_treats_its_states_alike_tells_nothing_of_counts_that_are_roughly_equal() -> None:
    symmetric = [["0.9", "0.1"], ["0.1", "0.9"]]
    assert not tells(stage_of(symmetric, [5020, 4980]))
    assert not tells(stage_of(symmetric, [52, 48]))
    assert tells(stage_of(symmetric, [50, 49]))  # within one: as before, somebody has to clear it
    uniform = replace(stage_of(symmetric, [50, 50]), design=Uniform.from_gamma(9, Categories.of(["s0", "s1"])))
    plan = ReleasePlan.of([{"variables": "roof", "method": "uniform", "gamma": 9, "publish": "included"}])
    check_matrix(plan, uniform)
    counts = [620, 300, 80]
    P = np.array(rounded(sequential_uniform(counts).matrix(), 2))
    mixed = stage_of(P[[2, 0, 1]].tolist(), counts, outputs=[("s2",), ("s0",), ("s1",)])
    assert tells(mixed)
    wider = stage_of([*P.tolist(), [0, 0, 0]], counts, outputs=[("s0",), ("s1",), ("s2",), ("other",)])
    assert tells(wider)


def trembling(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Least squares whose solutions are off by up to four units in the last place."""
    solve, generator = np.linalg.lstsq, np.random.default_rng(seed)

    def lstsq(*given: Any, **options: Any) -> Any:
        x, *rest = solve(*given, **options)
        return (x + generator.integers(-4, 5, x.shape) * np.spacing(np.abs(x).max()), *rest)

    monkeypatch.setattr(np.linalg, "lstsq", lstsq)


@pytest.mark.parametrize("seed", range(8))
def test_the_last_bits_of_a_solution_refuse_nothing_and_release_nothing(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    trembling(monkeypatch, seed)
    assert not tells(stage_of([["1/10", 0], ["9/10", 1]], (1, 60)))  # one record, none implied for any file
    assert tells(stage_of([["7/10", "3/10"], ["3/10", "7/10"]], (49, 51)))  # 50 each, off by exactly one
    assert not tells(stage_of([["7/10", "3/10"], ["3/10", "7/10"]], (48, 52)))


@pytest.mark.parametrize("seed", range(4))
def test_last_bits_do_not_part_equal_matrices(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Shares of 1023 and 1 of 1024 lie half way between two numbers of nine decimals."""
    leaving = Fraction(1, 2046)
    one = [[1 - leaving, 1023 * leaving], [leaving, 1 - 1023 * leaving]]
    every = blocks([one] * 12, [(1023 + i, 1 + i % 2) for i in range(12)])
    assert not tells(every)
    trembling(monkeypatch, seed)
    assert not tells(every)


def blocks(parts: Sequence[Any], counts: Sequence[Sequence[int]]) -> Stage:
    """One matrix for each of several cells."""
    size = sum(map(len, counts))
    P, at = np.full((size, size), Fraction(0), dtype=object), 0
    for part in parts:
        P[at : at + len(part), at : at + len(part)] = part
        at += len(part)
    return stage_of(P.tolist(), [n for own in counts for n in own])


def test_one_matrix_of_the_file_among_others_is_found() -> None:
    other = [["0.9", "0.4"], ["0.1", "0.6"]]
    counts = [[620, 380], [500, 500], [300, 700]]
    assert not tells(blocks([other] * 3, counts))
    derived = rounded(sequential_uniform(counts[0]).matrix(), 3)
    assert tells(blocks([derived, other, [["0.8", "0.1"], ["0.2", "0.9"]]], counts))
    # In cells of few records any matrix comes close somewhere; seeded.
    random = np.random.default_rng(3)
    counts = [random.multinomial(20, [0.5, 0.5]).tolist() for _ in range(100)]
    assert not tells(blocks([[["0.9", "0.2"], ["0.1", "0.8"]]] * 100, counts))
    total = np.sum(counts, axis=0)
    assert tells(blocks([rounded(method1(total, "0.9").matrix(), 4)] * 100, counts))


def test_many_states_are_looked_at_too() -> None:
    counts = np.random.default_rng(1).integers(1, 200, 150)
    P = (0.5 * np.eye(150) + 0.5 * sequential_uniform(counts).matrix()).round(5)
    P[np.arange(150), np.arange(150)] += 1 - P.sum(axis=0)
    states = [(f"s{i}",) for i in range(150)]
    made = Sparse.of_matrix(P.round(5), Categories.of([label for (label,) in states]))
    stage = Stage(
        variables=("roof",),
        states=states,
        outputs=states,
        counts=counts,
        design=made,
        cells=np.zeros(150, dtype=int),
        method="fixed",
        invariance="none",
        derived=False,
    )
    assert tells(stage)
    assert not tells(replace(stage, counts=counts[::-1].copy()))


CYCLE = [["0.75", "0", "0.5"], ["0.15", "0.8", "0"], ["0.1", "0.2", "0.5"]]
"""Keeps 4 : 3 : 2 on average, and no two states exchange equal numbers."""


@pytest.mark.parametrize("other", ["0", "0.05", "0.2", "0.5"])
def test_a_further_report_does_not_hide_that_the_other_ones_keep_the_counts(other: str) -> None:
    P = np.array([[Fraction(entry) for entry in row] for row in CYCLE])
    assert (P @ [4, 3, 2]).tolist() == [4, 3, 2]
    outputs = [("s0",), ("s1",), ("s2",), ("other",)]
    with_other = [*(P * (1 - Fraction(other))).tolist(), [Fraction(other)] * 3]
    assert tells(stage_of(with_other, (400, 300, 200), outputs=outputs))
    assert not tells(stage_of(with_other, (200, 400, 300), outputs=outputs))
