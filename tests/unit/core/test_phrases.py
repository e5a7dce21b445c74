"""Numbers are printed alike whatever the last bits of a computation are."""

import math
import struct
from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwell.core.phrases import Printed, magnitude, round_down, round_up

BITS = 6
"""Last bits that may differ: sums of a few hundred terms taken in another order."""


def neighbours(value: float) -> list[float]:
    """The floats within 2**BITS steps of a value, on both sides."""
    (code,) = struct.unpack("<q", struct.pack("<d", value))
    return [struct.unpack("<d", struct.pack("<q", code + step))[0] for step in range(-(2**BITS), 2**BITS + 1)]


@pytest.mark.parametrize(
    ("half_way", "spec", "shown"),
    [
        (1.3125, ".3f", "1.313"),
        (0.125, ".2f", "0.13"),
        (0.145, ".0%", "15%"),
        (2.5, ".0f", "3"),
        (0.35, ".1g", "0.4"),
        (1234567.5, ",.0f", "1,234,568"),
        (1.25e-7, ".1e", "1.3e-07"),
        (99.95, ".3g", "100"),
        (9.5, "6.0f", "    10"),
    ],
)
def test_last_bits_do_not_decide_half_way(half_way: float, spec: str, shown: str) -> None:
    assert {format(Printed(value), spec) for value in neighbours(half_way)} == {shown}


def test_last_bits_would_decide_without_it_and_small_numbers_keep_their_sign() -> None:
    assert {f"{value:.3f}" for value in neighbours(1.3125)} == {"1.312", "1.313"}
    assert {math.ceil(1000 * value) for value in neighbours(0.3)} == {300, 301}
    assert [f"{Printed(x):.2f}" for x in (-1e-9, -0.004, -0.005, -0.006)] == ["0.00", "0.00", "-0.01", "-0.01"]
    assert f"{Printed(-1e-9):.2g}" == "-1e-09" and f"{Printed(-0.0):+.1f}" == "+0.0"


@given(st.decimals(-(10**6), 10**6, places=7, allow_nan=False), st.integers(0, 5))
def test_decimals_are_rounded_as_at_school(value: Decimal, places: int) -> None:
    rounded = value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    assert f"{Printed(value):.{places}f}" == f"{abs(rounded) if rounded == 0 else rounded:f}"


@given(st.floats(allow_nan=False), st.integers(0, 12), st.sampled_from("fge%"))
def test_what_is_shown_is_within_half_a_digit(value: float, digits: int, kind: str) -> None:
    spec = f".{digits}{kind}"
    plain, printed = format(value, spec), format(Printed(value), spec)
    if plain != printed and printed.strip("0.%e+") != "":
        near, far = (Decimal(text.rstrip("%")) for text in (plain, printed))
        exact = Decimal(value) * (100 if kind == "%" else 1)
        assert abs(far) > abs(near)
        assert abs(far - exact) <= abs(near - exact) * (1 + Decimal("1e-7") * 10 ** max(0, digits - 2))


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 1e300, 5e-324, 1e22])
@pytest.mark.parametrize("spec", ["", ",", ".3g", ".2f", ".1e", ".0%"])
def test_extreme_values_are_formatted_as_ever(value: float, spec: str) -> None:
    assert format(Printed(value), spec) == format(value, spec)


@pytest.mark.parametrize("places", [0, 1, 3])
@pytest.mark.parametrize("value", [0.3, 7.0, 0.001, 12.3, 1 / 3])
def test_bounds_are_not_moved_by_last_bits(value: float, places: int) -> None:
    assert len({round_up(one, places) for one in neighbours(value)}) == 1
    assert len({round_down(one, places) for one in neighbours(value)}) == 1


@given(st.floats(0, 1e6), st.integers(0, 6))
def test_bounds_are_on_their_side(value: float, places: int) -> None:
    low, high = round_down(value, places), round_up(value, places)
    assert low * (1 - 1e-8) <= value <= high * (1 + 1e-8)
    assert high - low <= 1.001 * 10.0**-places
    assert round_up(value + 1e-6 * (1 + value), places) >= value  # what differs by more than the slack is not forgiven


@pytest.mark.parametrize("power", range(-12, 13))
def test_last_bits_do_not_change_the_first_digit(power: int) -> None:
    assert {magnitude(value) for value in neighbours(10.0**power)} == {power}
    assert magnitude(9.99 * 10.0**power) == power
