"""Bounds: read exactly, checked once."""

from __future__ import annotations

from fractions import Fraction

import pytest

from maskwell.errors import ParameterError, WrongTypeError
from maskwell.microdata.matrices import Bounds


def test_numbers_are_read_exactly() -> None:
    bounds = Bounds.of(posterior=0.1, odds="1/3", match=None, caps={4: 0.3})
    assert bounds.asked() == {"posterior": Fraction(1, 10), "odds": Fraction(1, 3)}
    assert bounds.caps == {4: Fraction(3, 10)}
    assert bounds.to_dict() == {"posterior": "0.1", "odds": "1/3", "caps": {"4": "0.3"}}


def test_no_bound_is_false() -> None:
    assert not Bounds()
    assert Bounds.of(caps={0: 1})
    assert Bounds.of(least_kept=0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("posterior", 0),
        ("posterior", "1.01"),
        ("posterior_own", -1),
        ("odds", 0),
        ("guess", 0),
        ("guess", 2),
        ("factor", "0.99"),
        ("parity", 0.5),
        ("least_kept", "1.5"),
        ("changed_at_most", 70),
        ("changed_at_least", -0.1),
        ("match", 0),
    ],
)
def test_out_of_range_names_the_bound(name: str, value: float | str) -> None:
    with pytest.raises(ParameterError, match=name) as caught:
        Bounds.of(**{name: value})
    assert "give a number" in caught.value.hint


def test_cap_out_of_range_names_the_state() -> None:
    with pytest.raises(ParameterError, match="state 3"):
        Bounds.of(caps={3: 1.5})


def test_unknown_bound_lists_those_that_exist() -> None:
    with pytest.raises(ParameterError, match="beta") as caught:
        Bounds.of(beta=0.5)
    assert all(name in caught.value.hint for name in Bounds.names())


def test_not_a_number() -> None:
    with pytest.raises(ParameterError, match="posterior"):
        Bounds.of(posterior="high")
    with pytest.raises(WrongTypeError, match="posterior"):
        Bounds.of(posterior=True)


def test_changed_at_least_above_at_most() -> None:
    with pytest.raises(ParameterError, match="changed_at_least"):
        Bounds.of(changed_at_least=0.5, changed_at_most=0.4)


def test_a_cap_takes_the_place_of_the_bounds_on_own_values_only() -> None:
    bounds = Bounds.of(posterior="0.9", posterior_own="0.8", odds=3, caps={1: 0.5, 2: 1})
    assert [bounds.own(i) for i in range(3)] == [Fraction(3, 4), Fraction(1, 2), Fraction(9, 10)]


def test_one_bound_replaced() -> None:
    bounds = Bounds.of(posterior="0.9", odds=3)
    assert bounds.with_bound("odds", None) == Bounds.of(posterior="0.9")
