"""Rows of a matrix that are equally informative: merging proportional ones changes nothing.

    original = C merged,       C[i, G] = |row i| / |sum of G|  for i in a group G
    merged   = C_star original,   C_star[G, i] = 1  for i in G

**Canonical order** is the same design in an order that does not depend on who wrote it down.

Source: [ChaiNayak2018, Remark 4.1 and Theorem 4.1]; for the order [Adeshiyan2011, Remarks 2.2 and 2.4, section 3.2].
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from maskwell.core.arguments import Flag, Real, as_list, check_kind
from maskwell.core.categories import Categories
from maskwell.core.exact import to_float
from maskwell.designs.coded import CodedDesign
from maskwell.designs.dense import Dense
from maskwell.designs.design import Design
from maskwell.designs.rational import Matrix, Rows
from maskwell.errors import LabelError

Groups = list[list[int]]
RTOL = 1e-9


@dataclass(frozen=True, repr=False)
class Reduction:
    """A matrix without zero and proportional rows, and the way back."""

    rows: Matrix  # the merged rows, in the order in which they first occur
    groups: tuple[tuple[int, ...], ...]  # for each merged row the rows of the original that it stands for
    shares: tuple[Fraction, ...]  # for each row of the original its part of its merged row; 0 for a row of zeros
    exact: bool  # whether ``C merged`` is the original exactly; False only where nearly proportional rows were merged

    @property
    def merged(self) -> bool:
        """Whether anything was dropped or added up."""
        return len(self.rows) < len(self.shares)

    @property
    def C(self) -> Matrix:
        """``original = C merged``, shape (m, number of groups)."""
        pairs = zip(self.homes, self.shares, strict=True)
        return [[share if g == home else Fraction(0) for g in range(len(self.groups))] for home, share in pairs]

    @property
    def C_star(self) -> Matrix:
        """``merged = C_star original``, shape (number of groups, m); what never comes is put to the first group."""
        return [[Fraction(g == home) for home in self.homes] for g in range(len(self.groups))]

    @cached_property
    def homes(self) -> list[int]:
        """The group of each row of the original; the first one for rows of zeros."""
        homes = [0] * len(self.shares)
        for g, group in enumerate(self.groups):
            for i in group:
                homes[i] = g
        return homes

    def __repr__(self) -> str:
        return f"Reduction({len(self.shares)} rows to {len(self.rows)}{'' if self.exact else ', not exactly'})"


def reduce_rows(rows: Rows) -> Reduction:
    """Drop rows of zeros and add up rows that are exactly proportional."""
    return _reduction(rows, _exact_groups(rows))


def reduce_rows_near(rows: Rows, rtol: float = RTOL) -> Reduction:
    """The same for fractions of floats: rows are alike when their entries, normalised, agree within rtol."""
    return _reduction(rows, _near_groups(rows, rtol))


def reduction_of(design: Design) -> Reduction:
    """The design's matrix with proportional reports merged: as informative, with fewer reports."""
    check_kind(Design, design=design)
    return reduce_rows(design.exact_matrix())


def equivalent(A: Rows, P: Rows, rtol: float = RTOL) -> bool:
    """Whether two matrices are equally informative: merged rows agree up to order; exactly for ``rtol = 0``."""
    if not rtol:
        return sorted(reduce_rows(A).rows) == sorted(reduce_rows(P).rows)
    first, second = reduce_rows_near(A, rtol).rows, reduce_rows_near(P, rtol).rows
    return len(first) == len(second) and _match(first, second, rtol)


def _reduction(rows: Rows, groups: Iterable[Sequence[int]]) -> Reduction:
    merged, shares, exact = [], [Fraction(0)] * len(rows), True
    for group in groups:
        total = [sum(column, Fraction(0)) for column in zip(*(rows[i] for i in group), strict=True)]
        size = sum(total)
        for i in group:
            shares[i] = sum(rows[i], Fraction(0)) / size
            exact = exact and all(shares[i] * t == p for t, p in zip(total, rows[i], strict=True))
        merged.append(total)
    return Reduction(merged, tuple(tuple(group) for group in groups), tuple(shares), exact)


def _exact_groups(rows: Rows) -> Groups:
    groups: dict[tuple[Fraction, ...], list[int]] = {}
    for i, row in enumerate(rows):
        if any(row):
            groups.setdefault(_normalised(row), []).append(i)
    return list(groups.values())


def _normalised(row: Sequence[Fraction]) -> tuple[Fraction, ...]:
    total = sum(row, Fraction(0))
    return tuple(p / total for p in row)


