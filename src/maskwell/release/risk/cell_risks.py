"""Identity disclosure of all cells of a file at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from maskwell.core.arguments import Flag, as_list, as_whole_numbers, check_kind
from maskwell.core.arrays import Array, Real
from maskwell.core.survey_numbers import check_counts
from maskwell.designs.dense import design_of
from maskwell.errors import CountsError, MatrixError
from maskwell.release.risk.listed import Listed
from maskwell.release.risk.strict import strict_bound, strict_risk, strict_when_highest
from maskwell.release.risk.summands import Summands, row_sums
from maskwell.release.risk.targets import check_level, target_risks

SEARCHED = 2000
"""Cells whose strict risk is looked for, t by t; see :attr:`CellRisks.strict`."""


class Arrivals(Protocol):
    """Which true cells can be released as which cells of the key, with which probability."""

    @property
    def counts(self) -> Array:
        """Records of each true cell, shape (cells,)."""

    @property
    def own(self) -> Array:
        """The row that is the key of each true cell, shape (cells,)."""

    @property
    def kept(self) -> Real:
        """Chance that a record is released with its own key, shape (cells,)."""

    def summands(self, rows: Array) -> Summands:
        """The terms of some rows."""

    def terms(self, row: int) -> tuple[Array, Real]:
        """Records and probabilities of one row."""

    def easiest(self, cells: Array, own: Real) -> Real:
        """The strict risk of cells under the released value that is best for whoever looks; never below ``own``."""

    def best_guesses(self) -> Real:
        """For each released cell the expected records of the true cell that most of them come from."""

    def expected_uniques(self) -> float:
        """Expected number of released cells with one record."""


@dataclass(frozen=True, eq=False)
class CellRisks:
    """Risks of the records of each cell; every array has shape (cells,).

    Attributes
    ----------
    cells, counts, before
        Which cells, their records, and the risk in the original file, one over the records with the same key.
    kept
        Chance that a record is released with its own key.
    unconditional
        Chance of a correct match if one of the released records with the record's key is picked.
    in_range, t_low, t_high
        The largest chance of a correct match given T = t, over the range that holds T with the stated probability.
    strict
        The same over every t that is possible. Where more than 2,000 cells are likelier to be reached from others
        than from themselves, those of the least risk have a bound from above.
    any_release
        The same as ``strict`` for somebody who looks at the released value that is best for them: the largest chance
        over all released values and all t. Where too many would have to be looked at, a bound from above.
    p_unique
        Chance that exactly one record is released with this key.
    true_unique
        Chance that this one is the record itself, where it was unique; else 0.
    """

    cells: Array
    counts: Array
    before: Real
    kept: Real
    unconditional: Real
    in_range: Real
    t_low: Array
    t_high: Array
    strict: Real
    any_release: Real
    p_unique: Real
    true_unique: Real


def cell_risks(
    counts: Any, design: Any, *, cells: Any = None, level: float = 0.95, every_release: bool = True
) -> CellRisks:
    """Risks of all nonempty cells under one design.

    Parameters
    ----------
    counts
        Records in each cell, shape (k,).
    design
        How a record of each cell is released: a design, or a matrix whose columns sum to one.
    cells
        Numbers of the cells that are asked for; all that have records if left out.
    level
        Probability of the range for the number of released records.
    every_release
        Whether to look for ``any_release``; else it is ``strict``.

    >>> risks = cell_risks([1, 2, 4, 3], [[0.2, 0.1, 0.1, 0.1]] + [[0.8 / 3, 0.3, 0.3, 0.3]] * 3)
    >>> risks.before.round(2).tolist(), risks.in_range.round(2).tolist()   # the unique record hides among arrivals
    ([1.0, 0.5, 0.25, 0.33], [0.2, 0.1, 0.1, 0.1])
    """
    check_kind(Flag, every_release=every_release)
    design = design_of(design)
    found = check_counts(counts).astype(np.int64)
    if len(found) != design.k:
        raise MatrixError(
            f"{len(found)} counts for a matrix of {design.k} columns", hint="give one count for each cell"
        )
    return risks_of(Listed.from_design(found, design), cells=cells, level=level, every_release=every_release)


def risks_of(arrivals: Arrivals, *, cells: Any = None, level: float = 0.95, every_release: bool = True) -> CellRisks:
    """Risks of cells, from who arrives where."""
    check_level(level)
    asked = _asked(arrivals.counts, cells)
    rows, place = np.unique(arrivals.own[asked], return_inverse=True)
    terms, p = arrivals.summands(rows), arrivals.kept[asked]
    alike = row_sums(arrivals.own, arrivals.counts, int(arrivals.own.max()) + 1)[arrivals.own[asked]]
    risks = target_risks(terms, place, p, level=level)
    strict = _strict(arrivals, terms, rows, place, p, arrivals.counts[asked], risks.in_range)
    return CellRisks(
        cells=asked,
        counts=arrivals.counts[asked],
        before=1 / alike,
        kept=p,
        unconditional=risks.unconditional,
        in_range=risks.in_range,
        t_low=risks.t_low,
        t_high=risks.t_high,
        strict=strict,
        any_release=arrivals.easiest(asked, strict) if every_release else strict,
        p_unique=terms.chance_of_one[place],
        true_unique=_true_unique(terms, place, p, alike),
    )


def _asked(counts: Array, cells: Any) -> Array:
    if cells is None:
        return np.flatnonzero(counts > 0)
    asked = as_whole_numbers(as_list(cells, "cells"), "cells")
    if asked.ndim != 1 or (asked < 0).any() or (asked >= len(counts)).any():
        raise CountsError(f"cells are not all from 0 to {len(counts) - 1}", hint="give the places of cells")
    empty = asked[counts[asked] == 0]
    if len(empty):
        raise CountsError(f"cell {empty[0]} has no record: no record can be the target", hint="leave out empty cells")
    return asked


def _strict(
    arrivals: Arrivals, terms: Summands, rows: Array, place: Array, p: Real, counts: Array, in_range: Real
) -> Real:
    """The strict risks; never below those in range, from which they differ by rounding where both are at one t."""
    found = strict_when_highest(terms, place, p)
    others = np.flatnonzero(np.isnan(found))
    found[others] = strict_bound(terms, place[others], p[others], counts[others])
    unsettled = others[found[others] > in_range[others] * (1 + 1e-12)]
    for target in unsettled[np.argsort(-found[unsettled], kind="stable")][:SEARCHED].tolist():
        found[target] = strict_risk(*arrivals.terms(int(rows[place[target]])), float(p[target]))
    return np.maximum(found, in_range)


def _true_unique(terms: Summands, place: Array, p: Real, alike: Real) -> Real:
    """``p`` times the chance that nobody else arrives, for records that are unique; else 0."""
    others_certain = terms.certain[place] - (p == 1)
    nobody = np.exp(terms.log_none[place] - np.where(p < 1, np.log1p(-np.where(p < 1, p, 0.0)), 0.0))
    return np.where((alike == 1) & (others_certain == 0), p * nobody, 0.0)
