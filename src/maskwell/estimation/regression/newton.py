"""Newton's method for log-likelihoods that are not concave.

Newton's step where the observed information is positive definite, Fisher's step elsewhere, both with backtracking, from
deterministic starts. The scale is that of the standardised columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from maskwell.core.arrays import Real
from maskwell.estimation.regression.likelihood import Derivatives, Likelihood

TOLERANCE = 1e-8
"""The search ends when no component of the gradient exceeds this share of the sum of weights."""

STEPS = 100
LONGEST = 10.0
SLACK = 1e-14
SINGULAR = 1e-10
TWO_PEAKS = 1e-6
PART = 1 << 12
COARSER = 16


@dataclass(frozen=True, eq=False)
class Optimum:
    """Where the search ended.

    Attributes
    ----------
    theta
        Coefficients on the common scale, shape (p,).
    at
        Log-likelihood, gradient and observed information there.
    iterations
        Steps taken.
    converged
        Whether the gradient is zero up to the tolerance.
    several
        Whether another start led to a lower peak.
    """

    theta: Real
    at: Derivatives
    iterations: int
    converged: bool
    several: bool = False


def maximise(likelihood: Likelihood, starts: Callable[[Likelihood], Sequence[Real]]) -> Optimum:
    """The highest point that the starts lead to.

    With many rows the starts are followed on a part of them first, and only the best end goes on with more of them: it
    is a few standard errors of the part away, so that two or three steps remain.
    """
    step = min(COARSER, likelihood.n // PART)
    if step > 1:
        first = maximise(likelihood.thinned(step), starts)
        if first.converged and is_positive_definite(first.at.information):
            last = climb(likelihood, first.theta)
            return replace(last, iterations=first.iterations + last.iterations, several=first.several)
    found = [climb(likelihood, start) for start in starts(likelihood)]
    best = max(found, key=lambda one: (one.converged, one.at.value))
    apart = TWO_PEAKS * (1 + abs(best.at.value))
    several = any(one.converged and best.at.value - one.at.value > apart for one in found)
    return replace(best, several=several)


def climb(likelihood: Likelihood, start: Real, *, steps: int = STEPS) -> Optimum:
    """Walk uphill from one start."""
    theta, at = start, likelihood.derivatives(start)
    for done in range(steps):
        if _is_flat(at, likelihood.total):
            return Optimum(_last_step(theta, at), at, done, converged=True)
        step = _direction(likelihood, theta, at)
        moved = _backtrack(likelihood, theta, at, step)
        if moved is None:
            return Optimum(theta, at, done, converged=False)
        theta, at = moved
    return Optimum(theta, at, steps, _is_flat(at, likelihood.total))


def _is_flat(at: Derivatives, total: float) -> bool:
    return bool(np.abs(at.gradient).max(initial=0.0) < TOLERANCE * total)


def _last_step(theta: Real, at: Derivatives) -> Real:
    """One more step, which costs nothing: it squares the error that the tolerance left."""
    if not is_positive_definite(at.information):
        return theta
    return np.asarray(theta + np.linalg.solve(at.information, at.gradient))


def _direction(likelihood: Likelihood, theta: Real, at: Derivatives) -> Real:
    """Newton's step, or Fisher's where the log-likelihood is not concave; never a leap."""
    if is_positive_definite(at.information):
        step = np.linalg.solve(at.information, at.gradient)
    else:
        values, vectors = np.linalg.eigh(likelihood.expected(theta))
        kept = np.maximum(values, SINGULAR * max(values[-1], np.finfo(float).tiny))
        step = vectors @ (vectors.T @ at.gradient / kept)
    return np.asarray(step) * min(1.0, LONGEST / max(float(np.abs(step).max()), 1e-300))


def _backtrack(likelihood: Likelihood, theta: Real, at: Derivatives, step: Real) -> tuple[Real, Derivatives] | None:
    """The first of the step, its half, its quarter ... that climbs; the derivatives there."""
    slack = SLACK * (likelihood.total + abs(at.value))
    rise = float(at.gradient @ step)
    for halved in range(40):
        size = 0.5**halved
        trial = theta + size * step
        if halved and likelihood.value(trial) < at.value + 1e-4 * size * rise - slack:
            continue
        found = likelihood.derivatives(trial)
        if found.value >= at.value + 1e-4 * size * rise - slack:
            return trial, found
    return None


def is_positive_definite(matrix: Real) -> bool:
    """Whether a symmetric matrix is, by more than rounding."""
    scale = np.sqrt(np.maximum(np.diag(matrix), 0))
    if not np.isfinite(matrix).all() or (scale <= 0).any():
        return False
    try:
        np.linalg.cholesky(matrix / np.outer(scale, scale) - 1e-12 * np.eye(len(matrix)))
    except np.linalg.LinAlgError:
        return False
    return True
