"""Regression with a randomized predictor: logistic and multinomial outcomes by likelihood, linear by moments.

Let ``d_j`` be the row of the model matrix if the true category is j, and U its recovered indicators. The linear one is

    G = sum_i w_i sum_j U_ij d_ij d_ij',     b = sum_i w_i sum_j U_ij d_ij y_i,     beta = G^-1 b

because ``sum_j U_j d_j d_j'`` is unbiased for ``d d'``; U in place of the indicators would give wrong slopes. Errors:
``G^-1 V(sum w psi) G^-1'`` with ``psi_i = sum_j U_ij d_ij (y_i - d_ij' beta)``. Source: derived.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, as_array, as_floats, check_kind
from maskwell.core.categories import Categories
from maskwell.designs.design import Design
from maskwell.errors import InputError, MissingValueError
from maskwell.estimation.regression.likelihood_search import climb
from maskwell.estimation.regression.logit_models import START_STEPS, check_outcome, fingerprints
from maskwell.estimation.regression.model_matrix import ModelMatrix, as_matrix, blocks
from maskwell.estimation.regression.predicted_chances import Margins, Mean, SoftmaxChances
from maskwell.estimation.regression.regression_likelihood import Likelihood, Predictor, Search, fit
from maskwell.estimation.regression.regression_result import Besides, Regression
from maskwell.estimation.regression.report_evidence import Evidence
from maskwell.estimation.regression.row_likelihoods import MixtureRows, Recovered
from maskwell.estimation.regression.row_sampling import RowSampling
from maskwell.estimation.sampling.sampling_description import Sampling
from maskwell.notes import Note

NO_LIKELIHOOD = "the equations of a linear regression have no likelihood"
FEW = 0.02  # a share of a category below this, or within two errors of zero, makes its coefficient shaky


@dataclass(frozen=True, eq=False)
class Randomized:
    """A randomized predictor in a model."""

    evidence: Evidence  # What the reports say about its true category
    # The model matrix if the true category were the first, the second, ..., shape (n, p) each
    versions: tuple[Array, ...]
    names: tuple[str, ...]  # Of the columns
    # Columns that the shares of the categories depend on, shape (n, q), without the intercept
    latent: Array
    latent_names: tuple[str, ...]
    label: str  # Name of the predictor, for its own coefficients


@dataclass(frozen=True, eq=False)
class RandomizedPredictor:
    """A predictor x that was asked with a device: reports, design, codes and groups as in :func:`fit_logistic`."""

    reports: Any
    design: Design | Sequence[Design]
    codes: bool = False
    groups: Any = None
    label: str = "x"
    # Predictors of x itself, shape (n, q). If x depends on others of the model they must be in it, or coefficients are
    # biased
    latent: Any = None


def fit_predictor(
    y: Any,
    x: RandomizedPredictor,
    W: Any = None,
    *,
    family: str = "logistic",
    names: Sequence[str] | None = None,
    variance: str | None = None,
    plan: Sampling | None = None,
) -> Regression:
    """Regression of an outcome on a randomized predictor x and other predictors W.

        L_i = sum_j P[z_i, j] pi_j(V_i) f(y_i | x = j, W_i)

    where ``pi_j`` are the shares of the true categories, a multinomial logit in ``x.latent`` (constant without it), and
    f is a logistic or multinomial model; ``family="linear"`` solves corrected normal equations instead. Putting
    recovered values in place of x would give wrong slopes, and is not offered. The randomization must not depend on y.
    Derived.

    Parameters
    ----------
    y
        The outcome, asked directly: for "logistic" 1 (or True) for what is modelled and 0 for the rest; for
        "multinomial" codes, the last one as reference; for "linear" numbers.
    x
        The predictor; its last category is the reference, and terms are named ``x[T.yes]``.
    W
        Other predictors, shape (n, p), without a constant, which is added.
    names, variance, plan
        Of the columns of W, and as in :func:`fit_logistic`.

    >>> from maskwell.designs import Dense
    >>> from maskwell import Categories
    >>> warner = Dense.of([["0.9", "0.1"], ["0.1", "0.9"]], Categories.of(["yes", "no"]))
    >>> z = np.repeat(["yes", "no"], [420, 580])
    >>> y = np.repeat([1, 0, 1, 0], [250, 170, 210, 370])
    >>> model = fit_predictor(y, RandomizedPredictor(z, warner))
    >>> model.terms, model.estimates.round(2).tolist()         # who does it has three to four times the odds
    (('Intercept', 'x[T.yes]'), [-0.66, 1.22])
    """
    check_kind(str, family=family)
    check_kind(RandomizedPredictor, x=x)
    evidence = Evidence.of(x.reports, x.design, x.groups, codes=x.codes)
    n = evidence.n
    values, named = as_matrix(np.empty((n, 0)) if W is None else W, names)
    V, latent_names = as_matrix(np.empty((n, 0)) if x.latent is None else x.latent, None)
    if not len(values) == len(V) == n:
        raise InputError("reports-rows-of-w", n=n, values_count=len(values), v_count=len(V))
    sampled = RowSampling.from_plan(plan, n)
    terms = ("Intercept", *(f"{x.label}[T.{c}]" for c in evidence.categories.labels[:-1]), *named)
    k, ones = evidence.k, np.ones((n, 1))
    # Columns if the true category were j: ones, indicators of all but the last category, the rest
    versions = tuple(np.hstack([ones, np.tile(np.eye(k)[j, : k - 1], (n, 1)), values]) for j in range(k))
    randomized = Randomized(evidence, versions, terms, V, latent_names, x.label)
    if family == "linear":
        return regress_linear(as_floats(y, "y", finite=False), randomized, sampled, designs=x.design)
    return regress_on_randomized(_outcome(y, family), randomized, sampled, designs=x.design, variance=variance)


def regress_on_randomized(
    outcome: Evidence,
    x: Randomized,
    sampled: RowSampling,
    *,
    designs: Design | Sequence[Design],
    variance: str | None,
) -> Regression:
    """Logistic or multinomial regression on a randomized predictor, from checked parts."""
    check_outcome(outcome, x.evidence.n)
    k, width = x.evidence.k, outcome.k - 1
    matrix = ModelMatrix.of(x.versions, x.names, sampled.weights)
    latent = ModelMatrix.of([x.latent], ("Intercept", *x.latent_names), sampled.weights, with_ones=True)
    direct = [Predictor(0, j, a * matrix.p) for j in range(k) for a in range(width)]
    hidden = [Predictor(1, 0, width * matrix.p + c * latent.p) for c in range(k - 1)]
    likelihood = Likelihood(MixtureRows(outcome, x.evidence), (matrix, latent), (*direct, *hidden), sampled.weights)
    labels, hidden_labels = tuple(outcome.categories.labels), x.evidence.categories.labels
    terms = x.names if width == 1 else tuple(f"{c}: {t}" for c in labels[:-1] for t in x.names)
    hidden_terms = tuple(f"{_said(x.label, c)}: {t}" for c in hidden_labels[:-1] for t in latent.names)
    fitted = fit(likelihood, _starts, sampled, [*terms, *hidden_terms], variance=variance)
    return Regression.of_fit(
        fitted,
        terms,
        sampled,
        Margins(matrix, SoftmaxChances(outcome.k), sampled.weights, labels),
        family="logistic" if width == 1 else "multinomial",
        flags=(*x.evidence.flags(), *fitted.flags, *_rare_flags(x, sampled.weights)),
        fingerprints=fingerprints(designs),
        besides=Besides(latent=fitted.part(hidden_terms, len(terms), sampled.degrees_of_freedom)),
    )


def _rare_flags(x: Randomized, weights: Real | None) -> tuple[str, ...]:
    """Which categories of the predictor are too rare to say much about."""
    counts = x.evidence.counts(weights)
    shares = counts @ x.evidence.recovered / counts.sum()
    rare = [str(label) for label, share in zip(x.evidence.categories.labels, shares, strict=True) if share < FEW]
    said = f"few are {' or '.join(rare)} in {x.label}: coefficients that rest on them are unreliable"
    return (said,) if rare else ()


def _starts(likelihood: Likelihood) -> list[Real]:
    """Zero, and the shares of the categories with the outcome's coefficients from the recovered outcome."""
    rows = likelihood.rows
    assert isinstance(rows, MixtureRows)
    hidden = Likelihood.shared(Recovered(rows.predictor), likelihood.matrices[1], likelihood.weights)
    zero, start = np.zeros(likelihood.p), np.zeros(likelihood.p)
    start[likelihood.p - hidden.p :] = climb(hidden, np.zeros(hidden.p), steps=START_STEPS).theta
    return [zero, start]


