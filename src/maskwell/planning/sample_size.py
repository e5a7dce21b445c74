"""From variance to error and back: margins of estimated shares, and how many respondents they need.

Source: derived from the covariance [NayakZhangAdeshiyan2016, eq. (1.3)], [Adeshiyan2011, eq. (3.5)].
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any, Self, cast

import numpy as np

from maskwell.core.arguments import Real, as_count, as_whole, check_kind, check_level, shown_short
from maskwell.core.display import Result, entries
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
    value = as_fraction(margin, "margin")
    if not 0 < value < 1:
        raise ParameterError(
            "is-not-strictly-between-0",
            shown_name="margin",
            shown_value=margin,
            shown_advice="give the half width of the interval of a share, such as 0.02",
            shown_percent_meant=percent_meant(margin),
            margin=margin,
        )
    if value < LEAST_MARGIN:
        raise ParameterError("margin-is-smaller-than-any-survey", margin=margin)
    return float(value)


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
    """How many reports give intervals of that half width."""
    return max(1, ceil_of(_quantile(level) ** 2 * variance / margin**2))


def margin_warnings(margin: float, shares: Real) -> tuple[str, ...]:
    """Why an interval of that half width is uninformative about shares, shape (k,); empty where it is informative."""
    if at_least(margin, 0.5):
        return (f"an interval within {Printed(margin):.3g} says nothing about a share, which lies between 0 and 1",)
    small = int(((shares > 0) & at_most(shares, margin)).sum())
    if not small:
        return ()
    all_of_them = small == int((shares > 0).sum())
    which = "no share is" if all_of_them else f"{small:,} of {len(shares):,} shares are not"
    return (f"{which} larger than the margin {Printed(margin):.3g}: such a share could not be distinguished from 0",)


def _quantile(level: float) -> float:
    return NormalDist().inv_cdf((1 + level) / 2)


def worst_share_variance(design: Design, sampling: Sampling = SIMPLE) -> float:
    """The largest ``n Var(pi_hat_j)`` over all true shares, for a design that treats all categories alike: derived."""
    certain = np.zeros(design.k)
    certain[0] = 1
    variances: Real = design.share_variance(certain)
    line = Line(float(variances[0]) + 1, float(variances[1]), sampling)
    return line.at(line.worst).total


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Respondents:
    """How many respondents and the half width of their intervals; the same at the worst shares, and asked openly."""

    n: int
    margin: float
    worst_n: int | None  # None where there are too many categories to look for the worst shares
    worst_margin: float | None
    direct_n: int
    direct_margin: float

    @classmethod
    def of(
        cls,
        size: tuple[int | None, float | None],
        level: float,
        variance: float,
        /,
        *,
        worst: float | None,
        direct: float,
        **more: Any,
    ) -> Self:
        """For n or a margin, whichever is given; all variances are n times those of estimates."""
        given, wanted = size
        n = needed_n(variance, wanted, level) if given is None and wanted is not None else given
        assert n is not None
        margin = margin_of(variance, n, level) if wanted is None else wanted
        return cls(
            n=n,
            margin=margin,
            worst_n=None if worst is None else needed_n(worst, margin, level),
            worst_margin=None if worst is None else margin_of(worst, n, level),
            direct_n=needed_n(direct, margin, level),
            direct_margin=margin_of(direct, n, level),
            **more,
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SamplePlan(Respondents, Result):
    """How many respondents a design needs, or how exact its estimate will be."""

    design: Design  # the design
    # the code of the category that is planned for: the one asked for, else the one that is hardest to estimate
    category: int
    pi: Real  # the true shares that are planned for, shape (k,); the worst ones where none were given
    worst_case: bool  # whether they are the worst ones
    level: float  # of the interval
    variance: UnitVariance  # n times the variance of the estimate, in two parts
    sampling: Sampling  # how the sample differs from a simple random one

    @property
    def label(self) -> Any:
        """The category that is planned for."""
        return self.design.inputs.labels[self.category]

    def warnings(self) -> tuple[str, ...]:
        """Why the margin is uninformative about the share."""
        return margin_warnings(self.margin, self.pi[[self.category]])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        return {
            **entries(self, "n margin level"),
            "category": plain_truth(self.design, self.category),
            **entries(self, "pi worst_case"),
            "unit_variance": self.variance.to_dict(),
            **self.sampling.to_dict(),
            **entries(self, "worst_n worst_margin direct_n direct_margin"),
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
    sampling: Sampling = SIMPLE,
) -> SamplePlan:
    """Respondents for a margin, or the margin of so many respondents, with a design that is chosen already."""
    if (n is None) == (margin is None):
        said = "n or margin must be given" if n is None else "n cannot be combined with margin"
        raise ParameterError(said, hint="give one of them: the other one is computed")
    sure = check_level(level)
    size = (None if n is None else check_n(n)), (None if margin is None else check_margin(margin))
    check_kind(Design, design=design)
    check_kind(Sampling, sampling=sampling)
    code = None if category is None else check_category(design, category)
    worst: float | None
    if pi is None:
        found = worst_shares(design, category=category, sampling=sampling)
        shares, j, variance = found.pi, found.category, found.variance
        worst = variance.total
    else:
        shares = design.check_distribution(cast(Real, pi))
        open_, added = unit_variances(design, shares, sampling=sampling)
        j = largest(open_ + added) if code is None else code
        variance, worst = UnitVariance(float(open_[j]), float(added[j])), None
        with suppress(TooLargeError):
            worst = worst_shares(design, category=design.inputs.labels[j], sampling=sampling).variance.total
    about: dict[str, Any] = {"design": design, "category": j, "pi": shares, "worst_case": pi is None, "level": sure}
    about |= {"variance": variance, "sampling": sampling}
    return SamplePlan.of(size, sure, variance.total, worst=worst, direct=variance.sampling, **about)


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
