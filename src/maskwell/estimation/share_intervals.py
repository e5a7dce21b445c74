"""Intervals of shares, by name: from standard errors, and carried back from intervals of binomial counts.

Standard errors give Wald intervals, those on the log odds, for all shares together, and with an effective size.

Score, exact and matched intervals are those of the count behind each share, for which ``lam = b + (a - b) pi``: an
interval for lam, Wilson's or Clopper and Pearson's, becomes one for pi by ``(lam - b) / (a - b)`` and is then cut to
what can be: [0, 1]. They are never empty.

A new method is one function and one line in :data:`METHODS`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np

from maskwell.core.arguments import Real, as_count, check_level
from maskwell.core.phrases import option, together
from maskwell.core.verdicts import is_inside
from maskwell.errors import ParameterError
from maskwell.estimation.binomial_counts import BinomialCounts
from maskwell.estimation.likelihood_intervals import LIMIT, bootstrap, profile
from maskwell.estimation.outside_estimates import Flag, is_doubted
from maskwell.estimation.share_estimate import Estimate, Intervals
from maskwell.notes import Note

UNDEFINED = Flag("no interval where a standard error is zero or not defined", "no-interval")
NO_DEGREES = Flag(
    "no interval: clusters and strata leave no degrees of freedom, so that nothing says how far the standard error may "
    "be off",
    "no-interval",
)


def wald(estimate: Estimate, level: float) -> Intervals:
    """``pi_hat +- z SE``, not cut to [0, 1], z of the normal or t. [Adeshiyan2011, section 3.3]; standard."""
    return symmetric(estimate, estimate.critical_value((1 + level) / 2), "wald", level)


def symmetric(estimate: Estimate, factor: float, method: str, level: float) -> Intervals:
    """``pi_hat +- factor * SE``, and the bound of a bias; none where SE is zero: then reports do not vary."""
    half: Real = factor * np.where(estimate.has_error, estimate.standard_error, np.nan)
    flags = (UNDEFINED,) if np.isnan(half).any() else ()
    if estimate.bias is not None:
        half = half + estimate.bias
    return Intervals(estimate.pi_hat - half, estimate.pi_hat + half, method, level, flags)


def logit(estimate: Estimate, level: float) -> Intervals:
    """``expit(logit(pi_hat) +- z SE / (pi_hat (1 - pi_hat)))``; NaN with a flag unless 0 < pi_hat < 1. Standard."""
    p, error = estimate.pi_hat, estimate.standard_error
    inside = is_inside(p)
    q = np.where(inside, p, 0.5)
    centre, half = np.log(q / (1 - q)), estimate.critical_value((1 + level) / 2) * error / (q * (1 - q))
    low, high = (np.where(inside, 0.5 + 0.5 * np.tanh((centre + side * half) / 2), np.nan) for side in (-1, 1))
    missing = int((~inside).sum())
    flags: tuple[str, ...] = (UNDEFINED,) if np.isnan(half).any() else ()
    if missing:
        flags = Note("no-logit-interval-for-of-categories", missing=missing, p_count=len(p)), *flags
    return Intervals(low, high, "logit", level, flags)


def wilson_effective(estimate: Estimate, level: float) -> Intervals:
    """All s with ``|p - s| <= b + z sqrt(s (1 - s) / n_e)``: Wilson's, with effective records and a bias b. Derived."""
    sizes: Real | None = getattr(estimate, "effective", None)
    if sizes is None:
        raise ParameterError("no-wilson-interval-this-estimate", method=estimate.method)
    z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2
    p, t = estimate.pi_hat, z2 / sizes
    bias = 0.0 if estimate.bias is None else estimate.bias
    least, most = np.maximum(p - bias, 0), np.minimum(p + bias, 1)
    low, high = (
        (q + t / 2 + side * np.sqrt(t * q * (1 - q) + t**2 / 4)) / (1 + t) for q, side in ((least, -1), (most, 1))
    )
    return Intervals(np.where(least == 0, 0.0, low), np.where(most == 1, 1.0, high), "wilson", level)


def bonferroni(estimate: Estimate, level: float) -> Intervals:
    """Wald intervals with ``z`` at ``1 - alpha / (2 k)``: all k shares hold together with chance ``1 - alpha``."""
    lower = (1 - level) / (2 * len(estimate.pi_hat))  # for many categories one minus this would be rounded to one
    return symmetric(estimate, -estimate.critical_value(lower), "bonferroni", level)


