"""The risk of units, such as households: that at least one of their records is found, and that all are found together.

A unit u with the records i in u, each found with the chance r_i, has the risk

    h_u = 1 - prod over i in u of (1 - r_i)

if its records are matched independently of each other. Whatever depends on what, it is at most ``sum r_i``. Drawn
apart and published without anything that shows which records belong together, the records of a unit are found as
others with the same keys are: the law of the released file depends on the counts of the cells alone.

Where it can be seen which records belong together, somebody who knows the keys of all records of a unit looks for the
whole combination. With N_X units of the same combination, which are randomized alike, the chance is at most ``1 / N_X``
before and after the release; nothing smaller is claimed.

Source: the product as sdcMicro computes it (its hierarchical risk); the bounds are derived.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, as_array, as_list
from maskwell.errors import ParameterError
from maskwell.microdata.records.unit_rows import UnitMembers
from maskwell.microdata.risk.file_risk import cells_in
from maskwell.microdata.risk.risk_report import RiskReport
from maskwell.microdata.risk.unit_draws import TOGETHER


def unit_risks(risks: Any, units: Sequence[Any]) -> Real:
    """For each record the chance that at least one record of its unit is found, ``1 - prod (1 - r_i)``.

    Source: as sdcMicro computes its hierarchical risk; matches of the records of a unit are taken as independent.
    """
    chances = as_array(risks, "risks")
    names = as_list(units, "units")
    if chances.ndim != 1 or chances.dtype.kind not in "iuf" or len(names) != len(chances):
        raise ParameterError("risks-of-shape-for-records", shape=chances.shape, names_count=len(names))
    chances = chances.astype(np.float64)
    if not ((chances >= 0) & (chances <= 1)).all():
        raise ParameterError("a-risk-is-not-between-0")
    numbers: dict[Any, int] = {}
    number = np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)
    return np.asarray(at_least_one(chances, number)[number])


def at_least_one(risks: Real, units: Array) -> Real:
    """For each unit the chance that at least one of its records is found; ``units`` are numbers from 0."""
    with np.errstate(divide="ignore"):
        missed = np.log1p(-np.minimum(risks, 1.0))
    return np.asarray(-np.expm1(np.bincount(units, missed)))


@dataclass(frozen=True)
class UnitFigures:
    """What somebody finds of the units of a file."""

    # the largest chance that at least one record of a unit is found by the intruder of the report, who looks once for
    # each, if they are matched independently; where they have one draw, the bound that needs no independence
    max_risk: float
    max_bound: float  # the same without that assumption: the largest sum of the chances of a unit, 1 at most
    expected_units: float  # units of which at least one record is found, if every record is looked for
    expected_records: float  # the same in records: each counts with the chance of its unit
    # with weights, that number if it is not known who is in the sample, as sdcMicro has it; else ``None``
    expected_reidentifications: float | None = None
    # worst_risk, worst_bound: the same two for whoever finds most: by the best look or, where that can be told, by
    # comparing all released counts with the true ones. ``None`` for a file that is not randomized, where everybody
    # finds the same
    worst_risk: float | None = None
    worst_bound: float | None = None


@dataclass(frozen=True)
class UnitRisk:
    """The risk of the units of a file, before and after a release."""

    unit: str  # unit, units, largest: the column that names them, how many there are, and the records of the largest
    units: int
    largest: int
    # before, after: the file as it is, and as it is released; ``after`` is ``None`` without a release
    before: UnitFigures
    after: UnitFigures | None
    alone: int  # units whose records have keys that, all together, no other unit has
    # the largest chance to find a unit for somebody who knows the keys of all its records and sees which records
    # belong together: one in the units with the same keys, which no draws of single records make smaller. Where units
    # have one draw and all keys in common, the chance that follows from their matrix
    known_together: float
    # seen_by, seen_share: columns that show which records belong together, and for which share of the records; none
    # where nothing does
    seen_by: tuple[str, ...] = ()
    seen_share: float = 0.0

    @property
    def worst(self) -> float:
        """The largest chance that is stated of a unit, whoever looks."""
        now = self.before if self.after is None else self.after
        return max(now.max_risk, now.worst_risk or 0.0, self.known_together if self.seen_share else 0.0)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "seen_by": list(self.seen_by), "worst": self.worst}


def with_units(
    report: RiskReport,
    members: UnitMembers,
    *,
    seen_by: Sequence[str] = (),
    seen_share: float = 0.0,
    together: float | None = None,
) -> RiskReport:
    """A report that tells the risk of units as well; ``members`` are those of its table.

    ``together`` is the largest chance to find a whole unit, where that is known to be below one in those alike.
    """
    keys = cells_in(report.table, report.table.project(report.keys))
    alike = same_units(members.units, keys[members.cells])
    after = None if report.after is None else _with_worst(_figures(_after(report.per_cell), members), report, members)
    if after is not None and TOGETHER in report.flags:  # such draws are not independent: only the sum is claimed
        after = replace(after, max_risk=after.max_bound, worst_risk=after.worst_bound)
    units = UnitRisk(
        unit=members.column,
        units=len(members.sizes),
        largest=int(members.sizes.max()),
        before=_figures(_before(report.per_cell), members),
        after=after,
        alone=int((alike == 1).sum()),
        known_together=1 / float(alike.min()) if together is None else together,
        seen_by=tuple(seen_by),
        seen_share=seen_share,
    )
    return replace(report, units=units)


def _before(per_cell: Mapping[str, Real]) -> tuple[Real, Real, Real | None]:
    return per_cell["before"], per_cell["before"], per_cell.get("population")


def _after(per_cell: Mapping[str, Real]) -> tuple[Real, Real, Real | None]:
    """The largest chances, those that are expected, and these where it is not known who is in the sample."""
    expected = per_cell["unconditional"]
    sample = None if "population" not in per_cell else expected * per_cell["population"] / per_cell["before"]
    return per_cell["after"], expected, sample


_WHOEVER = ("after", "any_release", "released_counts")


def _with_worst(figures: UnitFigures, report: RiskReport, members: UnitMembers) -> UnitFigures:
    """The figures with those of whoever finds most."""
    most = np.max([report.per_cell[name] for name in _WHOEVER if name in report.per_cell], axis=0)
    one, bound = _found(most, members)
    return replace(figures, worst_risk=one, worst_bound=bound)


def _found(most: Real, members: UnitMembers) -> tuple[float, float]:
    """The largest chance that a record of a unit is found: if they are matched independently, and whatever depends."""
    one = at_least_one(most[members.cells], members.units)
    sums = np.bincount(members.units, most[members.cells])
    return float(one.max()), min(1.0, float(sums.max()))


def _figures(chances: tuple[Real, Real, Real | None], members: UnitMembers) -> UnitFigures:
    most, expected, sample = chances
    found = at_least_one(expected[members.cells], members.units)
    one, bound = _found(most, members)
    sampled = None if sample is None else at_least_one(sample[members.cells], members.units)
    return UnitFigures(
        max_risk=one,
        max_bound=bound,
        expected_units=float(found.sum()),
        expected_records=float((found * members.sizes).sum()),
        expected_reidentifications=None if sampled is None else float((sampled * members.sizes).sum()),
    )


def same_units(units: Array, cells: Array) -> Array:
    """For each unit how many units have records in the same cells, itself included."""
    order = np.lexsort((cells, units))
    sizes = np.bincount(units)
    first = np.cumsum(sizes) - sizes
    alike = np.zeros(len(sizes), dtype=np.int64)
    for size in np.unique(sizes).tolist():
        these = np.flatnonzero(sizes == size)
        combinations = cells[order][first[these, None] + np.arange(size)]
        _, which, counts = np.unique(combinations, axis=0, return_inverse=True, return_counts=True)
        alike[these] = counts[which.reshape(-1)]
    return alike
