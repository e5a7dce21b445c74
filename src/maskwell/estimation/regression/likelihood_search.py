"""The search for the maximum of a log-likelihood, at a finite point or in the limit to infinity, and profiles of it.

Newton's step where the observed information is positive definite, Fisher's elsewhere, with backtracking. At a finite
maximum the steps vanish; where the log-likelihood approaches ``l - A exp(-m s)`` each is 1 / m. Such a direction d is
confirmed at ``theta + s d`` for a large s, with all else maximised; what depends on it has no standard error.
A profile interval is ``{b : 2 (l - l_p(b)) <= c^2 r}``, r = 1, but under a sampling plan the variance by the sandwich
over that by the information, as in the working likelihood ratio of Rao and Scott. Source: standard; derived.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import NormalDist
from typing import Protocol

import numpy as np

from maskwell.core.arguments import Array, Real

TOLERANCE = 1e-8  # the search ends when no component of the gradient exceeds this share of the sum of weights
STEPS = 100
LONGEST = 10.0
SLACK = 1e-14
SINGULAR = 1e-10
TWO_PEAKS = 1e-6

LAST_STEPS = 12
VANISHED = 1e-3  # change of a linear predictor by Newton's step below which the next one squares it
REACHES = (64.0, 1024.0, 16384.0)  # moves of a predictor to see the limit; further only where slower rows still inform
ADJUSTING = 30
LEVEL = 1e-9  # share of a log-likelihood that counts as no difference
NOTHING = 1e-12  # information per row, in a standardised direction, that is zero in the limit
OTHER_SIDE = 1.05

FAR_OUT = 8.0
LITTLE = 1e-6  # a linear predictor, and a share of the information, at which the limit may be as likely as the maximum
APART = 1e-6  # part of a coefficient's own scale below which a direction leaves it alone


@dataclass(frozen=True, eq=False)
class Derivatives:
    """Log-likelihood, gradient (p,) and observed information (p, p) at one point."""

    value: float
    gradient: Real
    information: Real


class _Slope(Protocol):
    """What can be climbed."""

    @property
    def total(self) -> float: ...  # sum of the weights
    def value(self, theta: Real) -> float: ...  # the log-likelihood
    def derivatives(self, theta: Real) -> Derivatives: ...
    def expected(self, theta: Real) -> Real: ...  # an information that is never negative, shape (p, p)


class Hill(_Slope, Protocol):
    """What can be described where the search ended, too: a :class:`Likelihood`, or another of this kind."""

    @property
    def n(self) -> int:
        """Number of rows."""

    @property
    def back(self) -> Real:
        """T, shape (p, p): what was estimated is T theta."""

    def far(self, theta: Real, limit: float) -> tuple[int, int]:
        """In how many rows a linear predictor lies below -limit, and in how many above the limit."""

    def span(self, step: Real) -> float:
        """The largest change of a linear predictor, over all rows, if theta changes by the step."""

    def near(self, theta: Real) -> Hill:
        """The same, made for a search around here."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """Where the search ended."""

    theta: Real  # Coefficients on the common scale, shape (p,)
    at: Derivatives  # Log-likelihood, gradient and observed information there
    iterations: int  # Steps taken
    converged: bool  # Whether the gradient is zero up to the tolerance
    several: bool = False  # Whether another start led to a lower peak


def highest(ends: Iterable[Optimum]) -> Optimum:
    """The best end of several searches, and whether another one ended at a lower peak."""
    peaks = [*ends]
    best = max(peaks, key=lambda one: (one.converged, one.at.value))
    apart = TWO_PEAKS * (1 + abs(best.at.value))
    several = any(one.converged and best.at.value - one.at.value > apart for one in peaks)
    return replace(best, several=several)


def climb(likelihood: _Slope, start: Real, *, steps: int = STEPS) -> Optimum:
    """Walk uphill from one start."""
    theta, at = start, likelihood.derivatives(start)
    for done in range(steps):
        if not (np.isfinite(at.gradient).all() and np.isfinite(at.information).all()):
            return Optimum(theta, at, done, converged=False)
        if _is_flat(at, likelihood.total):
            step = _newton(at)  # one more, which costs nothing: it squares the error that the tolerance left
            return Optimum(theta if step is None else theta + step, at, done, converged=True)
        step = uphill(likelihood, theta, at)
        moved = backtrack(likelihood, theta, at, step)
        if moved is None:
            return Optimum(theta, at, done, converged=False)
        theta, at = moved
    return Optimum(theta, at, steps, _is_flat(at, likelihood.total))


def _is_flat(at: Derivatives, total: float) -> bool:
    return bool(np.abs(at.gradient).max(initial=0.0) < TOLERANCE * total)


def uphill(likelihood: _Slope, theta: Real, at: Derivatives) -> Real:
    """Newton's step, or Fisher's where the log-likelihood is not concave; never a leap."""
    step = _newton(at)
    if step is None:
        values, vectors = np.linalg.eigh(likelihood.expected(theta))
        kept = np.maximum(values, SINGULAR * max(values[-1], np.finfo(float).tiny))
        step = vectors @ (vectors.T @ at.gradient / kept)
    return np.asarray(step * min(1.0, LONGEST / max(float(np.abs(step).max()), 1e-300)))


def backtrack(likelihood: _Slope, theta: Real, at: Derivatives, step: Real) -> tuple[Real, Derivatives] | None:
    """The first of the step, its half, its quarter ... that climbs; the derivatives there."""
    slack = SLACK * (likelihood.total + abs(at.value))
    rise = float(at.gradient @ step)
    for halved in range(40):
        size = 0.5**halved
        trial = theta + size * step
        if halved and likelihood.value(trial) < at.value + 1e-4 * size * rise - slack:
            continue
        there = likelihood.derivatives(trial)
        if there.value >= at.value + 1e-4 * size * rise - slack:
            return trial, there
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


@dataclass(frozen=True, eq=False)
class Within:
    """A log-likelihood at ``base + N u``, as a function of u; N has orthonormal columns."""

    slope: _Slope
    base: Real
    N: Real

    @classmethod
    def beside(cls, slope: _Slope, base: Real, row: Real) -> Within:
        """All points with the same ``row @ theta`` as the base."""
        return cls(slope, base, np.linalg.svd(row[None])[2][1:].T)

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return self.slope.total

    def whole(self, u: Real) -> Real:
        """All parameters."""
        return np.asarray(self.base + self.N @ u)

    def value(self, u: Real) -> float:
        """The log-likelihood."""
        return self.slope.value(self.whole(u))

    def derivatives(self, u: Real) -> Derivatives:
        """The log-likelihood with its derivatives by u."""
        there = self.slope.derivatives(self.whole(u))
        return Derivatives(there.value, self.N.T @ there.gradient, self.N.T @ there.information @ self.N)

    def expected(self, u: Real) -> Real:
        """Expected information about u."""
        return np.asarray(self.N.T @ self.slope.expected(self.whole(u)) @ self.N)


@dataclass(frozen=True, eq=False)
class Limit:
    """The information of the rows at the maximum, or in the limit."""

    # Directions with and without information, as orthonormal columns
    known: Real
    unknown: Real
    away: Real | None = None  # The direction to infinity, None where the maximum is finite

    def lost(self, T: Real) -> Array:
        """Which of the coefficients T theta depend on a direction without information."""
        return np.asarray((np.abs(_relative(T) @ self.unknown) > APART).any(axis=1))

    def signs(self, hill: Hill, peak: Optimum, T: Real) -> Real:
        """Where each coefficient runs: -1 or 1, NaN where it could be anything, 0 where it is finite."""
        out = np.zeros(len(T))
        for j in np.flatnonzero(self.lost(T)):
            moved = 0.0 if self.away is None else float(_relative(T)[j] @ self.away)
            settled_sign = abs(moved) > APART * np.linalg.norm(self.away if self.away is not None else 1.0)
            both = settled_sign and self.unknown.shape[1] > 1 and self._also_opposite(hill, peak, T[j])
            out[j] = np.sign(moved) if settled_sign and not both else np.nan
        return out

    def _also_opposite(self, hill: Hill, peak: Optimum, row: Real) -> bool:
        """Whether the log-likelihood is as high with the coefficient on the other side of zero."""
        free = self.unknown @ (self.unknown.T @ row)
        start = peak.theta - OTHER_SIDE * free * float(row @ peak.theta) / float(row @ free)
        with np.errstate(all="ignore"):
            other = climb(Within.beside(hill, start, row), np.zeros(len(row) - 1))
        return other.at.value >= peak.at.value - 1e3 * _slack(peak.at.value)


def settled(hill: Hill, peak: Optimum) -> tuple[Optimum, Limit]:
    """The end of a search, followed until Newton's steps vanish, or to the limit where they do not."""
    step = _newton(peak.at)
    moving = step is None or hill.span(step) >= VANISHED
    if moving or any(hill.far(peak.theta, FAR_OUT)):
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # far outside chances are 0 or 1
            peak, vanished = _followed(hill, peak) if moving else (peak, True)
            far = _limit(hill, peak, vanished=vanished)
        if far is not None:
            return far
        peak = replace(peak, converged=peak.converged and vanished)
    information = peak.at.information
    return peak, _known(information if is_positive_definite(information) else _information_at(hill, peak.theta))


