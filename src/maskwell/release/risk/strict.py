"""The strict risk: the largest chance of a correct match over every number of arrivals that is possible.

Given T = t, the share of one record among those that arrived is q(t) / t, where q(t) is the chance that it is there.
For two records with odds o and o' of arriving, q(t) / q'(t) = (o + o o' r) / (o' + o o' r) with r = e(t-2) / e(t-1), a
ratio of elementary symmetric polynomials of the other odds, which rises with t. So the record with the largest odds
loses share as t grows, its risk is largest at the smallest t, and

    strict risk = o / sum_j N_j o_j        if p is the largest of its row, and below one.

Without that condition the share of a record may rise first, but never above ``1 / sum_j N_j min(o_j / o, 1)``.
Source: derived.
"""

from __future__ import annotations

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.release.risk.summands import Summands, summands_of
from maskwell.release.risk.targets import chance_given_arrivals
from maskwell.release.risk.windows import windows

_USED = 3.0  # standard deviations around the mean in which a distribution keeps its relative accuracy


def strict_when_highest(rows: Summands, row: Array, p: Real) -> Real:
    """The strict risk of targets, NaN for those whose p is not the largest of their row."""
    odds = np.where(p < 1, p / np.where(p < 1, 1 - p, 1.0), 0.0)
    total, certain = rows.odds[row], rows.certain[row]
    free = np.where(total > 0, odds / np.where(total > 0, total, 1.0), 0.0)
    risk = np.where(p == 1, 1 / np.maximum(certain, 1), free)
    return np.where((p > 0) & (p < rows.highest[row]), np.nan, risk)


def strict_bound(rows: Summands, row: Array, p: Real, counts: Array) -> Real:
    """What the strict risk of targets cannot exceed, at once for many: ``max(o) / sum N o``, and ``1 / N``.

    N counts the records of the target's own cell, which all arrive with its probability; records with the same key and
    another probability do not hide it as well.
    A target that may stay away cannot be found before all arrive that are certain to, so neither is it above
    ``1 / (certain + 1)``.
    """
    highest, certain = rows.highest[row], rows.certain[row]
    free = (certain == 0) & (rows.odds[row] > 0)
    odds = np.where(free, highest / np.where(highest < 1, 1 - highest, 1.0), 1.0)
    share = np.where(free, odds / np.where(free, rows.odds[row], 1.0), 1.0)
    return np.where(p > 0, np.minimum(np.minimum(share, 1 / counts), np.where(p < 1, 1 / (certain + 1), 1.0)), 0.0)


def highest_share(n: Array, p: Real, target: float) -> float:
    """A bound that no t exceeds: ``1 / sum_j N_j min(o_j / o, 1)`` for a target that arrives with this probability."""
    at_least = np.where(p >= target, 1.0, p * (1 - target) / (np.where(p < 1, 1 - p, 1.0) * target))
    return float(1 / (n * at_least).sum())


def strict_risk(n: Array, p: Real, target: float) -> float:
    """The strict risk of a record that arrives with probability ``target``, from all terms of its row.

    Where the target is not the most likely to arrive, every t is looked at, from the smallest on, until 1 / t is no
    more than what was found. Distributions are tilted so that their mean lies near t: odds are multiplied by a common
    factor, which leaves everything given T = t as it is, and keeps small probabilities accurate.

    >>> strict_risk(np.array([2, 3]), np.array([3 / 4, 1 / 6]), 3 / 4)   # 5/11
    0.4545454545454546
    """
    kept = (n > 0) & (p > 0)
    n, p = n[kept], p[kept]
    certain = int(n[p == 1].sum())
    if target == 0:
        return 0.0
    if target == 1:
        return 1 / certain
    free = p < 1
    n, p = n[free], p[free]
    if not certain and target >= p.max():
        return target / (1 - target) / float((n * p / (1 - p)).sum())
    return _searched(n, p, target, certain)


def _searched(n: Array, p: Real, target: float, certain: int) -> float:
    """The largest share over all t beyond those that are certain."""
    most, best = int(n.sum()), 0.0
    bound = highest_share(np.append(n, certain), np.append(p, 1.0), target)
    t = 1
    while t < most and best < min(bound, 1 / (t + certain)) * (1 - 1e-13):
        shares, last = _shares_near(n, p, target, t)
        best = max(best, float((shares / (np.arange(t, last + 1) + certain)).max()))
        t = last + 1
    return max(best, 1 / (most + certain))  # at the most that can arrive the target is there


def _shares_near(n: Array, p: Real, target: float, t: int) -> tuple[Real, int]:
    """Chance that the target is there given T = t, t + 1, ... up to the last value told accurately, and that value."""
    factor = _tilt(n, p, t + 0.5 if t + 0.5 < n.sum() else float(t) - 0.25)
    tilted = summands_of(np.zeros(len(n), dtype=np.int64), n, _tilted(p, factor), 1)
    own = _tilted(np.array([target]), factor)
    window = next(windows(tilted, np.zeros(1, dtype=np.int64), own))
    _, given = chance_given_arrivals(window, own)
    values = window.first[0] + np.arange(given.shape[1])
    last = min(int(n.sum()), t + max(1, int(_USED * np.sqrt(tilted.variance[0]))))
    inside = (values >= t) & (values <= last)
    return given[0, inside] * values[inside], last


def _tilted(p: Real, factor: float) -> Real:
    """Probabilities whose odds are multiplied by ``factor``."""
    odds = factor * p / (1 - p)
    return np.asarray(odds / (1 + odds))


def _tilt(n: Array, p: Real, mean: float) -> float:
    """The factor on all odds that brings the expected arrivals to ``mean``, to a part in a thousand."""
    low, high = -800.0, 800.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        if (n * _tilted(p, np.exp(middle))).sum() < mean:
            low = middle
        else:
            high = middle
    return float(np.exp(low))
