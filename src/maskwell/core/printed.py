"""Numbers as they are printed: the last bit of a computation decides nothing.

A sum taken in another order differs in its last bits, and linear algebra orders its sums as the processor likes best.
Where a value lies half way between two that can be printed, such as 1.3125 with three decimals, those bits would decide
which of the two is shown. So values that close to half way are rounded away from zero, and bounds are not moved to the
next number by less than :data:`SLACK`.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

SLACK = 1e-9
"""Relative error of a computed number that does not change how it is printed. Exact fractions need none."""

_LEAST, _LARGEST = 1e-280, 1e280
_MOST_STEPS, _NEAR = 1e14, 0.01
_DEFAULT = 6
_DIGIT = re.compile("[1-9]")
_SPEC = re.compile(r"(?:\.(\d+))?([eEfFgG%])$")


class Printed(float):
    """A computed number, formatted as any float but for values half way, which are rounded away from zero; never -0.

    >>> below, above = 1.3125 - 2e-16, 1.3125 + 2e-16
    >>> [f"{value:.3f}" for value in (below, above)], [f"{Printed(value):.3f}" for value in (below, above)]
    (['1.312', '1.313'], ['1.313', '1.313'])
    >>> f"{Printed(-1e-17):.2f} {Printed(0.125):.1%} {Printed(2.5):.0f} {Printed(1e6 / 3):,.1f}"
    '0.00 12.5% 3 333,333.3'
    """

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        text = format(_off_half_way(float(self), spec), spec)
        nothing = math.isfinite(self) and not _DIGIT.search(text.lower().partition("e")[0])
        return format(0.0, spec) if nothing else text


def _off_half_way(value: float, spec: str) -> float:
    """The value itself, or the next one away from zero that the format can show where it lies half way to it."""
    digits, significant = _precision(spec)
    if digits is None or not _LEAST < abs(value) < _LARGEST:
        return value
    last = (math.floor(math.log10(abs(value))) + 1 if significant else 0) - digits
    steps = abs(value) / 10.0**last if last >= 0 else abs(value) * 10.0**-last
    whole = math.floor(steps)
    if steps > _MOST_STEPS or abs(steps - whole - 0.5) > min(SLACK * steps, _NEAR):
        return value
    return math.copysign((whole + 1) * 10.0**last if last >= 0 else (whole + 1) / 10.0**-last, value)


@lru_cache
def _precision(spec: str) -> tuple[int | None, bool]:
    """How many digits a format shows, and whether they are significant digits or places behind the point.

    >>> _precision(",.1f"), _precision("8.2%"), _precision(".3g"), _precision(".1e"), _precision(",")
    ((1, False), (4, False), (3, True), (2, True), (None, False))
    """
    found = _SPEC.search(spec)
    if found is None:
        return None, False
    digits, kind = int(found[1] or _DEFAULT), found[2].lower()
    return {"f": (digits, False), "%": (digits + 2, False), "e": (digits + 1, True), "g": (max(1, digits), True)}[kind]


def round_up(value: float, places: int) -> float:
    """The least number with so many decimals that is not below a computed value, but for its last bits.

    >>> round_up(0.5001, 3), round_up(0.5 + 1e-16, 3), round_up(0.5, 3)
    (0.501, 0.5, 0.5)
    """
    if not math.isfinite(value):
        return value
    scale = 10.0**places
    return math.ceil(value * scale - SLACK * abs(value) * scale) / scale


def round_down(value: float, places: int) -> float:
    """The greatest number with so many decimals that is not above a computed value, but for its last bits.

    >>> round_down(0.4999, 3), round_down(0.5 - 1e-16, 3)
    (0.499, 0.5)
    """
    return -round_up(-value, places) + 0.0


def magnitude(value: float) -> int:
    """The power of ten of the first digit of a computed value above 0: its last bits do not make 0.001 a 0.0009.

    >>> magnitude(0.001), magnitude(0.001 * (1 - 1e-15)), magnitude(99.0)
    (-3, -3, 1)
    """
    return math.floor(math.log10(value) + SLACK)