def scheffe(estimate: Estimate, level: float) -> Intervals:
    """Wald intervals with the root of the chi-squared quantile (k - 1 degrees): for all contrasts, also found later."""
    from scipy.special import chdtri

    return symmetric(estimate, math.sqrt(chdtri(len(estimate.pi_hat) - 1, 1 - level)), "scheffe", level)


# ---- from the binomial count behind each share

INCONSISTENT = Flag(
    "inconsistent_with_design: no share between 0 and 1 fits these reports at this level, so the interval holds those "
    "that fit nearly as well as the nearest; another design may have been used, or respondents did not follow the "
    "instructions",
    "inconsistent",
)

Ends = Callable[[Real, Real, float], tuple[Real, Real]]  # for the chances behind counts x of n, up to z errors
FARTHEST = 8.0  # normal tails beyond this are rounding; quantiles of t with few degrees of freedom may be larger


def counts_for(estimate: Estimate, method: str) -> BinomialCounts:
    """The binomial counts behind an estimate, or an error that says why ``method`` needs them."""
    counts = estimate.binomial_counts
    if counts is None:
        raise ParameterError("no-interval-the-estimate-by-was", estimate_method=estimate.method, method=method)
    return counts


def carried_back(estimate: Estimate, ends: Ends, method: str, level: float, *, cut: bool) -> Intervals:
    """Intervals of the counts as intervals of the shares, cut to [0, 1] if asked for, and then never empty."""
    counts = counts_for(estimate, method)
    z = min(estimate.critical_value((1 + level) / 2), FARTHEST)
    low, high = (counts.shares(lam) for lam in ends(counts.x, counts.n, z))
    if not cut:
        return Intervals(low, high, method, level)
    source = estimate if estimate.sums_of is None else estimate.sums_of.estimate
    flags = (INCONSISTENT,) if ((high < 0) | (low > 1)).any() and is_doubted(source.flags) else ()
    lam = counts.x / counts.n
    from_zero, to_one = _reach(counts, counts.b, counts.b - lam, z), _reach(counts, counts.a, lam - counts.a, z)
    low, high = np.minimum(low, 1 - to_one), np.maximum(high, from_zero)
    return Intervals(np.clip(low, 0, 1), np.clip(high, 0, 1), method, level, flags)


def _reach(counts: BinomialCounts, end: Real, beyond: Real, z: float) -> Real:
    """How far from the share 0 or 1 the interval goes at least, where the estimate lies beyond that end. Derived.

    All shares with ``d(t)^2 - d(end)^2 <= min(z, d(end))^2``, d their distance from the reports in errors at the end.
    """
    error = np.sqrt(end * (1 - end) / counts.n)
    d = np.divide(np.maximum(beyond, 0), error, out=np.zeros(beyond.shape), where=error > 0)
    return np.asarray((np.sqrt(d**2 + np.minimum(z, d) ** 2) - d) * error / (counts.a - counts.b))


def score(estimate: Estimate, level: float, *, cut: bool = True) -> Intervals:
    """Wilson's intervals of the counts, cut if asked. Carried back as [Adeshiyan2011, eq. (2.4)], derived."""
    return carried_back(estimate, wilson, "score", level, cut=cut)


def wilson(x: Real, n: Real, z: float) -> tuple[Real, Real]:
    """All lam with ``|x/n - lam| <= z sqrt(lam (1 - lam) / n)``, for each count."""
    z2 = z**2
    centre, spread = x + z2 / 2, np.sqrt(z2 * (x * (n - x) / n + z2 / 4))
    low, high = (centre - spread) / (n + z2), (centre + spread) / (n + z2)
    return np.where(x == 0, 0.0, low), np.where(x == n, 1.0, high)  # where the difference is zero but for rounding


def exact(estimate: Estimate, level: float, *, cut: bool = True) -> Intervals:
    """Clopper and Pearson's where one count tells each share. Carried back as [Adeshiyan2011, eq. (2.4)], derived."""
    if not counts_for(estimate, "exact").exact:
        raise ParameterError("no-exact-interval-under-this-design", method="exact")
    return carried_back(estimate, clopper_pearson, "exact", level, cut=cut)


def matched(estimate: Estimate, level: float, *, cut: bool = True) -> Intervals:
    """Exact intervals of the binomial count with the same variance as the estimate at every true share. Derived."""
    return carried_back(estimate, clopper_pearson, "matched", level, cut=cut)


