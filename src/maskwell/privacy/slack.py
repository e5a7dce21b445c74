"""Whether a value keeps to a limit: the one rule that every command and every function follows.

Fractions and integers are compared exactly. A number that was given as a decimal or a float stands for one nearby, as
0.6666666666666666 does for 2/3. So where the design or the demand was given as decimals, parity meets a bound gamma if

    parity <= gamma (1 + 1e-9)

and where this slack decides, and not the numbers themselves, the answer and the certificate say so. A bound that must
not be reached (a closed demand) is compared exactly always: with slack the breach itself would be allowed.

Source: derived; why it is so is in docs/adr/0017-decimals-and-fractions.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from maskwell.core.exact import Parity, to_float
from maskwell.designs.base import Design

SLACK = Fraction(1, 10**9)
"""What decimals may exceed a limit by, relative to it."""

SLACK_IN_WORDS = "within 1e-9; given as decimals"


@dataclass(frozen=True)
class Verdict:
    """Whether a limit is kept, and whether that is so only because of the slack for decimals."""

    meets: bool
    slack_used: bool = False


def verdict(value: Parity, limit: Parity, *, decimals: bool, strict: bool = False) -> Verdict:
    """Whether a value keeps to a limit, which it must not even reach if ``strict``.

    ``decimals`` says that one of the two was given as decimals. An infinite limit asks for nothing.

    >>> near = 2 + Fraction(1, 10**12)
    >>> verdict(near, Fraction(2), decimals=False), verdict(near, Fraction(2), decimals=True)
    (Verdict(meets=False, slack_used=False), Verdict(meets=True, slack_used=True))
    """
    if isinstance(limit, float) or (value < limit if strict else value <= limit):
        return Verdict(meets=True)
    kept = decimals and not strict and not isinstance(value, float) and value <= limit * (1 + SLACK)
    return Verdict(meets=kept, slack_used=kept)


def stands_for(design: Design) -> Parity:
    """The parity to show to people: for decimals the number of at most six digits that it is within slack of, if any.

    >>> from maskwell.designs.dense import Dense
    >>> thirds = Dense.of([["0.6666666666666667", "0.3333333333333333"], ["0.3333333333333333", "0.6666666666666667"]])
    >>> thirds.parity_exact() == 2, stands_for(thirds)
    (False, Fraction(2, 1))
    """
    parity = design.parity_exact()
    if isinstance(parity, float) or not design.decimals:
        return parity
    near = max(Fraction(1), Fraction(f"{to_float(parity):.6g}")) if parity < 10**300 else parity
    return near if alike(parity, near, decimals=True) else parity


def alike(one: Parity, two: Parity, *, decimals: bool) -> bool:
    """Whether two values are the same: exactly, or each within the slack of the other.

    >>> alike(Fraction(2), 2 + Fraction(1, 10**12), decimals=True)
    True
    """
    return all(verdict(a, b, decimals=decimals).meets for a, b in ((one, two), (two, one)))
