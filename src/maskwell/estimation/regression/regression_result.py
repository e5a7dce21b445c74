"""Regression: coefficients and what they came from, with the names that users of statsmodels know."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Self

import numpy as np

from maskwell.core.arguments import Array, Real, as_floats, as_list, check_kind
from maskwell.core.display import Inside, Summary, entries, plain_numbers, require_pandas
from maskwell.core.phrases import Printed, shorten
from maskwell.designs.design import Design
from maskwell.errors import InputError
from maskwell.estimation.regression.named_coefficients import (
    WIDTH,
    Coefficients,
    Parameter,
    coefficient_lines,
    flat_notes,
    interval_words,
    name_width,
    p_words,
    parameter_line,
)
from maskwell.estimation.regression.nested_models import NestedTest, compare_nested
from maskwell.estimation.regression.predicted_chances import Change, Effects, Margins, Predictions, check_few, numbered
from maskwell.estimation.regression.regression_likelihood import Fitted, Search
from maskwell.estimation.regression.row_sampling import RowSampling, why_incomparable


@dataclass(frozen=True, eq=False)
class RandomIntercept:
    """Intercepts that differ between groups, as draws from a normal distribution."""

    # What tells the groups, and how many there are
    column: str
    groups: int
    deviation: float  # Estimated standard deviation of the intercepts
    covariance: Real  # Of the coefficients and the standard deviation together, shape (p + 1, p + 1)


@dataclass(frozen=True, eq=False)
class Source:
    """The table that a regression came from; all but ``outcome`` and ``dropped`` are None for fits from arrays."""

    outcome: str = "y"
    formula: str | None = None  # As typed
    dropped: int = 0  # Rows left out for missing values
    frame: Callable[[Any], Real] | None = None  # Turns a new table into the columns of the model
    # What moving each variable of the formula does to the columns, and the columns with one value in some variables
    variables: Callable[[bool], Iterable[Change]] | None = None
    changed: Callable[[Mapping[str, Any]], Real] | None = None
    designs: tuple[tuple[str, Design], ...] = ()  # The design of each column that was randomized


@dataclass(frozen=True, eq=False)
class Besides:
    """What was fitted together with the coefficients."""

    latent: Coefficients | None = None
    random: RandomIntercept | None = None
    parameters: tuple[Parameter, ...] = ()
    free: int = 0  # How many of the parameters are free, where others follow from these
    checks: tuple[NestedTest, ...] = ()


class _Named(Inside[Any]):
    """Numbers for each coefficient, by name (a pandas Series) when the model came from a formula."""

    def __get__(self, whole: Any, kind: Any = None) -> Any:
        values = super().__get__(whole, kind)
        if whole is None or whole.formula is None:
            return values
        return require_pandas().Series(values, index=list(whole.terms))


@dataclass(frozen=True, eq=False, repr=False)
class Regression(Coefficients):
    """A fitted regression.

    Attributes
    ----------
    family, n
        What was fitted, such as "logistic", and to how many rows.
    categories
        The true categories of the outcome. The last one is the reference.
    flags
        What a reader should know, in words.
    fingerprints
        Of the designs.
    margins
        What predictions and average effects need; None where they have no meaning.
    search, source, besides
        How the search ended, the table, and what was fitted together.
    """

    family: str = "logistic"
    categories: tuple[Any, ...] = ()
    n: int = 0
    flags: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    margins: Margins | None = None
    search: Search = field(default_factory=Search)
    source: Source = Source()
    besides: Besides = Besides()

    log_likelihood = Inside[float]("search.log_likelihood", "At the estimates; weighted rows count with their weight.")
    null_log_likelihood = Inside[float | None](
        "search.null_log_likelihood", "With an intercept alone; None where that has no meaning."
    )
    iterations = Inside[int]("search.iterations", "Of the search.")
    converged = Inside[bool]("search.converged", "Whether the search ended at a maximum.")
    variance = Inside[str]("search.variance", "What the standard errors rest on, in words.")
    incomparable = Inside[str](
        "search.incomparable", "Why log-likelihood, AIC and BIC must not be compared with other models'; or empty."
    )
    outcome = Inside[str]("source.outcome", "Name of the outcome.")
    formula = Inside[str | None]("source.formula", "As typed; None for fits from arrays.")
    dropped = Inside[int]("source.dropped", "Rows left out for missing values.")
    designs = Inside[tuple[tuple[str, Design], ...]](
        "source.designs", "The design of each randomized column of a table."
    )
    frame = Inside[Callable[[Any], Real] | None]("source.frame", "Turns a new table into the columns of the model.")
    variables = Inside[Callable[[bool], Iterable[Change]] | None](
        "source.variables", "What moving each variable of the formula does to the columns."
    )
    changed = Inside[Callable[[Mapping[str, Any]], Real] | None](
        "source.changed", "The columns in all rows with one value in each of some variables."
    )
    latent = Inside[Coefficients | None](
        "besides.latent", "A second model fitted with the first: shares of a randomized predictor, or attention."
    )
    random = Inside[RandomIntercept | None]("besides.random", "The random intercept; None without one.")
    parameters = Inside[tuple[Parameter, ...]](
        "besides.parameters", "What else was estimated: the variance of a random intercept, the honesty of carriers."
    )
    free = Inside[int]("besides.free", "How many of the parameters are free, where others follow from these.")
    checks = Inside[tuple[NestedTest, ...]](
        "besides.checks", "Tests that belong to the model: of no variance between groups, of proportional odds."
    )
    # The names of statsmodels
    llf = Inside[float]("log_likelihood", "The log-likelihood at the estimates.")
    llnull = Inside[float | None]("null_log_likelihood", "The log-likelihood with an intercept alone.")
    nobs = Inside[int]("n", "Number of rows.")
    params = _Named("shown", "Coefficients, by name (a pandas Series) after a formula.")
    bse = _Named("standard_error", "Standard errors of the coefficients.")
    tvalues = _Named("z", "Coefficients over their standard errors.")
    pvalues = _Named("p_values", "Two-sided p-values of the coefficients.")

    @classmethod
    def of_fit(
        cls,
        fitted: Fitted,
        terms: Sequence[str],
        sampled: RowSampling,
        margins: Margins,
        *,
        null_log_likelihood: float | None = None,
        flags: Sequence[str],
        **more: Any,
    ) -> Self:
        """The first coefficients of a fit, by name; the sampling says whether models may be compared by likelihoods."""
        reason = why_incomparable(sampled)
        return cls(
            **vars(fitted.part(terms, 0, sampled.degrees_of_freedom)),
            categories=margins.categories,
            n=margins.matrix.n,
            flags=(*flags, *([reason] if reason else [])),
            margins=margins,
            search=replace(fitted.search, null_log_likelihood=null_log_likelihood, incomparable=reason),
            **more,
        )

    @property
    def is_threshold(self) -> Array:
        """The last terms of an ordinal model, one less than its categories."""
        count = len(self.categories) - 1 if self.family == "ordinal" else 0
        return np.arange(len(self.terms)) >= len(self.terms) - count

    def conf_int(self, alpha: float = 0.05) -> Any:
        """Intervals at the level 1 - alpha, shape (p, 2)."""
        values = self.confidence_interval(1 - alpha)
        return values if self.formula is None else require_pandas().DataFrame(values, index=list(self.terms))

    def cov_params(self) -> Any:
        """Covariance of the coefficients, shape (p, p)."""
        covariance = self.known_covariance()
        if self.formula is None:
            return covariance
        return require_pandas().DataFrame(covariance, index=list(self.terms), columns=list(self.terms))

    @property
    def df_model(self) -> int:
        """Coefficients besides the intercepts, or thresholds."""
        intercepts = sum(term == "Intercept" or term.endswith(": Intercept") for term in self.terms)
        intercepts += int(self.is_threshold.sum())
        return len(self.terms) - intercepts

    @property
    def df_resid(self) -> int:
        """Rows less coefficients, or, with clusters, clusters less strata."""
        return self.n - self._size if self.degrees_of_freedom is None else self.degrees_of_freedom

    @property
    def aic(self) -> float:
        """``2 p - 2 l``.

        Only models of the same reports may be compared by it: the same rows, outcome, designs and randomized
        predictors; never where ``incomparable`` says why not.
        """
        return 2 * self._size - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """``p ln n - 2 l``; what is said of AIC holds for it too."""
        return self._size * math.log(self.n) - 2 * self.log_likelihood

    @property
    def prsquared(self) -> float | None:
        """McFadden's pseudo R-squared: the share of the null log-likelihood that is gone."""
        null = self.null_log_likelihood
        return None if null is None or null == 0 else 1 - self.log_likelihood / null

    @property
    def _size(self) -> int:
        return len(self.terms) + (0 if self.latent is None else len(self.latent.terms)) + self.free

    @property
    def _whole(self) -> Coefficients:
        """All that predictions depend on."""
        if self.random is None:
            return self
        estimates = np.append(self.estimates, self.random.deviation)
        infinite = None if self.infinite is None else np.append(self.infinite, 0.0)
        terms = (*self.terms, "deviation")
        return Coefficients(terms, estimates, self.random.covariance, self.degrees_of_freedom, infinite=infinite)

    def predict(self, data: Any = None) -> Real:
        """Fitted chance of the first category, shape (rows,), or of each category, shape (rows, k), when k > 2.

        A linear model gives fitted means. ``data`` is a table with the columns of the formula, or an array like the X
        of the fit; None means the rows of the fit.
        """
        margins = self._margins()
        if data is None:
            return margins.fitted(self._whole.estimates)
        return margins.at(self._whole.estimates, self._new_rows(data))

    def predictions(self, data: Any = None, *, at: Mapping[str, Any] | None = None) -> Predictions:
        """Predicted chances with standard errors and intervals, which stay between 0 and 1.

        Either one for each row of ``data``, as in :meth:`predict`, or one for each combination of the values in ``at``,
        such as ``{"age": [30, 60], "region": "south"}``: the mean over all rows of the fit, as if everybody had these
        values and kept the others. With a random intercept they are means over all groups.
        """
        margins = self._margins()
        if (data is None) == (at is None):
            raise InputError("predictions-need-either-data")
        if at is not None:
            return margins.predictions(self._whole, self._settings(at), averaged=True)
        X = self._new_rows(data)
        check_few(len(X))
        return margins.predictions(self._whole, numbered(X), averaged=False)

    def _new_rows(self, data: Any) -> Real:
        """The model matrix of a table, or of an array like that of the fit."""
        if self.frame is not None:
            return self.frame(data)
        values = as_floats(data, "data", finite=False)
        return self._margins().complete(values[:, None] if values.ndim == 1 else values)

    def _settings(self, at: Mapping[str, Any]) -> Iterable[tuple[str, Real]]:
        """The rows of the fit with each combination of values, by name."""
        check_kind(Mapping, at=at)
        if self.changed is None:
            raise InputError("at-names-columns-of-a-formula")
        grid = [[value] if isinstance(value, str | float | int) else as_list(value, "at") for value in at.values()]
        check_few(math.prod(map(len, grid)))
        changed = self.changed
        for values in product(*grid):
            name = ", ".join(f"{column}={value}" for column, value in zip(at, values, strict=True))
            yield name, changed(dict(zip(at, values, strict=True)))

    def compare(self, smaller: Regression, *, method: str | None = None) -> NestedTest:
        """Test this model against a special case of it, fitted to the same rows."""
        return compare_nested(self, smaller, method=method)

    def marginal_effects(self, *, dummy: bool = False) -> Effects:
        """Average over the rows of the change in the probability of a category as a predictor moves, with errors.

            AME_x = mean_i dPr_i / dx_i

        From a formula the predictors are its variables: a column of numbers moves in all terms that name it, and a
        category is compared with the reference of its column, everybody being given the one and then the other. From
        arrays each column of X moves alone. With ``dummy`` a predictor of zeros and ones is switched from 0 to 1
        instead. Errors by the delta method; the values of the predictors count as fixed.
        """
        margins = self._margins()
        if len(margins.matrix.versions) > 1:
            raise InputError("marginal-effects-need-the-true-values")
        changes = margins.of_columns(dummy=dummy) if self.variables is None else self.variables(dummy)
        return margins.effects(self._whole, changes)

    def to_dict(self, level: float = 0.95, *, exponentiate: bool = False) -> dict[str, Any]:
        """Everything as plain values, for JSON.

        ``covariance`` is always that of ``estimates``: with ``exponentiate`` of the logarithms of the coefficients
        shown, and ``covariance_scale`` is then "log", else "estimates".
        """
        facts: dict[str, Any] = {
            "n": self.n,
            "method": self.family,
            "outcome": self.outcome,
            "categories": [x if isinstance(x, str | int | float | bool) else str(x) for x in self.categories],
            "level": level,
            "interval": interval_words(self),
            "p_values": p_words(self),
            "exponentiated": exponentiate,
            "coefficients": self.rows(level, exponentiate=exponentiate),
            "covariance": plain_numbers(self.known_covariance(level)),
            "covariance_scale": "log" if exponentiate else "estimates",
            **entries(self, "variance degrees_of_freedom"),
            "log_likelihood": None if math.isnan(self.log_likelihood) else self.log_likelihood,
            "aic": None if self.incomparable or math.isnan(self.log_likelihood) else self.aic,
            "bic": None if self.incomparable or math.isnan(self.log_likelihood) else self.bic,
            **entries(self, "iterations converged"),
            "flags": list(self.notes(level)),
            "dropped": self.dropped,
            "designs": list(self.fingerprints),
        }
        if self.formula is not None:
            facts["formula"] = self.formula
        if self.latent is not None:
            facts["latent"] = self.latent.rows(level)
        if self.random is not None:
            facts["random"] = {"column": self.random.column, "groups": self.random.groups}
        if self.parameters:
            facts["parameters"] = [one.row(level) for one in self.parameters]
        if self.checks:
            facts["checks"] = [test.to_dict() for test in self.checks]
        return facts

    def notes(self, level: float = 0.95) -> tuple[str, ...]:
        """What a reader should know: the flags, and which estimates have no standard error beside these intervals."""
        return (*self.flags, *flat_notes([self, self.latent], level, self.parameters))

    def summary(self, level: float = 0.95) -> Summary:
        """A table of the coefficients with what belongs to it: text, which a notebook shows as a table."""
        return Summary.of("\n".join(summary_lines(self, level)), self)

    def __repr__(self) -> str:
        return self.summary()

    def _margins(self) -> Margins:
        if self.margins is None:
            raise InputError("a-regression-with-a-randomized-predictor", family=self.family)
        return self.margins


