"""The risk of every record as a table: a line for each combination of the keys, to be joined to the records by them."""

from __future__ import annotations

import csv
from pathlib import Path

from maskwell.core.labels import texts
from maskwell.core.printed import Printed
from maskwell.release.risk.risk_report import RiskReport

PREFIX = "risk_"


def write_risks(report: RiskReport, path: Path) -> None:
    """Write the combinations that occur in the original file, how many records have each, and the risks of these."""
    table, names = report.table, list(report.per_cell)
    header = [*table.columns, "records", *(f"{PREFIX}{name}" for name in names)]
    values = zip(*(report.per_cell[name].tolist() for name in names), strict=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        for cell, count, risks in zip(table.labels(), table.counts.tolist(), values, strict=True):
            writer.writerow([*("" if part is None else texts(part)[-1] for part in cell), count, *map(_number, risks)])


def _number(value: float) -> str:
    """Seven digits are plenty for a chance.

    >>> _number(1 / 3), _number(1.0)
    ('0.3333333', '1')
    """
    return f"{Printed(value):.7g}"
