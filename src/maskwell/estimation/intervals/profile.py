"""Profile likelihood intervals: all shares of a category that the reports do not speak against.

    { t : 2 (l* - l_p(t)) <= chi2 },     l_p(t) = the largest log-likelihood with pi_j = t

where l* is the largest log-likelihood of all. The ends are found along ``sqrt(2 (l* - l_p(t)))``, which is nearly a
straight line on either side of the maximum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from maskwell.core.arrays import Real
from maskwell.errors import ParameterError, TooLargeError
from maskwell.estimation.intervals.base import Intervals, check_counted, is_of_categories
from maskwell.estimation.maximising.maximum import Maximum, maximise

if TYPE_CHECKING:
    from maskwell.estimation.result import Estimate
    from maskwell.estimation.samples import Sample

LIMIT = 500
"""With more categories than this, profile intervals are refused: each needs a dozen maximisations."""

Loss = Callable[[float], float]
"""The square root of twice the fall of the log-likelihood when a share is held at t."""


def profile(estimate: Estimate, level: float) -> Intervals:
    """Profile likelihood intervals, for one sample or several, any number of categories and reports.

    An end is 0 or 1 where the likelihood never falls far enough. They fit estimates at the boundary, which have no
    standard error, and cover a little more than stated there. Standard.

    >>> from maskwell.designs.dense import Dense
    >>> from maskwell.estimation.moments import estimate_by_moments
    >>> from maskwell.estimation.samples import Sample
    >>> P = Dense.of([["0.7", "0.1", "0.15"], ["0.2", "0.8", "0.15"], ["0.1", "0.1", "0.7"]])
    >>> found = profile(estimate_by_moments(Sample.of([5, 60, 35], P).counts, P), 0.95)
    >>> found.to_array()[0].round(4).tolist()   # the moment estimate is -0.118; at most 5 percent is possible
    [0.0, 0.0463]
    """
    samples = check_counted(estimate, "profile")
    _check_size(estimate)
    from statistics import NormalDist

    reach = NormalDist().inv_cdf((1 + level) / 2)
    top = _maximum(samples)
    steps = _first_steps(estimate.standard_error, reach)
    ends = [_ends(samples, top, j, reach, steps[j]) for j in range(1 if len(steps) == 2 else len(steps))]
    if len(steps) == 2:  # the second share is one minus the first
        ends.append((1 - ends[0][1], 1 - ends[0][0]))
    low, high = np.array(ends).T
    flags = () if top.unique else ("the likelihood is largest along a line or face, not at one point",)
    return Intervals(low, high, "profile", level, flags)


def has_profile(estimate: Estimate) -> bool:
    """Whether a maximum likelihood estimate is small enough for profile intervals of its categories."""
    return estimate.method == "ml" and len(estimate.categories) <= LIMIT and is_of_categories(estimate)


def _check_size(estimate: Estimate) -> None:
    k = len(estimate.categories)
    if not is_of_categories(estimate):
        raise ParameterError(
            "no profile interval: these estimates are sums of the categories of the design",
            hint="ask for a wald interval",
        )
    if k > LIMIT:
        raise TooLargeError(
            f"profile intervals for {k:,} categories would take long; at most {LIMIT} are made",
            hint="ask for wald intervals",
        )


def _gap(n: int) -> float:
    """Small against one in the whole log-likelihood, and no smaller than rounding allows."""
    return max(1e-6 / n, 1e-13)


def _maximum(samples: Sequence[Sample], fixed: tuple[int, float] | None = None, start: Real | None = None) -> Maximum:
    n = sum(sample.n for sample in samples)
    designs, counts = [s.design for s in samples], [s.counts.values for s in samples]
    return maximise(designs, counts, gap=_gap(n), start=start, fixed=fixed)


def _first_steps(errors: Real, reach: float) -> Real:
    """Where to look first: the half width of a Wald interval, or something small where there is none."""
    return np.where(np.nan_to_num(errors) > 0, reach * np.nan_to_num(errors), 0.05)


def _ends(samples: Sequence[Sample], top: Maximum, j: int, reach: float, step: float) -> tuple[float, float]:
    loss, centre = _loss(samples, top, j), float(top.pi[j])
    low = centre - _distance(lambda s: loss(centre - s), centre, reach, step)
    high = centre + _distance(lambda s: loss(centre + s), 1 - centre, reach, step)
    return max(low, 0.0), min(high, 1.0)


def _loss(samples: Sequence[Sample], top: Maximum, j: int) -> Loss:
    if len(top.pi) == 2:
        return _loss_of_two(samples, top, j)
    last = top.pi

    def loss(t: float) -> float:
        nonlocal last
        if t >= 1:
            return _root(top.log_likelihood - _log_likelihood(samples, np.eye(len(last))[j]))
        found = _maximum(samples, (j, max(t, 0.0)), last)
        if np.isfinite(found.log_likelihood):
            last = found.pi  # the next t is near: begin there
        return _root(top.log_likelihood - found.log_likelihood)

    return loss


def _loss_of_two(samples: Sequence[Sample], top: Maximum, j: int) -> Loss:
    """With two categories nothing is left to maximise over."""

    def loss(t: float) -> float:
        t = min(max(t, 0.0), 1.0)
        pi = np.array([t, 1 - t] if j == 0 else [1 - t, t])
        return _root(top.log_likelihood - _log_likelihood(samples, pi))

    return loss


def _log_likelihood(samples: Sequence[Sample], pi: Real) -> float:
    total = 0.0
    for sample in samples:
        seen = sample.counts.values > 0
        lam = sample.design.apply(pi)[seen]
        if (lam <= 0).any():
            return -math.inf
        total += float(sample.counts.values[seen] @ np.log(lam))
    return total


def _root(fall: float) -> float:
    return math.sqrt(2 * max(fall, 0.0))


def _distance(loss: Loss, most: float, reach: float, step: float) -> float:
    """How far from the maximum the loss reaches ``reach``, or ``most`` if it never does."""
    from scipy.optimize import brentq

    inner, outer, at_inner = 0.0, min(step, most), 0.0
    at_outer = loss(outer) if outer > 0 else 0.0
    while at_outer < reach:
        if outer >= most:
            return most
        stretch = 1.2 * reach / at_outer if at_outer > 0.1 * reach else 4.0  # the loss is nearly a straight line
        inner, outer, at_inner = outer, min(stretch * outer, most), at_outer
        at_outer = loss(outer)
    beyond = 1e3 * reach  # stands for a loss without bound, where a report that was seen has no chance
    known = {inner: at_inner, outer: at_outer}  # where rounding alone reaches so far, another call might not agree

    def above(s: float) -> float:
        return min(known[s] if s in known else loss(s), beyond) - reach

    return float(brentq(above, inner, outer, xtol=1e-10, rtol=1e-12))
