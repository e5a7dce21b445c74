import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from maskwell.core.exact import rounded
from maskwell.core.percentages import SPACE, percent_bound
from maskwell.privacy.criteria import posterior_range
from maskwell.reports import plain_words

parities = st.fractions(min_value=1, max_value=10**9, max_denominator=10**6)
shares = st.fractions(min_value=0, max_value=1, max_denominator=10**9)


@given(parities)
def test_a_factor_is_never_shown_too_small(parity: Fraction) -> None:
    shown = Fraction(plain_words.factor_up(parity).replace(",", ""))
    assert parity <= shown <= parity * Fraction(1011, 1000)


@given(parities)
def test_a_demanded_factor_is_never_shown_too_large(gamma: Fraction) -> None:
    shown = Fraction(plain_words.factor_down(gamma).replace(",", ""))
    assert gamma * Fraction(989, 1000) <= shown <= gamma


def test_what_is_done_and_what_is_allowed_have_the_same_digits() -> None:
    assert (plain_words.factor_up(Fraction(8, 3)), plain_words.factor_down(Fraction(8, 3))) == ("2.667", "2.666")
    assert (plain_words.factor_up(Fraction(99999, 10)), plain_words.factor_down(Fraction(99999, 10))) == (
        "9,999.9",
        "9,999.9",
    )
    assert (plain_words.factor_up(Fraction(10**400)), plain_words.factor_down(Fraction(10**400))) == (
        "1.00e+400",
        "1.00e+400",
    )


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**30), st.integers(2, 12))
def test_bounds_enclose_a_number_closely(value: Fraction, digits: int) -> None:
    low, high = (Fraction(rounded(value, digits, up=up)) for up in (False, True))
    assert low <= value <= high and high - low <= value * Fraction(10) ** (1 - digits)


@given(shares)
def test_bounds_enclose_the_share(share: Fraction) -> None:
    low, high = percent_bound(share, up=False), percent_bound(share, up=True)
    assert Fraction(low) <= 100 * share <= Fraction(high) <= 100
    assert Fraction(high) - Fraction(low) <= Fraction(1, 10)


@given(parities, shares)
def test_ranges_are_rounded_towards_less_privacy(parity: Fraction, prior: Fraction) -> None:
    low, high = posterior_range(parity, prior)
    _, least, most = plain_words.range_in_words(parity, prior)
    assert Fraction(least) <= 100 * low and Fraction(most) >= 100 * high


def test_a_promise_names_the_factor_in_words_that_are_literally_true() -> None:
    assert "at most a factor of 2.719" in plain_words.promise(Fraction(271828, 100000))
    assert "factor" not in plain_words.promise(math.inf)
    assert "2.719 × 2.719 ≈ 7.39" in plain_words.repetition(Fraction(2718281, 1000000))
    assert "999 × 999 = 998,001." in plain_words.repetition(Fraction(999))
    assert "1,234 × 1,234 ≈ 1.53e+6." in plain_words.repetition(Fraction(1234))
    said = [
        plain_words.promise(Fraction(3)),
        plain_words.promise(math.inf),
        plain_words.concrete(Fraction(3), Fraction(1, 10)),
    ]
    assert not any(word in text.lower() for text in said for word in ("anonym", "safe", "secure"))
    assert plain_words.range_in_words(Fraction(10) ** 400, Fraction(1, 10)) == ("10", "0", "100")


@given(st.fractions(1, 100, max_denominator=1000), shares, shares, st.booleans())
def test_a_promise_about_one_suspicion_is_true_as_it_is_written(
    parity: Fraction, rho1: Fraction, rho2: Fraction, agreed: bool
) -> None:
    said = plain_words.rho_promise(parity, rho1, rho2 if agreed else None).replace(SPACE, " ")
    before, after = (Fraction(part.split()[-1]) / 100 for part in said.split(" %")[:2])
    assert before <= rho1 and posterior_range(parity, before)[1] <= after