def _said(label: str, category: Any) -> str:
    """A category of a predictor, or of several together."""
    if not isinstance(category, tuple):
        return f"{label}={category}"
    return ", ".join(f"{name}={part}" for name, part in zip(label.split(", "), category, strict=True))


def _outcome(y: Any, family: str) -> Evidence:
    codes = as_array(y, "y")
    if family not in ("logistic", "multinomial"):
        raise InputError("family-family", family=family)
    if (
        codes.ndim != 1
        or codes.dtype.kind not in "buif"
        or not np.isin(codes, np.arange(2 if family == "logistic" else 1 << 16)).all()
    ):
        raise InputError(
            "the outcome must be one column of " + ("zeros and ones" if family == "logistic" else "codes 0, 1, 2, ..."),
            hint="for columns of text use mw.regress with a formula",
        )
    if family == "logistic":
        return Evidence.direct(1 - codes.astype(np.intp), Categories.of([1, 0]))
    return Evidence.direct(codes, Categories.numbered(int(codes.max()) + 1))


def regress_linear(y: Real, x: Randomized, sampled: RowSampling, *, designs: Design | Sequence[Design]) -> Regression:
    """Linear regression of y on a randomized predictor and others, from checked parts."""
    if y.shape != (x.evidence.n,):
        raise InputError("an-outcome-of-shape-for-rows", shape=y.shape, n=x.evidence.n)
    lost = int((~np.isfinite(y)).sum())
    if lost:
        raise MissingValueError("the-outcome-of-values-are-missing", n=x.evidence.n, count=lost)
    if not x.evidence.identifiable_alone:
        raise InputError("a-linear-regression-needs-a-design")
    if sampled.fraction is not None:
        raise InputError("a-finite-population-is-not-taken-into")
    matrix = ModelMatrix.of(x.versions, x.names, sampled.weights)
    G, b, scores = np.zeros((matrix.p, matrix.p)), np.zeros(matrix.p), np.zeros((matrix.n, matrix.p))
    for where, X, recovered in _if_true(matrix, x.evidence):
        u = recovered if sampled.weights is None else recovered * sampled.weights[where]
        G += (X * u[:, None]).T @ X
        b += X.T @ (u * y[where])
    theta = np.asarray(np.linalg.solve(G, b), dtype=np.float64)
    for where, X, u in _if_true(matrix, x.evidence):
        scores[where] += X * (u * (y[where] - X @ theta))[:, None]
    if sampled.weights is not None:
        scores = scores * sampled.weights[:, None]
    bread = matrix.back @ np.linalg.inv(G)
    covariance = bread @ sampled.variance_of_total(scores) @ bread.T
    positive = bool(np.linalg.eigvalsh((G + G.T) / 2)[0] > 0)
    return Regression(
        x.names,
        matrix.back @ theta,
        covariance,
        sampled.degrees_of_freedom,
        family="linear",
        n=matrix.n,
        flags=(
            *x.evidence.flags(),
            *_rare_flags(x, sampled.weights),
            *(() if positive else (Note("the-recovered-cross-products-are-not"),)),
        ),
        search=Search(math.nan, 1, variance=sampled.sandwich_words(), incomparable=NO_LIKELIHOOD),
        fingerprints=fingerprints(designs),
        margins=Margins(matrix, Mean(), sampled.weights, ()),
    )


def _if_true(matrix: ModelMatrix, evidence: Evidence) -> Iterator[tuple[slice, Real, Real]]:
    """Blocks of rows, for each category their columns on the common scale if it were true, and its recovery U."""
    for where in blocks(matrix.n):
        U = evidence.recovered[evidence.index[where]]
        for j in range(evidence.k):
            yield where, matrix.block(where, j).T / matrix.scale, U[:, j]
