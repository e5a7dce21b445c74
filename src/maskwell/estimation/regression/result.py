"""Regression: coefficients and what they came from, with the names that users of statsmodels know."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from maskwell.core.arguments import as_floats
from maskwell.core.arrays import Real
from maskwell.core.display import require_pandas
from maskwell.errors import InputError
from maskwell.estimation.regression.coefficients import Coefficients
from maskwell.estimation.regression.margins import Margins
from maskwell.estimation.regression.summary import summary_lines


@dataclass(frozen=True, eq=False, repr=False)
class Regression(Coefficients):
    """A fitted regression.

    Attributes
    ----------
    family
        What was fitted, such as "logistic".
    outcome, categories
        Name of the outcome, and its true categories. The last category is the reference.
    n
        Number of rows.
    log_likelihood, null_log_likelihood
        At the estimates, and with an intercept alone (None where that has no meaning). Weighted rows count with their
        weight.
    iterations, converged
        Of the search.
    variance
        What the standard errors rest on, in words.
    flags
        What a reader should know, in words.
    latent
        Coefficients of a second model fitted with the first: shares of the categories of a randomized predictor, or
        attention. None without one.
    margins
        What predictions and average effects need; None where they have no meaning.
    formula, dropped
        As typed, and rows left out for missing values.
    frame
        Turns a new table into the columns of the model; None for fits from arrays.
    """

    family: str = "logistic"
    outcome: str = "y"
    categories: tuple[Any, ...] = ()
    n: int = 0
    log_likelihood: float = math.nan
    null_log_likelihood: float | None = None
    iterations: int = 0
    converged: bool = True
    variance: str = ""
    flags: tuple[str, ...] = ()
    latent: Coefficients | None = None
    fingerprints: tuple[str, ...] = ()
    margins: Margins | None = field(default=None, kw_only=True)
    formula: str | None = None
    dropped: int = 0
    frame: Callable[[Any], Real] | None = None

    # ---- the names of statsmodels

    @property
    def params(self) -> Any:
        """The coefficients; by name (a pandas Series) when the model came from a formula."""
        return self._named(self.estimates)

    @property
    def bse(self) -> Any:
        """Standard errors."""
        return self._named(self.standard_error)

    @property
    def tvalues(self) -> Any:
        """Estimates over their standard errors."""
        return self._named(self.z)

    @property
    def pvalues(self) -> Any:
        """Two-sided p-values."""
        return self._named(self.p_values)

    def conf_int(self, alpha: float = 0.05) -> Any:
        """Wald intervals at the level 1 - alpha, shape (p, 2)."""
        values = self.confidence_interval(1 - alpha)
        return values if self.formula is None else require_pandas().DataFrame(values, index=list(self.terms))

    def cov_params(self) -> Any:
        """Covariance of the coefficients, shape (p, p)."""
        if self.formula is None:
            return self.covariance
        return require_pandas().DataFrame(self.covariance, index=list(self.terms), columns=list(self.terms))

    @property
    def llf(self) -> float:
        """Log-likelihood at the estimates."""
        return self.log_likelihood

    @property
    def llnull(self) -> float | None:
        """Log-likelihood with an intercept alone."""
        return self.null_log_likelihood

    @property
    def nobs(self) -> int:
        """Number of rows."""
        return self.n

    @property
    def df_model(self) -> int:
        """Coefficients besides the intercepts."""
        intercepts = sum(term == "Intercept" or term.endswith(": Intercept") for term in self.terms)
        return len(self.terms) - intercepts

    @property
    def df_resid(self) -> int:
        """Rows less coefficients, or, with clusters, clusters less strata."""
        return self.n - self._size if self.degrees_of_freedom is None else self.degrees_of_freedom

    @property
    def aic(self) -> float:
        """``2 p - 2 l``."""
        return 2 * self._size - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """``p ln n - 2 l``."""
        return self._size * math.log(self.n) - 2 * self.log_likelihood

    @property
    def prsquared(self) -> float | None:
        """McFadden's pseudo R-squared: the share of the null log-likelihood that is gone."""
        null = self.null_log_likelihood
        return None if null is None or null == 0 else 1 - self.log_likelihood / null

    @property
    def _size(self) -> int:
        return len(self.terms) + (0 if self.latent is None else len(self.latent.terms))

    # ---- questions

    def predict(self, data: Any = None) -> Real:
        """Fitted chance of the first category, shape (rows,), or of each category, shape (rows, k), when k > 2.

        A linear model gives fitted means. ``data`` is a table with the columns of the formula, or an array like the X
        of the fit; None means the rows of the fit.
        """
        margins = self._margins()
        if data is None:
            return margins.fitted(self.estimates)
        if self.frame is not None:
            return margins.at(self.estimates, self.frame(data))
        values = as_floats(data, "data", finite=False)
        return margins.at(self.estimates, margins.complete(values[:, None] if values.ndim == 1 else values))

    def marginal_effects(self, *, dummy: bool = False) -> Coefficients:
        """Average over the rows of the change in the chance of a category as a predictor moves, with errors.

            AME_j = mean_i dPr_i / dx_ij

        With ``dummy`` a predictor of zeros and ones is switched from 0 to 1 instead. Errors by the delta method.
        """
        return self._margins().effects(self, dummy=dummy)

    def to_dict(self, level: float = 0.95, *, exponentiate: bool = False) -> dict[str, Any]:
        """Everything as plain values, for JSON.

        ``covariance`` is always that of ``estimates``: with ``exponentiate`` of the logarithms of the coefficients
        shown, and ``covariance_scale`` is then "log", else "estimates".
        """
        found: dict[str, Any] = {
            "n": self.n,
            "method": self.family,
            "outcome": self.outcome,
            "categories": [
                label if isinstance(label, str | int | float | bool) else str(label) for label in self.categories
            ],
            "level": level,
            "exponentiated": exponentiate,
            "coefficients": self.rows(level, exponentiate=exponentiate),
            "covariance": [[None if math.isnan(x) else x for x in row] for row in self.covariance.tolist()],
            "covariance_scale": "log" if exponentiate else "estimates",
            "variance": self.variance,
            "degrees_of_freedom": self.degrees_of_freedom,
            "log_likelihood": None if math.isnan(self.log_likelihood) else self.log_likelihood,
            "iterations": self.iterations,
            "converged": self.converged,
            "flags": list(self.flags),
            "dropped": self.dropped,
            "designs": list(self.fingerprints),
        }
        if self.formula is not None:
            found["formula"] = self.formula
        if self.latent is not None:
            found["latent"] = self.latent.rows(level)
        return found

    def summary(self, level: float = 0.95) -> str:
        """A table of the coefficients with what belongs to it, as text."""
        return "\n".join(summary_lines(self, level))

    def __repr__(self) -> str:
        return self.summary()

    def plot(self, *, level: float = 0.95, exponentiate: bool = False) -> Any:
        """The coefficients with their intervals as a picture."""
        from maskwell.core.display import render

        return render("plot_coefficients", self, level=level, exponentiate=exponentiate)

    def _named(self, values: Real) -> Any:
        return values if self.formula is None else require_pandas().Series(values, index=list(self.terms))

    def _margins(self) -> Margins:
        if self.margins is None:
            raise InputError(
                f"a {self.family} regression with a randomized predictor or attention has no predictions of this kind",
                hint="use its coefficients",
            )
        return self.margins
