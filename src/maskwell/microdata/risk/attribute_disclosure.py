"""What a released value tells about the true one: posteriors, and the best guess.

    Pr(X = j | Z = i) = p_ij pi_j / lam_i,     lam = P pi
    D_P = sum_i max_j p_ij pi_j

where pi is the distribution of the file. D_P is the chance that the best guess from the released value is right. It is
never below the largest share pi_(1), because everybody can guess the largest category, and for a matrix that keeps the
counts it can be made as small as that.

Source: [Adeshiyan2011, eqs. (4.19) to (4.23), Definitions 4.1 and 4.2].

Predictive disclosure without covariates: what released shares tell about a unit of which nothing else is known.

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

Diversity and closeness: what the keys of a person tell of a sensitive column, whoever's record it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from maskwell.core.arguments import (
    Array,
    Real,
    as_array,
    as_floats,
    as_whole,
    check_counts,
    check_kind,
    check_level,
    list_of,
)
from maskwell.core.cells import CellTable
from maskwell.core.exact import Number, Parity, as_fraction, to_float, to_text
from maskwell.core.phrases import Printed
from maskwell.core.report_data import Counts
from maskwell.core.verdicts import above
from maskwell.designs.coded import CodedDesign
from maskwell.designs.dense import design_of
from maskwell.designs.design import Design
from maskwell.errors import CountsError, MatrixError, ParameterError
from maskwell.estimation.maximum_likelihood import estimate_by_likelihood
from maskwell.estimation.moments import estimate_by_moments
from maskwell.estimation.release_variance import check_keeps, covariance_of_counts, variance_of_counts
from maskwell.privacy.posterior_probabilities import posterior

NEARLY_ONE = 1e-8
LARGE_CATEGORY = 0.9
NO_HELP = "one category holds {share:.0%} of the records: whoever guesses it is right that often, whatever is released"


def check_prior(pi: Any, k: int) -> Real:
    """Shares of k categories that sum to one; whole numbers are counts, and a sum within 1e-8 of one is put right."""
    try:
        values = as_floats(pi, "pi", finite=False)
    except (TypeError, ValueError):
        values = np.empty((0, 0))
    if values.shape != (k,) or not np.isfinite(values).all() or (values < 0).any() or not values.sum() > 0:
        raise ParameterError("pi-must-be-shares-or-counts", k=k, pi=pi)
    whole = bool((values == np.floor(values)).all())
    if not whole and abs(values.sum() - 1) > NEARLY_ONE:
        raise ParameterError("pi-sums-to", values_sum=values.sum(), pi=pi)
    return np.asarray(values / values.sum())


def posterior_matrix(P: Any, pi: Any) -> Real:
    """``p_ij pi_j / lam_i``: rows are released values, columns true ones, shape (m, k); NaN rows for what cannot come.

    Source: [Adeshiyan2011, eq. (4.19)].
    """
    design = design_of(P)
    return posterior(design, check_prior(pi, design.k))


@dataclass(frozen=True, eq=False)
class Guess:
    """The best guess of the true from the released value."""

    # the category to guess for each released value, shape (m,); the first one of several that are as good
    rule: Array
    joint: Real  # chance of each released value together with the guessed category, shape (m,)
    released: Real  # chance of each released value, shape (m,)
    floor: float  # the largest share of a category: no release can bring the guess below it
    # chance that the released value is the true one; ``None`` where released values are others than true ones
    agreement: float | None

    @cached_property
    def probability(self) -> float:
        """``D_P``: the chance that the best guess is right."""
        return float(self.joint.sum())

    @property
    def posterior(self) -> Real:
        """The largest posterior after each released value, shape (m,); NaN for one that cannot come."""
        out = np.full(len(self.joint), np.nan)
        return np.asarray(np.divide(self.joint, self.released, out=out, where=self.released > 0))

    @property
    def greatest(self) -> float:
        """The largest of all posteriors."""
        return float(np.nanmax(self.posterior))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know, in words."""
        return (NO_HELP.format(share=Printed(self.floor)),) if above(self.floor, LARGE_CATEGORY) else ()

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "guess_probability": self.probability,
            "floor": self.floor,
            "agreement": self.agreement,
            "max_posterior": self.greatest,
            "notes": list(self.notes),
        }


