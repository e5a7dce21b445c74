"""Odds ratios of two variables.

    ln OR = ln Pi_11 - ln Pi_12 - ln Pi_21 + ln Pi_22,     Var = s' V s,   s = (1/Pi_11, -1/Pi_12, -1/Pi_21, 1/Pi_22)

where V is the covariance of the four cells. An unbiased estimate may have a cell of zero or less: it then has no odds
ratio, and the most likely table is used instead, with an interval from the profile of the likelihood (profile.py).

Source: standard; derived for randomized reports by the delta method.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import check_level
from maskwell.core.arrays import Real
from maskwell.core.phrases import Printed
from maskwell.errors import ParameterError
from maskwell.estimation.joint.collapse import covariance_of
from maskwell.estimation.joint.profile import OddsProfile
from maskwell.estimation.joint.variables import Layout, Variable
from maskwell.estimation.likelihood import maximise
from maskwell.estimation.result import Estimate
from maskwell.estimation.shown import number_or_none

Pair = tuple[Hashable, Hashable]
SIGNS = np.array([1.0, -1.0, -1.0, 1.0])
NOT_POSITIVE = "a cell of the unbiased estimate is zero or less, so it has no odds ratio"


@dataclass(frozen=True, eq=False, repr=False)
class OddsRatio:
    """An odds ratio with its interval.

    Attributes
    ----------
    names, rows, columns
        The two variables, and the two categories of each.
    log_odds_ratio, standard_error
        On the log scale; the error is NaN where only a profile interval is available (which is then flagged).
    method
        ``moments``, ``ml``, or ``none`` where there is no odds ratio.
    flags
        What a reader should know, in words.
    """

    names: tuple[str, str]
    rows: Pair
    columns: Pair
    log_odds_ratio: float
    standard_error: float
    method: str
    estimate: Estimate
    profile: OddsProfile | None = None
    flags: tuple[str, ...] = ()

    @property
    def value(self) -> float:
        """The odds ratio; infinite where the most likely table has an empty cell below the line."""
        return math.inf if self.log_odds_ratio > 700 else math.exp(self.log_odds_ratio)

    @property
    def interval_method(self) -> str:
        """``wald`` on the log scale, ``profile``, or ``none``."""
        return "none" if self.method == "none" else "wald" if self.profile is None else "profile"

    def confidence_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Interval of the odds ratio, from 0 to infinity at most."""
        check_level(level)
        if self.profile is not None:
            low, high = self.profile.interval(level)
        else:
            half = self.estimate.critical_value((1 + level) / 2) * self.standard_error
            low, high = self.log_odds_ratio - half, self.log_odds_ratio + half
        return _exp(low), _exp(high)

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        return {
            "variables": list(self.names),
            "rows": list(self.rows),
            "columns": list(self.columns),
            "odds_ratio": number_or_none(self.value),
            "log_odds_ratio": number_or_none(self.log_odds_ratio),
            "standard_error": number_or_none(self.standard_error),
            "interval": [number_or_none(end) for end in self.confidence_interval(level)],
            "level": level,
            "method": self.method,
            "interval_method": self.interval_method,
            "flags": list(self.flags),
        }

    def __repr__(self) -> str:
        low, high = self.confidence_interval()
        pairs = zip(self.names, (self.rows, self.columns), strict=True)
        what = " x ".join(f"{name} ({a} against {b})" for name, (a, b) in pairs)
        interval = f"[{Printed(low):.4g}, {Printed(high):.4g}] by {self.method}"
        lines = [f"Odds ratio of {what}: {Printed(self.value):.4g} {interval}"]
        return "\n".join([*lines, *(f"  note: {flag}" for flag in self.flags)])


def odds_ratios_of(estimate: Estimate, layout: Layout) -> tuple[OddsRatio, ...]:
    """Every category of both variables against the last."""
    first, second = _two(layout)
    rows, columns = first.inputs.labels, second.inputs.labels
    return tuple(
        odds_ratio_of(estimate, layout, (a, rows[-1]), (b, columns[-1])) for a in rows[:-1] for b in columns[:-1]
    )


def odds_ratio_of(estimate: Estimate, layout: Layout, rows: Pair | None, columns: Pair | None) -> OddsRatio:
    """The odds ratio of two categories of each of two variables."""
    first, second = _two(layout)
    row, column = _pair(first, rows, "rows"), _pair(second, columns, "columns")
    r, c = ([v.inputs.code(one) for one in pair] for v, pair in ((first, row), (second, column)))
    cells = [i * len(second.inputs) + j for i in r for j in c]
    about = ((first.name, second.name), row, column)
    shares = estimate.pi_hat[cells]
    if (shares > 0).all():
        return OddsRatio(*about, *_by_delta(shares, covariance_of(estimate), cells), estimate.method, estimate)
    if len(estimate.samples) != 1:
        note = f"{NOT_POSITIVE}, and there are no plain counts for a most likely table"
        return OddsRatio(*about, math.nan, math.nan, "none", estimate, None, (note,))
    return _by_likelihood(about, estimate, cells)


def _by_delta(shares: Real, covariance: Real, cells: Sequence[int]) -> tuple[float, float]:
    slope = SIGNS / shares
    variance = float(slope @ covariance[np.ix_(cells, cells)] @ slope)
    return float(SIGNS @ np.log(shares)), math.sqrt(variance) if variance >= 0 else math.nan


def _by_likelihood(about: tuple[tuple[str, str], Pair, Pair], estimate: Estimate, cells: Sequence[int]) -> OddsRatio:
    sample = estimate.samples[0]
    best = maximise([sample.design], [sample.counts.values])
    with np.errstate(divide="ignore"):
        logs = np.log(best.pi[list(cells)])
    with np.errstate(invalid="ignore"):
        found = float(SIGNS @ logs) if np.isfinite(logs).all() else float(logs[0] + logs[3] - (logs[1] + logs[2]))
    profile = OddsProfile.of(sample.design, sample.counts.values, cells, best, found)
    return OddsRatio(*about, found, math.nan, "ml", estimate, profile, _notes(estimate, found))


def _notes(estimate: Estimate, found: float) -> tuple[str, ...]:
    notes = [] if estimate.method == "ml" else [f"{NOT_POSITIVE}; this one is that of the most likely table"]
    if math.isnan(found):
        notes.append("the odds ratio is not defined: the most likely table has no one in a whole row or column")
    elif math.isinf(found):
        notes.append(
            f"the odds ratio is {'infinite' if found > 0 else 'zero'}: the most likely table has an empty cell"
        )
    return (*notes, "there is no standard error here: see the profile interval")


def _two(layout: Layout) -> tuple[Variable, Variable]:
    if len(layout.variables) != 2:
        raise ParameterError(
            f"an odds ratio is of two variables, not of {len(layout.variables)}: {', '.join(layout.names)}",
            hint="first take the table of two variables: table.collapse_to(...)",
        )
    return layout.variables[0], layout.variables[1]


def _pair(variable: Variable, pair: Pair | None, what: str) -> Pair:
    labels = variable.inputs.labels
    if pair is None and len(labels) == 2:
        return labels[0], labels[1]
    asked: Any = pair
    if asked is None or len(asked) != 2 or asked[0] == asked[1]:
        raise ParameterError(
            f"{variable.name} has {len(labels)} categories; an odds ratio compares two of them",
            hint=f"name two different ones, {what}=({labels[0]!r}, {labels[1]!r}), or ask for odds_ratios()",
        )
    return asked[0], asked[1]


def _exp(x: float) -> float:
    return math.inf if x > 700 else math.exp(x)
