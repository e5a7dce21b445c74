"""SurveyEstimate: shares and totals of a population, with their errors under the sampling plan."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maskwell.core.arrays import Real
from maskwell.core.phrases import Printed
from maskwell.errors import ParameterError, TooLargeError
from maskwell.estimation.result import Combination, Estimate
from maskwell.estimation.shown import number_or_none, plain_label


@dataclass(frozen=True, eq=False, repr=False)
class SurveyEstimate(Estimate):
    """Estimated shares and totals.

    Attributes
    ----------
    total
        Estimated numbers of units in each category, shape (k,): the sums of weights times recoveries.
    total_variance, total_covariance
        Of the totals, shapes (k,) and (k, k); the second is ``None`` when there are too many categories.
    population
        The sum of the weights: the estimated number of units, or the known one that shares were divided by.
    degrees_of_freedom
        Clusters minus strata, or those of the replicates; ``None`` where the normal distribution serves.
    domains
        An estimate for each domain, by its label.
    plan_text
        How the sample was drawn and what the variance accounts for, in words.
    """

    total: Real = field(default_factory=lambda: np.zeros(0))
    total_variance: Real = field(default_factory=lambda: np.zeros(0))
    total_covariance: Real | None = None
    population: float = float("nan")
    degrees_of_freedom: float | None = None
    domains: Mapping[Hashable, SurveyEstimate] = field(default_factory=dict)
    plan_text: str = ""

    @property
    def total_standard_error(self) -> Real:
        """Square roots of the variances of the totals; NaN where one is negative."""
        out = np.full(self.total_variance.shape, np.nan)
        return np.sqrt(self.total_variance, out=out, where=self.total_variance >= 0)

    def critical_value(self, probability: float) -> float:
        """The quantile that Wald intervals take: of t where there are degrees of freedom, else of the normal."""
        if self.degrees_of_freedom is None:
            return super().critical_value(probability)
        if self.degrees_of_freedom < 1:
            return float("nan")
        from scipy.special import stdtrit

        return float(stdtrit(self.degrees_of_freedom, probability))

    def total_interval(self, level: float = 0.95) -> Real:
        """Wald intervals of the totals, shape (k, 2)."""
        half = self.critical_value((1 + level) / 2) * self.total_standard_error
        return np.column_stack([self.total - half, self.total + half])

    def function(self, value: Callable[[Real], float], gradient: Callable[[Real], Real] | None = None) -> Combination:
        """A smooth function of the totals with its linearised standard error ``sqrt(grad' Cov(T) grad)``.

        The gradient is worked out by differences where it is not given. Source: standard; the randomization correction
        of the totals goes through the same gradient.
        """
        if self.total_covariance is None:
            raise TooLargeError("covariances of the totals were left out", hint="use fewer categories")
        slope = _slope(value, self.total) if gradient is None else np.asarray(gradient(self.total), dtype=np.float64)
        if slope.shape != self.total.shape:
            raise ParameterError(
                f"a gradient of shape {slope.shape} for {len(self.total):,} totals", hint="give one number for each"
            )
        variance = float(slope @ self.total_covariance @ slope)
        return Combination(float(value(self.total)), float(np.sqrt(variance)) if variance >= 0 else float("nan"))

    def to_dict(self, level: float = 0.95, interval: str | None = None) -> dict[str, Any]:
        """Everything as plain values, for JSON; ``interval`` names the method of the intervals."""
        content = super().to_dict(level, interval)
        rows = zip(
            content["estimates"],
            self.total.tolist(),
            self.total_standard_error.tolist(),
            self.total_interval(level).tolist(),
            strict=True,
        )
        for row, total, error, ends in rows:
            row |= {"total": number_or_none(total), "total_standard_error": number_or_none(error)}
            row["total_interval"] = [number_or_none(x) for x in ends]
            row["estimate"] = number_or_none(row["estimate"])
        covariance = self.total_covariance
        return {
            **content,
            "population": number_or_none(self.population),
            "degrees_of_freedom": self.degrees_of_freedom,
            "total_covariance": None
            if covariance is None
            else [[number_or_none(x) for x in r] for r in covariance.tolist()],
            "plan": self.plan_text,
            "domains": [{"domain": plain_label(d), **e.to_dict(level, interval)} for d, e in self.domains.items()],
        }

    def __repr__(self) -> str:
        text = super().__repr__()
        names = [f"  domain {label}: {_shown(one)}" for label, one in list(self.domains.items())[:20]]
        return "\n".join([text, f"  {self.plan_text}", *names])


def _slope(value: Callable[[Real], float], at: Real) -> Real:
    step = 1e-6 * max(float(np.abs(at).max(initial=0)), 1.0)
    return np.array([(value(at + step * e) - value(at - step * e)) / (2 * step) for e in np.eye(len(at))])


def _shown(estimate: SurveyEstimate) -> str:
    return ", ".join(
        f"{c} {Printed(p):.4f}" for c, p in list(zip(estimate.categories, estimate.pi_hat, strict=True))[:5]
    )
