"""Regression: coefficients and what they came from, with the names that users of statsmodels know.

With it go predictions and average marginal effects, worked out block by block (:class:`Margins`), and the table of the
coefficients as text for a notebook or a terminal.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maskwell.core.arguments import Real, as_floats
from maskwell.core.display import require_pandas
from maskwell.core.phrases import Printed, p_text, shorten
from maskwell.errors import InputError
from maskwell.estimation.regression.model_matrix import ModelMatrix, blocks
from maskwell.estimation.regression.named_coefficients import Coefficients
from maskwell.estimation.regression.row_likelihoods import softmax

WIDTH = 98
NAMES = 40


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
        facts: dict[str, Any] = {
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
            facts["formula"] = self.formula
        if self.latent is not None:
            facts["latent"] = self.latent.rows(level)
        return facts

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


@dataclass(frozen=True, eq=False)
class Margins:
    """What is needed to go from coefficients to chances.

    Attributes
    ----------
    matrix
        The model matrix of the fit.
    k
        Number of outcome categories; 0 for a linear model.
    weights
        Of the rows, None when all count alike.
    categories
        Labels of the outcome.
    """

    matrix: ModelMatrix
    k: int
    weights: Real | None
    categories: tuple[Any, ...]

    def complete(self, X: Real) -> Real:
        """New rows with a column of ones where the fit had an intercept without a column."""
        columns = self.matrix.p - int(self.matrix.with_ones)
        if X.ndim != 2 or X.shape[1] != columns:
            raise InputError(
                f"an array of shape {X.shape} for a model with {columns} columns", hint="give the columns of the fit"
            )
        return np.column_stack([np.ones(len(X)), X]) if self.matrix.with_ones else X

    def at(self, beta: Real, X: Real) -> Real:
        """Chances (or means) for complete rows of the model matrix."""
        if self.k == 0:
            return np.asarray(X @ beta)
        pi = self._chances(beta, X)
        return pi[0] if self.k == 2 else pi.T

    def fitted(self, beta: Real) -> Real:
        """Chances for the rows of the fit."""
        return np.concatenate([self.at(beta, self._rows(where)) for where in blocks(self.matrix.n)])

    def effects(self, fit: Coefficients, *, dummy: bool) -> Coefficients:
        """Average marginal effects of every predictor but the intercept, with their covariance."""
        kept = [j for j in range(self.matrix.p) if j != self.matrix.constant]
        switched = [dummy and self._is_dummy(j) for j in kept]
        categories = self.k if self.k > 2 else 1
        value, slope = np.zeros((categories, len(kept))), np.zeros((categories, len(kept), len(fit.estimates)))
        for where in blocks(self.matrix.n):
            X, share = self._rows(where), self._share(where)
            for place, (j, is_switched) in enumerate(zip(kept, switched, strict=True)):
                effect, turn = (self._switch if is_switched else self._slope)(fit.estimates, X, share, j)
                value[:, place] += effect[:categories]
                slope[:, place] += turn[:categories]
        names = [self.matrix.names[j] for j in kept]
        terms = (
            names if categories == 1 else [f"{self.categories[c]}: {name}" for c in range(categories) for name in names]
        )
        J = slope.reshape(-1, len(fit.estimates))
        return Coefficients(tuple(terms), value.reshape(-1), J @ fit.covariance @ J.T, fit.degrees_of_freedom)

    def _slope(self, beta: Real, X: Real, share: Real, j: int) -> tuple[Real, Real]:
        """Mean of ``dPr_c / dx_j = pi_c (beta_cj - mean_j)``, shape (k,), and its derivative by all coefficients."""
        if self.k == 0:
            return np.array([beta[j] * share.sum()]), np.eye(len(beta))[[j]] * share.sum()
        pi, b = self._chances(beta, X), self._by_category(beta)[:, j]
        mean = b @ pi
        turn = np.array(
            [
                [pi[c] * ((c == d) - pi[d]) * (b[c] - mean) - pi[c] * pi[d] * (b[d] - mean) for d in range(self.k - 1)]
                for c in range(self.k)
            ]
        )
        through = _through(turn, X, share)
        through[:, j :: self.matrix.p] += self._turn(pi) @ share
        return (pi * (b[:, None] - mean)) @ share, through

    def _switch(self, beta: Real, X: Real, share: Real, j: int) -> tuple[Real, Real]:
        """Mean difference that switching column j from 0 to 1 makes, and its derivative by all coefficients."""
        on, off = X.copy(), X.copy()
        on[:, j], off[:, j] = 1.0, 0.0
        high, low = self._chances(beta, on), self._chances(beta, off)
        through = _through(self._turn(high), on, share) - _through(self._turn(low), off, share)
        return (high - low) @ share, through

    def _turn(self, pi: Real) -> Real:
        """``dpi_c / deta_d``, shape (k, k - 1, rows)."""
        return np.array([[pi[c] * ((c == d) - pi[d]) for d in range(self.k - 1)] for c in range(self.k)])

    def _is_dummy(self, j: int) -> bool:
        column = self.matrix.column(j) * self.matrix.scale[j] + self.matrix.shift[j]
        return self.k > 0 and bool(np.isin(np.round(column, 12), (0.0, 1.0)).all())

    def _chances(self, beta: Real, X: Real) -> Real:
        eta = X @ self._by_category(beta)[:-1].T
        return softmax(list(eta.T))

    def _by_category(self, beta: Real) -> Real:
        """Coefficients of each category, the reference with zeros, shape (k, p)."""
        return np.concatenate([beta.reshape(-1, self.matrix.p), np.zeros((1, self.matrix.p))])

    def _rows(self, where: slice) -> Real:
        return self.matrix.block(where).T + self.matrix.shift

    def _share(self, where: slice) -> Real:
        if self.weights is None:
            return np.full(where.stop - where.start, 1 / self.matrix.n)
        return np.asarray(self.weights[where] / self.weights.sum())


def _through(turn: Real, X: Real, share: Real) -> Real:
    """Mean of ``turn_cd x_l``, shape (k, (k - 1) p): the derivative by beta_dl of something that depends on eta."""
    return np.asarray(((turn * share) @ X).reshape(len(turn), -1))


def summary_lines(result: Regression, level: float) -> list[str]:
    """Facts in two columns, the coefficients, and the notes."""
    title = f"{result.family.capitalize()} regression with randomized response"
    lines = [title.center(WIDTH).rstrip(), "=" * WIDTH, *_facts(result), "=" * WIDTH]
    parts = [result] if result.latent is None else [result, result.latent]
    width = min(NAMES, max(len(term) for part in parts for term in part.terms))
    lines += coefficient_lines(result, level, width)
    if result.latent is not None:
        lines += ["-" * WIDTH, *coefficient_lines(result.latent, level, width)[2:]]
    lines.append("=" * WIDTH)
    return lines + [line for flag in result.flags for line in textwrap.wrap(f"note: {flag}", WIDTH)]


def coefficient_lines(part: Coefficients, level: float, width: int) -> list[str]:
    """A header and one line for each coefficient."""
    tail = (1 - level) / 2
    letter = "z" if part.degrees_of_freedom is None else "t"
    header = ["", "coef", "std err", letter, f"P>|{letter}|", f"[{Printed(tail):.3g}", f"{Printed(1 - tail):.3g}]"]
    rows = zip(
        part.terms,
        part.estimates,
        part.standard_error,
        part.z,
        part.p_values,
        part.confidence_interval(level),
        strict=True,
    )
    lines = [_line(header, width), "-" * WIDTH]
    for term, value, error, z, p, (low, high) in rows:
        cells = [_digits(value), _digits(error), f"{Printed(z):.3f}", p_text(p), _digits(low), _digits(high)]
        lines.append(_line([shorten(term, NAMES), *(cell.replace("nan", "n/a") for cell in cells)], width))
    return lines


def _facts(result: Regression) -> list[str]:
    pairs = [
        ("Outcome:", shorten(result.outcome, 30)),
        ("No. observations:", f"{result.n:,}"),
        ("Model:", _model(result)),
        ("Log-likelihood:", "n/a" if math.isnan(result.llf) else f"{Printed(result.llf):.3f}"),
        ("Variance:", shorten(result.variance, WIDTH // 2 - 20)),
        ("Pseudo R-squared:", "n/a" if result.prsquared is None else f"{Printed(result.prsquared):.4f}"),
        ("Converged:", "yes" if result.converged else "no"),
        ("AIC:", "n/a" if math.isnan(result.llf) else f"{Printed(result.aic):.1f}"),
    ]
    cells = [f"{name:<18}{value:>{WIDTH // 2 - 20}}" for name, value in pairs]
    return [f"{left}  {right}".rstrip() for left, right in zip(cells[::2], cells[1::2], strict=True)]


def _model(result: Regression) -> str:
    return shorten(f"reference {result.categories[-1]}" if result.categories else result.family, 26)


def _line(cells: list[str], width: int) -> str:
    numbers = "".join(f"{cell:>{(WIDTH - width) // 6}}" for cell in cells[1:])
    return f"{cells[0]:<{width}}{numbers}".rstrip()


def _digits(value: float) -> str:
    """Four decimals, or four digits of what is very small or large."""
    return f"{Printed(value):.4f}" if value == 0 or 1e-3 <= abs(value) < 1e5 else f"{Printed(value):.3e}"
