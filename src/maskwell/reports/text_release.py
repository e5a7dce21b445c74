"""A release as text: what came of it, or, before it is carried out, what several bounds would give and cost."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence

from maskwell.core.printed import Printed
from maskwell.errors import InfeasibleError
from maskwell.release.analysis.kept_tables import kept_columns
from maskwell.release.keeping import check_kept, exempted
from maskwell.release.released import Release
from maskwell.release.risk_utility import RiskUtilityPoint, beaten_by
from maskwell.release.stages.stage import Stage
from maskwell.reports.release_numbers import NONE, ROUNDED, factor_text, risk_rows, utility_rows
from maskwell.reports.release_words import KEPT, promises, shown
from maskwell.reports.risk_words import (
    above_in_words,
    assumptions,
    easiest,
    headline,
    names_in_short,
    risk_notes,
    sentence,
)
from maskwell.reports.tables import broken, counted, notes, table
from maskwell.reports.words import SPACE, percent

LABEL_WIDTH = 18
ABOVE = "records whose chance of a correct match is above the limit of the plan, {bound}"
BEATEN = "under that bound risk, matches and records above are no more, and no more records change"


def release_text(release: Release, folder: str) -> list[str]:
    """What was released, with which risk and at what cost."""
    lines = sentence(f"Released {counted(release.rows, 'record', 'records')} to {_folder(folder)}. {_answer(release)}")
    lines += _assumptions(release)
    lines += _changes(release)
    if release.risk is not None:
        lines += [
            "",
            *table([f"risk{ROUNDED}", "before", "after"], [list(map(_plain, row)) for row in risk_rows(release.risk)]),
        ]
    lines += notes([*_broken_promises(release), *_remarks(release)])
    data = shlex.quote(f"{folder}/public/data{release.ending}")
    receipt = shlex.quote(f"{folder}/public/receipt.json")
    lines += broken(
        f"For the board: {folder}/internal/report.html; for users: the folder {folder}/public, and no other."
    )
    return [*lines, f"Next: maskwell estimate {data} --receipt {receipt}"]


def dry_run_text(
    release: Release,
    points: Sequence[RiskUtilityPoint],
    *,
    source: str,
    plan: str,
    folder: str = "released",
    given: Mapping[str, str | None] | None = None,
) -> list[str]:
    """What several bounds would give and cost, before anything is written; the plan's own is marked.

    ``given`` are further options of the command, for the line that says what to type next.
    """
    refused = refusal(release)
    lines = _would_be(release) if refused is None else _would_not_be(release, refused)
    lines += map_table(points)
    lines += _map_notes(release, points)
    lines += ["", *_changes(release)]
    more = "".join(f" {name} {shlex.quote(value)}" for name, value in (given or {}).items() if value is not None)
    command = f"maskwell release {shlex.quote(source)} --plan {shlex.quote(plan)}{more}"
    if refused is None:
        lines += notes([*_broken_promises(release), *_remarks(release)])
        return [*lines, f"Next: {command} -o {shlex.quote(folder)}"]
    lines += [*notes(_remarks(release)), *notes([refused.hint], word="to keep the limit")]
    return [*lines, f"Next: change the plan, then: {command} --dry-run"]


def _folder(name: str) -> str:
    return name if name.endswith("/") else f"{name}/"


def _assumptions(release: Release) -> list[str]:
    told = "" if release.risk is None else assumptions(release.risk, release)
    return sentence(told) if told else []


def refusal(release: Release) -> InfeasibleError | None:
    """Why the plan would not be carried out, if it would not."""
    try:
        check_kept(release)
    except InfeasibleError as error:
        return error
    return None


def _would_be(release: Release) -> list[str]:
    first = f"Nothing is written yet. The plan would release {counted(release.rows, 'record', 'records')}. "
    return [*sentence(first + _answer(release)), *_assumptions(release)]


def _would_not_be(release: Release, refused: InfeasibleError) -> list[str]:
    """The first line of a plan that would be refused, and who is to blame."""
    risk, bound = release.risk, release.plan.match
    after = None if risk is None else risk.after
    if risk is None or after is None or bound is None or not after.records_above:
        return sentence(f"The plan would be refused: {refused.message}.")
    told = above_in_words(after.records_above, release.rows, after.max_risk, float(bound))
    worst = sentence(f"{easiest(risk, release.labels)}.")
    return [*sentence(f"The plan would be refused: {told}."), *worst]


def _map_notes(release: Release, points: Sequence[RiskUtilityPoint]) -> list[str]:
    """Why bounds are not possible; and words of the table that are not clear by themselves, where they occur."""
    lines = notes([f"{point.label}: {point.note}" for point in points if point.note])
    bound = release.plan.match
    if bound is not None and any(point.above for point in points):
        lines += notes([ABOVE.format(bound=_plain(shown("match", float(bound))))], word="above")
    return lines + notes([BEATEN] if any(i is not None for i in _beaten(points)) else [], word="beaten by")


def map_table(points: Sequence[RiskUtilityPoint]) -> list[str]:
    r"""Risk and change of several bounds, one to a line.

    >>> mild = RiskUtilityPoint(label="match 0.5", risk=0.47, changed=0.02, matches=91.5, above=0, chosen=True)
    >>> print("\n".join(map_table([mild])))
      asked      greatest risk  records changed  matches  above  inflation
      match 0.5           47 %            2.0 %     91.5      0          –  the plan
    """
    header = ["asked", "greatest risk", "records changed", "matches", "above", "inflation"]
    rows = [_map_row(p, points, i) for p, i in zip(points, _beaten(points), strict=True)]
    if not rows:
        return []
    lines = table(header, [row[:-1] for row in rows])
    wide = max(map(len, lines))
    marks = ["", *(row[-1] for row in rows)]
    return [f"{line.ljust(wide)}  {mark}".rstrip() for line, mark in zip(lines, marks, strict=True)]


def _beaten(points: Sequence[RiskUtilityPoint]) -> list[int | None]:
    """By which point each other is beaten; that of the plan is marked otherwise."""
    return [None if p.chosen else i for p, i in zip(points, beaten_by(points), strict=True)]


def _map_row(point: RiskUtilityPoint, points: Sequence[RiskUtilityPoint], better: int | None) -> list[str]:
    if not math.isfinite(point.changed):
        return [_label(point), *[NONE] * 5, "not possible"]
    measured = math.isfinite(point.risk)
    return [
        _label(point),
        _plain(shown("match", point.risk)) if measured else NONE,
        f"{percent(point.changed)} %",
        f"{Printed(point.matches):,.1f}" if measured else NONE,
        f"{point.above:,}" if measured else NONE,
        NONE if point.inflation is None else factor_text(point.inflation),
        "the plan" if point.chosen else "" if better is None else f"beaten by {_label(points[better])}",
    ]


def _label(point: RiskUtilityPoint) -> str:
    """Cut at its end: it is a word and a number, whose first digits matter."""
    return point.label if len(point.label) <= LABEL_WIDTH else f"{point.label[: LABEL_WIDTH - 1]}…"


def _answer(release: Release) -> str:
    if release.risk is None:
        return "The plan names no keys, so the risk of a match is not measured."
    return headline(release.risk)


def _changes(release: Release) -> list[str]:
    """What happens to each randomized column, and what happened where there is a released file."""
    done = bool(release.changed)
    header = ["randomized", "expected to change", *(["changed"] if done else []), "inflation"]
    rows = [
        [row.name, _plain(row.expected), *([_plain(row.realised)] if done else []), row.inflation]
        for row in utility_rows(release)
    ]
    return [*table(header, rows), *_kept(release.stages)] if rows else []


def _kept(stages: Sequence[Stage]) -> list[str]:
    """What stays right on average, each group of columns once."""
    found = [(one, kept_columns(stages, one)) for one in stages]
    kept = [f"{KEPT[one.invariance]} of {_table(one, columns)}" for one, columns in found if columns]
    lost = [_columns(one) for one, columns in found if not columns]
    lines = broken(f"Right on average: {'; '.join(kept)}.", "  ") if kept else []
    return lines + (broken(f"Not right as they stand, users need the matrix: {'; '.join(lost)}.", "  ") if lost else [])


def _table(stage: Stage, kept: Sequence[str]) -> str:
    """The stage where all its columns are kept together, else those that are."""
    return _columns(stage) if {*stage.columns} <= {*kept} else names_in_short(kept)


def _columns(stage: Stage) -> str:
    within = f" within {names_in_short(stage.within)}" if stage.within else ""
    return names_in_short(stage.variables) + within


def _broken_promises(release: Release) -> list[str]:
    return [
        _plain(f"{one.what} ({one.where}): {one.asked} was asked, {one.achieved} is reached")
        for one in promises(release)
        if one.kept is False
    ]


def _remarks(release: Release) -> list[str]:
    seeded = (
        [] if release.private else ["draws from a seed can be repeated: nothing is protected by this demonstration"]
    )
    flags = [*(risk_notes(release.risk) if release.risk else ()), *(release.utility.flags if release.utility else ())]
    return list(dict.fromkeys([*seeded, *release.notes, *exempted(release), *flags, *release.lost]))


def _plain(text: str) -> str:
    return text.replace(SPACE, " ")
