"""Numbers, labels and lines of text reports."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwell.reports import tables

positive = st.fractions(min_value=Fraction(1, 10**30), max_value=10**30)


@given(positive, st.integers(2, 12))
def test_bounds_enclose_a_number_closely(value: Fraction, digits: int) -> None:
    low, high = (Fraction(tables.rounded(value, digits, up=up)) for up in (False, True))
    assert low <= value <= high
    assert high - low <= value * Fraction(10) ** (1 - digits)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Fraction(0), "0"),
        (Fraction(9), "9"),
        (Fraction(1, 2), "0.5"),
        (Fraction(1200000), "1200000"),
        (Fraction(1, 10**4), "0.0001"),
        (Fraction(1, 10**9), "1e-09"),
        (Fraction(10**400), "1e+400"),
        (math.inf, "infinite"),
    ],
)
def test_exact_numbers_are_shown_as_they_are(value: Fraction | float, shown: str) -> None:
    assert tables.rounded(value, 6, up=False) == tables.rounded(value, 6, up=True) == shown


def test_a_finite_parity_is_never_called_infinite() -> None:
    assert tables.parity_text(Fraction(10**400) / 3, 4) == "3.334e+399"
    assert tables.parity_text(math.inf) == "infinite"


def test_sets_need_no_quotes() -> None:
    assert tables.label("{a, b}") == "{a, b}"
    assert tables.label("{a}, b") == '"{a}, b"'


def test_a_label_with_a_line_break_stays_on_its_line() -> None:
    lines = tables.table(["label", "n", "of"], [["on two\nlines", "1", "a\tb"]])
    assert lines == ["  label         n   of", "  on two lines  1  a b"]
