"""Chow's device: draw balls from an urn and tell how many are red, or how many are blue."""

from __future__ import annotations

from fractions import Fraction
from math import comb

from maskwell.core.categories import Categories
from maskwell.designs.dense import Dense
from maskwell.errors import ParameterError
from maskwell.procedures.device import check_count, of_two_truths
from maskwell.procedures.procedure import Kind, Parameter, Procedure

MOST_BALLS = 10**6
MOST_DRAWS = 1000


def chow(
    red: int, blue: int, draws: int, *, allow_revealing: bool = False, allow_unidentifiable: bool = False
) -> Dense:
    """Draw balls without replacement; members of A report how many are red, others how many are blue.

        Pr(z | A) = C(L, z) C(M, r - z) / C(L + M, r),   Pr(z | not A) = Pr(r - z | A),   z = 0..r

    where ``red`` is L, ``blue`` is M and ``draws`` is r. Red and blue must differ in number. With more draws than the
    rarer colour has balls some reports are impossible for one group and betray the other, which is refused unless
    ``allow_revealing``.
    Source: [Adeshiyan2011, section 2.5], after Leysieffer and Warner (1976).

    >>> design = chow(5, 3, 2)
    >>> [str(row[0]) for row in design.exact_matrix()], design.parity_exact()   # two reds point to A, but not for sure
    (['3/28', '15/28', '5/14'], Fraction(10, 3))
    """
    L, M = check_count(red, "red", low=1, high=MOST_BALLS), check_count(blue, "blue", low=1, high=MOST_BALLS)
    r = check_count(draws, "draws", low=1, high=min(L + M, MOST_DRAWS))
    if r > min(L, M) and not allow_revealing:
        raise ParameterError(
            f"draws = {r} from {L} red and {M} blue balls: some reports could only come from one group",
            hint=f"draw at most min(red, blue) = {min(L, M)}, or allow revealing reports",
            red=red,
            blue=blue,
            draws=draws,
        )
    members = [Fraction(comb(L, z) * comb(M, r - z), comb(L + M, r)) for z in range(r + 1)]
    return of_two_truths(
        members,
        members[::-1],
        family="chow",
        parameters={"red": L, "blue": M, "draws": r},
        needs="red different from blue",
        reports=Categories.numbered(r + 1),
        allow_unidentifiable=allow_unidentifiable,
    )


CHOW = Procedure(
    name="chow",
    build=chow,
    summary="the number of red, or of blue, balls drawn from an urn",
    source="Adeshiyan 2011, section 2.5, after Leysieffer and Warner 1976",
    example="--red 6 --blue 4 --draws 2",
    parameters=(
        Parameter("red", Kind.COUNT, "red balls in the urn"),
        Parameter("blue", Kind.COUNT, "blue balls in the urn"),
        Parameter("draws", Kind.COUNT, "balls drawn, without replacement"),
        Parameter("allow_revealing", Kind.FLAG, "allow reports that only one group can give", required=False),
    ),
    reports=None,
)
