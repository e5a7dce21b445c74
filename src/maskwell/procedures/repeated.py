"""The same person asked more than once: several devices, one truth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product

from maskwell.core.categories import Categories
from maskwell.designs.base import EXACT_LIMIT
from maskwell.designs.coded import CodedDesign
from maskwell.designs.dense import Dense
from maskwell.designs.kronecker import check_coded
from maskwell.errors import ParameterError, TooLargeError


def repeated(designs: Iterable[CodedDesign]) -> Dense:
    """Every respondent answers by each of several devices, drawn independently; the reports are kept together.

        P[(i, j), x] = P_1[i, x] P_2[j, x]

    where P_1, P_2, ... are the matrices of the ``designs``, all over the same categories; the first report is slowest.
    Each further answer tells more: parities multiply at most. Unlike a Kronecker product, the truth is one.
    Source: derived; reports are independent once the truth is known.

    >>> from maskwell.procedures.warner import warner
    >>> twice = repeated([warner("3/4"), warner("3/4")])
    >>> twice.outputs.labels[0], twice.parity_exact()   # asked twice: yes and yes is nine times likelier from members
    (('yes', 'yes'), Fraction(9, 1))
    """
    parts = _same_truths(check_coded(designs, "repeated answers"))
    count = math.prod(part.m for part in parts)
    if count * parts[0].k > EXACT_LIMIT:
        raise TooLargeError(
            f"{len(parts)} answers make {count:,} different reports, too many to write out",
            hint="ask fewer times, or with devices of fewer reports",
        )
    rows = [_times(cells) for cells in product(*(part.exact_matrix() for part in parts))]
    labels = Categories.of(product(*(part.outputs.labels for part in parts)))
    return Dense.of(rows, parts[0].inputs, labels).noting_decimals(*parts).with_provenance(family="repeated")


def _times(cells: Sequence[Sequence[Fraction]]) -> list[Fraction]:
    return [math.prod(column, start=Fraction(1)) for column in zip(*cells, strict=True)]


def _same_truths(parts: tuple[CodedDesign, ...]) -> tuple[CodedDesign, ...]:
    different = [part for part in parts if part.inputs != parts[0].inputs]
    if different:
        raise ParameterError(
            "the devices ask for different things: their categories differ",
            hint="one question asked again has the same categories; several questions make a product",
            categories=[parts[0].inputs, different[0].inputs],
        )
    return parts
