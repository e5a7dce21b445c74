"""Whole flows drawn from a matrix: each flow is rounded up or down at random, so that the margins stay exactly.

The expected flows are those of the matrix. So a single record still changes with the probabilities of the matrix, while
the released counts are the original ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import count, pairwise
from typing import Any

import numpy as np

from maskwell.core.arguments import check_kind
from maskwell.core.arrays import Array
from maskwell.core.draws import WordReader, coin
from maskwell.core.exact import common_denominator, sum_of
from maskwell.core.randomness import SECURE, RandomSource, check_source
from maskwell.designs.sparse import Sparse
from maskwell.errors import NotInvariantError
from maskwell.release.matrices.counts import read_amounts
from maskwell.release.matrices.integer_flows import IntegerFlows
from maskwell.release.matrices.invariance import check_invariant

Flows = dict[tuple[int, int], Fraction]
"""Flows by (released, true) state."""

Parts = dict[tuple[int, int], int]
"""Fractional parts of flows, over one denominator."""


def whole_flows(design: Sparse, counts: Any, random: RandomSource | None = None) -> IntegerFlows:
    """Draw whole flows with ``E(F_ij) = p_ij N_j``, each at the whole number below or above, with margins N.

    Fractional parts are moved around closed ways, up or down by as much as fits, with the probabilities that keep
    their expectation; each move makes at least one flow whole.

    Parameters
    ----------
    design
        An invariant matrix. Where it is so only within 1e-9, as after a linear program, the flows are first shifted
        by as little along a spanning tree of the largest.
    counts
        Records of each state.

    Source: derived; controlled rounding with unbiased draws.

    >>> from maskwell.release.matrices.sequential import sequential_uniform
    >>> found = whole_flows(sequential_uniform([12, 8, 3]), [12, 8, 3])
    >>> found.counts.tolist(), found.amounts.tolist() in ([7, 4, 1, 4, 3, 1, 1, 1, 1], [8, 3, 1, 3, 4, 1, 1, 1, 1])
    ([12, 8, 3], True)
    """
    check_source(SECURE if random is None else random)
    check_kind(Sparse, design=design)
    records = read_amounts(counts)
    check_invariant(design, counts)
    exact = balanced(_exact_flows(design, records.integers), records.integers)
    unit = common_denominator(exact.values())
    split = {place: divmod(flow.numerator * (unit // flow.denominator), unit) for place, flow in exact.items()}
    up = _drawn({place: part for place, (_, part) in split.items() if part}, unit, random or SECURE)
    amounts = [(*place, whole + (place in up)) for place, (whole, _) in split.items()]
    kept = np.array([entry for entry in amounts if entry[2]], dtype=np.int64).reshape(-1, 3)
    order = np.lexsort((kept[:, 0], kept[:, 1]))
    rows, columns, whole = kept[order].T
    return IntegerFlows(np.searchsorted(columns, np.arange(design.k + 1)), rows, whole, design.inputs)


def _exact_flows(design: Sparse, counts: Array) -> Flows:
    occurring = np.flatnonzero(counts > 0).tolist()
    return {(i, j): p * int(counts[j]) for j in occurring for i, p in design.columns_exact(j).items()}


def balanced(flows: Flows, counts: Array) -> Flows:
    """Flows whose rows sum to the counts exactly, as their columns do."""
    rows = defaultdict(list)
    for (i, _), flow in flows.items():
        rows[i].append(flow)
    lacking = {i: int(counts[i]) - sum_of(own) for i, own in rows.items()}
    if not any(lacking.values()):
        return flows
    return _shifted(flows, {(0, i): amount for i, amount in lacking.items()})


Node = tuple[int, int]
"""A row (0, i) or a column (1, j)."""


def _shifted(flows: Flows, lacking: dict[Node, Fraction]) -> Flows:
    """What the rows lack is passed along a spanning tree, from its leaves to its root, by raising and lowering."""
    made = dict(flows)
    for node, parent in reversed(list(_tree(flows))):
        amount = lacking.get(node, Fraction(0))
        place = (node[1], parent[1]) if node[0] == 0 else (parent[1], node[1])
        made[place] += amount
        lacking[parent] = lacking.get(parent, Fraction(0)) - amount
        if made[place] < 0:
            raise NotInvariantError(
                "the flows of this matrix cannot be made to keep the counts exactly",
                hint="swap with a closed form, such as inverse-frequency or method1",
            )
    return made


def _tree(flows: Flows) -> Iterator[tuple[Node, Node]]:
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
                _removed(near, place)
                up.update([place] if part else [])
    return up


def _cycles(near: dict[Node, dict[Node, None]]) -> Iterator[list[tuple[int, int]]]:
    """Closed ways along fractional flows, as long as there are any; whoever takes one makes a flow of it whole."""
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


def _removed(near: dict[Node, dict[Node, None]], place: tuple[int, int]) -> None:
    row, column = (0, place[0]), (1, place[1])
    del near[row][column], near[column][row]
