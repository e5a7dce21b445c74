"""Profile likelihood intervals ``{b : 2 (l - l_p(b)) <= c^2 r}`` of coefficients, also with the maximum at infinity.

c is the normal or t quantile, and r is 1 for a likelihood; for a pseudo-likelihood under a sampling plan the variance
by the sandwich over that by the information. At infinity there is no such ratio, and hence no interval under a plan.
Source: standard; r as in the working likelihood ratio of Rao and Scott, for one coefficient at a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import NormalDist

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.estimation.regression.likelihood_search import Hill, Within, climb

STEPS = 40
EXACT = 1e-6
FARTHEST = 300.0  # change of a linear predictor beyond which a profile has no end
# Fall of the log-likelihood at an end of Wald's interval over that of a parabola, up to which Wald is used: intercepts
# are then covered as by the profile (docs/theory/coverage.md)
CURVED = 1.15
STRAIGHT = 0.3  # change of a linear predictor within Wald's interval below which the log-likelihood is a parabola
USUAL = 1.96


@dataclass(frozen=True, eq=False)
class Profiles:
    """The profile of each coefficient ``rows @ theta``."""

    # The log-likelihood, and where it has its maximum, or is near its limit
    hill: Hill
    theta: Real
    top: float
    rows: Real  # Shape (q, p); NaN for what has no profile
    paths: Real  # Shape (q, p): how theta moves with each coefficient, to first order, per unit of it
    errors: Real  # Standard errors by the information, shape (q,); NaN at infinity
    scales: Real  # Square roots of r, shape (q,); NaN where there is no interval
    infinite: Real  # Where each coefficient runs, as in `Limit.signs`
    _ends: dict[tuple[int, float], tuple[float, float]] = field(default_factory=dict)

    def part(self, where: slice | Array) -> Profiles:
        """Those of some coefficients."""
        names = ("rows", "paths", "errors", "scales", "infinite")
        return replace(self, **{name: getattr(self, name)[where] for name in names}, _ends={})

    @cached_property
    def there(self) -> Array:
        """Which coefficients have a profile."""
        return np.isfinite(self.rows).all(axis=1) & np.isfinite(self.scales)

    @cached_property
    def curved(self) -> Array:
        """Where Wald's interval has no meaning: the coefficient is infinite, or its log-likelihood no parabola."""
        return np.array([bool(there) and self._is_curved(j) for j, there in enumerate(self.there)], dtype=bool)

    def ends(self, j: int, reach: float) -> tuple[float, float]:
        """The interval of a coefficient, where ``reach`` is the quantile c."""
        if (j, reach) not in self._ends:
            self._ends[j, reach] = self._computed(j, reach)
        return self._ends[j, reach]

    def root(self, j: int, value: float) -> float:
        """The square root of the likelihood ratio statistic for a coefficient of this value."""
        if math.isnan(self.infinite[j]):
            return math.nan
        away = value - float(self.rows[j] @ self.theta)
        return self._walk(j, float(np.sign(away))).loss(abs(away)) / float(self.scales[j])

    def _is_curved(self, j: int) -> bool:
        if self.infinite[j] != 0:
            return True
        half = USUAL * float(self.errors[j] * self.scales[j])
        if self.hill.span(half * self.paths[j]) < STRAIGHT:
            return False
        expected = (half / float(self.errors[j])) ** 2
        fallen = [2 * (self.top - self.hill.value(self.theta + s * half * self.paths[j])) for s in (-1.0, 1.0)]
        return not all(expected / CURVED < one < expected * CURVED for one in fallen)

    def _computed(self, j: int, reach: float) -> tuple[float, float]:
        if math.isnan(self.infinite[j]) or math.isinf(reach):
            return -math.inf, math.inf
        low, high = (self._end(j, sign, reach * float(self.scales[j])) for sign in (-1.0, 1.0))
        return low, high

    def _end(self, j: int, sign: float, reach: float) -> float:
        if self.infinite[j] == sign:
            return sign * math.inf
        unit, centre = 1 / self.hill.span(self.paths[j]), float(self.rows[j] @ self.theta)
        step, most = reach * float(self.errors[j]), FARTHEST * unit
        if self.infinite[j] != 0:  # from far outside: first to where the coefficient is zero
            step, most = abs(centre), abs(centre) + most
        s = self._walk(j, sign).end(reach, min(step, most / 2), most, EXACT * unit)
        return centre + sign * s if s < most else sign * math.inf

    def _walk(self, j: int, sign: float) -> Walk:
        return Walk(self.hill, self.theta, self.top, self.rows[j], sign * self.paths[j])


@dataclass(frozen=True, eq=False)
class Walk:
    """The profile of one coefficient on one side: ``path`` is how theta moves per unit of it."""

    hill: Hill
    theta: Real
    top: float
    row: Real
    path: Real
    known: dict[float, Real] = field(default_factory=dict)

    def loss(self, s: float) -> float:
        """The square root of twice the fall of the log-likelihood at that distance, all else maximised."""
        before = max((one for one in self.known if one <= s), default=0.0)
        start = self.known.get(before, self.theta) + (s - before) * self.path
        held = Within.beside(self.hill.near(start), start, self.row)
        with np.errstate(all="ignore"):
            best = climb(held, np.zeros(len(start) - 1), steps=STEPS)
        if best.converged:
            self.known[s] = held.whole(best.theta)
        fall = self.top - best.at.value
        return math.inf if math.isnan(fall) else math.sqrt(2 * max(fall, 0.0))

    def end(self, reach: float, step: float, most: float, exact: float) -> float:
        """The distance at which the loss reaches so far, or ``most``."""
        from maskwell.estimation.likelihood_intervals import distance

        return distance(self.loss, most, reach, step, exact)


def profile_ends(
    hill: Hill, theta: Real, top: float, place: int, level: float, *, step: float, low: float, high: float
) -> tuple[float, float]:
    """The ends of a profile interval of one parameter, or the limits; ``step`` is a guess of half the width."""
    reach = NormalDist().inv_cdf((1 + level) / 2)
    centre, unit = float(theta[place]), np.eye(len(theta))[place]
    down = Walk(hill, theta, top, unit, -unit).end(reach, step, centre - low, EXACT)
    up = Walk(hill, theta, top, unit, unit).end(reach, step, high - centre, EXACT)
    return centre - down, centre + up
