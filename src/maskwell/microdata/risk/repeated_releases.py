"""Two releases of one record, with truths (a, a') and reports (z, z'): what they reveal together.

    fresh draws                        p_za p_z'a'
    kept draws, same truth             p_za where z = z', else 0;  any other path as for fresh draws
    kept draws randomized once more    sum_y c_zy c_z'y p_ya for the same truth;  else (C P)_za (C P)_z'a'

The parity of two paths is the largest ratio of these. Source: [Adeshiyan2011, Definition 4.2]; derived.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from maskwell.core.exact import Parity, to_text
from maskwell.designs.coded import CodedDesign
from maskwell.designs.dense import design_of
from maskwell.designs.sparse import Sparse
from maskwell.microdata.stages.stage import Stage

EXACT_LIMIT = 2 * 10**5  # products of fractions that are worked out for the parity of paths

Law = list[list[Fraction]]


@dataclass(frozen=True)
class PathParities:
    """The largest parities of two paths of truths, over two releases, by what the paths have in common."""

    unchanged: Parity  # of (a, a) and (b, b): what both releases tell of a truth that stays the same
    change: Parity  # of (a, a) and (b, c): what they tell about whether the truth changed
    changed: Parity  # of (a, b) and (c, d): what they tell of two truths that differ

    def to_dict(self) -> dict[str, str]:
        """Fractions as text, ``"inf"`` where a path rules another one out."""
        return {name: to_text(parity) for name, parity in vars(self).items()}


def two_releases(design: Any, *, kept: bool, again: Any = None) -> PathParities:
    """What two releases with one design reveal about a record; ``again`` is a fresh draw for each kept report."""
    P = design_of(design).exact_matrix()
    C = None if again is None else design_of(again).exact_matrix()
    rows = P if C is None else _products(C, [*zip(*P, strict=True)])
    # for each truth that stays the same the chances of all pairs of reports; None where draws are independent
    same = [_through(own, C) for own in zip(*P, strict=True)] if kept else None
    largest: dict[str, Parity] = dict.fromkeys(("unchanged", "change", "changed"), Fraction(1))
    for (z, row), (other_z, other) in product(enumerate(rows), repeat=2):
        each = [row[a] * other[a] if same is None else same[a][z][other_z] for a in range(len(row))]
        stays, differs = (min(each), max(each)), _of_different(row, other)
        cells = {"unchanged": (stays, stays), "change": (stays, differs), "changed": (differs, differs)}
        for name, (one, another) in cells.items():
            if one is not None and another is not None:
                largest[name] = max(largest[name], _ratio(one[1], another[0]), _ratio(another[1], one[0]))
    return PathParities(**largest)


def _of_different(row: Sequence[Fraction], other: Sequence[Fraction]) -> tuple[Fraction, Fraction] | None:
    """The least and the largest product of two entries in different places; None where there is one place."""
    order, its = (sorted(range(len(own)), key=own.__getitem__) for own in (row, other))

    def products(places: Sequence[int], others: Sequence[int]) -> list[Fraction]:
        return [row[a] * other[b] for a, b in product(places, others) if a != b]

    if len(row) < 2:
        return None
    return min(products(order[:2], its[:2])), max(products(order[-2:], its[-2:]))


def path_parities(stage: Stage, *, kept: bool) -> PathParities | None:
    """What two releases with one stage reveal, about states that can be released as each other; None where unknown."""
    first, then = stage.steps if kept and stage.steps is not None else (stage.design, None)
    blocks = _blocks(stage)
    if not blocks or sum(len(states) ** (3 if then is None else 4) for states in blocks) > EXACT_LIMIT:
        return None
    found = []
    for states in blocks:
        again = None if then is None else _part(then, states, states)  # it takes all that the first can give
        found.append(two_releases(_part(first, states), kept=kept, again=again))
    return PathParities(*(max(getattr(one, name) for one in found) for name in vars(found[0])))


def _blocks(stage: Stage) -> list[list[int]]:
    """States that can be released as each other, where they are more than one."""
    design = stage.design
    groups = design.components() if isinstance(design, Sparse) else np.zeros(design.k, dtype=np.int64)
    order = np.argsort(groups, kind="stable")
    blocks = np.split(order, np.cumsum(np.bincount(groups))[:-1])
    return [states.tolist() for states in blocks if len(states) > 1]


def _part(design: CodedDesign, states: Sequence[int], reports: Sequence[int] | None = None) -> Law:
    if isinstance(design, Sparse):
        columns = [design.columns_exact(j) for j in states]
        rows = sorted({i for column in columns for i in column}) if reports is None else reports
        return [[column.get(i, Fraction(0)) for column in columns] for i in rows]
    return [[*row] for row in design.exact_matrix()]


def _through(chances: Sequence[Fraction], C: Sequence[Sequence[Fraction]] | None) -> Law:
    """``C diag(p) C'``: one kept report, randomized anew for each release; C is None where it is not."""
    if C is None:
        return [[p if i == j else Fraction(0) for j in range(len(chances))] for i, p in enumerate(chances)]
    return _products([[c * p for c, p in zip(row, chances, strict=True)] for row in C], C)


def _products(rows: Sequence[Sequence[Fraction]], others: Sequence[Sequence[Fraction]]) -> Law:
    """The sum of products of every row with every other, in whole numbers: fractions would be reduced at each step."""
    left, right = ([_whole(row) for row in one] for one in (rows, others))
    return [[Fraction(sum(map(operator.mul, row, other)), n * m) for other, m in right] for row, n in left]


def _whole(row: Sequence[Fraction]) -> tuple[list[int], int]:
    common = math.lcm(*(one.denominator for one in row))
    return [one.numerator * (common // one.denominator) for one in row], common


def _ratio(high: Fraction, low: Fraction) -> Parity:
    if not high:
        return Fraction(1)
    return high / low if low else math.inf
