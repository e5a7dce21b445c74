"""What every interval returns, and what several of them ask first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import Real, RealNumber, check_kind
from maskwell.core.phrases import Printed
from maskwell.errors import ParameterError

if TYPE_CHECKING:
    from maskwell.estimation.share_estimate import Estimate, Sample


HIGHEST = 1 - 1e-12
NAMES = {"wald": "Wald", "bonferroni": "Bonferroni", "scheffe": "Scheffé", "wilson": "Wilson"}


@dataclass(frozen=True, eq=False, repr=False)
class Intervals:
    """One interval for each category, and what must be said about them.

    Attributes
    ----------
    low, high
        The ends, shape (k,); NaN where there is no interval, which a flag then says.
    method, level
        How they were made, and the chance that one of them covers its share (all of them, for simultaneous ones).
    flags
        What a reader should know, in words.
    """

    low: Real
    high: Real
    method: str
    level: float
    flags: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The method as people write it."""
        return NAMES.get(self.method, self.method)

    def to_array(self) -> Real:
        """The ends as columns, shape (k, 2)."""
        return np.column_stack([self.low, self.high])

    @property
    def half_width(self) -> Real:
        """Half of the length of each interval, shape (k,)."""
        return np.asarray((self.high - self.low) / 2)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        rows = [[None if np.isnan(x) else x for x in pair] for pair in self.to_array().tolist()]
        return {"method": self.method, "level": self.level, "intervals": rows, "flags": list(self.flags)}

    def __repr__(self) -> str:
        shown = ", ".join(f"[{Printed(a):.4f}, {Printed(b):.4f}]" for a, b in self.to_array()[:5])
        rest = f", ... ({len(self.low):,} in all)" if len(self.low) > 5 else ""
        notes = "".join(f"\n  note: {flag}" for flag in self.flags)
        return f"Intervals({self.method}, level {Printed(self.level):g}): {shown}{rest}{notes}"


def check_level(level: float) -> None:
    """Raise unless ``level`` lies strictly between 0 and 1, and not so near to 1 that no quantile is left."""
    check_kind(RealNumber, level=level)
    if not 0 < level < 1:
        raise ParameterError(f"level = {level} is not between 0 and 1", hint="give a level such as 0.95", level=level)
    if level > HIGHEST:
        raise ParameterError(
            f"level = {level} is too near to 1: the largest is 1 - 1e-12",
            hint="give a level such as 0.999",
            level=level,
        )


def check_counted(estimate: Estimate, method: str) -> tuple[Sample, ...]:
    """The samples behind an estimate; an error where the estimate does not know them, or a report is a set."""
    if not estimate.samples:
        raise ParameterError(
            f"no {method} interval: this estimate by {estimate.method} does not know the counts it rests on",
            hint="ask for a wald interval",
            method=method,
        )
    if any(sample.design.reports_are_sets for sample in estimate.samples):
        raise ParameterError(
            f"no {method} interval for set reports: their counts do not tell the likelihood",
            hint="ask for a wald interval",
            method=method,
        )
    return estimate.samples


def is_of_categories(estimate: Estimate) -> bool:
    """Whether the shares are those of the categories of the designs, not of sums of them."""
    if not estimate.samples:
        return False
    categories, labels = estimate.categories, estimate.samples[0].design.inputs.labels
    return categories is labels or (
        len(categories) == len(labels) and all(a == b for a, b in zip(categories, labels, strict=True))
    )


def is_two_to_two(estimate: Estimate) -> bool:
    """Whether the estimate rests on one sample of a design with two truths and two reports."""
    if len(estimate.samples) != 1 or not is_of_categories(estimate):
        return False
    design = estimate.samples[0].design
    return not design.reports_are_sets and (design.k, design.m) == (2, 2)
