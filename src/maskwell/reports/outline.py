"""Curves of belief as arrays that can be drawn: sampled evenly, with every jump and the side on which its value holds.

A curve is sampled at points that are even in log-odds, at 0 and 1, and at each break and just beside it, so that a
drawing has its corners and jumps where the demand has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from maskwell.core.arrays import Real
from maskwell.core.exact import Parity
from maskwell.privacy.criteria import Demand
from maskwell.privacy.curves import Boundary

POINTS = 401
SPAN = 12.0  # log-odds at the ends of the grid: 0.0006 % and its mirror
BESIDE = 2.0**-40  # far below a pixel, far above the rounding of 1 - p
SAME = 1e-9


@dataclass(frozen=True)
class Jump:
    """Where a curve jumps: what it tends to from the left, what it is, and what it tends to on the right."""

    at: float
    left: float
    here: float
    right: float


@dataclass(frozen=True, eq=False)
class Grid:
    """Priors, and one minus each of them as exactly as the breaks are known.

    Attributes
    ----------
    prior, mirror
        Rising and falling, shape (n,).
    breaks
        Places of the breaks and of their mirror images in ``prior``.
    """

    prior: Real
    mirror: Real
    breaks: tuple[int, ...]

    @classmethod
    def around(cls, breaks: Iterable[float] = ()) -> Grid:
        """A grid with these breaks, their mirror images, and points just beside both.

        The mirror image of a break keeps its partner, because one minus 0.9 is not 0.1 in binary numbers.
        """
        inside = sorted({b for b in breaks if 0 < b < 1})
        exact = [(b, _partner(b, inside)) for b in inside]
        exact += [(1 - b, b) for b in inside if _partner(b, inside) == 1 - b]
        beside = [(p + d, q - d) for p, q in exact for d in (-BESIDE, BESIDE)]
        even = 1 / (1 + np.exp(-np.linspace(-SPAN, SPAN, POINTS)))
        plain = [(p, 1 - p) for p in (0.0, *even.tolist(), 1.0) if all(abs(p - b) > 2 * BESIDE for b, _ in exact)]
        pairs = np.array(sorted({p: (p, q) for p, q in [*plain, *beside, *exact]}.values()))
        at = np.searchsorted(pairs[:, 0], [p for p, _ in sorted(exact)])
        return cls(pairs[:, 0], pairs[:, 1], tuple(dict.fromkeys(at.tolist())))


def _partner(b: float, breaks: Iterable[float]) -> float:
    return next((c for c in breaks if abs(1 - b - c) < BESIDE), 1 - b)


@dataclass(frozen=True, eq=False)
class Outline:
    """A curve on a grid.

    Attributes
    ----------
    prior, value
        Points of the curve, shape (n,).
    jumps
        From left to right.
    """

    prior: Real
    value: Real
    jumps: tuple[Jump, ...] = ()

    @classmethod
    def on(cls, grid: Grid, value: Real) -> Outline:
        """The curve with these values on the grid; its jumps are found beside the breaks."""
        beside = [Jump(*(float(x) for x in (grid.prior[i], value[i - 1], value[i], value[i + 1]))) for i in grid.breaks]
        jumps = (j for j in beside if max(abs(j.left - j.here), abs(j.right - j.here)) > SAME)
        return cls(grid.prior, value, tuple(jumps))

    def pieces(self) -> tuple[Real, Real]:
        """Points to draw as lines, with a gap (not a number) at each jump."""
        cuts = []
        for jump in self.jumps:
            i = int(np.searchsorted(self.prior, jump.at))
            cuts += [i] if abs(jump.left - jump.here) > SAME else []
            cuts += [i + 1] if abs(jump.right - jump.here) > SAME else []
        return np.insert(self.prior, cuts, np.nan), np.insert(self.value, cuts, np.nan)

    def ends(self) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
        """Points at the jumps where the curve holds its value, and points that it only approaches."""
        held = [(jump.at, jump.here) for jump in self.jumps]
        sides = [(jump.at, value, jump.here) for jump in self.jumps for value in (jump.left, jump.right)]
        return held, [(at, value) for at, value, here in sides if abs(value - here) > SAME]


@dataclass(frozen=True, eq=False)
class Region:
    """The breach region of a demand: what lies above ``upper`` and below ``lower``.

    >>> region = Region.of(Demand.from_rho("0.1", "0.5"))
    >>> [(jump.at, jump.left, jump.here) for jump in region.upper.jumps]   # below 10 %, more than 50 % is a breach
    [(0.1, 0.5, 1.0)]
    """

    lower: Outline
    upper: Outline

    @classmethod
    def of(cls, demand: Demand) -> Region:
        """As the demand states it."""
        grid = Grid.around(demand.breaks)
        return cls(Outline.on(grid, demand.lower(grid.prior)), Outline.on(grid, demand.upper(grid.prior)))

    @classmethod
    def canonical(cls, demand: Demand) -> Region:
        """With both halves of the demand said in both directions; no design can meet one without the other.

            h(p) = min(h_u(p), 1 - h_l(1 - p)),    h~(p) = 1 - h(1 - p)

        Source: [ChaiNayak2018, Lemma 3.1, Definition 3.1].
        """
        grid = Grid.around(demand.breaks)
        lower, upper = _canonical(demand.lower, demand.upper, grid)
        return cls(Outline.on(grid, lower), Outline.on(grid, upper))

    @classmethod
    def at_parity(cls, gamma: Parity, *, like: Region | None = None) -> Region:
        """Of every design of that parity, on the grid of another region."""
        prior = like.upper.prior if like else Grid.around().prior
        curves = (Boundary(gamma, upward=upward).values(prior) for upward in (False, True))
        return cls(*(Outline(prior, value) for value in curves))

    @property
    def is_empty(self) -> bool:
        """Whether nothing lies outside, but for beliefs that are certain already."""
        return bool((self.upper.value[1:-1] >= 1).all() and (self.lower.value[1:-1] <= 0).all())

    def is_as(self, other: Region) -> bool:
        """Whether two regions on the same grid are the same."""
        pairs = ((self.lower, other.lower), (self.upper, other.upper))
        return all(np.allclose(a.value, b.value, rtol=0, atol=SAME) for a, b in pairs)


def _canonical(lower: Callable[[Real], Real], upper: Callable[[Real], Real], grid: Grid) -> tuple[Real, Real]:
    high = np.minimum(upper(grid.prior), 1 - lower(grid.mirror))
    low = np.maximum(lower(grid.prior), 1 - upper(grid.mirror))
    return low, high
