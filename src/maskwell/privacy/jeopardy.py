"""Two numbers instead of two probabilities: how far each answer of a yes-or-no design speaks for its category.

    u = a / b,    v = (1 - b) / (1 - a),        a = Pr(yes | A),  b = Pr(yes | not A),  a > b

u is how much likelier a yes is from members of A, v how much likelier a no is from the others; both above 1, and any
two such numbers belong to one design:

    b = (v - 1) / (u v - 1),    a = u b,        n Var(pi_hat) = (u pi + 1 - pi) (pi + v (1 - pi)) / ((u - 1) (v - 1))

u infinite means that a yes gives members away, v infinite that a no acquits. Parity is the larger of the two, the
one-sided ratio R is u.

Source: after Leysieffer and Warner (1976), as given in [Adeshiyan2011, Remark 2.1]; the variance is derived.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from maskwell.core.arguments import check_kind
from maskwell.core.categories import Categories
from maskwell.core.exact import Number, Parity, safe_below, to_float
from maskwell.designs.base import Design
from maskwell.designs.dense import Dense
from maskwell.errors import NotIdentifiableError, ParameterError


@dataclass(frozen=True)
class Jeopardy:
    """The two numbers of a yes-or-no design.

    >>> from maskwell.procedures.simmons import simmons
    >>> found = jeopardy(simmons("0.8", "0.1"))
    >>> found.u, found.v   # a yes is far more dangerous than a no is reassuring
    (Fraction(41, 1), Fraction(49, 9))
    """

    u: Parity
    v: Parity

    def variance(self, pi: float) -> float:
        """``n Var(pi_hat)`` at a true share ``pi`` of the first category.

        >>> from maskwell.procedures.warner import warner
        >>> round(jeopardy(warner("0.7")).variance(0.1), 4)
        1.4025
        """
        a, b = (to_float(p) for p in self._probabilities())
        yes = a * pi + b * (1 - pi)
        return yes * (1 - yes) / (a - b) ** 2

    def design(self, categories: Categories) -> Dense:
        """The design that has them, yes being the first report.

        >>> Jeopardy(Fraction(4), Fraction(4)).design(Categories.of(["yes", "no"])).exact_matrix()[0]
        [Fraction(4, 5), Fraction(1, 5)]
        """
        a, b = self._probabilities()
        return Dense.of([[a, b], [1 - a, 1 - b]], categories)

    def _probabilities(self) -> tuple[Fraction, Fraction]:
        if isinstance(self.v, float):
            return Fraction(1), Fraction(0) if isinstance(self.u, float) else 1 / self.u
        if isinstance(self.u, float):
            return 1 - 1 / self.v, Fraction(0)
        b = (self.v - 1) / (self.u * self.v - 1)
        return self.u * b, b


def jeopardy(design: Design) -> Jeopardy:
    """The numbers u and v of a design with two categories and two reports; which report is yes does not matter."""
    check_kind(Design, design=design)
    if design.k != 2 or not design.has_reports_up_to(2) or design.m != 2:
        raise ParameterError(
            f"u and v are for two categories and two reports; this design has {design.k:,} and {design.m:,}",
            hint="maskwell.hazard gives the ratio R of any design",
        )
    (a, b), _ = design.exact_matrix()
    if a == b:
        raise NotIdentifiableError("the design carries no information", hint="choose one whose reports depend on truth")
    a, b = (a, b) if a > b else (1 - a, 1 - b)
    return Jeopardy(a / b if b else math.inf, (1 - b) / (1 - a) if a < 1 else math.inf)


def from_jeopardy(u: Number, v: Number, categories: Categories) -> Dense:
    """The yes-or-no design in which a yes speaks u fold for the first category and a no v fold for the second.

    ``math.inf`` for v makes the design with the largest information at that u.

    >>> from_jeopardy(9, math.inf, Categories.of(["yes", "no"])).exact_matrix()[0]   # Mangat's device
    [Fraction(1, 1), Fraction(1, 9)]
    """
    check_kind(Categories, categories=categories)
    return Jeopardy(_above_one(u, "u"), _above_one(v, "v")).design(categories)


def _above_one(value: Number, name: str) -> Parity:
    if isinstance(value, float) and value == math.inf:
        return math.inf
    found = safe_below(value, name)
    if found <= 1:
        raise ParameterError(f"{name} = {value} is not above 1", hint="give a number above 1, or infinity")
    return found
