"""Intervals that need the design and the counts: by the profile of the likelihood, and by the bootstrap.

A profile interval is ``{ t : 2 (l* - l_p(t)) <= chi2 }``, l_p(t) the largest log-likelihood with pi_j = t. Its ends are
found along ``sqrt(2 (l* - l_p(t)))``, nearly a straight line on either side of the maximum. A bootstrap interval comes
from the estimates of reports that might have come instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import NormalDist
from typing import cast

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.verdicts import is_inside
from maskwell.designs.coded import CodedDesign
from maskwell.errors import ParameterError, TooLargeError
from maskwell.estimation.maximisation.maximum import Maximum, maximise
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
    _check(estimate, seed, replicates, source, ends)
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


def _check(estimate: Estimate, seed: int | None, replicates: int, source: str, ends: str) -> None:
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
