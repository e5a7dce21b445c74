"""Merged rows of a matrix, and the one order of rows in which a design and its mirror image are alike."""

import random
import sys
from collections.abc import Callable
from fractions import Fraction
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.examples import EXAMPLES

from maskwell import Categories
from maskwell.designs import Dense
from maskwell.designs.proofs import is_transition, verify_garbling
from maskwell.designs.rational import product
from maskwell.designs.row_reduction import canonical_order, equivalent, reduce_rows, reduce_rows_near, reduction_of
from maskwell.errors import LabelError
from maskwell.procedures.statement_cards import warner

TENTH = Fraction(1, 10)
TWICE = [[3 * TENTH, TENTH], [3 * TENTH, TENTH], [4 * TENTH, 8 * TENTH]]


def test_the_printed_example_also_with_rows_of_zeros() -> None:
    merged = reduce_rows(TWICE)
    assert merged.rows == [[6 * TENTH, 2 * TENTH], [4 * TENTH, 8 * TENTH]]
    half = Fraction(1, 2)
    assert [[half, 0], [half, 0], [0, 1]] == merged.C
    assert merged.C_star == [[1, 1, 0], [0, 0, 1]]
    assert (merged.groups, merged.exact, merged.merged) == (((0, 1), (2,)), True, True)
    rows = [[Fraction(0)] * 2, *TWICE, [Fraction(0)] * 2]
    merged = reduce_rows(rows)
    assert merged.groups == ((1, 2), (3,))
    assert merged.C[0] == merged.C[-1] == [0, 0]
    assert verify_garbling(merged.C, merged.rows, rows)
    assert verify_garbling(merged.C_star, rows, merged.rows)


@pytest.mark.parametrize("name", [n for n, d in EXAMPLES.items() if d.m * d.k <= 1000])
def test_there_and_back_on_every_structure(name: str) -> None:
    rows = EXAMPLES[name].exact_matrix()
    merged = reduction_of(EXAMPLES[name])
    assert merged.exact
    assert is_transition(merged.C) and is_transition(merged.C_star)
    assert product(merged.C, merged.rows) == rows
    assert product(merged.C_star, rows) == merged.rows
    assert reduce_rows(merged.rows).rows == merged.rows
    assert equivalent(rows, merged.rows, rtol=0) and equivalent(rows, merged.rows)


def test_many_rows_take_work_in_proportion() -> None:
    rng = random.Random(1)
    rows = [[Fraction(rng.randint(1, 9)) for _ in range(4)] for _ in range(1600)]
    assert calls_of(lambda: reduce_rows(rows)) < 6 * calls_of(lambda: reduce_rows(rows[:400])), "four times the rows"


