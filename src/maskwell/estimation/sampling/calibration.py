"""Calibration: weights changed as little as possible, so that they reproduce known totals.

    w_i = d_i g_i,    sum w_i x_i = t
    linear:   g_i = 1 + x_i' lam          raking:   g_i = exp(x_i' lam)

where ``d`` are the weights of the plan, ``x`` what is known of each row and ``t`` the totals of x in the population.
What it does to a variance stands with :class:`~maskwell.estimation.sampling.recovery.Calibrated`. Source: standard.
"""

from __future__ import annotations

import numpy as np

from maskwell.core.arguments import Real
from maskwell.errors import InputError, ParameterError

DISTANCES = ("linear", "raking")
STEPS = 100
REACHED = 1e-10  # of the totals


def calibrating_factors(d: Real, x: Real, totals: Real, distance: str) -> Real:
    """``g``, by Newton's method; of the linear distance in one step."""
    if distance not in DISTANCES:
        raise ParameterError("distance-distance", distance=distance, distances=", ".join(DISTANCES))
    for name, values in (("auxiliary values", x), ("totals", totals)):
        if not np.isfinite(values).all():
            raise ParameterError("hold-values-that-are-not-finite", name=name)
    if totals.shape != x.shape[1:]:
        raise InputError("totals-for-columns", size=totals.size, shape=x.shape[1], totals=totals)
    nobody = np.flatnonzero(~(x[d != 0] != 0).any(axis=0))  # nobody in the sample can stand for such a total
    if len(nobody):
        number = int(nobody[0]) + 1
        raise ParameterError("auxiliary-column-is-zero-in-every", nobody_number=number, columns=nobody.tolist())
    linear, lam, g = distance == "linear", np.zeros(x.shape[1]), np.ones(len(x))
    for _ in range(1 if linear else STEPS):
        lam = lam + _solve((x.T * (d * (1 if linear else g))) @ x, totals - (d * g) @ x)
        g = 1 + x @ lam if linear else np.exp(np.minimum(x @ lam, 100))
        if np.abs(totals - (d * g) @ x).max() <= REACHED * max(1.0, np.abs(totals).max()):
            return np.asarray(g)
    raise ParameterError("no-weights-reproduce-these-totals" if linear else "raking-found-no-weights-for-these")


def _solve(moments: Real, gap: Real) -> Real:
    scale = np.sqrt(np.diagonal(moments))
    if (scale == 0).any() or np.linalg.cond(moments / np.outer(scale, scale)) > 1e12:
        raise ParameterError("the-auxiliary-columns-depend-on-each")
    return np.asarray(np.linalg.solve(moments, gap), dtype=np.float64)
