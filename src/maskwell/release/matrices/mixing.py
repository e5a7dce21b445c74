"""Weakening and chaining: a mixture with the identity, and one matrix after another. All keep invariance."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from maskwell.core.arguments import check_kind
from maskwell.core.exact import Number, check_probability, to_text
from maskwell.designs.coded import CodedDesign
from maskwell.designs.sparse import Sparse
from maskwell.designs.uniform import Uniform
from maskwell.errors import MatrixError
from maskwell.release.matrices.assembling import from_entries
from maskwell.release.matrices.counts import as_words


def mixed(design: Sparse, a: Number) -> Sparse:
    """``a P + (1 - a) I``: the share ``1 - a`` of the records is left alone.

    Source: derived; [Adeshiyan2011, section 4.5] notes that invariant matrices form a convex set.

    >>> from maskwell.release.matrices.sequential import sequential_uniform
    >>> mixed(sequential_uniform([12, 8, 3]), "1/2").columns_exact(2)   # half of the change
    {0: Fraction(1, 6), 1: Fraction(1, 6), 2: Fraction(2, 3)}
    """
    check_kind(Sparse, design=design)
    strength = check_probability(a, "strength")
    check_square(design)
    part, whole = strength.numerator, strength.denominator
    bound = whole * int(max(design.denominators))
    numerators = as_words(np.asarray(design.numerators), bound) * part
    kept = as_words(np.asarray(design.denominators), bound) * (whole - part)
    own = np.arange(design.k)
    columns = np.concatenate([np.repeat(own, np.diff(design.starts)), own])
    rows = np.concatenate([design.rows, own])
    made = from_entries(columns, rows, np.concatenate([numerators, kept]), design.inputs)
    return made.with_provenance(**design.provenance, strength=to_text(strength))


def chained(first: Sparse, then: Sparse) -> Sparse:
    """``P = P_2 P_1``, exactly: ``first``, then ``then``, in one step.

    >>> from maskwell.release.matrices.method1 import method1
    >>> step = method1([2, 1], "1/2")
    >>> chained(step, step).columns_exact(1)   # three eighths of the smaller category end where they began
    {0: Fraction(5, 8), 1: Fraction(3, 8)}
    """
    check_kind(Sparse, first=first, then=then)
    if first.m != then.k:
        raise MatrixError(
            f"the first matrix has {first.m} reports, the second {then.k} categories",
            hint="stages of one file work on the same cells, in the same order",
        )
    second = [then.columns_exact(j) for j in range(then.k)]
    return Sparse.of_columns([_column(first.columns_exact(j), second) for j in range(first.k)], first.inputs)


def repeated(design: CodedDesign, a: Number) -> tuple[CodedDesign, CodedDesign]:
    """``C = a P + (1 - a) I`` and ``C P``: a second randomization of the report by the same matrix, and both in one.

    Both keep what P keeps, and C P tells no more than P.

    >>> from maskwell.core.categories import Categories
    >>> again, whole = repeated(Uniform.from_gamma(3, Categories.of(["yes", "no"])), "1/2")
    >>> again.parity_exact(), whole.parity_exact()
    (Fraction(7, 1), Fraction(11, 5))
    """
    if isinstance(design, Uniform):
        truth = 1 - check_probability(a, "again") * (1 - design.truth)
        return Uniform.of(truth, design.inputs), Uniform.of(truth * design.truth, design.inputs)
    first = design if isinstance(design, Sparse) else Sparse.of_matrix(design.exact_matrix(), design.inputs)
    then = mixed(first, a)
    return then, chained(first, then)


def _column(entries: dict[int, Fraction], second: list[dict[int, Fraction]]) -> dict[int, Fraction]:
    """One column of the product: the columns of the second matrix, weighted."""
    total: dict[int, Fraction] = {}
    for state, p in entries.items():
        for report, q in second[state].items():
            total[report] = total.get(report, Fraction(0)) + p * q
    return total


def check_square(design: Sparse) -> None:
    """Raise unless every category can be reported as itself."""
    if design.m != design.k:
        raise MatrixError(
            f"a matrix of {design.m} reports by {design.k} categories has no diagonal",
            hint="give a matrix with the same categories before and after",
        )