def calls_of(work: Callable[[], object]) -> int:
    """How many functions of Python are called."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


def test_near_rows_are_merged_only_when_asked_on_both_sides_of_any_grid_line() -> None:
    """Scaled by 1 + 5e-10 up and down, whatever the place: a grid of that size would split some of them."""
    third = Fraction(1 / 3)
    rows = [[third, 2 * third], [Fraction(2, 3), Fraction(4, 3)]]
    rows[1][0] += Fraction(1, 10**13)
    assert len(reduce_rows(rows).rows) == 2
    near = reduce_rows_near(rows)
    assert (len(near.rows), near.exact) == (1, False)
    off = product(near.C, near.rows)
    assert max(abs(a - b) for x, y in zip(off, rows, strict=True) for a, b in zip(x, y, strict=True)) < 1e-12
    assert reduce_rows_near(TWICE).exact
    for exponent in (20, 300, 400):
        rows = [[Fraction(1), Fraction(0)], [Fraction(1), Fraction(1, 10**exponent)]]
        assert len(reduce_rows_near(rows).rows) == 2
    for n in range(1, 400):
        share = Fraction(n, 401)
        rows = [[share + shift, 1 - share - shift] for shift in (0, share * Fraction(4, 10**10))]
        assert len(reduce_rows_near(rows).rows) == (1 if share * 4 <= (1 - share) * 10 else 2)


def test_equivalence_is_blind_to_order_splitting_and_rounding_unless_told_not_to() -> None:
    P = Dense.of([[0.4, 0.3, 0.3], [0.3, 0.4, 0.2], [0.3, 0.3, 0.5]]).exact_matrix()
    split = [[p / 3 for p in P[2]], P[0], [2 * p / 3 for p in P[2]], P[1], [Fraction(0)] * 3]
    assert equivalent(P, split, rtol=0) and equivalent(split, P)
    assert not equivalent(P, split[:-2], rtol=0)
    a, b = [Fraction(1, 4), Fraction(1, 2)], [Fraction(1, 2), Fraction(1, 4)]
    assert not equivalent([a, a, b], [a, b, b])
    assert equivalent([a, a, b], [b, [Fraction(1, 2), Fraction(1)]])
    near = [[a[0] * (1 + sign * Fraction(9, 10**10)), a[1]] for sign in (-1, 1)]  # near to a, not to each other
    assert not equivalent(near, [a, b]) and not equivalent([a, b], near)
    a = [[Fraction(1, 4), Fraction(1, 2)], [Fraction(3, 4), Fraction(1, 2)]]
    shift = Fraction(1, 10**11)
    b = [[a[0][0] + shift, a[0][1]], [a[1][0] - shift, a[1][1]]]
    assert equivalent(a, b) and not equivalent(a, b, rtol=0) and not equivalent(a, b, rtol=1e-12)


YES_NO = Categories.of(["yes", "no"])


@given(st.fractions(0, 1, max_denominator=20), st.fractions(0, 1, max_denominator=20))
def test_a_design_and_its_mirror_are_one(a: Fraction, b: Fraction) -> None:
    labels = Categories.of(["x", "y"])
    one = canonical_order(Dense.of([[a, b], [1 - a, 1 - b]], YES_NO, labels))
    other = canonical_order(Dense.of([[1 - a, 1 - b], [a, b]], YES_NO, labels))
    assert one.design.exact_matrix() == other.design.exact_matrix()
    if one.design.m == 2:
        first = one.design.exact_matrix()[0]
        assert first[0] >= first[1]


def test_rows_and_categories_are_ordered_with_ties_and_merging() -> None:
    """A report that never comes is dropped, one that only comes from the sensitive category is first."""
    P = [["0", "1/2"], ["0", "0"], ["1/2", "1/2"], ["1/2", "0"]]
    found = canonical_order(Dense.of(P, YES_NO, Categories.of(list("abcd"))))
    assert found.design.outputs.labels == ("d", "c", "a")
    assert found.reports == ((3,), (2,), (0,))
    P = [["1/10", "2/10"], ["2/10", "1/10"], ["4/10", "2/10"], ["3/10", "5/10"]]
    design = Dense.of(P, YES_NO, Categories.of(list("abcd")))
    assert canonical_order(design).design.outputs.labels == ("c", "b", "d", "a")
    merged = canonical_order(design, merge=True)
    assert merged.design.outputs.labels == (("b", "c"), "d", "a")
    assert merged.reports == ((1, 2), (3,), (0,))
    assert merged.design.exact_matrix()[0] == [Fraction(6, 10), Fraction(3, 10)]
    P = [["0.7", "0.1", "0.2"], ["0.2", "0.7", "0.1"], ["0.1", "0.2", "0.7"]]
    design = Dense.of(P, Categories.of(["a", "b", "c"]))
    found = canonical_order(design, most_sensitive_first=["c", "a", "b"])
    assert found.categories == (2, 0, 1)
    assert found.design.inputs.labels == ("c", "a", "b")
    assert [row[0] for row in found.design.exact_matrix()] == [Fraction(7, 10), Fraction(1, 5), Fraction(1, 10)]
    assert found.design.outputs.labels == ("c", "a", "b")
    swapped = canonical_order(warner("0.7"), most_sensitive_first=["no", "yes"])
    assert swapped.design.outputs.labels == ("no", "yes")


@pytest.mark.parametrize("order", [["a", "b"], ["a", "b", "b"], ["a", "b", "d"]])
def test_a_sensitivity_that_is_no_order_is_refused(order: list[str]) -> None:
    design = Dense.of([["0.5"] * 3, ["0.5"] * 3], Categories.of(["a", "b", "c"]), YES_NO)
    with pytest.raises(LabelError):
        canonical_order(design, most_sensitive_first=order)
