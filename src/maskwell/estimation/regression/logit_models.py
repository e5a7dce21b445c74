"""Logistic regression of a randomized outcome with two categories, and multinomial regression of one with more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Flag, Real, check_kind
from maskwell.designs.design import Design
from maskwell.errors import ParameterError, ReportError
from maskwell.estimation.regression.likelihood_search import climb, profile_ends
from maskwell.estimation.regression.model_matrix import ModelMatrix, as_matrix
from maskwell.estimation.regression.named_coefficients import Parameter
from maskwell.estimation.regression.predicted_chances import Margins, SoftmaxChances
from maskwell.estimation.regression.regression_likelihood import Fitted, Likelihood, Predictor, fit
from maskwell.estimation.regression.regression_result import Besides, Regression
from maskwell.estimation.regression.report_evidence import Evidence
from maskwell.estimation.regression.row_likelihoods import (
    LieDetectorRows,
    Logit,
    Recovered,
    RowModel,
    Softmax,
    expit_pair,
)
from maskwell.estimation.regression.row_sampling import RowSampling
from maskwell.estimation.sampling.sampling_description import Sampling

START_STEPS = 2

FARTHEST = 25.0  # log odds beyond which a chance is 0 or 1


def fit_logistic(
    X: Any,
    reports: Any,
    design: Design | Sequence[Design],
    *,
    codes: bool = False,
    groups: Any = None,
    plan: Sampling | None = None,
    variance: str | None = None,
    names: Sequence[str] | None = None,
    intercept: bool = True,
) -> Regression:
    """Logistic regression of the truth behind randomized reports with two categories.

        Pr(first category | x) = sigma = expit(x' beta),     lam = P[z, 0] sigma + P[z, 1] (1 - sigma)

    Coefficients maximise ``sum_i w_i ln lam_i``, by Newton's method with Fisher's step where the observed information
    is not positive definite. Standard errors come from the observed information, and with weights, strata, clusters or
    a population from the sandwich. Source: standard; gradient and Hessian derived.

    Parameters
    ----------
    X
        Predictors, shape (n, p), numbers.
    reports
        Labels of the reports, shape (n,), or :class:`Reports`; with ``codes=True`` codes 0..m-1.
    codes
        Whether the reports are codes: 0 is the first report of the design.
    design
        The design of all rows, or several with ``groups`` saying which row used which, counted from 0.
    plan
        How the rows were drawn: weights, strata, the first stage of clusters and of a finite population.
    variance
        "observed", "expected" or "sandwich"; by default as described above.
    names
        Of the columns of X.
    intercept
        Whether to add a constant, named "Intercept" and put first.

    >>> from maskwell import Categories
    >>> from maskwell.designs import Dense
    >>> warner = Dense.of([["0.8", "0.2"], ["0.2", "0.8"]], Categories.of(["yes", "no"]))
    >>> age = np.repeat([0.0, 1.0], 500)
    >>> reports = ["no"] * 325 + ["yes"] * 175 + ["no"] * 225 + ["yes"] * 275
    >>> model = fit_logistic(age[:, None], reports, warner, names=["age"])
    >>> dict(zip(model.terms, model.estimates.round(3).tolist()))     # from 1/4 to 7/12: log odds ratio 1.435
    {'Intercept': -1.099, 'age': 1.435}
    """
    check_kind(Flag, intercept=intercept)
    evidence = Evidence.of(reports, design, groups, codes=codes)
    if evidence.k != 2:
        raise ParameterError("a-logistic-regression-has-two-categories", k=evidence.k)
    values, named = as_matrix(X, names)
    rows = Prepared(values, named, evidence, RowSampling.from_plan(plan, len(values)), design, variance)
    return regress_outcome(rows, with_ones=intercept)


def fit_multinomial(
    X: Any,
    reports: Any,
    design: Design | Sequence[Design],
    *,
    codes: bool = False,
    groups: Any = None,
    plan: Sampling | None = None,
    variance: str | None = None,
    names: Sequence[str] | None = None,
    intercept: bool = True,
) -> Regression:
    """Multinomial logit of the truth behind randomized reports with k categories; the last one is the reference.

        Pr(category j | x) = exp(x' beta_j) / sum_l exp(x' beta_l),  beta_k = 0,    lam = sum_j P[z, j] Pr(j | x)

    Parameters as in :func:`fit_logistic`. Terms are named "category: column". Source: standard; derivatives derived.

    >>> import numpy as np
    >>> from maskwell import Categories
    >>> from maskwell.designs import Uniform
    >>> design = Uniform.of("1/2", Categories.of(["never", "once", "often"]))
    >>> reports = np.repeat(["never", "once", "often"] * 2, [280, 200, 120, 200, 200, 200])
    >>> model = fit_multinomial(np.repeat([0.0, 1.0], 600)[:, None], reports, design, names=["city"])
    >>> model.terms[:2], model.estimates[:2].round(3).tolist()   # outside the city "never" leads, inside all are equal
    (('never: Intercept', 'never: city'), [2.197, -2.197])
    """
    check_kind(Flag, intercept=intercept)
    evidence = Evidence.of(reports, design, groups, codes=codes)
    values, named = as_matrix(X, names)
    rows = Prepared(values, named, evidence, RowSampling.from_plan(plan, len(values)), design, variance)
    return regress_outcome(rows, with_ones=intercept)


@dataclass(frozen=True, eq=False)
class Prepared:
    """What a model of a randomized outcome is fitted to, checked before."""

    values: Array  # the model matrix, shape (n, p)
    names: Sequence[str]
    evidence: Evidence
    sampled: RowSampling
    designs: Design | Sequence[Design]
    variance: str | None

    def __post_init__(self) -> None:
        check_outcome(self.evidence, len(self.values))


def regress_outcome(rows: Prepared, *, with_ones: bool = False) -> Regression:
    """Logistic or multinomial regression; the number of categories decides."""
    evidence, sampled = rows.evidence, rows.sampled
    terms = ("Intercept", *rows.names) if with_ones else tuple(rows.names)
    matrix = ModelMatrix.of([rows.values], terms, sampled.weights, with_ones=with_ones)
    likelihood = Likelihood.shared(outcome_rows(evidence), matrix, sampled.weights)
    labels = tuple(evidence.categories.labels)
    named = terms if evidence.k == 2 else tuple(f"{c}: {term}" for c in labels[:-1] for term in terms)
    fitted = fit(likelihood, starts, sampled, named, variance=rows.variance)
    return Regression.of_fit(
        fitted,
        named,
        sampled,
        Margins(matrix, SoftmaxChances(evidence.k), sampled.weights, labels),
        family="logistic" if evidence.k == 2 else "multinomial",
        null_log_likelihood=None if matrix.constant is None else null_log_likelihood(evidence, sampled.weights),
        flags=(*evidence.flags(), *fitted.flags),
        fingerprints=fingerprints(rows.designs),
    )


def regress_lie_detector(rows: Prepared) -> Regression:
    """``Pr(carrier | x) = expit(x' beta)``, with one chance t for all carriers to be honest."""
    names, sampled, designs = rows.names, rows.sampled, _as_list(rows.designs)
    if not designs or any(design.provenance.get("family") != "lie-detector" for design in designs):
        raise ParameterError("the-model-of-a-lie-detector")
    matrix = ModelMatrix.of([rows.values], names, sampled.weights)
    alone = ModelMatrix((np.empty((matrix.n, 0)),), ("t",), np.zeros(1), np.ones(1), 0, with_ones=True)
    predictors = (Predictor(0, 0, 0), Predictor(1, 0, matrix.p))
    likelihood = Likelihood(LieDetectorRows(rows.evidence), (matrix, alone), predictors, sampled.weights)
    zero = np.zeros(likelihood.p - 1)  # no slopes, and half, most or few of the carriers honest
    starts_of_t = [np.append(zero, log_odds) for log_odds in (0.0, 2.0, -2.0)]
    fitted = fit(likelihood, lambda _: starts_of_t, sampled, [*names, "t"], variance=rows.variance)
    edge = bool(np.isnan(fitted.covariance[-1, -1])) and not np.isnan(fitted.covariance[:-1, :-1]).any()
    flags = [*fitted.flags]
    if edge:
        all_are = "honest, t = 1" if fitted.estimates[-1] > 0 else "lying, t = 0"
        of = f"all carriers are estimated to be {all_are}, the edge of what is possible"
        flags = [flag for flag in flags if not flag.startswith("no finite estimate")]
        flags.append(f"{of}: errors of the coefficients take that as given")
    result = Regression.of_fit(
        fitted,
        names,
        sampled,
        Margins(matrix, SoftmaxChances(2), sampled.weights, ("carrier", "non-carrier")),
        flags=flags,
        fingerprints=fingerprints(designs),
        besides=Besides(parameters=(_honesty(likelihood, fitted, sampled),), free=1),
    )
    return replace(result, search=replace(result.search, converged=result.converged or edge))


def _honesty(likelihood: Likelihood, fitted: Fitted, sampled: RowSampling) -> Parameter:
    """t, with the interval of its profile; under weights or clusters Wald's, on the scale of log odds."""
    log_odds = float(np.clip(fitted.estimates[-1], -FARTHEST, FARTHEST))
    error = math.sqrt(fitted.covariance[-1, -1])
    known = math.isfinite(error)
    t = _chance(log_odds) if known else math.nan if np.isnan(fitted.infinite[-1]) else float(log_odds > 0)
    theta = np.append(np.linalg.solve(likelihood.back, fitted.estimates)[:-1], log_odds)

    @cache
    def profile(level: float) -> tuple[float, float]:
        step, top, place = min(2 * error, 2.0) if known else 2.0, fitted.search.log_likelihood, len(theta) - 1
        low, high = profile_ends(likelihood, theta, top, place, level, step=step, low=-FARTHEST, high=FARTHEST)
        return _chance(low), _chance(high)

    def wald(level: float) -> tuple[float, float]:
        low, high = fitted.part(["t"], len(theta) - 1, sampled.degrees_of_freedom).confidence_interval(level)[0]
        return (_chance(float(low)), _chance(float(high))) if known else (0.0, 1.0)

    ends = profile if sampled.is_simple else wald
    return Parameter("t (honest carriers)", t, t * (1 - t) * error if known else None, ends)


def _chance(log_odds: float) -> float:
    return float(log_odds > 0) if abs(log_odds) >= FARTHEST else float(expit_pair(np.array(log_odds))[0])


def outcome_rows(evidence: Evidence) -> RowModel:
    """One predictor for two categories, k - 1 for more."""
    return Logit(evidence) if evidence.k == 2 else Softmax(evidence)


def starts(likelihood: Likelihood) -> list[Real]:
    """Zero, and the coefficients of the recovered outcome."""
    evidence: Evidence = likelihood.rows.evidence  # type: ignore[attr-defined]
    zero = np.zeros(likelihood.p)
    recovered = Likelihood.shared(Recovered(evidence), likelihood.matrices[0], likelihood.weights)
    return [zero, climb(recovered, zero, steps=START_STEPS).theta]


def check_outcome(evidence: Evidence, n: int) -> None:
    """Raise unless there is a report for every row, and more than one kind of them."""
    if evidence.n != n:
        raise ReportError("reports-for-rows-of-predictors", n=evidence.n, n_shown=n)
    if n and (evidence.index == evidence.index[0]).all():
        raise ReportError("all-reports-are-the-same-there", n=n)


def null_log_likelihood(evidence: Evidence, weights: Real | None) -> float:
    """The highest log-likelihood with an intercept alone; it depends on the counts of reports only."""
    counts = evidence.counts(weights)
    if evidence.sizes == (evidence.k,) and (counts @ evidence.recovered >= 0).all() and (counts > 0).all():
        return float(counts @ np.log(counts / counts.sum()))  # every distribution of reports that is seen can be fitted
    seen = np.flatnonzero(counts)
    alone = Evidence(evidence.table, seen, evidence.sizes, evidence.categories)
    ones = ModelMatrix((np.ones((len(seen), 1)),), ("Intercept",), np.zeros(1), np.ones(1), 0)
    likelihood = Likelihood.shared(outcome_rows(alone), ones, counts[seen])
    return max(climb(likelihood, start).at.value for start in starts(likelihood))


def fingerprints(designs: Design | Sequence[Design]) -> tuple[str, ...]:
    """Of the designs that were used."""
    return tuple(design.fingerprint for design in _as_list(designs))


def _as_list(designs: Design | Sequence[Design]) -> Sequence[Design]:
    return [designs] if isinstance(designs, Design) else designs
