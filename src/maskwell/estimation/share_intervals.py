"""Intervals of shares, by name: a new method is one function and one line in :data:`METHODS`.

Score, exact and matched intervals are those for lam of the count behind each share, ``lam = b + (a - b) pi``, turned by
``(lam - b) / (a - b)`` and cut to [0, 1]; never empty. A profile interval is ``{ t : 2 (l* - l_p(t)) <= chi2 }``, its
ends found along ``sqrt(2 (l* - l_p(t)))``, which is nearly straight.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from statistics import NormalDist
from typing import Any, cast

import numpy as np

from maskwell.core.arguments import Array, Real, as_count, check_level
from maskwell.core.phrases import option, together
from maskwell.core.verdicts import is_inside
from maskwell.designs.coded import CodedDesign
from maskwell.errors import ParameterError, TooLargeError
from maskwell.estimation.binomial_counts import BinomialCounts
from maskwell.estimation.maximisation.maximum import Maximum, maximise
from maskwell.estimation.outside_estimates import Flag, is_doubted
from maskwell.estimation.share_estimate import Estimate, Intervals, Sample
from maskwell.notes import Note

LIMIT = 500  # with more categories than this, profile intervals are refused: each needs a dozen maximisations
Loss = Callable[[float], float]  # the square root of twice the fall of the log-likelihood when a share is held at t


def profile(estimate: Estimate, level: float) -> Intervals:
    """Profile likelihood intervals; an end is 0 or 1 where the likelihood never falls far enough. Standard."""
    samples, k = estimate.counted_samples("profile"), len(estimate.categories)
    if not estimate.is_of_categories:
        raise ParameterError("no-profile-interval-these-estimates")
    if k > LIMIT:
        raise TooLargeError("profile-intervals-for-categories-would-take", k=k, limit=LIMIT)
    reach, errors = NormalDist().inv_cdf((1 + level) / 2), np.nan_to_num(estimate.standard_error)
    top, steps = _maximum(samples), np.where(errors > 0, reach * errors, 0.05)  # where to look first
    ends = [_ends(samples, top, j, reach, steps[j]) for j in range(1 if k == 2 else k)]
    if k == 2:  # the second share is one minus the first
        ends.append((1 - ends[0][1], 1 - ends[0][0]))
    low, high = np.array(ends).T
    flags = () if top.unique else (Note("the-likelihood-is-largest-along"),)
    return Intervals(low, high, "profile", level, flags)


def _maximum(samples: Sequence[Sample], fixed: tuple[int, float] | None = None, start: Real | None = None) -> Maximum:
    """To a gap that is small against one in the whole log-likelihood, and no smaller than rounding allows."""
    gap = max(1e-6 / sum(sample.n for sample in samples), 1e-13)
    designs, counts = [s.design for s in samples], [s.counts.values for s in samples]
    return maximise(designs, counts, gap=gap, start=start, fixed=fixed)


def _ends(samples: Sequence[Sample], top: Maximum, j: int, reach: float, step: float) -> tuple[float, float]:
    loss, centre = _loss(samples, top, j), float(top.pi[j])
    low = centre - distance(lambda s: loss(centre - s), centre, reach, step)
    high = centre + distance(lambda s: loss(centre + s), 1 - centre, reach, step)
    return max(low, 0.0), min(high, 1.0)


def _loss(samples: Sequence[Sample], top: Maximum, j: int) -> Loss:
    last, other = top.pi, np.eye(2)[1 - j] if len(top.pi) == 2 else None

    def loss(t: float) -> float:
        nonlocal last
        t = min(max(t, 0.0), 1.0)
        if other is not None:  # with two categories nothing is left to maximise over
            held = _log_likelihood(samples, np.where(other, 1 - t, t))
        elif t == 1:
            held = _log_likelihood(samples, np.eye(len(last))[j])
        else:
            constrained = _maximum(samples, (j, t), last)
            held = constrained.log_likelihood
            last = constrained.pi if np.isfinite(held) else last  # the next t is near: begin there
        return math.sqrt(2 * max(top.log_likelihood - held, 0.0))

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


def distance(loss: Loss, most: float, reach: float, step: float, exact: float = 1e-10) -> float:
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

    return float(brentq(above, inner, outer, xtol=exact, rtol=1e-12))


FEWEST = 100
CHUNK = 10**7
LARGEST = 2 * 10**8
TIED = 1e-12
SOURCES, ENDS = ("reports", "model"), ("percentile", "bca")
BOUNDARY = (
    "a share is estimated at 0 or 1, where the bootstrap of a maximum likelihood estimate is not valid: prefer profile"
)


def bootstrap(
    estimate: Estimate,
    level: float,
    *,
    seed: int | None = None,
    replicates: int = 1000,
    source: str = "reports",
    ends: str = "percentile",
) -> Intervals:
    """Percentile or BCa intervals from counts that are drawn anew."""
    samples = estimate.counted_samples("bootstrap")
    _check_bootstrap(estimate, seed, replicates, source, ends)
    values = _estimates(estimate, _drawn(samples, source, replicates, np.random.default_rng(seed)))
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    at = np.tile(tails, (len(estimate.pi_hat), 1)) if ends == "percentile" else _bca(estimate, values, tails)
    none = np.asarray(np.isnan(at).any(axis=1))  # quantiles at (B + 1) p; none where reports do not vary
    found = [
        np.quantile(v, np.where(no, tails, p), method="weibull") for v, p, no in zip(values.T, at, none, strict=True)
    ]
    low, high = np.where(none[:, None], np.nan, found).T
    at_boundary = estimate.method == "ml" and not is_inside(estimate.pi_hat).all()
    undefined = ("no bca interval where the reports do not vary",) if none.any() else ()
    return Intervals(low, high, "bootstrap", level, (*((BOUNDARY,) if at_boundary else ()), *undefined))


def _drawn(
    samples: Sequence[Sample], source: str, replicates: int, random: np.random.Generator
) -> Iterator[list[Array]]:
    """Batches of replicates: the new counts of each sample, shape (b, m); the same seed gives the same ones."""
    shares = [sample.counts.share() for sample in samples]
    if source == "model":
        pi = maximise([s.design for s in samples], [s.counts.values for s in samples]).pi
        fitted = [sample.design.apply(pi) for sample in samples]
        shares = [lam / lam.sum() for lam in fitted]  # one but for rounding, as the generator wants them
    size = max(1, min(replicates, CHUNK // max(len(share) for share in shares)))
    for begin in range(0, replicates, size):
        b = min(size, replicates - begin)
        yield [random.multinomial(sample.n, share, size=b) for sample, share in zip(samples, shares, strict=True)]


def _check_bootstrap(estimate: Estimate, seed: int | None, replicates: int, source: str, ends: str) -> None:
    if seed is None:
        raise ParameterError("a-bootstrap-draws-and-needs")
    if seed < 0:
        raise ParameterError("seed-seed-give", seed=seed)
    if replicates < FEWEST:
        raise ParameterError("replicates-too-few-to-tell", replicates=replicates, fewest=FEWEST)
    for name, choice, allowed in (("source", source, SOURCES), ("ends", ends, ENDS)):
        if choice not in allowed:
            raise ParameterError("name-choice", name=name, choice=choice, allowed=", ".join(allowed))
    if ends == "bca" and not _linear(estimate):
        raise ParameterError("no-bca-interval-for-an-estimate", method=estimate.method)
    if replicates * len(estimate.pi_hat) > LARGEST:
        raise TooLargeError("too-many-categories-to-keep-all")


def _linear(estimate: Estimate) -> bool:
    return estimate.method.startswith("moments") and len(estimate.samples) == 1


def _estimates(estimate: Estimate, drawn: Iterator[list[Array]]) -> Real:
    """The same estimate from every replicate, shape (replicates, k)."""
    if _linear(estimate):
        return np.concatenate([_by_moments(estimate, *batch) for batch in drawn])
    designs = [sample.design for sample in estimate.samples]
    replicates = ([x[i] for x in batch] for batch in drawn for i in range(len(batch[0])))
    if estimate.method == "ml" and estimate.is_of_categories:
        return np.array([maximise(designs, counts, gap=1e-8).pi for counts in replicates])
    from maskwell.estimation.stacked_samples import estimate_samples

    samples = ([Sample.of(x, d) for x, d in zip(counts, designs, strict=True)] for counts in replicates)
    return np.array([estimate_samples(one, method=estimate.method).pi_hat for one in samples])


def _by_moments(estimate: Estimate, counts: Array) -> Real:
    share, sample = counts / estimate.n, estimate.samples[0]
    if sample.inverse is not None:
        return np.asarray(share @ sample.inverse.L.T)
    return cast(CodedDesign, sample.design).backward(share)  # sets have been refused


def _bca(estimate: Estimate, values: Real, tails: Real) -> Real:
    """The probabilities ``Phi(z0 + (z0 + z) / (1 - a (z0 + z)))`` whose quantiles are the ends, shape (k, 2).

    The acceleration is ``a = sum d^3 / (6 (sum d^2)^1.5)`` with ``d = L_i - pi_hat`` of each report.
    """
    from scipy.special import ndtr, ndtri

    counts = estimate.samples[0].counts.values
    off = values - estimate.pi_hat
    below = (off < -TIED).mean(axis=0) + (np.abs(off) <= TIED).mean(axis=0) / 2
    z0 = np.where((below > 0) & (below < 1), ndtri(np.clip(below, 1e-12, 1 - 1e-12)), np.nan)
    d = _by_moments(estimate, np.eye(len(counts)) * estimate.n) - estimate.pi_hat
    square, cube = counts @ d**2, counts @ d**3
    a = np.divide(cube, 6 * square**1.5, out=np.full(len(z0), np.nan), where=square > 0)
    shifted = z0[:, None] + ndtri(tails)
    return np.asarray(ndtr(z0[:, None] + shifted / (1 - a[:, None] * shifted)))


UNDEFINED = Flag("no interval where a standard error is zero or not defined", "no-interval")


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
    doubted = ((high < 0) | (low > 1)).any() and is_doubted(source.flags)
    flags = (Flag(Note("inconsistent-with-design-no-share"), "inconsistent"),) if doubted else ()
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
    """Clopper and Pearson's if one count determines each share. Carried back as [Adeshiyan2011, eq. (2.4)], derived."""
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
            f"{unknown[0]} is not an option of {method} intervals",
            hint=f"they take {', '.join(taken)}" if taken else "they take no options",
            options=options,
        )
    if estimate.bias is not None and method not in WITH_BIAS:
        raise ParameterError("no-interval-where-shares-may", with_bias=", ".join(WITH_BIAS), method=method)
    if np.isnan(estimate.pi_hat).all():  # a domain with too few rows, which its flags say
        return Intervals(estimate.pi_hat, estimate.pi_hat, method, level)
    if math.isnan(estimate.critical_value((1 + level) / 2)):
        none = np.full(len(estimate.pi_hat), np.nan)
        return Intervals(none, none, method, level, (Flag(Note("no-interval-clusters-and-strata"), "no-interval"),))
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
