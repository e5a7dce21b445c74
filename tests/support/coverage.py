"""How often intervals cover the truth: exactly where all counts can be listed, by simulation elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.stats import binom, chi2
from tests.support.arrays import Array, Real
from tests.support.chisquare import FALSE_ALARM

from maskwell import Design
from maskwell.estimation import Estimate, Sample, estimate_by_moments
from maskwell.estimation.share_estimate import Intervals

SLACK = 0.01
"""Intervals from normal approximations cover with their level but for about this much; tests allow it."""


@dataclass(frozen=True)
class Coverage:
    """How many of so many intervals covered the truth, for each category, shape (k,)."""

    hits: Array
    runs: int

    @property
    def shares(self) -> Real:
        return np.asarray(self.hits / self.runs)

    def is_nominal(self, level: float, *, slack: float = SLACK, rate: float = FALSE_ALARM) -> bool:
        """Whether these hits may come from intervals that cover with ``level``, give or take ``slack``.

        Intervals that do are called otherwise with chance ``rate`` at most, over all categories and both sides.
        """
        each = rate / (2 * len(self.hits))
        too_few = binom.cdf(self.hits, self.runs, level - slack) < each
        too_many = binom.sf(self.hits - 1, self.runs, min(level + slack, 1)) < each
        return not (too_few | too_many).any()


def covers(intervals: Intervals, truth: Real) -> Array:
    """Which categories are covered; an interval that is not there covers nothing."""
    return np.asarray((intervals.low <= truth) & (truth <= intervals.high))


@dataclass(frozen=True)
class Errors:
    """Sums over so many estimates of the squared errors, each divided by the variance that was stated; shape (k,)."""

    squares: Real
    runs: int

    @classmethod
    def of(cls, estimates: Iterable[Estimate], truth: Real) -> Errors:
        squares = np.array([(estimate.pi_hat - truth) ** 2 / estimate.variance for estimate in estimates])
        return cls(squares.sum(axis=0), len(squares))

    def are_as_stated(self, *, slack: float, rate: float = FALSE_ALARM) -> bool:
        """Whether normal errors with these variances, give or take the share ``slack`` of them, have such squares.

        Finds a wrong variance from far fewer estimates than their coverage does: at a rate of 1e-6 and with no slack,
        300 runs find a variance that is a third too small, for which hits and misses need 800.
        """
        each = rate / (2 * len(self.squares))
        lowest, highest = chi2.ppf(each, self.runs) * (1 - slack), chi2.isf(each, self.runs) * (1 + slack)
        return bool(((lowest <= self.squares) & (self.squares <= highest)).all())


def coverage_of(
    estimates: Iterable[Estimate],
    truth: Real,
    *,
    level: float = 0.95,
    method: str | None = None,
    make: Callable[[Estimate], Intervals] | None = None,
) -> Coverage:
    """How often the intervals of some estimates cover the truth.

    ``method`` names the interval (the default of the estimate otherwise); ``make`` replaces it, for controls. An
    estimate that stands there several times, the same object, is asked once.
    """
    build = cache(make or (lambda estimate: estimate.intervals(level, method)))
    hits = np.array([covers(build(estimate), truth) for estimate in estimates])
    return Coverage(hits.sum(axis=0), len(hits))


def simulated(draw: Callable[[np.random.Generator], Estimate], *, runs: int, seed: int) -> list[Estimate]:
    """So many estimates, each drawn with the generator that it is given."""
    random = np.random.default_rng(seed)
    return [draw(random) for _ in range(runs)]


def from_simple_samples(
    design: Design, pi: Real, n: int, *, runs: int, seed: int, believed: Design | None = None
) -> list[Estimate]:
    """Estimates from n respondents drawn with replacement, each of whom uses the design; equal counts share one.

    ``believed`` is the design that the analyst takes, where it is another.
    """
    analysed = believed or design

    @cache
    def estimate(counts: tuple[int, ...]) -> Estimate:
        return estimate_by_moments(Sample.of(counts, analysed).counts, analysed)

    drawn = np.random.default_rng(seed).multinomial(n, design.apply(pi), size=runs)
    return [estimate(tuple(counts)) for counts in drawn.tolist()]


def exact_coverage(design: Design, share: float, n: int, *, level: float, method: str) -> tuple[float, float]:
    """For two categories and two reports: coverage where there is an interval, and how often there is one.

    Sums the binomial probabilities of all counts; no simulation.
    """
    pi = np.array([share, 1 - share])
    chance = binom.pmf(np.arange(n + 1), n, design.apply(pi)[0])
    covered = there = 0.0
    for x in np.flatnonzero(chance > 1e-12).tolist():
        intervals = _intervals(design, x, n, level, method)
        exists = not np.isnan(intervals.low[0])
        there += chance[x] * exists
        covered += chance[x] * bool(covers(intervals, pi)[0])
    return covered / there, there


@cache
def _intervals(design: Design, x: int, n: int, level: float, method: str) -> Intervals:
    """They depend on the counts alone, whatever the share that made them."""
    return estimate_by_moments(Sample.of([x, n - x], design).counts, design).intervals(level, method)
