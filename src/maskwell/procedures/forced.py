"""Forced response: dice say whether to answer truthfully, to say yes, or to say no."""

from __future__ import annotations

from maskwell.core.exact import Number
from maskwell.designs.dense import Dense
from maskwell.procedures.device import check_shares, of_two_truths
from maskwell.procedures.procedure import Kind, Parameter, Procedure


def forced(truth: Number, yes: Number, no: Number, *, allow_unidentifiable: bool = False) -> Dense:
    """Answer truthfully, or say what the dice say.

        Pr(yes | A) = truth + yes,   Pr(yes | not A) = yes,   truth + yes + no = 1

    where ``truth``, ``yes`` and ``no`` are the chances of the three instructions. Any truth above 0 can be estimated
    from. With yes = 0 a yes betrays membership of A.
    Source: after Boruch (1971) and Fox and Tracy (1986); P derived from the instruction.

    Two dice: a sum of 2 to 4 means yes (6 of 36), 11 or 12 no (3 of 36), anything else the truth.

    >>> design = forced("27/36", "6/36", "3/36")
    >>> [str(x) for x in design.exact_matrix()[0]], design.parity_exact()   # a no is ten times likelier from outsiders
    (['11/12', '1/6'], Fraction(10, 1))
    """
    (t, y, n), settled = check_shares({"truth": truth, "yes": yes, "no": no})
    return of_two_truths(
        [t + y, n],
        [y, t + n],
        family="forced",
        parameters={"truth": t, "yes": y, "no": n},
        needs="truth above 0",
        allow_unidentifiable=allow_unidentifiable,
        settled=settled,
    )


FORCED = Procedure(
    name="forced",
    build=forced,
    summary="dice say: the truth, yes, or no",
    source="after Boruch 1971 and Fox and Tracy 1986",
    example="--truth 3/4 --yes 1/6 --no 1/12",
    parameters=(
        Parameter("truth", Kind.PROBABILITY, "chance to be asked for the truth"),
        Parameter("yes", Kind.PROBABILITY, "chance to be told to say yes"),
        Parameter("no", Kind.PROBABILITY, "chance to be told to say no"),
    ),
)
