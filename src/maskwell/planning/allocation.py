"""Respondents divided among the parts of a survey: strata, or samples that use different designs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from maskwell.core.arguments import as_list
from maskwell.core.arrays import Real
from maskwell.core.exact import Number, as_fraction, to_float
from maskwell.core.phrases import Printed
from maskwell.designs.base import Design
from maskwell.errors import ParameterError
from maskwell.planning.sample_size import margin_of

FEWEST = 2
"""Respondents that each part gets: with fewer there is no standard error."""

_HIGHEST_COST = 10**100


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Allocation:
    """Respondents divided among strata or samples.

    Attributes
    ----------
    kind
        "strata" or "samples".
    names, designs
        Of the parts.
    fractions
        Best shares of the respondents, shape (parts,).
    counts
        Whole numbers of respondents.
    variance
        Of the estimate, with these whole numbers.
    best_variance
        The least one that as many respondents could give if they could be divided: a bound that rounding cannot beat.
        Where costs decided about the division, the least one for the same cost.
    plain_variance
        With the respondents divided by the size of the strata, or equally among samples, at the same n or the same
        cost; None where that cannot be had.
    level
        Of the interval.
    cost
        Of all respondents, each of them 1 where no costs were given.
    gap
        By which factor the shares could at most be improved, less one; 0 for strata, which have a formula.
    """

    kind: str
    names: tuple[str, ...]
    designs: tuple[Design, ...]
    fractions: Real
    counts: tuple[int, ...]
    variance: float
    best_variance: float
    plain_variance: float | None
    level: float
    cost: float
    gap: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """All respondents."""
        return sum(self.counts)

    @property
    def margin(self) -> float:
        """Half width of the interval of the estimate."""
        return margin_of(self.variance, 1, self.level)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        parts = [
            {"name": name, "fraction": share, "n": n}
            for name, share, n in zip(self.names, self.fractions.tolist(), self.counts, strict=True)
        ]
        return {
            "n": self.n,
            "margin": self.margin,
            "level": self.level,
            self.kind: parts,
            "variance": self.variance,
            "best_variance": self.best_variance,
            "plain_variance": self.plain_variance,
            "cost": self.cost,
            "gap": self.gap,
            **self.details,
            "design": [design.to_dict() for design in self.designs],
        }

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}: {n:,}" for name, n in zip(self.names, self.counts, strict=True))
        return f"Allocation({parts}; margin {Printed(self.margin):.4g})"


def check_names(names: Sequence[str]) -> None:
    """At least one name, and none of them twice."""
    if not names:
        raise ParameterError("no part of the survey is named", hint="give at least one")
    twice = next((name for name in names if list(names).count(name) > 1), None)
    if twice is not None:
        raise ParameterError(f"{twice} is named twice", hint="give every part a name of its own")


def check_costs(costs: Sequence[Number]) -> tuple[Fraction, ...]:
    """What one respondent of each part costs, above 0."""
    found = tuple(as_fraction(cost, "cost") for cost in as_list(costs, "costs"))
    if min(found, default=Fraction(0)) <= 0:
        raise ParameterError(
            f"cost = {to_float(min(found, default=Fraction(0))):g} is not above 0",
            hint="give what one respondent costs",
            costs=costs,
        )
    if max(found) > _HIGHEST_COST or min(found) < Fraction(1, _HIGHEST_COST):
        raise ParameterError("a cost is too large or too small", hint="give costs in ordinary units of money")
    return found
