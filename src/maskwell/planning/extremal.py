"""Extremal designs: the most useful report of parity gamma when the true shares are thought to be known.

    maximise  sum_S theta_S mu(v_S)   subject to  sum_S theta_S v_S = 1,  theta >= 0

is solved in floats, of which only the multipliers are read: they show of which sets the best designs are made. The
corner of these with the smallest mean of fixed numbers (:func:`set_numbers`) is taken, computed in integers, whatever
the solver found; of four lists of such numbers, the first corner with most sets. The rest: docs/theory/best-designs.md.

Source: after [Kairouz2016], as given in [ChaiNayak2018, section 4.2]; averaging is derived.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations, count
from typing import Any, TypeAlias

import numpy as np

from maskwell.core.arguments import Array, Flag, Real, check_kind, shown_short
from maskwell.core.categories import Categories
from maskwell.core.display import Inside, Result, entries
from maskwell.core.exact import Number, common_denominator, to_float, to_text
from maskwell.core.phrases import Printed
from maskwell.designs.design import Design, check_two
from maskwell.designs.patterns import Patterns
from maskwell.designs.subset import Subset
from maskwell.designs.uniform import Uniform
from maskwell.errors import ParameterError, TooLargeError
from maskwell.planning.set_sizes import gamma_of, short_gamma
from maskwell.privacy.criteria import Demand
from maskwell.procedures.design_builders import check_shares, numbered

Utility: TypeAlias = Callable[[Real, Real], Real]
"""From rows, shape (r, k), and shares, shape (k,), to the worth of each row, shape (r,)."""


def mutual_information(rows: Real, pi: Real) -> Real:
    """``sum_j pi_j v_j ln(v_j / m)`` for each row v, with ``m = sum_j pi_j v_j``: in nats."""
    mean = rows @ pi
    return np.asarray((rows * np.log(rows / mean[:, None])) @ pi)


def chi_square(rows: Real, pi: Real) -> Real:
    """``sum_j pi_j (v_j - m)^2 / m`` for each row v."""
    mean = rows @ pi
    return np.asarray(((rows - mean[:, None]) ** 2 @ pi) / mean)


def total_variation(rows: Real, pi: Real) -> Real:
    """``sum_j pi_j |v_j - m|`` for each row v."""
    return np.asarray(np.abs(rows - (rows @ pi)[:, None]) @ pi)


def guess(rows: Real, pi: Real) -> Real:
    """``max_j pi_j v_j`` for each row v."""
    return np.asarray((rows * pi).max(axis=1))


UTILITIES: dict[str, Utility] = {
    "mutual-information": mutual_information,
    "chi-square": chi_square,
    "total-variation": total_variation,
    "guess": guess,
}


LIMIT = 14  # categories of the largest linear program: 2^14 - 2 sets
TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_LARGEST_GAMMA = 10**100
NOTHING = 1e-9  # sets that fall short of the best by less than this part of the range of gains count as best
_CORNERS, _STEPS = 4, 1000
_MIXING = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)

Weights = dict[int, Fraction]


@dataclass(frozen=True, eq=False, repr=False)
class Extremal(Result):
    """The most useful design for assumed shares.

    >>> extremal = extremal_design(["1/4"] * 4, 2)
    >>> extremal.rank, round(extremal.value, 7)   # two reports cannot identify four shares
    (2, 0.056633)
    >>> better = extremal_design(["1/4"] * 4, 2, average=True)
    >>> better.rank, round(better.value, 7), better.design
    (4, 0.056633, Subset(k=4, m=6, parity=2))
    """

    design: Design  # the exact design: uniform or subset selection where it is one of these, else a list of sets
    gamma: Fraction  # its parity
    pi: tuple[Fraction, ...]  # the shares that were assumed
    utility: str  # utility, value: what was maximised, and what the design reaches
    value: float
    # no design of this parity reaches more, up to the rounding of floats: from the dual of the linear program
    bound: float
    averaged: bool  # whether it is the mean over all designs that symmetry makes equal

    identifiable = Inside[bool]("design.identifiable", "Whether the true shares can be estimated from its reports.")

    @property
    def rank(self) -> int:
        """The rank of its matrix: k where shares can be estimated."""
        return self.design.rank()

    @property
    def may_be_averaged(self) -> bool:
        """Whether there are designs that symmetry makes equal to it, and it is not their mean already."""
        return not self.averaged and len(set(self.pi)) < len(self.pi)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        return {
            **entries(self, "utility value bound"),
            "pi": list(map(to_text, self.pi)),
            "gamma": to_float(self.gamma),
            **entries(self, "rank identifiable averaged"),
        }

    def __repr__(self) -> str:
        value = f"{self.utility} = {Printed(self.value):.6g}"
        return f"Extremal({value}, rank {self.rank} of {self.design.k}, {self.design!r})"


def extremal_design(
    pi: Iterable[Number],
    demand: Demand | Number,
    categories: Categories | None = None,
    *,
    utility: str = "mutual-information",
    average: bool = False,
) -> Extremal:
    """The most useful design for shares pi and a demand, or a number gamma; over labels 0, 1, 2, ... by default.

    Parameters
    ----------
    pi
        The k shares that are assumed.
    utility
        One of the names of :mod:`maskwell.planning.extremal`.
    average
        Mix all designs that are equal to it by exchanging categories of equal share. The utility stays, and the shares
        of such categories can be identified.

    Raises
    ------
    TooLargeError
        More than 14 categories.

    >>> extremal_design(["0.5", "0.3", "0.2"], 3).design
    Uniform(k=3, m=3, parity=3)
    """
    check_kind(Flag, average=average)
    check_kind(Categories | None, categories=categories)
    if str(utility) not in UTILITIES:
        raise ParameterError(
            "no-utility-is-called", name=shown_short(utility), utilities=", ".join(UTILITIES), utility=utility
        )
    shares = tuple(check_shares(numbered(pi, "pi"))[0])
    k = len(shares)
    if k < 2:
        raise ParameterError("pi-has-share", k=k)
    if k > LIMIT:
        raise TooLargeError("categories-give-2-2-sets", limit=LIMIT, k=k)
    gamma = short_gamma(gamma_of(demand))
    if gamma > _LARGEST_GAMMA:
        raise ParameterError("demand-allows-too-large-a-gamma")
    categories = Categories.numbered(k) if categories is None else categories
    check_two(categories)
    if len(categories) != k:
        raise ParameterError("shares-for-categories", categories_count=len(categories), k=k)
    floats = np.array([float(p) for p in shares])
    program = _Program.of(k, float(gamma))
    worths = UTILITIES[str(utility)](program.patterns, floats)
    sets, bound = program.solve(worths)
    weights = _corner_weights(sets, k)
    weights = _averaged(weights, shares) if average else weights
    total = sum(weights.values()) + gamma - 1
    value = sum(to_float(weight / total) * float(worths[mask - 1]) for mask, weight in weights.items())
    made = _with_assumption(_design(weights, gamma, categories), demand, shares, utility, average=average)
    return Extremal(made, gamma, shares, utility, value, bound, average)


@dataclass(frozen=True, eq=False)
class _Program:
    """The patterns of all sets and their means, shapes (2^k - 2, k) and (2^k - 2,)."""

    patterns: Real
    means: Real

    @classmethod
    def of(cls, k: int, gamma: float) -> _Program:
        masks = np.arange(1, 2**k - 1)
        patterns = np.asarray(1 + (gamma - 1) * (masks[:, None] >> np.arange(k) & 1), dtype=np.float64)
        return cls(patterns, patterns.mean(axis=1))

    def solve(self, worth: Real) -> tuple[list[int], float]:
        """The sets that best designs are made of, and what no design can exceed.

        Weights as shares ``x_S = theta_S mean(v_S)`` of all reports keep the numbers near one when gamma is not.
        Multipliers y and w that fall short by at most s on every pattern prove that no gain exceeds ``w + s``.
        """
        from scipy.optimize import linprog

        gain = worth / self.means
        low, spread = float(gain.min()), float(np.ptp(gain)) or 1.0
        apart = (self.patterns / self.means[:, None] - 1)[:, :-1]
        equations = np.column_stack([apart / np.abs(apart).max(), np.ones(len(gain))])
        right = np.append(np.zeros(apart.shape[1]), 1.0)
        scaled = (gain - low) / spread
        solution = linprog(-scaled, A_eq=equations.T, b_eq=right, bounds=(0, None), method="highs-ds", options=TIGHT)
        y = -solution.eqlin.marginals
        lacking = equations @ y - scaled
        short = max(0.0, -float(lacking.min()))
        best = (np.flatnonzero(lacking < NOTHING) + 1).tolist()
        return best, low + spread * (float(y[-1]) + short)


def _corner_weights(sets: Sequence[int], k: int) -> Weights:
    """Weights w with ``sum_S w_S [j in S] = 1`` for every category j at one corner; heavy sets first."""
    table = Tableau.of(np.array([[mask >> j & 1 for mask in sets] for j in range(k)], dtype=np.int64))
    table.improve(lambda: table.rows[np.array(table.basis) >= table.columns, : table.columns].sum(axis=0))
    if table.missing:
        raise ArithmeticError("the best sets make no design: please report these shares")
    found: Weights = {}
    for number in range(_CORNERS):
        table.improve(partial(table.gains, set_numbers(sets, number)))
        weights = {sets[at]: weight for at, weight in table.weights().items()}
        found = weights if len(weights) > len(found) else found
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def set_numbers(sets: Sequence[int], number: int) -> Array:
    """A fixed number below 2**32 for each set, without any order: bits of the set and of ``number``, well mixed."""
    x = np.asarray(sets, dtype=np.uint64) + np.uint64(number << 32)
    for times in _MIXING:
        x = (x ^ (x >> np.uint64(30))) * np.uint64(times)
    return np.asarray(x >> np.uint64(32)).astype(np.int64)


class Tableau:
    """Corners of ``H w = 1, w >= 0`` in integers, by the simplex method; after many steps by Bland's rule, which ends.

    Rows are over one denominator, the last pivot (elimination without fractions); sums of minors of zeros and ones stay
    within machine words for 14 categories. Columns after those of H represent what is missing to the right side.
    """

    def __init__(self, rows: Array, basis: list[int], columns: int) -> None:
        self.rows, self.basis, self.columns, self.pivot = rows, basis, columns, 1

    @classmethod
    def of(cls, H: Array) -> Tableau:
        """With everything missing."""
        k, columns = H.shape
        rows = np.column_stack([H, np.eye(k, dtype=np.int64), np.ones(k, dtype=np.int64)])
        return cls(rows, [*range(columns, columns + k)], columns)

    @property
    def missing(self) -> bool:
        """Whether the right side is not reached."""
        return any(at >= self.columns and row[-1] for at, row in zip(self.basis, self.rows, strict=True))

    def weights(self) -> dict[int, Fraction]:
        """The positive weights by their columns."""
        exact = {at: Fraction(int(row[-1]), self.pivot) for at, row in zip(self.basis, self.rows, strict=True)}
        return {at: weight for at, weight in sorted(exact.items()) if weight}

    def improve(self, gains: Callable[[], Array]) -> None:
        """Exchange columns as long as one gains: the one that gains most, and after many steps the first."""
        for step in count():
            gain = gains()
            if not (gain > 0).any():
                return
            self._exchange(int(np.argmax(gain if step < _STEPS else gain > 0)))

    def gains(self, costs: Array) -> Array:
        """What less the columns would cost with more of each."""
        spent = np.append(costs, np.zeros(len(self.basis), dtype=np.int64))[self.basis]
        return np.asarray(spent @ self.rows[:, : self.columns] - self.pivot * costs)

    def _exchange(self, column: int) -> None:
        """Bring a column in for the one that is first used up; one that is missing nothing goes out before others."""
        entries, right = self.rows[:, column], self.rows[:, -1]
        idle = [at >= self.columns and not right[i] and entries[i] != 0 for i, at in enumerate(self.basis)]
        limits = [(Fraction(int(right[i]), int(entries[i])), self.basis[i], i) for i in np.flatnonzero(entries > 0)]
        out = idle.index(True) if any(idle) else min(limits)[2]
        row, pivot = self.rows[out].copy(), int(entries[out])
        self.rows = (pivot * self.rows - entries[:, None] * row) // self.pivot
        self.rows[out], self.pivot, self.basis[out] = row, pivot, column
        if pivot < 0:
            self.rows, self.pivot = -self.rows, -pivot


def _averaged(weights: Weights, pi: Sequence[Fraction]) -> Weights:
    """The mean over all exchanges of categories of equal share: sets that hold as many of each share weigh alike."""
    classes = [[j for j, p in enumerate(pi) if p == share] for share in dict.fromkeys(pi)]
    by_kind: dict[tuple[int, ...], Fraction] = {}
    for mask, weight in weights.items():
        kind = tuple(sum(mask >> j & 1 for j in members) for members in classes)
        by_kind[kind] = by_kind.get(kind, Fraction(0)) + weight
    return {
        mask: weight / math.prod(math.comb(len(members), n) for members, n in zip(classes, kind, strict=True))
        for kind, weight in sorted(by_kind.items(), reverse=True)
        for mask in _alike(classes, kind)
    }


def _alike(classes: Sequence[Sequence[int]], kind: Sequence[int]) -> list[int]:
    """All sets that hold so many categories of each class."""
    masks = [0]
    for members, n in zip(classes, kind, strict=True):
        masks = [mask | sum(1 << j for j in chosen) for mask in masks for chosen in combinations(members, n)]
    return masks


def _design(weights: Weights, gamma: Fraction, categories: Categories) -> Design:
    """The weights as a design: uniform for all single categories, subset selection for all sets of one size."""
    k, sizes = len(categories), {mask.bit_count() for mask in weights}
    size = min(sizes)
    if len(sizes) == len(set(weights.values())) == 1 and len(weights) == math.comb(k, size):
        if size == 1:
            return Uniform.from_gamma(gamma, categories)
        return Subset.from_gamma(gamma, categories, size=size)
    denominator = common_denominator(weights.values())
    shares = [int(weight * denominator) for weight in weights.values()]
    return Patterns.from_integers(gamma, list(weights), shares, categories)


def _with_assumption(
    design: Design, demand: Demand | Number, pi: Sequence[Fraction], utility: str, *, average: bool
) -> Design:
    assumed = ", ".join(f"{Printed(float(p)):.4g}" for p in pi)
    warning = f"optimal for the shares that were assumed, {assumed}, and not for others"
    if not design.identifiable:
        warning += f"; shares cannot be estimated from its reports: rank {design.rank()} for {design.k} categories"
        if not average and len(set(pi)) < len(pi):
            warning += " (averaged over the designs that are equal to it, it may do better)"
    parameters = {"pi": ",".join(map(to_text, pi)), **_stated(demand), "utility": utility, "average": average}
    closed = {"demand": demand.text} if isinstance(demand, Demand) and demand.closed else {}
    return design.with_provenance(family="extremal", parameters=parameters, warning=warning, **closed)


def _stated(demand: Demand | Number) -> dict[str, str]:
    """The demand as it was stated, by name."""
    if not isinstance(demand, Demand):
        return {"gamma": str(demand)}
    numbers = {name: value for name, value in demand.stated.items() if isinstance(value, str) and name != "language"}
    return numbers if demand.name != "curves" else {"demand": demand.text}
