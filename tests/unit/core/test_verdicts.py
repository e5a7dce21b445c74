"""Verdicts are the same whatever the last bits of a computation are."""

import math
import operator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwell.core.verdicts import (
    above,
    at_least,
    at_most,
    below,
    ceil_of,
    floor_of,
    is_inside,
    is_outside,
    largest,
    ranked,
    tied,
)

COMPARISONS = {at_most: operator.le, below: operator.lt, at_least: operator.ge, above: operator.gt, tied: operator.eq}
SIZES = st.floats(1e-300, 1e300)


def moved(value: float, steps: int) -> float:
    """A float so many units in the last place away."""
    for _ in range(abs(steps)):
        value = math.nextafter(value, math.copysign(math.inf, steps))
    return value


@given(SIZES, st.integers(-8, 8), st.sampled_from([-1, 1]))
def test_last_bits_do_not_decide(limit: float, steps: int, sign: int) -> None:
    value = sign * moved(limit, steps)
    for comparison, exactly in COMPARISONS.items():
        assert comparison(value, sign * limit) == exactly(0, 0)


@given(SIZES, st.sampled_from([1 + 3e-9, 1 - 3e-9]))
def test_what_differs_is_told_apart(limit: float, factor: float) -> None:
    for comparison, exactly in COMPARISONS.items():
        assert comparison(limit * factor, limit) == exactly(factor, 1)


@given(st.fractions(), st.fractions())
def test_fractions_are_compared_exactly(value: Fraction, limit: Fraction) -> None:
    for comparison, exactly in COMPARISONS.items():
        assert comparison(value, limit) == exactly(value, limit)
        assert comparison(limit + Fraction(1, 10**30), limit) == exactly(1, 0)


@given(st.lists(st.sampled_from([0.0, -1e-17, 1, 1 - 1e-16, 1.1, -1.0, math.inf, -math.inf, math.nan]), min_size=1))
def test_arrays_give_what_single_numbers_give(values: list[float]) -> None:
    for comparison in COMPARISONS:
        for limit in (0.0, 1.0, math.inf, Fraction(1)):
            for scale in (0.0, 1.0):
                single = [comparison(value, limit, scale=scale) for value in values]
                assert comparison(np.array(values), limit, scale=scale).tolist() == single


def test_integers_infinities_and_plain_bools_for_single_numbers() -> None:
    n = np.array([10**15, 10**15 + 1])
    assert above(n, 10**15).tolist() == [False, True]
    assert at_most(n, np.array([10**15, 10**15])).tolist() == [True, False]
    assert below(n[0], 10**15 + 1)
    assert tied(math.inf, math.inf)
    assert above(math.inf, 1e308)
    assert below(-math.inf, math.inf)
    assert above(Fraction(10**400), 1.0)
    assert not any(comparison(math.nan, 1.0) or comparison(1.0, math.nan) for comparison in COMPARISONS)
    rest = 1 - 0.9 - 0.1
    assert rest != 0
    assert above(abs(rest), 0)
    assert tied(rest, 0, scale=1)
    for value in (1, 1.0, Fraction(1), np.int64(1), np.float64(1), np.float32(1)):
        assert at_most(value, 1) is True
        assert below(value, 1.0) is False


@pytest.mark.parametrize("whole", [1, 5, 47, 10**6, 10**12])
def test_whole_numbers_do_not_hang_on_last_bits(whole: int) -> None:
    assert {ceil_of(moved(float(whole), steps)) for steps in range(-8, 9)} == {whole}
    assert {floor_of(moved(float(whole), steps)) for steps in range(-8, 9)} == {whole}
    assert (ceil_of(whole + 0.02), floor_of(whole - 0.02)) == (whole + 1, whole - 1)
    assert ceil_of(whole + Fraction(1, 10**30)) == whole + 1


@pytest.mark.parametrize("seed", range(3))
def test_orders_and_largest_numbers_do_not_hang_on_last_bits(seed: int) -> None:
    values = np.repeat([0.3, 1.7, 0.1, 1.7, 0.3], 40)
    moved = values + np.random.default_rng(seed).integers(-4, 5, len(values)) * np.spacing(values)
    assert ranked(moved).tolist() == np.argsort(-values, kind="stable").tolist()
    assert largest(moved) == 40
    assert ranked(np.zeros(0)).tolist() == []


@pytest.mark.parametrize(("end", "beyond"), [(0.0, -1.0), (1.0, 1.0)])
def test_a_share_of_exactly_0_or_1_is_neither_inside_nor_outside(end: float, beyond: float) -> None:
    near = np.array([end - 4e-16, end, end + 4e-16])
    assert not is_inside(near).any()
    assert not is_outside(near).any()
    assert is_outside(end + 1e-6 * beyond) and is_inside(end - 1e-6 * beyond)
