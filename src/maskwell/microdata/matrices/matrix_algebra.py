"""Matrices made of matrices; all keep invariance: one for each cell, mixed with the identity, one after another."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from maskwell.core.arguments import Array, as_array, as_list
from maskwell.core.categories import Categories
from maskwell.core.exact import Number, check_probability, to_text
from maskwell.designs.coded import CodedDesign
from maskwell.designs.design import Design
from maskwell.designs.kronecker import check_coded
from maskwell.designs.sparse import Sparse
from maskwell.designs.uniform import Uniform
from maskwell.errors import CountsError, MatrixError, ParameterError
from maskwell.microdata.matrices import matrix_patterns as patterns
from maskwell.microdata.matrices.bounds import as_words, labels_for, read_amounts

Make = Callable[[Array], Sparse]  # From the counts of a cell to its matrix


def blockwise(cells: Iterable[Hashable], v: Any, make: Make, *, categories: Categories | None = None) -> Sparse:
    """One matrix for each cell, made from the counts of its states; one alone stays [Adeshiyan2011, Theorem 4.1]."""
    values = v if isinstance(v, np.ndarray) else np.array([*as_list(v, "counts"), None], dtype=object)[:-1]
    amounts = read_amounts(values, weighted=True)
    inputs, numbers = labels_for(amounts, categories), patterns.block_numbers(cells, len(amounts))
    places = patterns.places_by_cell(numbers)
    made: dict[tuple[Any, ...], Sparse] = {}
    parts = []
    for members in places:
        key = tuple(values[members].tolist())
        if key not in made:
            several = amounts.support[members].sum() > 1
            made[key] = make(values[members]) if several else _unchanged(len(members))
            if made[key].k != len(members) or made[key].m != len(members):
                raise MatrixError(
                    "make-returned-a-matrix-of-rows", m=made[key].m, k=made[key].k, counts_count=len(members)
                )
        parts.append(made[key])
    methods = {part.provenance.get("method", "given") for part in made.values()} - {"unchanged"}
    return patterns.with_notes(Sparse.stacked(parts, places, inputs), amounts, "/".join(sorted(methods)) or "unchanged")


def _unchanged(states: int) -> Sparse:
    return Sparse.unchanged(Categories.numbered(states)).with_provenance(method="unchanged")


def conditional_matrix(parts: Mapping[Hashable, Any] | Sequence[Any], order: Literal["x", "y"] = "x") -> Sparse:
    """X randomized by a matrix of its own for each y, as one matrix over the pairs: ``[y' = y] P_y[x', x]``.

    Source: [Adeshiyan2011, Example 4.3 and eq. (4.1)], which prints the matrix of order "x" but lists order "y".
    """
    named: dict[Hashable, Any] = dict(parts) if isinstance(parts, Mapping) else dict(enumerate(as_list(parts, "parts")))
    if not named:
        raise ParameterError("no-matrices")
    designs = [
        patterns.as_sparse(check_coded([part], "a conditional matrix")[0])
        if isinstance(part, Design)
        else Sparse.of_matrix(part)
        for part in named.values()
    ]
    states = designs[0].inputs.labels
    if any(part.k != len(states) or part.m != len(states) for part in designs):
        raise MatrixError("matrices-of-different-sizes")
    grid = np.arange(len(states) * len(designs)).reshape(
        (len(states), len(designs)) if order == "x" else (-1, len(states))
    )
    places = list(grid.T if order == "x" else grid)
    pairs = [(x, y) for x in states for y in named] if order == "x" else [(y, x) for y in named for x in states]
    return Sparse.stacked(designs, places, Categories.of(pairs))


def mixed(design: Sparse, a: Number) -> Sparse:
    """``a P + (1 - a) I``, also invariant: such matrices form a convex set [Adeshiyan2011, section 4.5]."""
    strength = check_probability(a, "strength")
    if design.m != design.k:
        raise MatrixError("a-matrix-of-reports-by-categories", m=design.m, k=design.k)
    part, whole = strength.numerator, strength.denominator
    bound = whole * int(max(design.denominators))
    numerators = as_words(np.asarray(design.numerators), bound) * part
    kept = as_words(np.asarray(design.denominators), bound) * (whole - part)
    diagonal = np.arange(design.k)
    columns = np.concatenate([np.repeat(diagonal, np.diff(design.starts)), diagonal])
    rows = np.concatenate([design.rows, diagonal])
    made = patterns.from_entries(columns, rows, np.concatenate([numerators, kept]), design.inputs)
    return made.with_provenance(**design.provenance, strength=to_text(strength))


def chained(first: Sparse, then: Sparse) -> Sparse:
    """``P = P_2 P_1``, exactly: ``first``, then ``then``, in one step."""
    if first.m != then.k:
        raise MatrixError("the-first-matrix-has-reports", m=first.m, k=then.k)
    second = [then.columns_exact(j) for j in range(then.k)]
    columns: list[dict[int, Fraction]] = []
    for j in range(first.k):  # the columns of the second matrix, weighted
        total: dict[int, Fraction] = {}
        for state, p in first.columns_exact(j).items():
            for report, q in second[state].items():
                total[report] = total.get(report, Fraction(0)) + p * q
        columns.append(total)
    return Sparse.of_columns(columns, first.inputs)


def repeated(design: CodedDesign, a: Number) -> tuple[CodedDesign, CodedDesign]:
    """``C = a P + (1 - a) I`` and ``C P``: the report randomized again, and both in one; C P reveals no more than P."""
    if isinstance(design, Uniform):
        truth = 1 - check_probability(a, "again") * (1 - design.truth)
        return Uniform.of(truth, design.inputs), Uniform.of(truth * design.truth, design.inputs)
    first = patterns.as_sparse(design)
    then = mixed(first, a)
    return then, chained(first, then)


@dataclass(frozen=True, eq=False)
class TwoStage:
    """Both stages over the pairs of categories, X the slower: X within each y, then Y within each released x."""

    first: Sparse
    second: Sparse

    @cached_property
    def design(self) -> Sparse:
        """Both in one matrix, ``P = P_2 P_1``: invariant for the table."""
        return chained(self.first, self.second)


def two_stage(table: Array, first: Make, second: Make) -> TwoStage:
    """X within each y, then Y within each released x, with matrices made from the columns and rows of the table.

    After the first stage the counts of Y are as they were, after both neither margin is exact. A second stage from the
    table that the first gave would be no one matrix any more. Source: [Adeshiyan2011, Theorems 4.1 and 4.2].
    """
    counts = as_array(table, "table")
    if counts.ndim != 2:
        raise CountsError("a-table-of-variables", ndim=counts.ndim)
    labels = Categories.of([*np.ndindex(counts.shape)])
    rows, columns = np.indices(counts.shape)
    one = blockwise(columns.ravel(), counts.ravel(), first, categories=labels)
    two = blockwise(rows.ravel(), counts.ravel(), second, categories=labels)
    return TwoStage(one, two)
