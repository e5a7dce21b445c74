"""What was asked of a design's parity, and what rounding to an exact form costs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maskwell.core.exact import Number, Parity, as_fraction, exp_below, floor_to, resolution, safe_below
from maskwell.core.phrases import shorten
from maskwell.errors import ParameterError

LARGEST_COUNT = 2**63 - 1


@dataclass(frozen=True)
class Asked:
    """A bound on parity.

    ``exact`` never exceeds what was asked; ``rounded`` tells that it stands for an irrational number, so that the
    probabilities of the design are rounded.
    """

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
        return ParameterError(
            f"{self.name} = {self.text} is too tight: the design would carry no information",
            hint="ask for a little less privacy",
        )

    def note(self, parity: Parity) -> dict[str, Any]:
        """For the provenance: what was asked and the relative loss of parity."""
        loss = 0.0 if isinstance(parity, float) else float(1 - parity / self.exact)
        return {"asked": {self.name: self.text}, "parity_loss": loss}


def asked_gamma(gamma: Number) -> Asked:
    """A parity bound given as a number.

    >>> asked_gamma("5/2").exact
    Fraction(5, 2)
    """
    exact = safe_below(gamma, "gamma")
    if exact <= 1:
        raise ParameterError(
            f"gamma = {gamma} leaves no information in a report", hint="give gamma greater than 1", gamma=gamma
        )
    return Asked("gamma", str(gamma), exact, False)


def asked_epsilon(epsilon: Number) -> Asked:
    """A parity bound e**epsilon.

    >>> float(asked_epsilon(1).exact)
    2.718281828459045
    """
    exact = safe_below(epsilon, "epsilon")
    if exact <= 0:
        raise ParameterError(
            f"epsilon = {epsilon} leaves no information in a report",
            hint="give epsilon greater than 0",
            epsilon=epsilon,
        )
    if exact > 700:
        raise ParameterError(
            f"epsilon = {epsilon} is no protection at all", hint="give epsilon of at most 700", epsilon=epsilon
        )
    asked = Asked("epsilon", str(epsilon), exp_below(exact), True)
    if asked.exact <= 1:
        raise asked.too_tight()
    return asked


def as_count(value: object, name: str) -> int:
    """A whole number, or an error.

    >>> as_count("12", "n"), as_count(3.0, "n")
    (12, 3)
    """
    try:
        number = as_fraction(value, name)  # type: ignore[arg-type]
    except ParameterError as error:
        if error.__cause__ is None:  # a number, with more digits than can be held
            raise
        raise _no_count(repr(value), name, value) from error
    if number.denominator != 1:
        raise _no_count(str(value), name, value)
    if abs(number) > LARGEST_COUNT:
        raise ParameterError(
            f"{name} = {shorten(str(value), 40)} is larger than any count, {LARGEST_COUNT:,} at most",
            hint="give a whole number of ordinary size",
            value=value,
        )
    return int(number)


def _no_count(shown: str, name: str, value: object) -> ParameterError:
    """The error; digits in groups are common enough to be told apart."""
    grouped = re.fullmatch(r"\d{1,3}([ ,_.']\d{3})+", str(value).strip())
    digits = re.sub("[^0-9]", "", str(value))
    hint = f"write {digits}, digits only" if grouped else "give a whole number such as 10"
    return ParameterError(f"{name} = {shown} is not a whole number", hint=hint, **{name: value})
