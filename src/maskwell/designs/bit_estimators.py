"""Three unbiased estimators of shares from independent bits, and what each of them costs.

``per-bit`` is ``(V_i / n - r) / (p - r)``; ``centred`` shifts it so that the shares sum to one; ``best-linear`` weighs
each report by its size s, which is best among linear estimators at equal shares:

    U_i = 1/k + (x_i - 1) / mu,    x_i = k gamma / D_s for categories in the report, k / D_s for the others

where ``D_s = s gamma + k - s`` and mu is the eigenvalue of ``P' D^-1 P`` at equal shares that belongs to contrasts.
With each of them the mean of U_i^2 is one number when the truth is i and another one when it is not, so that

    n Var(pi_hat_i) = pi_i T + (1 - pi_i) O - pi_i^2,      V_R = T + (k - 1) O - 1

Source: derived, the last estimator from [NayakZhai2019, eqs. (3.3) and (6.3)].
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

import numpy as np

from maskwell.core.arrays import Real
from maskwell.core.exact import to_float

Estimator = Literal["per-bit", "centred", "best-linear"]
ESTIMATORS: tuple[Estimator, ...] = ("per-bit", "centred", "best-linear")


def square_means(estimator: Estimator, k: int, p: Fraction, r: Fraction) -> tuple[float, float]:
    """T and O: the mean of U_i^2 when the truth is category i, and when it is another one.

    >>> square_means("per-bit", 3, Fraction(2, 3), Fraction(1, 3))
    (3.0, 2.0)
    """
    if estimator == "best-linear":
        return _best_linear_means(k, p, r)
    own, other = (q * (1 - q) / (p - r) ** 2 for q in (p, r))
    if estimator == "centred":
        shared = (own + (k - 1) * other) / k**2
        own, other = (v * Fraction(k - 2, k) + shared for v in (own, other))
    return to_float(1 + own), to_float(other)


def best_linear_variance(k: int, p: Fraction, r: Fraction) -> float:
    """``(k-1)^2 / (F - k) + 1/k - 1`` with ``F = tr P' D^-1 P``."""
    return float((k - 1) ** 2 / _told(k, p, r) + 1 / k - 1)


def _told(k: int, p: Fraction, r: Fraction) -> float:
    """``F - k``: the mean of ``k s (k - s) (gamma - 1)^2 / D_s^2`` over the size s of a report."""
    inverse = r * (1 - p) / (p * (1 - r))
    others, chances = binomial_bulk(k - 1, float(r))  # how many other bits are one
    mean = float(p) * _told_by(others + 1, k, inverse) + float(1 - p) * _told_by(others, k, inverse)
    return float((chances * mean).sum())


def _told_by(s: Real, k: int, inverse: Fraction) -> Real:
    """What a report of size s adds to ``F - k``, where ``inverse = 1 / gamma``."""
    inside, outside = _deviations(s, k, inverse)
    return np.asarray(-k * inside * outside)


def _deviations(s: Real, k: int, inverse: Fraction) -> tuple[Real, Real]:
    """``x_i - 1`` inside and outside of a report of size s: ``(k - s) (gamma - 1) / D_s`` and ``-s (gamma - 1) / D_s``.

    The empty report tells nothing; where 1 / gamma underflows its formula would read 0 / 0.
    """
    size = np.maximum(s, 1)
    apart = float(1 - inverse) / (size + (k - size) * float(inverse))
    return (k - size) * apart, -s * apart


def _best_linear_means(k: int, p: Fraction, r: Fraction) -> tuple[float, float]:
    keep, flip, inverse = float(p), float(r), r * (1 - p) / (p * (1 - r))
    mu = _told(k, p, r) / (k - 1)

    def squared(s: Real) -> tuple[Real, Real]:
        inside, outside = _deviations(s, k, inverse)
        return (1 / k + inside / mu) ** 2, (1 / k + outside / mu) ** 2

    others, chances = binomial_bulk(k - 1, flip)
    own = chances @ (keep * squared(others + 1)[0] + (1 - keep) * squared(others)[1])
    rest, chances = binomial_bulk(k - 2, flip)  # without the bit of category i and that of the truth
    (_, none), (one_in, one_out), (both, _) = (squared(rest + i) for i in range(3))
    named, left_out = keep * both + (1 - keep) * one_in, keep * one_out + (1 - keep) * none
    return float(own), float(chances @ (flip * named + (1 - flip) * left_out))


def binomial_bulk(n: int, p: float) -> tuple[Real, Real]:
    """Numbers of successes in n trials and their probabilities; what is left out weighs less than 1e-30.

    By Bernstein's inequality a deviation t from the mean has a chance below ``2 exp(-t^2 / (2 n p (1-p) + 2 t / 3))``.
    The ratio of neighbours gives the probabilities up to a factor, and their sum gives the factor.

    >>> successes, chances = binomial_bulk(2, 0.5)
    >>> successes.tolist(), chances.round(12).tolist()
    ([0.0, 1.0, 2.0], [0.25, 0.5, 0.25])
    """
    exponent = 72.0  # 2 exp(-72) is below 1e-30
    reach = exponent / 3 + math.sqrt((exponent / 3) ** 2 + 2 * exponent * n * p * (1 - p))
    first, last = max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach))
    s = np.arange(first, last + 1, dtype=np.float64)
    odds = math.log(p) - math.log1p(-p) if p else -math.inf  # a chance may be too small for a float
    logs = np.concatenate([[0.0], np.cumsum(np.log((n - s[:-1]) / s[1:]) + odds)])
    weights = np.exp(logs - logs.max())
    return s, weights / weights.sum()
