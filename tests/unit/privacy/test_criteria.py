"""Demands: one number in many languages, never above what was asked."""

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from maskwell import Demand
from maskwell.errors import ParameterError
from maskwell.privacy.criteria import DEMANDS, in_every_language


def test_each_language_gives_its_bound_and_never_more_than_a_float_or_its_text():
    assert Demand.from_gamma("5/2").gamma_exact == Fraction(5, 2)
    assert Demand.from_beta(4).gamma_exact == Demand.from_bayes_factor(4).gamma_exact == 4
    assert Demand.from_rho("0.1", "0.5").gamma_exact == 9
    assert float(Demand.from_epsilon(1).gamma_exact) == pytest.approx(math.e, rel=1e-15)
    assert set(DEMANDS) == {"gamma", "epsilon", "beta", "bayes_factor", "rho"}
    for value in (1.1, 2.3, 2.7, 3.3000000000000003):
        bound = Demand.from_gamma(value).gamma_exact
        assert bound <= Fraction(value) and bound <= Fraction(repr(value))
    assert Demand.from_gamma(1).gamma_exact == 1 and Demand.from_epsilon(0).gamma_exact == 1


def test_rho_pairs_undo_themselves():
    for low, high in in_every_language(Fraction(9))["rho"]:
        back = Demand.from_rho(Fraction(low).limit_denominator(1000), high).gamma_exact
        assert float(back) == pytest.approx(9, rel=1e-9)


@pytest.mark.parametrize("make", [Demand.from_gamma, Demand.from_beta, Demand.from_bayes_factor])
@pytest.mark.parametrize("value", [0.5, "nan", float("nan"), float("inf"), -3, "much"])
def test_bad_ratios(make, value):
    with pytest.raises(ParameterError) as caught:
        make(value)
    assert str(value) in caught.value.message and caught.value.hint


@pytest.mark.parametrize(
    ("make", "message", "hint"),
    [
        (lambda: Demand.from_rho("10%", "50%"), "rho1 = '10%' is not a finite number", "0.1 for 10 %"),
        (lambda: Demand.from_rho(10, 50), "rho1 = 10 is not strictly between 0 and 1", "write 0.1 0.5"),
        (lambda: Demand.from_rho(0.1, 1), "rho2 = 1 is not strictly between 0 and 1", "such as 0.1 0.5"),
        (lambda: Demand.from_rho("0.2", "0.2"), "rho1 = 0.2 is not below rho2 = 0.2", "rho1 < rho2"),
    ],
)
def test_what_to_write_instead(make: Callable[[], Demand], message: str, hint: str) -> None:
    with pytest.raises(ParameterError) as raised:
        make()
    assert raised.value.message == message
    assert hint in raised.value.hint
