"""Individual risk with sampling weights: the file is a sample, and a target may or may not be in it.

A cell of the key holds f records whose weights sum to F, the estimated number of people in the population. Given f, the
population count follows a negative binomial distribution with p = f / F, and the risk is the mean of one over it,

    r = p * integral from 0 to 1 of u^(f - 1) / (p + (1 - p) u) du
      = (p / q) log(1 / p)                  for f = 1,     q = 1 - p,
      = p / q - (p / q)^2 log(1 / p)        for f = 2,
      ~ p / (f - q)                         for f >= 3, the usual approximation (0.5 % too high at f = 3, p = 0.01).

Source: after Benedetti, Capobianchi and Franconi, as sdcMicro computes it; the integral is derived.
"""

from __future__ import annotations

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.core.survey_numbers import check_counts
from maskwell.errors import CountsError

_NEAR_ONE = 0.1
_TERMS = 24


def individual_risk(records: Array, weights: Real) -> Real:
    """The risk of each cell, shape (cells,).

    Parameters
    ----------
    records
        Records of each cell.
    weights
        Sum of their weights. Where it is below the number of records, the cell is taken to be the whole population.

    >>> individual_risk(np.array([1, 2, 8]), np.array([541.0, 110.0, 8.0])).round(4).tolist()
    [0.0117, 0.0171, 0.125]
    """
    records, weights = check_counts(records, name="records"), check_counts(weights, weighted=True, name="weights")
    if records.shape != weights.shape or not (records > 0).all():
        raise CountsError("records and weights do not fit", hint="give both for each cell, and at least one record")
    p = np.minimum(1.0, records / np.maximum(weights, records * 1e-12))
    q = 1 - p
    return np.select([records == 1, records == 2], [_once(p, q), _twice(p, q)], p / (records - q))


def _once(p: Real, q: Real) -> Real:
    away = np.where(q > 0, q, 1.0)
    return np.where(q > 0, -p * np.log1p(-np.where(p > 0, q, 0.0)) / away, 1.0)


def _twice(p: Real, q: Real) -> Real:
    """By its series in q where p is near one, since the two terms cancel there."""
    k = np.arange(_TERMS)
    series = p * (q[:, None] ** k / ((k + 1) * (k + 2))).sum(axis=1)
    ratio = p / np.where(q > _NEAR_ONE, q, 1.0)
    return np.where(q > _NEAR_ONE, ratio + ratio**2 * np.log(np.where(p > 0, p, 1.0)), series)
