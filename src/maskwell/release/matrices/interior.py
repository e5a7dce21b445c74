"""A primal-dual interior-point method for large programs in which bounds tie many flows together.

Bounds on the guess probability and on the parity add one or two rows for each flow, and the solver that is right for
everything else then takes minutes. Here each such row holds one flow and one other unknown, so that the flows can be
eliminated by hand: every step solves a system that is only as large as the number of states and other unknowns.

    min c'x   with   A x = b,   G x + s = h,   s >= 0,   lower <= x <= upper

Mehrotra's predictor and corrector. Its limit is the centre of all optimal solutions, which depends on no pivoting.

Source: derived for this structure; the method is the textbook one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arrays import Real
from maskwell.release.matrices.interior_form import Standard
from maskwell.release.matrices.interior_system import System

STEPS = 120
"""Newton steps before giving up; thirty are common."""

CLOSE = 1e-10
"""Relative gap and residuals at which the answer is good enough to be rounded."""

_NEAR_ENOUGH = 1000.0
"""Times that: where rounding does not let the method come closer, this is still good enough."""

_REFINED = 1
_BACK = 0.995


@dataclass(eq=False)
class Point:
    """Unknowns, slacks of the rows of G, and the multipliers of all."""

    x: Real
    s: Real
    y: Real
    rows: Real
    low: Real
    high: Real

    def moved(self, step: Point, primal: float, dual: float) -> Point:
        """A part of the way along a step from here."""
        return Point(
            self.x + primal * step.x,
            self.s + primal * step.s,
            self.y + dual * step.y,
            self.rows + dual * step.rows,
            self.low + dual * step.low,
            self.high + dual * step.high,
        )


def minimise(program: Standard) -> tuple[Real, float] | None:
    """The unknowns at the optimum and its value; None where it does not come close, as in an infeasible program."""
    if np.any(program.lower >= program.upper):
        return None
    with np.errstate(all="ignore"):  # without a solution the numbers grow beyond all bounds, which ends the search
        return _search(Newton(program))


def _search(newton: Newton) -> tuple[Real, float] | None:
    """Steps until the point is close; where rounding stops it short of that, the best point if it is near enough."""
    point = best = newton.start()
    least = newton.distance(best)
    for _ in range(STEPS):
        step = newton.step(point)
        if step is None:
            break
        point, distance = step, newton.distance(step)
        if distance < least:
            best, least = point, distance
        if least < 1 or (distance > 10 * least and least < _NEAR_ENOUGH):
            break
    return (newton.settled(best), float(newton.p.cost @ best.x)) if least < _NEAR_ENOUGH else None


class Newton:
    """The steps of the method for one program."""

    def __init__(self, program: Standard) -> None:
        self.p = program
        self.has_low, self.has_high = np.isfinite(program.lower), np.isfinite(program.upper)
        self.At, self.Gt = program.A.T.tocsr(), program.G.T.tocsr()
        self.system = System(program)

    def start(self) -> Point:
        """Even flows, other unknowns in the middle of their bounds, all well inside; multipliers of the costs' size."""
        p = self.p
        wished = np.concatenate([p.layout.even, np.full(len(p.lower) - p.flows, np.nan)])
        x = _inside(p.lower, p.upper, wished)
        size = max(float(np.abs(p.cost).max()), 1e-6)
        s = np.maximum(p.h - p.G @ x, 0.1)
        multipliers = size * self.has_low, size * self.has_high
        return Point(x, s, np.zeros(len(p.b)), np.full(len(s), size), *multipliers)

    # ---- how far it is

    def slacks(self, point: Point) -> tuple[Real, Real]:
        """Distances from the bounds; one where there is no bound."""
        low = np.where(self.has_low, point.x - self.p.lower, 1.0)
        return low, np.where(self.has_high, self.p.upper - point.x, 1.0)

    def gap(self, point: Point) -> float:
        """The mean product of slacks and multipliers."""
        low, high = self.slacks(point)
        total = point.s @ point.rows + low @ point.low + high @ point.high
        return float(total / (len(point.s) + self.has_low.sum() + self.has_high.sum()))

    def residuals(self, point: Point) -> tuple[Real, Real, Real]:
        """What the conditions are off by: of the multipliers, of A x = b, of G x + s = h."""
        p = self.p
        dual = p.cost + self.At @ point.y + self.Gt @ point.rows - point.low + point.high
        return dual, p.A @ point.x - p.b, p.G @ point.x + point.s - p.h

    def distance(self, point: Point) -> float:
        """Residuals and relative gap, in units of what is close; infinite where numbers have grown too large."""
        dual, equal, rows = (float(np.abs(r).max(initial=0.0)) for r in self.residuals(point))
        low, high = self.slacks(point)
        gap = float(point.s @ point.rows + low @ point.low + high @ point.high)
        relative = gap / (1e-3 + abs(float(self.p.cost @ point.x)))
        found = max(equal / CLOSE, rows / CLOSE, dual / (100 * CLOSE), relative / (10 * CLOSE))
        return found if np.isfinite(found) else np.inf

    def settled(self, point: Point) -> Real:
        """The unknowns, with those on a bound that are nearer to it than its multiplier is to zero."""
        low, high = self.slacks(point)
        x = np.where(self.has_low & (low < point.low) & (low < 1e-6), self.p.lower, point.x)
        return np.where(self.has_high & (high < point.high) & (high < 1e-6), self.p.upper, x)

    # ---- one step

    def step(self, point: Point) -> Point | None:
        """The next point; None where the system cannot be solved."""
        solve = self._factored(point)
        if solve is None:
            return None
        mu, (low, high) = self.gap(point), self.slacks(point)
        products = point.s * point.rows, low * point.low, high * point.high
        predicted = self._direction(point, solve, *products)
        ahead = point.moved(predicted, *self._lengths(point, predicted, 1.0))
        centre = mu * (self.gap(ahead) / mu) ** 3
        corrected = (
            products[0] + predicted.s * predicted.rows - centre,
            np.where(self.has_low, products[1] + predicted.x * predicted.low - centre, 0.0),
            np.where(self.has_high, products[2] - predicted.x * predicted.high - centre, 0.0),
        )
        direction = self._direction(point, solve, *corrected)
        return point.moved(direction, *self._lengths(point, direction, _BACK))

    def _lengths(self, point: Point, step: Point, back: float) -> tuple[float, float]:
        low, high = self.slacks(point)
        primal = min(_room(point.s, step.s), _room(low[self.has_low], step.x[self.has_low]))
        primal = min(primal, _room(high[self.has_high], -step.x[self.has_high]))
        dual = min(_room(point.rows, step.rows), _room(point.low[self.has_low], step.low[self.has_low]))
        dual = min(dual, _room(point.high[self.has_high], step.high[self.has_high]))
        return min(1.0, back * primal), min(1.0, back * dual)

    def _direction(self, point: Point, solve: Any, rows: Real, below: Real, above: Real) -> Point:
        low, high = self.slacks(point)
        dual, equal, off = self.residuals(point)
        right = -dual - self.Gt @ ((point.rows * off - rows) / point.s) - below / low + above / high
        x, y = self._refined(point, solve, right, -equal)
        s = -off - self.p.G @ x
        return Point(
            x,
            s,
            y,
            (-rows - point.rows * s) / point.s,
            np.where(self.has_low, (-below - point.low * x) / low, 0.0),
            np.where(self.has_high, (-above + point.high * x) / high, 0.0),
        )

    def _refined(self, point: Point, solve: Any, right: Real, equal: Real) -> tuple[Real, Real]:
        """The solution, solved for again with what it is off by: near the end numbers are of very different size."""
        (low, high), weight = self.slacks(point), point.rows / point.s
        own = point.low / low + point.high / high
        x, y = solve(right, equal)
        for _ in range(_REFINED):
            off = right - own * x - self.Gt @ (weight * (self.p.G @ x)) - self.At @ y
            more_x, more_y = solve(off, equal - self.p.A @ x)
            x, y = x + more_x, y + more_y
        return x, y

    def _factored(self, point: Point) -> Any:
        low, high = self.slacks(point)
        return self.system.solver(point.rows / point.s, point.low / low + point.high / high)


def _inside(lower: Real, upper: Real, wished: Real) -> Real:
    """What is wished for, or else the middle, kept away from the bounds by a tenth of the way between them."""
    low, high = np.where(np.isfinite(lower), lower, -1.0), np.where(np.isfinite(upper), upper, lower + 2)
    edge = np.minimum(high - low, 1.0) / 10
    return np.clip(np.where(np.isnan(wished), (low + high) / 2, wished), low + edge, high - edge)


def _room(value: Real, change: Real) -> float:
    """How far one can go along a change before a value reaches zero."""
    falling = change < 0
    return float(np.min(-value[falling] / change[falling], initial=np.inf)) if falling.any() else np.inf
