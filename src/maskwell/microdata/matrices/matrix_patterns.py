"""What matrices of a release are put together from: entries, and blocks of cells that exchange records.

*Equal exchange*: every state of a block of l that occur gives and takes the same expected number t of records,

    p_jj = 1 - t / v_j,    p_ij = t / ((l - 1) v_j)   for i != j

Only cells of fewer than 1/xi records, and released counts below 1/xi, can break a bound xi on a match: so a few
coefficients of the distribution of released counts suffice, for all cells of a file at once.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, as_array, as_list, as_whole
from maskwell.core.categories import Categories
from maskwell.core.exact import Number, check_probability, to_decimal, to_text
from maskwell.core.verdicts import at_most
from maskwell.designs.coded import CodedDesign
from maskwell.designs.sparse import Sparse
from maskwell.errors import CountsError, ParameterError, WrongTypeError
from maskwell.microdata.matrices.bounds import Amounts, as_words, labels_for, read_amounts
from maskwell.notes import Note


def from_entries(columns: Array, rows: Array, numerators: Array, inputs: Categories) -> Sparse:
    """A design from entries in any order; those of one place are added up, zeros are left out."""
    order = np.lexsort((rows, columns))
    columns, rows, numerators = columns[order], rows[order], numerators[order]
    first = np.ones(len(rows), dtype=bool)
    first[1:] = (columns[1:] != columns[:-1]) | (rows[1:] != rows[:-1])
    numerators = np.add.reduceat(numerators, np.flatnonzero(first))
    return from_sorted(columns[first], rows[first], numerators, inputs)


def from_sorted(columns: Array, rows: Array, numerators: Array, inputs: Categories) -> Sparse:
    """From entries in order: an entry of zero is none, because a zero means never."""
    kept = np.asarray(numerators != 0, dtype=bool)
    if not kept.all():
        columns, rows, numerators = columns[kept], rows[kept], numerators[kept]
    starts = np.searchsorted(columns, np.arange(len(inputs) + 1))
    return Sparse.from_integers(starts, rows, numerators, inputs)


def as_sparse(design: CodedDesign) -> Sparse:
    """The same design by its entries that are not zero."""
    return design if isinstance(design, Sparse) else Sparse.of_matrix(design.exact_matrix(), design.inputs)


def block_numbers(blocks: object, k: int) -> Array:
    """Labels of blocks, one for each state, as numbers 0, 1, ...; one block for all where there are none."""
    if blocks is None:
        return np.zeros(k, dtype=np.int64)
    labels = blocks if isinstance(blocks, np.ndarray) and blocks.ndim == 1 else as_list(blocks, "blocks")
    if len(labels) != k:
        raise CountsError("blocks-for-counts", labels_count=len(labels), k=k)
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu":
        return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.int64)  # keeps their order
    numbers: dict[object, int] = {}
    try:
        return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)
    except TypeError as error:
        raise WrongTypeError("an-element-of-blocks-cannot", values=str(error)) from None


def places_by_cell(numbers: Array) -> list[Array]:
    """The places of the states of each cell, given its number."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1) if len(order) else []


@dataclass(frozen=True, eq=False)
class BlockPattern:
    """Which entries a matrix has where states change within blocks only, and those outside any block stay."""

    members: Array  # shape (k,): the block of each state, -1 for states that stay as they are
    sizes: Array  # shape (blocks,): states in each block
    columns: Array  # columns, rows: shape (entries,): the places of the entries, sorted by column, then row
    rows: Array

    @classmethod
    def of(cls, blocks: Array, moving: Array) -> BlockPattern:
        """Every state that moves may become every moving state of its block; a block needs two of them."""
        sizes = np.bincount(blocks[moving], minlength=int(blocks.max()) + 1)
        members = np.where(moving & (sizes[blocks] > 1), blocks, -1)
        inside = np.flatnonzero(members >= 0)
        order = inside[np.argsort(members[inside], kind="stable")]
        sizes = np.bincount(members[inside], minlength=len(sizes))
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]])  # of each block within ``order``
        lengths = np.where(members >= 0, sizes[members], 1)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        columns = np.repeat(np.arange(len(blocks)), lengths)
        place = np.arange(starts[-1]) - starts[columns]
        rows = columns.copy()
        entry = members[columns] >= 0
        rows[entry] = order[first[members[columns[entry]]] + place[entry]]
        return cls(members, sizes, columns, rows)

    def fill(self, stay: Array, leave: Array, inputs: Categories) -> Sparse:
        """The design with ``stay[j]`` on the diagonal and ``leave[j]`` elsewhere in column j, as integers in ratio."""
        numerators = np.where(self.rows == self.columns, stay[self.columns], leave[self.columns])
        return from_sorted(self.columns, self.rows, numerators, inputs)


