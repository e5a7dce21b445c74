"""Rows of P that are alike, in exact numbers: proportional rows are added up, sets of one size described together.

Source: merging is [ChaiNayak2018, Remark 4.1]; the sums over sets of one size are derived.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, singledispatch

import numpy as np

from maskwell.core.exact import Parity, common_denominator
from maskwell.designs.blocks import Blocks
from maskwell.designs.by_columns import ByColumns
from maskwell.designs.composed import Composed
from maskwell.designs.dense import Dense
from maskwell.designs.design import EXACT_LIMIT, Design
from maskwell.designs.kronecker import Kronecker, product_of
from maskwell.designs.mixture import Mixture
from maskwell.designs.patterns import Patterns
from maskwell.designs.subset import FixedSizeSets
from maskwell.designs.unary import Unary
from maskwell.designs.uniform import Uniform
from maskwell.errors import TooLargeError

IMPOSSIBLE = (Fraction(0),)
NUMBERED = range(0)
MOST_BITS = 1 << 32  # of all integers of a matrix over one denominator


@dataclass(frozen=True)
class Shape:
    """Rows of P that are proportional to each other, or one row for each set of categories of some sizes."""

    rows: tuple[int, ...]  # the numbers of the rows in the matrix, from 0; empty where there is one for each set
    truths: tuple[int, ...]  # the truths whose entry is the largest; empty where they are the members of the set
    sizes: range  # the sizes of the sets; empty where the rows are numbered
    # the distinct entries of the sum of the rows, rising. Where the rows are all sets of one size, the entry for truths
    # in the set and that for others, each summed over the sets; for several sizes up to a factor
    values: tuple[Fraction, ...]
    possible: int  # how many truths can give the report

    @property
    def parity(self) -> Parity:
        """Largest over smallest entry; 1 for rows of zeros."""
        low, high = self.values[0], self.values[-1]
        if low == high:
            return Fraction(1)
        return high / low if low else math.inf

    @property
    def is_possible(self) -> bool:
        """Whether any truth can give the report."""
        return self.values != IMPOSSIBLE


@singledispatch
def shapes(design: Design) -> Iterator[Shape]:
    """The rows of a design, alike ones together, in the order of the first row of each."""
    yield from _merged(design)


@lru_cache(maxsize=4)
def _merged(design: Design) -> tuple[Shape, ...]:
    """The rows of a matrix that was written out; kept for a while, since several questions are asked of it in a row."""
    rows, denominator = integer_rows(design)
    groups: dict[tuple[int, ...], list[int]] = {}
    factors = [math.gcd(*row) for row in rows]
    for i, row in enumerate(rows):
        groups.setdefault(tuple(n // (factors[i] or 1) for n in row), []).append(i)
    lengths = (Fraction(sum(factors[i] for i in members), denominator) for members in groups.values())
    merged = []
    for direction, length, members in zip(groups, lengths, groups.values(), strict=True):
        highest = max(direction)
        truths = tuple(j for j, value in enumerate(direction) if value == highest)
        values = tuple(length * value for value in sorted(set(direction)))
        merged.append(Shape(tuple(members), truths, NUMBERED, values, sum(map(bool, direction))))
    return tuple(merged)


@singledispatch
def integer_rows(design: Design) -> tuple[list[list[int]], int]:
    """The matrix in integers over one denominator."""
    rows = design.exact_matrix()
    denominator = common_denominator(value for row in rows for value in row)
    return [[value.numerator * (denominator // value.denominator) for value in row] for row in rows], denominator


@integer_rows.register
def _dense(design: Dense) -> tuple[list[list[int]], int]:
    bits = sum(whole.bit_length() for whole in set(design.denominators))
    if bits * design.k * design.m > MOST_BITS:  # integers over one denominator would fill the memory
        raise TooLargeError("the-x-chances-of-this-matrix", m=design.m, k=design.k)
    denominator = math.lcm(*design.denominators)
    factors = [denominator // whole for whole in design.denominators]
    columns = ([n * factor for n in column] for column, factor in zip(design.numerators, factors, strict=True))
    return [list(row) for row in zip(*columns, strict=True)], denominator


@integer_rows.register
def _pattern_rows(design: Patterns) -> tuple[list[list[int]], int]:
    pairs = ((share * design.outside, share * design.inside) for share in design.shares)
    masks = zip(design.masks, pairs, strict=True)
    return [[pair[mask >> j & 1] for j in range(design.k)] for mask, pair in masks], design.total


@singledispatch
def rows_one_by_one(design: Design) -> Iterator[Shape]:
    """The same rows where each is judged alone: those that are proportional are not added up, and not compared."""
    if shapes.dispatch(type(design)) is not shapes.dispatch(Design):
        yield from shapes(design)
        return
    for i, row in enumerate(design.exact_matrix()):
        values = sorted(set(row))
        truths = tuple(j for j, value in enumerate(row) if value == values[-1])
        yield Shape((i,), truths, NUMBERED, tuple(values), sum(map(bool, row)))


@rows_one_by_one.register
def _composed_rows(design: Composed) -> Iterator[Shape]:
    yield from rows_one_by_one(design.whole())


@rows_one_by_one.register
def _dense_rows(design: Dense) -> Iterator[Shape]:
    for i, row in enumerate(zip(*design.numerators, strict=True)):
        yield _alone(i, zip(range(design.k), row, design.denominators, strict=True))


@rows_one_by_one.register
def _sparse_rows(design: ByColumns) -> Iterator[Shape]:
    if not design.has_entries_up_to(EXACT_LIMIT):
        design.exact_matrix()  # says that it is too large
    owners, order = np.repeat(np.arange(design.k), np.diff(design.starts)), np.argsort(design.rows, kind="stable")
    ends = np.searchsorted(design.rows[order], np.arange(design.m + 1))
    for i in range(design.m):
        entries = order[ends[i] : ends[i + 1]]
        truths = owners[entries]
        row = dict(zip(truths.tolist(), design.numerators[entries].tolist(), strict=True))
        totals = dict(zip(truths.tolist(), design.denominators[truths].tolist(), strict=True))
        yield _alone(i, ((j, row.get(j, 0), totals.get(j, 1)) for j in range(design.k)))


def _alone(i: int, entries: Iterable[tuple[int, int, int]]) -> Shape:
    """Row i from the truth, the numerator and the denominator of each entry, zeros included."""
    pairs = {j: (n, d if n else 1) for j, n, d in entries}
    exact = {pair: Fraction(*pair) for pair in set(pairs.values())}
    values = sorted(set(exact.values()))
    highest = {pair for pair, value in exact.items() if value == values[-1]}
    truths = tuple(j for j, pair in pairs.items() if pair in highest)
    return Shape((i,), truths, NUMBERED, tuple(values), sum(n > 0 for n, _ in pairs.values()))


def _sets_of(size: int, k: int, held: Fraction, missed: Fraction) -> Shape:
    """All sets of one size: each named with chance ``held / C(k-1, size-1)`` or ``missed / C(k-1, size)``."""
    low, high = missed * k / (k - size), held * k / size
    return Shape((), (), range(size, size + 1), (low, high), k if low else size)


@shapes.register
def _uniform(design: Uniform) -> Iterator[Shape]:
    held = design.truth + (1 - design.truth) / design.k
    yield _sets_of(1, design.k, held, 1 - held)


@shapes.register
def _fixed_size(design: FixedSizeSets) -> Iterator[Shape]:
    yield _sets_of(design.size, design.k, design.include, 1 - design.include)


@shapes.register
def _unary(design: Unary) -> Iterator[Shape]:
    """Up to a factor, which differs from size to size, all sets but the empty and the full one have the same values."""
    p, r, k = design.keep, design.flip, design.k
    one = (Fraction(1),)
    yield Shape((), (), range(1), one, k)
    yield Shape((), (), range(1, k), ((1 - p) * r, p * (1 - r)), k)
    yield Shape((), (), range(k, k + 1), one, k)


@shapes.register
def _mixture(design: Mixture) -> Iterator[Shape]:
    k, p = design.k, design.truth
    if p == 0:
        for impossible in (False, True):
            rows = tuple(i for i, q in enumerate(design.fixed) if (q == 0) == impossible)
            total = sum((design.fixed[i] for i in rows), Fraction(0))
            if rows:
                yield Shape(rows, tuple(range(k)), NUMBERED, (total,), 0 if impossible else k)
        return
    for i, q in enumerate(design.fixed):
        yield Shape((i,), (i,), NUMBERED, (q, q + p), k if q else 1)


@shapes.register
def _patterns(design: Patterns) -> Iterator[Shape]:
    gamma = design.gamma
    for i, (truths, weight) in enumerate(zip(design.sets, design.weights, strict=True)):
        yield Shape((i,), truths, NUMBERED, (weight, weight * gamma), design.k)


@singledispatch
def columns_sum_to_one(design: Design) -> bool:
    """Whether the probabilities of all reports sum to one for every truth, exactly, and none is negative."""
    rows, denominator = integer_rows(design)
    return all(sum(column) == denominator and min(column) >= 0 for column in zip(*rows, strict=True))


@columns_sum_to_one.register(Uniform)
@columns_sum_to_one.register(FixedSizeSets)
def _sets(design: Uniform | FixedSizeSets) -> bool:
    """A truth is in q of k sets of size q, so that its column sums to ``(high q + low (k - q)) / k``."""
    (shape,) = shapes(design)
    (size,), (low, high) = shape.sizes, shape.values
    return 0 <= low < high and high * size + low * (design.k - size) == design.k


@columns_sum_to_one.register
def _bits(design: Unary) -> bool:
    """Each bit is one or zero, independently of the others."""
    return all(0 < bit < 1 for bit in (design.keep, design.flip))


@columns_sum_to_one.register
def _truth_or_fixed(design: Mixture) -> bool:
    return design.truth + sum(design.fixed) == 1 and min(design.truth, *design.fixed) >= 0


@columns_sum_to_one.register
def _factors(design: Kronecker) -> bool:
    return all(map(columns_sum_to_one, design.factors))


@columns_sum_to_one.register
def _cells(design: Blocks) -> bool:
    return all(map(columns_sum_to_one, design.parts))


@columns_sum_to_one.register
def _steps(design: Composed) -> bool:
    return columns_sum_to_one(design.first) and columns_sum_to_one(design.then)


def parity_of_rows(design: Design) -> Parity:
    """Parity from the rows: the largest of their parities."""
    if isinstance(design, Kronecker):
        return product_of(map(parity_of_rows, design.factors))
    if isinstance(design, Blocks):
        return parity_of_rows(design.parts[0]) if len(design.parts) == 1 else math.inf
    return max(shape.parity for shape in shapes(design))
