"""A release in words: what came of it, what several bounds would give and cost; and the risk of a file."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from maskwell.core.cells import CellTable
from maskwell.core.exact import parity_text
from maskwell.core.percentages import SPACE, percent
from maskwell.core.phrases import Printed, expected_number, in_words, one_line, shorten
from maskwell.core.verdicts import at_least
from maskwell.errors import InfeasibleError, PublishError
from maskwell.microdata.folder.linked_releases import check_linked
from maskwell.microdata.kept_bounds import check_kept, exempted
from maskwell.microdata.records.recoding import MOST_REMEMBERED
from maskwell.microdata.release_values import AnyRelease
from maskwell.microdata.risk.attribute_disclosure import AttributeRisk, ReportedAttribute
from maskwell.microdata.risk.diversity import LEVELS, DiversityOfRecords
from maskwell.microdata.risk.file_risk import LevelContribution, VariableContribution
from maskwell.microdata.risk.risk_report import FileRisk, RiskReport
from maskwell.microdata.risk.special_unique_scores import SpecialUniques
from maskwell.microdata.risk_utility import RecodeEffect, RiskUtilityPoint, beaten_by
from maskwell.microdata.stages.stage import Stage, kept_columns
from maskwell.notes import Note
from maskwell.privacy.certificate_check import Verified
from maskwell.reports.plain_words import count, counted, label
from maskwell.reports.report import GAP, WIDTH, Block, Facts, Grid, Notes, Paragraph, Report, sentence
from maskwell.reports.text import release_headline as head
from maskwell.reports.text import release_words as words
from maskwell.reports.text.names_in_words import NAME, keys_in_words, names_in_short

LABEL_WIDTH = 18


def release_report(release: AnyRelease, folder: str | None) -> Report:
    """What was released, with which risk and at what cost; ``folder`` is where it was written, if it was."""
    where = "" if folder is None else f" to {folder if folder.endswith('/') else f'{folder}/'}"
    first = f"Released {counted(release.rows, 'record', 'records')}{where}. {_release_answer(release)}"
    body = _changes(release)
    body += [] if release.risk is None else [GAP, risk_grid(release.risk)]
    body.append(Notes([*_broken_promises(release), *_remarks(release)]))
    opening = [sentence(first), *_assumptions(release)]
    if folder is None:
        return Report(opening, body)
    where = (
        f"For the board: {folder}/internal/report.html. For users: only the folder {folder}/public, whose README.md"
        " explains how to estimate."
    )
    return Report(opening, [*body, Paragraph(where)], next_step=f"maskwell verify {shlex.quote(folder)}")


NOT_SIGNED = (
    "The files match the hashes in the folder. An attacker who can change the files can change these hashes, too: "
    "compare the hash above with the one that was signed, or give it with --sha256."
)


def verified_release_report(verified: Verified, folder: str) -> Report:
    """Whether the files of a release are those that were signed, check by check."""
    checks = [(check.name, check.words if check.ok else f"FAILS: {check.words}") for check in verified.checks]
    failed = counted(len(verified.failed), "check fails", "checks fail")
    answer = f"{folder} is as it was released." if verified.ok else f"{folder} is not as it was released: {failed}."
    signed = any(check.name == "signed hash" for check in verified.checks)
    next_step = (
        "sign the hash with the report, and store it separately from the folder"
        if verified.ok and not signed
        else "publish the public part, and nothing else"
        if verified.ok
        else "restore the original folder, or make a new release"
    )
    return Report(
        Paragraph(answer, hang="", split=True),
        [Facts(checks), Notes([] if signed or not verified.ok else [NOT_SIGNED])],
        next_step=next_step,
    )


def risk_grid(risk: RiskReport) -> Grid:
    """What is measured, before and after."""
    rows = [[*map(_plain, row)] for row in words.risk_rows(risk)]
    return Grid([f"risk{words.ROUNDED}", "before", "after"], rows, widest=words.WIDEST)


def dry_run_report(
    release: AnyRelease,
    points: Sequence[RiskUtilityPoint],
    recodes: Sequence[RecodeEffect] = (),
    *,
    source: str,
    plan: str,
    folder: str = "released",
    given: Mapping[str, Sequence[str | None]] | None = None,
) -> Report:
    """What several bounds would give and cost; ``given`` are further options, for what to type next."""
    refused = refusal(release)
    records = counted(release.rows, "record", "records")
    would = f"Nothing is written yet. The plan would release {records}. {_release_answer(release)}"
    first = [sentence(would), *_assumptions(release)] if refused is None else _would_not_be(release, refused)
    remarks: list[Block] = [Notes([f"{point.label}: {point.note}" for point in points if point.note])]
    bound = release.plan.match
    if bound is not None and any(point.above for point in points):
        remarks.append(Notes([Note("records-above-the-limit-of-the-plan", bound=_match(float(bound)))], word="above"))
    remarks.append(
        Notes([Note("beaten-by-a-bound")] if any(i is not None for i in _beaten(points)) else [], word="beaten by")
    )
    header = ["asked", "greatest risk", "records changed", "matches", "above", "inflation"]
    rows = [_map_row(p, points, i) for p, i in zip(points, _beaten(points), strict=True)]
    table = [Grid(header, [row[:-1] for row in rows], marks=[row[-1] for row in rows])] if rows else []
    body = [*table, *remarks, *recode_table(recodes), GAP, *_changes(release)]
    pairs = ((name, value) for name, values in (given or {}).items() for value in values if value is not None)
    more = "".join(f" {name} {shlex.quote(value)}" for name, value in pairs)
    command = f"maskwell release {shlex.quote(source)} --plan {shlex.quote(plan)}{more}"
    if refused is None:
        body.append(Notes([*_broken_promises(release), *_remarks(release)]))
        return Report(first, body, next_step=f"{command} -o {shlex.quote(folder)}")
    body += [Notes(_remarks(release)), Notes([refused.hint], word="to meet the limit")]
    return Report(first, body, next_step=f"change the plan, then: {command} --dry-run")


def _assumptions(release: AnyRelease) -> list[Paragraph]:
    assumed = "" if release.risk is None else head.assumptions(release.risk, release)
    return [sentence(assumed)] if assumed else []


def refusal(release: AnyRelease) -> InfeasibleError | PublishError | None:
    """Why the plan would not be carried out, if it would not."""
    try:
        check_kept(release)
        check_linked(release.linked)
    except (InfeasibleError, PublishError) as error:
        return error
    return None


def _would_not_be(release: AnyRelease, refused: InfeasibleError | PublishError) -> list[Paragraph]:
    """The first line of a plan that would be refused, and who is to blame."""
    risk, bound = release.risk, release.plan.match
    after = None if risk is None else risk.after
    if risk is None or after is None or bound is None or not after.records_above:
        return [sentence(" ".join([f"The plan would be refused: {refused.message}.", *head.linked_headline(release)]))]
    above = words.above_in_words(after.records_above, release.rows, after.max_risk, float(bound))
    worst = sentence(f"{words.easiest(risk, release.labels)}.")
    return [sentence(f"The plan would be refused: {above}."), worst]


def recode_table(effects: Sequence[RecodeEffect]) -> list[Block]:
    """What each recode of a plan saves: the plan, and the same without it."""
    header = ["coarsen or randomize?", "categories", "unique", "risk before", "risk after", "records changed"]
    notes = [f"{_unrecoded(one)}: {one.note or _lifted(one.lifted)}" for one in effects if one.note or one.lifted]
    if not effects:
        return []
    return [
        GAP,
        Grid(header, [*map(_recode_row, effects)]),
        Notes([Note("records-alone-before")], word="unique"),
        Notes(notes),
    ]


def _recode_row(effect: RecodeEffect) -> list[str]:
    of = [f"{old:,}{'+' * (old >= MOST_REMEMBERED)} to {new:,}" for old, new in effect.categories]
    start = [_unrecoded(effect), of[0] if len(of) == 1 else words.NONE]
    if effect.note:
        return [*start, *[words.NONE] * 3, "not possible"]
    chances = [_match(chance) for chance in (effect.risk_before, effect.risk)]
    return [*start, f"{effect.alone:,}", *chances, f"{percent(effect.changed)} %"]


def _lifted(numbers: Sequence[int]) -> str:
    rules = in_words([f"number {number}" for number in numbers])
    return f"computed without [[rule]] {rules}, which {'names' if len(numbers) == 1 else 'name'} new categories"


def _unrecoded(effect: RecodeEffect) -> str:
    if len(effect.left_out) > 1:
        return "nothing recoded"
    return f"{shorten(effect.left_out[0], 16)} as it is" if effect.left_out else "the plan"


def _beaten(points: Sequence[RiskUtilityPoint]) -> list[int | None]:
    """By which point each other is beaten; that of the plan is marked otherwise."""
    return [None if p.chosen else i for p, i in zip(points, beaten_by(points), strict=True)]


def _map_row(point: RiskUtilityPoint, points: Sequence[RiskUtilityPoint], better: int | None) -> list[str]:
    if not math.isfinite(point.changed):
        return [_label(point), *[words.NONE] * 5, "not possible"]
    measured = math.isfinite(point.risk)
    return [
        _label(point),
        _match(point.risk) if measured else words.NONE,
        f"{percent(point.changed)} %",
        expected_number(point.matches) if measured else words.NONE,
        f"{point.above:,}" if measured else words.NONE,
        words.NONE if point.inflation is None else words.factor_text(point.inflation),
        "the plan" if point.chosen else "" if better is None else f"beaten by {_label(points[better])}",
    ]


def _label(point: RiskUtilityPoint) -> str:
    """Cut at its end: it is a word and a number, whose first digits matter."""
    return point.label if len(point.label) <= LABEL_WIDTH else f"{point.label[: LABEL_WIDTH - 1]}…"


def _release_answer(release: AnyRelease) -> str:
    if release.risk is None:
        return "The plan names no key variables, so the risk of a correct match is not measured."
    return " ".join([head.headline(release.risk), *head.unit_headline(release.risk), *head.linked_headline(release)])


def _changes(release: AnyRelease) -> list[Block]:
    """What happens to each randomized column, and what happened where there is a released file."""
    done = bool(release.changed)
    header = ["randomized", "expected to change", *(["changed"] if done else []), "inflation"]
    rows = [
        [row.name, _plain(row.expected), *([_plain(row.realised)] if done else []), row.inflation]
        for row in words.utility_rows(release)
    ]
    alike = [Paragraph(text, indent="  ") for text in words.likeness(release.utility)]
    kept = [[_plain(cell) for cell in row] for row in words.kept_rows(release)]
    tables: list[Block] = (
        [GAP, Grid([*words.KEPT_HEADER], kept), Notes([Note("bias-of-kept-tables")], word="bias")] if kept else []
    )
    return [Grid(header, rows), *_kept(release.stages), *alike, *tables] if rows else []


def _kept(stages: Sequence[Stage]) -> list[Paragraph]:
    """What is preserved on average, each group of columns once."""
    pairs = [(one, kept_columns(stages, one)) for one in stages]
    named = [
        (one, _columns(one) if {*one.columns} <= {*columns} else names_in_short(columns)) for one, columns in pairs
    ]
    kept = [f"{words.KEPT[one.invariance]} of {name}" for one, name in named if name]
    lost = [_columns(one) for one, columns in pairs if not columns]
    said = [f"Preserved on average: {'; '.join(kept)}."] if kept else []
    said += [f"Not preserved, users need the matrix: {'; '.join(lost)}."] if lost else []
    return [Paragraph(text, indent="  ") for text in said]


def _columns(stage: Stage) -> str:
    return names_in_short(stage.variables) + (f" within {names_in_short(stage.within)}" if stage.within else "")


def _broken_promises(release: AnyRelease) -> list[str]:
    return [
        _plain(f"{one.what} ({one.where}): {one.asked} was required, {one.achieved} is reached")
        for one in words.promises(release)
        if one.kept is False
    ]


def _remarks(release: AnyRelease) -> list[str]:
    seeded = [] if release.private else [Note("draws-from-a-seed-can-be-repeated")]
    flags = [*(words.risk_notes(release.risk) if release.risk else ()), *release.utility.flags]
    return list(dict.fromkeys([*seeded, *release.notes, *exempted(release), *flags, *release.lost]))


def _plain(text: str) -> str:
    return text.replace(SPACE, " ")


def _match(chance: float) -> str:
    return _plain(words.chance(chance))


MOST_LEVELS = 8
LEVEL_PART = 18
NO_RECEIPT = (
    "the risk after the release is not known without --receipt internal/receipt.json: k-anonymity of a randomized file"
    " is not the usual guarantee"
)


def risk_report(
    report: RiskReport,
    *,
    file: str,
    released: CellTable | None = None,
    names: Mapping[str, Any] | None = None,
    added: Sequence[VariableContribution] = (),
    levels: Sequence[LevelContribution] = (),
    attributes: tuple[Sequence[AttributeRisk], Sequence[AttributeRisk]] = ((), ()),
    special: SpecialUniques | None = None,
    reported: Sequence[ReportedAttribute] = (),
) -> Report:
    """Before, and after where there is a release; ``names`` are the files as they were typed."""
    first = [sentence(_risk_answer(report))]
    first += [sentence(" ".join(head.unit_headline(report)))] if report.units is not None else []
    first += [sentence(head.assumptions(report))] if report.after is not None else []
    if (report.before if report.after is None else report.after).records_above:
        first.append(sentence(f"{words.easiest(report)}."))
    body: list[Block] = [_file_grid(report) if report.after is None else risk_grid(report)]
    body += attribute_table(*attributes)
    body += reported_table(reported)
    body += [] if special is None else special_table(special)
    body += [GAP, _variables(added), GAP, _levels(levels)] if added else []
    body.append(Notes(words.risk_notes(report)))
    if released is not None and report.after is None:
        alone = f"{count(int((released.counts == 1).sum()))} of {counted(released.n, 'record', 'records')}"
        body.append(Notes([f"in the released file {alone} are unique on the key variables", NO_RECEIPT]))
    return Report(first, body, next_step=_after_risk(file, names or {}, report))


def attribute_table(before: Sequence[AttributeRisk], after: Sequence[AttributeRisk]) -> list[Block]:
    """What the key variables disclose about sensitive columns, one to a line, before and after the release."""
    if not before:
        return []
    header = ["sensitive column", "one value", "skewed", "fewest values", "distance", "best guess", "blind guess"]
    rows = [_attribute_row(one, "") for one in before] + [_attribute_row(one, ", released") for one in after]
    meanings = {"one value": "cells-of-one-value", "skewed": "cells-that-are-skewed"}
    meanings |= {"released": "released-as-they-look"} if after else {}
    notes = [Notes([Note(code)], word=word) for word, code in meanings.items()]
    return [GAP, Grid(header, rows), *notes, *diversity_table(before, after)]


def diversity_table(before: Sequence[AttributeRisk], after: Sequence[AttributeRisk]) -> list[Block]:
    """The l-diversity of sensitive columns over all records, one kind to a line."""
    header = ["l-diversity of records", "min", "Q1", "median", "mean", "Q3", "max"]
    header += [f"l < {level}" for level in LEVELS]
    rows = [
        [f"{shorten(one.sensitive, 12)}{which}, {name}", *_diversity_figures(kind), *map(count, kind.below.values())]
        for attributes, which in ((before, ""), (after, ", released"))
        for one in attributes
        for name, kind in one.diversity.kinds()
    ]
    return [GAP, Grid(header, rows), Notes([Note("diversity-of-records")], word="l-diversity")]


def _diversity_figures(kind: DiversityOfRecords) -> list[str]:
    quantiles = [kind.minimum, kind.first_quartile, kind.median, kind.mean, kind.third_quartile, kind.maximum]
    return [f"{Printed(value):.2f}".removesuffix(".00") for value in quantiles]


def _attribute_row(one: AttributeRisk, which: str) -> list[str]:
    return [
        f"{shorten(one.sensitive, 16)}{which}",
        f"{one.homogeneous.cells:,} ({one.homogeneous.records:,})",
        f"{one.skewed.cells:,} ({one.skewed.records:,})",
        f"{one.fewest_values:,}",
        f"{Printed(one.greatest_distance):.2f}",
        f"{percent(one.guess)} %",
        f"{percent(one.guess_without_keys)} %",
    ]


def reported_table(reported: Sequence[ReportedAttribute]) -> list[Block]:
    """What reports of randomized columns imply about the true answers, one to a line."""
    if not reported:
        return []
    header = ["randomized", "parity", "best guess", "without the report", "greatest posterior"]
    rows = [
        [
            shorten(one.sensitive, 16),
            parity_text(one.parity),
            f"{'≤ ' * one.bound}{_match(one.guess)}",
            f"{percent(one.guess_without_report)} %",
            f"{'≤ ' * one.bound}{_match(one.max_posterior)}",
        ]
        for one in reported
    ]
    meanings = {"best guess": "answers-that-are-inferred", "parity": "parity-of-a-report"}
    return [GAP, Grid(header, rows), *(Notes([Note(code)], word=word) for word, code in meanings.items())]


def special_table(special: SpecialUniques) -> list[Block]:
    """Records that are unique on few key variables, and on which."""
    rows = [
        ["Records unique on all key variables", count(special.uniques)],
        ["… unique on fewer key variables", count(special.special)],
        *(
            [f"Minimal sample uniques of {counted(size, 'key', 'keys')}", count(n)]
            for size, n in special.sets.items()
            if n
        ),
        ["Highest SUDA score", f"{Printed(float(special.scores.max())):,.0f}"],
        ["Highest DIS-SUDA score", f"{Printed(float(special.dis_scores.max())):.3f}"],
        ["Share of the population in the file", f"{percent(special.fraction)} %"],
    ]
    shares = [
        [shorten(name, 30), f"{percent(share)} %"]
        for name, share in sorted(special.shares.items(), key=lambda one: -one[1])
    ]
    return [
        GAP,
        Grid(["special uniques, in the file", ""], rows),
        GAP,
        Grid(["key variable", "share of the scores"], shares),
        Notes([Note("scores-of-special-uniques")]),
    ]


def _risk_answer(report: RiskReport) -> str:
    """Whether the limit is met, where there is one; else how many records are identified, and how surely."""
    if report.after is not None:
        both_sure = at_least(report.after.max_risk, 1)
        before = count(report.before.uniques or 0) if both_sure else words.chance(report.before.max_risk)
        return f"{head.headline(report)[:-1]}; before the release: {before}.{_verdict(report.after)}"
    who = f"an intruder who knows {keys_in_words(report.keys)}"
    if report.threshold is None:
        return f"{_unique_or_less(report, who)}."
    bound, now = words.chance(report.threshold), report.before
    if not now.records_above:
        return f"No record is above the limit of {bound}: {who} identifies {_who_is_found(report)}."
    above = f"{count(now.records_above)} of {counted(now.records, 'record', 'records')}"
    one = now.records_above == 1
    likely = f"with a probability of {'' if one else 'up to '}{words.chance(now.max_risk)}"
    sure = "with certainty" if one and at_least(now.max_risk, 1) else likely
    is_above = f"{above} {'is' if one else 'are'} above the limit of {bound}"
    return f"{is_above}: {who} identifies {'it' if one else 'them'} {sure}."


def _verdict(after: FileRisk) -> str:
    """How many records of a release are above the limit; nothing where none is."""
    above = after.records_above or 0
    records = f"{count(above)} of {counted(after.records, 'record', 'records')}"
    return f" {records} {'is' if above == 1 else 'are'} above the limit." if above else ""


def _who_is_found(report: RiskReport) -> str:
    """What an intruder identifies in the file as it is."""
    now = report.before
    if not at_least(now.max_risk, 1):
        return f"no record with a probability above {words.chance(now.max_risk)}"
    return f"{count(head.found_for_sure(report))} of {counted(now.records, 'record', 'records')} with certainty"


def _unique_or_less(report: RiskReport, who: str) -> str:
    """How many records are unique; where that is not what makes them certain, or none is, what an intruder reaches."""
    now, certain = report.before, head.found_for_sure(report)
    if not certain or certain != now.uniques:
        return f"A{who[1:]} identifies {_who_is_found(report)}"
    records = f"{count(certain)} of {counted(now.records, 'record', 'records')}"
    return f"{records} {'is' if certain == 1 else 'are'} unique on {keys_in_words(report.keys)}"


def _file_grid(report: RiskReport) -> Grid:
    """The numbers of a file that is as it is."""
    file = report.before
    small = file.violations or {}
    rows = [
        ["Expected correct matches, all records attacked", f"{Printed(file.expected_matches):,.0f}"],
        ["95th percentile of record risk", _match(file.percentile_95)],
        ["Smallest cell (k-anonymity)", count(file.smallest or 0)],
        *([f"Records in cells of fewer than {size}", count(alike)] for size, alike in small.items()),
    ]
    if file.expected_reidentifications is not None:
        rows.insert(1, ["… not knowing who is in the sample", expected_number(file.expected_reidentifications)])
        rows[2:2] = [[name, _plain(read(file))] for name, read in words.IN_SAMPLE]
    rows += [[name, _plain(before)] for name, before, _ in words.unit_rows(report.units) if before != words.NONE]
    return Grid([f"in the file{words.ROUNDED}", ""], rows, widest=words.WIDEST)


def _variables(added: Sequence[VariableContribution]) -> Grid:
    """How many matches an intruder has who lacks one of the key variables."""
    header = ["key variable", "matches without it", "fewer by", "unique without it", "highest probability"]
    rows = [
        [
            shorten(one_line(one.variable), NAME),
            expected_number(one.matches_without),
            f"{Printed(100 * one.share):.0f} %",
            expected_number(one.uniques_without),
            _match(one.max_risk_without),
        ]
        for one in added
    ]
    return Grid(header, rows)


def _levels(levels: Sequence[LevelContribution]) -> Grid:
    """The labels whose records are identified most easily."""
    header = ["label", "records", "mean probability", "highest", "matches"]
    some = levels[:MOST_LEVELS]
    parts = [(one.variable, words.NONE if one.level is None else label(one.level)) for one in some]
    rows = [
        [
            " = ".join(shorten(one_line(part), LEVEL_PART) for part in pair),
            count(one.records),
            _match(one.mean_risk),
            _match(one.max_risk),
            expected_number(one.matches),
        ]
        for one, pair in zip(some, parts, strict=True)
    ]
    left = len(levels) - MOST_LEVELS
    return Grid(header, rows, more=f"  ... and {count(left)} labels with less risk" if left > 0 else "")


def _after_risk(file: str, names: Mapping[str, Any], report: RiskReport) -> str:
    if report.after is not None and names.get("released"):
        return f"maskwell estimate {shlex.quote(names['released'])} --receipt {shlex.quote(str(names['receipt']))}"
    if report.after is not None:
        return f"maskwell risk {shlex.quote(file)} --keys {shlex.quote(','.join(report.keys))} --contributions"
    match = "" if report.threshold is None else f" --match {Printed(report.threshold):g}"
    keys = f" --keys {shlex.quote(','.join(report.keys))}"
    start = f"maskwell release {shlex.quote(file)} --init"
    whole = f"{start}{keys}{match} -o plan.toml"
    return whole if len(f"Next: {whole}") <= WIDTH else f"{start}{match} -o plan.toml"
