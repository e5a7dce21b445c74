"""Matrices made of matrices, which keep invariance: *mixed* with the identity, and *chained*, one after another."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from maskwell.core.arguments import Array, check_kind
from maskwell.core.exact import Number, check_probability, to_text
from maskwell.designs.coded import CodedDesign
from maskwell.designs.sparse import Sparse
from maskwell.designs.uniform import Uniform
from maskwell.errors import MatrixError
from maskwell.microdata.matrices.bounds import as_words
from maskwell.microdata.matrices.matrix_patterns import as_sparse, from_entries

# ---- one for each cell


def places_by_cell(numbers: Array) -> list[Array]:
    """The places of the states of each cell, given its number."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1) if len(order) else []


# ---- weaker, and one after another


def mixed(design: Sparse, a: Number) -> Sparse:
    """``a P + (1 - a) I``: the share ``1 - a`` of the records is left alone.

    Source: derived; [Adeshiyan2011, section 4.5] notes that invariant matrices form a convex set.
    """
    check_kind(Sparse, design=design)
    strength = check_probability(a, "strength")
    check_square(design)
    part, whole = strength.numerator, strength.denominator
    bound = whole * int(max(design.denominators))
    numerators = as_words(np.asarray(design.numerators), bound) * part
    kept = as_words(np.asarray(design.denominators), bound) * (whole - part)
    diagonal = np.arange(design.k)
    columns = np.concatenate([np.repeat(diagonal, np.diff(design.starts)), diagonal])
    rows = np.concatenate([design.rows, diagonal])
    made = from_entries(columns, rows, np.concatenate([numerators, kept]), design.inputs)
    return made.with_provenance(**design.provenance, strength=to_text(strength))


def chained(first: Sparse, then: Sparse) -> Sparse:
    """``P = P_2 P_1``, exactly: ``first``, then ``then``, in one step."""
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
    """
    if isinstance(design, Uniform):
        truth = 1 - check_probability(a, "again") * (1 - design.truth)
        return Uniform.of(truth, design.inputs), Uniform.of(truth * design.truth, design.inputs)
    first = as_sparse(design)
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


# ---- two variables, each within the other