def equal_exchange(amounts: Amounts, flows: Sequence[Fraction], blocks: Array, inputs: Categories) -> Sparse:
    """The matrix in which every state of block b gives and takes ``flows[b]``, in the units of the integers."""
    moves = np.array([flow > 0 for flow in flows])
    pattern = BlockPattern.of(blocks, amounts.support & moves[blocks])
    above, below = _numerators(flows, amounts, pattern)
    others = np.maximum(pattern.sizes - 1, 0)[pattern.members]
    inside = pattern.members >= 0
    leave = np.where(inside, above[pattern.members], 0)
    stay = np.where(inside, others * (below[pattern.members] * amounts.integers - leave), 1)
    divisor = np.gcd(leave, stay)
    return pattern.fill(stay // divisor, leave // divisor, inputs)


def _numerators(flows: Sequence[Fraction], amounts: Amounts, pattern: BlockPattern) -> tuple[Array, Array]:
    """Numerators and denominators of the flows, in integers wide enough for all that is made of them."""
    above, below = [flow.numerator for flow in flows], [flow.denominator for flow in flows]
    bound = int(pattern.sizes.max()) * max(max(below) * int(amounts.integers.max()), *above)
    return as_words(np.array(above, dtype=object), bound), as_words(np.array(below, dtype=object), bound)


def least_by_block(amounts: Amounts, blocks: Array) -> list[int]:
    """The smallest count of each block, of the states that occur; 0 where none does."""
    occurring = amounts.support
    order = np.argsort(blocks[occurring], kind="stable")
    block_of, values = blocks[occurring][order], amounts.integers[occurring][order]
    first = np.flatnonzero(np.concatenate([[True], block_of[1:] != block_of[:-1]]))
    least = [0] * (int(blocks.max()) + 1)
    for block, smallest in zip(block_of[first].tolist(), np.minimum.reduceat(values, first).tolist(), strict=True):
        least[block] = smallest
    return least


def with_notes(design: Sparse, amounts: Amounts, method: str, *notes: str, **options: Any) -> Sparse:
    """The design with its method and options, what it is invariant for, and notes in words."""
    kept = "counts" if amounts.whole else "weights"
    texts, states = [*notes], unprotected_states(design, amounts.integers)
    if len(states):
        held = f" ({int(amounts.integers[states].sum()):,} records)" if amounts.whole else ""
        texts.append(
            f"{len(states):,} of {int(amounts.support.sum()):,} combinations in the file{held} are never changed"
        )
    return design.with_provenance(method=method, **options, invariance=kept, notes=texts)


def unprotected_states(design: Sparse, v: Array) -> Array:
    """The states that occur and are always released as they are, by number."""
    lengths = np.diff(design.starts)
    alone = lengths == 1
    alone[alone] = design.rows[design.starts[:-1][alone]] == np.flatnonzero(alone)
    return np.flatnonzero(alone & np.asarray(v > 0, dtype=bool))


SIZE = 5  # Cells in a block: with two or three a correct match stays likely whatever is done
GRID = 1 << 20  # Theta is found as a multiple of 1/GRID of the smallest count of the block, from above
ROUNDING = 1e-12  # Slack for the floats in which probabilities of a correct match are worked out
_MOST_TERMS = 200


def blocks_of_cells(codes: Array, size: int = SIZE, within: Iterable[Hashable] | None = None) -> Array:
    """Blocks of ``size`` or more consecutive cells in the order of ``codes``, (k, columns), never across ``within``."""
    size = as_whole(size, "size", low=1)
    cells = as_array(codes, "codes")
    if cells.ndim != 2 or not len(cells):
        raise CountsError("codes-of-shape", shape=cells.shape)
    group = block_numbers(within, len(cells))
    order = np.lexsort((*cells.T[::-1], group))
    sizes = np.bincount(group)
    first = np.concatenate([[0], np.cumsum(sizes)])
    parts = np.maximum(sizes // size, 1)
    offset = np.concatenate([[0], np.cumsum(parts)])
    cell_group = group[order]
    blocks = np.empty(len(cells), dtype=np.int64)
    blocks[order] = (
        offset[cell_group] + (np.arange(len(cells)) - first[cell_group]) * parts[cell_group] // sizes[cell_group]
    )
    return blocks


def blocks_for_xi(
    codes: Array,
    counts: Any,
    xi: Number,
    *,
    size: int = SIZE,
    within: Iterable[Hashable] | None = None,
    mass: Any = None,
) -> BlockThetas:
    """Blocks, joined with a neighbour of their group where need be, and thetas that bound every match by ``xi``."""
    size = as_whole(size, "size", low=1)
    labels = None if within is None else as_list(within, "within")
    blocks, group = blocks_of_cells(codes, size, labels), block_numbers(labels, len(codes))
    while True:
        thetas = thetas_for_blocks(counts, blocks, xi, mass=mass)
        owner = np.zeros(len(thetas.theta), dtype=np.int64)
        owner[thetas.blocks] = group
        joined = _joined(thetas.reached, owner)
        if joined is None:
            return thetas
        blocks = joined[thetas.blocks]


def _joined(reached: Array, owner: Array) -> Array | None:
    """A new number for each block, where those that do not keep the bound share it with a neighbour; or None."""
    follows = np.concatenate([owner[1:] == owner[:-1], [False]])  # whether the next block has the same group
    preceded = np.concatenate([[False], follows[:-1]])
    after = ~reached & follows
    before = ~reached & ~follows & preceded
    if not (after | before).any():
        return None
    glued = after[:-1] | before[1:]
    return np.concatenate([[0], np.cumsum(~glued)])


@dataclass(frozen=True, eq=False)
class BlockThetas:
    """The theta of each block, and whether it is enough."""

    xi: Fraction  # the bound that was asked for
    blocks: Array  # shape (k,): the block of each cell
    # for each block the expected number of records that each of its cells gives and takes
    theta: tuple[Fraction, ...]
    # shape (blocks,): the largest probability of a correct match in the block, over all cells and released counts
    # that could break the bound; 0 where none could
    risk: Real

    @property
    def reached(self) -> Array:
        """Shape (blocks,): where the bound is kept."""
        return at_most(self.risk, self.xi, scale=1)

    def open_cells(self) -> Array:
        """The cells of blocks in which the bound cannot be kept, by number."""
        return np.flatnonzero(~self.reached[self.blocks])

    def notes(self) -> list[str]:
        """Where the bound is not kept, in words."""
        left = int((~self.reached).sum())
        note = Note("in-of-blocks-a-correct-match", left=left, theta_count=len(self.theta), xi=to_decimal(self.xi))
        return [note] if left else []


def thetas_for_blocks(counts: Any, blocks: Iterable[Hashable], xi: Number, *, mass: Any = None) -> BlockThetas:
    """The smallest theta of each block with which every probability of a correct match is at most ``xi``.

        Pr(correct | T = t) = p_xx / t  Pr(T' = t - 1) / Pr(T = t)

    where T records are released with the target's cell x, T' without the target. No cell becomes likelier as another
    than as itself: theta is at most ``(l - 1) / l`` of the smallest count; if that fails, ``reached`` is False.
    Source: [Adeshiyan2011, eq. (4.24)], corrected; the search is derived.
    """
    bound = check_probability(xi, "xi")
    if not bound or math.ceil(1 / bound) > _MOST_TERMS:
        raise ParameterError("the-bound-on-a-match", most_terms=_MOST_TERMS, xi=xi)
    records = read_amounts(counts)
    amounts = records if mass is None else read_amounts(mass, weighted=True)
    if len(records) != len(amounts) or (records.support != amounts.support).any():
        raise CountsError("counts-and-weighted-counts-do-not")
    search = _Search(records, amounts, block_numbers(blocks, len(records)), bound)
    steps = search.smallest()
    least = least_by_block(amounts, search.blocks)
    theta = tuple(Fraction(int(g) * n, GRID * amounts.scale) for g, n in zip(steps, least, strict=True))
    return BlockThetas(bound, search.blocks, theta, search.risk(steps))


class _Search:
    """Everything about the blocks that does not change with theta."""

    def __init__(self, records: Amounts, amounts: Amounts, blocks: Array, xi: Fraction) -> None:
        self.xi, self.terms, self.blocks = float(xi), math.ceil(1 / xi) - 1, blocks
        self.sizes = np.bincount(blocks[records.support], minlength=int(blocks.max()) + 1)
        self.counts = records.integers.astype(float)
        self.risky = np.flatnonzero((self.counts > 0) & (self.counts <= self.terms))
        least = np.array(least_by_block(amounts, blocks), dtype=float)[blocks]
        mass = amounts.integers.astype(float)
        # smallest mass of the block over the cell's mass; 0 where the cell is empty
        self.relative = np.divide(least, mass, out=np.zeros_like(mass), where=mass > 0)

    def smallest(self) -> Array:
        """For each block the smallest step of the grid that is found to be enough, else the largest allowed."""
        high = (self.sizes - 1) * GRID // np.maximum(self.sizes, 1)
        low = np.full(len(high), -1)
        high[self.risk(np.zeros_like(high)) <= self.xi + ROUNDING] = 0
        while (open_ := high - low > 1).any():
            middle = np.where(open_, (low + high) // 2, high)
            enough = self.risk(middle) <= self.xi + ROUNDING
            low, high = np.where(open_ & ~enough, middle, low), np.where(open_ & enough, middle, high)
        return np.asarray(np.maximum(high, 0))

    def risk(self, steps: Array) -> Real:
        """The largest probability of a correct match in each block, at multiples ``steps`` of the grid."""
        worst = np.zeros(len(self.sizes))
        cell_risks = self._cell_risks((steps / GRID)[self.blocks] * self.relative)
        np.maximum.at(worst, self.blocks[self.risky], cell_risks)
        return worst

    def _cell_risks(self, leave: Real) -> Real:
        """For each risky cell the largest over t = 1, ..., terms, where records leave with the given probability."""
        arrivals = self._arrivals(leave)
        stay, counts = (1 - leave)[self.risky], self.counts[self.risky]
        own, fewer = _binomial(counts, stay, self.terms), _binomial(counts - 1, stay, self.terms)
        worst = np.zeros(len(self.risky))
        for t in range(1, self.terms + 1):
            together = sum(own[m] * arrivals[t - m] for m in range(t + 1))
            without = sum(fewer[m] * arrivals[t - 1 - m] for m in range(t))
            risk = np.divide(stay * without, t * together, out=np.zeros_like(stay), where=np.asarray(together) > 0)
            np.maximum(worst, risk, out=worst)
        return worst

    def _arrivals(self, leave: Real) -> list[Real]:
        """Pr(a = 0, 1, ...) of records that come to each risky cell from others, all divided by Pr(a = 0)."""
        each = leave / np.maximum(self.sizes - 1, 1)[self.blocks]
        odds = each / (1 - each)
        logs = []
        for m in range(1, self.terms + 1):
            own = self.counts * odds**m * (-1) ** (m + 1)
            logs.append((np.bincount(self.blocks, own, len(self.sizes))[self.blocks] - own)[self.risky])
        series = [np.ones(len(self.risky))]
        for m in range(1, self.terms + 1):
            series.append(sum(logs[i - 1] * series[m - i] for i in range(1, m + 1)) / m)
        return [np.maximum(part, 0.0) for part in series]


def _binomial(n: Real, p: Real, terms: int) -> list[Real]:
    """Pr(m successes of n), m = 0, 1, ..., terms."""
    terms_of_m = []
    choose = np.ones_like(n)
    for m in range(terms + 1):
        terms_of_m.append(np.where(m <= n, choose * p**m * (1 - p) ** np.maximum(n - m, 0), 0.0))
        choose = choose * np.maximum(n - m, 0) / (m + 1)
    return terms_of_m


def inverse_frequency_by_block(v: Any, thetas: BlockThetas, *, categories: Categories | None = None) -> Sparse:
    """The matrix with a theta for each block, as :func:`thetas_for_blocks` finds them."""
    amounts = read_amounts(v, weighted=True)
    if len(thetas.blocks) != len(amounts):
        raise CountsError("counts-for-thetas-of-cells", amounts_count=len(amounts), blocks_count=len(thetas.blocks))
    flows = [theta * amounts.scale for theta in thetas.theta]
    design = equal_exchange(amounts, flows, thetas.blocks, labels_for(amounts, categories))
    return with_notes(design, amounts, "inverse-frequency", *thetas.notes(), xi=to_text(thetas.xi), blocks=len(flows))
