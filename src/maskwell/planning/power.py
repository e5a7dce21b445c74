"""Planning a test with a given design: respondents, power, and the difference that can be found.

Formulas: docs/theory/costs.md. Source: standard; variances from [Adeshiyan2011, eq. (3.5)].
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from maskwell.core.arguments import Real, check_kind
from maskwell.core.display import Result, entries
from maskwell.core.exact import Number, as_fraction, check_probability, percent_meant
from maskwell.core.phrases import Printed
from maskwell.core.verdicts import above, ceil_of, is_outside, tied
from maskwell.designs.design import Design
from maskwell.errors import ParameterError
from maskwell.planning.respondent_variance import SIMPLE, Line, Sampling, UnitVariance, line_through
from maskwell.planning.sample_size import check_category, check_n, margin_of
from maskwell.privacy.measures import plain_truth

_NORMAL = NormalDist()
RAREST = 1e-12  # rarer false alarms than this are beyond the normal quantiles


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PowerPlan(Result):
    """A two-sided test of one share: respondents, power and the difference that it finds."""

    design: Design  # design, category: the design, and the code of the category whose share is tested
    category: int
    pi: Real  # all shares under the hypothesis, shape (k,)
    against: float  # the share of the category that is to be told from its share in ``pi``
    n: int  # n, power, alpha: respondents, chance to find the difference, and chance of a false alarm
    power: float
    alpha: float
    variance_null: UnitVariance  # variance_null, variance_against: n times the variance of the estimate at both
    variance_against: UnitVariance
    sampling: Sampling
    # the nearest shares below and above that are found with this power; None where there is none
    detectable: tuple[float | None, float | None]
    direct_n: int  # respondents that the open question would need

    @property
    def label(self) -> Any:
        """The category whose share is tested."""
        return self.design.inputs.labels[self.category]

    @property
    def null(self) -> float:
        """Its share under the hypothesis."""
        return float(self.pi[self.category])

    @property
    def margin(self) -> float:
        """Half width of the interval of level 1 - alpha under the hypothesis."""
        return margin_of(self.variance_null.total, self.n, 1 - self.alpha)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        return {
            **entries(self, "n margin power alpha"),
            "category": plain_truth(self.design, self.category),
            **entries(self, "pi null against detectable"),
            "unit_variance": {"null": self.variance_null.to_dict(), "against": self.variance_against.to_dict()},
            **self.sampling.to_dict(),
            "direct_n": self.direct_n,
            "design": self.design.to_dict(),
        }

    def __repr__(self) -> str:
        shares = f"{Printed(self.null):g} against {Printed(self.against):.4g}"
        return f"PowerPlan(n={self.n:,}, {shares}, power={Printed(self.power):.3f})"


def plan_test(
    design: Design,
    *,
    pi: Real | list[float],
    against: Number | None = None,
    power: Number | None = None,
    n: Number | None = None,
    category: Hashable | None = None,
    alpha: Number = 0.05,
    sampling: Sampling = SIMPLE,
) -> PowerPlan:
    """Any two of the share to be found, the power and the number of respondents give the third."""
    check_kind(Design, design=design)
    check_kind(Sampling, sampling=sampling)
    question = _Question.of(design, pi, category, alpha, sampling)
    target_power = None if power is None else float(check_probability(power, "power", open_=True))
    if target_power is not None and target_power <= question.alpha / 2:
        raise ParameterError("power-is-not-above-alpha-2", alpha=question.alpha / 2, power=power)
    size = None if n is None else check_n(n)
    missing = sum(value is None for value in (against, target_power, size))
    if missing != 1:
        raise ParameterError("of-against-power-and-n-given", value=["all", "all", "only one", "none"][missing])
    if against is not None:
        value = as_fraction(against, "against")
        if not 0 <= value <= 1:
            raise ParameterError("against-is-not-a-share", percent_meant=percent_meant(against), against=against)
        other = float(value)
        if other == question.null:
            raise ParameterError("against-is-the-share-under", against=against)
    else:
        below, above = question.detectable(size or 0, target_power or 0.0)
        share = above if above is not None else below
        if share is None:
            raise ParameterError("no-share-differs-enough", null=question.null, n=size, power=target_power)
        other = share
    size = question.needed(other, target_power or 0.0) if size is None else size
    reached = question.power(other, size) if target_power is None else target_power
    return PowerPlan(
        design=design,
        category=question.category,
        pi=question.pi,
        against=other,
        n=size,
        power=reached,
        alpha=question.alpha,
        variance_null=question.line.at(question.null),
        variance_against=question.line.at(other),
        sampling=sampling,
        detectable=question.detectable(size, reached),
        direct_n=question.needed(other, reached, "sampling"),
    )


@dataclass(frozen=True, eq=False)
class _Question:
    """A share and its variance along the line on which it may lie."""

    pi: Real
    category: int
    alpha: float
    line: Line

    @classmethod
    def of(cls, design: Design, pi: Any, category: Hashable | None, alpha: Number, sampling: Sampling) -> _Question:
        shares = design.check_distribution(pi)
        design.check_identifiable()
        if category is None and design.k > 2:
            raise ParameterError("a-test-of-one-of-shares", k=design.k)
        j = 0 if category is None else check_category(design, category)
        level = float(check_probability(alpha, "alpha", open_=True))
        if level < RAREST:
            raise ParameterError("alpha-is-below", rarest=RAREST, alpha=alpha)
        return cls(shares, j, level, line_through(design, shares, category=j, sampling=sampling))

    @property
    def null(self) -> float:
        return float(self.pi[self.category])

    @property
    def _alarm(self) -> float:
        """``z_{1-alpha/2} sqrt(v(pi_0))``."""
        return -_NORMAL.inv_cdf(self.alpha / 2) * math.sqrt(self.line.at(self.null).total)

    def needed(self, against: float, power: float, variance: str = "total") -> int:
        """Respondents for this power."""
        v0, v1 = (getattr(self.line.at(t), variance) for t in (self.null, against))
        reach = -_NORMAL.inv_cdf(self.alpha / 2) * math.sqrt(v0) + _NORMAL.inv_cdf(power) * math.sqrt(v1)
        exactly = (reach / (against - self.null)) ** 2 if reach > 0 else 0.0
        return max(1, ceil_of(exactly))

    def power(self, against: float, n: int) -> float:
        """Chance to find the difference with n respondents."""
        distance, spread = abs(against - self.null) * math.sqrt(n), math.sqrt(self.line.at(against).total)
        if not spread:
            return float(above(distance, self._alarm))
        return _NORMAL.cdf((distance - self._alarm) / spread)

    def detectable(self, n: int, power: float) -> tuple[float | None, float | None]:
        """The nearest shares below and above that are found."""
        return self._nearest(n, power, -1), self._nearest(n, power, 1)

    def _nearest(self, n: int, power: float, side: int) -> float | None:
        """Solve ``(d - s)^2 = z^2 v(pi_0 + side d) / n`` for the difference d, s being the least that alarms."""
        a, b, c = self.line.coefficients(self.null)
        z = _NORMAL.inv_cdf(power)
        s, q = self._alarm / math.sqrt(n), z * z / n
        first, half, last = 1 - q * c, s + q * side * b / 2, s * s - q * a
        d = (half + math.copysign(math.sqrt(max(half * half - first * last, 0.0)), z)) / first
        share = self.null + side * d
        return None if is_outside(share) or tied(share, self.null) else min(max(share, 0.0), 1.0)
