"""What each key variable, and each of its labels, adds to the risk of a file."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from maskwell.core.cells import CellTable
from maskwell.core.exact import Parity
from maskwell.microdata.risk.file_risk import assess_risk
from maskwell.microdata.risk.risk_report import FileRisk, RiskReport
from maskwell.microdata.stages.stage import Stage


@dataclass(frozen=True)
class LevelContribution:
    """The risk of the records with one label of a key variable."""

    variable: str  # variable, level, records: the variable, its label and the records that have it
    level: Hashable
    records: int
    mean_risk: float  # mean_risk, max_risk: mean and largest chance of a correct match of these records
    max_risk: float
    matches: float  # expected correct matches among them, each record with the risk that it has

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def level_contributions(report: RiskReport) -> list[LevelContribution]:
    """The risk of each label of each key, those with the largest mean risk first."""
    table, risk = report.table, report.risk
    matched = report.per_cell["before" if report.after is None else "unconditional"]
    levels = []
    for name in report.keys:
        place = table.place(name)
        codes, size = table.codes[:, place], len(table.levels[place])
        records, risks, matches = (
            np.bincount(codes, weights=table.counts * values, minlength=size) for values in (1, risk, matched)
        )
        largest = np.zeros(size)
        np.maximum.at(largest, codes, risk)
        levels += [
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
    return sorted(levels, key=lambda level: (-level.mean_risk, -level.matches))


@dataclass(frozen=True)
class VariableContribution:
    """How much less an intruder could do who does not know one variable."""

    variable: str  # its name
    matches: float  # matches, matches_without: expected correct matches with the whole key, and without the variable
    matches_without: float
    uniques_without: float  # expected uniques without the variable
    max_risk_without: float  # the largest chance of a correct match without it

    @property
    def share(self) -> float:
        """Share of the expected matches that would be gone."""
        return 1 - self.matches_without / self.matches if self.matches else 0.0

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "share": self.share}


def variable_contributions(
    table: CellTable,
    keys: Sequence[str],
    stages: Sequence[Stage] = (),
    *,
    level: float = 0.95,
    parities: Mapping[str, Parity] | None = None,
) -> list[VariableContribution]:
    """What each key adds, the largest first."""

    def known(names: Sequence[str]) -> FileRisk:
        reported = {name: parity for name, parity in (parities or {}).items() if name in names}
        return assess_risk(table, names, stages, level=level, parities=reported).now

    matches, added = known(keys).expected_matches, []
    for name in keys:
        others = [key for key in keys if key != name]
        if others:
            left = known(others)
            figures = left.expected_matches, left.expected_uniques, left.max_risk
        else:  # who knows nothing picks any record
            figures = 1.0, float(table.n == 1), 1 / table.n
        added.append(VariableContribution(name, matches, *figures))
    return sorted(added, key=lambda one: one.matches_without)
