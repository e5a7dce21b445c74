"""The risk of a file, put together: what an intruder finds, and where the risk lies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.cells import CellTable
from maskwell.core.display import Result
from maskwell.core.verdicts import above
from maskwell.errors import UnknownCategoryError
from maskwell.microdata.risk.intruders import ANY_LOOK, MEASURES

if TYPE_CHECKING:
    from maskwell.microdata.risk.joined_columns import JoinedRisk
    from maskwell.microdata.risk.joint_disclosure import JointRisk
    from maskwell.microdata.risk.unit_risk import UnitRisk

SIZES = (2, 3, 5)  # cells smaller than these are counted


@dataclass(frozen=True)
class SmallCells:
    """The small cells of a realised file."""

    # smallest, violations: records of the smallest cell, and the records in cells of fewer than 2, 3 and 5
    smallest: int
    violations: Mapping[int, int]
    uniques: int  # records that are alone in their cell

    @classmethod
    def of(cls, own: CellTable) -> SmallCells:
        """Those of a table over the keys."""
        small = {size: int(own.counts[own.counts < size].sum()) for size in SIZES}
        return cls(int(own.counts.min()), small, int((own.counts == 1).sum()))


@dataclass(frozen=True)
class SampleRisk:
    """What an intruder achieves who does not know who is in the sample, estimated from its weights."""

    # correct matches, and the largest chance of one, estimated from a model of the population
    expected_reidentifications: float
    max_risk_population: float
    # the bound on being sampled and found, if weights are one over the chance to be sampled; ``None`` where unknown
    max_risk_sampled: float | None


def _figure(part: str, name: str) -> Any:
    return cached_property(lambda file: getattr(getattr(file, part), name, None))


def _measure(name: str) -> Any:
    """The largest chance of a correct match by one measure; None where that is not known."""
    return cached_property(lambda file: file.max_risk_by.get(name))


@dataclass(frozen=True, eq=False, kw_only=True)
class FileRisk:
    """What an intruder who knows the key of a person achieves with a file; with the figures of its parts."""

    records: int  # records, cells: records of the file, and cells of the key that occur
    cells: int
    small: SmallCells | None  # its small cells, and its uniques; ``None`` of a released file that is not yet drawn
    expected_matches: float  # correct matches that are expected if every record is looked for
    # chance that the best guess of a true key from its released key is right; ``None`` of randomized reports
    guess_probability: float | None
    # expected released uniques, and those of them that are true ones; the second ``None`` of randomized reports
    expected_uniques: float
    expected_true_uniques: float | None
    # the largest chance of a correct match: by the intruder of the report, and by each of `MEASURES` that is known
    max_risk: float
    max_risk_by: Mapping[str, float]
    percentile_95: float  # the chance that 95 % of the records do not exceed
    records_above: int | None = None  # records whose chance is above the threshold; ``None`` without one
    sample: SampleRisk | None = None  # with weights, the risk if it is not known who is in the sample

    smallest, violations = _figure("small", "smallest"), _figure("small", "violations")
    uniques = _figure("small", "uniques")
    max_risk_in_range, max_risk_strict = _measure("in_range"), _measure("strict")
    max_risk_any_release, max_risk_released_counts = _measure("any_release"), _measure("released_counts")
    expected_reidentifications = _figure("sample", "expected_reidentifications")
    max_risk_population = _figure("sample", "max_risk_population")
    max_risk_sampled = _figure("sample", "max_risk_sampled")

    @property
    def k_anonymity(self) -> dict[str, Any]:
        """The smallest cell, and the records in cells smaller than 2, 3 and 5."""
        small = None if self.small is None else {str(k): n for k, n in self.small.violations.items()}
        return {"smallest": self.smallest, "violations": small}

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        parts: dict[str, dict[str, Any]] = {
            "small": {"k_anonymity": self.k_anonymity, "uniques": self.uniques},
            "max_risk_by": {f"max_risk_{name}": self.max_risk_by.get(name) for name in MEASURES},
            "sample": {one.name: getattr(self, one.name) for one in fields(SampleRisk)},
        }
        content: dict[str, Any] = {}
        for one in fields(self):
            content |= parts.get(one.name, {one.name: getattr(self, one.name)})
        return content


def chance_figures(risk: Real, counts: Array, threshold: float | None, measured: Mapping[str, Real]) -> dict[str, Any]:
    """Of the chances of a correct match of cells, and of these as they are measured: those that describe a file."""
    return {
        "max_risk": float(risk.max()),
        "max_risk_by": {name: float(measured[name].max()) for name in MEASURES if name in measured},
        "percentile_95": percentile(risk, counts, 0.95),
        "records_above": None if threshold is None else int(counts[above(risk, threshold, scale=1)].sum()),
    }


def percentile(risk: Real, counts: Array, share: float) -> float:
    """The smallest risk that at least this share of the records do not exceed."""
    order = np.argsort(risk, kind="stable")
    reached = np.cumsum(counts[order])
    return float(risk[order][np.searchsorted(reached, share * reached[-1] * (1 - 1e-12))])


@dataclass(frozen=True, eq=False, kw_only=True)
class RiskReport(Result):
    """Risk of a file before and after a release.

    Attributes
    ----------
    keys
        What the intruder knows.
    before, after
        The file as it is, and as it is released; ``after`` is ``None`` without a release.
    intruder
        One of :data:`~maskwell.microdata.risk.intruders.INTRUDERS`: whom ``max_risk`` and ``records_above`` speak of.
    threshold, level
        The chance of a correct match that was to be kept, if any, and the probability of the range of counts.
    table
        The cells that the arrays of ``per_cell`` belong to.
    per_cell
        ``before``, and where there are weights ``population``; after a release ``after`` (the largest chance of a
        correct match against the intruder), ``unconditional``, ``in_range``, ``strict``, ``any_release`` and ``kept``,
        and of a file that is drawn ``released_counts`` where it is known; each of shape (cells,).
    flags
        What a reader should know, in words.
    units
        A :class:`~maskwell.microdata.risk.unit_risk.UnitRisk`, where units of the records are known.
    joined
        A :class:`~maskwell.microdata.risk.joined_columns.JoinedRisk`, of the simulated linkage attack.
    joint_table
        A :class:`~maskwell.microdata.risk.joint_disclosure.JointRisk`, where other columns than keys are randomized.
    """

    keys: tuple[str, ...]
    before: FileRisk
    after: FileRisk | None
    threshold: float | None
    level: float
    table: CellTable
    per_cell: Mapping[str, Real] = field(repr=False)
    intruder: str = ANY_LOOK.name
    flags: tuple[str, ...] = ()
    units: UnitRisk | None = None
    joined: JoinedRisk | None = None
    joint_table: JointRisk | None = None

    @cached_property
    def now(self) -> FileRisk:
        """The file as it is released, where it is; else as it is."""
        return self.before if self.after is None else self.after

    @cached_property
    def worst_by_counts(self) -> float:
        """The largest probability of a correct match, by the intruder of the report or one who compares counts."""
        now = self.now
        return float(max(now.max_risk, now.max_risk_any_release, now.max_risk_released_counts or 0.0))

    @cached_property
    def worst(self) -> float:
        """The largest figure that the report has for a correct match, also of the simulated linkage attack."""
        return max(self.worst_by_counts, 0.0 if self.joined is None else self.joined.right_surest)

    @cached_property
    def not_computed(self) -> str | None:
        """An intruder of whom no figure is known, so that the worst one is not: the name of what they use."""
        after = self.after
        if after is None:
            return None
        joint = self.joint_table
        if joint is not None and not joint.accepted and joint.one_look is None:
            return "joint-table"
        return "released-counts" if after.small is not None and after.max_risk_released_counts is None else None

    @cached_property
    def headline(self) -> dict[str, Any]:
        """The figure that stands above the release, for whom, whether the limit is kept, and the worst known."""
        now = self.now
        return {
            "risk": now.max_risk,
            "intruder": self.intruder,
            "keys": list(self.keys),
            "limit": self.threshold,
            "kept": None if self.threshold is None or self.not_computed == "joint-table" else not now.records_above,
            "worst": None if self.not_computed else self.worst,
            **({} if self.after is None else {"covers_released_counts": now.max_risk_released_counts is not None}),
            **({} if self.units is None else {"unit": self.units.unit, "worst_unit": self.units.worst}),
        }

    @cached_property
    def risk(self) -> Real:
        """The chance of a correct match of the records of each cell: after the release where there is one."""
        return self.per_cell["before" if self.after is None else "after"]

    def count_above(self, bound: float) -> int:
        """Records whose chance of a correct match is above a bound."""
        return int(self.table.counts[above(self.risk, bound, scale=1)].sum())

    def is_flagged(self, code: str) -> bool:
        """Whether a note of the catalogue is among the flags."""
        return any(getattr(flag, "code", "") == code for flag in self.flags)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the file before, the same under ``before``, and ``after``."""
        return {
            **self.before.to_dict(),
            "headline": self.headline,
            "keys": list(self.keys),
            "threshold": self.threshold,
            "level": self.level,
            "before": self.before.to_dict(),
            "after": None if self.after is None else self.after.to_dict(),
            "flags": list(self.flags),
            **({} if self.units is None else {"units": self.units.to_dict()}),
            **({} if self.joined is None else {"joined_columns": self.joined.to_dict()}),
            **({} if self.joint_table is None else {"joint_table": self.joint_table.to_dict()}),
        }


def risks_of_cells(report: RiskReport, cells: Array) -> dict[str, Array]:
    """The risks of records whose cells are known; -1 is a record that lies in none of them, which is an error."""
    if (cells < 0).any():
        row = int(np.flatnonzero(cells < 0)[0])
        raise UnknownCategoryError("record-has-a-combination", row_number=row + 1, row=row)
    return {name: values[cells] for name, values in report.per_cell.items()}
