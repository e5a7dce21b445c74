"""What each key variable, and each of its levels, adds to the risk of a file; and the risk of each record."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import as_mapping, check_kind, list_of
from maskwell.core.arrays import Array, Real
from maskwell.core.cell_table import CellTable
from maskwell.core.joint_keys import find_keys, number_cells
from maskwell.errors import ParameterError, UnknownCategoryError
from maskwell.release.risk.file_risk import RiskReport, assess_risk
from maskwell.release.stages.stage import Stage


@dataclass(frozen=True)
class VariableContribution:
    """How much less an intruder could do who does not know one variable.

    Attributes
    ----------
    variable
        Its name.
    matches, matches_without
        Expected correct matches with the whole key, and without the variable.
    uniques_without
        Expected uniques without the variable.
    max_risk_without
        The largest chance of a correct match without it.
    """

    variable: str
    matches: float
    matches_without: float
    uniques_without: float
    max_risk_without: float

    @property
    def share(self) -> float:
        """Share of the expected matches that would be gone."""
        return 1 - self.matches_without / self.matches if self.matches else 0.0

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "share": self.share}


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


def variable_contributions(
    table: CellTable, keys: Sequence[str], stages: Sequence[Stage] = (), *, level: float = 0.95
) -> list[VariableContribution]:
    """What each key adds, the largest first.

    >>> cells = {("A", "baker"): 1, ("A", "clerk"): 5, ("B", "clerk"): 3, ("B", "smith"): 2}
    >>> job, town = variable_contributions(CellTable.of(["town", "job"], cells), ["town", "job"])
    >>> job.variable, job.matches, job.matches_without   # who does not know the job finds two instead of four
    ('job', 4.0, 2.0)
    """
    check_kind(CellTable, table=table)
    keys = list_of(str, keys, "keys")
    stages = list_of(Stage, stages, "stages")
    whole = _last(assess_risk(table, keys, stages, level=level))
    found = [_without(name, table, keys, stages, level, whole.expected_matches) for name in keys]
    return sorted(found, key=lambda one: one.matches_without)


def _without(
    name: str, table: CellTable, keys: Sequence[str], stages: Sequence[Stage], level: float, matches: float
) -> VariableContribution:
    others = [key for key in keys if key != name]
    if not others:  # who knows nothing picks any record
        return VariableContribution(name, matches, 1.0, float(table.n == 1), 1 / table.n)
    left = _last(assess_risk(table, others, stages, level=level))
    return VariableContribution(name, matches, left.expected_matches, left.expected_uniques, left.max_risk)


def _last(report: RiskReport) -> Any:
    return report.before if report.after is None else report.after


def level_contributions(report: RiskReport) -> list[LevelContribution]:
    """The risk of each label of each key, those with the largest mean risk first.

    >>> cells = {("A", "baker"): 1, ("A", "clerk"): 5, ("B", "clerk"): 3}
    >>> first = level_contributions(assess_risk(CellTable.of(["town", "job"], cells), ["town", "job"]))[0]
    >>> first.variable, first.level, first.mean_risk   # the only baker
    ('job', 'baker', 1.0)
    """
    check_kind(RiskReport, report=report)
    matched = report.per_cell["before" if report.after is None else "unconditional"]
    found = [one for name in report.keys for one in _levels(report, name, matched)]
    return sorted(found, key=lambda one: (-one.mean_risk, -one.matches))


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
        What :func:`assess_risk` found.
    columns
        For each column of ``report.table`` the labels of the records.

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
    cells = np.where((codes < 0).any(axis=1), -1, cells)
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
    codes = [[own.get(label, -1) for own, label in zip(known, row, strict=True)] for row in rows]
    return np.array(codes, dtype=np.int64).reshape(-1, len(known))
