"""Sample: what one group of respondents reported; Estimate: proportions with their errors, from the reports."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from maskwell.core.arguments import Array, Real, as_array, as_floats, check_kind, exact_sum
from maskwell.core.display import Result, data_frame, number_or_none, plain_label, plain_numbers
from maskwell.core.phrases import Printed
from maskwell.core.report_data import Counts
from maskwell.designs.design import Design
from maskwell.errors import LabelError, ParameterError, ReportError, TooLargeError
from maskwell.notes import Note

if TYPE_CHECKING:
    from maskwell.estimation.binomial_counts import BinomialCounts, Part
    from maskwell.estimation.left_inverse import LeftInverse


@dataclass(frozen=True, eq=False)
class Sample:
    """Counted reports with the design that made them.

    Attributes
    ----------
    counts
        How often each report was seen (for set reports: how many reports hold each category).
    design
        The design that made them.
    inverse
        The left inverse that was chosen for an estimate from them, if one was.

    >>> from maskwell.designs import Dense
    >>> warner = Dense.of([["0.7", "0.3"], ["0.3", "0.7"]])
    >>> Sample.of([120, 180], warner).n
    300
    """

    counts: Counts
    design: Design
    inverse: LeftInverse | None = None

    def __post_init__(self) -> None:
        check_kind(Counts, counts=self.counts)
        check_kind(Design, design=self.design)
        if self.counts.fingerprint != self.design.fingerprint:
            raise ReportError("these-counts-were-made-with-another")
        sets, values = self.design.reports_are_sets, self.counts.values
        expected, counted = (self.design.k, "categories") if sets else (self.design.m, "possible reports")
        if len(values) != expected:
            raise ReportError("counts-this-design", values_count=len(values), expected=expected, counted=counted)
        if not sets and self.n != exact_sum(values):
            raise ReportError("the-counts-sum-to-but-n", exact_sum=exact_sum(values), n=self.n)

    @classmethod
    def of(cls, values: Any, design: Design) -> Self:
        """From plain counts in the order of the design's reports; sets, counted by category, come as Counts."""
        check_kind(Design, design=design)
        if design.reports_are_sets:
            raise ReportError("counts-by-category-do-not-tell")
        whole = Counts(as_array(values, "counts"), 0, "").values
        return cls(Counts(whole, exact_sum(whole), design.fingerprint), design)

    @property
    def n(self) -> int:
        """Number of reports."""
        return self.counts.n


SHOWN = 20
METHOD_NAMES = {"wald": "Wald", "bonferroni": "Bonferroni", "scheffe": "Scheffé", "wilson": "Wilson"}


@dataclass(frozen=True, eq=False, repr=False)
class Intervals(Result):
    """One interval for each category, and what must be said about them."""

    LINES = "intervals"

    # The ends, shape (k,); NaN where there is no interval, which a flag then says
    low: Real
    high: Real
    # How they were made, and the chance that one of them covers its share (all of them, for simultaneous ones)
    method: str
    level: float
    flags: tuple[str, ...] = ()  # What a reader should know, in words

    @property
    def name(self) -> str:
        """The method as people write it."""
        return METHOD_NAMES.get(self.method, self.method)

    def to_array(self) -> Real:
        """The ends as columns, shape (k, 2)."""
        return np.column_stack([self.low, self.high])

    @property
    def half_width(self) -> Real:
        """Half of the length of each interval, shape (k,)."""
        return np.asarray((self.high - self.low) / 2)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        rows = [[None if np.isnan(x) else x for x in pair] for pair in self.to_array().tolist()]
        return {"method": self.method, "level": self.level, "intervals": rows, "flags": list(self.flags)}

    def __repr__(self) -> str:
        shown = ", ".join(f"[{Printed(a):.4f}, {Printed(b):.4f}]" for a, b in self.to_array()[:5])
        rest = f", ... ({len(self.low):,} in all)" if len(self.low) > 5 else ""
        notes = "".join(f"\n  note: {flag}" for flag in self.flags)
        return f"Intervals({self.method}, level {Printed(self.level):g}): {shown}{rest}{notes}"


class Combination(NamedTuple):
    """A sum of shares with factors, and its standard error."""

    value: float
    standard_error: float


