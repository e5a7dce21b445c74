"""Whether every column of P sums to one, and parity, worked out once more from the rows as they are drawn."""

from __future__ import annotations

import math
from functools import singledispatch

from maskwell.core.exact import Parity
from maskwell.designs.base import Design
from maskwell.designs.blocks import Blocks
from maskwell.designs.composed import Composed
from maskwell.designs.kronecker import Kronecker, product_of
from maskwell.designs.mixture import Mixture
from maskwell.designs.subset import FixedSizeSets
from maskwell.designs.unary import Unary
from maskwell.designs.uniform import Uniform
from maskwell.privacy.shapes import integer_rows, shapes


@singledispatch
def columns_sum_to_one(design: Design) -> bool:
    """Whether the probabilities of all reports sum to one for every truth, exactly, and none is negative.

    >>> from maskwell.designs.dense import Dense
    >>> columns_sum_to_one(Dense.of([["1/3", "1/2"], ["2/3", "1/2"]]))
    True
    """
    rows, denominator = integer_rows(design)
    return all(sum(column) == denominator and min(column) >= 0 for column in zip(*rows, strict=True))


@columns_sum_to_one.register(Uniform)
@columns_sum_to_one.register(FixedSizeSets)
def _sets(design: Uniform | FixedSizeSets) -> bool:
    """A truth is in q of k sets of size q, so that its column sums to ``(high q + low (k - q)) / k``."""
    (shape,) = shapes(design)
    (size,), (low, high) = shape.sizes, shape.values
    return 0 <= low < high and high * size + low * (design.k - size) == design.k


@columns_sum_to_one.register
def _bits(design: Unary) -> bool:
    """Each bit is one or zero, independently of the others."""
    return all(0 < bit < 1 for bit in (design.keep, design.flip))


@columns_sum_to_one.register
def _truth_or_fixed(design: Mixture) -> bool:
    return design.truth + sum(design.fixed) == 1 and min(design.truth, *design.fixed) >= 0


@columns_sum_to_one.register
def _factors(design: Kronecker) -> bool:
    return all(map(columns_sum_to_one, design.factors))


@columns_sum_to_one.register
def _cells(design: Blocks) -> bool:
    return all(map(columns_sum_to_one, design.parts))


@columns_sum_to_one.register
def _steps(design: Composed) -> bool:
    return columns_sum_to_one(design.first) and columns_sum_to_one(design.then)


@singledispatch
def parity_of_rows(design: Design) -> Parity:
    """Parity from the rows: the largest of their parities.

    >>> from maskwell.designs.dense import Dense
    >>> parity_of_rows(Dense.of([["1/3", "1/2"], ["2/3", "1/2"]]))
    Fraction(3, 2)
    """
    return max(shape.parity for shape in shapes(design))


@parity_of_rows.register
def _of_factors(design: Kronecker) -> Parity:
    return product_of(map(parity_of_rows, design.factors))


@parity_of_rows.register
def _of_cells(design: Blocks) -> Parity:
    return parity_of_rows(design.parts[0]) if len(design.parts) == 1 else math.inf
