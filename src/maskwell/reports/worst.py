"""From which belief a report leads farthest into what a demand forbids, in numbers that are true as they are written.

Source: [ChaiNayak2018, eq. (3.5)] for what a report can lead to.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from maskwell.core.exact import Parity
from maskwell.privacy.criteria import Demand, posterior_range
from maskwell.reports.outline import BESIDE, Outline, Region
from maskwell.reports.words import as_decimal, percent_bound

VISIBLE = 1e-6
ROUND, LEAST = 3, 0.01  # decimals of a belief that is easy to read, and how far it stays from the ends
NEARLY = 0.95  # how much of the worst excess an easier belief must show


@dataclass(frozen=True)
class Worst:
    """A belief before a report, what it can become, and what a demand allows it to become.

    Attributes
    ----------
    before, after, limit
        Probabilities.
    upwards
        Whether the belief rises.
    beside
        ``"just below "`` or ``"just above "`` where the limit holds on that side of a jump only, else empty.
    """

    before: Fraction
    after: Fraction
    limit: Fraction
    upwards: bool
    beside: str = ""

    def __str__(self) -> str:
        """In words: what can happen rounded outwards, what is allowed rounded inwards."""
        before = percent_bound(self.before, up=False)
        after, limit = (
            percent_bound(x, up=up) for x, up in ((self.after, self.upwards), (self.limit, not self.upwards))
        )
        lead, allowed = ("up to", "no more than") if self.upwards else ("down to", "no lower than")
        return (
            f"from {self.beside}{before} % a report can lead {lead} {after} %, "
            f"where the demand allows {allowed} {limit} %"
        )


def find_worst(parity: Parity, demand: Demand, reached: Region, stated: Region) -> Worst | None:
    """The belief with the largest excess; None where there is none that can be seen.

    Parameters
    ----------
    parity, reached
        Of the design, and the region of that parity on the grid of ``stated``.
    demand, stated
        The demand and its region.

    >>> demand = Demand.from_rho("0.1", "0.5")
    >>> stated = Region.of(demand)
    >>> print(find_worst(Fraction(16), demand, Region.at_parity(Fraction(16), like=stated), stated))
    from just below 10 % a report can lead up to 64 %, where the demand allows no more than 50 %
    """
    rise = reached.upper.value - stated.upper.value
    fall = stated.lower.value - reached.lower.value
    upwards = bool(rise.max() >= fall.max())
    excess, curve = (rise, stated.upper) if upwards else (fall, stated.lower)
    if excess.max() < VISIBLE:
        return None
    at = int(excess.argmax())
    return _at_jump(parity, curve, at, upwards=upwards) or _at_point(parity, demand, curve, at, upwards=upwards)


def _reach(parity: Parity, prior: Fraction, *, upwards: bool) -> Fraction:
    return posterior_range(parity, prior)[upwards]


def _at_jump(parity: Parity, curve: Outline, place: int, *, upwards: bool) -> Worst | None:
    """The case beside a jump, which the demand's limit only approaches there."""
    prior = float(curve.prior[place])
    near = next((jump for jump in curve.jumps if abs(jump.at - prior) <= 2 * BESIDE), None)
    if near is None:
        return None
    before = as_decimal(near.at)
    side = "just below " if prior < near.at else "just above " if prior > near.at else ""
    limit = as_decimal(float(curve.value[place]))
    return Worst(before, _reach(parity, before, upwards=upwards), limit, upwards, side)


def _at_point(parity: Parity, demand: Demand, curve: Outline, place: int, *, upwards: bool) -> Worst:
    """The case away from jumps, moved to a belief that is easy to read where that is nearly as bad."""
    prior = float(curve.prior[place])
    easy = min(max(round(prior, ROUND), LEAST), 1 - LEAST)
    worst, easier = (_case(parity, demand, p, upwards=upwards) for p in (prior, easy))
    between = any(min(prior, easy) <= jump.at <= max(prior, easy) for jump in curve.jumps)
    return worst if between or _excess(easier) < NEARLY * _excess(worst) else easier


def _excess(case: Worst) -> float:
    return float(abs(case.after - case.limit)) if (case.after > case.limit) == case.upwards else 0.0


def _case(parity: Parity, demand: Demand, prior: float, *, upwards: bool) -> Worst:
    before = as_decimal(prior)
    limit = (demand.upper if upwards else demand.lower)(np.array([prior]))
    return Worst(before, _reach(parity, before, upwards=upwards), as_decimal(float(limit[0])), upwards)
