"""Bootstrap intervals: the estimate from reports that might have come instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.designs.coded import CodedDesign
from maskwell.errors import ParameterError, TooLargeError
from maskwell.estimation.intervals.base import Intervals, check_counted, is_of_categories

if TYPE_CHECKING:
    from maskwell.designs.design import Design
    from maskwell.estimation.result import Estimate
    from maskwell.estimation.samples import Sample

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
    """Percentile or BCa intervals from counts that are drawn anew.

    Parameters
    ----------
    estimate
        By moments or by maximum likelihood, from one sample or several.
    level
        Of the intervals.
    seed
        A whole number; must be given, so that the interval can be made again.
    replicates
        How many times the counts are drawn.
    source
        ``reports``: from the observed shares (nonparametric). ``model``: from P times the maximum likelihood estimate
        (parametric), as tests want it.
    ends
        ``percentile``, or ``bca`` (bias corrected and accelerated) for moment estimates of one sample.

    >>> from maskwell.designs.dense import Dense
    >>> from maskwell.estimation.moments import estimate_by_moments
    >>> from maskwell.estimation.samples import Sample
    >>> sample = Sample.of([120, 180], Dense.of([["0.7", "0.3"], ["0.3", "0.7"]]))
    >>> found = bootstrap(estimate_by_moments(sample.counts, sample.design), 0.95, seed=1, replicates=4000)
    >>> found.to_array()[0].round(1).tolist()   # close to the score interval, 0.115 to 0.391
    [0.1, 0.4]
    """
    samples = check_counted(estimate, "bootstrap")
    _check(estimate, seed, replicates, source, ends)
    drawn = _Draws(samples, _shares(samples, source), replicates, np.random.default_rng(seed))
    values = _estimates(estimate, drawn)
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    at = np.tile(tails, (len(estimate.pi_hat), 1)) if ends == "percentile" else _bca(estimate, values, tails)
    low, high = np.array([_quantile(values[:, j], at[j]) for j in range(values.shape[1])]).T
    return Intervals(low, high, "bootstrap", level, _flags(estimate, low))


@dataclass(frozen=True, eq=False)
class _Draws:
    """New counts, a few thousand at a time; the same seed gives the same ones."""

    samples: tuple[Sample, ...]
    shares: list[Real]
    replicates: int
    random: np.random.Generator

    def batches(self) -> Iterator[list[Array]]:
        """For each batch and sample the counts of several replicates, shape (b, m)."""
        size = max(1, min(self.replicates, CHUNK // max(len(share) for share in self.shares)))
        for begin in range(0, self.replicates, size):
            b = min(size, self.replicates - begin)
            drawn = zip(self.samples, self.shares, strict=True)
            yield [self.random.multinomial(sample.n, share, size=b) for sample, share in drawn]

    def each(self, make: Callable[[list[Array]], Real]) -> Real:
        """One estimate for each replicate, from its counts."""
        return np.array([make([x[i] for x in batch]) for batch in self.batches() for i in range(len(batch[0]))])


def _check(estimate: Estimate, seed: int | None, replicates: int, source: str, ends: str) -> None:
    if seed is None:
        raise ParameterError("a bootstrap draws, and needs a seed to be repeated", hint="give seed=1, say")
    if seed < 0:
        raise ParameterError(f"seed = {seed!r}", hint="give a whole number of 0 or more", seed=seed)
    if replicates < FEWEST:
        raise ParameterError(
            f"replicates = {replicates}: too few to tell the ends of an interval",
            hint=f"give at least {FEWEST}; 1000 is usual",
        )
    for name, given, allowed in (("source", source, SOURCES), ("ends", ends, ENDS)):
        if given not in allowed:
            raise ParameterError(f"{name} = {given!r}", hint=f"choose one of {', '.join(allowed)}")
    if ends == "bca" and not _linear(estimate):
        raise ParameterError(
            f"no bca interval for an estimate by {estimate.method}",
            hint="bca is for moment estimates of one sample: take percentile",
        )
    if replicates * len(estimate.pi_hat) > LARGEST:
        raise TooLargeError("too many categories to keep all replicates", hint="draw fewer replicates")


def _linear(estimate: Estimate) -> bool:
    return estimate.method.startswith("moments") and len(estimate.samples) == 1


def _shares(samples: tuple[Sample, ...], source: str) -> list[Real]:
    if source == "reports":
        return [sample.counts.share() for sample in samples]
    from maskwell.estimation.maximising.maximum import maximise

    pi = maximise([s.design for s in samples], [s.counts.values for s in samples]).pi
    return [_whole(sample.design.apply(pi)) for sample in samples]


def _whole(lam: Real) -> Real:
    """Chances that sum to one but for rounding, as the generator wants them."""
    return np.asarray(lam / lam.sum())


def _estimates(estimate: Estimate, drawn: _Draws) -> Real:
    """The same estimate from every replicate, shape (replicates, k)."""
    if _linear(estimate):
        return np.concatenate([_by_moments(estimate, *batch) for batch in drawn.batches()])
    designs = [sample.design for sample in drawn.samples]
    if estimate.method == "ml" and is_of_categories(estimate):
        from maskwell.estimation.maximising.maximum import maximise

        return drawn.each(lambda counts: maximise(designs, counts, gap=1e-8).pi)
    return drawn.each(lambda counts: _from_samples(designs, counts, estimate.method))


def _from_samples(designs: Sequence[Design], counts: Sequence[Array], method: str) -> Real:
    """Several samples, perhaps of sums of the categories."""
    from maskwell.estimation.samples import Sample
    from maskwell.estimation.several import estimate_samples

    samples = [Sample.of(own, design) for own, design in zip(counts, designs, strict=True)]
    return estimate_samples(samples, method=method).pi_hat


def _by_moments(estimate: Estimate, counts: Array) -> Real:
    share = counts / estimate.n
    if estimate.inverse is not None:
        return np.asarray(share @ estimate.inverse.L.T)
    design = cast(CodedDesign, estimate.samples[0].design)  # sets have been refused
    return design.backward(share)


def _quantile(values: Real, at: Real) -> Real:
    """Quantiles at ``(B + 1) p``; NaN where ``at`` is."""
    if np.isnan(at).any():
        return np.full(2, np.nan)
    return np.asarray(np.quantile(values, at, method="weibull"))


def _bca(estimate: Estimate, values: Real, tails: Real) -> Real:
    """The probabilities whose quantiles are the ends, shape (k, 2).

        Phi(z0 + (z0 + z) / (1 - a (z0 + z)))

    where z0 is the normal quantile of the share of replicates below the estimate, and the acceleration a comes from
    the skewness of one report's recovery, ``sum d^3 / (6 (sum d^2)^1.5)`` with ``d = L_i - pi_hat``.
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


def _flags(estimate: Estimate, low: Real) -> tuple[str, ...]:
    at_boundary = estimate.method == "ml" and bool(((estimate.pi_hat <= 0) | (estimate.pi_hat >= 1)).any())
    none = "no bca interval where the reports do not vary" if np.isnan(low).any() else ""
    return tuple(said for said in (BOUNDARY if at_boundary else "", none) if said)
