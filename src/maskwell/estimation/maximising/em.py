"""EM and its acceleration SQUAREM: slow, steady, and content with products ``P x`` and ``P' x``.

    pi_j <- pi_j g_j

never lowers the likelihood, never leaves the simplex and never leaves a zero. SQUAREM strides along the path of two EM
steps and takes what EM gives whenever the stride leads outside or downwards.

Source: derived; SQUAREM is standard.
"""

from __future__ import annotations

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.estimation.maximising.climb import Climbed, certificate
from maskwell.estimation.maximising.log_likelihood import LogLikelihood, value


def em_step(pi: Real, slope: Real, movable: Array) -> Real:
    """One EM step from ``pi``, whose slope is given; categories that are not movable stay."""
    own = pi[movable] * slope[movable]
    out = pi.copy()
    out[movable] = own * (pi[movable].sum() / own.sum())
    return out


def squarem(f: LogLikelihood, pi: Real, movable: Array, gap: float, most: int) -> Climbed:
    """SQUAREM from ``pi`` until the certificate is at most ``gap`` or ``most`` EM steps were taken."""
    steps = 0
    while True:
        lam = f.lam(pi)
        slope = f.slope(lam)
        reached = certificate(pi, slope, movable)
        if reached <= gap or steps >= most:
            return Climbed(pi, lam, slope, reached, steps)
        once = em_step(pi, slope, movable)
        twice = em_step(once, f.slope(f.lam(once)), movable)
        further = _stride(pi, once, twice)
        if further is not None:
            at = f.lam(further)
            if value(f, at) >= value(f, lam):
                pi, steps = em_step(further, f.slope(at), movable), steps + 3
                continue
        pi, steps = twice, steps + 2


def _stride(pi: Real, once: Real, twice: Real) -> Real | None:
    """Where the path of two EM steps leads, or None where that is not a distribution."""
    r = once - pi
    v = twice - once - r
    size = float(np.linalg.norm(v))
    if size == 0:
        return None
    alpha = min(-float(np.linalg.norm(r)) / size, -1.0)
    found = pi - 2 * alpha * r + alpha**2 * v
    return None if (found < 0).any() else np.asarray(found)