def best_guess(P: Any, pi: Any) -> Guess:
    """The best rule to guess the true from the released value; for designs of any number of categories.

    Where records are randomized within the cells of other columns, cells are part of the states, and the guess uses
    them: ``sum_y Pr(y) D`` over the cells y. Source: [Adeshiyan2011, Definitions 4.1 and 4.2, eq. (4.23)].

    >>> P = [["7/12", "1/2", "1/3"], ["1/3", "3/8", "1/3"], ["1/12", "1/8", "1/3"]]
    >>> guess = best_guess(P, [12, 8, 3])   # the released value tells nothing beyond the largest category
    >>> round(guess.probability, 4), round(guess.floor, 4), guess.rule.tolist()
    (0.5217, 0.5217, [0, 0, 0])
    """
    design = design_of(P)
    prior = check_prior(pi, design.k)
    joint, rule = design.largest_in_rows(prior)
    return Guess(rule, joint, design.forward(prior), float(prior.max()), _agreement(design, prior))


def guess_probability(P: Any, pi: Any) -> float:
    """``sum_i max_j p_ij pi_j``: the chance that the best guess from the released value is right.

    Source: [Adeshiyan2011, Definition 4.2].
    """
    return best_guess(P, pi).probability


def _agreement(design: CodedDesign, prior: Real) -> float | None:
    if design.m != design.k:
        return None
    places = np.flatnonzero(prior)
    at = getattr(design, "entries_at", None)
    own = at(places, places) if at else np.array([design.entries(np.array([j]), np.array([j]))[0, 0] for j in places])
    return float(own @ prior[places])


@dataclass(frozen=True)
class BinaryGuess:
    """Two categories: what the best guess can be for one parameter of a matrix that keeps the shares."""

    probability: Fraction  # chance that the best guess is right
    minimax: bool  # whether it is as small as can be: the share of the larger category
    # the parameters for which it is; ``(1/2, 1/2)`` is the least perturbing of them
    minimax_range: tuple[Fraction, Fraction]
    determinant: Fraction  # of the matrix; 0 makes the released value independent of the true one


def binary_guess(theta: Number, pi_1: Number) -> BinaryGuess:
    """The best guess for ``P = [[1 - theta pi_2 / pi_1, theta], [theta pi_2 / pi_1, 1 - theta]]``, which keeps pi.

        D = max(1 - 2 theta pi_2, 2 theta pi_2, pi_1),     minimax for 1/2 <= theta <= min(1, pi_1 / (2 pi_2))

    where ``theta`` is the chance that the second category is released as the first, and ``pi_1`` the share of the first
    category, which must be the larger one. Source: [Adeshiyan2011, Theorem 4.3].
    """
    t, large = as_fraction(theta, "theta"), as_fraction(pi_1, "pi_1")
    small = 1 - large
    if not Fraction(1, 2) <= large <= 1:
        raise ParameterError("pi-1-the-first-category-must", large=to_float(large))
    if not 0 <= t <= 1:
        raise ParameterError("theta-is-out-of-range", t=to_float(t))
    probability = max(1 - 2 * t * small, 2 * t * small, large)
    upper = min(Fraction(1), large / (2 * small)) if small else Fraction(1)
    return BinaryGuess(probability, probability == large, (Fraction(1, 2), upper), 1 - t / large)


RUNS = 200_000
WORK = 4 * 10**7
"""Random counts that are drawn for the chance that a category stays first."""
NEVER = 8.0
"""Categories whose counts are so many standard deviations behind do not come first."""


@dataclass(frozen=True, eq=False)
class Predictive:
    """What released shares tell about the most frequent category."""

    share: Real  # shares of the file, shape (k,): exactly known before, for a unit of the file
    in_file: Real  # standard errors of the released shares as those of the file, shape (k,)
    # before, after: standard errors of the shares of the population, without and with randomization, shape (k,)
    before: Real
    after: Real
    first: int  # the most frequent category
    # stays_first, simulation_error: chance that it is strictly first in the released file, found by simulation, and
    # the standard error of that
    stays_first: float
    simulation_error: float
    level: float  # of the intervals

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

    Source: [Adeshiyan2011, section 4.7.5].
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
        raise MatrixError("counts-for-a-matrix-of-rows-and", n_count=len(N), m=design.m, k=design.k)
    return design, N


