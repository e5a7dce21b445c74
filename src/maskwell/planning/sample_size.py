"""From variance to error and back: margins of estimated shares, and how many respondents they need.

With ``v(pi) = n Var(pi_hat_j)`` and the normal quantile z of a level,

    margin = z sqrt(v(pi) / n),      n = ceil(z^2 v(pi) / margin^2)

for a given variance, or for a design at assumed or at all shares.

Source: derived from the covariance [NayakZhangAdeshiyan2016, eq. (1.3)], [Adeshiyan2011, eq. (3.5)], intervals as
``estimate`` gives them.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np

from maskwell.core.arguments import Real, as_count, as_whole, check_kind, check_level, shown_short
from maskwell.core.display import Result
from maskwell.core.exact import Number, as_fraction, percent_meant
from maskwell.core.phrases import Printed, listed
from maskwell.core.verdicts import at_least, at_most, ceil_of, largest
from maskwell.designs.design import Design
from maskwell.errors import ParameterError, TooLargeError, UnknownCategoryError
from maskwell.planning.respondent_variance import SIMPLE, Line, Sampling, UnitVariance, unit_variances, worst_shares
from maskwell.privacy.measures import plain_truth

LEAST_MARGIN = Fraction(1, 10**9)
MOST_RESPONDENTS = 10**12


def check_margin(margin: Number) -> float:
    """A half width above 0; one of 1 or more would say nothing about a share."""
    hint = "give the half width of the interval of a share, such as 0.02"
    value = _inside(margin, "margin", hint)
    if value < LEAST_MARGIN:
        raise ParameterError("margin-is-smaller-than-any-survey", margin=margin)
    return float(value)


def _inside(value: Number, name: str, hint: str) -> Fraction:
    number = as_fraction(value, name)
    if not 0 < number < 1:
        raise ParameterError(
            "is-not-strictly-between-0",
            shown_name=name,
            shown_value=value,
            shown_advice=hint,
            shown_percent_meant=percent_meant(value),
            **{name: value},
        )
    return number


def check_n(n: Number) -> int:
    """At least one respondent."""
    count = as_count(n, "n")
    if count < 1:
        raise ParameterError("n-at-least-one-respondent", n=n)
    return as_whole(count, "n", high=MOST_RESPONDENTS)


def margin_of(variance: float, n: int, level: float = 0.95) -> float:
    """The half width of an interval from n reports, where ``variance`` is n times that of the estimate."""
    return _quantile(level) * math.sqrt(variance / n)


def needed_n(variance: float, margin: float, level: float = 0.95) -> int:
    """How many reports give intervals of that half width.

    >>> needed_n(1.4025, 0.05), needed_n(0.09, 0.05)   # Warner's device with p = 0.7 at a share of 0.1; directly
    (2156, 139)
    """
    exactly = _quantile(level) ** 2 * variance / margin**2
    return max(1, ceil_of(exactly))


def margin_warnings(margin: float, shares: Real) -> tuple[str, ...]:
    """What an interval of that half width cannot tell about shares, shape (k,); nothing where it tells something.

    >>> margin_warnings(0.02, np.array([0.5, 0.5])), margin_warnings(0.6, np.array([0.5, 0.5]))
    ((), ('an interval within 0.6 says nothing about a share, which lies between 0 and 1',))
    """
    if at_least(margin, 0.5):
        return (f"an interval within {Printed(margin):.3g} says nothing about a share, which lies between 0 and 1",)
    small = int(((shares > 0) & at_most(shares, margin)).sum())
    if not small:
        return ()
    all_of_them = small == int((shares > 0).sum())
    which = "no share is" if all_of_them else f"{small:,} of {len(shares):,} shares are not"
    return (f"{which} larger than the margin {Printed(margin):.3g}: such a share could not be told from 0",)


def _quantile(level: float) -> float:
    return NormalDist().inv_cdf((1 + level) / 2)


def worst_share_variance(design: Design, sampling: Sampling = SIMPLE) -> float:
    """The largest ``n Var(pi_hat_j)`` over all true shares, for a design that treats all categories alike.

    It is the largest value along the line of one share from 0 to 1, on which the others do not matter. Source: derived.

    >>> from maskwell.core import Categories
    >>> from maskwell.designs import Uniform
    >>> worst_share_variance(Uniform.from_gamma(3, Categories.numbered(2)))   # at a share of one half
    1.0
    """
    certain = np.zeros(design.k)
    certain[0] = 1
    variances: Real = design.share_variance(certain)
    line = Line(float(variances[0]) + 1, float(variances[1]), sampling)
    return line.at(line.worst).total


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SamplePlan(Result):
    """How many respondents a design needs, or how exact its estimate will be.

    >>> from maskwell.procedures.statement_cards import warner
    >>> plan = plan_sample(warner("0.7"), pi=[0.1, 0.9], margin=0.05)
    >>> plan.n, plan.direct_n   # the price of protection
    (2156, 139)
    """

    design: Design  # the design
    # the code of the category that is planned for: the one asked for, else the one that is hardest to estimate
    category: int
    pi: Real  # the true shares that are planned for, shape (k,); the worst ones where none were given
    worst_case: bool  # whether they are the worst ones
    n: int  # n, margin, level: respondents, half width of the interval, and its level
    margin: float
    level: float
    variance: UnitVariance  # n times the variance of the estimate, in two parts
    sampling: Sampling  # how the sample differs from a simple random one
    # worst_n, worst_margin: the same whatever the true shares are; None where there are too many categories to look for
    # them
    worst_n: int | None
    worst_margin: float | None
    direct_n: int  # direct_n, direct_margin: the same if the question were asked openly
    direct_margin: float

    @property
    def label(self) -> Any:
        """The category that is planned for."""
        return self.design.inputs.labels[self.category]

    def warnings(self) -> tuple[str, ...]:
        """What the margin cannot tell about the share."""
        return margin_warnings(self.margin, self.pi[[self.category]])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        return {
            "n": self.n,
            "margin": self.margin,
            "level": self.level,
            "category": plain_truth(self.design, self.category),
            "pi": self.pi.tolist(),
            "worst_case": self.worst_case,
            "unit_variance": self.variance.to_dict(),
            **self.sampling.to_dict(),
            "worst_n": self.worst_n,
            "worst_margin": self.worst_margin,
            "direct_n": self.direct_n,
            "direct_margin": self.direct_margin,
            "warnings": list(self.warnings()),
            "design": self.design.to_dict(),
        }

    def __repr__(self) -> str:
        return f"SamplePlan(n={self.n:,}, margin={Printed(self.margin):.4g}, category={self.label!r})"


def plan_sample(
    design: Design,
    *,
    pi: Real | list[float] | None = None,
    n: Number | None = None,
    margin: Number | None = None,
    category: Hashable | None = None,
    level: Number = 0.95,
    deff: Number | None = None,
    cv_weights: Number | None = None,
    icc: Number | None = None,
    cluster_size: Number | None = None,
) -> SamplePlan:
    """Respondents for a margin, or the margin of so many respondents, with a design that is chosen already.

    Parameters
    ----------
    design
        Any design from which shares can be estimated.
    pi
        True shares to plan for; without them, those at which the estimate is least exact.
    n, margin
        One of them: the number of respondents, or the half width of the interval that is wanted.
    category
        The label of the category of interest; without it, the one that is hardest to estimate.
    level
        Of the interval.
    deff, cv_weights, icc, cluster_size
        Of a complex sample: the design effect of the open question and the coefficient of variation of the weights; or,
        in place of the first, intraclass correlation and size of the clusters, from which it follows.

    Raises
    ------
    ParameterError
        Both or neither of n and margin; a margin or level outside (0, 1); a design effect of 0 or less.
    MatrixError
        ``pi`` is not a distribution over the categories.

    >>> from maskwell.procedures.statement_cards import warner
    >>> plan_sample(warner("0.7"), margin=0.05).n   # whatever the share is
    2401
    >>> plan_sample(warner("0.7"), pi=[0.1, 0.9], margin=0.05, deff=2).n   # clusters hardly matter: devices decide
    2294
    """
    if (n is None) == (margin is None):
        said = "neither n nor margin is given" if n is None else "n and margin are both given"
        raise ParameterError(said, hint="give one of them: the other one is worked out")
    sure, sampling = check_level(level), Sampling.of(deff, cv_weights, icc, cluster_size)
    wanted_n, wanted_margin = (None if n is None else check_n(n)), (None if margin is None else check_margin(margin))
    place = _place(design, pi, category, sampling)
    size = needed_n(place.variance.total, wanted_margin, sure) if wanted_margin is not None else wanted_n
    assert size is not None
    half = wanted_margin if wanted_margin is not None else margin_of(place.variance.total, size, sure)
    open_ = place.variance.sampling
    worst = place.worst
    return SamplePlan(
        design=design,
        category=place.category,
        pi=place.pi,
        worst_case=pi is None,
        n=size,
        margin=half,
        level=sure,
        variance=place.variance,
        sampling=sampling,
        worst_n=None if worst is None else needed_n(worst, half, sure),
        worst_margin=None if worst is None else margin_of(worst, size, sure),
        direct_n=needed_n(open_, half, sure),
        direct_margin=margin_of(open_, size, sure),
    )


@dataclass(frozen=True, eq=False)
class _Place:
    """The shares and the category that are planned for, and the largest variance of any shares."""

    pi: Real
    category: int
    variance: UnitVariance
    worst: float | None


def _place(design: Design, pi: Any, category: Hashable | None, sampling: Sampling) -> _Place:
    check_kind(Design, design=design)
    code = None if category is None else check_category(design, category)
    if pi is None:
        worst_case = worst_shares(design, category=category, sampling=sampling)
        return _Place(worst_case.pi, worst_case.category, worst_case.variance, worst_case.variance.total)
    shares = design.check_distribution(pi)
    open_, added = unit_variances(design, shares, sampling=sampling)
    j = largest(open_ + added) if code is None else code
    worst = _worst_total(design, j, sampling)
    return _Place(shares, j, UnitVariance(float(open_[j]), float(added[j])), worst)


def _worst_total(design: Design, category: int, sampling: Sampling) -> float | None:
    try:
        return worst_shares(design, category=design.inputs.labels[category], sampling=sampling).variance.total
    except TooLargeError:
        return None


def check_category(design: Design, category: Hashable) -> int:
    """The code of a category, given by its label: a number is the code of none, unless it is a label itself."""
    labels = design.inputs.labels
    try:
        if not isinstance(category, bool) or category in [label for label in labels if isinstance(label, bool)]:
            return design.inputs.code(category)
    except (UnknownCategoryError, TypeError):
        pass
    raise ParameterError(
        "no-category-has-the-label",
        category_shown=shown_short(category),
        labels=listed(map(repr, labels), len(labels), 60),
        category=category,
    )
