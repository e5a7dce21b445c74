"""Improvement: from any design of bounded parity to an admissible one that keeps all its information, and has more.

Everything is done in integers, rows over one denominator N, gamma = g / h, and weights over ``N (g - h) (g + (k - 1) h)
/ h``; ``A = C P`` is checked before it is handed out. Both algorithms: docs/theory/improvement.md.

Source: [ChaiNayak2018, Theorems 4.2 and 4.3, Corollary 4.1]; the algorithm by layers is derived, L follows the proofs.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

from maskwell.core.arguments import Flag, check_kind, check_option
from maskwell.core.exact import (
    Number,
    Parity,
    common_denominator,
    is_decimal,
    parity_text,
    safe_below,
    to_float,
    to_text,
    told_apart,
)
from maskwell.core.verdicts import EXACT_SLACK
from maskwell.designs.design import EXACT_LIMIT, Design, big, too_few
from maskwell.designs.garbling import Garbling
from maskwell.designs.matrix_reading import DENSE_LIMIT
from maskwell.designs.patterns import Patterns, codes_of
from maskwell.designs.uniform import Uniform
from maskwell.errors import ParameterError, TooLargeError
from maskwell.planning.replacement import Replacement
from maskwell.privacy.criteria import verdict
from maskwell.privacy.provable_claims import why_not

Row: TypeAlias = list[int]
Logged: TypeAlias = dict[int, dict[int, int]]
"""For each set, as the bits of a number, how much of it every row of the original has."""


@dataclass(frozen=True)
class Level:
    """Gamma = g / h for k categories."""

    gamma: Fraction
    k: int

    def patterns(self, row: Row) -> Iterator[tuple[int, int]]:
        """The sets that a row of parity at most gamma is made of, and their weights."""
        g, h = self.gamma.numerator, self.gamma.denominator
        truths: dict[int, int] = defaultdict(int)
        for j, value in enumerate(row):
            truths[value] |= 1 << j
        levels, held = sorted(truths), (1 << self.k) - 1
        for low, high in pairwise(levels):
            held ^= truths[low]
            yield held, (high - low) * (g + (self.k - 1) * h)
        if flat := levels[0] * g - levels[-1] * h:
            yield from ((1 << j, flat) for j in range(self.k))

    def is_single(self, row: Row, tolerance: Fraction) -> bool:
        """Whether a row is one pattern: its values lie at both ends of what gamma allows, within the tolerance.

        That is relative to what lies between the ends, and to the end itself where that is less, as at a huge gamma.
        """
        g, h = self.gamma.numerator, self.gamma.denominator
        top = max(row)
        above, below = tolerance * top * (g - h), tolerance * top * min(g - h, h)
        return min(row) < top and all((top - x) * g <= above or x * g - top * h <= below for x in row)


def by_layers(rows: Sequence[Row], level: Level) -> Logged:
    """Algorithm D: split every row by layers, once."""
    logged: Logged = defaultdict(dict)
    for i, row in enumerate(rows):
        for held, weight in level.patterns(row) if any(row) else ():
            logged[held][i] = logged[held].get(i, 0) + weight
        if len(logged) * level.k > DENSE_LIMIT:
            most = {"dense_limit_with_k": DENSE_LIMIT // level.k, "dense_limit": DENSE_LIMIT}
            raise TooLargeError("more-than-different-sets-of-categories", k=level.k, **most)
    return logged


@dataclass
class _Generators:
    """Directions b_r with the original rows as their sums: ``row i = sum_r parts[r][i] b_r``."""

    directions: list[Row]
    parts: list[dict[int, Fraction]]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> _Generators:
        """Without zero rows, and with proportional rows as one direction."""
        directions: dict[tuple[int, ...], dict[int, Fraction]] = {}
        for i, row in enumerate(rows):
            if any(row):
                common = math.gcd(*row)
                directions.setdefault(tuple(x // common for x in row), {})[i] = Fraction(common)
        return cls([list(direction) for direction in directions], list(directions.values()))

    def move(self, source: int, target: int, share: Fraction) -> None:
        """Give every row that has some of one direction the share of another."""
        for i, amount in self.parts[source].items():
            self.parts[target][i] = self.parts[target].get(i, Fraction(0)) + amount * share

    def without_constant(self) -> None:
        """Lemma 4.3: the others sum to a constant themselves, so that they can make the constant one."""
        at = next((r for r, b in enumerate(self.directions) if min(b) == max(b)), None)
        if at is None or len(self.directions) == 1:
            return
        weights = [sum(part.values(), Fraction(0)) for part in self.parts]
        rest = sum((w * b[0] for w, b in zip(weights, self.directions, strict=True)), Fraction(0)) - weights[at]
        for r, weight in enumerate(weights):
            if r != at:
                self.move(at, r, weight / rest)
        del self.directions[at], self.parts[at]

    def sharpen(self, i: int, gamma: Fraction) -> None:
        """Lemma 4.2: take as much of a donor out of direction i as brings its parity to gamma."""
        row = self.directions[i]
        high, low = row.index(max(row)), row.index(min(row))
        others = (r for r in range(len(self.directions)) if r != i)
        donor = min(others, key=lambda r: Fraction(self.directions[r][high], self.directions[r][low]))
        # min (gamma a_v - a_u) / (gamma b_v - b_u) over u, v with a positive denominator
        g, h = gamma.numerator, gamma.denominator
        both = list(zip(row, self.directions[donor], strict=True))
        pairs = ((g * a - h * c, g * b - h * d) for a, b in both for c, d in both)
        taken = min(Fraction(top, bottom) for top, bottom in pairs if bottom > 0)
        p, q = taken.numerator, taken.denominator
        left = [q * x - p * y for x, y in zip(row, self.directions[donor], strict=True)]
        common = math.gcd(*left)
        self.move(i, donor, taken)
        self.directions[i] = [x // common for x in left]
        self.parts[i] = {at: amount * Fraction(common, q) for at, amount in self.parts[i].items()}


def by_lemmas(rows: Sequence[Row], level: Level) -> Logged:
    """Algorithm L: bring every row to parity gamma by the lemmas of the source, then split it by layers."""
    made = _Generators.of(rows)
    made.without_constant()
    for i, row in enumerate(made.directions):
        if 1 < Fraction(max(row), min(row)) < level.gamma:
            made.sharpen(i, level.gamma)
    shared: dict[int, dict[int, Fraction]] = defaultdict(dict)
    for row, part in zip(made.directions, made.parts, strict=True):
        for held, weight in level.patterns(row):
            for i, amount in part.items():
                shared[held][i] = shared[held].get(i, Fraction(0)) + amount * weight
    denominator = common_denominator(amount for part in shared.values() for amount in part.values())
    return {held: {i: int(amount * denominator) for i, amount in part.items()} for held, part in shared.items()}


ALGORITHMS: dict[str, Callable[[Sequence[Row], Level], Logged]] = {"layers": by_layers, "lemmas": by_lemmas}


ROUNDING = EXACT_SLACK
"""How far, relative to themselves and to what gamma allows, decimals may lie from values of an admissible design."""

READABLE = 20  # characters of a gamma that is shown as it was typed


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Improvement(Replacement):
    """An admissible design that keeps all information of the original, with the proof; example: ``mw.improve``."""

    gamma: Parity  # the bound on parity; the parity of ``design``, unless nothing had to be done
    method: str  # "layers" or "lemmas"
    # whether the original meets the gamma that was asked for only within the slack for decimals
    # (:mod:`maskwell.privacy.criteria`)
    slack_used: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        asked = {"method": self.method, "gamma": to_float(self.gamma), "gamma_exact": to_text(self.gamma)}
        return {**asked, "slack_used": self.slack_used, **super().to_dict()}

    def __repr__(self) -> str:
        if not self.improved:
            return f"Improvement(nothing to gain at gamma {parity_text(self.gamma)}: {self.design!r})"
        return f"Improvement({self.original!r} -> {self.design!r})"


def improve(
    design: Design,
    *,
    gamma: Number | None = None,
    split: str = "layers",
    exactly: bool = False,
    allow_identity: bool = False,
) -> Improvement:
    """An admissible design of parity gamma that keeps all information; arguments as in :func:`maskwell.improve`.

    Where a design given as decimals meets gamma only within slack (:mod:`maskwell.privacy.criteria`), its own parity
    takes the place of gamma. Source: [ChaiNayak2018, Lemmas 4.2 to 4.4, Theorem 4.3].
    """
    check_kind(Flag, exactly=exactly, allow_identity=allow_identity)
    check_kind(Design, design=design)
    check_option("split", split, ALGORITHMS)
    if design.k < 2:
        raise too_few(design.k)
    bound = _bound(design, gamma, allow_identity=allow_identity)
    if isinstance(bound, float):
        return _revealed(design, split)
    improvement = _at(design, bound, split, exactly=exactly)
    return replace(improvement, slack_used=gamma is not None and safe_below(gamma, "gamma") < design.parity_exact())


def _at(design: Design, bound: Fraction, method: str, *, exactly: bool) -> Improvement:
    level, nothing = Level(bound, design.k), _unchanged(design, bound, method)
    tolerance = ROUNDING if design.rounded and not exactly else Fraction(0)
    if bound - design.parity_exact() <= tolerance * (bound - 1) and why_not(design) is None:
        return nothing
    rows, denominator = _integer_rows(design)
    if tolerance and all(level.is_single(row, tolerance) for row in rows if any(row)):
        return nothing
    made, sparse = _assembled(ALGORITHMS[method](rows, level), design, level)
    _check_proof(rows, denominator, made, sparse)
    single = made.masks == tuple(1 << j for j in range(made.k))
    better = (Uniform.from_gamma(made.gamma, made.inputs) if single else made).noting_decimals(design)
    asked = {"gamma": to_text(bound), "method": method}
    better = better.with_provenance(family="improved", parameters=asked, original=design.fingerprint)
    return Improvement(original=design, design=better, improved=True, sparse=sparse, gamma=bound, method=method)


def _bound(design: Design, gamma: Number | None, *, allow_identity: bool) -> Parity:
    parity = design.parity_exact()
    bound = parity if gamma is None else math.inf if gamma == math.inf else safe_below(gamma, "gamma")
    if bound == math.inf:
        if allow_identity:
            return math.inf
        raise ParameterError("the-design-has-no-bound" if parity == math.inf else "gamma-inf", parity=parity)
    asked = verdict(parity, bound, decimals=design.decimals or is_decimal(gamma))
    if not asked.meets:
        least, most = told_apart(parity, bound)
        typed = str(gamma)
        raise ParameterError(
            "the-design-has-parity-above-gamma",
            least=least,
            typed=typed if len(typed) <= READABLE else most,
            parity=parity,
            gamma=gamma,
        )
    if bound <= 1:
        raise ParameterError("the-design-tells-nothing-about" if gamma is None else "gamma-is-not-above-1", gamma=gamma)
    return max(bound, parity)


def _integer_rows(design: Design) -> tuple[list[Row], int]:
    """The matrix as integers over one denominator."""
    if not design.has_entries_up_to(EXACT_LIMIT):
        raise TooLargeError(
            "the-matrix-of-this-design-has",
            kind=design.kind,
            reports_in_words=design.reports_in_words(),
            k=big(design.k),
            exact_limit=EXACT_LIMIT,
            design=design,
        )
    rows = design.exact_matrix()
    denominator = common_denominator(p for row in rows for p in row)
    return [[p.numerator * (denominator // p.denominator) for p in row] for row in rows], denominator


def _assembled(logged: Logged, original: Design, level: Level) -> tuple[Patterns, Garbling]:
    """The design of all sets, small ones first, and the garbling that goes back."""
    masks = sorted(logged, key=lambda held: (held.bit_count(), codes_of(held)))
    shares = [sum(logged[held].values()) for held in masks]
    design = Patterns.from_integers(level.gamma, masks, shares, original.inputs)
    return design, Garbling.of(original.m, (logged[held] for held in masks))


def _check_proof(rows: Sequence[Row], denominator: int, made: Patterns, sparse: Garbling) -> None:
    """Raise unless ``A = C P`` exactly; in integers, row by row and set by set.

    With ``shares`` in the ratio of the column sums of the garbling, C P has the entries
    ``sum_u n_iu (inside or outside) / (ratio total)``.
    """
    sums = [sum(n for _, n in column) for column in sparse.columns]
    ratio, rest = divmod(sums[0], made.shares[0])
    even = not rest and all(total == ratio * share for total, share in zip(sums, made.shares, strict=True))
    product = [[0] * made.k for _ in rows]
    for held, column in zip(made.masks, sparse.columns, strict=True):
        for i, n in column:
            row, low, high = product[i], n * made.outside, n * made.inside
            for j in range(made.k):
                row[j] += high if held >> j & 1 else low
    scale = ratio * made.total
    goals = ([x * scale for x in row] for row in rows)
    if not even or any([x * denominator for x in row] != goal for row, goal in zip(product, goals, strict=True)):
        raise ArithmeticError("the improved design does not give the original back: please report this matrix")


def _unchanged(design: Design, bound: Parity, method: str) -> Improvement:
    return Improvement(original=design, design=design, improved=False, sparse=None, gamma=bound, method=method)


def _revealed(design: Design, method: str) -> Improvement:
    """Without a bound: the truth itself, and the original as the garbling."""
    if design.parity_exact() == math.inf and why_not(design) is None:
        return _unchanged(design, math.inf, method)
    rows, _ = _integer_rows(design)
    columns = ({i: row[j] for i, row in enumerate(rows) if row[j]} for j in range(design.k))
    truth = Uniform.of(1, design.inputs).with_provenance(family="improved", original=design.fingerprint)
    sparse = Garbling.of(design.m, columns)
    return Improvement(original=design, design=truth, improved=True, sparse=sparse, gamma=math.inf, method=method)
