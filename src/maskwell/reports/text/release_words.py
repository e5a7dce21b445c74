"""A release in words and numbers as people read them: what was asked and what came of it, its risk and its utility."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maskwell.core.exact import rounded, to_decimal
from maskwell.core.percentages import SPACE, as_decimal, bound_in_percent, in_percent, percent
from maskwell.core.phrases import Printed, expected_number, in_words, one_line, shorten
from maskwell.core.verdicts import above, at_least, below, largest, ranked
from maskwell.engines.labelled_columns import Labels
from maskwell.microdata.kept_bounds import AT_LEAST, BoundKept, bound_is_kept, bounds_kept
from maskwell.microdata.plans.edit_rules import AnyRule, Moves, Rule
from maskwell.microdata.release_values import AnyRelease
from maskwell.microdata.risk.file_risk import level_contributions, variable_contributions
from maskwell.microdata.risk.risk_report import RiskReport
from maskwell.microdata.risk.unit_risk import UnitRisk
from maskwell.microdata.stages.stage import Stage, kept_columns
from maskwell.microdata.utility.utility_measures import RegressionComparison
from maskwell.microdata.utility.utility_report import UtilityReport
from maskwell.notes import Note
from maskwell.reports.plain_words import count, counted
from maskwell.reports.text.names_in_words import (
    LABEL,
    NAME,
    columns_of,
    label_of,
    name_of,
    names_in_short,
)

KEPT = {"counts": "counts", "weights": "weighted counts"}
NOT_KEPT = {
    "external": "counts of another file are preserved on average, not those of this one",
    "none": "counts are not preserved; users need the matrix",
}
BOUNDS = {
    "posterior": "Probability of any true value, given the released one",
    "posterior_own": "Probability that the released value is the true one",
    "odds": "Odds that the released value is the true one",
    "guess": "Probability that the best guess of the true value is right",
    "factor": "Factor by which a released value changes the probability of a true one",
    "parity": "Ratio of the probabilities of one released value (parity)",
    "least_kept": "Probability of staying unchanged, every value",
    "changed_at_most": "Share of the records expected to change",
    "changed_at_least": "Share of the records expected to change",
    "match": "Probability of a correct match, every record",
}
RATIOS = ("odds", "factor", "parity")


@dataclass(frozen=True)
class Promise:
    """Something that was asked, and what came of it."""

    what: str  # what, where: the bound in words, and the columns it is about
    where: str
    asked: str  # asked, achieved: both as people read them
    achieved: str
    kept: bool | None  # whether it holds; ``None`` where nothing can be said

    @property
    def verdict(self) -> str:
        """In a word."""
        return "not measured" if self.kept is None else "met" if self.kept else "not met"


def stays_right(stages: Sequence[Stage], stage: Stage) -> str:
    """Which counts of one stage stay right on average after all stages."""
    if stage.invariance not in KEPT:
        return NOT_KEPT[stage.invariance]
    kept = kept_columns(stages, stage)
    if kept:
        return f"{KEPT[stage.invariance]} of {in_words(kept)} are preserved on average"
    before = [name for other in stages[: stages.index(stage)] for name in other.moved]
    moved = [name for name in stage.within if name in before]
    moved_words = in_words(moved) or "a column of these"
    return Note("a-column-was-randomized-before", moved=moved_words, columns=in_words(stage.variables))


def promises(release: AnyRelease) -> list[Promise]:
    """Everything that the plan asks for in numbers, with what was achieved."""
    match = [_matching(release)] if release.plan.match is not None else []
    return match + [_promise(one) for one in bounds_kept(release)]


def _matching(release: AnyRelease) -> Promise:
    asked = release.plan.match
    after = None if release.risk is None else release.risk.after
    most = None if after is None else float(after.max_risk)
    where = f"an intruder who knows {in_words(release.plan.keys)}{release.plan.against.words}"
    if asked is None or most is None:
        return Promise(BOUNDS["match"], where, _bound_text("match", asked or Fraction(1)), "–", None)
    kept = bound_is_kept("match", asked, most)
    return Promise(BOUNDS["match"], where, _bound_text("match", asked), chance(most), kept)


def _promise(one: BoundKept) -> Promise:
    where = columns_of(one.stage) + ("" if one.label is None else f" = {one.label}")
    asked, achieved = _bound_text(one.name, one.asked), bound_value(one.name, one.value)
    return Promise(BOUNDS[one.name], where, asked, achieved, one.kept)


def _bound_text(name: str, asked: Fraction) -> str:
    how = "at least" if name in AT_LEAST else "at most"
    return f"{how} {to_decimal(asked)}" if name in RATIOS else f"{how} {bound_in_percent(asked, up=False)}"


def bound_value(name: str, value: float) -> str:
    """A value for one of the bounds, rounded towards less protection.

    >>> bound_value("parity", 3.0), bound_value("match", 0.4621).replace(SPACE, " ")
    ('3', '46.3 %')
    """
    if name in RATIOS or math.isinf(value):
        return rounded(value if math.isinf(value) else as_decimal(value), 4, up=True)
    return bound_in_percent(value, up=name not in AT_LEAST)


def chance(value: float) -> str:
    """The probability of a match, rounded up."""
    return bound_value("match", value)


def rule_in_words(rule: AnyRule) -> str:
    """A rule as a sentence."""
    if isinstance(rule, Rule):
        parts = [f"{column} {' or '.join(labels)}" for column, labels in rule.forbid.items()]
        return f"No record has {' with '.join(parts)}."
    if isinstance(rule, Moves):
        pairs = ", ".join(f"{a} to {b}" for a, b in rule.pairs)
        return f"{rule.variable} {'moves only from' if rule.only else 'never moves from'} {pairs}."
    steps = "one step" if rule.steps == 1 else f"{rule.steps} steps"
    return f"{rule.variable} moves by at most {steps} of its order."


MOST_ROWS = 10
NONE = "–"
LARGE = 100
ROUNDED = " (probabilities rounded up)"  # said where they are listed: one third is 33.4 %, which no record exceeds


Read = Callable[[Any], str]  # how a figure of the risk of a file, or of its units, is written


def _number(name: str) -> Read:
    def read(of: Any) -> str:
        value = getattr(of, name)
        if value is None:
            return NONE
        return count(value) if isinstance(value, int) else expected_number(value)

    return read


def _fewer_than(size: int) -> Read:
    return lambda file: NONE if file.violations is None else count(file.violations[size])


def _chance(name: str) -> Read:
    def read(of: Any) -> str:
        value = getattr(of, name)
        return NONE if value is None else chance(value)

    return read


# What weights say of an intruder who does not know who is in the sample.
IN_SAMPLE: tuple[tuple[str, Read], ...] = (
    ("… highest probability, estimated", _chance("max_risk_population")),
    ("… sampled and matched, at most", _chance("max_risk_sampled")),
)
MEASURES: tuple[tuple[str, Read], ...] = (
    ("Highest probability of a correct match", _chance("max_risk_any_release")),
    ("… comparing all released counts", _chance("max_risk_released_counts")),
    ("… matching only the person's own key values", _chance("max_risk_strict")),
    ("… the same, in 95 % of releases", _chance("max_risk_in_range")),
    ("95th percentile of record risk", _chance("percentile_95")),
    ("Records above the limit", _number("records_above")),
    ("Expected correct matches, all records attacked", _number("expected_matches")),
    ("… not knowing who is in the sample", _number("expected_reidentifications")),
    *IN_SAMPLE,
    ("Best guess of a record's key values is right", _chance("guess_probability")),
    ("Expected unique records in the released file", _number("expected_uniques")),
    ("… of which unchanged sample uniques", _number("expected_true_uniques")),
    ("Unique records in the released file", _number("uniques")),
    ("Smallest cell (k-anonymity)", _number("smallest")),
    ("Records in cells of fewer than 3", _fewer_than(3)),
    ("Records in cells of fewer than 5", _fewer_than(5)),
)


WIDEST = 46  # of the names of these measures


def risk_rows(risk: RiskReport) -> list[tuple[str, str, str]]:
    """What is measured, before and after; a row that says nothing is left out."""
    before, after = risk.before, risk.after
    rows = [(name, read(before), NONE if after is None else read(after)) for name, read in MEASURES]
    return [row for row in [*rows, *unit_rows(risk.units)] if row[1:] != (NONE, NONE)]


UNIT_MEASURES: tuple[tuple[str, Read], ...] = (
    ("At least one correct match in a unit", _chance("max_risk")),
    ("… under any dependence, at most", _chance("max_bound")),
    ("Expected units with a correct match", _number("expected_units")),
    ("… records in them", _number("expected_records")),
    ("… not knowing who is in the sample", _number("expected_reidentifications")),
)


def unit_rows(units: UnitRisk | None) -> list[tuple[str, str, str]]:
    """What is measured of units, such as households, before and after."""
    if units is None:
        return []
    before, after = units.before, units.after
    return [(name, read(before), NONE if after is None else read(after)) for name, read in UNIT_MEASURES]


def riskiest(release: AnyRelease) -> list[list[str]]:
    """Cells with the greatest risk after the release: labels of the keys, records, before, after."""
    risk, rows = release.risk, []
    if risk is None or risk.after is None:
        return []
    for cell in ranked(risk.per_cell["after"])[:MOST_ROWS].tolist():
        label, (before, after) = (
            risk.table.label(cell),
            (float(risk.per_cell[one][cell]) for one in ("before", "after")),
        )
        named, others = (
            name_of([label[risk.table.place(name)] for name in columns], columns, release.labels)
            for columns in (risk.keys, split_by(risk))
        )
        alike, chances = count(int(risk.table.counts[cell])), [chance(before), chance(after)]
        rows.append(
            [named, others, alike, f"{Printed(1 / before):,.0f}", *chances] if others else [named, alike, *chances]
        )
    return rows


def split_by(risk: RiskReport) -> list[str]:
    """Columns that are not keys, and on which it depends how a record is randomized."""
    return [name for name in risk.table.columns if name not in risk.keys]


def key_rows(risk: RiskReport) -> list[list[str]]:
    """What an intruder who lacks one of the key variables would identify in the original file."""
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
    """The labels of key variables whose records are identified most easily."""
    return [
        [f"{one.variable} = {named}", count(one.records), chance(one.mean_risk), chance(one.max_risk)]
        for one in level_contributions(risk)[:MOST_ROWS]
        for named in [label_of(one.level, one.variable, labels)]
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


def utility_rows(release: AnyRelease) -> list[UtilityRow]:
    """A row for each randomized column, and for those that follow."""
    return [
        UtilityRow(
            name=one.name,
            expected=in_percent(one.expected_changed),
            realised=in_percent(one.realised_changed),
            distance=in_percent(None if one.distance is None else one.distance.total_variation, 2),
            inflation=NONE if one.inflation is None else factor_text(one.inflation.worst),
            worth=NONE if one.inflation is None else count(int(one.inflation.n / one.inflation.worst)),
        )
        for one in release.utility.variables.values()
    ]


# How a table is kept, by its way, with the columns that stay or within which is randomized
WAYS = {
    "as it is": "already preserved",
    "like records": "moves that preserve it",
    "unchanged": "{} unchanged",
    "within": "within {}",
}
WEIGHED = {"counts": " (unweighted)", "weights": " (weighted)", "both": ""}
KEPT_HEADER = ("preserved table", "how", "bias without", "bias", "changed without", "changed")


def kept_rows(release: AnyRelease) -> list[list[str]]:
    """A row for each table that the plan keeps: how, and its largest bias and the records changed, without and with."""
    return [
        [
            names_in_short(one.columns, LABEL) + (WEIGHED[one.of] if release.plan.weights is not None else ""),
            WAYS[one.way].format(names_in_short(one.by, LABEL)),
            *(in_percent(bias, 2) for bias in (one.bias_without, one.bias)),
            *(in_percent(share) for share in (one.changed_without, one.changed)),
        ]
        for one in release.kept
    ]


def likeness(utility: UtilityReport) -> list[str]:
    """How alike the original and the released file are, in sentences; none before the draw."""
    single = [(name, one.distance.hellinger) for name, one in utility.variables.items() if one.distance is not None]
    double = [(" and ".join(one.columns), one.hellinger) for one in utility.pairs if one.hellinger is not None]
    far = [_farthest(*zip(*distances, strict=True)) for distances in (single, double) if distances]
    said: list[str] = [Note("hellinger-distances", distances=" and ".join(far))] if far else []
    score = utility.propensity
    if score is not None and score.ratio is not None:
        pmse, columns = f"{Printed(score.pmse):.2g}", shorten(in_words(score.columns), 60)
        said.append(Note("propensity-score", columns=columns, pmse=pmse, ratio=factor_text(score.ratio)))
    return said


def _farthest(names: Sequence[str], distances: Sequence[float]) -> str:
    most = max(distances)
    name = next(name for name, one in zip(names, distances, strict=True) if at_least(one, most))
    return f"{Printed(most):.3f} ({shorten(name, 40)})"


def factor_text(factor: float) -> str:
    """A factor with two decimals, or three digits where it is large."""
    return f"{Printed(factor):.2f}" if below(factor, LARGE) else f"{Printed(factor):,.0f}"


def regression_rows(compared: RegressionComparison) -> list[list[str]]:
    """The coefficients of both files with their standard errors, and how much their intervals coincide."""
    return [
        [
            term.term,
            f"{Printed(term.original):.3g} ({Printed(term.original_error):.2g})",
            f"{Printed(term.released):.3g} ({Printed(term.released_error):.2g})",
            NONE if term.overlap is None else f"{Printed(term.overlap):.2f}",
        ]
        for term in compared.terms
    ]


def above_in_words(above: int, records: int, most: float, bound: float) -> str:
    """Records above a bound, as part of a sentence."""
    have, up_to = ("has", "") if above == 1 else ("have", "up to ")
    of = f"{count(above)} of {counted(records, 'record', 'records')}"
    return f"{of} {have} a probability of a correct match of {up_to}{chance(most)} (limit {chance(bound)})"


def easiest(risk: RiskReport, labels: Labels | None = None, *, whole: bool = False) -> str:
    """The combination with the highest risk, its records and their probability; ``whole`` leaves names uncut."""
    table, cell = risk.table, largest(risk.risk)
    label = dict(zip(table.columns, table.label(cell), strict=True))
    keys = [name for name in risk.keys if name in label]
    named = _cell_in_words(keys, label, labels, whole=whole)
    others = split_by(risk)
    within = f", with {_cell_in_words(others, label, labels, whole=whole)}" if others else ""
    records = counted(int(table.counts[cell]), "record", "records")
    return f"Highest risk: {named}{within} ({records}, {chance(float(risk.risk[cell]))})"


def _cell_in_words(columns: Sequence[str], label: dict[str, object], labels: Labels | None, *, whole: bool) -> str:
    pairs = [(one_line(name), one_line(label_of(label[name], name, labels))) for name in columns]
    if not whole:
        pairs = [(shorten(name, NAME), shorten(value, LABEL)) for name, value in pairs]
    return ", ".join(f"{name} = {value}" for name, value in pairs)


def risk_notes(risk: RiskReport) -> list[str]:
    """What a reader should know of the risk; of k-anonymity only where that of a released file is shown."""
    counted_after = risk.after is not None and risk.after.smallest is not None
    said = {"best-look-finds-more", "all-counts-find-more"}  # the first lines tell of them, and of who is not covered
    said |= {"all-counts-not-covered" if counted_after else "released-uniques-are-often-others"}
    return [flag for flag in risk.flags if getattr(flag, "code", "") not in said]


def rise_in_words(risk: RiskReport) -> str:
    """Why a probability can rise: records with the same keys are randomized differently. Empty where they are not."""
    others = split_by(risk)
    if risk.after is None or not others:
        return ""
    why = Note("risk-of-same-keys-can-rise", others=in_words(others))
    more = risk.per_cell["after"] - risk.per_cell["before"]
    rises = int(risk.table.counts[above(more, 0, scale=1)].sum())
    if not rises:
        return f"{why}."
    by = f"by up to {percent(float(more.max()))} percentage points"
    return f"{why}: {counted(rises, 'record has', 'records have')} a higher probability than before, {by}."
