"""Numbers without rounding."""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.quiet import told

from maskwell.core.exact import (
    all_from_digits,
    all_to_digits,
    as_fraction,
    check_probability,
    common_denominator,
    exp_below,
    floor_to,
    from_digits,
    from_text,
    log_of,
    resolution,
    root_below,
    safe_below,
    to_digits,
    to_text,
)
from maskwell.errors import MaskwellError, ParameterError, WrongTypeError

thorough = settings(deadline=None, derandomize=True, max_examples=50)


def test_a_number_is_read_as_it_was_meant() -> None:
    texts = [("1/6", "1/6"), (" 1/6 ", "1/6"), ("0.25", "1/4"), ("1e-3", "1/1000")]
    numbers = [(0.1, "1/10"), (5e-324, "5e-324"), (np.int64(3), 3), (Decimal("0.1"), "1/10"), (-0.0, 0)]
    for given_number, meant in [*texts, *numbers, (Fraction(2, 6), "1/3")]:
        assert as_fraction(given_number) == Fraction(meant)
        assert type(as_fraction(given_number).numerator) is int


@thorough
@given(st.floats(min_value=-1e300, max_value=1e300))
def test_safe_below_exceeds_neither_reading_of_a_float(x: float) -> None:
    assert safe_below(x) == min(Fraction(x), Fraction(repr(x)))
    assert float(safe_below(x)) == x


