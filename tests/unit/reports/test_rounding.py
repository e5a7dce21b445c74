"""What is printed neither sounds more private than it is, nor changes with the last bit of a computation."""

import math
from collections.abc import Callable
from fractions import Fraction

from tests.support.together import together

from maskwell import Demand
from maskwell.core.percentages import percent
from maskwell.reports.demand_words import asked, kept
from maskwell.reports.plain_words import average_promise, decimals_for, number
from maskwell.reports.text.release_words import bound_value


def around(value: float) -> list[float]:
    return [math.nextafter(value, -math.inf), value, math.nextafter(value, math.inf)]


ALIKE = [
    (lambda value: number(value, 4), 1.3125, "1.313"),
    (lambda value: percent(value, 1), 0.8375, "83.8"),
    (lambda value: percent(value, 0), 0.145, "15"),
    *((lambda value, name=name: bound_value(name, value), 3.0, "3") for name in ("parity", "odds", "factor")),
    (lambda value: bound_value("match", value), 0.3, "30\u00a0%"),
    (average_promise, 1.5, average_promise(1.5)),
]


@together(("shown", "value", "text"), ALIKE)
def test_the_last_bit_is_not_shown(shown: Callable[[float], str], value: float, text: str) -> None:
    assert {shown(near) for near in around(value)} == {text}


def test_ratios_and_chances_are_rounded_up() -> None:
    for name in ("parity", "odds", "factor"):
        assert (bound_value(name, 3.00004), bound_value(name, math.inf)) == ("3.001", "infinite")
    assert bound_value("match", 0.30000001) == "30.1\u00a0%"
    assert "1.501 times" in average_promise(1.50001)


def test_decimals_do_not_depend_on_a_bit_and_an_epsilon_is_shown_as_asked_for() -> None:
    assert {decimals_for([0.001 * (1 + step)]) for step in (-1e-14, 0, 1e-14)} == {1}
    assert asked(Demand.from_epsilon(1)).endswith("(ε = 1)")
    assert asked(Demand.from_epsilon("0.3")).endswith("(ε = 0.3)")
    assert kept(Fraction(9)).endswith("(ε = 2.198)") and kept(Fraction(10**600)).endswith("(ε = 1381.552)")
