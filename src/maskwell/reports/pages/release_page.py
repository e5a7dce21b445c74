"""The report of a release for a disclosure board: one file that needs no other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from maskwell.core.documents import version_text
from maskwell.core.exact import rounded, to_decimal
from maskwell.core.percentages import in_percent
from maskwell.core.phrases import Printed, in_words, round_up
from maskwell.core.verdicts import at_least, below
from maskwell.microdata.folder.receipt_contents import public_receipt, recoded_in_words, rounded_up
from maskwell.microdata.folder.release_metadata import release_day
from maskwell.microdata.kept_bounds import achieved, exempted, guessed
from maskwell.microdata.release_values import AnyRelease
from maskwell.microdata.risk.repeated_releases import path_parities
from maskwell.microdata.risk.risk_report import FileRisk, RiskReport
from maskwell.microdata.stages.stage import Stage, kept_columns, share_step
from maskwell.notes import Note
from maskwell.reports.pictures.canvas import Picture
from maskwell.reports.pictures.risk_curves import plot_release_risk
from maskwell.reports.pictures.transition_picture import plot_matrix
from maskwell.reports.pictures.utility_pictures import drawn_pairs, drawn_variables, plot_associations, plot_inflation
from maskwell.reports.plain_words import count, counted, label
from maskwell.reports.report import Facts, environment, page_style
from maskwell.reports.text import release_headline as head
from maskwell.reports.text import release_words as words
from maskwell.reports.text.names_in_words import columns_of

MOST_MATRICES = 8  # matrices that are drawn; the internal receipt has all
NEARLY = 0.99  # of the highest chance of a match: records from here on are counted with those that have it
MOST_PAIRS = 16  # pairs of columns whose association a report draws


def release_page(release: AnyRelease, *, signed: Sequence[tuple[str, str]] = ()) -> str:
    """The whole page as text; ``signed`` are names and SHA-256 hashes of the files that it is signed for."""
    figures = _figures(release)
    randomized = in_words([name for stage in release.stages for name in stage.moved])
    utility, promised = release.utility, words.promises(release)
    compared = utility.regressions
    return (
        environment()
        .get_template("release.html")
        .render(
            css=page_style(),
            version=version_text(),
            title=f"Release of {release.plan.title or release.file.source_name or 'a file'}",
            subtitle=f"{counted(release.rows, 'record', 'records')}; {randomized} randomized",
            lead=lead(release),
            warnings=_warnings(release, promised),
            key_figures=_key_figures(release),
            promises=promised,
            released=_told(_released(release)),
            finding=_told(_finding(release)),
            can=_users_can(release),
            cannot=_users_cannot(release),
            day=release_day(),
            facts=_told(_facts(release)),
            figures=figures,
            keys=in_words(release.plan.keys),
            risk=_risk(release),
            unprotected=_unprotected(release),
            utility={
                "rows": words.utility_rows(release),
                "kept": words.kept_rows(release),
                "regressions": [{"formula": one.formula, "rows": words.regression_rows(one)} for one in compared],
                "alike": words.likeness(utility),
                "flags": utility.flags,
            },
            drawn=_columns(release, lambda stage: stage.method != "swap"),
            swapped=_columns(release, lambda stage: stage.method == "swap"),
            stages=_stages(release, 1 + sum(picture is not None for picture in figures.values())),
            advice=public_receipt(release)["advice"],
            ending=release.file.ending,
            column=next((stage.variables[0] for stage in release.stages), None),
            withheld=_columns(release, lambda stage: not release.plan.publishes(stage)),
            source=release.file.source_name,
            rows=f"{release.rows:,}",
            signed=signed,
        )
    )


def _columns(release: AnyRelease, chosen: Callable[[Stage], bool]) -> str:
    """The columns of some of the stages, in words."""
    return in_words([columns_of(stage) for stage in release.stages if chosen(stage)])


def _told(facts: Sequence[tuple[str, str]]) -> str:
    """Names and values as the page lists them, without those that are empty."""
    return "\n".join(Facts([fact for fact in facts if fact[1]]).to_html())


def lead(release: AnyRelease) -> str:
    """The answer in a few sentences: the risk against its limit, for whom, and what the release costs."""
    said = "The plan names no key variables, so the risk of a correct match was not measured."
    if release.risk is not None:
        broken = [] if release.risk.headline["kept"] in (True, None) else ["The limit is NOT met."]
        said = " ".join(
            [
                head.headline(release.risk, whole=True),
                *broken,
                *head.unit_headline(release.risk),
                *head.linked_headline(release),
                f"{words.easiest(release.risk, release.labels, whole=True)}.",
            ]
        )
    return f"{said} {in_percent(release.expected_change())} of the records are expected to change."


def _released(release: AnyRelease) -> list[tuple[str, str]]:
    """What is released, in short."""
    plan = release.plan
    moved = {name for stage in release.stages for name in stage.moved}
    coarser = _coarser(release)
    still = [column.name for column in release.columns if column.name not in (*moved, *coarser)]
    randomized = [
        f"{columns_of(stage)}; {in_percent(stage.expected_changed())} of the records are expected to change"
        for stage in release.stages
    ]
    columns = counted(len(release.columns), "column", "columns")
    return [
        ("The file", f"{counted(release.rows, 'record', 'records')} with {columns}"),
        ("Recoded first", "; ".join(f"{name}: {how}" for name, how in coarser.items())),
        ("Randomized", "; ".join(randomized) or "nothing"),
        ("Published unchanged", in_words(still) or "no column"),
        ("Left out", in_words(plan.unpublished) or "nothing"),
    ]


def _coarser(release: AnyRelease) -> dict[str, str]:
    """How columns became coarser, with the number of their values before and after."""
    done, known = recoded_in_words(release), release.file.changes.recoded
    return {
        column.name: f"{how} ({known[column.name][0]:,} values became {known[column.name][1]:,})"
        if known.get(column.name, (0, 0))[0]
        else how
        for column in release.columns
        if (how := done.get(column.name))
    }


def _finding(release: AnyRelease) -> list[tuple[str, str]]:
    """Who could re-identify whom, with what probability."""
    risk, plan = release.risk, release.plan
    if risk is None or risk.after is None:
        return [("Not measured", "the plan names no key variables, so no attack was assumed")]
    open_ = [name for name in plan.sensitive if name not in plan.randomized]
    units = (
        "The matrices, the true counts of records and units, the errors of tables that the receipt states, and which"
        " records belong together, where that shows."
    )
    said = head.assumptions(risk, release).replace(head.OF_UNITS, units)
    weighing = f" {head.weighing_in_words(risk)}" if risk.joined is not None else ""
    found_together = ""
    if risk.units is not None and risk.units.after is not None:  # the lead has their greatest chance
        expected = _at_most(risk.units.after.expected_units)
        found_together = Note("units-that-are-found", found=expected, units=risk.units.units)
    return [
        ("Intruder", f"knows {in_words(risk.keys)} of a person, and that the person is in the file"),
        (
            "Also known to the intruder",
            said.replace(
                head.ASSUMED, "The matrices, the true counts, and the errors of tables that the receipt states."
            ).replace(weighing, ""),
        ),
        ("Re-identification", _found(risk, risk.after)),
        ("Linkage attack on other columns", head.weighing_in_words(risk, whole=True)),
        ("In the whole file", _found_in_all(risk.before, risk.after)),
        (f"With the same {plan.unit}", found_together),
        ("Then disclosed", f"{in_words(open_)} of a re-identified person: not randomized" if open_ else ""),
    ]


def _found(risk: RiskReport, after: FileRisk) -> str:
    """The highest probability with the number of records that have it, and how many were certain before."""
    n = counted(risk.count_above(NEARLY * after.max_risk), "record", "records")
    nobody = f"nobody with a probability above {words.chance(risk.worst_by_counts)}, as far as it is known"
    nobody = nobody if risk.not_computed else nobody.partition(",")[0]
    nearly = f"{n} with {words.chance(after.max_risk)} or nearly that"
    said = f"{n} with certainty" if at_least(after.max_risk, 1) else f"{nobody}; {nearly}"
    alone = counted(risk.before.uniques or 0, "record", "records")
    return f"{said}. Before the release, {alone} could be re-identified with certainty"


def _at_most(number: float) -> str:
    """An expected number, rounded up: some matches are not none."""
    return f"{Printed(round_up(number, 0)):,.0f}"


def _found_in_all(before: FileRisk, after: FileRisk) -> str:
    """Correct matches where all records are attacked, and those of an intruder who knows less."""
    now, then = _at_most(after.expected_matches), _at_most(before.expected_matches)
    said = Note("matches-if-all-are-looked-for", now=now, records=count(after.records), then=then)
    if after.expected_reidentifications is None:
        return said
    fewer = _at_most(after.expected_reidentifications)
    return f"{said}; {fewer} by an intruder who does not know who is in the file (estimated with the weights)"


def _users_can(release: AnyRelease) -> list[str]:
    """What the released file is good for, in sentences."""
    kept = [words.stays_right(release.stages, stage) for stage in release.stages if kept_columns(release.stages, stage)]
    sentences = [f"Make tables and regressions of preserved columns: {one}." for one in dict.fromkeys(kept)]
    known = release.utility.variables
    worst = [one.inflation.worst for one in known.values() if one.inflation is not None]
    if worst:
        factor = f"{Printed(round_up(math.sqrt(max(worst)), 2)):g}"
        sentences.append(f"Rely on their shares: standard errors of one column grow to at most {factor} times.")
    groups, step = public_receipt(release)["groups"], share_step(release.rows)
    changed = [(group["changed_expected"], 2 if group["invariance"] == "counts" else 1) for group in groups]
    bias = 1.0 if step is None else sum((share + step / 2) / parts for share, parts in changed)
    if groups and below(bias, 1):
        points = f"{Printed(rounded_up(100 * bias)):g}"
        sentences.append(Note("users-can-make-other-tables", points=points))
    published = [columns_of(stage) for stage in release.published]
    if published:
        sentences.append(f"Undo the randomization of {in_words(published)} on average: the matrix is published.")
    return sentences or ["Count: no column was randomized."]


def _users_cannot(release: AnyRelease) -> list[str]:
    """What nobody can do with the released file, or not without an error, in sentences."""
    sentences = [
        "Take a record for a statement about a person, or identify from the receipt which records were changed."
    ]
    withheld = _columns(release, lambda stage: not release.plan.publishes(stage))
    if withheld:
        sentences.append(f"Use the matrices of {withheld}, which are withheld: the true counts would follow from them.")
    counts = _columns(release, lambda stage: stage.invariance == "counts")
    if release.plan.weights is not None and counts:
        sentences.append(Note("users-cannot-weight", counts=counts, weights=release.plan.weights))
    if weighted := _columns(release, lambda stage: stage.invariance == "weights"):
        sentences.append(Note("users-cannot-count", columns=weighted, weights=release.plan.weights))
    every = {column.name for column in release.columns}
    if any(every - {*kept_columns(release.stages, stage)} for stage in release.stages):
        sentences.append(
            "Rely on associations of randomized columns with others outside these tables: they are weakened."
        )
    return sentences


def _warnings(release: AnyRelease, promised: Sequence[words.Promise]) -> list[tuple[str, str]]:
    seeded = "The draws came from a seed, so anyone can repeat them: nothing is protected."
    warnings = [] if release.private else [("A demonstration.", seeded)]
    if found := release.warnings:
        told = " ".join(f"{text[:1].upper()}{text[1:]}." for text in found)
        warnings.append(("Something could undo the protection.", told))
    warnings += [
        ("A limit is not met.", f"{one.what}: {one.asked} was required, {one.achieved} is reached.")
        for one in promised
        if one.kept is False
    ]
    return warnings


def _key_figures(release: AnyRelease) -> list[tuple[str, str, str]]:
    """Name, value and unit of what a board wants first."""
    figures = [("Records", f"{release.rows:,}", "in the file")]
    if release.risk is not None and release.risk.after is not None:
        before, after = release.risk.before, release.risk.after
        figures += [
            (
                "Highest known risk" if release.risk.not_computed else "Highest risk",
                words.chance(release.risk.worst),
                f"of a match; {words.chance(before.max_risk)} before",
            ),
            (
                "Correct matches",
                _at_most(after.expected_matches),
                f"expected; {_at_most(before.expected_matches)} before",
            ),
        ]
    return [*figures, ("Records changed", in_percent(release.expected_change()), "expected, in some column")]


def _facts(release: AnyRelease) -> list[tuple[str, str]]:
    """The plan in words."""
    plan = release.plan
    protected = [f"{columns_of(stage)}: {plan.protection_of(stage).made_by}" for stage in release.stages]
    missing = "unchanged" if plan.missing == "unchanged" else "are a category like others"
    drawn = "new, from the operating system" if release.keyed is None else Note("draws-are-from-a-secret-key")
    drawn = drawn if release.private else "repeatable, from a seed (demonstration only)"
    return [
        ("Key variables", in_words(plan.keys) or "none named"),
        ("Sensitive columns", in_words(plan.sensitive) or "none named"),
        ("Units", plan.unit or "none named"),
        ("Randomized", "; ".join(protected)),
        ("Rules", " ".join(map(words.rule_in_words, plan.rules)) or "none"),
        ("Missing values", missing),
        ("Weights", plan.weights or "none"),
        ("Left out of the file", in_words(plan.unpublished) or "nothing"),
        ("Order of the records", "random" if release.shuffled else "as in the original file"),
        ("Draws", drawn),
    ]


def _figures(release: AnyRelease) -> dict[str, Picture | None]:
    """The pictures of the page; one that would have nothing to show is left out."""
    utility = release.utility
    measured = release.risk is not None and release.risk.after is not None
    return {
        "risk": plot_release_risk(release) if measured else None,
        "associations": plot_associations(utility, most=MOST_PAIRS) if drawn_pairs(utility) else None,
        "inflation": plot_inflation(utility) if drawn_variables(utility) else None,
    }


def _risk(release: AnyRelease) -> dict[str, Any]:
    if release.risk is None:
        return {}
    return {
        "rows": words.risk_rows(release.risk),
        "without": words.key_rows(release.risk),
        "labels": words.label_rows(release.risk, release.labels),
        "flags": words.risk_notes(release.risk),
    }


def _unprotected(release: AnyRelease) -> dict[str, Any]:
    risk, rows = release.risk, words.riskiest(release)
    others = [] if risk is None else words.split_by(risk)
    parts = [in_words(others), "Records", "With the same key values"] if others else ["Records"]
    return {
        "sentences": _untouched(release),
        "rows": rows,
        "header": [in_words(release.plan.keys), *parts, "Before", "After"],
        "why": "" if risk is None else words.rise_in_words(risk),
    }


def _untouched(release: AnyRelease) -> list[str]:
    plan, sentences, randomized = release.plan, [], {*release.plan.randomized}
    kept = [key for key in plan.keys if key not in randomized]
    if kept:
        sentences.append(f"Key variables that are not randomized: {in_words(kept)}.")
    open_ = [name for name in plan.sensitive if name not in randomized]
    if open_:
        sentences.append(Note("sensitive-columns-not-randomized", columns=in_words(open_)))
    others = [c.name for c in release.columns if c.name not in {*randomized, *plan.keys, *plan.sensitive}]
    if others:
        sentences.append(Note("other-columns-not-randomized", columns=in_words(others)))
    sentences += [sentence for stage in release.stages for sentence in _never_changed(stage)]
    gaps = {name: n for name, n in release.file.missing.items() if n and plan.missing == "unchanged"}
    if gaps:
        counts = ", ".join(f"{name} ({counted(n, 'record', 'records')})" for name, n in gaps.items())
        sentences.append(f"Missing values stay missing: {counts}.")
    sentences += [f"{text[:1].upper()}{text[1:]}." for text in exempted(release)]
    sentences += [f"In the original file, and not in the released one: {text}." for text in release.lost]
    return sentences or ["Every column of the file is randomized, and every record can change."]


def _never_changed(stage: Stage) -> list[str]:
    """Records whose labels stay for sure."""
    fixed = (stage.keeps >= 1) & (stage.counts > 0)
    n = int(stage.counts[fixed].sum())
    if not n:
        return []
    records, within = counted(n, "record", "records"), counted(int(fixed.sum()), "combination", "combinations")
    change = "changes" if n == 1 else "change"
    return [Note("records-that-never-change", records=records, within=within, of=columns_of(stage), change=change)]


def _stages(release: AnyRelease, first: int) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = []
    for i, stage in enumerate(release.stages):
        drawn = sum(one["figure"] is not None for one in content)
        picture = (
            replace(plot_matrix(stage, labels=release.labels), name=f"matrix-{i + 1}")
            if drawn < MOST_MATRICES and len(stage.states)
            else None
        )
        content.append(
            {
                "columns": columns_of(stage),
                "facts": _told(_stage_facts(release, stage)),
                "notes": stage.notes,
                "figure": picture,
                "number": first + drawn,
                "caption": Note("matrix-is-from-the-counts") if stage.derived else Note("matrix-is-fixed"),
                "fingerprint": stage.design.fingerprint,
            }
        )
    return content


def _stage_facts(release: AnyRelease, stage: Stage) -> list[tuple[str, str]]:
    protection = release.plan.protection_of(stage)
    cells = int(stage.cells.max(initial=-1)) + 1
    within = f" in {counted(cells, 'cell', 'cells')} of {in_words(stage.within)}" if stage.within else ""
    included = release.plan.publishes(stage)
    stay = "; ".join(f"{name}: {', '.join(map(label, labels))}" for name, labels in protection.exclude.items())
    return [
        ("Method", protection.made_by),
        ("Preserved", words.stays_right(release.stages, stage)),
        ("Combinations", f"{len(stage.states):,}{within}"),
        ("Expected to change", f"{in_percent(stage.expected_changed())} of the records"),
        ("Inference from a released value", _how_sure(stage)),
        ("Randomized once more", f"with {to_decimal(protection.again)} of the matrix" if protection.again else ""),
        ("Draws", _drawn(release, stage)),
        ("Two releases together", _two_releases(release, stage)),
        ("Moves along", in_words(list(stage.linked))),
        ("Never changed", stay),
        ("Strength", "" if protection.strength == 1 else f"{to_decimal(protection.strength)} of the randomization"),
        ("Matrix", "in the public receipt" if included else "withheld from users"),
        ("Cleared because", protection.clearance or ""),
    ]


def _drawn(release: AnyRelease, stage: Stage) -> str:
    """Whether draws are kept, in a release with a key."""
    if release.keyed is None:
        return ""
    return {
        "fresh": "new in each release",
        "kept": "kept by key",
        "kept, then fresh": "kept by key, then randomized once more, anew in each release",
    }[release.how_drawn(stage)]


def _two_releases(release: AnyRelease, stage: Stage) -> str:
    """The exact parities of two releases, in a release with a key."""
    if release.keyed is None or stage.method == "swap":
        return ""
    parities = path_parities(stage, kept=release.keeps(stage))
    if parities is None:
        return "not computed: too many combinations, or none that can be released as another"
    same, change, both = (rounded(one, 4, up=True) for one in (parities.unchanged, parities.change, parities.changed))
    return Note("parities-of-two-releases", same=same, change=change, both=both)


def _how_sure(stage: Stage) -> str:
    """How sure the released value makes of the true one, at most and on average over the file."""
    if not stage.counts.sum():
        return ""
    most, guess = achieved(stage, "posterior") or 0.0, guessed(stage)
    sure = f"no true value with a probability above {words.bound_value('posterior', most)}"
    sure = "some true value with certainty" if at_least(most, 1) else sure
    return f"{sure}; the best guess from it is right for {words.bound_value('guess', guess)} of the records"
