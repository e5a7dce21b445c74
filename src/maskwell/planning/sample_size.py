"""From variance to error and back: margins of estimated shares, and how many respondents they need.

With ``v = n Var(pi_hat_j)`` and the normal quantile z of a level,

    margin = z sqrt(v / n),      n = ceil(z^2 v / margin^2)

Source: derived from the covariance [NayakZhangAdeshiyan2016, eq. (1.3)], intervals as ``estimate`` gives them.
"""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from maskwell.core.arguments import as_count, as_whole
from maskwell.core.arrays import Real
from maskwell.core.exact import Number, as_fraction, percent_meant
from maskwell.core.phrases import Printed
from maskwell.designs.base import Design
from maskwell.errors import ParameterError

HIGHEST, LOWEST = 1 - 1e-12, Fraction(1, 10**12)
LEAST_MARGIN = Fraction(1, 10**9)
MOST_RESPONDENTS = 10**12
ROUNDING = 1e-12
"""How far above a whole number a needed n may lie and still count as that number."""


def check_level(level: Number) -> float:
    """A level strictly between 0 and 1."""
    value = as_fraction(level, "level")
    if not 0 < value < 1:
        raise ParameterError(
            f"level = {level} is not strictly between 0 and 1",
            hint=f"give a level such as 0.95{percent_meant(level)}",
            level=level,
        )
    if value > HIGHEST:
        raise ParameterError(
            f"level = {level} is too near to 1: the largest is 1 - 1e-12",
            hint="give a level such as 0.999",
            level=level,
        )
    if value < LOWEST:
        raise ParameterError(
            f"level = {level} is too near to 0: the smallest is 1e-12", hint="give a level such as 0.95", level=level
        )
    return float(value)


def check_margin(margin: Number) -> float:
    """A half width above 0; one of 1 or more would say nothing about a share."""
    value = as_fraction(margin, "margin")
    if not 0 < value < 1:
        raise ParameterError(
            f"margin = {margin} is not strictly between 0 and 1",
            hint=f"give the half width of the interval of a share, such as 0.02{percent_meant(margin)}",
            margin=margin,
        )
    if value < LEAST_MARGIN:
        raise ParameterError(
            f"margin = {margin} is smaller than any survey can reach; the smallest is 1e-9",
            hint="give the half width of the interval of a share, such as 0.02",
            margin=margin,
        )
    return float(value)


def check_n(n: Number) -> int:
    """At least one respondent."""
    count = as_count(n, "n")
    if count < 1:
        raise ParameterError(
            f"n = {n}: at least one respondent is needed", hint="give a whole number of 1 or more", n=n
        )
    return as_whole(count, "n", high=MOST_RESPONDENTS)


def margin_of(variance: float, n: int, level: float = 0.95) -> float:
    """The half width of an interval from n reports, where ``variance`` is n times that of the estimate.

    >>> round(margin_of(0.25, 1000), 4)   # a share of one half, asked directly
    0.031
    """
    return _quantile(level) * math.sqrt(variance / n)


def needed_n(variance: float, margin: float, level: float = 0.95) -> int:
    """How many reports give intervals of that half width.

    >>> needed_n(1.4025, 0.05), needed_n(0.09, 0.05)   # Warner's device with p = 0.7 at a share of 0.1; directly
    (2156, 139)
    """
    exactly = _quantile(level) ** 2 * variance / margin**2
    return max(1, math.ceil(exactly * (1 - ROUNDING)))


def margin_warnings(margin: float, shares: Real) -> tuple[str, ...]:
    """What an interval of that half width cannot tell about shares, shape (k,); nothing where it tells something.

    >>> margin_warnings(0.02, np.array([0.5, 0.5])), margin_warnings(0.6, np.array([0.5, 0.5]))
    ((), ('an interval within 0.6 says nothing about a share, which lies between 0 and 1',))
    """
    if margin >= 0.5:
        return (f"an interval within {Printed(margin):.3g} says nothing about a share, which lies between 0 and 1",)
    small = int(((shares > 0) & (shares <= margin)).sum())
    if not small:
        return ()
    all_of_them = small == int((shares > 0).sum())
    which = "no share is" if all_of_them else f"{small:,} of {len(shares):,} shares are not"
    return (f"{which} larger than the margin {Printed(margin):.3g}: such a share could not be told from 0",)


def _quantile(level: float) -> float:
    return NormalDist().inv_cdf((1 + level) / 2)


def worst_share_variance(design: Design) -> float:
    """The largest ``n Var(pi_hat_j)`` over all true shares, for a design that treats all categories alike.

    With T and O the means of the squared estimate when the truth is j and when it is not, it is the largest value of
    ``x T + (1 - x) O - x^2`` for a share x from 0 to 1. Source: derived.

    >>> from maskwell.core.categories import Categories
    >>> from maskwell.designs.uniform import Uniform
    >>> worst_share_variance(Uniform.from_gamma(3, Categories.numbered(2)))   # at a share of one half
    1.0
    """
    certain = np.zeros(design.k)
    certain[0] = 1
    variances: Real = design.share_variance(certain)
    own, other = float(variances[0]) + 1, float(variances[1])
    share = min(1.0, max(0.0, (own - other) / 2))
    return share * own + (1 - share) * other - share**2
