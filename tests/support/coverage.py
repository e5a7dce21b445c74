"""How often intervals cover the truth: exactly where all counts can be listed, by simulation elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom
from tests.support.arrays import Array, Real
from tests.support.chisquare import FALSE_ALARM

from maskwell.designs import Design
from maskwell.estimation import Estimate, Intervals, Sample, estimate_by_moments

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


def simulated_coverage(
    draw: Callable[[np.random.Generator], Estimate],
    truth: Real,
    *,
    runs: int,
    seed: int,
    level: float = 0.95,
    method: str | None = None,
    make: Callable[[Estimate], Intervals] | None = None,
) -> Coverage:
    """Coverage over ``runs`` estimates, each drawn with the generator that it is given.

    ``method`` names the interval (the default of the estimate otherwise); ``make`` replaces it, for controls.
    """
    random = np.random.default_rng(seed)
    build = make or (lambda estimate: estimate.intervals(level, method))
    hits = sum(covers(build(draw(random)), truth).astype(int) for _ in range(runs))
    return Coverage(np.asarray(hits), runs)


def from_simple_sample(design: Design, pi: Real, n: int) -> Callable[[np.random.Generator], Estimate]:
    """Estimates from n respondents drawn with replacement, each of whom uses the design."""
    lam = design.apply(pi)

    def draw(random: np.random.Generator) -> Estimate:
        sample = Sample.of(random.multinomial(n, lam), design)
        return estimate_by_moments(sample.counts, design)

    return draw


def exact_coverage(design: Design, share: float, n: int, *, level: float, method: str) -> tuple[float, float]:
    """For two categories and two reports: coverage where there is an interval, and how often there is one.

    Sums the binomial probabilities of all counts; no simulation.
    """
    pi = np.array([share, 1 - share])
    chance = binom.pmf(np.arange(n + 1), n, design.apply(pi)[0])
    covered = there = 0.0
    for x in np.flatnonzero(chance > 1e-12):
        sample = Sample.of([x, n - x], design)
        found = estimate_by_moments(sample.counts, design).intervals(level, method)
        exists = not np.isnan(found.low[0])
        there += chance[x] * exists
        covered += chance[x] * bool(covers(found, pi)[0])
    return covered / there, there
