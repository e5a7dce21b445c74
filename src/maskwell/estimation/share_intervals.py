"""Intervals of shares, by name: from standard errors, and carried back from an interval for the share of "yes".

Standard errors give Wald intervals, those on the log odds, for all shares together, and with an effective size.

Score and exact intervals are for two truths and two reports. There ``lam = b + (a - b) pi`` where ``a`` and ``b`` are
the chances of the first report for the first and the second truth. An interval for lam, Wilson's or Clopper and
Pearson's, becomes one for pi by ``(lam - b) / (a - b)``, which turns around when a < b, and is then cut to what can be:
[0, 1].

A new method is one function and one line in :data:`METHODS`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import Real, check_level
from maskwell.errors import ParameterError
from maskwell.estimation.likelihood_intervals import LIMIT, bootstrap, profile
from maskwell.estimation.share_estimate import Estimate, Flag, Intervals

if TYPE_CHECKING:
    from maskwell.designs.design import Design


UNDEFINED = Flag("no interval where a standard error is not defined", "no-interval")


def wald(estimate: Estimate, level: float) -> Intervals:
    """``pi_hat +- z SE``, not cut to [0, 1]; z is the normal quantile, or that of t where the estimate says so.

    Each interval stands for its own category, not for all of them together. Source: [Adeshiyan2011, section 3.3];
    standard.

    >>> import numpy as np
    >>> from maskwell.designs import Dense
    >>> from maskwell.estimation import estimate_by_moments
    >>> from maskwell.estimation import Sample
    >>> sample = Sample.of([80, 420], Dense.of([["11/12", "1/6"], ["1/12", "5/6"]]))
    >>> intervals = wald(estimate_by_moments(sample.counts, sample.design), 0.95)
    >>> intervals.to_array()[0].round(4).tolist()   # no share is negative: near zero, prefer a score interval
    [-0.0518, 0.034]
    """
    return symmetric(estimate, estimate.critical_value((1 + level) / 2), "wald", level)


def symmetric(estimate: Estimate, factor: float, method: str, level: float) -> Intervals:
    """``pi_hat +- factor * SE``."""
    half: Real = factor * estimate.standard_error
    flags = (UNDEFINED,) if np.isnan(half).any() else ()
    return Intervals(estimate.pi_hat - half, estimate.pi_hat + half, method, level, flags)


def logit(estimate: Estimate, level: float) -> Intervals:
    """``expit(logit(pi_hat) +- z SE / (pi_hat (1 - pi_hat)))`` where 0 < pi_hat < 1, and NaN with a flag elsewhere.

    Do not use it near 0 or 1: it covers less than it says there (see docs/theory/intervals.md). Standard.

    >>> from maskwell.designs import Dense
    >>> from maskwell.estimation import estimate_by_moments
    >>> from maskwell.estimation import Sample
    >>> sample = Sample.of([80, 420], Dense.of([["11/12", "1/6"], ["1/12", "5/6"]]))
    >>> intervals = logit(estimate_by_moments(sample.counts, sample.design), 0.95)
    >>> intervals.to_array()[0].tolist(), intervals.flags[0]
    ([nan, nan], 'no logit interval for 2 of 2 categories: it needs an estimate between 0 and 1')
    """
    p, error = estimate.pi_hat, estimate.standard_error
    inside = (p > 0) & (p < 1)
    q = np.where(inside, p, 0.5)
    centre, half = np.log(q / (1 - q)), estimate.critical_value((1 + level) / 2) * error / (q * (1 - q))
    low, high = (np.where(inside, 0.5 + 0.5 * np.tanh((centre + side * half) / 2), np.nan) for side in (-1, 1))
    missing = int((~inside).sum())
    flags = [f"no logit interval for {missing} of {len(p)} categories: it needs an estimate between 0 and 1"]
    flags = flags if missing else []
    return Intervals(low, high, "logit", level, (*flags, *((UNDEFINED,) if np.isnan(half).any() else ())))


def wilson_effective(estimate: Estimate, level: float) -> Intervals:
    """All shares s with ``|p - s| <= z sqrt(s (1 - s) / n_e)``, where n_e is the effective number of records.

    They lie within [0, 1] and exist for categories that no released record has. Source: Wilson's interval, standard;
    with the effective number of records derived.

    >>> from maskwell.estimation import estimate_unknown
    >>> wilson_effective(estimate_unknown([10, 0]), 0.95).to_array().round(4).tolist()
    [[0.5781, 1.0], [0.0, 0.4219]]
    """
    sizes: Real | None = getattr(estimate, "effective", None)
    if sizes is None:
        raise ParameterError(
            f"no wilson interval: this estimate by {estimate.method} has no effective number of records",
            hint="ask for a wald interval, or a score interval for two categories",
        )
    z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2
    p, t = estimate.pi_hat, z2 / sizes
    centre, half = p + t / 2, np.sqrt(t * p * (1 - p) + t**2 / 4)
    low, high = (centre - half) / (1 + t), (centre + half) / (1 + t)
    return Intervals(np.where(p == 0, 0.0, low), np.where(p == 1, 1.0, high), "wilson", level)


def bonferroni(estimate: Estimate, level: float) -> Intervals:
    """Wald intervals with ``z`` at ``1 - alpha / (2 k)``: all k shares are covered together with chance ``1 - alpha``.

    >>> from maskwell.core import Categories
    >>> from maskwell.designs import Uniform
    >>> from maskwell.estimation import estimate_by_moments
    >>> from maskwell.estimation import Sample
    >>> sample = Sample.of([500, 300, 200], Uniform.from_gamma(5, Categories.numbered(3)))
    >>> estimate = estimate_by_moments(sample.counts, sample.design)
    >>> round(float(bonferroni(estimate, 0.95).half_width[0] / estimate.standard_error[0]), 4)   # instead of 1.96
    2.394
    """
    lower = (1 - level) / (2 * len(estimate.pi_hat))  # for many categories one minus this would be rounded to one
    return symmetric(estimate, -estimate.critical_value(lower), "bonferroni", level)


def scheffe(estimate: Estimate, level: float) -> Intervals:
    """Wald intervals with the root of the chi-squared quantile (k - 1 degrees): for all contrasts, also found later.

    >>> from maskwell.core import Categories
    >>> from maskwell.designs import Uniform
    >>> from maskwell.estimation import estimate_by_moments
    >>> from maskwell.estimation import Sample
    >>> sample = Sample.of([500, 300, 200], Uniform.from_gamma(5, Categories.numbered(3)))
    >>> estimate = estimate_by_moments(sample.counts, sample.design)
    >>> round(float(scheffe(estimate, 0.95).half_width[0] / estimate.standard_error[0]), 4)   # instead of 1.96
    2.4477
    """
    from scipy.special import chdtri

    return symmetric(estimate, math.sqrt(chdtri(len(estimate.pi_hat) - 1, 1 - level)), "scheffe", level)


# ---- for two truths and two reports

INCONSISTENT = (
    "inconsistent_with_design: no share between 0 and 1 fits these reports at this level, so the nearest end stands "
    "for the interval; another design may have been used, or respondents did not follow the instructions"
)


def count_of_first(estimate: Estimate, method: str) -> tuple[int, int, Design]:
    """How often the first report was seen, among how many, and the design; an error unless it is two to two."""
    samples = estimate.counted_samples(method)
    if not estimate.is_two_to_two:
        raise ParameterError(
            f"{method} intervals need one sample of a design with two categories and two reports",
            hint="ask for a profile interval: it does the same for any design"
            if estimate.is_of_categories
            else "ask for a wald interval",
            method=method,
        )
    (sample,) = samples
    return int(sample.counts.values[0]), sample.n, sample.design


def carried_back(design: Design, lam: tuple[float, float], method: str, level: float, *, cut: bool) -> Intervals:
    """The interval for the share of the first report as intervals for both true shares."""
    (a, b), _ = design.matrix()
    low, high = sorted((end - b) / (a - b) for end in lam)
    flags: tuple[str, ...] = ()
    if cut:
        flags = (INCONSISTENT,) if high < 0 or low > 1 else ()
        low, high = np.clip([low, high], 0, 1).tolist()
    return Intervals(_both(low, 1 - high), _both(high, 1 - low), method, level, flags)


def _both(first: float, second: float) -> Real:
    return np.array([first, second], dtype=np.float64)


def score(estimate: Estimate, level: float, *, cut: bool = True) -> Intervals:
    """Score intervals for a design with two categories and two reports: all shares that a score test keeps.

    Cut to [0, 1] unless ``cut`` is false; where nothing is left, the nearest end with the flag
    ``inconsistent_with_design``. The default there. Source: Wilson's interval, standard; carried back by the map of
    [Adeshiyan2011, eq. (2.4)], derived.

    >>> from maskwell.designs import Dense
    >>> from maskwell.estimation import estimate_by_moments
    >>> from maskwell.estimation import Sample
    >>> sample = Sample.of([80, 420], Dense.of([["11/12", "1/6"], ["1/12", "5/6"]]))
    >>> intervals = score(estimate_by_moments(sample.counts, sample.design), 0.95)
    >>> intervals.to_array()[0].round(4).tolist()   # at most one in twenty-six
    [0.0, 0.0374]
    """
    x, n, design = count_of_first(estimate, "score")
    return carried_back(design, wilson(x, n, level), "score", level, cut=cut)


def wilson(x: int, n: int, level: float) -> tuple[float, float]:
    """All lam with ``|x/n - lam| <= z sqrt(lam (1 - lam) / n)``.

    >>> [round(end, 4) for end in wilson(0, 10, 0.95)]
    [0.0, 0.2775]
    """
    from statistics import NormalDist

    z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2
    centre, spread = x + z2 / 2, math.sqrt(z2 * (x * (n - x) / n + z2 / 4))
    low = 0.0 if x == 0 else (centre - spread) / (n + z2)  # at the ends the difference is zero but for rounding
    high = 1.0 if x == n else (centre + spread) / (n + z2)
    return low, high


def exact(estimate: Estimate, level: float, *, cut: bool = True) -> Intervals:
    """Intervals that cover with at least the chance stated, whatever the share and n; longer than score intervals.

    For a design with two categories and two reports; cut and flagged like :func:`score`. Source: Clopper and Pearson's
    interval, standard; carried back by the map of [Adeshiyan2011, eq. (2.4)], derived.

    >>> from maskwell.designs import Dense
    >>> from maskwell.estimation import estimate_by_moments
    >>> from maskwell.estimation import Sample
    >>> sample = Sample.of([120, 180], Dense.of([["0.7", "0.3"], ["0.3", "0.7"]]))
    >>> intervals = exact(estimate_by_moments(sample.counts, sample.design), 0.95)
    >>> intervals.to_array()[0].round(4).tolist()   # a quarter; between a tenth and four tenths
    [0.1103, 0.3947]
    """
    x, n, design = count_of_first(estimate, "exact")
    return carried_back(design, clopper_pearson(x, n, level), "exact", level, cut=cut)


def clopper_pearson(x: int, n: int, level: float) -> tuple[float, float]:
    """All lam that neither one-sided binomial test at half of ``1 - level`` rejects.

    >>> [round(end, 4) for end in clopper_pearson(0, 10, 0.95)]
    [0.0, 0.3085]
    """
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = 0.0 if x == 0 else float(betaincinv(x, n - x + 1, tail))
    high = 1.0 if x == n else float(betaincinv(x + 1, n - x, 1 - tail))
    return low, high


# ---- by name

METHODS: dict[str, Callable[..., Intervals]] = {
    "wald": wald,
    "logit": logit,
    "score": score,
    "exact": exact,
    "profile": profile,
    "bonferroni": bonferroni,
    "scheffe": scheffe,
    "bootstrap": bootstrap,
    "wilson": wilson_effective,
}


def intervals_of(estimate: Estimate, level: float, method: str, **options: Any) -> Intervals:
    """The intervals of that name; options go to the method."""
    check_level(level)
    if method not in METHODS:
        raise ParameterError(
            f"no interval is called {method!r}", hint=f"choose one of {', '.join(METHODS)}", method=method
        )
    make = METHODS[method]
    _check_options(method, make, options)
    return make(estimate, level, **options)


def _check_options(method: str, make: Callable[..., Intervals], options: dict[str, Any]) -> None:
    known = [name for name, one in inspect.signature(make).parameters.items() if one.kind is one.KEYWORD_ONLY]
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise ParameterError(
            f"{unknown[0]} is no option of {method} intervals",
            hint=f"they take {', '.join(known)}" if known else "they take no options",
            options=options,
        )


def default_method(estimate: Estimate) -> str:
    """``score`` for one sample of a design with two categories and two reports, else ``wald``.

    Maximum likelihood estimates at the boundary have no standard error: these get ``profile``.
    """
    if estimate.is_two_to_two:
        return "score"
    return "profile" if _has_profile(estimate) and np.isnan(estimate.standard_error).any() else "wald"


def _has_profile(estimate: Estimate) -> bool:
    """Whether a maximum likelihood estimate is small enough for profile intervals of its categories."""
    return estimate.method == "ml" and len(estimate.categories) <= LIMIT and estimate.is_of_categories
