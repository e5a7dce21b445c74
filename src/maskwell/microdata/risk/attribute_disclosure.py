"""What a released value tells about the true one: posteriors, and the best guess.

    Pr(X = j | Z = i) = p_ij pi_j / lam_i,     lam = P pi
    D_P = sum_i max_j p_ij pi_j

where pi is the distribution of the file. D_P is the chance that the best guess from the released value is right. It is
never below the largest share pi_(1), because everybody can guess the largest category, and for a matrix that keeps the
counts it can be made as small as that.

Source: [Adeshiyan2011, eqs. (4.19) to (4.23), Definitions 4.1 and 4.2].

Diversity and closeness: what the keys of a person tell of a sensitive column, whoever's record it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from maskwell.core.arguments import (
    Array,
    Real,
    as_floats,
    check_kind,
    list_of,
)
from maskwell.core.cells import CellTable
from maskwell.core.exact import Parity, to_float, to_text
from maskwell.core.phrases import Printed
from maskwell.core.report_data import Counts
from maskwell.core.verdicts import above
from maskwell.designs.coded import CodedDesign
from maskwell.designs.dense import design_of
from maskwell.designs.design import Design
from maskwell.errors import CountsError, ParameterError
from maskwell.estimation.maximum_likelihood import estimate_by_likelihood
from maskwell.estimation.moments import estimate_by_moments
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
        raise ParameterError(
            f"pi must be {k:,} shares or counts of 0 or more, not all 0", hint="give one for each category", pi=pi
        )
    whole = bool((values == np.floor(values)).all())
    if not whole and abs(values.sum() - 1) > NEARLY_ONE:
        raise ParameterError(
            f"pi sums to {values.sum():.10g}", hint="give shares that sum to 1, or whole numbers (counts)", pi=pi
        )
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


def _agreement(design: CodedDesign, prior: Real) -> float | None:
    if design.m != design.k:
        return None
    places = np.flatnonzero(prior)
    at = getattr(design, "entries_at", None)
    own = at(places, places) if at else np.array([design.entries(np.array([j]), np.array([j]))[0, 0] for j in places])
    return float(own @ prior[places])


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
        raise ParameterError(f"{sensitive!r} is among the keys", hint="name a column that the intruder does not know")
    part = table.project([*names, sensitive])
    known = part.counts > 0
    if part.levels[-1] and part.levels[-1][-1] is None:
        known &= part.codes[:, -1] != len(part.levels[-1]) - 1
    if not known.any():
        raise CountsError(f"no record has a value of {sensitive!r}", hint="name a column with values")
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
