"""What a test of independence found."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from maskwell.core.phrases import Printed, p_equals
from maskwell.estimation.shown import number_or_none

SPOKEN = {
    "pearson": "Pearson chi-square of the reports",
    "observed-likelihood-ratio": "likelihood ratio of the reports",
    "likelihood-ratio": "likelihood ratio",
    "wald": "Wald",
    "rao-scott": "Rao-Scott",
    "bootstrap": "bootstrapped likelihood ratio",
}


@dataclass(frozen=True, repr=False)
class IndependenceTest:
    """A test that variables are independent of each other.

    Attributes
    ----------
    names
        The variables.
    method
        Which test it is.
    statistic, degrees_of_freedom, p_value
        What it found. ``degrees_of_freedom`` is NaN for a bootstrap, which needs none.
    n
        Number of reports.
    denominator
        Second degrees of freedom, for an F statistic.
    boundary
        Whether a most likely table has empty cells, so that the chi-square distribution does not hold.
    flags
        What a reader should know, in words.
    """

    names: tuple[str, ...]
    method: str
    statistic: float
    degrees_of_freedom: float
    p_value: float
    n: int
    denominator: float | None = None
    boundary: bool = False
    flags: tuple[str, ...] = ()

    def with_flag(self, flag: str) -> IndependenceTest:
        """The same with one more remark."""
        return replace(self, flags=(*self.flags, flag))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        found: dict[str, Any] = {
            "variables": list(self.names),
            "method": self.method,
            "statistic": self.statistic,
            "degrees_of_freedom": number_or_none(self.degrees_of_freedom),
            "p_value": self.p_value,
            "n": self.n,
            "flags": list(self.flags),
        }
        return found if self.denominator is None else {**found, "denominator_degrees_of_freedom": self.denominator}

    def sentence(self) -> str:
        """The test in one line."""
        return f"Independence of {' and '.join(self.names)}: {p_equals(self.p_value)} ({self._statistic()})"

    def _statistic(self) -> str:
        said = f"{self._spoken()} {Printed(self.statistic):.4g}"
        if math.isnan(self.degrees_of_freedom):
            return said
        rest = "" if self.denominator is None else f" and {Printed(self.denominator):.6g}"
        unit = "degree" if self.degrees_of_freedom == 1 and not rest else "degrees"
        return f"{said}, {Printed(self.degrees_of_freedom):.6g}{rest} {unit} of freedom"

    def _spoken(self) -> str:
        return SPOKEN[self.method] + ("" if self.denominator is None else " F")

    def __repr__(self) -> str:
        return "\n".join([self.sentence(), *(f"  note: {flag}" for flag in self.flags)])
