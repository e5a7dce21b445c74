"""Predictive disclosure without covariates: what released shares tell about a unit of which nothing else is known.

The guess is the most frequent category. For a unit of the file its share is known exactly before, and up to
``z sqrt(C_ii)`` from the released file; for a unit that may not be in it up to ``z sqrt(p (1 - p) / n)`` before and
``z sqrt(p (1 - p) / n + C_ii)`` after. Source: [Adeshiyan2011, section 4.7.5].
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from maskwell.core.arguments import as_whole
from maskwell.core.arrays import Real
from maskwell.core.given_counts import check_counts
from maskwell.designs.coded import CodedDesign
from maskwell.designs.given import design_of
from maskwell.errors import MatrixError
from maskwell.estimation.intervals.interval_ends import check_level
from maskwell.estimation.released_variance import check_keeps, variance_of_counts

RUNS = 200_000
WORK = 4 * 10**7
"""Random counts that are drawn for the chance that a category stays first."""
NEVER = 8.0
"""Categories whose counts are so many standard deviations behind do not come first."""


@dataclass(frozen=True, eq=False)
class Predictive:
    """What released shares tell about the most frequent category.

    Attributes
    ----------
    share
        Shares of the file, shape (k,): exactly known before, for a unit of the file.
    in_file
        Standard errors of the released shares as those of the file, shape (k,).
    before, after
        Standard errors of the shares of the population, without and with randomization, shape (k,).
    first
        The most frequent category.
    stays_first, simulation_error
        Chance that it is strictly first in the released file, found by simulation, and the standard error of that.
    level
        Of the intervals.
    """

    share: Real
    in_file: Real
    before: Real
    after: Real
    first: int
    stays_first: float
    simulation_error: float
    level: float

    def interval(self, errors: Real) -> Real:
        """Shares plus and minus a number of standard errors, shape (k, 2)."""
        half = NormalDist().inv_cdf((1 + self.level) / 2) * errors
        return np.column_stack([self.share - half, self.share + half])

    @property
    def overlap(self) -> bool:
        """Whether the released intervals of the two largest categories meet, for a unit of the file."""
        if len(self.share) < 2:
            return False
        second, first = np.argsort(self.share, kind="stable")[-2:]
        ends = self.interval(self.in_file)
        return bool(ends[second, 1] >= ends[first, 0])

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "first": self.first,
            "stays_first": self.stays_first,
            "simulation_error": self.simulation_error,
            "overlap": self.overlap,
            "level": self.level,
            "share": self.share.tolist(),
            "in_file": self.in_file.tolist(),
            "before": self.before.tolist(),
            "after": self.after.tolist(),
        }


def predictive_disclosure(P: Any, counts: Any, *, level: float = 0.95, seed: int = 0, runs: int = RUNS) -> Predictive:
    """What the released shares of one variable tell about a unit of which nothing else is known.

    Parameters
    ----------
    P
        A design that keeps the counts, or its matrix.
    counts
        Records of the file in each category, shape (k,).
    seed, runs
        Of the simulation.

    Source: [Adeshiyan2011, section 4.7.5].

    >>> P = [["7/12", "1/2", "1/3"], ["1/3", "3/8", "1/3"], ["1/12", "1/8", "1/3"]]
    >>> found = predictive_disclosure(P, [12, 8, 3])
    >>> found.interval(found.in_file)[0].round(3).tolist(), found.overlap   # known exactly before: 12/23
    ([0.32, 0.723], True)
    >>> round(found.stays_first, 1)
    0.8
    """
    seed, runs = as_whole(seed, "seed"), as_whole(runs, "runs", low=1)
    check_level(level)
    design, N = design_and_counts(P, counts)
    check_keeps(design, N)
    n, p = N.sum(), N / N.sum()
    added = variance_of_counts(design, N) / n**2
    chance, error = _stays_first(design, N, seed, runs)
    spread = p * (1 - p) / n
    in_file = np.sqrt(np.maximum(added, 0))  # differences of rounding may be below zero
    return Predictive(p, in_file, np.sqrt(spread), np.sqrt(spread + in_file**2), int(p.argmax()), chance, error, level)


def _stays_first(design: CodedDesign, N: Real, seed: int, runs: int) -> tuple[float, float]:
    """Simulated: counts of the first category and of those that may overtake it, the others together."""
    first = int(N.argmax())
    spread = np.sqrt(np.maximum(variance_of_counts(design, N), 0))
    behind = N[first] - N > NEVER * (spread[first] + spread)
    rivals = np.flatnonzero(~behind & (np.arange(len(N)) != first))
    if not len(rivals):
        return 1.0, 0.0
    some = np.flatnonzero(N)
    P = design.entries(np.concatenate([[first], rivals]), some)
    P = np.vstack([P, np.maximum(0, 1 - P.sum(axis=0))])
    runs = int(max(1000, min(runs, WORK // P.size)))
    random, total = np.random.default_rng(seed), np.zeros((runs, len(P)), dtype=np.int64)
    for place, j in enumerate(some):
        total += random.multinomial(int(N[j]), P[:, place] / P[:, place].sum(), size=runs)
    chance = float((total[:, :1] > total[:, 1:-1]).all(axis=1).mean())
    return chance, float(np.sqrt(chance * (1 - chance) / runs))


def design_and_counts(P: Any, counts: Any) -> tuple[CodedDesign, Real]:
    """A square matrix and the counts of its categories, or an error."""
    design, N = design_of(P), check_counts(counts)
    if not len(N) == design.k == design.m:
        raise MatrixError(
            f"{len(N):,} counts for a matrix of {design.m:,} rows and {design.k:,} columns",
            hint="give a square matrix, and one count for each category",
        )
    return design, N
