"""What an intruder with a given prior believes after a report.

    Pr(truth j | report i) = a_j P[i, j] / sum_l a_l P[i, l]

where a is the prior. The *hazard* of report i for a set of sensitive categories is the posterior probability of the
set; ``R = max over reports i, sensitive j, other l of P[i, j] / P[i, l]`` bounds it for a set of prior s by
``1 / (1 + (1 - s) / (s R))``. **Jeopardy** is how far each answer of a yes-or-no design speaks for it:

    u = a / b,    v = (1 - b) / (1 - a),        a = Pr(yes | A),  b = Pr(yes | not A),  a > b
    b = (v - 1) / (u v - 1),    a = u b

u infinite means that a yes gives members away, v infinite that a no acquits. Parity is the larger of the two.

Source: [ChaiNayak2018, eq. (1.2)], [Adeshiyan2011, eq. (2.5), (2.17), (3.13)]; jeopardy after Leysieffer and Warner
(1976), as given in [Adeshiyan2011, Remark 2.1].
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.arguments import Real, as_list, check_kind
from maskwell.core.categories import Categories
from maskwell.core.exact import Parity, to_float, to_text
from maskwell.designs.dense import Dense
from maskwell.designs.design import Design
from maskwell.errors import NotIdentifiableError, ParameterError


def posterior(design: Design, prior: Real | None = None) -> Real:
    """Probabilities of the truths after each report, shape (m, k); NaN in the row of a report that cannot occur.

    >>> from maskwell.designs import Dense
    >>> posterior(Dense.of([["0.8", "0.2"], ["0.2", "0.8"]]), np.array([0.05, 0.95])).round(6).tolist()
    [[0.173913, 0.826087], [0.012987, 0.987013]]
    """
    check_kind(Design, design=design)
    a = design.uniform_prior() if prior is None else design.check_distribution(prior, "prior")
    tops = ((row, max(row)) for row in design.exact_matrix())
    scaled = np.array([[float(p / top) if top else 0.0 for p in row] for row, top in tops])
    joint = scaled * a
    total = joint.sum(axis=1, keepdims=True)
    after = np.full(joint.shape, np.nan)
    np.divide(joint, total, out=after, where=total > 0)
    return after


@dataclass(frozen=True)
class Hazard:
    """How far reports can speak for a set of sensitive categories."""

    sensitive: tuple[int, ...]  # their codes
    # R: the largest ratio of a sensitive to another category in a row; infinite when a report gives the set away
    ratio: Parity
    by_report: Real  # posterior probability of the set after each report, shape (m,); NaN where a report cannot occur
    prior: float  # its probability before

    @property
    def greatest(self) -> float:
        """The posterior after the most revealing report."""
        return float(np.nanmax(self.by_report))

    @property
    def bound(self) -> float:
        """What the ratio alone guarantees for the greatest: ``1 / (1 + (1 - s) / (s R))``."""
        if isinstance(self.ratio, float):
            return 1.0
        return 1 / (1 + (1 - self.prior) / (self.prior * to_float(self.ratio))) if self.prior else 0.0

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "sensitive": list(self.sensitive),
            "ratio": to_float(self.ratio),
            "ratio_exact": to_text(self.ratio),
            "prior": self.prior,
            "by_report": self.by_report.tolist(),
            "greatest": self.greatest,
            "relative": self.greatest / self.prior if self.prior else None,
            "bound": self.bound,
        }


def hazard(design: Design, sensitive: Iterable[Hashable], prior: Real | None = None) -> Hazard:
    """The hazard of the sensitive categories, given by their labels.

    >>> from maskwell.designs import Dense
    >>> danger = hazard(Dense.of([["0.8", "0.2"], ["0.2", "0.8"]]), [0], np.array([0.05, 0.95]))
    >>> danger.ratio, round(danger.greatest / danger.prior, 6)   # "yes" makes it 3.5 times likelier
    (Fraction(4, 1), 3.478261)
    """
    return hazard_of(design, find_sensitive(design, sensitive), prior)


def hazard_of(design: Design, chosen: tuple[int, ...], prior: Real | None = None) -> Hazard:
    """The hazard of categories with these codes."""
    a = design.uniform_prior() if prior is None else design.check_distribution(prior, "prior")
    ratio = max(_one_sided(row, chosen) for row in design.exact_matrix())
    return Hazard(chosen, ratio, posterior(design, a)[:, list(chosen)].sum(axis=1), float(a[list(chosen)].sum()))


def find_sensitive(design: Design, sensitive: Iterable[Hashable]) -> tuple[int, ...]:
    """Codes of the sensitive categories, which are given by labels."""
    check_kind(Design, design=design)
    return check_sensitive(design, [design.inputs.find(one, "sensitive") for one in as_list(sensitive, "sensitive")])


def check_sensitive(design: Design, sensitive: Sequence[int]) -> tuple[int, ...]:
    """Codes of at least one category and not all, in order."""
    chosen = tuple(sorted(set(sensitive)))
    beyond = [j for j in chosen if not 0 <= j < design.k]
    if beyond:
        raise ParameterError("no-category-has-the-code-name", beyond=beyond[0], k_sub=design.k - 1)
    if not 0 < len(chosen) < design.k:
        raise ParameterError("of-categories-are-called-sensitive", chosen_count=len(chosen), k=design.k)
    return chosen


def _one_sided(row: Sequence[Fraction], chosen: tuple[int, ...]) -> Parity:
    """The largest sensitive over the smallest other entry; 0 where the report speaks only against the set."""
    high = max(row[j] for j in chosen)
    low = min(p for j, p in enumerate(row) if j not in chosen)
    if not high:
        return Fraction(0)
    return high / low if low else math.inf


@dataclass(frozen=True)
class Jeopardy:
    """The two numbers of a yes-or-no design.

    >>> from maskwell.procedures.unrelated_questions import simmons
    >>> measures = jeopardy(simmons("0.8", "0.1"))
    >>> measures.u, measures.v   # a yes is far more dangerous than a no is reassuring
    (Fraction(41, 1), Fraction(49, 9))
    """

    u: Parity
    v: Parity

    def variance(self, pi: float) -> float:
        """``n Var(pi_hat)`` at a true share ``pi`` of the first category."""
        a, b = (to_float(p) for p in self._probabilities())
        yes = a * pi + b * (1 - pi)
        return yes * (1 - yes) / (a - b) ** 2

    def design(self, categories: Categories) -> Dense:
        """The design that has them, yes being the first report."""
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
        raise ParameterError("u-and-v-are-for-two", k=design.k, m=design.m)
    (a, b), _ = design.exact_matrix()
    if a == b:
        raise NotIdentifiableError("the-design-carries-no-information")
    a, b = (a, b) if a > b else (1 - a, 1 - b)
    return Jeopardy(a / b if b else math.inf, (1 - b) / (1 - a) if a < 1 else math.inf)
