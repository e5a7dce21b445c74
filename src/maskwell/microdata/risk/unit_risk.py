"""The risk of units, such as households: that at least one of their records is found, and that all are found together.

    h_u = 1 - prod over i in u of (1 - r_i)        at most sum r_i, whatever depends on what

Who sees which records belong together, and knows all keys, finds a unit with at most one in the units alike.
Source: the product as sdcMicro computes it (its hierarchical risk); the bounds are derived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Real
from maskwell.microdata.records.unit_rows import UnitMembers
from maskwell.microdata.risk.file_risk import cells_in
from maskwell.microdata.risk.risk_report import RiskReport


@dataclass(frozen=True)
class UnitFigures:
    """What an intruder identifies of the units of a file."""

    # the largest chance that one record is found, matched independently; the bound where units have one draw
    max_risk: float
    max_bound: float  # the same without that assumption: the largest sum of the chances of a unit, 1 at most
    expected_units: float  # units of which at least one record is found, if every record is looked for
    expected_records: float  # the same in records: each counts with the chance of its unit
    # with weights, that number if it is not known who is in the sample, as sdcMicro has it; else ``None``
    expected_reidentifications: float | None = None
    # the same two for whoever finds most, comparing all counts where that is told; ``None`` of a file as it is
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
    # the largest match probability of a unit whose records are seen together, by all its keys: one over the number of
    # units with the same keys, however records are drawn; less where units have one draw and all keys in common
    known_together: float
    # columns that show which records belong together, and for which share of the records
    seen_by: tuple[str, ...] = ()
    seen_share: float = 0.0

    @property
    def worst(self) -> float:
        """The largest match probability that is stated of a unit, for any intruder."""
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
    """A report with the risk of units as well; ``together`` is the probability to identify a whole one, if known."""
    risks, after = report.per_cell, None
    keys = cells_in(report.table, report.table.project(report.keys))
    # units with records in the same cells
    own = keys[members.cells]
    alike = np.zeros(len(members.sizes), dtype=np.int64)
    for of_size, records in members.sorted_by(own):
        _, which, counts = np.unique(own[records], axis=0, return_inverse=True, return_counts=True)
        alike[of_size] = counts[which.reshape(-1)]
    if report.after is not None:
        expected = risks["unconditional"]
        sample = expected * risks["population"] / risks["before"] if "population" in risks else None
        most = np.max([risks[name] for name in ("after", "any_release", "released_counts") if name in risks], axis=0)
        after = _figures(risks["after"], expected, sample, members)
        worst = _figures(most, expected, sample, members)
        after = replace(after, worst_risk=worst.max_risk, worst_bound=worst.max_bound)
        if report.is_flagged("all-records-of-a-unit"):  # draws are not independent: only the sum is claimed
            after = replace(after, max_risk=after.max_bound, worst_risk=after.worst_bound)
    units = UnitRisk(
        unit=members.column,
        units=len(members.sizes),
        largest=int(members.sizes.max()),
        before=_figures(risks["before"], risks["before"], risks.get("population"), members),
        after=after,
        alone=int((alike == 1).sum()),
        known_together=1 / float(alike.min()) if together is None else together,
        seen_by=tuple(seen_by),
        seen_share=seen_share,
    )
    return replace(report, units=units)


def _figures(most: Real, expected: Real, sample: Real | None, members: UnitMembers) -> UnitFigures:
    """From the largest chances of cells, those that are expected, and these if it is not known who is in the sample."""

    def at_least_one(risks: Real) -> Real:
        """For each unit the chance that at least one of its records is found."""
        with np.errstate(divide="ignore"):
            missed = np.log1p(-np.minimum(risks[members.cells], 1.0))
        return np.asarray(-np.expm1(np.bincount(members.units, missed)))

    found = at_least_one(expected)
    return UnitFigures(
        max_risk=float(at_least_one(most).max()),
        max_bound=min(1.0, float(np.bincount(members.units, most[members.cells]).max())),
        expected_units=float(found.sum()),
        expected_records=float((found * members.sizes).sum()),
        expected_reidentifications=None if sample is None else float((at_least_one(sample) * members.sizes).sum()),
    )
