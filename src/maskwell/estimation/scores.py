"""Scores: what each report of a design with two categories counts for, as a number.

A score c_i for every report gives ``U = (c_Z - d_1) / d_2``, an unbiased recovery of "belongs to the first category":

    d_1 = sum_i beta_i c_i,    d_2 = sum_i (alpha_i - beta_i) c_i

where alpha and beta are the columns of P. Shifting and scaling the scores changes nothing. A mean of U is a mean of
the scores, which is how several procedures are taught; the best scores need a guess of the share, and stay unbiased
whatever the guess.

Source: [Adeshiyan2011, section 2.6]; the closed form is derived.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maskwell.core.arguments import as_floats, as_real, check_kind
from maskwell.core.arrays import Array, Real
from maskwell.designs.design import Design
from maskwell.errors import NotIdentifiableError, ParameterError
from maskwell.estimation.left_inverse import LeftInverse

FLAT = 1e-12


@dataclass(frozen=True, eq=False)
class ScoreRecovery:
    """What one report tells about its respondent, on average right.

    Attributes
    ----------
    values
        U of every report, shape (m,): expectation 1 in the first category, 0 in the second.
    inside, outside
        The variance of U in the first and in the second category.
    """

    values: Real
    inside: float
    outside: float

    def variance(self, pi: float) -> float:
        """``n Var`` of the mean of U over n respondents drawn with replacement, at a true share ``pi``."""
        share = as_real(pi, "pi", low=0, high=1)
        return share * (1 - share) + self.added(share)

    def added(self, pi: float) -> float:
        """The part of it that randomization adds."""
        share = as_real(pi, "pi", low=0, high=1)
        return share * self.inside + (1 - share) * self.outside


def optimal_scores(design: Design, *, pi_0: float) -> Real:
    """The scores of the best linear estimate at a guess ``pi_0`` of the share of the first category, shape (m,).

        c_i = pi_0 + (alpha_i - beta_i) / (theta_i I),   theta = alpha pi_0 + beta (1 - pi_0),
        I = sum_i (alpha_i - beta_i)^2 / theta_i

    U is c itself: ``d_1 = 0`` and ``d_2 = 1``, and at a true share of ``pi_0`` the variance of one U is 1/I, the
    smallest possible. Under a sampling plan the guess stands for the weighted share of
    :func:`optimal_scores_for_weights`.
    Source: [Adeshiyan2011, eq. (2.16)]; closed form derived.

    >>> from maskwell.designs.dense import Dense
    >>> design = Dense.of([["0.1", "0.5"], ["0.3", "0.3"], ["0.6", "0.2"]])
    >>> optimal_scores(design, pi_0=0.3).round(4).tolist()   # the middle report tells nothing: it counts as the guess
    [-0.8429, 0.3, 1.6571]
    """
    pi_0 = as_real(pi_0, "pi_0")
    if not 0 <= pi_0 <= 1:
        raise ParameterError(f"pi_0 = {pi_0} is not between 0 and 1", hint="give a share such as 0.1", pi_0=pi_0)
    alpha, beta = _columns(design)
    theta, possible = alpha * pi_0 + beta * (1 - pi_0), (alpha > 0) | (beta > 0)
    if (theta[possible] <= 0).any():
        raise ParameterError(
            f"at pi_0 = {pi_0:g} a report has no chance that tells the category for certain",
            hint="give a guess strictly between 0 and 1",
            pi_0=pi_0,
        )
    ratio = np.divide(alpha - beta, theta, out=np.zeros_like(theta), where=possible)
    return np.asarray(np.where(possible, pi_0 + ratio / float((alpha - beta) @ ratio), 0.0))


def optimal_scores_for_weights(design: Design, *, inside: float, outside: float) -> Real:
    """The best scores for a weighted estimate of a finite population, shape (m,).

        omega_i = A_1 alpha_i + A_2 beta_i,   c_i = (D_2 alpha_i - D_3 beta_i) / ((D_1 D_2 - D_3^2) omega_i)
        D_1 = sum alpha_i^2 / omega_i,   D_2 = sum beta_i^2 / omega_i,   D_3 = sum alpha_i beta_i / omega_i

    where ``inside`` (A_1) and ``outside`` (A_2) are guesses of the expected sums of squared weights over the sampled
    members of the first and the second category. Only their ratio matters: the same as :func:`optimal_scores` at
    ``pi_0 = A_1 / (A_1 + A_2)``. Source: [Adeshiyan2011, eq. (2.16)].

    >>> from maskwell.designs.dense import Dense
    >>> design = Dense.of([["0.1", "0.5"], ["0.3", "0.3"], ["0.6", "0.2"]])
    >>> optimal_scores_for_weights(design, inside=3, outside=7).round(4).tolist()
    [-0.8429, 0.3, 1.6571]
    """
    inside, outside = as_real(inside, "inside"), as_real(outside, "outside")
    if not (inside >= 0 and outside >= 0 and 0 < inside + outside < np.inf):
        raise ParameterError(
            f"inside = {inside:g} and outside = {outside:g}",
            hint="give two sums of squared weights of 0 or more, not both 0",
        )
    return optimal_scores(design, pi_0=inside / (inside + outside))


def mean_scores(design: Design) -> Real:
    """The numbers 0, 1, 2, ... of the reports as scores: the mean estimators of Kuk and of Christofides.

    Simple to explain and never better than :func:`optimal_scores`. Source: [Adeshiyan2011, section 2.5 and Remark 2.7].

    >>> from maskwell.designs.dense import Dense
    >>> kuk = Dense.of([["0.027", "0.512"], ["0.189", "0.384"], ["0.441", "0.096"], ["0.343", "0.008"]])
    >>> best, plain = optimal_scores(kuk, pi_0=0.3), mean_scores(kuk)
    >>> [round(score_recovery(kuk, scores).variance(0.3), 4) for scores in (best, plain)]   # n Var
    [0.4185, 0.4433]
    """
    return np.arange(len(_columns(design)[0]), dtype=np.float64)


def score_recovery(design: Design, scores: Array) -> ScoreRecovery:
    """Turn scores into unbiased recoveries. Source: [Adeshiyan2011, section 2.6.1].

    >>> from maskwell.designs.dense import Dense
    >>> warner = Dense.of([["0.7", "0.3"], ["0.3", "0.7"]])
    >>> found = score_recovery(warner, [1, 0])   # yes counts 1, no counts 0
    >>> found.values.round(4).tolist(), round(found.added(0.1), 4)
    ([1.75, -0.75], 1.3125)
    """
    alpha, beta = _columns(design)
    c = as_floats(scores, "scores", finite=False)
    if c.shape != alpha.shape or not np.isfinite(c).all():
        raise ParameterError(
            f"scores of shape {c.shape} for {len(alpha)} reports", hint="give one finite number for each report"
        )
    d_1, d_2 = float(beta @ c), float((alpha - beta) @ c)
    if abs(d_2) <= FLAT * float(np.abs(c).max(initial=0)):
        raise NotIdentifiableError(
            "these scores have the same mean in both categories: they tell nothing",
            hint="take optimal_scores, which need no more than different columns",
            scores=scores,
        )
    U = (c - d_1) / d_2
    return ScoreRecovery(U, float(alpha @ (U - 1) ** 2), float(beta @ U**2))


def score_left_inverse(design: Design, scores: Array) -> LeftInverse:
    """The linear estimator that scores make: for ``estimate_by_moments(..., inverse=...)``.

    >>> from maskwell.designs.dense import Dense
    >>> from maskwell.estimation.moments import estimate_by_moments
    >>> from maskwell.estimation.samples import Sample
    >>> kuk = Dense.of([["0.027", "0.512"], ["0.189", "0.384"], ["0.441", "0.096"], ["0.343", "0.008"]])
    >>> sample = Sample.of([120, 130, 90, 60], kuk)
    >>> found = estimate_by_moments(sample.counts, kuk, inverse=score_left_inverse(kuk, mean_scores(kuk)))
    >>> round(float(found.pi_hat[0]), 4)   # (mean / 3 - 0.2) / (0.7 - 0.2)
    0.4167
    """
    U = score_recovery(design, scores).values
    return LeftInverse(np.stack([U, 1 - U]), "scores", design.fingerprint)


def _columns(design: Design) -> tuple[Real, Real]:
    check_kind(Design, design=design)
    if design.k != 2 or design.reports_are_sets:
        raise ParameterError(
            f"scores are for two categories and reports of one code; this design has {design.k:,} categories",
            hint="use a left inverse",
        )
    design.check_identifiable()
    alpha, beta = design.matrix().T
    return alpha, beta
