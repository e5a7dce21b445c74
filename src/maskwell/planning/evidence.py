"""What is known about whether one design is sufficient for another: the answer, and its proof."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maskwell.core.exact import Parity, to_float, to_text
from maskwell.designs.rational import Rows


@dataclass(frozen=True, repr=False, kw_only=True)
class Sufficiency:
    """Whether design P is sufficient for design A, and why.

    Attributes
    ----------
    holds
        True, False, or None where it could not be settled.
    how
        What settled it, in a word: ``"same"``, ``"structure"``, ``"admissible"``, ``"parity"``, ``"rank"``,
        ``"inverse"``, ``"program"``; ``"nothing"`` where nothing did.
    reason
        Why, in words for people; "it" is P, "the other design" is A.
    exact
        Whether the answer is proved in fractions, by what is kept here.
    garbling
        C with ``A = C P``, exactly or up to ``residual``; shape (reports of A, reports of P).
    keep
        A garbling that need not be written out: keep the report with this probability, else draw any of the reports
        with equal chance.
    residual
        The largest entry of ``|A - C P|``, or a bound on it; 0 when exact.
    gain, margin
        A gain matrix in which A wins more than P, shape (reports of A, k), and by how much.
    parities
        The parities of P and A: no garbling can raise parity.
    """

    holds: bool | None
    how: str
    reason: str
    exact: bool = True
    garbling: Rows | None = None
    keep: Fraction | None = None
    residual: Fraction | None = None
    gain: Rows | None = None
    margin: Fraction | None = None
    parities: tuple[Parity, Parity] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: numbers, and beside them the exact fractions as text."""
        shown: dict[str, Any] = {"holds": self.holds, "how": self.how, "exact": self.exact, "reason": self.reason}
        for name in ("garbling", "gain"):
            rows = getattr(self, name)
            if rows is not None:
                shown[name] = [[to_float(x) for x in row] for row in rows]
                shown[f"{name}_exact"] = [[to_text(x) for x in row] for row in rows]
        for name in ("keep", "residual", "margin"):
            value = getattr(self, name)
            if value is not None:
                shown |= {name: to_float(value), f"{name}_exact": to_text(value)}
        if self.parities is not None:
            shown["parities"] = ["inf" if eta == math.inf else to_float(eta) for eta in self.parities]
        return shown

    def __repr__(self) -> str:
        return f"Sufficiency(holds={self.holds}, how={self.how!r}, exact={self.exact})"


def yes(how: str, reason: str, garbling: Rows) -> Sufficiency:
    """Proved by a garbling."""
    return Sufficiency(holds=True, how=how, reason=reason, garbling=garbling, residual=Fraction(0))


def nearly(reason: str, garbling: Rows, residual: Fraction) -> Sufficiency:
    """Shown by a garbling up to a small residual."""
    return Sufficiency(holds=True, how="program", reason=reason, exact=False, garbling=garbling, residual=residual)


def no(how: str, reason: str, gain: Rows, margin: Fraction) -> Sufficiency:
    """Proved by a gain matrix."""
    return Sufficiency(holds=False, how=how, reason=reason, gain=gain, margin=margin)


def unsettled(reason: str, parities: tuple[Parity, Parity] | None = None) -> Sufficiency:
    """Neither proof was found."""
    return Sufficiency(holds=None, how="nothing", reason=reason, exact=False, parities=parities)
