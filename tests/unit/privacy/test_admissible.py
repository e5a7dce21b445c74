"""Admissible or not, and why: the exact answer against the matrix written out, and the reasons in words."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.examples import ABC, EXAMPLES, YES_NO, numbered
from tests.support.together import together

from maskwell import Design
from maskwell.designs import Composed, Dense, Kronecker, Mixture, Sparse, Subset, Unary, Uniform
from maskwell.errors import TooLargeError
from maskwell.planning.improvement import improve
from maskwell.privacy.column_shapes import columns_sum_to_one, parity_of_rows, shapes
from maskwell.privacy.design_audit import audit
from maskwell.privacy.provable_claims import judged_rows, parts_of, why_not


def by_the_matrix(design: Design) -> bool:
    """The two conditions, row by row, with nothing merged: proportional rows pass or fail together."""
    rows = [row for row in design.exact_matrix() if any(row)]
    level = design.parity_exact()
    if isinstance(level, float):
        return all(sum(map(bool, row)) == 1 for row in rows)
    return all(len(set(row)) == 2 and max(row) == level * min(row) for row in rows)


@together("name", list(EXAMPLES))
def test_the_exact_answer_is_that_of_the_matrix(name: str) -> None:
    design = EXAMPLES[name]
    assert by_the_matrix(design) == (why_not(design) is None)
    assert design.is_admissible() or why_not(design) is not None
    assert columns_sum_to_one(EXAMPLES[name])
    assert parity_of_rows(EXAMPLES[name]) == EXAMPLES[name].parity_exact()


WITNESSED = [
    name
    for name, design in EXAMPLES.items()
    if why_not(design) is None and design.parity() < math.inf and not parts_of(design)
]


@together("name", WITNESSED)
def test_the_witnesses_make_up_the_matrix(name: str) -> None:
    """Summed over all rows and sets, the witnesses give every column its one."""
    design = EXAMPLES[name]
    level, k = Fraction(design.parity_exact()), design.k
    sums = [Fraction(0)] * k
    for row in judged_rows(design, level):
        if row.shape.sizes:
            share = Fraction(row.shape.sizes.start, k)
            sums = [x + row.weight * (1 + (level - 1) * share) for x in sums]
        else:
            sums = [x + row.weight * (level if j in row.shape.truths else 1) for j, x in enumerate(sums)]
    assert sums == [1] * k


def matrices(k: int, m: int) -> st.SearchStrategy[Dense]:
    """Designs of small integers, so that rows are often alike, impossible or of two values."""
    column = st.lists(st.integers(0, 3), min_size=m, max_size=m).filter(any)
    return st.lists(column, min_size=k, max_size=k).map(Dense.from_integers)


@settings(max_examples=75, deadline=None)
@given(st.integers(1, 4).flatmap(lambda k: st.integers(1, 5).flatmap(lambda m: matrices(k, m))))
def test_any_matrix(design: Dense) -> None:
    level = design.parity_exact()
    assert (why_not(design) is None) == (by_the_matrix(design) and design.k > 1 and level > 1)
    assert sorted(i for shape in shapes(design) for i in shape.rows) == list(range(design.m))
    assert max(shape.parity for shape in shapes(design)) == level
    for row in judged_rows(design, level):
        merged = [sum(design.exact_matrix()[i][j] for i in row.shape.rows) for j in range(design.k)]
        assert tuple(sorted(set(merged))) == row.shape.values
        assert row.shape.truths == tuple(j for j in range(design.k) if merged[j] == max(merged))


@together(
    ("design", "words"),
    [
        (Dense.of([["1/2", "1/4"], ["1/2", "3/4"]], YES_NO), "the report no has parity 1.5, below 2 (condition C1)"),
        (EXAMPLES["dense wide"], "the report yes takes 3 different values, not two (condition C2)"),
        (EXAMPLES["dense of rank one"], "the report yes is equally likely whatever the truth (condition C2)"),
        (EXAMPLES["l-diverse k=5 l=3"], "a report of 3 of 5 categories leaves 3 truths possible"),
        (EXAMPLES["rappor k=3"], "a report of 0 of 3 categories has parity 1, below 4 (condition C1)"),
        (EXAMPLES["kronecker of two"], "parts 1 and 2 both say something"),
        (EXAMPLES["kronecker of one"], "in part 1, the report a has parity 4, below 7 (condition C1)"),
        (EXAMPLES["blocks of two"], "in part 1, a report leaves 2 truths possible"),
        (Mixture.of(0, ["1/2", 0, "1/2"], ABC), "the report a is equally likely whatever the truth (condition C2)"),
    ],
)
def test_the_reason_in_words(design: Design, words: str) -> None:
    reason = why_not(design)
    assert reason is not None
    assert words in reason


def test_merged_rows_are_named_and_decimals_judged_within_rounding() -> None:
    design = Dense.of([["1/3", "1/6"], [0, 0], ["1/6", "1/3"], ["1/3", "1/6"], ["1/6", "1/3"]])
    assert why_not(design) is None
    rows = list(judged_rows(design, Fraction(2)))
    assert [row.shape.rows for row in rows] == [(0, 3), (2, 4)]
    assert [shape.rows for shape in shapes(design) if not shape.is_possible] == [(1,)]
    assert rows[0].witness() == {"rows": [0, 3], "set": [0], "weight": "1/3"}
    nearly = Dense.of([["0.666666666666", "1/3"], ["0.333333333334", "2/3"]])
    assert nearly.is_admissible()
    assert why_not(nearly) is not None
    fractions = Dense.of(nearly.exact_matrix())
    assert not fractions.is_admissible(), "no tolerance enters a statement about fractions"
    assert audit(fractions).to_dict()["admissible"] is audit(fractions).to_dict()["admissible_exactly"] is False
    rows = np.array([[1e12, 1000, 1], [1, 1e12, 1000], [1000, 1, 1e12]])
    design = Dense.of(rows / rows.sum(axis=0))
    assert design.decimals
    assert not design.is_admissible()
    assert improve(design).improved
    for gamma in (1 + 1e-9, 1.0001, 2, 1e6, 1e12):
        design = Dense.of((np.ones((3, 3)) + np.eye(3) * (gamma - 1)) / (gamma + 2))
        assert design.is_admissible(), gamma
        assert not improve(design).improved, gamma


@together("gamma", [2 * 10**8, 10**12, 10**16, 10**40])
@together("middle", [2, 1000, Fraction(3, 2), 1 + Fraction(1, 10**20)])
@together("make", [Dense.of, Sparse.of_matrix])
def test_a_middle_value_is_seen_however_large_gamma_is(
    gamma: int, middle: Fraction, make: Callable[..., Design]
) -> None:
    """Rows of the values 1, middle and gamma, which a relative tolerance takes for two values."""
    rows = [[gamma, middle, 1], [1, gamma, middle], [middle, 1, gamma]]
    design = make([[Fraction(x) / (gamma + middle + 1) for x in row] for row in rows])
    assert design.parity_exact() == gamma
    assert not design.is_admissible()
    assert audit(design).to_dict()["admissible"] is False
    found = improve(design)
    assert found.improved
    assert found.design.is_admissible()
    two = make([[Fraction(gamma if i == j else 1, gamma + 2) for j in range(3)] for i in range(3)])
    assert two.is_admissible()
    assert not improve(two).improved


def test_large_designs_are_judged_by_formula() -> None:
    million = numbered(10**6)
    assert why_not(Subset.from_gamma(3, million, size=250_000)) is None
    assert why_not(Uniform.from_gamma(3, million)) is None
    assert why_not(Unary.rappor_from_gamma(3, million)) is not None
    assert why_not(Kronecker.of([Uniform.from_gamma(3, numbered(1000))] * 3)) is not None
    assert why_not(Composed.of(*[Uniform.from_gamma(3, numbered(2000))] * 2)) is None
    with pytest.raises(TooLargeError):
        why_not(Composed.of(*[Mixture.of("1/2", ["1/4000"] * 2000, numbered(2000))] * 2))
