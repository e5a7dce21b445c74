"""The numbers of a release as people read them: rows of tables about risk, about utility, and about single records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from maskwell.core.printed import Printed
from maskwell.engines.labelled_columns import Labels
from maskwell.release.released import Release
from maskwell.release.risk.contributions import level_contributions, variable_contributions
from maskwell.release.risk.file_risk import RiskReport
from maskwell.release.risk.summary import FileRisk
from maskwell.release.utility.regressions import RegressionComparison
from maskwell.release.utility.report import VariableUtility
from maskwell.reports.release_words import shown
from maskwell.reports.state_names import label_of, name_of
from maskwell.reports.tables import count
from maskwell.reports.words import SPACE, percent

SHOWN = 10
NONE = "–"
LARGE = 100
ROUNDED = " (chances rounded up)"
"""Said where chances are listed: one third is 33.4 %, which no record exceeds."""


def _chance(name: str) -> Callable[[FileRisk], str]:
    return lambda file: shown("match", getattr(file, name))


def _number(name: str) -> Callable[[FileRisk], str]:
    def read(file: FileRisk) -> str:
        value = getattr(file, name)
        if value is None:
            return NONE
        return count(value) if isinstance(value, int) else f"{Printed(value):,.1f}"

    return read


def _fewer_than(size: int) -> Callable[[FileRisk], str]:
    return lambda file: NONE if file.violations is None else count(file.violations[size])


def _realised(file: FileRisk) -> str:
    found = file.max_risk_released_counts
    return NONE if found is None else shown("match", found)


Read = Callable[[FileRisk], str]
MEASURES: tuple[tuple[str, Read], ...] = (
    ("Highest chance of a correct match", _chance("max_risk_any_release")),
    ("… comparing all released counts", _realised),
    ("… looking only at the person's own keys", _chance("max_risk_strict")),
    ("… the same, in 95 % of releases", _chance("max_risk_in_range")),
    ("Not exceeded by 95 % of the records", _chance("percentile_95")),
    ("Records above the limit", _number("records_above")),
    ("Correct matches if all are looked for", _number("expected_matches")),
    ("… not knowing who is in the sample", _number("expected_reidentifications")),
    ("Best guess of a record's keys is right", _chance("guess_probability")),
    ("Records alone with their keys, expected", _number("expected_uniques")),
    ("… that are whom they seem to be", _number("expected_true_uniques")),
    ("Records alone, as it came out", _number("uniques")),
    ("Fewest records with the same keys", _number("smallest")),
    ("Records with fewer than 3 alike", _fewer_than(3)),
    ("Records with fewer than 5 alike", _fewer_than(5)),
)


def risk_rows(risk: RiskReport) -> list[tuple[str, str, str]]:
    """What is measured, before and after; a row that says nothing is left out."""
    rows = [(name, _read(read, risk.before), _read(read, risk.after)) for name, read in MEASURES]
    return [row for row in rows if row[1:] != (NONE, NONE)]


def _read(read: Read, file: FileRisk | None) -> str:
    return NONE if file is None else read(file)


def riskiest(release: Release) -> list[list[str]]:
    """Cells whose records have the greatest risk after the release: labels of the keys, records, before, after.

    Where records with the same keys are randomized differently, the labels that tell them apart come second, and the
    number of all records with the same keys after that of the cell.
    """
    risk = release.risk
    if risk is None or risk.after is None:
        return []
    cells = np.argsort(-risk.per_cell["after"], kind="stable")[:SHOWN].tolist()
    return [_risky_row(risk, cell, release.labels) for cell in cells]


def _risky_row(risk: RiskReport, cell: int, labels: Labels | None) -> list[str]:
    table, label = risk.table, risk.table.label(cell)
    before, after = (float(risk.per_cell[when][cell]) for when in ("before", "after"))
    named, others = (
        name_of([label[table.place(name)] for name in columns], columns, labels)
        for columns in (risk.keys, split_by(risk))
    )
    own, chances = count(int(table.counts[cell])), [shown("match", before), shown("match", after)]
    return [named, others, own, f"{Printed(1 / before):,.0f}", *chances] if others else [named, own, *chances]


def split_by(risk: RiskReport) -> list[str]:
    """Columns that are not keys, and on which it depends how a record is randomized."""
    return [name for name in risk.table.columns if name not in risk.keys]


def key_rows(risk: RiskReport) -> list[list[str]]:
    """What somebody would find in the original file who does not know one of the keys."""
    if len(risk.keys) == 1:
        return []
    return [
        [
            one.variable,
            f"{Printed(one.matches_without):,.0f}",
            f"{Printed(100 * one.share):.0f}{SPACE}%",
            f"{Printed(one.uniques_without):,.0f}",
        ]
        for one in variable_contributions(risk.table, risk.keys)
    ]


def label_rows(risk: RiskReport, labels: Labels | None = None) -> list[list[str]]:
    """The labels of keys whose records are found most easily."""
    return [
        [
            f"{one.variable} = {label_of(one.level, one.variable, labels)}",
            count(one.records),
            shown("match", one.mean_risk),
            shown("match", one.max_risk),
        ]
        for one in level_contributions(risk)[:SHOWN]
    ]


@dataclass(frozen=True)
class UtilityRow:
    """What a release does to one column, as people read it."""

    name: str
    expected: str
    realised: str
    distance: str
    inflation: str
    worth: str


def utility_rows(release: Release) -> list[UtilityRow]:
    """A row for each randomized column, and for those that follow."""
    return [] if release.utility is None else [_utility_row(one) for one in release.utility.variables.values()]


def _utility_row(one: VariableUtility) -> UtilityRow:
    told = one.inflation
    return UtilityRow(
        name=one.name,
        expected=_percent(one.expected_changed),
        realised=_percent(one.realised_changed),
        distance=NONE if one.distance is None else f"{percent(one.distance.total_variation, 2)}{SPACE}%",
        inflation=NONE if told is None else factor_text(told.worst),
        worth=NONE if told is None else count(int(told.n / told.worst)),
    )


def factor_text(factor: float) -> str:
    """A factor with two decimals, or three digits where it is large.

    >>> factor_text(1.0), factor_text(1.386), factor_text(1234.5)
    ('1.00', '1.39', '1,235')
    """
    return f"{Printed(factor):.2f}" if factor < LARGE else f"{Printed(factor):,.0f}"


def _percent(share: float | None) -> str:
    return NONE if share is None else f"{percent(share)}{SPACE}%"


def regression_rows(found: RegressionComparison) -> list[list[str]]:
    """The coefficients of both files with their standard errors, and how much their intervals coincide."""
    return [
        [
            term.term,
            f"{Printed(term.original):.3g} ({Printed(term.original_error):.2g})",
            f"{Printed(term.released):.3g} ({Printed(term.released_error):.2g})",
            NONE if term.overlap is None else f"{Printed(term.overlap):.2f}",
        ]
        for term in found.terms
    ]
