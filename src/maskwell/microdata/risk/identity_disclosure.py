"""Identity disclosure of all cells of a file at once: with independent draws, an exchange, or sampling weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.cells import CellTable
from maskwell.core.exact import Parity, to_float
from maskwell.designs.dense import design_of
from maskwell.designs.sampler import on_all_processors
from maskwell.microdata.risk.arrivals import Arrivals, SparseArrivals
from maskwell.microdata.risk.binomial_sums import BinomialSums, highest_of, row_sums
from maskwell.microdata.risk.match_chances import strict_bound, strict_risks, strict_when_highest, target_risks
from maskwell.microdata.stages.stage import Stage, acting

STRETCH = 1 << 15  # released cells whose distributions are in memory at once, on each processor
SEARCHED = 2000  # cells whose strict risk is looked for, t by t; see :attr:`CellRisks.strict`
_NEAR_ONE = 0.1
_ROUNDING = 4e-16  # of a term of a sum or of squares: toward a larger bound
_TERMS = 24


@dataclass(frozen=True, eq=False)
class CellRisks:
    """Risks of the records of each cell; every array has shape (cells,)."""

    cells: Array  # cells, counts: which cells, and their records
    counts: Array
    kept: Real  # chance that a record is released with its own key
    unconditional: Real  # chance of a correct match if one of the released records with the record's key is picked
    # the largest chance of a correct match given T = t, over the range that holds T with the stated probability
    in_range: Real
    # the same over every t that is possible; of the least risks a bound where more than 2,000 have to be looked for
    strict: Real
    # the same over all released values, for whoever looks at the best one; a bound where too many would be looked at
    any_release: Real
    true_unique: Real  # chance that the record is released alone with its key, where it was unique; else 0


def cell_risks(counts: Any, design: Any, *, cells: Array | None = None, every_release: bool = True) -> CellRisks:
    """Risks of cells with these records under one design, or a matrix; ``cells`` as in :func:`risks_of`."""
    arrivals = SparseArrivals.from_design(np.asarray(counts, dtype=np.int64), design_of(design))
    return risks_of(arrivals, cells=cells, every_release=every_release)


def risks_of(
    arrivals: Arrivals, *, cells: Array | None = None, level: float = 0.95, every_release: bool = True
) -> CellRisks:
    """Risks of cells, by default of all that have records; ``any_release`` is ``strict`` unless ``every_release``."""
    asked = np.flatnonzero(arrivals.counts > 0) if cells is None else cells
    rows, place = np.unique(arrivals.own[asked], return_inverse=True)
    counts, p = arrivals.counts[asked], arrivals.kept[asked]
    alike = row_sums(arrivals.own, arrivals.counts, int(arrivals.own.max()) + 1)[arrivals.own[asked]]
    unconditional, in_range, terms = _in_stretches(arrivals, rows, place, p, level)
    strict = strict_when_highest(terms, place, p)
    others = np.flatnonzero(np.isnan(strict))
    strict[others] = strict_bound(terms, place[others], p[others], counts[others])
    unsettled = others[strict[others] > in_range[others] * (1 + 1e-12)]
    highest = unsettled[np.argsort(-strict[unsettled], kind="stable")][:SEARCHED]
    strict[highest] = strict_risks([arrivals.terms(int(row)) for row in rows[place[highest]]], p[highest])
    strict = np.maximum(strict, in_range)  # they differ by rounding where both are at one t
    nobody_else = np.exp(terms.log_none[place] - np.where(p < 1, np.log1p(-np.where(p < 1, p, 0.0)), 0.0))
    return CellRisks(
        cells=asked,
        counts=counts,
        kept=p,
        unconditional=unconditional,
        in_range=in_range,
        strict=strict,
        any_release=arrivals.easiest(asked, strict) if every_release else strict,
        true_unique=np.where((alike == 1) & (terms.certain[place] == (p == 1)), p * nobody_else, 0.0),
    )


def _in_stretches(
    arrivals: Arrivals, rows: Array, place: Array, p: Real, level: float
) -> tuple[Real, Real, BinomialSums]:
    """Two risks of targets in some rows, and the ends of their terms; stretches of rows are on all processors."""
    order = np.argsort(place, kind="stable")
    firsts = np.arange(0, len(rows), STRETCH)
    bounds = np.searchsorted(place[order], np.append(firsts, len(rows)))
    unconditional, in_range = np.zeros((2, len(place)))

    def work(number: int) -> BinomialSums:
        first, own = int(firsts[number]), order[bounds[number] : bounds[number + 1]]
        terms = arrivals.summands(rows[first : first + STRETCH])
        unconditional[own], in_range[own] = target_risks(terms, place[own] - first, p[own], level=level)
        return terms.ends()

    return unconditional, in_range, BinomialSums.joined(on_all_processors(work, range(len(firsts))))


def keeps_counts(stages: Sequence[Stage], keys: Sequence[str]) -> bool:
    """Whether every released cell of the key has as many records as the true one: one exchange of the whole key."""
    own = acting(stages, keys)
    return len(own) == 1 and own[0].method == "swap" and {*keys} <= {*own[0].columns, *own[0].linked}


def has_exchange(stages: Sequence[Stage], keys: Sequence[str]) -> bool:
    """Whether a part of the key is exchanged between records; what whole units are dealt evenly counts as draws.

    Inside a pool all arrangements are equally likely, whatever the truth, so that they reveal no more than even draws.
    """
    return any(stage.exchanges and stage.unit is None for stage in acting(stages, keys))


def swapped_risks(arrivals: SparseArrivals) -> CellRisks:
    """The chance of a correct match, ``p_xx / N_x`` for every record of x. Derived; no range and no luck is in it."""
    sizes = row_sums(arrivals.own, arrivals.counts, arrivals.rows)
    cells = np.flatnonzero(arrivals.counts > 0)
    alike, kept = sizes[arrivals.own[cells]], arrivals.kept[cells]
    risk = kept / alike
    elsewhere = arrivals.p / np.maximum(sizes[arrivals.row], 1)
    return CellRisks(
        cells=cells,
        counts=arrivals.counts[cells],
        kept=kept,
        unconditional=risk,
        in_range=risk,
        strict=risk,
        any_release=highest_of(arrivals.cell, elsewhere, len(arrivals.counts))[cells],
        true_unique=np.where(alike == 1, kept, 0.0),
    )


def risks_of_stages(
    arrivals: Arrivals, stages: Sequence[Stage], keys: Sequence[str], level: float
) -> tuple[CellRisks, float]:
    """Risks of all cells from who arrives where after some stages, and the expected released uniques."""
    if keeps_counts(stages, keys) and isinstance(arrivals, SparseArrivals):
        sizes = row_sums(arrivals.own, arrivals.counts, arrivals.rows)
        return swapped_risks(arrivals), float((sizes == 1).sum())
    risks = risks_of(arrivals, level=level)
    if has_exchange(stages, keys):  # how many arrive depends on who else does, and may prove who stayed [derived]
        most = 1 / risks.counts
        risks = replace(risks, in_range=most, strict=most, any_release=most)
    return risks, arrivals.expected_uniques()


def individual_risk(records: Array, weights: Real) -> Real:
    """The risk of each cell of f records where the file is a sample, with weights F: the mean of one over the count.

        p = f / F:  (p / q) log(1 / p) for f = 1;  p / q - (p / q)^2 log(1 / p) for f = 2;  ~ p / (f - q) for f >= 3

    Source: after Benedetti, Capobianchi and Franconi, as sdcMicro computes it; the integral is derived.
    """
    p = np.minimum(1.0, records / np.maximum(weights, records * 1e-12))
    q = 1 - p
    away, some = np.where(q > 0, q, 1.0), np.where(p > 0, p, 1.0)
    once = np.where(q > 0, -p * np.log1p(-np.where(p > 0, q, 0.0)) / away, 1.0)
    # of two, by its series in q where p is near one, since the two terms cancel there
    k = np.arange(_TERMS)
    series = p * (q[:, None] ** k / ((k + 1) * (k + 2))).sum(axis=1)
    ratio = p / np.where(q > _NEAR_ONE, q, 1.0)
    twice = np.where(q > _NEAR_ONE, ratio + ratio**2 * np.log(some), series)
    return np.select([records == 1, records == 2], [once, twice], p / (records - q))


def largest_inclusion(own: CellTable) -> float | None:
    """A bound on the chance of inclusion by weights: none is below ``mean - sqrt((f - 1) variance)`` (Samuelson)."""
    if own.weights is None or own.squares is None:
        return None
    mean, square = own.weights / own.counts, own.squares / own.counts
    variance = np.maximum(square - mean**2, 0.0) + _ROUNDING * (own.counts + 4) * square
    least = float((mean - np.sqrt((own.counts - 1) * variance)).min())
    return 1 / least if least > 1 else 1.0


def match_bound_of_reports(alike: Real, candidates: Real, parity: Parity) -> Real:
    """A match by reports is at most ``1 / (n_z + (n_u - n_z) / gamma^2)``: n_z alike, of n_u possible ones. Derived."""
    others = 0.0 if parity == math.inf else to_float(1 / Fraction(parity) ** 2)
    return np.asarray(1 / (alike + (candidates - alike) * others))