NODES = 40
PIECES = 64
EQUAL = 1e-10


@dataclass(frozen=True)
class ConditionalProportion:
    """A share within others, before and after a release."""

    original: float  # the share in the file
    mean: float  # its expectation in the released file, where that has any record in the whole
    undefined: float  # chance that it has none
    delta_bias: float  # delta_bias, delta_error: bias and standard error to the first order
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

    Source: [Adeshiyan2011, eq. (4.25)], which needs counts kept within each cell of the covariate; derived.
    """
    design, N = design_and_counts(P, counts)
    a, b = _places(numerator, design.m), _places(denominator, design.m)
    if (a & ~b).any():
        raise ParameterError("the-numerator-has-cells")
    whole = float(N[b].sum())
    if not whole:
        raise CountsError("no-record-of-the-file")
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
        integrand = np.exp(left @ N) * (np.exp(-left) @ (N * a))
        total += (high - low) / 2 * float(weights @ integrand)
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
        raise ParameterError("places-of-cells-must-be-whole", m_sub=m - 1)
    places_chosen = np.zeros(m, dtype=bool)
    places_chosen[chosen] = True
    return places_chosen


# ---- what keys tell of a sensitive column: diversity and closeness

SKEWED = 0.5
"""Cells of the keys further from the whole file than this are called skewed."""

FEW_VALUES = (2, 3)
"""Records in cells with fewer values than these are counted."""


@dataclass(frozen=True, kw_only=True)
class AttributeRisk:
    """What an intruder who knows the keys of a person, and is sure of no record, learns of a sensitive column."""

    sensitive: str  # sensitive, values: the column, and how many values it has in the file
    values: int
    records: int  # records, cells: records with a value in it, and cells of the keys that have some
    cells: int
    # homogeneous_cells, homogeneous_records, alone: cells with one value only and the records in them: whoever knows
    # the keys knows the value; and how many of these records are alone in their cell
    homogeneous_cells: int
    homogeneous_records: int
    alone: int
    # skewed_cells, skewed_records: cells with several values that are further from the file than :data:`SKEWED`, and
    # the records in them
    skewed_cells: int
    skewed_records: int
    # fewest_values, violations: l-diversity: the fewest values of a cell, and the records in cells with fewer than 2
    # and 3
    fewest_values: int
    violations: dict[str, int]
    least_entropy: float  # the least ``exp(H)`` of a cell: as many equally frequent values would tell as little
    # t-closeness: the greatest distance of a cell from the file, of 0 to 1: the share of its records that would need
    # another value
    greatest_distance: float
    # guess, guess_without_keys: share of the records whose value the best guess gets right, with and without the keys
    guess: float
    guess_without_keys: float

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def attribute_risk(table: CellTable, keys: Sequence[str], sensitive: str) -> AttributeRisk:
    """Diversity and closeness of a sensitive column in the cells of the keys.

        l_c = number of v with n_cv > 0,     t_c = 1/2 sum_v | n_cv / n_c - N_v / n |

    where ``n_cv`` records of the cell c have the value v, and ``N_v`` of all. Records without a value are left out. The
    distance is that of t-closeness (the earth mover's) where all values are equally far apart. Source: derived.

    Parameters
    ----------
    table
        Counts of the file by the keys and the sensitive column, and maybe others.
    keys
        Columns that an intruder knows.
    sensitive
        The column that nobody should learn.

    >>> cells = {("A", "ill"): 2, ("B", "ill"): 1, ("B", "well"): 7}
    >>> told = attribute_risk(CellTable.of(["town", "health"], cells), ["town"], "health")
    >>> told.homogeneous_records, told.greatest_distance, told.guess   # everybody in A is ill
    (2, 0.7, 0.9)
    """
    check_kind(CellTable, table=table)
    names = list_of(str, keys, "keys")
    check_kind(str, sensitive=sensitive)
    if sensitive in names:
        raise ParameterError("is-among-the-keys", sensitive=sensitive)
    part = table.project([*names, sensitive])
    known = part.counts > 0
    if part.levels[-1] and part.levels[-1][-1] is None:
        known &= part.codes[:, -1] != len(part.levels[-1]) - 1
    if not known.any():
        raise CountsError("no-record-has-a-value", sensitive=sensitive)
    return _attribute_risk(sensitive, part.codes[known], part.counts[known].astype(np.float64))


def _attribute_risk(sensitive: str, codes: Array, counts: Real) -> AttributeRisk:
    _, cell = np.unique(codes[:, :-1], axis=0, return_inverse=True)
    _, value = np.unique(codes[:, -1], return_inverse=True)
    cell, value = cell.reshape(-1), value.reshape(-1)
    n_c, N_v, n = np.bincount(cell, counts), np.bincount(value, counts), float(counts.sum())
    distinct = np.bincount(cell)
    entropy = np.log(n_c) - np.bincount(cell, counts * np.log(counts)) / n_c
    share, usual = counts / n_c[cell], N_v[value] / n
    distance = (np.bincount(cell, np.abs(share - usual)) + 1 - np.bincount(cell, usual)) / 2
    largest = np.zeros(len(n_c))
    np.maximum.at(largest, cell, counts)
    one, skewed = distinct == 1, (distinct > 1) & above(distance, SKEWED, scale=1)
    return AttributeRisk(
        sensitive=sensitive,
        values=len(N_v),
        records=round(n),
        cells=len(n_c),
        homogeneous_cells=int(one.sum()),
        homogeneous_records=round(float(n_c[one].sum())),
        alone=int((n_c == 1).sum()),
        skewed_cells=int(skewed.sum()),
        skewed_records=round(float(n_c[skewed].sum())),
        fewest_values=int(distinct.min()),
        violations={str(few): round(float(n_c[distinct < few].sum())) for few in FEW_VALUES},
        least_entropy=float(np.exp(entropy.min())),
        greatest_distance=float(distance.max()),
        guess=float(largest.sum() / n),
        guess_without_keys=float(N_v.max() / n),
    )


# ---- what a report implies about a randomized column


@dataclass(frozen=True, kw_only=True)
class ReportedAttribute:
    """What an intruder who knows which record is a person's infers from its report about the true answer."""

    sensitive: str  # sensitive, reports: the column, and how many reports it holds
    reports: int
    # the largest likelihood ratio: whatever the intruder knows beforehand, the report multiplies the odds of any two
    # answers by this at most
    parity: Parity
    # guess, guess_without_report: probability that the best guess of the answer is right, with and without the
    # report, for an intruder who knows the shares of the true answers as they are estimated from all reports
    guess: float
    guess_without_report: float
    max_posterior: float  # the largest probability of any answer after a report, for the same intruder
    bound: bool  # whether ``guess`` and ``max_posterior`` are upper bounds that follow from the parity

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {"parity": to_float(self.parity), "parity_exact": to_text(self.parity)}


def reported_attribute(sensitive: str, counts: Counts, design: Design) -> ReportedAttribute:
    """What the reports of a column imply about its true answers; by the parity alone where reports are sets.

        max_j Pr(X = j | Z) <= gamma s / (1 + (gamma - 1) s)

    where gamma is the parity of ``design`` and s the largest share of an answer, estimated from ``counts`` by maximum
    likelihood, or for sets by moments. Source: derived.
    """
    if isinstance(design, CodedDesign):
        guess = best_guess(design, estimate_by_likelihood(counts, design).pi_hat)
        right, without, most = guess.probability, guess.floor, guess.greatest
    else:
        without = min(1.0, max(1 / design.k, float(estimate_by_moments(counts, design).pi_hat.max())))
        right = most = _after_report(design.parity_exact(), without)
    return ReportedAttribute(
        sensitive=sensitive,
        reports=counts.n,
        parity=design.parity_exact(),
        guess=right,
        guess_without_report=without,
        max_posterior=most,
        bound=not isinstance(design, CodedDesign),
    )


def _after_report(parity: Parity, share: float) -> float:
    """The largest probability of an answer after a report, from its share before."""
    gamma = to_float(parity)
    return 1.0 if gamma == math.inf else gamma * share / (1 + (gamma - 1) * share)
