"""Any function as the curve of a demand: B between two numbers, of which the lower one is certain.

Curves do not fall, so on a cell (a, b) of priors

    odds(h_u(p)) / odds(p) >= odds(h_u(a)) / odds(b),      odds(p) / odds(h_l(p)) >= odds(a) / odds(h_l(b))

The cells with the smallest bound are halved, in log-odds, until the bound meets the best value seen.

Source: derived; for B itself [ChaiNayak2018, eq. (3.3)].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.arguments import Flag, Real, check_kind
from maskwell.core.exact import Number, as_fraction
from maskwell.errors import ParameterError
from maskwell.notes import Note
from maskwell.privacy.curves import Bound, Curve, crossing, side

END = 1e-9  # priors from END to 1 - END are looked at; further out a function returns rounding noise only
GRID = 4001
CELLS = 60_000
INNER, CLOSE = 1e-3, 2e-6  # a least value seen this far inside, and this close, counts as attained
NOISE = 2.0**-51  # how far the value of a function near 1 may be off


@dataclass(frozen=True)
class Smooth(Curve):
    """A nondecreasing function of the prior.

    Attributes
    ----------
    function
        Takes one float from 0 to 1 and returns one.
    jumps
        Priors where it jumps or bends, so that both sides are looked at.
    at_zero, at_one
        The least ratio of odds within 1e-9 of the end, at every prior there; without them the bound leaves these out.
    rtol, cells
        Halving stops when the bracket is that narrow, or at so many cells.

    >>> bound = Smooth(lambda p: p ** (1 / 3)).bound(upper=True)
    >>> bool(2.99 < bound.lower < 3), round(float(bound.upper), 5), bound.attained
    (True, 3.0, False)
    """

    function: Callable[[float], float]
    jumps: tuple[float, ...] = ()
    at_zero: Fraction | None = None
    at_one: Fraction | None = None
    rtol: float = 1e-4
    cells: int = CELLS

    @classmethod
    def of(
        cls,
        function: Callable[[float], float],
        *,
        jumps: Sequence[Number] = (),
        at_zero: Number | None = None,
        at_one: Number | None = None,
    ) -> Smooth:
        """Checked: jumps inside (0, 1), at_zero and at_one 1 or more."""
        at = tuple(sorted(float(as_fraction(jump, "jump")) for jump in jumps))
        ends = [None if x is None else as_fraction(x, name) for x, name in ((at_zero, "at_zero"), (at_one, "at_one"))]
        if not all(0 < jump < 1 for jump in at) or any(end is not None and end < 1 for end in ends):
            raise ParameterError("a-curve-with-jumps-at-zero", jumps=list(jumps), at_zero=at_zero, at_one=at_one)
        return cls(function, at, ends[0], ends[1])

    @property
    def breaks(self) -> tuple[float, ...]:
        """The jumps."""
        return self.jumps

    def values(self, p: Real) -> Real:
        """At priors p."""
        return np.array([float(self.function(float(x))) for x in p])

    def to_json(self) -> dict[str, Any] | None:
        """Nothing: only a program knows it."""
        return None

    def bound(self, *, upper: bool) -> Bound:
        """B_u or B_l between a certain lower and a seen upper value."""
        check_kind(Flag, upper=upper)
        search = _Search(self, upper=upper)
        search.look(self._grid())
        lower = search.refine(self.rtol, self.cells) if search.rises() else search.best
        certain = search.rises()  # asked once more: halving may have met a fall that the grid stepped over
        tails = [end for end in (self.at_zero, self.at_one) if end is not None]
        notes = (
            *(() if certain else (Note("the-curve-falls-somewhere-so"),)),
            *(() if len(tails) == 2 else (Note("priors-below-1e-9-and-above"),)),
        )
        inside, seen = _parity(lower, down=True), _parity(search.best, down=False)
        attained = search.attained and all(search.best <= end for end in tails)
        attained |= any(end <= inside for end in tails)  # reached there, for all that is known
        return Bound(min([inside, *tails]), seen, attained, certified=certain, notes=notes)

    def _grid(self) -> Real:
        """Even in log-odds, with every jump and its two neighbours."""
        span = math.log((1 - END) / END)
        x = np.linspace(-span, span, GRID)
        inside = np.where(x < 0, np.exp(x) / (1 + np.exp(x)), 1 / (1 + np.exp(-x)))
        beside = [q for b in self.jumps for q in (np.nextafter(b, 0), b, np.nextafter(b, 1))]
        return np.unique(np.concatenate([inside, beside]))


def _parity(value: float, *, down: bool) -> Fraction | float:
    if not math.isfinite(value):
        return math.inf
    return max(Fraction(1), Fraction(math.nextafter(value, 0 if down else math.inf)))


class _Search:
    """Priors looked at so far, in order, with the curve and the ratio of odds there."""

    def __init__(self, curve: Smooth, *, upper: bool) -> None:
        self.curve, self.upper = curve, upper
        self.p = self.h = self.ratio = np.empty(0)

    def look(self, priors: Real) -> None:
        """Evaluate, check and keep."""
        h = self.curve.values(priors)
        self._check(priors, h)
        p = np.concatenate([self.p, priors])
        order = np.argsort(p)
        self.p, self.h = p[order], np.concatenate([self.h, h])[order]
        self.ratio = _ratio(self.h, self.p) if self.upper else _ratio(self.p, self.h)

    def _check(self, p: Real, h: Real) -> None:
        slack = np.where(p < 1e-6, 1e-7, 1e-12) * np.maximum(p, 1e-300)
        bad = ~((h >= 0) & (h <= 1) & ((h >= p - slack) if self.upper else (h <= p + slack)))
        if bad.any():
            i = int(np.flatnonzero(bad)[0])
            what = f"it is {h[i]:.12g} at the prior {p[i]:.12g}"
            if 0 <= h[i] <= 1:
                raise crossing(what, upper=self.upper)
            raise ParameterError("the-curve-is-no-probability", side=side(upper=self.upper), what=what)

    def rises(self) -> bool:
        """Whether the curve falls nowhere, as far as it was looked at; two roundings may look like a fall."""
        return bool((np.diff(self.h) >= -2 * NOISE * np.maximum(self.h[:-1], 0.5)).all())

    @property
    def best(self) -> float:
        """The least ratio seen, which B does not exceed."""
        return float(self.ratio.min())

    @property
    def attained(self) -> bool:
        """Whether a prior away from the ends, and not beside a jump, has the least ratio."""
        beside = [q for b in self.curve.jumps for q in (np.nextafter(b, 0), np.nextafter(b, 1))]
        inner = (self.p >= INNER) & (self.p <= 1 - INNER) & ~np.isin(self.p, beside)
        return bool(math.isfinite(self.best) and (self.ratio[inner] <= self.best * (1 + CLOSE)).any())

    def refine(self, rtol: float, cells: int) -> float:
        """Halve the worst cells; returns the certain lower bound."""
        while True:
            bounds = self._cell_bounds()
            worst = np.flatnonzero(bounds < self.best * (1 - rtol))
            room = cells - len(bounds)
            if not len(worst) or room <= 0:
                return float(bounds.min())
            worst = worst[np.argsort(bounds[worst])][: min(room, max(64, len(bounds) // 2))]
            halves = _middle(self.p[worst], self.p[worst + 1])
            halves = np.setdiff1d(halves, self.p)
            if not len(halves):  # neighbours in floating point: nothing lies between them
                return float(bounds.min())
            self.look(halves)

    def _cell_bounds(self) -> Real:
        """What the ratio cannot fall below in each cell, even if the function is off by a rounding."""
        if self.upper:
            value = self.h[:-1]
            return _ratio(np.where(value < 1, value - NOISE * np.maximum(value, 0.5), 1), self.p[1:])
        value = self.h[1:]
        return _ratio(self.p[:-1], np.where(value > 0, value + NOISE * np.maximum(value, 0.5), 0))


def _ratio(high: Real, low: Real) -> Real:
    """``odds(high) / odds(low)``, infinite where high is 1 or low is 0, and never negative."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = (high / (1 - high)) * ((1 - low) / low)
    ratio[(high >= 1) | (low <= 0)] = np.inf
    return np.maximum(ratio, 0)


def _middle(a: Real, b: Real) -> Real:
    """The prior halfway between two, in log-odds."""
    x = 0.5 * (np.log(a) - np.log1p(-a) + np.log(b) - np.log1p(-b))
    return np.asarray(np.where(x < 0, np.exp(x) / (1 + np.exp(x)), 1 / (1 + np.exp(-x))))
