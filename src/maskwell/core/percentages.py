"""Shares and probabilities in percent: bounds are rounded to the safe side, other figures to the nearest digit."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from maskwell.core.exact import rounded
from maskwell.core.phrases import Printed, round_up

SPACE = "\u00a0"
MINUS = "\u2212"
NONE = "–"
DECIMALS_LIMIT = 6
TINY = Fraction(1, 10**7)


def percent(share: float, decimals: int = 1) -> str:
    """A share in percent, without the sign for percent; a dash where there is none."""
    if not math.isfinite(share):
        return NONE
    text = f"{Printed(100 * share):.{decimals}f}"
    if not text.startswith("-"):
        return text
    return text[1:] if float(text) == 0 else MINUS + text[1:]


def in_percent(share: float | None, decimals: int = 1) -> str:
    """The same with its sign; only a dash where the share is missing."""
    return NONE if share is None else f"{percent(share, decimals)}{SPACE}%"


def percent_bound(share: Fraction, *, up: bool) -> str:
    """A probability in percent as a bound: one decimal, two significant digits close to 0 and 100, at most six."""
    value = 100 * share
    edge = min(value, 100 - value)
    places = 1 if edge >= 1 or edge <= 0 else DECIMALS_LIMIT
    if Fraction(1, 10**DECIMALS_LIMIT) < edge < 1:
        places = min(DECIMALS_LIMIT, 1 - math.floor(math.log10(edge)))
    scaled = value * 10**places
    whole = math.ceil(scaled) if up else math.floor(scaled)
    text = f"{Decimal(whole).scaleb(-places):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def bound_in_percent(share: Fraction | float, *, up: bool) -> str:
    """The same with its sign; a float is the decimal it represents."""
    exact = share if isinstance(share, Fraction) else as_decimal(share)
    return f"{percent_bound(exact, up=up)}{SPACE}%"


def as_decimal(value: float) -> Fraction:
    """A probability as the decimal it represents, so that 0.1 is not rounded up to 10.1 percent."""
    return Fraction(f"{Printed(value):.12f}")


def tenths(share: Fraction | float, *, up: bool) -> str:
    """A share in percent for messages, to a tenth where it is not whole: rounded up, or to the nearest tenth."""
    if up:
        return f"{round_up(100 * float(share), 1):g} %"
    return f"{Printed(share):.1%}".replace(".0%", "%").replace("%", " %")


def percent_exact(share: Fraction) -> str:
    """A probability of a design: one decimal, or two digits where it is small, and nothing certain that is not."""
    if 0 < share < TINY:
        return rounded(100 * share, 2, up=False)
    if 1 - TINY < share < 1:
        return "nearly 100"
    edge = min(share, 1 - share)
    decimals = max(1, 1 - math.floor(math.log10(100 * edge))) if edge else 1
    return percent(float(share), decimals if share < Fraction(1, 2) or decimals > 2 else 1)
