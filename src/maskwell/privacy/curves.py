"""Curves h_l and h_u of a privacy demand, from h_l(p) to h_u(p) for every prior p, and the parity that they allow.

A demand is met exactly when parity does not exceed

    B = min(B_u, B_l),   B_u = inf odds(h_u(p)) / odds(p),   B_l = inf odds(p) / odds(h_l(p)),   0 < p < 1

where odds(x) = x / (1 - x). :class:`Steps` find their part of B exactly, :class:`Lines` exactly at the corners and
within 1e-15, never above, inside a piece; :mod:`.smooth_curves` has a certain lower bound for other functions.

Source: [ChaiNayak2018, Definitions 2.2 and 3.1, Lemma 3.1, Theorem 3.1]; the split into B_u and B_l is derived from it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from maskwell.core.arguments import Flag, Real, as_list, check_kind, list_of, pairs_of
from maskwell.core.exact import (
    Number,
    Parity,
    as_fraction,
    as_given,
    is_decimal,
    root_below,
    to_decimal,
    to_float,
    to_text,
)
from maskwell.errors import ParameterError

ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class Bound:
    """The parity that a curve allows."""

    lower: Parity  # lower, upper: it lies between them; decisions use ``lower``. Equal when it is exact
    upper: Parity
    attained: bool  # whether the infimum is reached at some prior, and not only approached
    certified: bool = True  # false when nothing but samples speaks for ``lower``
    notes: tuple[str, ...] = ()  # what a reader must know about it

    @classmethod
    def exactly(cls, value: Parity, *, attained: bool) -> Bound:
        """A bound that is known exactly."""
        return cls(value, value, attained)


NO_DEMAND = Bound.exactly(math.inf, attained=False)


class Curve(Protocol):
    """What a demand asks of one of its curves."""

    @property
    def breaks(self) -> tuple[float, ...]:
        """Where it jumps or bends: nowhere, unless a kind of curve says so."""
        return ()

    @property
    def decimals(self) -> bool:
        """Whether it was given as decimals or floats; a function is not: its bound is a certain one already."""
        return False

    def values(self, p: Real) -> Real:
        """The curve at priors p, shape (n,)."""

    def bound(self, *, upper: bool) -> Bound:
        """B_u if this is the upper curve of a demand, else B_l; raises if it crosses the diagonal."""

    def to_json(self) -> dict[str, Any] | None:
        """The curve as exact text, or None when only a program knows it."""


def odds_ratio(high: Fraction, low: Fraction) -> Parity:
    """``odds(high) / odds(low)``; infinite where high is 1 or low is 0."""
    if high == 1 or low == 0:
        return math.inf
    return high * (1 - low) / (low * (1 - high)) if low < 1 else ZERO


def least(bounds: Sequence[Bound]) -> Bound:
    """The bound that counts when all must hold."""
    lower, upper = min(b.lower for b in bounds), min(b.upper for b in bounds)
    attained = upper != math.inf and any(b.attained for b in bounds if b.upper == upper or b.lower == lower)
    notes = tuple(dict.fromkeys(note for b in bounds for note in b.notes))
    return Bound(lower, upper, attained, all(b.certified for b in bounds), notes)


def side(*, upper: bool) -> str:
    """The name of a curve in messages."""
    return "upper" if upper else "lower"


def crossing(what: str, *, upper: bool) -> ParameterError:
    """The error for a curve on the wrong side of the diagonal."""
    rule = "an upper curve is never below the prior" if upper else "a lower curve is never above the prior"
    return ParameterError("the-curve-crosses-the-diagonal", hint=rule, side=side(upper=upper), what=what)


@dataclass(frozen=True)
class Boundary(Curve):
    """``odds(h(p)) = gamma odds(p)`` upwards, ``odds(p) / gamma`` downwards. Source: [ChaiNayak2018, eq. (3.5)]."""

    gamma: Parity
    upward: bool

    def values(self, p: Real) -> Real:
        """At priors p; 0 and 1 stay where they are, for gamma infinite too."""
        gamma = to_float(self.gamma)
        if math.isinf(gamma):
            return np.where(p > 0, 1.0, 0.0) if self.upward else np.where(p < 1, 0.0, 1.0)
        return np.asarray(gamma * p / (1 - p + gamma * p) if self.upward else p / (p + gamma * (1 - p)))

    def bound(self, *, upper: bool) -> Bound:
        """Gamma, at every prior."""
        if upper != self.upward and self.gamma != 1:
            raise crossing(f"gamma = {to_text(self.gamma)} the other way round", upper=upper)
        return Bound.exactly(self.gamma, attained=not isinstance(self.gamma, float))

    def to_json(self) -> dict[str, Any] | None:
        """Gamma."""
        return {"boundary": to_text(self.gamma)}


@dataclass(frozen=True)
class Steps(Curve):
    """A step function on [0, 1], in fractions: it jumps at the rising ``edges`` strictly between 0 and 1.

    Attributes
    ----------
    heights
        One value for each piece, one more than edges, never falling.
    closed_right
        For each edge, whether the value on its left holds at the edge itself.
    points
        Pairs (p, value) held at single priors only.

    >>> steps = Steps.of(["0.2", "0.5"], ["0.4", "0.8", 1], closed_right=[False, True])
    >>> steps.bound(upper=True).lower, steps.bound(upper=True).attained
    (Fraction(8, 3), False)
    """

    edges: tuple[Fraction, ...]
    heights: tuple[Fraction, ...]
    closed_right: tuple[bool, ...]
    points: tuple[tuple[Fraction, Fraction], ...] = ()

    @classmethod
    def of(
        cls,
        edges: Sequence[Number],
        heights: Sequence[Number],
        *,
        closed_right: Sequence[bool] | None = None,
        points: Sequence[tuple[Number, Number]] = (),
    ) -> Steps:
        """Checked; by default each value holds from its left edge up to, and without, the right one."""
        at = tuple(_read(edge, "edge") for edge in as_list(edges, "edges"))
        values = tuple(_read(height, "value") for height in as_list(heights, "heights"))
        single = tuple((_read(p, "p"), _read(v, "value")) for p, v in pairs_of(points, "points"))
        closed = tuple(list_of(Flag, closed_right, "closed_right")) if closed_right is not None else (False,) * len(at)
        if len(values) != len(at) + 1 or len(closed) != len(at):
            raise ParameterError(
                "values-and-closed-ends-for-edges", values_count=len(values), closed_count=len(closed), at_count=len(at)
            )
        _check_rising([ZERO, *at, ONE], "edges", strictly=True)
        _check_rising(values, "values of a step curve", strictly=False)
        _check_shares([*values, *(x for pair in single for x in pair)])
        return cls(at, values, closed, single)

    @property
    def decimals(self) -> bool:
        """Whether any of its numbers was."""
        return any(map(is_decimal, (*self.edges, *self.heights, *(x for pair in self.points for x in pair))))

    @property
    def breaks(self) -> tuple[float, ...]:
        """Edges and single priors."""
        return tuple(sorted({float(p) for p in (*self.edges, *(p for p, _ in self.points))}))

    def values(self, p: Real) -> Real:
        """At priors p."""
        edges = np.array([float(e) for e in self.edges])
        piece = np.searchsorted(edges, p, side="right")
        for i, edge in enumerate(edges):
            piece[p == edge] = i if self.closed_right[i] else i + 1
        heights = np.array([float(v) for v in self.heights])[piece]
        for at, value in self.points:
            heights[p == float(at)] = float(value)
        return np.asarray(heights)

    def bound(self, *, upper: bool) -> Bound:
        """Least over the pieces: odds(value) / odds(right end), or odds(left end) / odds(value)."""
        check_kind(Flag, upper=upper)
        ends = [ZERO, *self.edges, ONE]
        bounds = []
        for i, value in enumerate(self.heights):
            left, right = ends[i], ends[i + 1]
            if (value < right) if upper else (value > left):
                what = f"it is {to_decimal(value)} for priors from {to_decimal(left)} to {to_decimal(right)}"
                raise crossing(what, upper=upper)
            if upper:
                attained = i < len(self.edges) and self.closed_right[i]
                bounds.append(Bound.exactly(odds_ratio(value, right), attained=attained))
            else:
                attained = i > 0 and not self.closed_right[i - 1]
                bounds.append(Bound.exactly(odds_ratio(left, value), attained=attained))
        return least([*bounds, *self._single(upper=upper)])

    def _single(self, *, upper: bool) -> list[Bound]:
        for p, value in self.points:
            if (value < p) if upper else (value > p):
                raise crossing(f"it is {to_decimal(value)} at the prior {to_decimal(p)}", upper=upper)
        return [
            Bound.exactly(odds_ratio(v, p) if upper else odds_ratio(p, v), attained=True)
            for p, v in self.points
            if 0 < p < 1
        ]

    def to_json(self) -> dict[str, Any] | None:
        """Edges and values as exact text."""
        content: dict[str, Any] = {
            "edges": [to_text(e) for e in self.edges],
            "values": [to_text(v) for v in self.heights],
        }
        if any(self.closed_right):
            content["closed_right"] = list(self.closed_right)
        if self.points:
            content["points"] = [[to_text(p), to_text(v)] for p, v in self.points]
        return {"steps": content}


@dataclass(frozen=True)
class Lines(Curve):
    """A curve of straight lines between corners (p, value), from p = 0 to p = 1.

    >>> Lines.of([(0, 0), ("1/4", 1), (1, 1)]).bound(upper=True).lower   # the upper curve of beta = 4
    Fraction(4, 1)
    """

    corners: tuple[tuple[Fraction, Fraction], ...]

    @classmethod
    def of(cls, corners: Sequence[tuple[Number, Number]]) -> Lines:
        """Checked: priors rise from 0 to 1, values do not fall."""
        read = tuple((_read(p, "p"), _read(v, "value")) for p, v in pairs_of(corners, "corners"))
        _check_rising([p for p, _ in read], "priors", strictly=True)
        _check_rising([v for _, v in read], "values of a curve", strictly=False)
        _check_shares([v for _, v in read])
        if len(read) < 2 or read[0][0] != 0 or read[-1][0] != 1:
            raise ParameterError("the-corners-do-not-reach")
        return cls(read)

    @property
    def decimals(self) -> bool:
        """Whether any of its numbers was."""
        return any(is_decimal(x) for corner in self.corners for x in corner)

    @property
    def breaks(self) -> tuple[float, ...]:
        """The corners inside."""
        return tuple(float(p) for p, _ in self.corners[1:-1])

    def values(self, p: Real) -> Real:
        """At priors p."""
        at, values = zip(*self.corners, strict=True)
        return np.interp(p, [float(x) for x in at], [float(v) for v in values])

    def bound(self, *, upper: bool) -> Bound:
        """Least over corners, ends, and where the ratio of odds is flat inside a line."""
        check_kind(Flag, upper=upper)
        for p, value in self.corners:
            if (value < p) if upper else (value > p):
                raise crossing(f"it is {to_decimal(value)} at the prior {to_decimal(p)}", upper=upper)
        if not upper:  # turned by half a turn, a lower curve is an upper one with the same ratios of odds
            return Lines(tuple((1 - p, 1 - v) for p, v in reversed(self.corners))).bound(upper=True)
        inner = [Bound.exactly(odds_ratio(v, p), attained=True) for p, v in self.corners if 0 < p < 1]
        pieces = [_line_bounds(*pair) for pair in pairwise(self.corners)]
        return least([*inner, *(bound for piece in pieces for bound in piece)])

    def to_json(self) -> dict[str, Any] | None:
        """Corners as exact text."""
        return {"lines": [[to_text(p), to_text(v)] for p, v in self.corners]}


def _line_bounds(start: tuple[Fraction, Fraction], end: tuple[Fraction, Fraction]) -> list[Bound]:
    """Candidates for ``inf odds(h) / odds(p)`` on ``h = c + d p``: d if h(0) = 0, 1 / d if h(1) = 1."""
    (p0, v0), (p1, v1) = start, end
    slope = (v1 - v0) / (p1 - p0)
    base = v0 - slope * p0
    bounds = []
    if p0 == 0:
        bounds.append(Bound.exactly(slope if v0 == 0 else math.inf, attained=v0 == 0 and slope == 1))
    if p1 == 1:
        bounds.append(Bound.exactly(1 / slope if v1 == 1 and slope else math.inf, attained=False))
    falls, rises = (slope * p * (1 - p) - v * (1 - v) for p, v in (start, end))
    return [*bounds, _touched(base, slope)] if falls < 0 < rises else bounds


def _touched(c: Fraction, d: Fraction) -> Bound:
    """The least ratio of odds on a line where it falls at first and rises at last: the boundary curve that it touches.

        B = 1 + (c d + e + 2 sqrt(c d e)) / (1 - c)^2,   e = c + d - 1

    The ratio falls where ``d p (1 - p) < h (1 - h)``. That it falls and then rises takes c, d and e above 0.
    """
    e = c + d - 1
    square = c * d * e
    whole = Fraction(square.numerator * square.denominator)
    root = root_below(whole, 2, 64)
    roots = root, root if root * root == whole else root + Fraction(1, 2**64)
    low, high = (1 + (c * d + e + 2 * r / square.denominator) / (1 - c) ** 2 for r in roots)
    return Bound(low, high, attained=True)


def _read(value: Number, name: str) -> Fraction:
    """The fraction, which remembers whether it was given as a decimal."""
    return as_given(as_fraction(value, name), value)


def _check_rising(values: Sequence[Fraction], what: str, *, strictly: bool) -> None:
    for before, after in pairwise(values):
        if after < before or (strictly and after == before):
            must = "rise" if strictly else "not fall"
            raise ParameterError(
                "the-must-comes-after", what=what, must=must, after=to_decimal(after), before=to_decimal(before)
            )


def _check_shares(values: Sequence[Fraction]) -> None:
    for value in values:
        if not 0 <= value <= 1:
            raise ParameterError("value-is-not-a-probability", value=to_decimal(value))
