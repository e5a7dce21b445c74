"""Variance of coefficients under the sampling: the sandwich ``A^-1 B A^-1``.

``A`` is the observed information and ``B`` the variance of the total score ``sum_i w_i s_i`` under the sampling:

    B = sum_h (1 - f_h) n_h / (n_h - 1) sum_c (t_hc - mean_h)(t_hc - mean_h)'  +  sum_i f_h(i) w_i^2 V_R(s_i)

where ``t_hc`` is the sum of weighted scores in cluster c of stratum h, ``f_h`` the sampling fraction and ``V_R`` the
unbiased estimate of the variance that the randomization gives a score. Without a finite population the second sum is
zero: the differences between draws hold the randomization already. With simple random sampling in strata the factor
``f w^2`` of the second sum is w, as in the variance of an estimated total.

Source: derived, after [Adeshiyan2011, Theorem 3.2], corrected.
"""

from __future__ import annotations

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.estimation.regression.likelihood import Likelihood
from maskwell.estimation.regression.sampled import Sampled


def score_variance(likelihood: Likelihood, theta: Real, sampled: Sampled) -> Real:
    """B on the common scale, shape (p, p)."""
    slopes = likelihood.slopes(theta)
    between = _between_rows if sampled.cluster is None else _between_clusters
    B = between(likelihood, slopes, sampled)
    if sampled.fraction is not None:
        B = B + _randomization(likelihood, theta, sampled)
    return np.asarray(B)


def _between_rows(likelihood: Likelihood, slopes: Real, sampled: Sampled) -> Real:
    """Every row is a draw of its own: one pass, nothing kept but sums by stratum."""
    factor, p = sampled.factors(), likelihood.p
    squares, sums = np.zeros((p, p)), np.zeros((len(factor), p))
    for where, scores in likelihood.score_blocks(slopes):
        stratum = np.zeros(len(scores), dtype=np.intp) if sampled.stratum is None else sampled.stratum[where]
        squares += (scores * factor[stratum, None]).T @ scores
        for j in range(p):
            sums[:, j] += np.bincount(stratum, scores[:, j], minlength=len(factor))
    return squares - _centres(sums, sampled, factor)


def _between_clusters(likelihood: Likelihood, slopes: Real, sampled: Sampled) -> Real:
    parents = np.asarray(sampled.cluster_stratum)
    totals = np.zeros((len(parents), likelihood.p))
    weights = 1.0 if sampled.weights is None else sampled.weights
    for place, column in likelihood.score_columns(slopes):
        totals[:, place] += np.bincount(np.asarray(sampled.cluster), column * weights, minlength=len(parents))
    factor = sampled.factors()
    sums = np.zeros((len(factor), likelihood.p))
    np.add.at(sums, parents, totals)
    return (totals * factor[parents, None]).T @ totals - _centres(sums, sampled, factor)


def _centres(sums: Real, sampled: Sampled, factor: Real) -> Real:
    """``sum_h factor_h n_h mean_h mean_h'``; a stratum of one unit is measured from the mean of all units."""
    units = sampled.units
    alone = units == 1
    mean = sums / np.maximum(units, 1)[:, None]
    taken = (mean * (factor * units)[:, None])[~alone].T @ mean[~alone]
    grand = sums.sum(axis=0) / units.sum()
    for h in np.flatnonzero(alone & (factor > 0)):
        away = sums[h] - grand
        taken += factor[h] * (np.outer(sums[h], sums[h]) - np.outer(away, away))
    return np.asarray(taken)


def _randomization(likelihood: Likelihood, theta: Real, sampled: Sampled) -> Real:
    fraction, squared = np.asarray(sampled.fraction), _squared(sampled)
    return likelihood.randomization(theta, fraction[_strata(sampled)] * squared)


def _squared(sampled: Sampled) -> Array:
    return np.ones(sampled.n) if sampled.weights is None else sampled.weights**2


def _strata(sampled: Sampled) -> Array:
    return np.zeros(sampled.n, dtype=np.intp) if sampled.stratum is None else sampled.stratum
