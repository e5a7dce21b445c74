"""Swapping: flows in whole records, for a release that must keep every count exactly.

Whole flows are drawn from a matrix, which stays their mean: so a single record still changes with its probabilities.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import count, pairwise
from typing import Any, Self

import numpy as np

from maskwell.core.arguments import Array, check_kind, code_type
from maskwell.core.categories import Categories
from maskwell.core.draws import WordReader, coin
from maskwell.core.exact import common_denominator, sum_of
from maskwell.core.phrases import shorten
from maskwell.core.randomness import SECURE, RandomSource, check_source, random_order
from maskwell.designs.sampler import check_codes
from maskwell.designs.sparse import Sparse
from maskwell.errors import CountsError, NotInvariantError, WrongTypeError
from maskwell.microdata.matrices.bounds import read_amounts
from maskwell.microdata.matrices.matrix_checks import check_invariant


@dataclass(frozen=True, eq=False)
class IntegerFlows:
    """Whole flows with equal margins, kept by columns; entries of zero are left out."""

    # starts, rows, amounts: entries of column j, the records that have category j, stand from ``starts[j]`` to
    # ``starts[j + 1]``
    starts: Array
    rows: Array
    amounts: Array
    categories: Categories  # the k categories

    @classmethod
    def of(cls, F: Any, categories: Categories | None = None) -> Self:
        """From a matrix of whole numbers whose rows and columns have the same sums [Adeshiyan2011, section 5.2]."""
        amounts = np.asarray(F, dtype=np.int64)
        columns, rows = np.nonzero(amounts.T)
        starts = np.searchsorted(columns, np.arange(len(amounts) + 1))
        inputs = Categories.numbered(len(amounts)) if categories is None else categories
        return cls(starts, rows, amounts[rows, columns], inputs)

    @property
    def k(self) -> int:
        """Number of categories."""
        return len(self.starts) - 1

    @property
    def counts(self) -> Array:
        """Records of each category, before and after."""
        return np.bincount(self._origins, self.amounts, self.k).astype(np.int64)

    @property
    def _origins(self) -> Array:
        return np.repeat(np.arange(self.k), np.diff(self.starts))

    def design(self) -> Sparse:
        """What one record sees: ``Pr(Z = i | X = j) = F_ij / N_j``. Records are not independent."""
        occurring = self.counts > 0
        if occurring.all():
            return Sparse.from_integers(self.starts, self.rows, self.amounts, self.categories)
        absent = np.flatnonzero(~occurring)
        order = np.argsort(np.concatenate([self._origins, absent]), kind="stable")
        rows = np.concatenate([self.rows, absent])[order]
        amounts = np.concatenate([self.amounts, np.ones_like(absent)])[order]
        starts = np.concatenate([[0], np.cumsum(np.maximum(np.diff(self.starts), 1))])
        return Sparse.from_integers(starts, rows, amounts, self.categories)


Flows = dict[tuple[int, int], Fraction]  # Flows by (released, true) state
Parts = dict[tuple[int, int], int]  # Fractional parts of flows, over one denominator
Node = tuple[int, int]  # A row (0, i) or a column (1, j)


def whole_flows(design: Sparse, counts: Any, random: RandomSource | None = None) -> IntegerFlows:
    """Whole flows with ``E(F_ij) = p_ij N_j`` and margins N, by unbiased moves around closed ways (derived)."""
    check_source(SECURE if random is None else random)
    check_kind(Sparse, design=design)
    records = read_amounts(counts)
    check_invariant(design, counts)
    occurring = np.flatnonzero(records.integers > 0).tolist()
    moved = {(i, j): p * int(records.integers[j]) for j in occurring for i, p in design.columns_exact(j).items()}
    exact = balanced(moved, records.integers)
    unit = common_denominator(exact.values())
    split = {place: divmod(flow.numerator * (unit // flow.denominator), unit) for place, flow in exact.items()}
    up = _drawn({place: part for place, (_, part) in split.items() if part}, unit, random or SECURE)
    amounts = [(*place, whole + (place in up)) for place, (whole, _) in split.items()]
    kept = np.array([entry for entry in amounts if entry[2]], dtype=np.int64).reshape(-1, 3)
    order = np.lexsort((kept[:, 0], kept[:, 1]))
    rows, columns, whole = kept[order].T
    return IntegerFlows(np.searchsorted(columns, np.arange(design.k + 1)), rows, whole, design.inputs)


def balanced(flows: Flows, counts: Array) -> Flows:
    """Flows whose rows sum to the counts, as columns do: what rows lack is passed along a spanning tree."""
    rows = defaultdict(list)
    for (i, _), flow in flows.items():
        rows[i].append(flow)
    lacking: dict[Node, Fraction] = {(0, i): int(counts[i]) - sum_of(row) for i, row in rows.items()}
    made = dict(flows)
    for node, parent in reversed(list(spanning_tree(flows))) if any(lacking.values()) else ():
        amount = lacking.get(node, Fraction(0))
        place = (node[1], parent[1]) if node[0] == 0 else (parent[1], node[1])
        made[place] += amount
        lacking[parent] = lacking.get(parent, Fraction(0)) - amount
        if made[place] < 0:
            raise NotInvariantError("the-flows-of-this-matrix-cannot")
    return made


def spanning_tree(flows: Mapping[tuple[int, int], Any]) -> Iterator[tuple[Node, Node]]:
    """The edges (node, parent) of a spanning forest of the largest flows, parents before their children."""
    home: dict[Node, Node] = {}

    def root(node: Node) -> Node:
        while home.setdefault(node, node) != node:
            home[node] = home[home[node]]
            node = home[node]
        return node

    near = defaultdict(list)
    for i, j in sorted(flows, key=lambda place: -flows[place]):
        row, column = (0, i), (1, j)
        if root(row) != root(column):
            home[root(row)] = root(column)
            near[row].append(column)
            near[column].append(row)
    seen: set[Node] = set()
    for start in near:
        waiting = [] if start in seen else [start]
        seen.add(start)
        while waiting:
            parent = waiting.pop()
            for node in near[parent]:
                if node not in seen:
                    seen.add(node)
                    waiting.append(node)
                    yield node, parent


def _drawn(parts: Parts, unit: int, random: RandomSource) -> set[tuple[int, int]]:
    """Which flows are rounded up, where ``parts`` lie between 0 and ``unit`` and their margins are multiples of it."""
    near: dict[Node, dict[Node, None]] = defaultdict(dict)
    for i, j in parts:
        near[0, i][1, j] = None
        near[1, j][0, i] = None
    stream, up = random.stream(), set()
    for step, cycle in zip(count(), _cycles(near), strict=False):
        words = WordReader([], more=partial(stream.spill, step))
        for place, part in _moved(cycle, parts, unit, words):
            parts[place] = part
            if part in (0, unit):
                row, column = (0, place[0]), (1, place[1])
                del near[row][column], near[column][row]
                up.update([place] if part else [])
    return up


def _cycles(near: dict[Node, dict[Node, None]]) -> Iterator[list[tuple[int, int]]]:
    """Closed ways along fractional flows, as long as any exist; each that is used makes one of its flows whole."""
    for start in list(near):
        way, at = [start], {start: 0}
        while near[way[-1]]:
            before = way[-2] if len(way) > 1 else None
            node = next(other for other in near[way[-1]] if other != before)
            if node not in at:
                at[node] = len(way)
                way.append(node)
                continue
            closed = [*way[at[node] :], node]
            yield [(a[1], b[1]) if a[0] == 0 else (b[1], a[1]) for a, b in pairwise(closed)]
            for left in way[at[node] + 1 :]:
                del at[left]
            del way[at[node] + 1 :]


def _moved(
    cycle: list[tuple[int, int]], parts: Parts, unit: int, words: WordReader
) -> list[tuple[tuple[int, int], int]]:
    """The parts on a closed way, every other one raised and the rest lowered, or the other way round."""
    plus, minus = [parts[p] for p in cycle[::2]], [parts[p] for p in cycle[1::2]]
    rise, fall = min(unit - max(plus), *minus), min(unit - max(minus), *plus)
    shift = rise if coin(Fraction(fall, rise + fall), words) else -fall
    moved = [[part + shift for part in plus], [part - shift for part in minus]]
    return list(zip([*cycle[::2], *cycle[1::2]], [*moved[0], *moved[1]], strict=True))


class SwapSampler:
    """Deals released categories to records in batches, in an order drawn when the first of a category comes."""

    def __init__(self, flows: IntegerFlows, random: RandomSource | None = None) -> None:
        check_kind(IntegerFlows, flows=flows)
        source = SECURE if random is None else random
        check_source(source)
        self.flows = flows
        self.private = source.private
        self._counts = flows.counts
        self._used = np.zeros(flows.k, dtype=np.int64)
        self._stream = source.stream()
        self._words = 0
        self._orders: dict[int, Array] = {}

    def sample(self, codes: Array) -> Array:
        """The released codes of the next records."""
        true = check_codes(codes, self.flows.k)
        out = np.empty(len(true), dtype=code_type(self.flows.k))
        order = np.argsort(true, kind="stable")
        present, first = np.unique(true[order], return_index=True)
        for j, rows in zip(present.tolist(), np.split(order, first[1:]) if len(true) else [], strict=True):
            out[rows] = self._next(int(j), len(rows))
        return out

    def check_finished(self) -> None:
        """Raise unless every record has come: only then are the counts kept."""
        left = np.flatnonzero(self._used < self._counts)
        if len(left):
            j = int(left[0])
            raise CountsError("category-had-fewer-records", name=self._name(j), category=j)

    def __reduce__(self) -> Any:
        raise WrongTypeError("a-sampler-cannot-be-copied-or")

    def _name(self, j: int) -> str:
        return shorten(repr(self.flows.categories.labels[j]), 30)

    def _next(self, j: int, count: int) -> Array:
        start, end = int(self._used[j]), int(self._used[j]) + count
        if end > self._counts[j]:
            raise CountsError("category-has-more-records", name=self._name(j), category=j)
        self._used[j] = end
        if (order := self._orders.pop(j, None)) is None:  # the released codes of all its records, in random order
            column = slice(int(self.flows.starts[j]), int(self.flows.starts[j + 1]))
            codes = np.repeat(self.flows.rows[column], self.flows.amounts[column]).astype(code_type(self.flows.k))
            first, self._words = self._words, self._words + len(codes)
            order = np.asarray(codes[random_order(self._stream, first, len(codes))])
        if end < self._counts[j]:
            self._orders[j] = order
        return order[start:end]


class UnitDealer:
    """Deals the states of each cell to its units in random order, one for all records of a unit, as batches come.

    All arrangements of the states of a cell are equally likely. Source: derived, as the risk of a targeted swap is.
    """

    def __init__(self, cells: Array, units: Array, labels: Categories, random: RandomSource) -> None:
        """Of each state its cell, and how many units have it; both of shape (k,)."""
        self._cells, self._labels, self.private = cells, labels, random.private
        dealt = np.repeat(np.arange(len(cells)), units)
        dealt = dealt[random_order(random.stream(), 0, len(dealt))]
        self._deck = dealt[np.argsort(cells[dealt], kind="stable")]
        sizes = np.bincount(cells, units, int(cells.max(initial=-1)) + 1).astype(np.int64)
        self._ends = np.cumsum(sizes)
        self._next = self._ends - sizes
        self._left, self._known = units.astype(np.int64).copy(), dict[Any, int]()

    def sample(self, codes: Array, units: Array) -> Array:
        """The released states of the next records, which belong to these units."""
        names, first, place = np.unique(units, return_index=True, return_inverse=True)
        dealt = [self._of_unit(name, code) for name, code in zip(names.tolist(), codes[first].tolist(), strict=True)]
        return np.array(dealt, dtype=code_type(len(self._cells)))[place.reshape(-1)]

    def _of_unit(self, name: Any, code: int) -> int:
        if name not in self._known:
            if not self._left[code]:
                raise CountsError("category-has-more-records", name=self._name(code), category=code)
            self._left[code] -= 1
            cell = int(self._cells[code])
            self._known[name] = int(self._deck[self._next[cell]])
            self._next[cell] += 1
        return self._known[name]

    def check_finished(self) -> None:
        """Raise unless every unit has come: only then are the counts kept."""
        if len(left := np.flatnonzero(self._left)):
            code = int(left[0])
            raise CountsError("category-had-fewer-records", name=self._name(code), category=code)

    def _name(self, code: int) -> str:
        return shorten(repr(self._labels.labels[code]), 30)
