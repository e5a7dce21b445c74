"""The chance that a record is found: risks of many targets from the distributions of what arrives beside them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maskwell.core.arguments import RealNumber, check_kind
from maskwell.core.arrays import Array, Real
from maskwell.errors import ParameterError
from maskwell.release.risk.summands import Summands
from maskwell.release.risk.windows import Window, windows

SLACK = 1e-12
"""A quantile is reached when the distribution function is this near below it."""


@dataclass(frozen=True, eq=False)
class TargetRisks:
    """Risks of targets; every array has shape (targets,).

    Attributes
    ----------
    unconditional
        Chance of a correct match when one of the released records that fit is picked: ``p E[1 / (1 + T')]``.
    in_range
        The largest chance given T = t, over the t in the range that holds T with the stated probability.
    t_low, t_high
        That range, ends included.
    """

    unconditional: Real
    in_range: Real
    t_low: Array
    t_high: Array


def check_level(level: float) -> None:
    """Raise unless strictly between 0 and 1."""
    check_kind(RealNumber, level=level)
    if not 0 < level < 1:
        raise ParameterError(f"level = {level} is not strictly between 0 and 1", hint="give a level such as 0.95")


def target_risks(rows: Summands, row: Array, p: Real, *, level: float = 0.95) -> TargetRisks:
    """Risks of targets that each arrive in a row with probability p."""
    count = len(row)
    out = TargetRisks(np.zeros(count), np.zeros(count), np.zeros(count, np.int64), np.zeros(count, np.int64))
    for window in windows(rows, row, p):
        _fill(out, window, p[window.targets], level)
    return out


def _fill(out: TargetRisks, window: Window, p: Real, level: float) -> None:
    own = window.targets
    arrivals, given = chance_given_arrivals(window, p)
    t = window.first[:, None] + np.arange(window.pmf.shape[1])
    low, high = quantile_places(arrivals, level)
    out.unconditional[own] = p * (window.pmf / (t + 1)).sum(axis=1)
    out.t_low[own], out.t_high[own] = window.first + low, window.first + high
    place = np.arange(t.shape[1])
    inside = (place >= low[:, None]) & (place <= high[:, None])
    out.in_range[own] = np.where(inside, given, 0.0).max(axis=1)


def chance_given_arrivals(window: Window, p: Real) -> tuple[Real, Real]:
    """Pr(T = t) and Pr(correct match | T = t), shape (targets, length), for t from ``window.first`` on.

        Pr(correct | T = t) = (p / t) Pr(T' = t - 1) / Pr(T = t),   Pr(T = t) = (1 - p) Pr(T' = t) + p Pr(T' = t - 1)

    Source: derived; [Adeshiyan2011, eq. (4.24)] corrected.
    """
    before = np.zeros_like(window.pmf)
    before[:, 1:] = window.pmf[:, :-1]
    stayed = p[:, None] * before
    arrivals = (1 - p)[:, None] * window.pmf + stayed
    t = window.first[:, None] + np.arange(window.pmf.shape[1])
    possible = (arrivals > 0) & (t > 0)
    given = stayed / np.where(possible, arrivals * t, 1.0)
    return arrivals, np.where(possible, given, 0.0)


def quantile_places(pmf: Real, level: float) -> tuple[Array, Array]:
    """Columns of the smallest values at which the distribution function reaches (1 - level) / 2 and one minus it."""
    reached = np.cumsum(pmf, axis=1) + SLACK
    tail = (1 - level) / 2
    last = pmf.shape[1] - 1
    low, high = (np.minimum((reached < share).sum(axis=1), last) for share in (tail, 1 - tail))
    return low, high
