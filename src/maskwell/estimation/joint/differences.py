"""Differences between groups: how much more frequent something is in one category of a variable than in another.

    d = Pi[u, j] / Pi[u, +] - Pi[v, j] / Pi[v, +]

Its error is by the delta method from the covariance of all cells. Source: standard.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import check_level
from maskwell.core.arrays import Real
from maskwell.core.phrases import Printed
from maskwell.errors import ParameterError
from maskwell.estimation.joint.collapse import collapsed, covariance_of
from maskwell.estimation.joint.ratios import NO_ERROR, UNSTABLE
from maskwell.estimation.joint.variables import Layout
from maskwell.estimation.result import Estimate
from maskwell.estimation.shown import number_or_none


@dataclass(frozen=True, repr=False)
class Difference:
    """A difference of two conditional shares.

    Attributes
    ----------
    of
        What the shares are of, in words.
    value, standard_error
        The difference, first group minus second, and its error.
    shares
        The two shares.
    flags
        What a reader should know, in words.
    """

    of: str
    value: float
    standard_error: float
    shares: tuple[float, float]
    estimate: Estimate
    flags: tuple[str, ...] = ()

    def confidence_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Wald interval."""
        check_level(level)
        half = self.estimate.critical_value((1 + level) / 2) * self.standard_error
        return self.value - half, self.value + half

    @property
    def p_value(self) -> float:
        """Two-sided, for no difference; NaN without a standard error above zero."""
        from scipy.special import ndtr, stdtr

        if not self.standard_error > 0:
            return math.nan
        t = -abs(self.value / self.standard_error)
        freedom = getattr(self.estimate, "degrees_of_freedom", None)
        return float(2 * (ndtr(t) if freedom is None else stdtr(freedom, t)))

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        return {
            "of": self.of,
            "estimate": self.value,
            "standard_error": number_or_none(self.standard_error),
            "interval": [number_or_none(end) for end in self.confidence_interval(level)],
            "shares": list(self.shares),
            "p_value": number_or_none(self.p_value),
            "flags": list(self.flags),
        }

    def __repr__(self) -> str:
        low, high = self.confidence_interval()
        lines = [
            f"{self.of}: difference {Printed(self.value):.4f}, standard error {Printed(self.standard_error):.4f} "
            f"[{Printed(low):.4f}, {Printed(high):.4f}]"
        ]
        return "\n".join([*lines, *(f"  note: {flag}" for flag in self.flags)])


def difference_of(
    estimate: Estimate, layout: Layout, of: Mapping[str, Hashable], given: str, between: tuple[Hashable, Hashable]
) -> Difference:
    """The difference with its error."""
    asked: Any = of
    if not isinstance(asked, Mapping) or not asked or given in asked:
        raise ParameterError(
            f"of = {of!r}, given {given!r}", hint='say what is compared: of={"smokes": "yes"}, given="sex"'
        )
    part, small = collapsed(estimate, layout, [given, *of])
    codes = [v.inputs.code(label) for v, label in zip(small.variables[1:], of.values(), strict=True)]
    groups = [small.variables[0].inputs.code(label) for label in between]
    pi, V = part.pi_hat.reshape(small.shape), covariance_of(part)
    shares, gradients = zip(*(_share(pi, (group, *codes)) for group in groups), strict=True)
    gradient = (gradients[0] - gradients[1]).ravel()
    variance = float(gradient @ V @ gradient)
    names = ", ".join(f"{name} = {label}" for name, label in of.items())
    said = f"{names} among {given} = {between[0]} against {between[1]}"
    error = float(np.sqrt(variance)) if variance >= 0 else float("nan")
    return Difference(said, shares[0] - shares[1], error, shares, estimate, _flags(part, small, groups, error))


def _share(pi: Real, cell: tuple[int, ...]) -> tuple[float, Real]:
    """A conditional share and its slope in every cell."""
    total = float(pi[cell[0]].sum())
    if total == 0:
        raise ParameterError("the estimated share of a group is exactly zero", hint="compare groups that occur")
    share, gradient = float(pi[cell]) / total, np.zeros(pi.shape)
    gradient[cell[0]] -= share / total
    gradient[cell] += 1 / total
    return share, gradient


def _flags(part: Estimate, small: Layout, groups: list[int], error: float) -> tuple[str, ...]:
    total = collapsed(part, small, [small.names[0]])[0]
    rare = [g for g in groups if total.pi_hat[g] <= max(0, UNSTABLE * np.nan_to_num(total.standard_error[g]))]
    labels = small.variables[0].inputs.labels
    flags = [
        f"unstable: the share of {small.names[0]} = {labels[g]} is within two standard errors of zero" for g in rare
    ]
    if np.isnan(error):
        flags.append(f"the standard error is not defined: {NO_ERROR}")
    return tuple(flags)
