"""What was asked of a design's parity, and what rounding to an exact form costs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maskwell.core.exact import Number, Parity, exp_below, floor_to, resolution, safe_below
from maskwell.errors import ParameterError


@dataclass(frozen=True)
class Asked:
    """A bound on parity that never exceeds what was asked; ``rounded`` where it replaces an irrational number."""

    name: str
    text: str
    exact: Fraction
    rounded: bool

    def down(self, probability: Fraction, k: int) -> Fraction:
        """A probability that may fall but not rise, in the form in which it will be drawn."""
        rounded = floor_to(probability, resolution(self.exact, k)) if self.rounded else probability
        if rounded <= 0:
            raise self.too_tight()
        return rounded

    def too_tight(self) -> ParameterError:
        """The error for a demand that no informative design can meet."""
        return ParameterError("is-too-tight-the-design-would", name=self.name, text=self.text)

    def note(self, parity: Parity) -> dict[str, Any]:
        """For the provenance: what was asked and the relative loss of parity."""
        loss = 0.0 if isinstance(parity, float) else float(1 - parity / self.exact)
        return {"asked": {self.name: self.text}, "parity_loss": loss}


def asked_gamma(gamma: Number) -> Asked:
    """A parity bound given as a number."""
    exact = safe_below(gamma, "gamma")
    if exact <= 1:
        raise ParameterError("gamma-leaves-no-information", gamma=gamma)
    return Asked("gamma", str(gamma), exact, False)


def asked_epsilon(epsilon: Number) -> Asked:
    """A parity bound e**epsilon."""
    exact = safe_below(epsilon, "epsilon")
    if exact <= 0:
        raise ParameterError("epsilon-leaves-no-information", epsilon=epsilon)
    if exact > 700:
        raise ParameterError("epsilon-is-no-protection-at-all", epsilon=epsilon)
    asked = Asked("epsilon", str(epsilon), exp_below(exact), True)
    if asked.exact <= 1:
        raise asked.too_tight()
    return asked