def exp_of(epsilon: Fraction, digits: int = 130) -> Fraction:
    """e**epsilon to many digits, rounded down."""
    context = Context(prec=digits, Emax=10**8, Emin=-(10**8))
    with localcontext(context):
        value = (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()
    return Fraction(value) * (1 - Fraction(1, 10 ** (digits - 10)))


@pytest.mark.parametrize(
    "epsilon",
    ["1e-50", "1e-20", "1e-6", "0.001", "1/3", "0.1", "0.5", "1", "2.302585092994046", "10", "50", "333.3", "700"],
)
def test_exp_below_is_below_and_close(epsilon: str) -> None:
    exponent = Fraction(epsilon)
    bound, exact = exp_below(exponent), exp_of(exponent)
    assert bound < exact
    assert 1 - bound / exact < Fraction(1, 10**50)
    assert bound >= 1


@thorough
@given(st.fractions(min_value=0, max_value=100, max_denominator=10**30))
def test_exp_below_never_exceeds(epsilon: Fraction) -> None:
    assert exp_below(epsilon) <= exp_of(epsilon) or epsilon == 0
    assert exp_below(Fraction(0)) == 1


@thorough
@given(
    st.fractions(min_value=1, max_value=10**40, max_denominator=10**20),
    st.integers(min_value=1, max_value=7),
    st.integers(min_value=0, max_value=200),
)
def test_root_below_is_the_largest_that_does_not_exceed(value: Fraction, degree: int, places: int) -> None:
    root = root_below(value, degree, places)
    assert root**degree <= value < (root + Fraction(1, 1 << places)) ** degree
    assert (1 << places) % root.denominator == 0


@thorough
@given(st.fractions(min_value=0, max_value=1), st.integers(min_value=0, max_value=130))
def test_floor_to_is_the_largest_that_does_not_exceed(value: Fraction, bits: int) -> None:
    low = floor_to(value, bits)
    assert low <= value < low + Fraction(1, 1 << bits)
    assert (1 << bits) % low.denominator == 0


def test_resolution_is_whole_words_and_grows_with_gamma() -> None:
    for k in (2, 1000, 10**6, 2**32 - 1):
        powers = range(1, 1010, 10)
        bits = [resolution(Fraction(2) ** power, k) for power in powers]
        assert all(b % 32 == 0 for b in bits)
        assert bits == sorted(bits)
        assert all(b - power - k.bit_length() >= 34 for b, power in zip(bits, powers, strict=True))


@pytest.mark.parametrize(
    ("value", "logarithm"),
    [
        (1 + Fraction(1, 10**40), 1e-40),
        (Fraction(3 * 10**400 + 1, 10**400), math.log(3)),
        (Fraction(10**400), 400 * math.log(10)),
        (Fraction(10**5000, 3), 5000 * math.log(10) - math.log(3)),
        (Fraction(10**400 + 1, 10**400), 0.0),
    ],
)
def test_logarithms_of_long_fractions(value: Fraction, logarithm: float) -> None:
    assert math.isclose(log_of(value), logarithm, rel_tol=1e-14, abs_tol=1e-300)


@thorough
@given(st.lists(st.fractions(max_denominator=10**6), min_size=1, max_size=8))
def test_common_denominator_is_the_smallest(values: list[Fraction]) -> None:
    d = common_denominator(values)
    assert all((v * d).denominator == 1 for v in values)
    assert math.gcd(d, *(int(v * d) for v in values)) == 1 or any(v.denominator > 1 for v in values)
    assert not any(all((v * (d // p)).denominator == 1 for v in values) for p in (2, 3, 5, 7) if d % p == 0)


@pytest.mark.parametrize(
    "text", ["2/4", "03", "3/1", "1/0", "0/5", "-1", "+1", "", "/", "1/", "1/-2", " 1", "1.5", "inf", "١", None, 3, 0.5]
)
def test_exact_text_is_read_in_one_way_only(text: Any) -> None:
    with pytest.raises(ValueError, match="is not"):
        from_text(text)


@given(st.fractions(min_value=0))
@thorough
def test_exact_text_is_read_back(value: Fraction) -> None:
    assert from_text(to_text(value)) == value
    assert from_text(to_text(value * 10**5000)) == value * 10**5000


def test_exact_integers_of_documents_have_bounds() -> None:
    assert len(to_digits(from_digits("7" * 10_000))) == 10_000
    with pytest.raises(ValueError, match="10,000 digits"):
        from_digits("7" * 10_001)
    for texts in (["1", 2], ["1", ""], ["1", "-2"], ["1", "٣"], "12", None, ["1", "1_0"], ["1", " 1"]):
        with pytest.raises(ValueError, match="digits"):
            all_from_digits(texts)
    assert all_from_digits(["0", "7" * 700]) == [0, int("7" * 700)]
    assert all_to_digits([0, 10**5000])[1] == "1" + "0" * 5000


NOT_FINITE = ["nan", "inf", "abc", "", "1/0", "1/2/3", math.nan, math.inf, Decimal("NaN"), Decimal("Infinity")]
OTHER_DIGITS = ["١/٣", "１２", "0x10", "1e", "--1", "1/-2", "½"]
HUGE = ["1e1000000000", "-2.5E-1_000_000_000", Decimal("1e1000000"), "1e+0100000", "1e1001", "1e" + "9" * 900]
LONG = ["1" * 1001, f"1/{'3' * 1001}", f"0.{'0' * 1001}1"]


@pytest.mark.parametrize(
    ("error", "said", "given"),
    [
        (ParameterError, "gamma must be a finite number, not", [*NOT_FINITE, *OTHER_DIGITS]),
        (ParameterError, "gamma = .* has an exponent above", HUGE),
        (ParameterError, r"gamma .*digits", LONG),
        (WrongTypeError, "gamma must be a number, not", [None, True, False, 1j, [1], b"1", np.array([1]), object()]),
    ],
)
def test_what_is_no_number_is_refused(error: type[MaskwellError], said: str, given: list[Any]) -> None:
    for bad in given:
        with told(error, match=said) as raised:
            as_fraction(bad, "gamma")
        assert len(raised.value.message) < 100


def test_what_is_no_probability_is_refused() -> None:
    assert check_probability(0, "truth") == 0 and check_probability(1, "truth") == 1
    for bad in (-1e-12, 1.0000001, 2, "3/2", -1):
        with told(ParameterError, match=f"truth must be .*, not {bad}"):
            check_probability(bad, "truth")
    for end in (0, 1):
        with told(ParameterError, match=str(end)) as raised:
            check_probability(end, "p", open_=True)
        assert "strictly between" in raised.value.message
    with told(ParameterError, match="p must be between 0 and 1, not 70") as raised:
        check_probability(70, "p")
    assert "0.7" in raised.value.hint
