"""What an intruder learns of a sensitive column: from the keys of a person, or from the report of a person.

Of reports with the design P and answers pi, ``Pr(X = j | Z = i) = p_ij pi_j / lam_i``, and the best guess is right with
``sum_i max_j p_ij pi_j``. Source: [Adeshiyan2011, eqs. (4.19) to (4.23), Definitions 4.1, 4.2].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.cells import CellTable
from maskwell.core.exact import Parity, to_float, to_text
from maskwell.core.report_data import Counts
from maskwell.core.verdicts import above
from maskwell.designs.coded import CodedDesign
from maskwell.designs.design import Design
from maskwell.errors import CountsError
from maskwell.estimation.maximum_likelihood import estimate_by_likelihood
from maskwell.estimation.moments import estimate_by_moments
from maskwell.microdata.risk.diversity import Diversity

SKEWED = 0.5  # cells of the keys further from the whole file than this are called skewed


@dataclass(frozen=True)
class CellGroup:
    """Some cells of the keys."""

    cells: int
    records: int
    alone: int  # how many of the records are alone in their cell

    @classmethod
    def of(cls, sizes: Array, chosen: Array) -> CellGroup:
        """The chosen ones of cells with so many records."""
        return cls(int(chosen.sum()), round(float(sizes[chosen].sum())), int((sizes[chosen] == 1).sum()))


@dataclass(frozen=True, kw_only=True)
class AttributeRisk:
    """What an intruder who knows the keys of a person, and is sure of no record, learns of a sensitive column."""

    sensitive: str  # sensitive, values: the column, and how many values it has in the file
    values: int
    records: int  # records, cells: records with a value in it, and cells of the keys that have some
    cells: int
    homogeneous: CellGroup  # cells with one value only: whoever knows the keys knows the value
    skewed: CellGroup  # cells with several values that are further from the file than :data:`SKEWED`
    diversity: Diversity  # l-diversity: how many values the records of a cell have
    # t-closeness: the greatest distance of a cell from the file: the share of its records that would have to change
    greatest_distance: float
    # guess, guess_without_keys: share of the records whose value the best guess gets right, with and without the keys
    guess: float
    guess_without_keys: float

    @property
    def fewest_values(self) -> int:
        """The fewest values of a cell."""
        return round(self.diversity.distinct.minimum)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        same, skewed = self.homogeneous, self.skewed
        groups: dict[str, dict[str, Any]] = {
            "homogeneous": {"homogeneous_cells": same.cells, "homogeneous_records": same.records, "alone": same.alone},
            "skewed": {"skewed_cells": skewed.cells, "skewed_records": skewed.records},
            "diversity": {
                "fewest_values": self.fewest_values,
                "violations": self.diversity.distinct.below,
                "least_entropy": self.diversity.entropy.minimum,
                "l_diversity": self.diversity.to_dict(),
            },
        }
        content: dict[str, Any] = {}
        for name, value in vars(self).items():
            content |= groups.get(name, {name: value})
        return content


def attribute_risk(table: CellTable, keys: Sequence[str], sensitive: str) -> AttributeRisk:
    """Diversity and closeness of a sensitive column in the cells of the keys; records without a value are left out.

    t_c = 1/2 sum_v | n_cv / n_c - N_v / n |     (the earth mover's distance of equally distant values; derived)
    """
    part = table.project([*keys, sensitive])
    known = part.counts > 0
    if part.levels[-1] and part.levels[-1][-1] is None:
        known &= part.codes[:, -1] != len(part.levels[-1]) - 1
    if not known.any():
        raise CountsError("no-record-has-a-value", sensitive=sensitive)
    codes, counts = part.codes[known], part.counts[known].astype(np.float64)
    _, cell = np.unique(codes[:, :-1], axis=0, return_inverse=True)
    _, value = np.unique(codes[:, -1], return_inverse=True)
    cell, value = cell.reshape(-1), value.reshape(-1)
    n_c, N_v, n = np.bincount(cell, counts), np.bincount(value, counts), float(counts.sum())
    distinct = np.bincount(cell)
    share, usual = counts / n_c[cell], N_v[value] / n
    distance = (np.bincount(cell, np.abs(share - usual)) + 1 - np.bincount(cell, usual)) / 2
    largest = np.zeros(len(n_c))
    np.maximum.at(largest, cell, counts)
    return AttributeRisk(
        sensitive=sensitive,
        values=len(N_v),
        records=round(n),
        cells=len(n_c),
        homogeneous=CellGroup.of(n_c, distinct == 1),
        skewed=CellGroup.of(n_c, (distinct > 1) & above(distance, SKEWED, scale=1)),
        diversity=Diversity.of(cell, counts),
        greatest_distance=float(distance.max()),
        guess=float(largest.sum() / n),
        guess_without_keys=float(N_v.max() / n),
    )


@dataclass(frozen=True, kw_only=True)
class ReportedAttribute:
    """What an intruder who knows which record is a person's infers from its report about the true answer."""

    sensitive: str  # sensitive, reports: the column, and how many reports it holds
    reports: int
    # by which a report multiplies the odds of any two answers at most, whatever was known
    parity: Parity
    # chance that the best guess is right with and without the report, where the shares of answers are known
    guess: float
    guess_without_report: float
    max_posterior: float  # the largest probability of any answer after a report, for the same intruder
    bound: bool  # whether ``guess`` and ``max_posterior`` are upper bounds that follow from the parity

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {"parity": to_float(self.parity), "parity_exact": to_text(self.parity)}


def reported_attribute(sensitive: str, counts: Counts, design: Design) -> ReportedAttribute:
    """What the reports of a column imply about its true answers; by the parity alone where reports are sets.

    max_j Pr(X = j | Z) <= gamma s / (1 + (gamma - 1) s),   gamma the parity, s the largest share (derived)
    """
    parity = design.parity_exact()
    if isinstance(design, CodedDesign):
        pi = estimate_by_likelihood(counts, design).pi_hat
        pi = pi / pi.sum()
        joint, lam = design.largest_in_rows(pi)[0], design.forward(pi)
        posterior = np.divide(joint, lam, out=np.full(len(joint), np.nan), where=lam > 0)  # NaN for what cannot come
        right, without, most = float(joint.sum()), float(pi.max()), float(np.nanmax(posterior))
    else:
        gamma, largest = to_float(parity), float(estimate_by_moments(counts, design).pi_hat.max())
        without = min(1.0, max(1 / design.k, largest))
        right = most = 1.0 if gamma == math.inf else gamma * without / (1 + (gamma - 1) * without)
    return ReportedAttribute(
        sensitive=sensitive,
        reports=counts.n,
        parity=parity,
        guess=right,
        guess_without_report=without,
        max_posterior=most,
        bound=not isinstance(design, CodedDesign),
    )