def summary_lines(result: Regression, level: float) -> list[str]:
    """Facts in two columns, the coefficients, and the notes."""
    title = f"{result.family.capitalize()} regression with randomized response"
    lines = [title.center(WIDTH).rstrip(), "=" * WIDTH, *_facts(result), "=" * WIDTH]
    width = name_width([result] if result.latent is None else [result, result.latent])
    lines += coefficient_lines(result, level, width)
    if result.latent is not None:
        lines += ["-" * WIDTH, *coefficient_lines(result.latent, level, width)[2:]]
    if result.parameters:
        lines += ["-" * WIDTH, *(parameter_line(one, level) for one in result.parameters)]
    lines.append("=" * WIDTH)
    methods = (
        [f"intervals: {interval_words(result)}", f"p values: {p_words(result)}"] if result.by_profile.any() else []
    )
    lines += [line for words in methods for line in textwrap.wrap(words, WIDTH)]
    lines += [line for test in result.checks for line in textwrap.wrap(f"test {test.sentence()}", WIDTH)]
    return lines + [line for flag in result.notes(level) for line in textwrap.wrap(f"note: {flag}", WIDTH)]


def _facts(result: Regression) -> list[str]:
    model = f"reference {result.categories[-1]}" if result.categories else result.family
    model = " < ".join(map(str, result.categories)) if result.family == "ordinal" else model
    pairs = [
        ("Outcome:", shorten(result.outcome, 30)),
        ("No. observations:", f"{result.n:,}"),
        ("Model:", shorten(model, 26)),
        ("Log-likelihood:", "n/a" if math.isnan(result.llf) else f"{Printed(result.llf):.3f}"),
        ("Variance:", shorten(result.variance, WIDTH // 2 - 20)),
        ("Pseudo R-squared:", "n/a" if result.prsquared is None else f"{Printed(result.prsquared):.4f}"),
        ("Converged:", "yes" if result.converged else "no"),
        ("AIC:", "n/a" if result.incomparable or math.isnan(result.llf) else f"{Printed(result.aic):.1f}"),
    ]
    cells = [f"{name:<18}{value:>{WIDTH // 2 - 20}}" for name, value in pairs]
    return [f"{left}  {right}".rstrip() for left, right in zip(cells[::2], cells[1::2], strict=True)]