def _newton(at: Derivatives) -> Real | None:
    if not is_positive_definite(at.information):
        return None
    return np.asarray(np.linalg.solve(at.information, at.gradient))


def _followed(hill: Hill, peak: Optimum) -> tuple[Optimum, bool]:
    """A few more steps, and whether they vanish."""
    peak = replace(peak, at=hill.derivatives(peak.theta))
    for _ in range(LAST_STEPS):
        step = _newton(peak.at)
        if step is None:
            return peak, False
        if hill.span(step) < VANISHED:
            return replace(peak, theta=peak.theta + step, converged=True), True
        moved = backtrack(hill, peak.theta, peak.at, step)
        if moved is None:
            return peak, False
        peak = replace(peak, theta=moved[0], at=moved[1], iterations=peak.iterations + 1)
    return peak, False


def _limit(hill: Hill, peak: Optimum, *, vanished: bool) -> tuple[Optimum, Limit] | None:
    """The limit in the first direction that leads to one as high as the end of the search."""
    for direction in _candidates(hill, peak, vanished=vanished):
        far = _far(hill, peak, direction, REACHES[0])
        if far is None:
            continue
        for reach in REACHES[1:]:
            unit = direction / np.linalg.norm(direction)
            if float(unit @ _information_at(hill, far.theta) @ unit) <= NOTHING:
                break  # no rows that move slowly still carry information
            far = _far(hill, peak, direction, reach) or far
        moved = far.theta - peak.theta
        return far, _beyond(_information_at(hill, far.theta), moved / np.linalg.norm(moved))
    return None


