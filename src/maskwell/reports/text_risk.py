"""The risk of a file as text: who is found, how surely, and by which keys."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from maskwell.core.cell_table import CellTable
from maskwell.release.risk.contributions import LevelContribution, VariableContribution
from maskwell.release.risk.file_risk import RiskReport
from maskwell.release.risk.summary import FileRisk
from maskwell.reports.release_numbers import NONE, risk_rows
from maskwell.reports.release_words import shown
from maskwell.reports.tables import broken, count, counted, label, notes, shorten, table
from maskwell.reports.words import SPACE

MOST_LEVELS = 8
NAMES = 60
NO_RECEIPT = (
    "how easily a record is found after the release is not known without --receipt internal/receipt.json: k-anonymity"
    " of a randomized file is not the usual guarantee"
)


def risk_text(
    report: RiskReport,
    *,
    file: str,
    released: CellTable | None = None,
    names: Mapping[str, Any] | None = None,
    added: Sequence[VariableContribution] = (),
    levels: Sequence[LevelContribution] = (),
) -> list[str]:
    """Before, and after where there is a release; ``names`` are the files as they were typed."""
    given = names or {}
    lines = broken(_plain(_answer(report)))
    if report.after is None:
        lines += table(["in the file", ""], _file_rows(report.before))
    else:
        lines += table(["risk", "before", "after"], [[_plain(cell) for cell in row] for row in risk_rows(report)])
    if added:
        lines += ["", *_variables(added), "", *_levels(levels)]
    alone = [] if released is None or report.after is not None else [_seen(released), NO_RECEIPT]
    lines += notes([*report.flags, *alone])
    return [*lines, f"Next: {_next(file, given, report)}"]


def _answer(report: RiskReport) -> str:
    keys = shorten(", ".join(report.keys), NAMES)
    before, after = report.before, report.after
    if after is not None:
        now, then = shown("match", after.max_risk), shown("match", before.max_risk)
        return (
            f"Who knows {keys} of a person finds no record of the release with a chance above {now}; before it was"
            f" {then}{_bound(report, after.records_above)}."
        )
    if before.uniques:
        of = f"{count(before.uniques)} of {counted(before.records, 'record', 'records')}"
        return f"Who knows {keys} of a person finds {of} for sure: nobody else is like them{_bound(report, None)}."
    chance = shown("match", before.max_risk)
    return f"Who knows {keys} of a person finds no record with a chance above {chance}{_bound(report, None)}."


def _file_rows(file: FileRisk) -> list[list[str]]:
    """The numbers of a file that is as it is."""
    small = file.violations or {}
    rows = [
        ["Correct matches if all are looked for", f"{count(round(file.expected_matches))}"],
        ["Not exceeded by 95 % of the records", _plain(shown("match", file.percentile_95))],
        ["Fewest records with the same keys", count(file.smallest or 0)],
        *([f"Records with fewer than {size} alike", count(found)] for size, found in small.items()),
    ]
    if file.expected_reidentifications is not None:
        expected = f"{file.expected_reidentifications:,.1f}"
        rows.insert(1, ["… not knowing who is in the sample", expected])
    return rows


def _bound(report: RiskReport, above: int | None) -> str:
    if report.threshold is None:
        return ""
    found = report.before.records_above if above is None else above
    bound = shown("match", report.threshold)
    return f"; {count(found) if found else 'none'} above the bound of {bound}"


def _seen(released: CellTable) -> str:
    alone = int((released.counts == 1).sum())
    return (
        f"in the released file {count(alone)} of {counted(released.n, 'record', 'records')} are alone with their keys"
    )


def _variables(added: Sequence[VariableContribution]) -> list[str]:
    """How many matches are left to somebody who does not know one of the keys."""
    header = ["key", "matches without it", "fewer by", "alone without it", "greatest chance"]
    rows = [
        [
            one.variable,
            f"{one.matches_without:,.1f}",
            f"{100 * one.share:.0f} %",
            f"{one.uniques_without:,.1f}",
            _plain(shown("match", one.max_risk_without)),
        ]
        for one in added
    ]
    return table(header, rows)


def _levels(levels: Sequence[LevelContribution]) -> list[str]:
    """The labels whose records are found most easily."""
    header = ["label", "records", "mean chance", "greatest", "matches"]
    rows = [
        [
            f"{one.variable} = {NONE if one.level is None else label(one.level)}",
            count(one.records),
            _plain(shown("match", one.mean_risk)),
            _plain(shown("match", one.max_risk)),
            f"{one.matches:,.1f}",
        ]
        for one in levels[:MOST_LEVELS]
    ]
    left = len(levels) - MOST_LEVELS
    return [*table(header, rows), *([f"  ... and {count(left)} labels with less risk"] if left > 0 else [])]


def _next(file: str, given: Mapping[str, Any], report: RiskReport) -> str:
    if report.after is not None and given.get("released"):
        return f"maskwell estimate {shlex.quote(given['released'])} --receipt {shlex.quote(str(given['receipt']))}"
    if report.after is not None:
        return f"maskwell risk {shlex.quote(file)} --keys {shlex.quote(','.join(report.keys))} --contributions"
    return f"maskwell release {shlex.quote(file)} --init -o plan.toml"


def _plain(text: str) -> str:
    return text.replace(SPACE, " ")
