"""A release as text: what came of it, or, before it is carried out, what several bounds would give and cost."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from maskwell.release.released import Release
from maskwell.release.risk_utility import RiskUtilityPoint, beaten_by
from maskwell.reports.release_numbers import factor_text, risk_rows, utility_rows
from maskwell.reports.release_words import greatest_risk, promises, shown
from maskwell.reports.state_names import columns_of
from maskwell.reports.tables import broken, counted, notes, shorten, table
from maskwell.reports.words import SPACE, percent

NAME_WIDTH = 34
KEPT = {"counts": "counts", "weights": "weighted counts"}


def release_text(release: Release, folder: str) -> list[str]:
    """What was released, with which risk and at what cost."""
    lines = broken(_plain(f"{counted(release.rows, 'record', 'records')} released to {folder}: {_answer(release)}"))
    lines += _changes(release)
    if release.risk is not None:
        lines += ["", *table(["risk", "before", "after"], [list(map(_plain, row)) for row in risk_rows(release.risk)])]
    lines += notes([*_broken_promises(release), *_remarks(release)])
    data = shlex.quote(f"{folder}/public/data{release.ending}")
    receipt = shlex.quote(f"{folder}/public/receipt.json")
    lines += broken(
        f"For the board: {folder}/internal/report.html; for users: the folder {folder}/public, and no other."
    )
    return [*lines, f"Next: maskwell estimate {data} --receipt {receipt}"]


def dry_run_text(
    release: Release, points: Sequence[RiskUtilityPoint], *, source: str, plan: str, folder: str = "released"
) -> list[str]:
    """What several bounds would give and cost, before anything is written; the plan's own is marked."""
    first = f"Nothing is written yet. The plan would release {counted(release.rows, 'record', 'records')}: "
    lines = broken(_plain(first + _answer(release)))
    lines += map_table(points)
    lines += notes([f"{point.label}: {point.note}" for point in points if point.note])
    lines += ["", *_changes(release), *notes([*_broken_promises(release), *_remarks(release)])]
    command = f"maskwell release {shlex.quote(source)} --plan {shlex.quote(plan)} -o {shlex.quote(folder)}"
    return [*lines, f"Next: {command}"]


def map_table(points: Sequence[RiskUtilityPoint]) -> list[str]:
    r"""Risk and change of several bounds, one to a line.

    >>> mild = RiskUtilityPoint(label="match 0.5", risk=0.47, changed=0.02, matches=91.5, above=0, chosen=True)
    >>> print("\n".join(map_table([mild])))
      asked      greatest risk  records changed  matches expected  above  inflation
      match 0.5           47 %            2.0 %              91.5      0          –  the plan
    """
    header = ["asked", "greatest risk", "records changed", "matches expected", "above", "inflation", ""]
    rows = [_map_row(p, points, i) for p, i in zip(points, beaten_by(points), strict=True)]
    return [line.rstrip() for line in table(header, rows)] if rows else []


def _map_row(point: RiskUtilityPoint, points: Sequence[RiskUtilityPoint], better: int | None) -> list[str]:
    mark = "the plan" if point.chosen else "" if better is None else f"beaten by {shorten(points[better].label, 16)}"
    if not point.is_possible:
        return [shorten(point.label, 24), *["–"] * 5, "not possible"]
    return [
        shorten(point.label, 24),
        _plain(shown("match", point.risk)),
        f"{percent(point.changed)} %",
        f"{point.matches:,.1f}",
        f"{point.above:,}",
        "–" if point.inflation is None else factor_text(point.inflation),
        mark,
    ]


def _answer(release: Release) -> str:
    most, asked = greatest_risk(release), release.plan.match
    if most is None:
        return "no keys are named, so no risk is measured."
    bound = "" if asked is None else f" (bound {shown('match', float(asked))})"
    return f"no record is found with a chance above {shown('match', most)}{bound}."


def _changes(release: Release) -> list[str]:
    """What happens to each randomized column, and what happened where there is a released file."""
    done = bool(release.changed)
    header = ["randomized", "expected to change", *(["changed"] if done else []), "inflation", "stays right on average"]
    rows = [
        [
            shorten(row.name, NAME_WIDTH),
            _plain(row.expected),
            *([_plain(row.realised)] if done else []),
            row.inflation,
            _kept(release, row.name),
        ]
        for row in utility_rows(release)
    ]
    return table(header, rows) if rows else []


def _kept(release: Release, name: str) -> str:
    stage = release.variables[name]
    return (
        f"{KEPT[stage.invariance]} of {shorten(columns_of(stage), NAME_WIDTH)}"
        if stage.invariance in KEPT
        else "nothing"
    )


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
    flags = [*(release.risk.flags if release.risk else ()), *(release.utility.flags if release.utility else ())]
    return list(dict.fromkeys([*seeded, *release.notes, *flags, *release.lost]))


def _plain(text: str) -> str:
    return text.replace(SPACE, " ")
