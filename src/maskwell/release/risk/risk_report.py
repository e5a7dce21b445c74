"""The risk of a file, put together: who looks for a record, what they find, and where the risk lies.

All intruders know the keys of a person, that the person is in the file, the matrices and the true counts. They differ
in where they look and in what else they use:

``any-look``
    looks at the released value under which the person is found most easily, whatever number of records has it.
``own-key``
    looks only at the records released with the person's own keys, whatever their number.
``own-key-95``
    the same, for the numbers of records that 95 % of the releases have.
``released-counts``
    as ``any-look``, and also compares all released counts with the true ones. What this tells is known only once the
    file is drawn, so the bound is for the very file that is released.
``all-columns``
    as ``any-look``, and also weighs how well the unchanged columns of a record go with the keys. How often this is
    right is simulated: :mod:`maskwell.release.risk.joined_columns`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import Array, Real, as_mapping, check_kind, check_option
from maskwell.core.cells import CellTable
from maskwell.core.display import Result
from maskwell.core.groups import find_keys, number_cells
from maskwell.core.verdicts import above
from maskwell.errors import ParameterError, UnknownCategoryError

if TYPE_CHECKING:
    from maskwell.release.risk.joined_columns import JoinedRisk
    from maskwell.release.risk.unit_risk import UnitRisk

ANY_LOOK, OWN_KEY, OWN_KEY_95, RELEASED_COUNTS = "any-look", "own-key", "own-key-95", "released-counts"
ALL_COLUMNS = "all-columns"
OF_COUNTS = (ANY_LOOK, OWN_KEY, OWN_KEY_95, RELEASED_COUNTS)
"""Intruders whose chance follows from the counts of a file."""

INTRUDERS = (*OF_COUNTS, ALL_COLUMNS)
_MEASURES = {
    ANY_LOOK: ("any_release",),
    OWN_KEY: ("strict",),
    OWN_KEY_95: ("in_range",),
    RELEASED_COUNTS: ("any_release", "released_counts"),
    ALL_COLUMNS: ("any_release",),
}


def risk_against(intruder: str, risks: Mapping[str, Real]) -> Real:
    """The risk of each cell against one of the intruders, of risks by their measure: the largest that is known.

    >>> risk_against("own-key", {"strict": np.array([0.5]), "any_release": np.array([0.6])}).tolist()
    [0.5]
    """
    check_option("intruder", intruder, _MEASURES)
    known = [risks[name] for name in _MEASURES[intruder] if name in risks]
    return np.asarray(np.max(known, axis=0))


SIZES = (2, 3, 5)
"""Cells smaller than these are counted."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FileRisk:
    """What somebody who knows the key of a person can do with a file.

    Attributes
    ----------
    records, cells
        Records of the file, and cells of the key that occur.
    smallest, violations
        The smallest cell, and the records in cells of fewer than 2, 3 and 5; of the released file as it came out, and
        ``None`` where it is not yet drawn.
    uniques
        Records that are alone in their cell; ``None`` as before.
    expected_matches
        Correct matches that are expected if every record is looked for.
    guess_probability
        Chance that the best guess of a record's true key from its released key is right; ``None`` of a file of
        randomized reports, whose true keys are not known.
    expected_uniques, expected_true_uniques
        Expected released uniques, and how many of them are true uniques in their own cell; the second ``None`` of a
        file of randomized reports.
    max_risk
        The largest chance of a correct match of any record, against the intruder that the report speaks of.
    max_risk_in_range, max_risk_strict, max_risk_any_release
        The same for somebody who looks only at records with the person's own key, over the numbers of them that are
        likely and over all that are possible; and for somebody who looks at the released value that is best for them,
        over all possible numbers.
    max_risk_released_counts
        The same of the file as it came out, for somebody who also compares all released counts with the true ones;
        ``None`` where it is not drawn yet, or too large to tell.
    percentile_95
        The chance that 95 % of the records do not exceed.
    records_above
        Records whose chance is above the threshold; ``None`` without one.
    expected_reidentifications, max_risk_population
        With weights, correct matches if it is not known who is in the sample, and the largest chance of one, estimated
        from a model of the population; else ``None``.
    max_risk_sampled
        With weights, what the chance of any person to be sampled and found cannot exceed, if every weight is one over
        the chance to be in the sample; else ``None``.
    """

    records: int
    cells: int
    smallest: int | None
    violations: Mapping[int, int] | None
    uniques: int | None
    expected_matches: float
    guess_probability: float | None
    expected_uniques: float
    expected_true_uniques: float | None
    max_risk: float
    max_risk_in_range: float
    max_risk_strict: float
    max_risk_any_release: float
    max_risk_released_counts: float | None = None
    percentile_95: float
    records_above: int | None = None
    expected_reidentifications: float | None = None
    max_risk_population: float | None = None
    max_risk_sampled: float | None = None

    @property
    def k_anonymity(self) -> dict[str, Any]:
        """The smallest cell, and the records in cells smaller than 2, 3 and 5."""
        small = None if self.violations is None else {str(k): n for k, n in self.violations.items()}
        return {"smallest": self.smallest, "violations": small}

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        told: dict[str, Any] = {}
        for name, value in vars(self).items():
            if name == "smallest":
                told["k_anonymity"] = self.k_anonymity
            elif name != "violations":
                told[name] = value
        return told


