"""Calibration: weights changed as little as possible, so that they reproduce known totals.

    w_i = d_i g_i,    sum w_i x_i = t
    linear:   g_i = 1 + x_i' lam          raking:   g_i = exp(x_i' lam)

where ``d`` are the weights of the plan, ``x`` what is known of each row and ``t`` the totals of x in the population.
Calibrate on openly asked variables only: a recovery is an estimate, and its totals are not known.

What calibration does to a variance stands with :class:`~maskwell.estimation.sampling.recovery.Calibrated`.

Source: standard.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Real, as_array, as_floats, check_kind, numbers_of_rows
from maskwell.errors import InputError, ParameterError
from maskwell.estimation.sampling.sampling_description import Sampling

DISTANCES = ("linear", "raking")
STEPS = 100
REACHED = 1e-10  # of the totals


def calibrate(plan: Sampling, x: Any, totals: Any, *, distance: str = "linear") -> Sampling:
    """The plan with weights that reproduce ``totals``."""
    check_kind(Sampling, plan=plan)
    check_kind(str, distance=distance)
    if distance not in DISTANCES:
        raise ParameterError("distance-distance", distance=distance, distances=", ".join(DISTANCES))
    if plan.replicates is not None:
        raise ParameterError("calibration-of-replicate-weights")
    rows = len(np.atleast_1d(as_array(x, "auxiliary values")))
    known = _finite(numbers_of_rows(x, "auxiliary values", rows, columns=True), "auxiliary values")
    targets = _finite(as_floats(totals, "totals", finite=False), "totals")
    if targets.shape != known.shape[1:]:
        raise InputError("totals-for-columns", size=targets.size, shape=known.shape[1], totals=totals)
    base = plan.base_weights(rows)
    _check_borne(known, base)
    g = _factors(base, known, targets, distance)
    return replace(plan, weights=base * g, inclusion=None, auxiliary=np.column_stack([known, g]))


def _finite(values: Real, name: str) -> Real:
    if not np.isfinite(values).all():
        raise ParameterError("hold-values-that-are-not-finite", name=name)
    return values


def _check_borne(x: Real, d: Real) -> None:
    """Raise for a column that is zero throughout: nobody in the sample can stand for its total."""
    nobody = np.flatnonzero(~(x[d != 0] != 0).any(axis=0))
    if len(nobody):
        raise ParameterError(
            "auxiliary-column-is-zero-in-every", nobody_number=int(nobody[0]) + 1, columns=nobody.tolist()
        )


def _factors(d: Real, x: Real, totals: Real, distance: str) -> Real:
    lam = np.zeros(x.shape[1])
    for _ in range(1 if distance == "linear" else STEPS):
        g = _factor(x @ lam, distance)
        gap = totals - (d * g) @ x
        lam = lam + _solve((x.T * (d * (g if distance == "raking" else 1))) @ x, gap)
        if np.abs(totals - (d * _factor(x @ lam, distance)) @ x).max() <= REACHED * max(1.0, np.abs(totals).max()):
            return _factor(x @ lam, distance)
    raise ParameterError(
        "no-weights-reproduce-these-totals" if distance == "linear" else "raking-found-no-weights-for-these"
    )


def _factor(score: Real, distance: str) -> Real:
    return 1 + score if distance == "linear" else np.exp(np.minimum(score, 100))


def _solve(moments: Real, gap: Real) -> Real:
    scale = np.sqrt(np.diagonal(moments))
    if (scale == 0).any() or np.linalg.cond(moments / np.outer(scale, scale)) > 1e12:
        raise ParameterError("the-auxiliary-columns-depend-on-each")
    return np.asarray(np.linalg.solve(moments, gap), dtype=np.float64)
