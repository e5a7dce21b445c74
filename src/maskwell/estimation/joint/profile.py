"""Profile likelihood of a log odds ratio: how likely the reports can be made for each value of it.

    l_p(phi) = max { sum_i x_i ln (P pi)_i :  pi a distribution with  ln(pi_a pi_d / (pi_b pi_c)) = phi }

The shares are written as ``pi = softmax(B alpha + phi e_a)``: the cells a, b, c, d of the two by two table have logits
``r + s + phi, r, s, 0``, every other cell a logit of its own. The interval holds all phi with
``2 (l* - l_p(phi)) <= chi2``; it has no end where the likelihood never falls so far.

Source: standard; the parametrisation is derived.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.designs.design import Design
from maskwell.estimation.joint.tails import chi_square_quantile
from maskwell.estimation.likelihood import Maximum

FARTHEST = 40.0
"""Log odds ratios beyond this are taken for infinite."""
_STARTS = (1e-3, 0.1, 0.5)  # shares of the uniform distribution in the tables that a climb starts from


@dataclass(frozen=True, eq=False)
class OddsProfile:
    """The likelihood of a table as a function of one log odds ratio.

    Attributes
    ----------
    P, counts
        Lines of the matrix for the reports that were seen, shape (s, k), and how often they were.
    cells
        The four cells a, b, c, d.
    best, value
        The most likely table, and its log odds ratio (infinite or NaN where it has empty cells).
    """

    P: Real
    counts: Real
    cells: tuple[int, ...]
    best: Maximum
    value: float

    @classmethod
    def of(cls, design: Design, counts: Array, cells: Sequence[int], best: Maximum, value: float) -> OddsProfile:
        """From a sample and its most likely table."""
        seen = counts > 0
        return cls(design.matrix()[seen], counts[seen].astype(np.float64), tuple(cells), best, value)

    def interval(self, level: float) -> tuple[float, float]:
        """The log odds ratios that the reports do not contradict at this level."""
        if math.isnan(self.value):
            return -math.inf, math.inf
        bound = self.best.log_likelihood - chi_square_quantile(level) / 2
        return self._end(-1, bound), self._end(1, bound)

    def _end(self, direction: int, bound: float) -> float:
        from scipy.optimize import brentq

        inside, step = max(-FARTHEST, min(FARTHEST, self.value)), 0.5
        while abs(inside) < FARTHEST or inside * direction < 0:
            outside = max(-FARTHEST, min(FARTHEST, inside + direction * step))
            if self.log_likelihood(outside) < bound:
                return float(brentq(lambda phi: self.log_likelihood(phi) - bound, inside, outside, xtol=1e-7))
            inside, step = outside, 2 * step
        return direction * math.inf

    def log_likelihood(self, phi: float) -> float:
        """The highest log-likelihood of tables with this log odds ratio."""
        return max(self._climb(phi, start) for start in _STARTS)

    def _climb(self, phi: float, spread: float) -> float:
        from scipy.optimize import minimize

        start = (1 - spread) * self.best.pi + spread / self.P.shape[1]
        alpha = self._logits(self._with_odds(start, phi))
        found = minimize(
            self._value,
            alpha,
            args=(phi,),
            jac=self._slope,
            hess=self._curvature,
            method="trust-exact",
            options={"gtol": 1e-9},
        )
        return -float(found.fun) * float(self.counts.sum())

    # ---- logits: alpha = (r, s, one for each other cell)

    @property
    def _others(self) -> list[int]:
        return [j for j in range(self.P.shape[1]) if j not in self.cells]

    def _basis(self) -> Real:
        a, b, c, _ = self.cells
        B = np.zeros((self.P.shape[1], self.P.shape[1] - 2))
        B[[a, b], 0] = B[[a, c], 1] = 1
        for column, j in enumerate(self._others, start=2):
            B[j, column] = 1
        return B

    def _with_odds(self, pi: Real, phi: float) -> Real:
        """The same margins of the two by two table, with this log odds ratio."""
        moved, cells = pi.copy(), list(self.cells)
        moved[cells] = two_by_two(pi[cells], phi)
        return moved

    def _logits(self, pi: Real) -> Real:
        _, b, c, d = self.cells
        return np.asarray(np.log(pi[[b, c, *self._others]] / pi[d]))

    def _pi(self, alpha: Real, phi: float) -> Real:
        theta = self._basis() @ alpha
        theta[self.cells[0]] += phi
        e = np.exp(theta - theta.max())
        return np.asarray(e / e.sum())

    # ---- minus the mean log-likelihood, with its first and second derivative in alpha

    def _value(self, alpha: Real, phi: float) -> float:
        with np.errstate(divide="ignore"):
            return -float(self.counts @ np.log(self.P @ self._pi(alpha, phi))) / float(self.counts.sum())

    def _slope(self, alpha: Real, phi: float) -> Real:
        pi = self._pi(alpha, phi)
        share = self.counts / self.counts.sum()
        g = (share / (self.P @ pi)) @ self.P
        return np.asarray(-(pi * (g - 1)) @ self._basis())

    def _curvature(self, alpha: Real, phi: float) -> Real:
        pi, share = self._pi(alpha, phi), self.counts / self.counts.sum()
        lam = self.P @ pi
        g = (share / lam) @ self.P
        scaled = self.P * (np.sqrt(share) / lam)[:, None] * pi
        second = np.diag(pi * (g - 1)) + np.outer(pi, pi) - scaled.T @ scaled
        B = self._basis()
        return np.asarray(-(B.T @ second @ B))


def two_by_two(cells: Real, phi: float) -> Real:
    """The cells a, b, c, d with the same row and column sums whose log odds ratio is ``phi``.

    >>> found = two_by_two(np.array([0.1, 0.2, 0.3, 0.4]), 0.0)
    >>> found.round(2).tolist()   # independent
    [0.12, 0.18, 0.28, 0.42]
    """
    from scipy.optimize import brentq

    a, b, c, d = cells
    up, down = min(b, c), min(a, d)  # how far a can rise and fall; sums of positive parts lose no digits
    rising = np.array([a - down, b - up, c - up, d - down])

    def at(u: float) -> Real:
        high, low = 1 / (1 + math.exp(-u)), 1 / (1 + math.exp(u))
        return np.asarray(rising + (up + down) * np.array([high, low, low, high]), dtype=np.float64)

    def excess(u: float) -> float:
        la, lb, lc, ld = np.log(at(u))
        return float(la - lb - lc + ld - phi)

    reach = abs(phi) + 60
    return at(float(brentq(excess, -reach, reach, xtol=1e-10)))
