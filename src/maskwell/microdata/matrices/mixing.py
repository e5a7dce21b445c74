"""Mixing by cell size: records of small cells leave them and are dealt again among all that left.

A record of cell x leaves it with rate ``a_x``; cell i gets the share ``w_i = a_i N_i / sum_j a_j N_j`` of those that
left a block: ``P = diag(1 - a) + w a'`` keeps counts on average for **every** choice of rates. In a large block a
record of a cell of n is found with at most ``(1 / n) (1 - a) / (1 - a + a^2)``; in a block of few cells all rates are
multiplied by one factor, by bisection with the exact chances. Where small cells have too few records together, the
next larger ones join them. Derived.

With sums of weights v in place of N in the shares, ``w_i = a_i v_i / sum_j a_j v_j``, ``P v = v`` for every choice of
rates. A cell whose mean weight is r times that of the records that leave its block receives r times as many records as
it loses, and the chance is at most ``(1 / n) (1 - a) / (1 - a + r a^2)``. Derived.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np

from maskwell.core.arguments import Array, Real, as_array, as_floats, as_whole, check_kind
from maskwell.core.categories import Categories
from maskwell.core.exact import Number, check_probability, to_decimal
from maskwell.core.verdicts import above, at_most
from maskwell.designs.sparse import Sparse
from maskwell.errors import CountsError, InfeasibleError, ParameterError
from maskwell.microdata.matrices import matrix_patterns as patterns
from maskwell.microdata.matrices.bounds import Amounts, as_words, read_amounts

GRID = 1 << 16  # Rates are multiples of 1/GRID, rounded up
# Small cells of a block at least and at most; fewer than the most where the matrix would have more entries.
SMALLEST, LARGEST, ENTRIES = 16, 256, 1 << 22
LEAST_BOUND = Fraction(1, 1000)
# Even if all cells of a block are single records, there are more than 1/xi of them by this factor.
SPARE = Fraction(3, 2)
# Small cells of a block at least, where records are compared: in fewer, all released counts together reveal too much.
FEWEST_ALIKE = 8
# Small cells with near labels among which those of a block are chosen, where records are compared: at least and at
# most, so that about so many pairs are compared; and how often all cells of a file with few of them are looked at
# again.
NEAR, COMPARED, ROUNDS = (32, 256), 1 << 22, 3
_FAR = np.iinfo(np.int64).max
_FACTORS = 1 << 12  # steps of the factor, from one on
_ROOM = 1 << 20
_LEAST_ODDS = 1e-100
# Digits after the first of the largest small cell and of the sum of weights; digits and decimals at most; rounds in
# which rates settle
_DIGITS, _MOST_DIGITS, _MOST_DECIMALS, _SETTLING = (7, 10), 14, 300, 16
_POOLS = (1.05, 1.25, 1.5, 2.0, 3.0, 5.0)  # times 1/xi: records that are to leave a block that larger cells have joined


def mixing_rate(n: Any, xi: Number, relative: Any = 1.0) -> Real:
    """The rate a for a cell of n: ``n xi r a^2 + (1 - n xi) a - (1 - n xi) = 0``, and 0 where n xi >= 1.

    ``relative`` is r, the mean weight of the cell over that of the records that leave its block.
    """
    product, r = np.asarray(n, dtype=np.float64) * float(check_probability(xi, "xi")), np.asarray(relative)
    rest = np.maximum(1 - product, 0.0)
    whole = rest + np.sqrt(rest**2 + 4 * product * r * rest)
    return np.asarray(np.divide(2 * rest, whole, out=np.zeros_like(whole), where=whole > 0))


def _mixed(amounts: Amounts, steps: Array, blocks: Array, inputs: Categories) -> Sparse:
    """Integers in the ratio of each column: ``steps_j c_i`` off the diagonal, where ``c_i = steps_i N_i``."""
    moving = amounts.support & (steps > 0)
    pattern = patterns.BlockPattern.of(blocks, moving)
    inside = pattern.members >= 0
    leaving = np.where(inside, steps * amounts.integers, 0).astype(object)
    total = np.zeros(len(pattern.sizes), dtype=object)
    np.add.at(total, pattern.members[inside], leaving[inside])
    bound = GRID * int(max(total, default=0) or 1)
    leaving, total = as_words(leaving, bound), as_words(total, bound)
    step = as_words(steps.astype(object), bound)
    stay = np.where(inside, (GRID - step) * total[pattern.members], 1)
    numerators = np.where(inside[pattern.columns], step[pattern.columns] * leaving[pattern.rows], 0)
    own = pattern.rows == pattern.columns
    numerators[own] += stay[pattern.columns[own]]
    return patterns.from_sorted(pattern.columns, pattern.rows, numerators, inputs)


@dataclass(frozen=True, eq=False)
class BlockRates:
    """Blocks of cells, and a rate for each cell, that bound the chance of a correct match."""

    xi: Fraction  # the bound that was asked for
    # blocks, steps: shape (k,): the block of each cell, and its rate in multiples of 1/GRID; 0 for cells that stay as
    # they are
    blocks: Array
    steps: Array
    # shape (blocks,): the largest chance of a correct match of any cell that moves, whatever is released and wherever
    # one looks; ``1 / N`` of the smallest cell where nothing can move
    risk: Real
    mass: Amounts | None = None  # sums of weights that are kept in place of counts

    @property
    def rates(self) -> Real:
        """Shape (k,): the rates."""
        return self.steps / GRID

    @property
    def reached(self) -> Array:
        """Shape (blocks,): where the bound is kept."""
        return at_most(self.risk, self.xi, scale=1)

    def open_cells(self) -> Array:
        """The cells of blocks in which the bound cannot be kept, by number."""
        return np.flatnonzero(~self.reached[self.blocks])

    def check_reached(self, counts: Array, within: Sequence[Hashable], where: str = "") -> None:
        """Raise unless the bound is kept everywhere: how many groups have too few records, and how few."""
        cells = self.open_cells()
        if not len(cells):
            return
        groups = patterns.block_numbers(within, len(counts))
        sizes = np.bincount(groups, counts).astype(np.int64)
        short, needed = np.unique(groups[cells]), math.ceil(1 / self.xi)
        told: dict[str, Any] = {"where": where, "ending": ": " if where else "", "xi": to_decimal(self.xi)}
        told |= {"cells": cells, "needed": needed, "nearest": float(self.risk.max())}
        if (fewest := int(sizes[short].min())) >= needed:
            raise InfeasibleError("blocks-of-so-few-cells-do", ceil=math.ceil(1.5 * needed), **told)
        counted = {"short_count": len(short), "sizes_count": len(sizes), "size_min": fewest}
        raise InfeasibleError("of-cells-have-too-few-records", **counted, **told)

    def design(self, counts: Any, categories: Categories | None = None) -> Sparse:
        """The matrix with these rates."""
        amounts = read_amounts(counts)
        inputs = categories or Categories.numbered(len(amounts))
        design = _mixed(self.mass or amounts, self.steps, self.blocks, inputs)
        noted = patterns.with_notes(design, amounts, "mixing", xi=to_decimal(self.xi))
        return noted if self.mass is None else noted.with_provenance(invariance="weights")


@runtime_checkable
class ExchangeCosts(Protocol):
    """What else is published of the records of cells, and how much it shows if they exchange their keys."""

    def order(self) -> Sequence[int]:
        """The columns of the codes, those first that the other columns predict best."""

    def costs(self, cells: Array) -> Array:
        """Shape (cells, cells): how much it shows if the records of two cells exchange their keys, in whole numbers."""


def rates_for_match(
    codes: Array,
    counts: Any,
    xi: Number,
    *,
    within: Iterable[Hashable] | None = None,
    size: int | None = None,
    others: ExchangeCosts | None = None,
    mass: Any = None,
) -> BlockRates:
    """Blocks and rates with which no record is matched correctly with a chance above xi, looking anywhere.

    Parameters
    ----------
    codes
        Shape (k, columns): the labels of each cell by number; cells with near codes come into one block.
    counts
        Records in each cell.
    xi
        The bound, from 0.001 on.
    within
        A label for each cell; cells with different labels never share a block.
    size
        Small cells that a block has at most; by default what memory allows up to 256, or with ``others`` eight or more.
    others
        What else is published: cells come into one block whose records can exchange their keys without its showing.
    mass
        Sums of weights, which are then kept in place of the counts. Without ``others``, cells of like mean weight come
        into one block.

    >>> mixed = rates_for_match(np.arange(6)[:, None], [1, 2, 3, 4, 50, 70], "0.2")
    >>> mixed.rates.round(2).tolist(), bool(mixed.reached.all())   # cells of five and more stay as they are
    ([1.0, 0.91, 0.73, 0.52, 0.0, 0.0], True)
    """
    check_kind(ExchangeCosts | None, others=others)
    bound = check_probability(xi, "xi")
    if bound < LEAST_BOUND:
        raise ParameterError("the-bound-on-a-match-is", bound=to_decimal(bound), least_bound=to_decimal(LEAST_BOUND))
    amounts = read_amounts(counts)
    codes = as_array(codes, "codes")
    if codes.ndim != 2 or len(codes) != len(amounts) or codes.dtype.kind not in "iu":
        raise CountsError("codes-of-shape-for-counts", shape=codes.shape, amounts_count=len(amounts))
    numbers, group = amounts.integers.astype(np.int64), patterns.block_numbers(within, len(amounts))
    small = np.flatnonzero(amounts.support & (numbers < math.ceil(1 / bound)))
    blocks = np.arange(len(amounts))  # cells that stay are blocks of their own
    steps, risks = np.zeros((2, len(amounts)))
    sums = None if mass is None else _rounded(mass, amounts, small)
    if len(small):
        most = None if size is None else as_whole(size, "size", low=2)
        cells = _Cells(numbers, group, None if sums is None else sums.integers / np.maximum(numbers, 1))
        if others is None and sums is None:
            room = max(min(LARGEST, max(SMALLEST, ENTRIES // len(small))), math.ceil(SPARE / bound))
            parts = patterns.blocks_of_cells(codes[small], most or room, group[small].tolist())
        else:
            parts = _blocks_alike(codes, small, most or max(FEWEST_ALIKE, math.ceil(SPARE / bound)), cells, others)
        for block in _settled(small, parts, cells, bound):
            first = block.cells.min()
            blocks[block.cells], steps[block.cells], risks[first] = first, block.steps, block.risk
    labels, place = np.unique(blocks, return_inverse=True)
    return BlockRates(bound, place, steps.astype(np.int64), risks[labels], sums)


@dataclass(frozen=True, eq=False)
class _Cells:
    counts: Array
    group: Array  # by number: cells of different groups never share a block
    mean: Real | None  # weights, where sums of weights are to be kept

    def weights(self, places: Array) -> Real:
        return np.ones(len(places)) if self.mean is None else self.mean[places]

    def distances(self, places: Array) -> Array:
        """How far their mean weights are apart, in whole millionths of a logarithm."""
        heavy = np.log(self.weights(places))
        return np.asarray(np.rint(np.abs(heavy[:, None] - heavy) * 1e6).astype(np.int64))


def _rounded(mass: Any, amounts: Amounts, small: Array) -> Amounts:
    """Sums of weights in a decimal unit: eleven digits of the whole sum, and eight of the largest small cell."""
    sums = as_floats(mass, "mass")
    if sums.shape != amounts.integers.shape or ((sums > 0) != amounts.support).any() or not np.isfinite(sums).all():
        raise CountsError("counts-and-weighted-counts-do-not")
    of_small = sums[small].max(initial=sums[amounts.support].min())
    places = [digits - math.floor(math.log10(one)) for one, digits in zip((of_small, sums.sum()), _DIGITS, strict=True)]
    decimals = min(max(places), _MOST_DIGITS - math.floor(math.log10(sums.max())), _MOST_DECIMALS)
    whole = np.rint(sums * 10.0**decimals) if decimals >= 0 else np.rint(sums / 10.0**-decimals)
    return Amounts(np.where(amounts.support, np.maximum(whole, 1), 0).astype(np.int64), 10 ** max(decimals, 0))


def _blocks_alike(codes: Array, small: Array, size: int, cells: _Cells, others: ExchangeCosts | None) -> Array:
    """Blocks of so many small cells or more, whose records can exchange their keys without its showing."""
    least, most = NEAR
    among = max(min(most, max(least, COMPARED // len(small))), 2 * size)
    ordered = codes[small] if others is None else codes[small][:, [*others.order()]]
    near = patterns.blocks_of_cells(ordered, among, cells.group[small].tolist())
    parts, first = np.zeros(len(small), dtype=np.int64), 0
    for places in patterns.places_by_cell(near):
        costs = cells.distances(small[places]) if others is None else others.costs(small[places])
        parts[places] = first + _exchanged(costs, _gathered(costs, size), ROUNDS if among >= most else 0)
        first = int(parts[places].max()) + 1
    return parts


def _gathered(costs: Array, size: int) -> Array:
    """Blocks of ``size`` cells with small costs between them; what is left joins the last one."""
    parts, left, part = np.zeros(len(costs), dtype=np.int64), np.ones(len(costs), dtype=bool), 0
    for seed in np.argsort(-costs.sum(axis=1), kind="stable").tolist():
        if left.sum() < 2 * size:
            parts[left] = part
            break
        if left[seed]:
            total, chosen = np.zeros(len(costs), dtype=np.int64), seed
            for _ in range(size):
                parts[chosen], left[chosen] = part, False
                total += costs[chosen]
                chosen = int(np.where(left, total, _FAR).argmin())
            part += 1
    return parts


def _exchanged(costs: Array, parts: Array, rounds: int) -> Array:
    """The same blocks after exchanges of two cells that lower the sum of the costs inside blocks."""
    parts, every = parts.copy(), np.arange(len(parts))
    sums = np.zeros((len(parts), int(parts.max()) + 1), dtype=np.int64)
    np.add.at(sums.T, parts, costs)
    for _ in range(rounds):
        before = parts.copy()
        for one in every.tolist():
            here = parts[one]
            gain = sums[one, parts] + sums[:, here] - 2 * costs[one] - sums[one, here] - sums[every, parts]
            other = int(np.where(parts == here, 0, gain).argmin())
            if parts[other] != here and gain[other] < 0:
                there = parts[other]
                sums[:, here] += costs[:, other] - costs[:, one]
                sums[:, there] += costs[:, one] - costs[:, other]
                parts[one], parts[other] = there, here
        if (parts == before).all():
            break
    return parts


@dataclass(frozen=True, eq=False)
class _Block:
    cells: Array
    steps: Array
    risk: float

    def changed(self, counts: Array) -> float:
        return float((self.steps * counts[self.cells]).sum())


def _settled(small: Array, parts: Array, cells: _Cells, xi: Fraction) -> Iterator[_Block]:
    """Blocks of small cells with the least rates that keep the bound; where there are too few, with larger cells."""
    counts, group = cells.counts, cells.group
    kinds, kind = _Kinds.of(small, parts, cells)
    steps, risks = _least_steps(kinds, kinds.rates(xi), xi)
    taken = np.zeros(len(counts), dtype=bool)
    for part, places in enumerate(patterns.places_by_cell(parts)):
        block = _Block(small[places], steps[part, kind[places]], float(risks[part]))
        if above(block.risk, xi, scale=1):
            larger = np.flatnonzero((group == group[block.cells[0]]) & (counts >= math.ceil(1 / xi)) & ~taken)
            larger = larger[np.argsort(counts[larger], kind="stable")]
            pools = [pool / float(xi) for pool in _POOLS] if len(larger) else []
            tried = [_borrowing(block.cells, larger, pool, cells, xi) for pool in pools]
            kept = [one for one in tried if at_most(one.risk, xi, scale=1)]  # with the fewest changes, or nearly kept
            block = (
                min(kept, key=lambda one: one.changed(counts))
                if kept
                else min([block, *tried], key=lambda one: one.risk)
            )
            taken[block.cells] = True
        yield block


@dataclass(frozen=True, eq=False)
class _Kinds:
    """Kinds of cells of many blocks, shape (blocks, kinds): cells of one kind have the same rate."""

    n: Array  # records of a cell
    mean: Real  # its mean weight, of any scale; 1 where counts are kept
    alike: Real  # how many cells of the block are of the kind

    @classmethod
    def of(cls, small: Array, parts: Array, cells: _Cells) -> tuple[_Kinds, Array]:
        """Those of some cells, and the kind of each: by size, or each cell its own where weights are kept."""
        blocks = int(parts.max()) + 1
        if cells.mean is None:
            sizes, kind = np.unique(cells.counts[small], return_inverse=True)
            n = np.tile(sizes, (blocks, 1))
            mean = np.ones(n.shape)
        else:
            order, sizes = np.argsort(parts, kind="stable"), np.bincount(parts)
            kind = np.empty(len(small), dtype=np.int64)
            kind[order] = np.arange(len(small)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            n, mean = np.ones((blocks, int(sizes.max())), dtype=np.int64), np.ones((blocks, int(sizes.max())))
            n[parts, kind], mean[parts, kind] = cells.counts[small], cells.mean[small]
        alike = np.zeros(n.shape)
        np.add.at(alike, (parts, kind), 1)
        return cls(n, mean, alike), kind

    def part(self, blocks: Any) -> _Kinds:
        return _Kinds(self.n[blocks], self.mean[blocks], self.alike[blocks])

    def rates(self, xi: Fraction, given: Real | None = None) -> Real:
        """By the formula for large blocks; ``given`` rates, where above 0, are those of cells that join."""
        rates = mixing_rate(self.n, xi) if given is None else np.where(given > 0, given, mixing_rate(self.n, xi))
        if (self.mean == 1).all():
            return rates
        for _ in range(_SETTLING):
            leaving = self.alike * self.n * rates
            relative = self.mean * (leaving.sum(axis=1) / (leaving * self.mean).sum(axis=1))[:, None]
            now = mixing_rate(self.n, xi, relative)
            rates = now if given is None else np.where(given > 0, given, now)
        return rates


def _borrowing(small: Array, larger: Array, pool: float, cells: _Cells, xi: Fraction) -> _Block:
    """The small cells with so many of the next larger ones that about ``pool`` records leave together."""
    counts = cells.counts
    leaving = float((mixing_rate(counts[small], xi) * counts[small]).sum())
    missing = max(pool - leaving, 0.1)
    joined = larger[: int(np.searchsorted(np.cumsum(counts[larger]), missing)) + 1]
    rate = min(1.0, missing / float(counts[joined].sum()))
    both, given = np.concatenate([small, joined]), np.repeat([0.0, rate], [len(small), len(joined)])
    kinds = _Kinds(counts[both][None], cells.weights(both)[None], np.ones((1, len(both))))
    steps, risks = _least_steps(kinds, kinds.rates(xi, given[None]), xi)
    return _Block(both, steps[0], float(risks[0]))


def _least_steps(kinds: _Kinds, rates: Real, xi: Fraction) -> tuple[Array, Real]:
    """The rates times the least factor that keeps the bound, in steps of the grid, and the risks, for many blocks."""

    def steps(factor: Array) -> Array:
        return np.minimum(np.ceil(rates * GRID * (1 + factor / _FACTORS)[:, None] - 1e-6), GRID).astype(np.int64)

    bound, blocks = float(xi) + patterns.ROUNDING, np.arange(len(rates))
    low, high = np.full(len(rates), -1), np.full(len(rates), math.ceil(_FACTORS * (1 / float(rates.min()) - 1)) + 1)
    reached = _risks(kinds, steps(high) / GRID) <= bound
    low = np.where(reached, low, high - 1)
    while len(open_ := blocks[high - low > 1]):
        middle = low.copy()
        middle[open_] = (low[open_] + high[open_]) // 2
        kept = _risks(kinds.part(open_), steps(middle)[open_] / GRID) <= bound
        high[open_[kept]], low[open_[~kept]] = middle[open_[kept]], middle[open_[~kept]]
    chosen = steps(high)
    return chosen, _risks(kinds, chosen / GRID)


def _risks(kinds: _Kinds, a: Real) -> Real:
    """The largest match by blocks and kinds of cells, odds o: ``1 / sum_j N_j min(o_j / o_x, 1)``. Derived."""
    out = np.empty(len(a))
    step = max(1, _ROOM // (a.shape[1] + 1) ** 2)
    for first in range(0, len(a), step):
        some = slice(first, first + step)
        out[some] = _risks_of(kinds.part(some), a[some])
    return out


def _risks_of(kinds: _Kinds, a: Real) -> Real:
    """The same; odds of any cell one looks at are in the order of the rates, so that running sums are enough."""
    order = np.argsort(a, axis=1, kind="stable")
    n, mean, alike, a = (np.take_along_axis(one, order, 1) for one in (kinds.n, kinds.mean, kinds.alike, a))
    n, there = n.astype(np.float64), alike > 0
    leaving = n * mean * a
    w = leaving / (alike * leaving).sum(axis=1, keepdims=True)
    away, own = _odds(w[:, :, None] * a[:, None, :]), _odds(1 - a + a * w)  # away: as another cell (before), of a kind
    records = (alike * n)[:, None, :] - np.eye(n.shape[1]) * n[:, None, :]
    own_records, own = n[:, :, None], own[:, :, None]
    as_likely = np.cumsum(records * away, axis=2) + (records.sum(axis=2, keepdims=True) - np.cumsum(records, 2)) * away
    hidden = (as_likely + own_records * np.minimum(own, away)) / away
    found = np.where((records > 0) & there[:, :, None], 1 / np.where(records > 0, hidden, 1.0), 0.0)
    at_home = 1 / ((records * np.minimum(away, own)).sum(axis=2, keepdims=True) / own + own_records)
    return np.asarray(np.concatenate([found, np.where(there[:, :, None], at_home, 0.0)], axis=2).max(axis=(1, 2)))


def _odds(chance: Real) -> Real:
    return np.asarray(np.maximum(chance, _LEAST_ODDS) / np.maximum(1 - chance, _LEAST_ODDS))