def violations(own: CellTable) -> dict[int, int]:
    """Records in cells of fewer than 2, 3 and 5."""
    return {size: int(own.counts[own.counts < size].sum()) for size in SIZES}


def count_above(risk: Real, counts: Array, threshold: float | None) -> int | None:
    """Records whose risk is above a threshold, if there is one."""
    return None if threshold is None else int(counts[above(risk, threshold, scale=1)].sum())


def percentile(risk: Real, counts: Array, share: float) -> float:
    """The smallest risk that at least this share of the records do not exceed.

    >>> percentile(np.array([0.5, 0.1]), np.array([1, 99]), 0.95)
    0.1
    """
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
        Whom ``max_risk``, ``records_above`` and ``per_cell["after"]`` speak of:
        one of :data:`~maskwell.release.risk.risk_report.INTRUDERS`.
    threshold, level
        The chance of a correct match that was to be kept, if any, and the probability of the range of counts.
    table
        The cells that the arrays of ``per_cell`` belong to.
    per_cell
        ``before``, and where there are weights ``population``; after a release ``after`` (the largest chance of a
        correct match against the intruder), ``unconditional``, ``in_range``, ``strict``, ``any_release`` and ``kept``,
        and of a file that is drawn ``released_counts`` where it can be told; each of shape (cells,).
    flags
        What a reader should know, in words.
    units
        The risk of the units that records belong to, where they are known: a
        :class:`~maskwell.release.risk.unit_risk.UnitRisk`.
    joined
        How often somebody is right who also weighs how well unchanged columns go with the keys, where that was
        simulated: a :class:`~maskwell.release.risk.joined_columns.JoinedRisk`.
    """

    keys: tuple[str, ...]
    before: FileRisk
    after: FileRisk | None
    threshold: float | None
    level: float
    table: CellTable
    per_cell: Mapping[str, Real] = field(repr=False)
    intruder: str = ANY_LOOK
    flags: tuple[str, ...] = ()
    units: UnitRisk | None = None
    joined: JoinedRisk | None = None

    @property
    def worst_by_counts(self) -> float:
        """The largest chance of a correct match of any record, whoever looks and compares counts."""
        now = self.before if self.after is None else self.after
        return max(now.max_risk, now.max_risk_any_release, now.max_risk_released_counts or 0.0)

    @property
    def worst(self) -> float:
        """The largest figure that the report has for a correct match, also of who weighs unchanged columns."""
        return max(self.worst_by_counts, 0.0 if self.joined is None else self.joined.right_surest)

    @property
    def headline(self) -> dict[str, Any]:
        """The figure that stands above the release, for whom, and whether the limit is kept.

        ``worst`` and ``worst_unit`` are for whoever finds most; ``covers_released_counts`` says whether somebody who
        compares all released counts with the true ones is among those.
        """
        now = self.before if self.after is None else self.after
        return {
            "risk": now.max_risk,
            "intruder": self.intruder,
            "keys": list(self.keys),
            "limit": self.threshold,
            "kept": None if self.threshold is None else not now.records_above,
            "worst": self.worst,
            **({} if self.after is None else {"covers_released_counts": now.max_risk_released_counts is not None}),
            **({} if self.units is None else {"unit": self.units.unit, "worst_unit": self.units.worst}),
        }

    @property
    def risk(self) -> Real:
        """The chance of a correct match of the records of each cell: after the release where there is one."""
        return self.per_cell["before" if self.after is None else "after"]

    def count_above(self, bound: float) -> int:
        """Records whose chance of a correct match is above a bound."""
        return int(self.table.counts[above(self.risk, bound, scale=1)].sum())

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
        }


@dataclass(frozen=True)
class LevelContribution:
    """The risk of the records with one label of a key variable.

    Attributes
    ----------
    variable, level, records
        The variable, its label and the records that have it.
    mean_risk, max_risk
        Mean and largest chance of a correct match of these records.
    matches
        Expected correct matches among them, each record with the risk that it has.
    """

    variable: str
    level: Hashable
    records: int
    mean_risk: float
    max_risk: float
    matches: float

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def level_contributions(report: RiskReport) -> list[LevelContribution]:
    """The risk of each label of each key, those with the largest mean risk first.

    >>> from maskwell.release.risk import assess_risk
    >>> cells = {("A", "baker"): 1, ("A", "clerk"): 5, ("B", "clerk"): 3}
    >>> first = level_contributions(assess_risk(CellTable.of(["town", "job"], cells), ["town", "job"]))[0]
    >>> first.variable, first.level, first.mean_risk   # the only baker
    ('job', 'baker', 1.0)
    """
    check_kind(RiskReport, report=report)
    matched = report.per_cell["before" if report.after is None else "unconditional"]
    levels = [level for name in report.keys for level in _levels(report, name, matched)]
    return sorted(levels, key=lambda level: (-level.mean_risk, -level.matches))


def _levels(report: RiskReport, name: str, matched: Real) -> list[LevelContribution]:
    table, risk = report.table, report.risk
    place = table.place(name)
    codes, size = table.codes[:, place], len(table.levels[place])
    records, risks, matches = (
        np.bincount(codes, weights=table.counts * values, minlength=size) for values in (1, risk, matched)
    )
    largest = np.zeros(size)
    np.maximum.at(largest, codes, risk)
    return [
        LevelContribution(
            variable=name,
            level=table.levels[place][code],
            records=int(records[code]),
            mean_risk=float(risks[code] / records[code]),
            max_risk=float(largest[code]),
            matches=float(matches[code]),
        )
        for code in np.flatnonzero(records).tolist()
    ]


def record_risks(report: RiskReport, columns: Mapping[str, Sequence[Hashable]]) -> dict[str, Array]:
    """The risks of single records, from their original labels.

    Parameters
    ----------
    report
        Of :func:`~maskwell.release.risk.file_risk.assess_risk`.
    columns
        For each column of ``report.table`` the labels of the records.

    >>> from maskwell.release.risk import assess_risk
    >>> report = assess_risk(CellTable.of(["job"], {("baker",): 1, ("clerk",): 4}), ["job"])
    >>> record_risks(report, {"job": ["clerk", "baker"]})["before"].tolist()
    [0.25, 1.0]
    """
    check_kind(RiskReport, report=report)
    as_mapping(columns, "columns")
    absent = [name for name in report.table.columns if name not in columns]
    if absent:
        raise ParameterError("a column of the report is not there", hint=f"give {', '.join(report.table.columns)}")
    codes = _codes(report.table, columns)
    cells = find_keys(*number_cells(report.table.sizes, report.table.codes, codes))
    return risks_of_cells(report, np.where((codes < 0).any(axis=1), -1, cells))


def risks_of_cells(report: RiskReport, cells: Array) -> dict[str, Array]:
    """The risks of records whose cells are known; -1 is a record that lies in none of them, which is an error."""
    if (cells < 0).any():
        row = int(np.flatnonzero(cells < 0)[0])
        raise UnknownCategoryError(
            f"record {row + 1} has a combination that the counted file does not hold",
            hint="give the records of the file that was counted",
            row=row,
        )
    return {name: values[cells] for name, values in report.per_cell.items()}


def _codes(table: CellTable, columns: Mapping[str, Sequence[Hashable]]) -> Array:
    known = [{label: code for code, label in enumerate(level)} for level in table.levels]
    rows = zip(*(columns[name] for name in table.columns), strict=True)
    codes = [[places.get(label, -1) for places, label in zip(known, row, strict=True)] for row in rows]
    return np.array(codes, dtype=np.int64).reshape(-1, len(known))
