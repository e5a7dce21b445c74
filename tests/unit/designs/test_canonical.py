"""Canonical order of reports and categories."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwell.core import Categories
from maskwell.designs import Dense
from maskwell.designs.row_reduction import canonical_order
from maskwell.errors import LabelError
from maskwell.procedures.statement_cards import warner

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


def test_never_and_always_ties_and_merging() -> None:
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


def test_categories_by_declared_sensitivity() -> None:
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
