"""A printed number, a statement or an erratum, each beside what maskwell computes."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from fractions import Fraction
from typing import Literal

Verdict = Literal["agrees", "cut off", "differs"]
Kind = Literal["slip", "gap", "note", "copy"]
CHAI, ZHAI, ZHANG = "ChaiNayak2018", "NayakZhai2019", "NayakZhangAdeshiyan2016"


@dataclass(frozen=True)
class Number:
    """A number that a source prints, and the same number computed.

    Attributes
    ----------
    where, what
        Its place in the source, and what it is.
    printed
        As it is printed: the digits say how exact it is meant to be.
    ours
        As maskwell computes it.
    erratum
        The erratum that explains why they differ, if they do.
    note
        What a reader must know to get the same number.

    >>> Number("Table 1", "a cell", "9.3515", 9.3515625, erratum="E18").verdict
    'cut off'
    """

    where: str
    what: str
    printed: str
    ours: float | Fraction
    erratum: str = ""
    note: str = ""

    @property
    def verdict(self) -> Verdict:
        """Whether ours, rounded to the printed digits, is the printed number; or would be if it were cut off."""
        if abs(_exact(self.ours) - Fraction(self.printed)) <= self._unit * Fraction(500_000_001, 10**9):
            return "agrees"
        cut = Decimal(float(self.ours)).quantize(Decimal(self.printed), rounding=ROUND_DOWN)
        return "cut off" if cut == Decimal(self.printed) else "differs"

    @property
    def good(self) -> bool:
        """Whether it agrees, or was cut off as an erratum says."""
        return self.verdict == "agrees" or (self.verdict == "cut off" and bool(self.erratum))

    @property
    def shown(self) -> str:
        """Ours with a digit more than is printed, or as many as decide which way it is rounded; as printed where equal.

        >>> Number("Table 1", "a cell", "0.2271", 0.2271468).shown
        '0.227147'
        """
        value, decimals = _exact(self.ours), self._decimals + 1
        if abs(value - Fraction(self.printed)) < self._unit / 10**4:
            return self.printed
        while f"{float(value):.{decimals}f}".endswith("5"):
            decimals += 1
        return f"{float(value):.{decimals}f}"

    @property
    def _decimals(self) -> int:
        return len(self.printed.partition(".")[2])

    @property
    def _unit(self) -> Fraction:
        return Fraction(1, 10**self._decimals)


def _exact(value: float | Fraction) -> Fraction:
    return Fraction(value)


@dataclass(frozen=True)
class Statement:
    """What a source says without a number, in our words, and what came out at an example.

    Attributes
    ----------
    where, what
        Its place in the source, and what it says.
    example, found
        The example, and what was computed.
    holds
        Whether that is what the source says.
    """

    where: str
    what: str
    example: str
    found: str
    holds: bool


@dataclass(frozen=True)
class Erratum:
    """Where a source is to be read differently.

    Attributes
    ----------
    key
        E1 to E24.
    kind
        A *slip* in the text, a *gap* in an argument, a *note* for the reader, or a mistake that only the digital
        *copy* has that we worked from.
    source, where
        The key of the source, and the place.
    printed, right
        What stands there, and what is right.
    check, holds
        What was computed to decide, and whether it agrees.
    """

    key: str
    kind: Kind
    source: str
    where: str
    printed: str
    right: str
    check: str
    holds: bool
