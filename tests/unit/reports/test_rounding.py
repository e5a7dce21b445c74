"""What is printed neither sounds more private than it is, nor changes with the last bit of a computation."""

import math
from fractions import Fraction

import pytest

from maskwell.core.percentages import percent
from maskwell.privacy import Demand
from maskwell.reports.demand_words import asked, kept
from maskwell.reports.plain_words import average_promise, decimals_for, number
from maskwell.reports.text.release_words import bound_value


def around(value: float) -> list[float]:
    return [math.nextafter(value, -math.inf), value, math.nextafter(value, math.inf)]


def test_a_tie_is_shown_alike() -> None:
    assert {number(value, 4) for value in around(1.3125)} == {"1.313"}
    assert {percent(value, 1) for value in around(0.8375)} == {"83.8"}
    assert {percent(value, 0) for value in around(0.145)} == {"15"}


@pytest.mark.parametrize("name", ["parity", "odds", "factor"])
def test_ratios_are_rounded_up(name: str) -> None:
    assert bound_value(name, 3.00004) == "3.001"
    assert {bound_value(name, value) for value in around(3.0)} == {"3"}
    assert bound_value(name, math.inf) == "infinite"


def test_chances_are_rounded_up_but_not_for_a_bit() -> None:
    assert {bound_value("match", value) for value in around(0.3)} == {"30\u00a0%"}
    assert bound_value("match", 0.30000001) == "30.1\u00a0%"


def test_average_security_is_not_moved_by_a_bit() -> None:
    assert {average_promise(value) for value in around(1.5)} == {average_promise(1.5)}
    assert "1.501 times" in average_promise(1.50001)


def test_decimals_do_not_depend_on_a_bit() -> None:
    assert {decimals_for([0.001 * (1 + step)]) for step in (-1e-14, 0, 1e-14)} == {1}


def test_an_epsilon_as_asked_for_is_shown_as_it_was() -> None:
    assert asked(Demand.from_epsilon(1)).endswith("(ε = 1)")
    assert asked(Demand.from_epsilon("0.3")).endswith("(ε = 0.3)")
    assert kept(Fraction(9)).endswith("(ε = 2.198)") and kept(Fraction(10**600)).endswith("(ε = 1381.552)")
