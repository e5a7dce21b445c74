"""A matrix of its own in every cell of other variables, which stay as they are: block totals stay exactly."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from maskwell.core.arguments import as_list, check_kind
from maskwell.core.arrays import Array
from maskwell.core.categories import Categories
from maskwell.core.phrases import VALUES, listed
from maskwell.designs.design import Design
from maskwell.designs.kronecker import check_coded
from maskwell.designs.sparse import Sparse
from maskwell.errors import MatrixError, ParameterError, UnknownCategoryError, WrongTypeError
from maskwell.release.matrices.assembling import block_numbers
from maskwell.release.matrices.counts import check_length, read_amounts
from maskwell.release.matrices.noted import noted

Make = Callable[[Array], Sparse]
"""From the counts of a cell to its matrix."""


def blockwise(cells: Iterable[Hashable], v: Any, make: Make, *, categories: Categories | None = None) -> Sparse:
    """One matrix for each cell, made from the counts of its states; a state alone in its cell stays as it is.

    Invariance in every cell is invariance as a whole.

    Parameters
    ----------
    cells
        The cell of each state; states of a cell need not stand together.
    v
        Counts or weighted counts of the states.
    make
        Called once for every different set of counts, and returns the matrix of that cell.

    Source: [Adeshiyan2011, Theorem 4.1 and eq. (4.18)].

    >>> from maskwell.release.matrices.method1 import method1
    >>> design = blockwise(["single", "single", "married"], [30, 20, 50], lambda v: method1(v, "1/2"))
    >>> design.diagonal().round(3).tolist()   # only adults are married: they are not protected
    [0.667, 0.5, 1.0]
    """
    check_kind(Callable, make=make)
    values = v if isinstance(v, np.ndarray) else np.array([*as_list(v, "counts"), None], dtype=object)[:-1]
    amounts = read_amounts(values, weighted=True)
    inputs, numbers = check_length(amounts, categories), block_numbers(cells, len(amounts))
    places = places_by_cell(numbers)
    made: dict[tuple[Any, ...], Sparse] = {}
    parts = []
    for own in places:
        key = tuple(values[own].tolist())
        if key not in made:
            made[key] = _part(values[own], amounts.support[own], make)
        parts.append(made[key])
    methods = {part.provenance.get("method", "given") for part in made.values()} - {"unchanged"}
    return noted(Sparse.stacked(parts, places, inputs), amounts, "/".join(sorted(methods)) or "unchanged")


def places_by_cell(numbers: Array) -> list[Array]:
    """The places of the states of each cell, given its number.

    >>> [own.tolist() for own in places_by_cell(np.array([1, 0, 1]))]
    [[1], [0, 2]]
    """
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1) if len(order) else []


def _part(counts: Array, occurring: Array, make: Make) -> Sparse:
    if occurring.sum() > 1:
        made = make(counts)
        check_kind(Sparse, **{"what make returns": made})
        if made.k != len(counts) or made.m != len(counts):
            raise MatrixError(
                f"make returned a matrix of {made.m:,} rows and {made.k:,} columns for {len(counts):,} counts",
                hint="return a matrix with a row and a column for each of the counts that make is given",
            )
        return made
    return Sparse.unchanged(Categories.numbered(len(counts))).with_provenance(method="unchanged")


def conditional_matrix(
    parts: Mapping[Hashable, Any] | Sequence[Any],
    order: Literal["x", "y"] = "x",
    *,
    levels: Iterable[Hashable] | None = None,
) -> Sparse:
    """X randomized by a matrix of its own for each y, and Y kept, as one matrix over the pairs.

        Pr(x', y' | x, y) = [y' = y] P_y[x', x]

    Parameters
    ----------
    parts
        For each y its design, or a matrix whose columns sum to one; all over the same categories of X.
    order
        "x": the pairs (x, y) with X slowest, where the matrices are scattered. "y": Y slowest, where they are blocks.
    levels
        The categories of Y in the data; each must have its matrix.

    Source: [Adeshiyan2011, Example 4.3 and eq. (4.1)], which prints the matrix of order "x" but lists order "y".

    >>> swap, keep = [[0, 1], [1, 0]], [[1, 0], [0, 1]]
    >>> conditional_matrix({"north": swap, "south": keep}).columns_exact(0)   # (0, north) becomes (1, north)
    {2: Fraction(1, 1)}
    """
    named: dict[Hashable, Any] = dict(parts) if isinstance(parts, Mapping) else dict(enumerate(as_list(parts, "parts")))
    check_kind(str, order=order)
    _check_levels(named, levels)
    designs = [_sparse(part) for part in named.values()]
    states = designs[0].inputs.labels
    if any(part.k != len(states) or part.m != len(states) for part in designs):
        raise MatrixError("matrices of different sizes", hint="give every y a square matrix over the same categories")
    grid = np.arange(len(states) * len(designs)).reshape(
        (len(states), len(designs)) if order == "x" else (-1, len(states))
    )
    places = list(grid.T if _check_order(order) == "x" else grid)
    pairs = [(x, y) for x in states for y in named] if order == "x" else [(y, x) for y in named for x in states]
    return Sparse.stacked(designs, places, Categories.of(pairs))


def _check_levels(named: Mapping[Hashable, Any], levels: Iterable[Hashable] | None) -> None:
    if not named:
        raise ParameterError("no matrices", hint="give a matrix for each category of the other variable")
    try:
        absent = [y for y in ([] if levels is None else as_list(levels, "levels")) if y not in named]
    except TypeError as error:
        raise WrongTypeError(
            "an element of levels cannot be a label", hint="use texts, numbers, dates or tuples", values=str(error)
        ) from None
    if absent:
        raise UnknownCategoryError(
            f"{len(absent):,} categories have no matrix" if len(absent) > 1 else "a category has no matrix",
            hint="give one for each category that occurs; the identity leaves it as it is",
            values=listed(map(repr, absent), len(absent), VALUES),
            absent=absent,
        )


def _check_order(order: str) -> str:
    if order not in ("x", "y"):
        raise ParameterError(f"order = {order!r}", hint='"x": the randomized variable is the slowest; "y": the other')
    return order


def _sparse(part: Any) -> Sparse:
    if isinstance(part, Sparse):
        return part
    if isinstance(part, Design):
        coded = check_coded([part], "a conditional matrix")[0]
        return Sparse.of_matrix(coded.exact_matrix(), coded.inputs)
    return Sparse.of_matrix(part)