def clopper_pearson(x: Real, n: Real, z: float) -> tuple[Real, Real]:
    """All lam that neither one-sided binomial test rejects whose level is the normal tail beyond z, for each count."""
    from scipy.special import betainccinv, betaincinv

    tail, of = NormalDist().cdf(-z), np.arange(len(x))
    if len(n) and (n == n[0]).all():  # of a million categories most have one of a few counts
        x, of = np.unique(x, return_inverse=True)
        n = np.full(len(x), n[0])
    low = np.where(x > 0, betaincinv(np.where(x > 0, x, 1), n - x + 1, tail), 0.0)
    high = np.where(x < n, betainccinv(x + 1, np.where(x < n, n - x, 1), tail), 1.0)
    return low[of], high[of]


# ---- by name

METHODS: dict[str, Callable[..., Intervals]] = {
    "wald": wald,
    "logit": logit,
    "score": score,
    "exact": exact,
    "matched": matched,
    "profile": profile,
    "bonferroni": bonferroni,
    "scheffe": scheffe,
    "bootstrap": bootstrap,
    "wilson": wilson_effective,
}

DRAWING = "bootstrap"


class SeededMethod(str):
    """The name of a method that draws, with the seed that repeats its draws; wherever it goes, it is the name."""

    __slots__ = ("seed",)
    seed: int


def with_seed(method: str | None, seed: int | None) -> str | None:
    """The method with its seed, which the one that draws needs, and no other takes."""
    if seed is None and method != DRAWING:
        return method
    if method != DRAWING or seed is None:
        first, second = option("seed"), option("interval", DRAWING)
        wrong, lacks = (second, first) if seed is None else (first, second)
        raise ParameterError(
            "wrong-needs-lacks", wrong=wrong, lacks=lacks, together=together(second, option("seed", "1")), seed=seed
        )
    seeded = SeededMethod(method)
    seeded.seed = as_count(seed, "seed")
    return seeded


WITH_BIAS = ("wald", "wilson", "bonferroni", "scheffe")  # methods that allow for the bound of a bias


def intervals_of(estimate: Estimate, level: float, method: str, **options: Any) -> Intervals:
    """The intervals of that name; options go to the method."""
    check_level(level)
    if method not in METHODS:
        raise ParameterError("no-interval-is-called", methods=", ".join(METHODS), method=method)
    make = METHODS[method]
    if isinstance(method, SeededMethod):
        options = {"seed": method.seed, **options}
    taken = [name for name, one in inspect.signature(make).parameters.items() if one.kind is one.KEYWORD_ONLY]
    unknown = sorted(set(options) - set(taken))
    if unknown:
        raise ParameterError(
            f"{unknown[0]} is no option of {method} intervals",
            hint=f"they take {', '.join(taken)}" if taken else "they take no options",
            options=options,
        )
    if estimate.bias is not None and method not in WITH_BIAS:
        raise ParameterError("no-interval-where-shares-may", with_bias=", ".join(WITH_BIAS), method=method)
    if np.isnan(estimate.pi_hat).all():  # a domain with too few rows, which its flags say
        return Intervals(estimate.pi_hat, estimate.pi_hat, method, level)
    if math.isnan(estimate.critical_value((1 + level) / 2)):
        none = np.full(len(estimate.pi_hat), np.nan)
        return Intervals(none, none, method, level, (NO_DEGREES,))
    return make(estimate, level, **options)


def default_method(estimate: Estimate) -> str:
    """The method that keeps its level, and is short where two do: docs/adr/0030-default-intervals.md and 0051."""
    if estimate.bias is not None:
        return "wald"
    profiled = estimate.method == "ml" and len(estimate.categories) <= LIMIT and estimate.is_of_categories
    two_to_two = profiled and [(s.design.k, s.design.m) for s in estimate.samples] == [(2, 2)]
    if profiled and np.isnan(estimate.standard_error).any() and not two_to_two:
        return "profile"
    counts = estimate.binomial_counts
    if counts is None:
        return "wald"
    if estimate.variance_of_plan is not None:
        small = counts.sparse or not estimate.has_error.all()
        return "matched" if small else "score" if counts.few_people else "wald"
    if counts.sparse:
        return "exact" if counts.exact else "matched"
    return "score"
