"""Estimate: proportions with their errors, and what makes them reproducible."""

from __future__ import annotations

import importlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from maskwell.core.arguments import as_floats, check_kind
from maskwell.core.arrays import Real
from maskwell.core.phrases import Printed
from maskwell.errors import LabelError, MissingExtraError, ParameterError, TooLargeError
from maskwell.estimation.shown import drawn, html_table, number_or_none, plain_label

if TYPE_CHECKING:
    from maskwell.estimation.intervals.base import Intervals
    from maskwell.estimation.left_inverse import LeftInverse
    from maskwell.estimation.samples import Sample

SHOWN = 20


class Combination(NamedTuple):
    """A sum of shares with factors, and its standard error."""

    value: float
    standard_error: float


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """Estimated true proportions.

    Attributes
    ----------
    categories
        Labels, shape (k,); tuples for tables.
    pi_hat
        Raw estimates, shape (k,). They sum to one or nearly so, and may lie outside [0, 1].
    variance, sampling_variance, randomization_variance
        Estimated variances, shape (k,): the whole and its two parts. The sampling part is a difference and may be
        negative.
    covariance
        Shape (k, k), or ``None`` when there are too many categories to hold it.
    n
        Number of reports.
    method, fingerprint
        How they were found and with which design.
    flags
        What a reader should know, in words.
    samples
        The counts and designs that it rests on; empty where it rests on something else, such as weighted rows.
    moments
        The raw unbiased estimate beside one that was held to [0, 1], shape (k,). Use it for totals, differences and
        pooling over studies, where held estimates would be biased.
    inverse
        The left inverse that was chosen for it, if one was.
    """

    categories: Sequence[Hashable]
    pi_hat: Real
    variance: Real
    sampling_variance: Real
    randomization_variance: Real
    covariance: Real | None
    n: int
    method: str
    fingerprint: str
    flags: tuple[str, ...] = ()
    samples: tuple[Sample, ...] = ()
    moments: Real | None = None
    inverse: LeftInverse | None = None

    @property
    def standard_error(self) -> Real:
        """Square roots of the variances; NaN where a variance is negative (it is then flagged)."""
        out = np.full(self.variance.shape, np.nan)
        return np.sqrt(self.variance, out=out, where=self.variance >= 0)

    # ---- intervals

    @property
    def default_interval(self) -> str:
        """The method of intervals where none is named.

        ``score`` for one sample of a design with two categories and two reports, else ``wald``; ``profile`` for maximum
        likelihood estimates at 0 or 1, which have no standard error.
        """
        from maskwell.estimation.intervals.registry import default_method

        return default_method(self)

    def critical_value(self, probability: float) -> float:
        """The quantile that Wald intervals take: of the normal distribution."""
        from statistics import NormalDist

        return NormalDist().inv_cdf(probability)

    def intervals(self, level: float = 0.95, method: str | None = None, **options: Any) -> Intervals:
        """Intervals of all categories with what must be said about them.

        Parameters
        ----------
        level
            The chance that an interval covers its share.
        method
            ``wald``, ``logit``, ``score``, ``exact``, ``profile``, ``bonferroni``, ``scheffe`` or ``bootstrap``;
            :attr:`default_interval` unless given. Which one when: docs/theory/intervals.md.
        **options
            Of the method, such as ``seed`` for ``bootstrap``.
        """
        from maskwell.estimation.intervals.registry import intervals_of

        return intervals_of(self, level, self.default_interval if method is None else method, **options)

    def confidence_interval(self, level: float = 0.95, method: str | None = None, **options: Any) -> Real:
        """The ends of :meth:`intervals`, shape (k, 2).

        Each interval stands for its own category, not for all of them together, except for ``bonferroni`` and
        ``scheffe``.
        """
        check_kind(str | None, method=method)
        return self.intervals(level, method, **options).to_array()

    # ---- sums of shares

    def contrast(self, coefficients: Any) -> Combination:
        """``sum_j c_j pi_hat_j`` with its standard error ``sqrt(c' Cov c)``.

        NaN for an error where a covariance is not defined, as at the boundary of maximum likelihood, which is flagged.

        >>> from maskwell.designs.dense import Dense
        >>> from maskwell.estimation.moments import estimate_by_moments
        >>> from maskwell.estimation.samples import Sample
        >>> sample = Sample.of([120, 180], Dense.of([["0.7", "0.3"], ["0.3", "0.7"]]))
        >>> difference = estimate_by_moments(sample.counts, sample.design).contrast([1, -1])
        >>> [round(x, 4) for x in difference]   # the first answer is 50 points rarer than the second
        [-0.5, 0.1417]
        """
        c = as_floats(coefficients, "coefficients", finite=False)
        if c.shape != self.pi_hat.shape or not np.isfinite(c).all():
            raise ParameterError(
                f"coefficients of shape {c.shape} for {len(self.pi_hat):,} categories",
                hint="give one finite number for each category",
                coefficients=coefficients,
            )
        if self.covariance is None:
            raise TooLargeError(
                "covariances were left out, so sums of shares have no standard error", hint="use fewer categories"
            )
        variance = float(c @ self.covariance @ c)
        return Combination(float(c @ self.pi_hat), float(np.sqrt(variance)) if variance >= 0 else float("nan"))

    def mean(self, values: Any = None) -> Combination:
        """The mean of a quantity that has one value for each category, with its standard error.

        ``values`` are the labels themselves where they are numbers.

        >>> from maskwell.core.categories import Categories
        >>> from maskwell.designs.uniform import Uniform
        >>> from maskwell.estimation.moments import estimate_by_moments
        >>> from maskwell.estimation.samples import Sample
        >>> sample = Sample.of([500, 300, 200], Uniform.from_gamma(5, Categories.numbered(3)))
        >>> [round(x, 2) for x in estimate_by_moments(sample.counts, sample.design).mean()]   # half a time each
        [0.48, 0.04]
        """
        return self.contrast(_numbers(self.categories) if values is None else values)

    # ---- for people and programs

    def to_dict(self, level: float = 0.95, interval: str | None = None) -> dict[str, Any]:
        """Everything as plain values, for JSON; ``interval`` names the method of the intervals."""
        intervals = self.intervals(level, interval)
        rows = [
            {
                "category": plain_label(c),
                "estimate": p,
                "standard_error": number_or_none(s),
                "interval": [number_or_none(x) for x in i],
            }
            for c, p, s, i in zip(
                self.categories,
                self.pi_hat.tolist(),
                self.standard_error.tolist(),
                intervals.to_array().tolist(),
                strict=True,
            )
        ]
        return {
            "n": self.n,
            "method": self.method,
            "level": level,
            "interval_method": intervals.method,
            "estimates": rows,
            **({} if self.moments is None else {"moments": self.moments.tolist()}),
            "covariance": None if self.covariance is None else _listed(self.covariance),
            "sampling_variance": _listed(self.sampling_variance),
            "randomization_variance": _listed(self.randomization_variance),
            "flags": [*self.flags, *intervals.flags],
            "design": self.fingerprint,
        }

    def to_frame(self, level: float = 0.95, interval: str | None = None) -> Any:
        """A pandas table with one row for each category; ``interval`` names the method of the intervals."""
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise MissingExtraError("pandas is not installed", hint="pip install 'maskwell[pandas]'") from error
        low, high = self.confidence_interval(level, interval).T
        columns = {"category": list(self.categories), "estimate": self.pi_hat, "standard_error": self.standard_error}
        return pandas.DataFrame({**columns, "low": low, "high": high})

    def __repr__(self) -> str:
        intervals = self.intervals()
        width = max(8, *(len(str(c)) for c in self.categories[:SHOWN]))
        lines = [f"Estimate by {self.method} from n = {self.n:,} reports (95 % {intervals.name} intervals)"]
        for c, p, a, b in list(zip(self.categories, self.pi_hat, intervals.low, intervals.high, strict=True))[:SHOWN]:
            lines.append(f"  {c!s:<{width}} {Printed(p):8.4f}  [{Printed(a):.4f}, {Printed(b):.4f}]")
        if len(self.categories) > SHOWN:
            lines.append(f"  ... and {len(self.categories) - SHOWN:,} more")
        return "\n".join([*lines, *(f"  note: {flag}" for flag in (*self.flags, *intervals.flags))])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        intervals = self.intervals()
        columns = (self.pi_hat, self.standard_error, intervals.low, intervals.high)
        numbers = [[f"{Printed(x):.4f}" for x in column[:SHOWN]] for column in columns]
        labels = [str(category) for category in self.categories[:SHOWN]]
        more = len(self.categories) - SHOWN
        return html_table(
            f"Estimate by {self.method}, n = {self.n:,}",
            ["category", "estimate", "std. error", "95 % low", "95 % high"],
            zip(labels, *numbers, strict=True),
            [*([f"... and {more:,} more"] if more > 0 else []), *self.flags, *intervals.flags],
        )

    def plot(self, *, level: float = 0.95, interval: str | None = None) -> Any:
        """The estimates with their intervals as a picture, which a notebook shows and ``save`` writes."""
        return drawn("plot_learned", self, level=level, interval=interval)


def _numbers(categories: Sequence[Hashable]) -> list[float]:
    try:
        return [float(label) for label in categories]  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise LabelError(
            f"a mean needs numbers, and the categories are labels such as {str(categories[0])[:40]!r}",
            hint="give values, one number for each category",
        ) from error


def _listed(values: Real) -> list[Any]:
    """As nested lists, with None for NaN, which JSON does not know."""
    shown = values.astype(object)
    shown[np.isnan(values)] = None
    return list(shown.tolist())
