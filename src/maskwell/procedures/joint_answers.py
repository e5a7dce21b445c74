"""Several answers of one person, kept together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product

from maskwell.core.arguments import Flag, check_kind
from maskwell.core.categories import Categories
from maskwell.core.exact import Number
from maskwell.designs.coded import CodedDesign
from maskwell.designs.dense import Dense
from maskwell.designs.design import EXACT_LIMIT
from maskwell.designs.kronecker import Kronecker, check_coded
from maskwell.designs.rational import Matrix
from maskwell.errors import ParameterError, TooLargeError
from maskwell.procedures.design_builders import check_list, check_shares, named, numbered

TOGETHER = (
    "one draw answers all questions: a report rules out some combinations of answers, such as whether two of them "
    "agree, which separate draws would hide"
)


def shared(
    weights: Sequence[Number],
    outcomes: Iterable[Iterable[CodedDesign]],
    *,
    allow_unidentifiable: bool = False,
) -> Dense:
    """Several questions answered by one draw from one device.

        P = sum_r w_r (M_1r x M_2r x ...)

    where ``weights`` are w_r, the probabilities of the outcomes r of the device, and ``outcomes`` has for each of them
    one design M_tr for each question t. The first question is slowest. With a draw of its own for every
    question the design is a product, and an estimate by the wrong one of the two is wrong.
    Source: derived from the instruction; separate draws are [Adeshiyan2011, Example 3.2].
    """
    check_kind(Flag, allow_unidentifiable=allow_unidentifiable)
    outcome_parts = [check_coded(parts, "a shared device") for parts in check_list(outcomes, "outcomes")]
    shares, settled = check_shares(numbered(weights, "weights"))
    _check_fit(shares, outcome_parts)
    products = [Kronecker.of(parts) for parts in outcome_parts]
    P = _mixed(shares, [made.exact_matrix() for made in products])
    design = Dense.of(P, products[0].inputs, products[0].outputs).noting_decimals(*products)
    return named(
        design,
        "shared",
        {"weights": shares},
        needs="outcomes that distinguish the combinations of answers",
        allow_unidentifiable=allow_unidentifiable,
        settled=settled,
        questions=len(outcome_parts[0]),
        warning=TOGETHER if _tells_together(design, shares, outcome_parts) else "",
    )


def _check_fit(shares: Sequence[Fraction], outcome_parts: Sequence[tuple[CodedDesign, ...]]) -> None:
    if len(shares) != len(outcome_parts):
        raise ParameterError("weights-for-outcomes", shares_count=len(shares), outcome_parts_count=len(outcome_parts))
    if len(outcome_parts[0]) < 2:
        raise ParameterError("one-question-only")
    first = [(part.inputs, part.outputs) for part in outcome_parts[0]]
    for r, parts in enumerate(outcome_parts):
        if [(part.inputs, part.outputs) for part in parts] != first:
            raise ParameterError("outcome-has-other-questions-categories", r=r)
    entries = math.prod(part.k * part.m for part in outcome_parts[0])
    if entries > EXACT_LIMIT:
        raise TooLargeError("questions-make-a-matrix-of-entries", first_count=len(first), entries=entries)


def _mixed(weights: Sequence[Fraction], matrices: Sequence[Matrix]) -> Matrix:
    """The sum of the matrices, each times its weight."""
    rows = zip(*matrices, strict=True)
    return [
        [
            sum((w * cell for w, cell in zip(weights, cells, strict=True)), Fraction(0))
            for cells in zip(*row, strict=True)
        ]
        for row in rows
    ]


def _tells_together(
    design: Dense, shares: Sequence[Fraction], outcome_parts: Sequence[tuple[CodedDesign, ...]]
) -> bool:
    """Whether reports rule out combinations of answers though no report rules out an answer to one question."""
    margins = [
        Dense.of(_mixed(shares, [part.exact_matrix() for part in parts]), parts[0].inputs, parts[0].outputs)
        for parts in zip(*outcome_parts, strict=True)
    ]
    return design.parity_exact() == math.inf and all(margin.parity_exact() < math.inf for margin in margins)


def repeated(designs: Iterable[CodedDesign]) -> Dense:
    """Every respondent answers by each of several devices, drawn independently; the reports are kept together.

        P[(i, j), x] = P_1[i, x] P_2[j, x]

    where P_1, P_2, ... are the matrices of the ``designs``, all over the same categories; the first report is slowest.
    Parities multiply at most. Source: derived; reports are independent once the truth is known.
    """
    parts = check_coded(designs, "repeated answers")
    different = [part for part in parts if part.inputs != parts[0].inputs]
    if different:
        raise ParameterError("the-devices-ask-for-different-things", categories=[parts[0].inputs, different[0].inputs])
    count = math.prod(part.m for part in parts)
    if count * parts[0].k > EXACT_LIMIT:
        raise TooLargeError("answers-make-different-reports-too-many", parts_count=len(parts), count=count)
    rows = [
        [math.prod(column, start=Fraction(1)) for column in zip(*cells, strict=True)]
        for cells in product(*(part.exact_matrix() for part in parts))
    ]
    labels = Categories.of(product(*(part.outputs.labels for part in parts)))
    return Dense.of(rows, parts[0].inputs, labels).noting_decimals(*parts).with_provenance(family="repeated")
