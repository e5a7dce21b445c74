"""Right reports of many items are never said not to fit the design: the table has far more cells than reports.

The rule flags at one in thirty thousand, and calls p below 0.05 evidence. Here 60 tables of 16 items and 4 of 20
are drawn with fixed seeds from the design itself; not one may be flagged. With the bound that is used for sparse
tables, which holds for any shares, the chance that a right table is flagged is below one in a million each.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from maskwell.core import Categories
from maskwell.designs import Dense, Kronecker
from maskwell.estimation import Sample, estimate_by_moments

pytestmark = pytest.mark.statistical


@cache
def bits(items: int, keep: float) -> Kronecker:
    other = round(1 - keep, 4)
    return Kronecker.of([Dense.of([[keep, other], [other, keep]], Categories.of(["yes", "no"]))] * items)


def flags(items: int, keep: float, share: float, n: int, generator: np.random.Generator, wrong: float = 0) -> list[str]:
    """Of the estimate from n people who have each item with a chance ``share``; some answer the wrong way round."""
    truth = generator.random((n, items)) >= share
    follows = generator.random((n, items)) < keep - wrong
    codes = np.where(follows, truth, ~truth) @ (1 << np.arange(items)[::-1])
    design = bits(items, keep)
    sample = Sample.of(np.bincount(codes, minlength=design.m), design)
    return [flag for flag in estimate_by_moments(sample.counts, design).flags if _accuses(flag)]


def _accuses(flag: str) -> bool:
    return "do not fit the design" in flag or "not followed" in flag


@pytest.mark.parametrize("n", [40, 400, 4000])
@pytest.mark.parametrize(("keep", "share"), [(0.6, 0.3), (0.8, 0.05), (0.8, 0.5), (0.95, 0.2)])
def test_sixteen_items(n: int, keep: float, share: float) -> None:
    generator = np.random.default_rng([16, n, int(100 * keep), int(100 * share)])
    assert not any(flags(16, keep, share, n, generator) for _ in range(5))


@pytest.mark.parametrize(("n", "keep"), [(100, 0.8), (1000, 0.8), (1000, 0.6), (5000, 0.9)])
def test_twenty_items(n: int, keep: float) -> None:
    assert not flags(20, keep, 0.3, n, np.random.default_rng([20, n]))


@pytest.mark.parametrize(("items", "keep", "n"), [(1, 0.95, 30), (8, 0.8, 5000), (9, 0.8, 2000)])
def test_answers_that_nobody_has_are_evidence_no_more_often_than_stated(items: int, keep: float, n: int) -> None:
    """Nobody has any item: half of the estimates lie below zero. Evidence is p below 0.05; 40 tables, seed fixed.

    More than 8 of 40 have a chance below one in a thousand at a rate of 0.05.
    """
    generator = np.random.default_rng([items, n])
    assert sum(bool(flags(items, keep, 0.0, n, generator)) for _ in range(40)) <= 8


@pytest.mark.parametrize(("items", "n"), [(1, 400), (2, 800), (4, 6000)])
def test_people_who_answer_against_the_instructions_are_noticed(items: int, n: int) -> None:
    """The negative control: fewer reports of an answer that nobody has than the design makes by itself."""
    generator = np.random.default_rng([7, items])
    assert any("do not fit" in flag for flag in flags(items, 0.7, 0.0, n, generator, wrong=-0.25))
