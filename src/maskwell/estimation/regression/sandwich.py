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

from collections.abc import Iterable

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.estimation.regression.likelihood import Likelihood
from maskwell.estimation.regression.matrix import blocks
from maskwell.estimation.regression.sampled import Sampled


def score_variance(likelihood: Likelihood, theta: Real, sampled: Sampled) -> Real:
    """B on the common scale, shape (p, p)."""
    slopes = likelihood.slopes(theta)
    if sampled.cluster is None:
        B = _between_rows(likelihood.score_blocks(slopes), likelihood.p, sampled)
    else:
        weights = 1.0 if sampled.weights is None else sampled.weights
        columns = ((place, column * weights) for place, column in likelihood.score_columns(slopes))
        B = _between_clusters(columns, likelihood.p, sampled)
    if sampled.fraction is not None:
        B = B + _randomization(likelihood, theta, sampled)
    return np.asarray(B)


def variance_of_total(scores: Real, sampled: Sampled) -> Real:
    """Variance of the sum of weighted scores (n, p) under the sampling with replacement, shape (p, p)."""
    if sampled.cluster is None:
        return _between_rows(((where, scores[where]) for where in blocks(len(scores))), scores.shape[1], sampled)
    return _between_clusters(enumerate(scores.T), scores.shape[1], sampled)


def _between_rows(scores: Iterable[tuple[slice, Real]], p: int, sampled: Sampled) -> Real:
    """Every row is a draw of its own: one pass, nothing kept but sums by stratum."""
    factor = sampled.factors()
    squares, sums = np.zeros((p, p)), np.zeros((len(factor), p))
    for where, block in scores:
        stratum = np.zeros(len(block), dtype=np.intp) if sampled.stratum is None else sampled.stratum[where]
        squares += (block * factor[stratum, None]).T @ block
        for j in range(p):
            sums[:, j] += np.bincount(stratum, block[:, j], minlength=len(factor))
    return squares - _centres(sums, sampled, factor)


def _between_clusters(columns: Iterable[tuple[int, Real]], p: int, sampled: Sampled) -> Real:
    """Sums by cluster first, a column of the scores at a time."""
    parents = np.asarray(sampled.cluster_stratum)
    totals = np.zeros((len(parents), p))
    for place, column in columns:
        totals[:, place] += np.bincount(np.asarray(sampled.cluster), column, minlength=len(parents))
    factor = sampled.factors()
    sums = np.zeros((len(factor), p))
    np.add.at(sums, parents, totals)
    return np.asarray((totals * factor[parents, None]).T @ totals - _centres(sums, sampled, factor))


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
