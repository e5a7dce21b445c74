"""Audit: what a design promises, from its exact numbers.

For designs that cannot be written out, everything comes from formulas.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from maskwell.core.arrays import Real
from maskwell.core.exact import Parity, to_text
from maskwell.designs.base import Design
from maskwell.errors import TooLargeError
from maskwell.privacy.criteria import Demand, in_every_language

SHOWN_ENTRIES = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """What a design promises, and whether it meets a demand.

    >>> from maskwell.core.categories import Categories
    >>> from maskwell.designs.uniform import Uniform
    >>> result = audit(Uniform.from_gamma(3, Categories.of(["yes", "no"])), Demand.from_epsilon(1))
    >>> result.parity_exact, result.meets
    (Fraction(3, 1), False)
    """

    design: Design
    demand: Demand | None
    prior: Real | None
    parity_exact: Parity

    @property
    def meets(self) -> bool | None:
        """Whether the demand is met; ``None`` without one."""
        return None if self.demand is None else self.demand.allows(self.parity_exact)

    def __repr__(self) -> str:
        design, shown = self.design, self.to_dict()
        met = "" if self.demand is None else f"; {self.demand.text}: {'met' if self.meets else 'not met'}"
        lines = [
            f"Audit of {design!r}{met}",
            f"  parity {to_text(self.parity_exact)}, epsilon {design.epsilon():.6g}",
            f"  best guess right: {shown['guess_probability']:.4f}, without report {shown['guess_without_report']:.4f}",
            f"  identifiable: {design.identifiable}, admissible: {shown['admissible']}",
        ]
        return "\n".join([*lines, *(f"  note: {warning}" for warning in design.warnings())])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        design, languages = self.design, in_every_language(self.parity_exact)
        shown: dict[str, Any] = {
            "kind": design.kind,
            "k": design.k,
            "m": design.m,
            "parity": design.parity(),
            "parity_exact": to_text(self.parity_exact),
            "epsilon": design.epsilon(),
            "rho": languages["rho"],
            "identifiable": design.identifiable,
            "rank": design.rank(),
            "condition": design.condition(),
            "admissible": design.is_admissible(),
            "guess_probability": design.guess_probability(self.prior),
            "guess_without_report": 1 / design.k if self.prior is None else float(max(self.prior)),
            "average_security": _average_security(design),
            "added_variance": design.added_variance() if design.identifiable else None,
            "fingerprint": design.fingerprint,
            "provenance": dict(design.provenance),
            "warnings": design.warnings(),
            **design.details(),
        }
        if design.m * design.k <= SHOWN_ENTRIES:
            shown["matrix"] = design.matrix().tolist()
        if self.demand is not None:
            shown |= {"demand": self.demand.to_dict(), "meets": self.meets}
        return shown


def _average_security(design: Design) -> float | None:
    """``1 + l1 / 2``: shown for comparison, not recommended as a demand. Source: [NayakZhai2019, Theorem 2.1]."""
    try:
        return 1 + design.total_variation() / 2
    except TooLargeError:
        return None


def audit(design: Design, demand: Demand | None = None, prior: Real | None = None) -> Audit:
    """What a design promises, against a demand and a prior if given."""
    checked = None if prior is None else design.check_distribution(prior, "prior")
    return Audit(design, demand, checked, design.parity_exact())
