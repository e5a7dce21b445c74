"""Linear regression on a randomized predictor, by corrected normal equations.

Let ``d_j`` be the row of the model matrix if the true category is j, and U the recovered indicators of the category,
``E(U) = indicator``. Then

    G = sum_i w_i sum_j U_ij d_ij d_ij',     b = sum_i w_i sum_j U_ij d_ij y_i,     beta = G^-1 b

because ``sum_j U_j d_j d_j'`` is unbiased for ``d d'`` of the true category. With U in place of the indicators in an
ordinary regression ``U U'`` would stand where ``D_U`` belongs, and the slopes would be wrong however many rows there
are. Errors are those of an estimating equation: ``G^-1 V(sum w psi) G^-1'`` with
``psi_i = sum_j U_ij d_ij (y_i - d_ij' beta)``.

Source: derived.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.designs.design import Design
from maskwell.errors import InputError, MissingValueError
from maskwell.estimation.regression.evidence import Evidence
from maskwell.estimation.regression.logistic import fingerprints
from maskwell.estimation.regression.margins import Margins
from maskwell.estimation.regression.matrix import ModelMatrix, blocks
from maskwell.estimation.regression.predictor import Randomized, rare_flags
from maskwell.estimation.regression.result import Regression
from maskwell.estimation.regression.sampled import Sampled
from maskwell.estimation.regression.sandwich import variance_of_total


def regress_linear(
    y: Real, x: Randomized, sampled: Sampled, *, designs: Design | Sequence[Design] | None
) -> Regression:
    """Linear regression of y on a randomized predictor and others, from checked parts."""
    _check_numbers(y, x.evidence.n)
    if not x.evidence.identifiable_alone:
        raise InputError(
            "a linear regression needs a design that can be used alone in every group",
            hint="use designs with at least as many reports as categories",
        )
    if sampled.fraction is not None:
        raise InputError(
            "a finite population is not taken into account for a randomized predictor",
            hint="leave out the population: standard errors are then a little too large",
        )
    matrix = ModelMatrix.of(x.versions, x.names, sampled.weights)
    G, b = _equations(matrix, x.evidence, y, sampled.weights)
    theta = np.asarray(np.linalg.solve(G, b), dtype=np.float64)
    scores = _scores(matrix, x.evidence, y, theta)
    if sampled.weights is not None:
        scores = scores * sampled.weights[:, None]
    bread = matrix.back @ np.linalg.inv(G)
    covariance = bread @ variance_of_total(scores, sampled) @ bread.T
    shares = x.evidence.counts(sampled.weights) @ x.evidence.recovered
    positive = bool(np.linalg.eigvalsh((G + G.T) / 2)[0] > 0)
    return Regression(
        x.names,
        matrix.back @ theta,
        covariance,
        sampled.degrees_of_freedom,
        family="linear",
        n=matrix.n,
        iterations=1,
        converged=True,
        variance=f"sandwich ({sampled.in_words()})" if sampled.in_words() else "sandwich",
        flags=(*x.evidence.flags(), *rare_flags(x, shares / shares.sum()), *(() if positive else (_INDEFINITE,))),
        latent=None,
        fingerprints=fingerprints(designs),
        margins=Margins(matrix, 0, sampled.weights, ()),
    )


_INDEFINITE = "the recovered cross-products are not positive definite: too few rows for this design"


def _check_numbers(y: Array, n: int) -> None:
    if y.shape != (n,):
        raise InputError(f"an outcome of shape {y.shape} for {n:,} rows", hint="give one number for each row")
    lost = int((~np.isfinite(y)).sum())
    if lost:
        raise MissingValueError(
            f"the outcome: {lost:,} of {n:,} values are missing or not finite", hint="leave such rows out", count=lost
        )


def _equations(matrix: ModelMatrix, evidence: Evidence, y: Real, weights: Real | None) -> tuple[Real, Real]:
    """G and b on the common scale."""
    G, b = np.zeros((matrix.p, matrix.p)), np.zeros(matrix.p)
    for where in blocks(matrix.n):
        U = evidence.recovered[evidence.index[where]]
        for j in range(evidence.k):
            X = matrix.block(where, j).T / matrix.scale
            u = U[:, j] if weights is None else U[:, j] * weights[where]
            G += (X * u[:, None]).T @ X
            b += X.T @ (u * y[where])
    return G, b


def _scores(matrix: ModelMatrix, evidence: Evidence, y: Real, theta: Real) -> Real:
    """``psi_i`` of all rows on the common scale, shape (n, p)."""
    out = np.zeros((matrix.n, matrix.p))
    for where in blocks(matrix.n):
        U = evidence.recovered[evidence.index[where]]
        for j in range(evidence.k):
            X = matrix.block(where, j).T / matrix.scale
            out[where] += X * (U[:, j] * (y[where] - X @ theta))[:, None]
    return out