def _near_groups(rows: Rows, rtol: float) -> Groups:
    """Groups of exactly proportional rows, joined where they nearly are; a zero is never near to anything else."""
    exact = _exact_groups(rows)
    by_zeros: dict[tuple[bool, ...], Groups] = {}
    for group in exact:
        by_zeros.setdefault(tuple(map(bool, rows[group[0]])), []).append(group)
    joined: Groups = []
    for groups in by_zeros.values():
        shapes = np.array([[to_float(p) for p in _normalised(rows[group[0]])] for group in groups])
        joined += [sorted(i for g in alike for i in groups[g]) for alike in _alike(shapes, rtol)]
    return sorted(joined)


def _alike(shapes: Real, rtol: float) -> Groups:
    """Rows within rtol of the first one of their group, entry by entry; no grid, whose lines values may straddle."""
    groups, left = [], np.ones(len(shapes), dtype=bool)
    for i in range(len(shapes)):
        if left[i]:
            alike = left & np.isclose(shapes, shapes[i], rtol=rtol, atol=0).all(axis=1)
            groups.append(np.flatnonzero(alike).tolist())
            left &= ~alike
    return groups


def _match(first: Rows, second: Rows, rtol: float) -> bool:
    """Whether every row of the first has a row of its own in the second, the nearest one that is left."""
    left = np.array([[to_float(p) for p in row] for row in second])
    for row in first:
        target = np.array([to_float(p) for p in row])
        fits = np.flatnonzero(np.isclose(left, target, rtol=rtol, atol=0).all(axis=1))
        if not len(fits):
            return False
        left = np.delete(left, fits[np.abs(left[fits] - target).max(axis=1).argmin()], axis=0)
    return True


@dataclass(frozen=True)
class Canonical:
    """A design in canonical order, and how to get there."""

    design: Dense  # the same probabilities, reordered; labels stay with their rows and columns
    # for each report of ``design`` the reports of the original that it stands for: one, or several when merged
    reports: tuple[tuple[int, ...], ...]
    categories: tuple[int, ...]  # for each category of ``design`` that of the original


def canonical_order(
    design: CodedDesign, *, most_sensitive_first: Iterable[Hashable] | None = None, merge: bool = False
) -> Canonical:
    """The design with its most incriminating report first.

    Two categories: reports that never come are dropped, the others sorted by P[i, 1] / P[i, 2], largest first, ties by
    P[i, 1]. More: sorted by P[i, 1], largest first, ties by P[i, 2], and so on. ``most_sensitive_first`` lists the
    categories; ``merge`` adds up reports with proportional rows, which then bear the tuple of their labels.

    Source: [Adeshiyan2011, Remarks 2.2 and 2.4]; for more categories section 3.2 there, whose printed order is that of
    categories instead of reports.
    """
    check_kind(CodedDesign, design=design)
    check_kind(Flag, merge=merge)
    columns = _order(design.inputs, most_sensitive_first)
    rows = [[row[j] for j in columns] for row in design.exact_matrix()]
    groups = list(reduce_rows(rows).groups) if merge else [(i,) for i, row in enumerate(rows) if any(row)]
    sums = {group: _added(rows, group) for group in groups}
    ordered = sorted(groups, key=lambda group: _place(sums[group]), reverse=True)
    labels = [_label(design.outputs, group) for group in ordered]
    inputs = Categories.of(design.inputs.labels[j] for j in columns)
    made = Dense.of([sums[group] for group in ordered], inputs, Categories.of(labels))
    return Canonical(made.with_provenance(**design.provenance), tuple(ordered), tuple(columns))


def _order(categories: Categories, labels: Iterable[Hashable] | None) -> list[int]:
    if labels is None:
        return list(range(len(categories)))
    order = [categories.code(label) for label in as_list(labels, "most_sensitive_first")]
    if sorted(order) != list(range(len(categories))):
        raise LabelError(
            "of-categories-are-ordered-by-sensitivity", order_count=len(set(order)), categories_count=len(categories)
        )
    return order


def _added(rows: Sequence[Sequence[Fraction]], group: Sequence[int]) -> list[Fraction]:
    return [sum(column, Fraction(0)) for column in zip(*(rows[i] for i in group), strict=True)]


def _place(row: Sequence[Fraction]) -> tuple[Fraction | float, ...]:
    """What rows are sorted by, largest first."""
    if len(row) != 2:
        return tuple(row)
    alpha, beta = row
    return (alpha / beta if beta else math.inf, alpha)


def _label(outputs: Categories, group: Sequence[int]) -> Hashable:
    labels = tuple(outputs.labels[i] for i in group)
    return labels[0] if len(labels) == 1 else labels
