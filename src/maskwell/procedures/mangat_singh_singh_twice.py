"""Mangat, Singh and Singh's device used twice by the same person, with a trait whose share nobody knows."""

from __future__ import annotations

from maskwell.core.exact import Number, check_probability
from maskwell.designs.dense import Dense
from maskwell.procedures.device import named
from maskwell.procedures.mangat_singh_singh import KINDS, MEMBERS, mangat_singh_singh
from maskwell.procedures.procedure import Kind, Parameter, Procedure
from maskwell.procedures.repeated import repeated
from maskwell.procedures.samples import UNRELATED, one_source, with_unrelated


def mangat_singh_singh_twice(p1: Number, p2: Number, *, allow_unidentifiable: bool = False) -> Dense:
    """Members say yes twice; the others draw from two boxes, each time about A or about an innocuous trait.

        P[(i, j), x] = Pr(i | x; p1) Pr(j | x; p2),   Pr(yes | x; p) = 1, 1 - p, 0

    for the kinds x of people (yes, any), (no, yes), (no, no), where ``p1`` and ``p2`` are the chances of the sensitive
    question in the two boxes. Four reports for three kinds leave a choice of unbiased scores. The published estimate
    takes

        U = ((1 - p2) I - (1 - p1) J) / (p1 - p2)

    where I and J are 1 for yes. "Yes, no" and "no, yes" are proportional rows of P and tell the same, so merging them
    (:func:`~maskwell.designs.rows.reduction_of`) leaves one score only, of smaller variance; it also needs no p1
    different from p2.
    Source: after Mangat, Singh and Singh (1992); P derived, and U reproduces the published mean 0.656 of 500 pairs of
    answers with p1 = 0.6 and p2 = 0.8.

    >>> from maskwell.designs.rows import reduction_of
    >>> design = mangat_singh_singh_twice("0.6", "0.8")
    >>> design.identifiable, reduction_of(design).groups   # the two mixed reports tell the same
    (True, ((0,), (1, 2), (3,)))
    """
    p1, p2 = check_probability(p1, "p1"), check_probability(p2, "p2")
    made = repeated([mangat_singh_singh(p1), mangat_singh_singh(p2)])
    return named(
        made,
        family="mangat-singh-singh-twice",
        parameters={"p1": p1, "p2": p2},
        needs="p1 and p2 that are not both 0 nor both 1",
        allow_unidentifiable=allow_unidentifiable,
        variables=[MEMBERS, UNRELATED],
        wanted=MEMBERS,
        warning=one_source(made),
    )


MANGAT_SINGH_SINGH_TWICE = Procedure(
    name="mangat-singh-singh-twice",
    build=mangat_singh_singh_twice,
    summary="members say yes twice, others draw from two boxes with an unrelated question",
    source="after Mangat, Singh and Singh 1992; matrix derived",
    example="--p1 0.6 --p2 0.8",
    parameters=(
        Parameter("p1", Kind.PROBABILITY, "chance of the sensitive question in the first box"),
        Parameter("p2", Kind.PROBABILITY, "chance of the sensitive question in the second box"),
    ),
    truths=tuple(KINDS.labels),
    truths_named=False,
    reports=tuple(with_unrelated().labels),
)