def _candidates(hill: Hill, peak: Optimum, *, vanished: bool) -> Iterator[Real]:
    """Newton's step and Fisher's, unless they vanished, and outwards where next to nothing is known."""
    limit = _known(_information_at(hill, peak.theta), LITTLE)
    outwards = limit.unknown @ (limit.unknown.T @ peak.theta)
    steps = [] if vanished else [_newton(peak.at), uphill(hill, peak.theta, peak.at)]
    for direction in (*steps, outwards):
        size = 0.0 if direction is None else hill.span(direction)
        if direction is not None and size > 0:
            yield direction / size


def _far(hill: Hill, peak: Optimum, direction: Real, reach: float) -> Optimum | None:
    """The point that far away, with what is left maximised; None where the log-likelihood is lower, or leads back."""
    start = peak.theta + reach * direction
    there = hill.derivatives(start)
    if not (np.isfinite(there.value) and np.isfinite(there.information).all()):
        return None
    far = climb(hill.near(start), start, steps=ADJUSTING)
    back = float((far.theta - peak.theta) @ direction) < reach / 2 * float(direction @ direction)
    if back or not far.at.value >= peak.at.value - _slack(peak.at.value):
        return None
    return replace(far, iterations=peak.iterations, converged=False, several=peak.several)


def _information_at(hill: Hill, theta: Real) -> Real:
    """Expected information per row; rows whose chances are beyond the range of floats carry none."""
    return np.nan_to_num(hill.expected(theta) / hill.total, nan=0.0, posinf=0.0, neginf=0.0)


def _beyond(information: Real, away: Real) -> Limit:
    """What is known in the limit, from the information per row there; the direction itself never is."""
    values, vectors = np.linalg.eigh(information)
    unknown = vectors[:, values < NOTHING]
    rest = away - unknown @ (unknown.T @ away)
    if np.linalg.norm(rest) > 1e-3:
        unknown = np.column_stack([unknown, rest / np.linalg.norm(rest)])
    full = np.linalg.svd(unknown, full_matrices=True)[0]
    return Limit(full[:, unknown.shape[1] :], unknown, away)


def _known(information: Real, least: float = NOTHING) -> Limit:
    """Directions with and without information at a finite point; ``least`` is a share of the largest."""
    values, vectors = np.linalg.eigh(information)
    kept = values > least * max(float(values[-1]), np.finfo(float).tiny)
    return Limit(vectors[:, kept], vectors[:, ~kept])


def _relative(T: Real) -> Real:
    return np.asarray(T / np.linalg.norm(T, axis=1)[:, None])


def _slack(value: float) -> float:
    return LEVEL * (1 + abs(value))


PROFILE_STEPS = 40
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
        start = self._start(s)
        held = Within.beside(self.hill.near(start), start, self.row)
        with np.errstate(all="ignore"):
            best = climb(held, np.zeros(len(start) - 1), steps=PROFILE_STEPS)
        if best.converged:
            self.known[s] = held.whole(best.theta)
        fall = self.top - best.at.value
        return math.inf if math.isnan(fall) else math.sqrt(2 * max(fall, 0.0))

    def _start(self, s: float) -> Real:
        """On the line through known points around s: far out other coefficients no longer follow the path."""
        below = sorted((one for one in (0.0, *self.known) if one <= s), reverse=True)[:2]
        above = min((one for one in self.known if one > s), default=None)
        near, other = below[0], above if above is not None else below[-1]
        start = self.known.get(near, self.theta)
        along = self.path if near == other else (self.known.get(other, self.theta) - start) / (other - near)
        return np.asarray(start + (s - near) * along)

    def end(self, reach: float, step: float, most: float, exact: float) -> float:
        """The distance at which the loss reaches so far, or ``most``."""
        from maskwell.estimation.share_intervals import distance

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