class Sums(NamedTuple):
    """The estimate whose shares are summed, and which sums: a row of 0 and 1 for each, shape (r, k)."""

    estimate: Estimate
    C: Real


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Result):
    """Estimated true proportions.

    Attributes
    ----------
    categories
        Labels, shape (k,); tuples for tables.
    pi_hat
        Raw estimates, shape (k,). They sum to one or nearly so, and may lie outside [0, 1].
    variance, variance_parts
        Estimated variances, and their sampling and their randomization part, shape (k,) each. The sampling part is a
        difference and may be negative.
    covariance
        Shape (k, k), or ``None`` when there are too many categories to hold it. It is unbiased; where its diagonal is
        below what the device adds, ``variance`` is larger.
    n
        Number of reports.
    method, fingerprint
        How they were found and with which design.
    flags
        What a reader should know, in words.
    basis
        The counts and designs that it rests on, or the estimate whose shares it sums; empty where it rests on something
        else, such as weighted rows.
    moments
        The raw unbiased estimate beside one that was held to [0, 1], shape (k,). Use it for totals, differences and
        pooling over studies, where held estimates would be biased.
    bias
        At most how far the expectation of each estimate may lie from the true share, shape (k,); None where it is
        unbiased. Intervals allow for it, standard errors do not.
    """

    LINES = "estimates"

    categories: Sequence[Hashable]
    pi_hat: Real
    variance: Real
    variance_parts: tuple[Real, Real]
    covariance: Real | None
    n: int
    method: str
    fingerprint: str
    flags: tuple[str, ...] = ()
    basis: tuple[Sample, ...] | Sums = ()
    moments: Real | None = None
    bias: Real | None = None

    @property
    def sampling_variance(self) -> Real:
        """The part of the variances that open answers would have, shape (k,)."""
        return self.variance_parts[0]

    @property
    def randomization_variance(self) -> Real:
        """The part of the variances that randomization adds, shape (k,)."""
        return self.variance_parts[1]

    @property
    def standard_error(self) -> Real:
        """Square roots of the variances; NaN where a variance is negative (it is then flagged)."""
        out = np.full(self.variance.shape, np.nan)
        return np.sqrt(self.variance, out=out, where=self.variance >= 0)

    @property
    def has_error(self) -> Array:
        """Where there is a standard error that is not zero but for rounding, shape (k,)."""
        return np.asarray(self.variance > ROUNDING / max(self.n, 1))

    @property
    def raw(self) -> Real:
        """The unbiased estimates, which were not held to [0, 1], shape (k,)."""
        return self.pi_hat if self.moments is None else self.moments

    @property
    def samples(self) -> tuple[Sample, ...]:
        """The samples behind it; none where it does not rest on counts."""
        return () if isinstance(self.basis, Sums) else self.basis

    @property
    def sums_of(self) -> Sums | None:
        """What it is the sums of, None for an estimate of its own."""
        return self.basis if isinstance(self.basis, Sums) else None

    def counted_samples(self, method: str) -> tuple[Sample, ...]:
        """The samples behind it; an error where it does not know them, or a report is a set. ``method`` needs them."""
        if not self.samples:
            raise ParameterError("no-interval-the-estimate", self_method=self.method, method=method)
        if any(sample.design.reports_are_sets for sample in self.samples):
            raise ParameterError("no-interval-for-set-reports-their", method=method)
        return self.samples

    @property
    def is_of_categories(self) -> bool:
        """Whether the shares are those of the categories of the designs, not of sums of them."""
        if not self.samples:
            return False
        labels = self.samples[0].design.inputs.labels
        return self.categories is labels or list(self.categories) == list(labels)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The designs behind the shares of the categories, and what each counts for; empty where that is not known."""
        from maskwell.estimation.binomial_counts import Part

        if len(self.samples) != 1 or not self.is_of_categories:
            return ()
        return (Part(self.samples[0].design, 1.0, self.samples[0].inverse),)

    @property
    def effective_n(self) -> float:
        """The effective number of reports: equally informative ones of equal weight, drawn independently."""
        return float(self.n)

    @property
    def design_effects(self) -> Real:
        """Variances over those of a simple random sample of as many reports, shape (k,); NaN without a plan."""
        return np.full(len(self.pi_hat), np.nan)

    @property
    def variance_of_plan(self) -> Real | None:
        """The variances where they follow from a sampling plan, shape (k,)."""
        return None

    @property
    def degrees_of_freedom(self) -> float | None:
        """Of the variances under a sampling plan; None where the normal distribution serves."""
        return None

    @cached_property
    def binomial_counts(self) -> BinomialCounts | None:
        """For each share the binomial count that determines it, or one that it matches; None where none is known."""
        from maskwell.estimation.binomial_counts import binomial_counts

        return binomial_counts(self)

    @property
    def default_interval(self) -> str:
        """The method of intervals where none is named: one that keeps its level.

        ``score`` for counts, ``exact`` or ``matched`` for small ones, ``profile`` for most likely shares of 0 or 1, and
        ``wald`` under a sampling plan unless counts are small.
        """
        from maskwell.estimation.share_intervals import default_method

        return default_method(self)

    def critical_value(self, probability: float) -> float:
        """The quantile that Wald intervals take: of the normal distribution."""
        return NormalDist().inv_cdf(probability)

    def p_value(self, distance: float, error: float) -> float:
        """Two-sided, for a quantity so far from what is tested; NaN without a standard error above zero."""
        return two_sided_p(distance / error, self.degrees_of_freedom) if error > 0 else math.nan

    def intervals(self, level: float = 0.95, method: str | None = None, **options: Any) -> Intervals:
        """Intervals of all categories with what must be said about them.

        Parameters
        ----------
        level
            The chance that an interval covers its share.
        method
            ``wald``, ``logit``, ``score``, ``exact``, ``matched``, ``profile``, ``bonferroni``, ``scheffe`` or
            ``bootstrap``; :attr:`default_interval` unless given. Which one when: docs/theory/intervals.md.
        **options
            Of the method, such as ``seed`` for ``bootstrap``.
        """
        from maskwell.estimation.share_intervals import intervals_of

        return intervals_of(self, level, self.default_interval if method is None else method, **options)

    def confidence_interval(self, level: float = 0.95, method: str | None = None, **options: Any) -> Real:
        """The ends of :meth:`intervals`, shape (k, 2).

        Each interval is for its own category, not for all of them together, except for ``bonferroni`` and
        ``scheffe``.
        """
        check_kind(str | None, method=method)
        return self.intervals(level, method, **options).to_array()

    def contrast(self, coefficients: Any) -> Combination:
        """``sum_j c_j pi_hat_j`` with its standard error ``sqrt(c' Cov c)``.

        NaN for an error where a covariance is not defined, as at the boundary of maximum likelihood, which is flagged.

        >>> from maskwell.designs import Dense
        >>> from maskwell.estimation import Sample, estimate_by_moments
        >>> sample = Sample.of([120, 180], Dense.of([["0.7", "0.3"], ["0.3", "0.7"]]))
        >>> difference = estimate_by_moments(sample.counts, sample.design).contrast([1, -1])
        >>> [round(x, 4) for x in difference]   # the first answer is 50 points rarer than the second
        [-0.5, 0.1417]
        """
        c = as_floats(coefficients, "coefficients", finite=False)
        if c.shape != self.pi_hat.shape or not np.isfinite(c).all():
            k = len(self.pi_hat)
            raise ParameterError(
                "coefficients-of-shape-for-categories-give", shape=c.shape, pi_hat_count=k, coefficients=coefficients
            )
        spread = raised_to(self.variance, self.covariance)
        if spread is None:
            raise TooLargeError("covariances-were-left-out-so-sums")
        variance = variance_of_sum(c, spread)
        return Combination(float(c @ self.pi_hat), float(np.sqrt(variance)) if variance >= 0 else float("nan"))

    def mean(self, values: Any = None) -> Combination:
        """The mean of a quantity that has one value for each category, with its standard error.

        ``values`` are the labels themselves where they are numbers.

        >>> from maskwell import Categories
        >>> from maskwell.designs import Uniform
        >>> from maskwell.estimation import Sample, estimate_by_moments
        >>> sample = Sample.of([500, 300, 200], Uniform.from_gamma(5, Categories.numbered(3)))
        >>> [round(x, 2) for x in estimate_by_moments(sample.counts, sample.design).mean()]   # half a time each
        [0.48, 0.04]
        """
        try:
            numbers = [float(label) for label in self.categories] if values is None else values  # type: ignore[arg-type]
        except (TypeError, ValueError) as error:
            raise LabelError("a-mean-needs-numbers", categorie=str(self.categories[0])[:40]) from error
        return self.contrast(numbers)

    def to_dict(self, level: float = 0.95, interval: str | None = None) -> dict[str, Any]:
        """Everything as plain values, for JSON; ``interval`` names the method of the intervals."""
        intervals = self.intervals(level, interval)
        numbers = (x.tolist() for x in (self.pi_hat, self.standard_error, intervals.to_array()))
        rows = [
            {
                "category": plain_label(c),
                "estimate": p,
                "standard_error": number_or_none(s),
                "interval": [number_or_none(x) for x in i],
            }
            for c, p, s, i in zip(self.categories, *numbers, strict=True)
        ]
        return {
            "n": self.n,
            "method": self.method,
            "level": level,
            "interval_method": intervals.method,
            "estimates": rows,
            **({} if self.moments is None else {"moments": self.moments.tolist()}),
            "covariance": None if self.covariance is None else plain_numbers(self.covariance),
            "sampling_variance": plain_numbers(self.sampling_variance),
            "randomization_variance": plain_numbers(self.randomization_variance),
            **({} if self.bias is None else {"bias_bound": plain_numbers(self.bias)}),
            "flags": [*self.flags, *intervals.flags],
            "design": self.fingerprint,
        }

    def to_frame(self, level: float = 0.95, interval: str | None = None) -> Any:
        """A pandas table with one row for each category; ``interval`` names the method of the intervals."""
        low, high = self.confidence_interval(level, interval).T
        columns = {"category": list(self.categories), "estimate": self.pi_hat, "standard_error": self.standard_error}
        bound = {} if self.bias is None else {"bias_bound": self.bias}
        return data_frame({**columns, **bound, "low": low, "high": high})

    def __repr__(self) -> str:
        return self.shown()

    def shown(self, level: float = 0.95, interval: str | None = None) -> str:
        """The estimates with intervals of a level and a method, a line for each of the first categories."""
        intervals = self.intervals(level, interval)
        width = max(8, *(len(str(c)) for c in self.categories[:SHOWN]))
        lines = [f"{self._subject()} ({Printed(100 * level):g} % {intervals.name} intervals)"]
        for c, p, a, b in list(zip(self.categories, self.pi_hat, intervals.low, intervals.high, strict=True))[:SHOWN]:
            lines.append(f"  {c!s:<{width}} {Printed(p):8.4f}  [{Printed(a):.4f}, {Printed(b):.4f}]")
        if len(self.categories) > SHOWN:
            lines.append(f"  ... and {len(self.categories) - SHOWN:,} more")
        return "\n".join([*lines, *(f"  note: {flag}" for flag in (*self.flags, *intervals.flags))])

    def _subject(self) -> str:
        """Of what they are, and from how many reports."""
        return f"Estimate by {self.method} from n = {self.n:,} reports"


COVARIANCE_LIMIT = 2000  # with more categories than this only variances are kept
ROUNDING = 1e-12


def covariances_left_out(k: int) -> tuple[str, ...]:
    """What is said of k categories where only variances are kept."""
    return () if k <= COVARIANCE_LIMIT else (Note("covariances-are-left-out-more", covariance_limit=COVARIANCE_LIMIT),)


def variance_of_sum(c: Real, V: Real) -> float:
    """``c' V c``, zero where it is rounding alone, such as of all categories, which are 1 for sure."""
    variance, scale = float(c @ V @ c), float(np.abs(c) @ np.abs(V) @ np.abs(c))
    return 0.0 if abs(variance) <= ROUNDING * scale else variance


def diagonal(values: Real) -> Real:
    """The diagonal of a matrix; what is a diagonal already stays."""
    return values if values.ndim == 1 else np.diagonal(values).copy()


SUM_TO_ONE = 1e-9  # covariances whose sum is below this part of their trace are those of shares that sum to one


def raised_to(variance: Real, covariance: Real | None) -> Real | None:
    """``V + c^2 C D_e C``, ``C = I - 11'/k``, ``c = k / (k - 1)``, where e is what the diagonal of V lacks. Derived.

    Shares that sum to one then still do; ``V + D_e`` where they need not.
    """
    if covariance is None:
        return None
    held = np.diagonal(covariance)
    lacking = np.where(variance - held > ROUNDING * np.abs(variance), variance - held, 0)
    if not lacking.any():
        return covariance
    if abs(covariance.sum()) > SUM_TO_ONE * max(np.trace(covariance), ROUNDING):
        return np.asarray(covariance + np.diag(lacking))
    k = len(lacking)
    lacking = lacking / 2 if k == 2 else lacking  # both of two categories lack the same
    centred = np.diag(lacking) - np.add.outer(lacking, lacking) / k + lacking.sum() / k**2
    return np.asarray(covariance + (k / (k - 1)) ** 2 * centred)


def two_sided_p(t: float, degrees_of_freedom: float | None = None) -> float:
    """The chance of a value as far from zero as ``t``: of the t distribution, or of the normal one without degrees."""
    if degrees_of_freedom is None:
        return math.erfc(abs(t) / math.sqrt(2))
    from scipy.special import stdtr

    return float(2 * stdtr(degrees_of_freedom, -abs(t)))
