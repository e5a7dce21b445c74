"""Regression: coefficients and what they came from, with the names that users of statsmodels know.

With it go predictions and average marginal effects, worked out block by block (:class:`Margins`), and the table of the
coefficients as text for a notebook or a terminal.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maskwell.core.arguments import Real, as_floats
from maskwell.core.display import Summary, require_pandas
from maskwell.core.phrases import Printed, p_text, shorten
from maskwell.designs.design import Design
from maskwell.errors import InputError
from maskwell.estimation.regression.model_matrix import ModelMatrix, blocks
from maskwell.estimation.regression.named_coefficients import Coefficients
from maskwell.estimation.regression.nested_models import NestedTest, compare_nested
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
    incomparable
        Why the log-likelihood, AIC and BIC must not be compared with those of other models; empty where they may be.
    latent
        Coefficients of a second model fitted with the first: shares of the categories of a randomized predictor, or
        attention. None without one.
    margins
        What predictions and average effects need; None where they have no meaning.
    formula, dropped
        As typed, and rows left out for missing values.
    frame
        Turns a new table into the columns of the model; None for fits from arrays.
    variables
        What moving each variable of the formula does to the columns of the model; None for fits from arrays.
    designs
        The design of each column that was randomized, for fits from a table.
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
    incomparable: str = ""
    latent: Coefficients | None = None
    fingerprints: tuple[str, ...] = ()
    margins: Margins | None = field(default=None, kw_only=True)
    formula: str | None = None
    dropped: int = 0
    frame: Callable[[Any], Real] | None = None
    variables: Callable[[bool], Iterable[Change]] | None = None
    designs: tuple[tuple[str, Design], ...] = ()

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

    def compare(self, smaller: Regression, *, method: str | None = None) -> NestedTest:
        """Test this model against a special case of it, fitted to the same rows."""
        return compare_nested(self, smaller, method=method)

    def marginal_effects(self, *, dummy: bool = False) -> Effects:
        """Average over the rows of the change in the chance of a category as a predictor moves, with errors.

            AME_x = mean_i dPr_i / dx_i

        From a formula the predictors are its variables: a column of numbers moves in all terms that name it, and a
        category is compared with the reference of its column, everybody being given the one and then the other. From
        arrays each column of X moves alone. With ``dummy`` a predictor of zeros and ones is switched from 0 to 1
        instead. Errors by the delta method; the values of the predictors count as fixed.
        """
        margins = self._margins()
        if len(margins.matrix.versions) > 1:
            raise InputError(
                "marginal effects need the true values of all predictors, and one was randomized",
                hint="compare predictions for chosen values: predict({'cash': ['yes', 'no'], ...})",
            )
        changes = margins.of_columns(dummy=dummy) if self.variables is None else self.variables(dummy)
        return margins.effects(self, changes)

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
            "aic": None if self.incomparable or math.isnan(self.log_likelihood) else self.aic,
            "bic": None if self.incomparable or math.isnan(self.log_likelihood) else self.bic,
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

    def summary(self, level: float = 0.95) -> Summary:
        """A table of the coefficients with what belongs to it: text, which a notebook shows as a table."""
        return Summary.of("\n".join(summary_lines(self, level)), self)

    def __repr__(self) -> str:
        return self.summary()

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
class Change:
    """A change in a predictor: for some rows dX / dx and None, or their columns with one value and with another."""

    name: str
    rows: Callable[[slice], tuple[Real, Real | None]]


@dataclass(frozen=True, eq=False, repr=False)
class Effects(Coefficients):
    """Average marginal effects: how much the chance of a category changes, as a share, with their covariance."""

    def summary(self, level: float = 0.95) -> Summary:
        """A table of the effects: text, which a notebook shows as a table."""
        title = "Average marginal effects".center(WIDTH).rstrip()
        width = min(NAMES, max(map(len, self.terms), default=0))
        lines = [title, "=" * WIDTH, *coefficient_lines(self, level, width), "=" * WIDTH]
        return Summary.of("\n".join(lines), self)

    def __repr__(self) -> str:
        return self.summary()


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

    def effects(self, fit: Coefficients, changes: Iterable[Change]) -> Effects:
        """The average effect of each change on the chance of each category, with their covariance."""
        categories, width = (self.k if self.k > 2 else 1), len(fit.estimates)
        names, values, slopes = list[str](), list[Real](), list[Real]()
        for change in changes:
            value, slope = np.zeros(categories), np.zeros((categories, width))
            for where in blocks(self.matrix.n):
                effect, turn = self._effect(fit.estimates, change, where)
                value += effect[:categories]
                slope += turn[:categories]
            names.append(change.name)
            values.append(value)
            slopes.append(slope)
        labels = [""] if categories == 1 else [f"{label}: " for label in self.categories]
        J = np.reshape(slopes, (len(names), categories, width)).transpose(1, 0, 2).reshape(-1, width)
        return Effects(
            tuple(f"{label}{name}" for label in labels for name in names),
            np.reshape(values, (len(names), categories)).T.reshape(-1),
            J @ fit.covariance @ J.T,
            fit.degrees_of_freedom,
        )

    def of_columns(self, *, dummy: bool) -> list[Change]:
        """A change in each column of the model but the intercept; with ``dummy`` from 0 to 1 where it holds these."""
        kept = [j for j in range(self.matrix.p) if j != self.matrix.constant]
        return [self._of_column(j, switched=dummy and self._is_dummy(j)) for j in kept]

    def _of_column(self, j: int, *, switched: bool) -> Change:
        def slope(where: slice) -> tuple[Real, Real | None]:
            return np.tile(np.eye(self.matrix.p)[j], (where.stop - where.start, 1)), None

        def switch(where: slice) -> tuple[Real, Real | None]:
            on, off = self._rows(where).copy(), self._rows(where).copy()
            on[:, j], off[:, j] = 1.0, 0.0
            return on, off

        return Change(self.matrix.names[j], switch if switched else slope)

    def _effect(self, beta: Real, change: Change, where: slice) -> tuple[Real, Real]:
        """Of one change on some rows: sums over their shares, and derivatives by all coefficients."""
        share, (moved, off) = self._share(where), change.rows(where)
        if self.k == 0:
            moved = share @ (moved if off is None else moved - off)
            return np.array([moved @ beta]), moved[None]
        return (
            self._slope(beta, self._rows(where), share, moved) if off is None else self._switch(beta, share, moved, off)
        )

    def _slope(self, beta: Real, X: Real, share: Real, D: Real) -> tuple[Real, Real]:
        """Mean of ``dPr_c / dx = pi_c (g_c - mean)``, where ``g = D beta`` and D is dX / dx, and its derivative."""
        pi, g = self._chances(beta, X), self._by_category(beta) @ D.T
        away = g - (g * pi).sum(axis=0)
        turn = np.array(
            [
                [pi[c] * ((c == d) - pi[d]) * away[c] - pi[c] * pi[d] * away[d] for d in range(self.k - 1)]
                for c in range(self.k)
            ]
        )
        return (pi * away) @ share, _through(turn, X, share) + _through(self._turn(pi), D, share)

    def _switch(self, beta: Real, share: Real, on: Real, off: Real) -> tuple[Real, Real]:
        """Mean difference between two sets of rows, and its derivative by all coefficients."""
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
        ("AIC:", "n/a" if result.incomparable or math.isnan(result.llf) else f"{Printed(result.aic):.1f}"),
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
