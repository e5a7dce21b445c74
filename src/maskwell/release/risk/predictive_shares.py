"""Predictive disclosure without covariates: what released shares tell about a unit of which nothing else is known.

The guess is the most frequent category. For a unit of the file its share is known exactly before, and up to
``z sqrt(C_ii)`` from the released file; for a unit that may not be in it up to ``z sqrt(p (1 - p) / n)`` before and
``z sqrt(p (1 - p) / n + C_ii)`` after. Source: [Adeshiyan2011, section 4.7.5].

Predictive disclosure with covariates: the share of a cell within those that share a covariate, in a released file.

The guess about a unit with the covariate y rests on the share R = A / B of a cell within those with y. Where nothing
moves in or out of B, R is unbiased; otherwise it is a ratio of random counts:

    E(A / B; B > 0) = sum_j N_j a_j E[1 / (1 + B_(j))],   E[1 / (1 + B_(j))] = integral_0^1 G(u) / (1 - d_j u) du,
    G(u) = prod_l (1 - d_l u)^{N_l}

where a_j and d_j are the chances that a record of true cell j is released in A and in B, and B_(j) counts all records
but one of cell j. Source: [Adeshiyan2011, section 4.7.5, eq. (4.25)]; the exact expectation derived.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from maskwell.core.arguments import as_array, as_whole
from maskwell.core.arrays import Array, Real
from maskwell.core.given_counts import check_counts
from maskwell.designs.coded import CodedDesign
from maskwell.designs.given import design_of
from maskwell.errors import CountsError, MatrixError, ParameterError
from maskwell.estimation.intervals.base import check_level
from maskwell.estimation.release_variance import check_keeps, covariance_of_counts, variance_of_counts

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


NODES = 40
PIECES = 64
EQUAL = 1e-10


@dataclass(frozen=True)
class ConditionalProportion:
    """A share within others, before and after a release.

    Attributes
    ----------
    original
        The share in the file.
    mean
        Its expectation in the released file, where that has any record in the whole.
    undefined
        Chance that it has none.
    delta_bias, delta_error
        Bias and standard error to the first order.
    """

    original: float
    mean: float
    undefined: float
    delta_bias: float
    delta_error: float

    @property
    def bias(self) -> float:
        """``mean - original``."""
        return self.mean - self.original

    @property
    def unbiased(self) -> bool:
        """Whether the expectation is the share of the file, up to rounding."""
        return abs(self.bias) <= EQUAL

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "original": self.original,
            "mean_given_defined": self.mean,
            "p_undefined": self.undefined,
            "bias": self.bias,
            "unbiased": self.unbiased,
            "delta_bias": self.delta_bias,
            "delta_error": self.delta_error,
        }


def conditional_proportion(P: Any, counts: Any, numerator: Any, denominator: Any) -> ConditionalProportion:
    """The share of some cells within others in the released file: exact expectation, and the delta method.

    Parameters
    ----------
    P
        The design of all cells, or its matrix; it need not keep the counts.
    counts
        Records of the file in each cell, shape (k,).
    numerator, denominator
        Places of the cells; the second hold the first.

    Source: [Adeshiyan2011, eq. (4.25)], which needs counts kept within each cell of the covariate; derived.

    >>> P = [["5/6", "1/2", 0, 0], ["1/6", "1/2", 0, 0], [0, 0, "1/2", "1/6"], [0, 0, "1/2", "5/6"]]
    >>> within = conditional_proportion(P, [3, 1, 1, 3], [0], [0, 1])     # no record enters or leaves: unbiased
    >>> across = conditional_proportion(P, [3, 1, 1, 3], [0], [0, 2])
    >>> within.unbiased, round(across.mean, 5), round(across.delta_bias, 4)   # 3/4 in the file
    (True, 0.77142, 0.0208)
    """
    design, N = design_and_counts(P, counts)
    a, b = _places(numerator, design.m), _places(denominator, design.m)
    if (a & ~b).any():
        raise ParameterError(
            "the numerator has cells that the denominator has not", hint="list them in the denominator too"
        )
    whole = float(N[b].sum())
    if not whole:
        raise CountsError("no record of the file is in the denominator", hint="name cells that occur")
    in_part, in_whole = (design.forward_adjoint(own.astype(np.float64)) for own in (a, b))
    undefined = float(np.prod(np.maximum(0, 1 - in_whole) ** N))
    mean = _expected_ratio(N, in_part, np.minimum(in_whole, 1)) / (1 - undefined)
    bias, error = _delta(design, N, a, b)
    return ConditionalProportion(float(N[a].sum()) / whole, mean, undefined, bias, error)


def _expected_ratio(N: Real, in_part: Real, in_whole: Real) -> float:
    """``E(A / B; B > 0)`` by Gauss-Legendre nodes on pieces that halve towards u = 0, where G changes fastest."""
    some = np.flatnonzero(N)
    N, a, d = N[some], in_part[some], in_whole[some]
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    total = 0.0
    for piece in range(PIECES):
        high = 2.0**-piece
        low = 0.0 if piece == PIECES - 1 else high / 2
        u = (high + low) / 2 + (high - low) / 2 * nodes
        left = np.log1p(-np.outer(u, d))  # log of (1 - d u): below zero, never at u = 1 itself
        told = np.exp(left @ N) * (np.exp(-left) @ (N * a))
        total += (high - low) / 2 * float(weights @ told)
    return total


def _delta(design: CodedDesign, N: Real, a: Array, b: Array) -> tuple[float, float]:
    """From the joint covariance of the released counts, at the expected counts."""
    C, mean = covariance_of_counts(design, N), design.forward(N)
    part, whole = float(mean[a].sum()), float(mean[b].sum())
    ratio = part / whole
    x = a - ratio * b
    variance, cross = float(x @ C @ x), float(x @ C @ b.astype(np.float64))
    return -cross / whole**2, float(np.sqrt(max(variance, 0.0))) / whole


def _places(places: Any, m: int) -> Array:
    chosen = as_array(places, "places")
    whole = chosen.ndim == 1 and len(chosen) > 0 and chosen.dtype.kind in "iu"
    if not whole or chosen.min() < 0 or chosen.max() >= m:
        raise ParameterError(f"places of cells must be whole numbers from 0 to {m - 1}", hint="such as [0, 2]")
    found = np.zeros(m, dtype=bool)
    found[chosen] = True
    return found
