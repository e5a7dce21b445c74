"""Canonical order: the same design with reports and categories in an order that does not depend on who wrote it down.

Source: [Adeshiyan2011, Remarks 2.2 and 2.4, section 3.2]; which rows are merged is [ChaiNayak2018, Remark 4.1].
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from maskwell.core.arguments import Flag, as_list, check_kind
from maskwell.core.categories import Categories
from maskwell.designs.coded import CodedDesign
from maskwell.designs.dense import Dense
from maskwell.designs.rows import reduce_rows
from maskwell.errors import LabelError


@dataclass(frozen=True)
class Canonical:
    """A design in canonical order, and how to get there.

    Attributes
    ----------
    design
        The same probabilities, reordered; labels stay with their rows and columns.
    reports
        For each report of ``design`` the reports of the original that it stands for: one, or several when merged.
    categories
        For each category of ``design`` that of the original.
    """

    design: Dense
    reports: tuple[tuple[int, ...], ...]
    categories: tuple[int, ...]


def canonical_order(
    design: CodedDesign, *, most_sensitive_first: Iterable[Hashable] | None = None, merge: bool = False
) -> Canonical:
    """The design with its most incriminating report first.

    Two categories: reports that never come are dropped, the others sorted by the ratio alpha_i / beta_i, largest first
    (beta_i = 0 counts as infinite), ties by alpha_i. More categories: sorted by P[i, 1], largest first, ties by
    P[i, 2], and so on.

    where alpha and beta are the columns of P, and ``most_sensitive_first`` lists all categories in order of their
    sensitivity; the order of the design if left out. ``merge`` adds up reports with proportional rows, which tell the
    same; a merged report bears the tuple of their labels. (a, b) and (1 - a, 1 - b) come out alike, with a > b.
    Source: [Adeshiyan2011, Remarks 2.2 and 2.4]; for more categories section 3.2 there, whose printed order is that of
    categories instead of reports.

    >>> design = Dense.of([["0.2", "0.6"], ["0.8", "0.4"]], Categories.of(["user", "other"]), Categories.of(["a", "b"]))
    >>> found = canonical_order(design)
    >>> found.design.outputs.labels, found.reports   # b points to users: twice as likely from them
    (('b', 'a'), ((1,), (0,)))
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


def _order(categories: Categories, wanted: Iterable[Hashable] | None) -> list[int]:
    if wanted is None:
        return list(range(len(categories)))
    order = [categories.code(label) for label in as_list(wanted, "most_sensitive_first")]
    if sorted(order) != list(range(len(categories))):
        raise LabelError(
            f"{len(set(order))} of {len(categories)} categories are ordered by sensitivity",
            hint="name every category once, the most sensitive first",
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
