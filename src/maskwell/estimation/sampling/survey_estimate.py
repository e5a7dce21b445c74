"""SurveyEstimate: shares and totals of a population under a sampling plan, by domain too, and what it says in words.

No variance is below the part that the device adds, with V_g the variance of one report of design g, w_g its share of
the squared weights, n reports of equal weight: ``(sum_g w_g V_g(t) - t (1 - t)) / n`` at the nearest t inside [0, 1].
Covariances stay unbiased; sums and contrasts use those of ``raised_to``. Derived.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.display import number_or_none, plain_label, plain_numbers
from maskwell.core.phrases import Printed
from maskwell.core.row_sums import Cells
from maskwell.core.verdicts import above, is_outside
from maskwell.errors import ParameterError, TooLargeError
from maskwell.estimation.binomial_counts import Part
from maskwell.estimation.outside_estimates import Flag, among_looks, flags_of_moments, nearest_shares
from maskwell.estimation.sampling.recovery import Recovery
from maskwell.estimation.sampling.sample_stages import Scheme, stages_of
from maskwell.estimation.share_estimate import ROUNDING, Combination, Estimate, diagonal
from maskwell.notes import Note


@dataclass(frozen=True, eq=False, repr=False)
class SurveyEstimate(Estimate):
    """Estimated shares and totals."""

    # Estimated numbers of units in each category, shape (k,): the sums of weights times recoveries
    total: Real = field(default_factory=lambda: np.zeros(0))
    # Of the totals, shapes (k,) and (k, k); the second is `None` when there are too many categories
    total_variance: Real = field(default_factory=lambda: np.zeros(0))
    total_covariance: Real | None = None
    # The sum of the weights: the estimated number of units, or the known one that shares were divided by
    population: float = float("nan")
    # Clusters minus strata, or those of the replicates; `None` where the normal distribution serves
    degrees_of_freedom: float | None = None
    # An estimate for each domain, by its label
    domains: Mapping[Hashable, SurveyEstimate] = field(default_factory=dict)
    plan_text: str = ""  # How the sample was drawn and what the variance accounts for, in words
    used: tuple[Part, ...] = ()  # The designs that rows with weights used, each with its share of the squared weights
    # The number of rows of equal weight that would tell as much: the squared sum of the weights over that of their
    # squares
    kish: float = float("nan")
    # The covariance in a simple random sample of as many reports, shape (k, k), or its diagonal where there are many
    # categories; `None` where it is not known
    simple_covariance: Real | None = None
    between: tuple[Real, ...] = ()  # For each sum of domains that was asked for, the covariance of its shares

    @property
    def parts(self) -> tuple[Part, ...]:
        """The designs behind the shares; none where too few clusters determine a variance."""
        if not self.used:
            return super().parts
        return () if self.degrees_of_freedom is not None and self.degrees_of_freedom < 1 else self.used

    @property
    def effective_n(self) -> float:
        """The effective number of rows, were all weights equal."""
        return self.kish if self.used else super().effective_n

    @property
    def design_effects(self) -> Real:
        """Variances over those of a simple random sample of as many reports. Source: standard (R: deff = "replace")."""
        if self.simple_covariance is None:
            return super().design_effects
        simple = diagonal(self.simple_covariance)
        out = np.full(len(simple), np.nan)
        return np.asarray(np.divide(self.variance, simple, out=out, where=simple > ROUNDING / max(self.n, 1)))

    @property
    def variance_of_plan(self) -> Real | None:
        """The variances, where rows have a plan."""
        return self.variance if self.used else None

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

    def times_power(self, exponent: int) -> SurveyEstimate:
        """Totals times a power of two, where weights were divided by it; shares stay."""
        if exponent == 0:
            return self
        covariance = None if self.total_covariance is None else np.ldexp(self.total_covariance, 2 * exponent)
        return replace(
            self,
            total=np.ldexp(self.total, exponent),
            total_variance=np.ldexp(self.total_variance, 2 * exponent),
            total_covariance=covariance,
            population=float(np.ldexp(self.population, exponent)),
            domains={label: one.times_power(exponent) for label, one in self.domains.items()},
        )

    def function(self, value: Callable[[Real], float], gradient: Callable[[Real], Real] | None = None) -> Combination:
        """A smooth function of the totals with its linearised standard error ``sqrt(grad' Cov(T) grad)``. Standard."""
        if self.total_covariance is None:
            raise TooLargeError("covariances-of-the-totals-were-left")
        at = self.total
        if gradient is None:
            step = 1e-6 * max(float(np.abs(at).max(initial=0)), 1.0)
            slope = np.array([(value(at + step * e) - value(at - step * e)) / (2 * step) for e in np.eye(len(at))])
        else:
            slope = np.asarray(gradient(at), dtype=np.float64)
        if slope.shape != at.shape:
            raise ParameterError("a-gradient-of-shape-for-totals", shape=slope.shape, total_count=len(at))
        variance = float(slope @ self.total_covariance @ slope)
        return Combination(float(value(at)), float(np.sqrt(variance)) if variance >= 0 else float("nan"))

    def to_dict(self, level: float = 0.95, interval: str | None = None) -> dict[str, Any]:
        """Everything as plain values, for JSON; ``interval`` names the method of the intervals."""
        content = super().to_dict(level, interval)
        effects, totals = self.design_effects.tolist(), self.total.tolist()
        errors, intervals = self.total_standard_error.tolist(), self.total_interval(level).tolist()
        for row, effect, total, error, ends in zip(
            content["estimates"], effects, totals, errors, intervals, strict=True
        ):
            row |= {} if effect != effect else {"deff": effect}
            row |= {"total": number_or_none(total), "total_standard_error": number_or_none(error)}
            row["total_interval"] = [number_or_none(x) for x in ends]
            row["estimate"] = number_or_none(row["estimate"])
        covariance = self.total_covariance
        return {
            **content,
            "population": number_or_none(self.population),
            "degrees_of_freedom": self.degrees_of_freedom,
            "total_covariance": None if covariance is None else plain_numbers(covariance),
            "plan": self.plan_text,
            "domains": [{"domain": plain_label(d), **e.to_dict(level, interval)} for d, e in self.domains.items()],
        }

    def shown(self, level: float = 0.95, interval: str | None = None) -> str:
        """The estimates with intervals of a level and a method, then the sampling plan and shares of the domains."""
        lines, usual = [super().shown(level, interval), f"  {self.plan_text}"], self.intervals(level, interval).name
        for label, one in list(self.domains.items())[:20]:
            if np.isnan(one.pi_hat).all():
                lines.append(f"  domain {label}: {'; '.join(one.flags) or 'no estimate'}")
                continue
            found = one.intervals(level, interval)
            cells = zip(one.categories[:5], one.pi_hat[:5], found.low, found.high, strict=False)
            shares = [f"{c} {Printed(p):.4f} [{Printed(low):.4f}, {Printed(high):.4f}]" for c, p, low, high in cells]
            method = "" if found.name == usual else f" ({found.name} intervals)"
            lines.append(f"  domain {label}: {', '.join(shares)}{method}")
        return "\n".join(lines)


DRAWN = {
    "with-replacement": "variance as for draws with replacement",
    "pps": "drawn with replacement with unequal chances",
    "poisson": "each drawn by its own chance (Poisson); randomization correction added",
    "hajek-deville": "unequal chances, Hajek-Deville approximation; randomization correction added",
    "syg": "unequal chances, Sen-Yates-Grundy variance; randomization correction added",
    "ht": "unequal chances, Horvitz-Thompson variance; randomization correction added",
}
FAR = 1e-3  # weights are often rounded: a sum that differs less from the population says nothing
NEGATIVE = "a-variance-is-estimated-below-zero"


def plan_text(cells: Cells, scheme: Scheme) -> str:
    """One line: what was drawn, and what the variance accounts for."""
    parts = [f"{cells.rows:,} rows"]
    if cells.clusters and scheme.joint is None:
        parts.append(f"{int(stages_of(cells, with_replacement=True)[0].drawn.sum()):,} clusters")
    if (strata := len(np.unique(cells.stratum.codes))) > 1:
        parts.append(f"{strata:,} strata")
    weights = "calibrated weights, " if cells.auxiliary.labels.dtype.kind == "V" else ""
    if scheme.replicates is not None:
        added = "; randomization correction added" if scheme.replicates.finite else ""
        drawn = f"{cells.weighting.replicates.shape[1]} replicate weights ({scheme.replicates.method}){added}"
    elif scheme.method != "stages":
        drawn = DRAWN[scheme.method]
    elif cells.population.shape[1]:
        drawn = "drawn without replacement from a known population; randomization correction added"
    else:
        drawn = f"variance as for {'clusters' if cells.clusters else 'rows'} drawn with replacement"
    return f"{', '.join(parts)}; {weights}{drawn}"


def flags_of(
    share: Real, v_share: Real, randomization: Real, cells: Cells, *, size: float, base: float, chance: float
) -> tuple[str, ...]:
    """What a reader should know; ``size`` is the sum of the weights, ``base`` what shares are divided by."""
    variance = diagonal(v_share)
    sampling, full = variance - randomization, v_share.ndim == 2
    flags = list(flags_of_moments(share, variance, sampling, full=full, chance=chance))
    if np.isnan(variance).any():
        flags.append(Note("no-variance-some-replicate-gives-these"))
    if (variance < -1e-15).any():
        flags.append(Note(NEGATIVE))
    if (cells.weight < 0).any():
        flags.append(Note("calibration-made-some-weights-negative"))
    if above(abs(size - base), FAR * base):
        flags.append(Note("the-weights-add-up", size=Printed(size), base=Printed(base)))
    return tuple(flags)


def with_domains(
    whole: SurveyEstimate, domains: Mapping[Any, SurveyEstimate], between: tuple[Real, ...] = ()
) -> SurveyEstimate:
    """The result for the whole and its domains, which are tested together: none is accused by being one of many."""
    looks = 1 + len(domains)
    judged = {label: replace(one, flags=among_looks(one.flags, looks)) for label, one in domains.items()}
    return replace(whole, flags=among_looks(whole.flags, looks), domains=judged, between=between)


def empty_domain(recovery: Recovery, text: str) -> SurveyEstimate:
    """No estimate: not a number, with a flag that says so."""
    k = recovery.k
    nothing = np.full(k, np.nan)
    matrix = np.full((k, k), np.nan) if recovery.full else None
    return SurveyEstimate(
        categories=recovery.readings[0].design.inputs.labels,
        pi_hat=nothing,
        variance=nothing,
        variance_parts=(nothing, nothing),
        covariance=matrix,
        n=0,
        method="moments",
        fingerprint=recovery.fingerprint,
        flags=(Note("no-rows-in-this-domain-there"),),
        total=np.zeros(k),
        total_variance=nothing,
        total_covariance=matrix,
        population=0.0,
        plan_text=text,
    )


def with_device_noise(estimate: Estimate) -> Estimate:
    """The estimate, and those of its domains, with variances of at least what the device adds."""
    more: dict[str, Any] = {}
    if isinstance(estimate, SurveyEstimate) and estimate.domains:
        more["domains"] = {label: with_device_noise(one) for label, one in estimate.domains.items()}
    residues = np.abs(estimate.variance) <= ROUNDING / max(estimate.n, 1)  # zero but for rounding
    estimate = replace(estimate, variance=np.where(residues, 0.0, estimate.variance), **more)
    least = _least(estimate)
    if least is None:
        return estimate
    degrees = estimate.degrees_of_freedom
    of_one_stratum = degrees is not None and degrees < 1
    unreliable = is_outside(estimate.raw) | ~estimate.has_error | of_one_stratum
    lacking = np.where(unreliable, _lacking(least, estimate.variance), 0)
    raised = lacking > 0
    if raised.any():
        more = {"variance": estimate.variance + lacking}
        if isinstance(estimate, SurveyEstimate):
            lost = np.where(raised, _lacking(least * estimate.population**2, estimate.total_variance), 0)
            more["total_variance"] = estimate.total_variance + lost
        estimate = replace(estimate, **more)
    sampling = estimate.variance - estimate.randomization_variance
    sampling = np.where(np.abs(sampling) <= ROUNDING * estimate.variance, 0.0, sampling)
    unknown = sampling < 0
    parts = np.where(unknown, np.nan, sampling), estimate.randomization_variance
    return replace(estimate, variance_parts=parts, flags=_flags_kept(estimate, raised, separable=not unknown.any()))


def _least(estimate: Estimate) -> Real | None:
    """What the device adds to each variance; None where the reports of single designs are not known."""
    if estimate.sums_of is not None or not np.isfinite(estimate.raw).all():
        return None
    parts = (estimate.used if isinstance(estimate, SurveyEstimate) else ()) or estimate.parts
    t = nearest_shares(estimate.raw)
    if parts:
        spread = np.asarray(sum(part.weight * part.variance(t) for part in parts)) - t * (1 - t)
        return np.asarray(np.maximum(spread, 0) / estimate.effective_n)
    counts = estimate.binomial_counts
    if counts is None:
        return None
    a, b = counts.a, counts.b
    return np.asarray(((1 - t) * b * (1 - b) + t * a * (1 - a)) / (a - b) ** 2 / counts.n)


def _lacking(least: Real, variance: Real) -> Real:
    """What variances lack by more than rounding; nothing where one is not defined."""
    lacking = np.where(np.isfinite(variance), least - variance, 0)
    return np.where(lacking > ROUNDING * least, lacking, 0)


def _flags_kept(estimate: Estimate, raised: Array, *, separable: bool) -> tuple[str, ...]:
    """Those that still hold, and how many standard errors are those of the randomization."""
    positive = bool(estimate.has_error.all())
    gone = {kind for kind, is_gone in (("no-error", positive), ("small-sampling", separable)) if is_gone}
    kept = [flag for flag in estimate.flags if not (isinstance(flag, Flag) and flag.kind in gone)]
    words = Note("standard-errors-are-those-of-the", raised=int(raised.sum()), of=len(raised))
    added = [Flag(words, "least-error")] if raised.any() else []
    return (*(flag for flag in kept if getattr(flag, "code", "") != NEGATIVE or not positive), *added)
