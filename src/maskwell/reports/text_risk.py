"""The risk of a file as text: who is found, how surely, and by which keys."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from maskwell.core.cell_table import CellTable
from maskwell.core.escaping import one_line
from maskwell.core.printed import Printed
from maskwell.release.risk.file_risk import VariableContribution
from maskwell.release.risk.risk_report import FileRisk, LevelContribution, RiskReport
from maskwell.reports.release_numbers import NONE, ROUNDED, risk_rows
from maskwell.reports.release_words import shown
from maskwell.reports.risk_words import (
    NAME,
    assumptions,
    easiest,
    found_for_sure,
    headline,
    is_sure,
    names_in_short,
    risk_notes,
    sentence,
)
from maskwell.reports.tables import count, counted, label, notes, shorten, table
from maskwell.reports.words import SPACE

MOST_LEVELS = 8
HALF = 18
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
    lines = sentence(_answer(report))
    lines += sentence(assumptions(report)) if report.after is not None else []
    if (report.before if report.after is None else report.after).records_above:
        lines += sentence(f"{easiest(report)}.")
    if report.after is None:
        lines += table([f"in the file{ROUNDED}", ""], _file_rows(report.before))
    else:
        lines += table(
            [f"risk{ROUNDED}", "before", "after"], [[_plain(cell) for cell in row] for row in risk_rows(report)]
        )
    if added:
        lines += ["", *_variables(added), "", *_levels(levels)]
    alone = [] if released is None or report.after is not None else [_seen(released), NO_RECEIPT]
    lines += notes([*risk_notes(report), *alone])
    return [*lines, f"Next: {_next(file, given, report)}"]


def _answer(report: RiskReport) -> str:
    """Whether the bound is kept, where there is one; else who is found, and how surely."""
    if report.after is not None:
        return f"{headline(report)[:-1]}; before the release: {_before(report)}.{_verdict(report.after)}"
    who = f"who knows {names_in_short(report.keys)} of a person"
    if report.threshold is None:
        return f"W{who[1:]} finds {_found(report)}."
    bound, now = shown("match", report.threshold), report.before
    if not now.records_above:
        return f"No record is above the limit of {bound}: {who} finds {_found(report)}."
    above = f"{count(now.records_above)} of {counted(now.records, 'record', 'records')}"
    one = now.records_above == 1
    up_to = "" if one else "up to "
    sure = "for sure" if one and is_sure(now.max_risk) else f"with a chance of {up_to}{shown('match', now.max_risk)}"
    return f"{above} {'is' if one else 'are'} above the limit of {bound}: {who} finds {'it' if one else 'them'} {sure}."


def _verdict(after: FileRisk) -> str:
    """How many records of a release are above the limit; nothing where none is."""
    above = after.records_above or 0
    records = f"{count(above)} of {counted(after.records, 'record', 'records')}"
    return f" {records} {'is' if above == 1 else 'are'} above the limit." if above else ""


def _found(report: RiskReport) -> str:
    """Who is found in the file as it is."""
    now = report.before
    if not is_sure(now.max_risk):
        return f"no record with a chance above {shown('match', now.max_risk)}"
    told = f"{count(found_for_sure(report))} of {counted(now.records, 'record', 'records')} for sure"
    return f"{told}: nobody else is like them"


def _before(report: RiskReport) -> str:
    """What it was before a release, in the terms of what is said of the release."""
    both_sure = report.after is not None and is_sure(report.after.max_risk)
    return count(report.before.uniques or 0) if both_sure else shown("match", report.before.max_risk)


def _file_rows(file: FileRisk) -> list[list[str]]:
    """The numbers of a file that is as it is."""
    small = file.violations or {}
    rows = [
        ["Correct matches if all are looked for", f"{Printed(file.expected_matches):,.0f}"],
        ["Not exceeded by 95 % of the records", _plain(shown("match", file.percentile_95))],
        ["Fewest records with the same keys", count(file.smallest or 0)],
        *([f"Records with fewer than {size} alike", count(found)] for size, found in small.items()),
    ]
    if file.expected_reidentifications is not None:
        expected = f"{Printed(file.expected_reidentifications):,.1f}"
        rows.insert(1, ["… not knowing who is in the sample", expected])
    return rows


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
            shorten(one_line(one.variable), NAME),
            f"{Printed(one.matches_without):,.1f}",
            f"{Printed(100 * one.share):.0f} %",
            f"{Printed(one.uniques_without):,.1f}",
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
            _level(one),
            count(one.records),
            _plain(shown("match", one.mean_risk)),
            _plain(shown("match", one.max_risk)),
            f"{Printed(one.matches):,.1f}",
        ]
        for one in levels[:MOST_LEVELS]
    ]
    left = len(levels) - MOST_LEVELS
    return [*table(header, rows), *([f"  ... and {count(left)} labels with less risk"] if left > 0 else [])]


def _level(one: LevelContribution) -> str:
    """Name and label, each cut by itself."""
    value = NONE if one.level is None else label(one.level)
    return f"{shorten(one_line(one.variable), HALF)} = {shorten(one_line(value), HALF)}"


def _next(file: str, given: Mapping[str, Any], report: RiskReport) -> str:
    if report.after is not None and given.get("released"):
        return f"maskwell estimate {shlex.quote(given['released'])} --receipt {shlex.quote(str(given['receipt']))}"
    if report.after is not None:
        return f"maskwell risk {shlex.quote(file)} --keys {shlex.quote(','.join(report.keys))} --contributions"
    return f"maskwell release {shlex.quote(file)} --init -o plan.toml"


def _plain(text: str) -> str:
    return text.replace(SPACE, " ")
