"""``risk``: re-identification risk, for an intruder who knows a few columns of a person."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from maskwell.core.arguments import Array, Flag, check_kind, check_option
from maskwell.core.cells import CellTable
from maskwell.core.display import Result
from maskwell.core.exact import Number, Parity, as_fraction
from maskwell.core.phrases import in_language, option
from maskwell.engines.cell_counts import cells_of_records, count_tables, write_cell_values
from maskwell.engines.report_counts import tally_columns
from maskwell.engines.row_sources import steps
from maskwell.engines.rows import Rows
from maskwell.errors import DataFileError, ParameterError
from maskwell.microdata.folder.receipt import Receipt, stages_of
from maskwell.microdata.plans.count_methods import TargetedSwap
from maskwell.microdata.plans.release_plan import JOINT_TABLE, ReleasePlan
from maskwell.microdata.records.recoding import Recoding, recoded, recoding_of
from maskwell.microdata.records.unit_rows import read_units
from maskwell.microdata.risk.attribute_disclosure import (
    AttributeRisk,
    ReportedAttribute,
    attribute_risk,
    reported_attribute,
)
from maskwell.microdata.risk.file_risk import (
    LevelContribution,
    VariableContribution,
    assess_risk,
    cells_in,
    level_contributions,
    variable_contributions,
)
from maskwell.microdata.risk.intruders import ANY_LOOK, INTRUDERS, intruder_named
from maskwell.microdata.risk.joint_disclosure import JointTable, others_randomized, with_joint_table
from maskwell.microdata.risk.risk_report import FileRisk, RiskReport, risks_of_cells
from maskwell.microdata.risk.special_unique_scores import FRACTION, SpecialUniques, special_uniques
from maskwell.microdata.risk.unit_draws import DrawnUnits, units_told
from maskwell.microdata.risk.unit_table import SeenUnits, shown_unit
from maskwell.microdata.stages.stage import Stage, acting, needed_columns, unchanged_columns
from maskwell.microdata.true_file import prepared
from maskwell.notes import Note
from maskwell.reports.report import Report
from maskwell.reports.text.release_report import NO_RECEIPT, risk_report
from maskwell.verbs.inputs import Designs, Names, assignments_of, check_progress, names_of
from maskwell.verbs.release_estimate import receipt_of

if TYPE_CHECKING:
    from maskwell.engines.assignments import Assignment
    from maskwell.engines.row_sources import Progress
    from maskwell.reports.pictures.canvas import Picture


@dataclass(frozen=True, eq=False, repr=False)
class RiskResult(Result):
    """The risk of a file, and of its release where there is one."""

    report: RiskReport  # all figures, of which some are at hand here too
    rows: Rows  # where the records are: a path, or a table in memory
    table: CellTable  # counts over the keys and the columns that determine how they were randomized
    stages: tuple[Stage, ...] = ()  # the randomizations of the release
    released: CellTable | None = None  # counts of the released file over the keys, where it was given
    files: tuple[str | None, ...] = (None, None)  # the released file and the receipt, where they were given by paths
    # what the keys disclose about each sensitive column, in the file as it is and in the released one
    attributes: tuple[AttributeRisk, ...] = ()
    attributes_released: tuple[AttributeRisk, ...] = ()
    special: SpecialUniques | None = None  # records that are unique on few keys, where that was asked for
    reported: tuple[ReportedAttribute, ...] = ()  # what reports imply about the answers to sensitive questions
    parities: Mapping[str, Parity] = field(default_factory=dict)  # of the designs of randomized key variables

    @property
    def before(self) -> FileRisk:
        """The file as it is."""
        return self.report.before

    @property
    def after(self) -> FileRisk | None:
        """The file as it is released; None without a receipt."""
        return self.report.after

    @property
    def max_risk(self) -> float:
        """The largest probability of a correct match of any record, after the release where there is one."""
        return self.report.now.max_risk

    @property
    def kept(self) -> bool | None:
        """Whether no record is above the limit; None without one."""
        return None if self.report.threshold is None else not self.report.now.records_above

    @property
    def flags(self) -> tuple[str, ...]:
        """What a reader should know, in words."""
        return (*self.report.flags, NO_RECEIPT) if self._unknown else self.report.flags

    @cached_property
    def variable_contributions(self) -> list[VariableContribution]:
        """What each key variable adds to the risk, the largest first."""
        level, parities = self.report.level, self.parities
        return variable_contributions(self.table, self.report.keys, self.stages, level=level, parities=parities)

    @cached_property
    def level_contributions(self) -> list[LevelContribution]:
        """The risk of each label of each key, those with the largest mean risk first."""
        return level_contributions(self.report)

    def record_risks(self) -> dict[str, Array]:
        """The risks of every record, in the order of the file; columns as in ``report.per_cell``."""
        return risks_of_cells(self.report, cells_of_records(self.rows, self.report.table))

    def write_records(
        self, output: str | os.PathLike[str], *, force: bool = False, beside: Mapping[str, bytes] | None = None
    ) -> None:
        """Write the risks of every record of a file to a file of its kind, and files ``beside`` it with it or none."""
        if self.rows.path is None:
            raise ParameterError("the-table-is-in-memory")
        told, output = self.report, os.fspath(output)
        write_cell_values(self.rows.path, output, told.table, told.per_cell, force=force, beside=beside)

    @property
    def _unknown(self) -> bool:
        """Whether there is a released file without a record of how it was made."""
        return self.released is not None and self.report.after is None

    def to_dict(self, *, contributions: bool = False) -> dict[str, Any]:
        """Everything as plain values, as ``maskwell risk --json`` gives it."""
        content = self.report.to_dict()
        if self.released is not None and self._unknown:  # what the released file shows by itself
            seen = assess_risk(self.released, self.report.keys).before
            shown = {name: getattr(seen, name) for name in ("records", "cells", "k_anonymity", "uniques")}
            content |= {"after": dict.fromkeys(self.before.to_dict()) | shown, "flags": list(self.flags)}
        if self.attributes:
            after = [one.to_dict() for one in self.attributes_released]
            content["sensitive"] = {"before": [one.to_dict() for one in self.attributes], "after": after}
        if self.reported:
            content["randomized"] = [one.to_dict() for one in self.reported]
        if self.special is not None:
            content["special_uniques"] = self.special.to_dict()
        if contributions:
            content["contributions"] = {
                "variables": [one.to_dict() for one in self.variable_contributions],
                "levels": [one.to_dict() for one in self.level_contributions],
            }
        return content

    def to_report(self, *, contributions: bool = False) -> Report:
        """What it says to people."""
        released, receipt = self.files
        return risk_report(
            self.report,
            file=str(self.rows),
            released=self.released,
            names={"released": released, "receipt": receipt},
            added=self.variable_contributions if contributions else [],
            levels=self.level_contributions if contributions else [],
            attributes=(self.attributes, self.attributes_released),
            special=self.special,
            reported=self.reported,
        )

    def plot(self, **options: Any) -> Picture:
        """The risk of records before and after the release; ``options`` as for all pictures."""
        from maskwell.reports.pictures.canvas import styled
        from maskwell.reports.pictures.risk_curves import plot_risk_report

        return styled(plot_risk_report, self.report, **options)

    def __repr__(self) -> str:
        return "\n".join(self.to_report()[:-1])


def risk(
    data: Any,
    keys: Names,
    *,
    released: Any = None,
    receipt: Receipt | str | os.PathLike[str] | None = None,
    designs: Designs | None = None,
    sensitive_columns: Names = (),
    weights: str | None = None,
    unit: str | None = None,
    suda: bool = False,
    match: Number | None = None,
    intruder: str | None = None,
    level: Number = 0.95,
    progress: Progress | None = None,
) -> RiskResult:
    """Measure re-identification risk, for an intruder who knows the key variables of a person.

    Parameters
    ----------
    data
        The original file: its path, or a table of pandas, polars, Arrow or Spark, or a mapping from names to columns.
    keys
        Columns that an intruder may know of a person: a list, or a string with commas between them.
    released
        The released file, as a path or a table: the realised outcome.
    receipt
        The internal receipt of the release, or its path: how the file was made. With it the risk of the release is
        measured, too.
    designs
        ``{column: design}`` for key variables and sensitive columns of ``data`` that hold randomized reports. Without
        it all values are taken as true.
    sensitive_columns
        Sensitive columns: then what the key variables disclose about them is measured, too.
    weights
        Column of sampling weights: then the risk in the population is estimated, too.
    unit
        Column that names the unit of a record, such as its household: then the risk of units is measured, too.
    suda
        Whether to score special uniques, records that are unique on few key variables.
    match
        A limit on the probability of a correct match; ``kept`` says whether no record is above it.
    intruder
        Intruder model: "any-look", "own-key", "own-key-95", "released-counts" or "all-columns"; by
        default that of the receipt, or "any-look". The probabilities of "all-columns" are those of "any-look" here: its
        linkage attack is simulated by a release and its dry run.
    level
        Probability of the range of released counts.
    progress
        Called with the rows read so far and the share of the work that is done.

    >>> people = {"town": ["A", "A", "A", "B", "B", "B"], "job": ["baker", "clerk", "clerk", "clerk", "clerk", "smith"]}
    >>> result = risk(people, ["town", "job"], match=0.5)
    >>> result.before.uniques, result.max_risk, result.kept   # the baker and the smith are sample uniques
    (2, 1.0, False)
    """
    check_progress(progress)
    if intruder is not None:
        check_option("intruder", intruder, INTRUDERS)
    check_kind(str | None, unit=unit)
    check_kind(Flag, suda=suda)
    rows, names, secret = Rows.of(data), _checked_names(keys), [*names_of(sensitive_columns, "sensitive_columns")]
    randomized = _randomized(assignments_of(designs), names, secret)
    _check_alone(randomized, names, secret, receipt=receipt, released=released, weights=weights, unit=unit, suda=suda)
    hidden, secret = secret, [name for name in secret if name not in randomized]
    reports = tally_columns(rows, [*randomized.values()], missing="drop", progress=progress) if randomized else {}
    reported = tuple(reported_attribute(one, reports[one], randomized[one].design) for one in hidden if one in reports)
    parities = {name: randomized[name].design.parity_exact() for name in names if name in randomized}
    told = None if receipt is None else receipt_of(receipt)
    stages = [] if told is None else stages_of(told)
    if told is not None and any(one.get("method") == TargetedSwap.name for one in told.plan.get("protect", ())):
        raise ParameterError("risk-of-a-targeted-swap")
    if told is not None and {"recode", "rule", "suppress"} & told.plan.keys():
        rows, released = _prepared(rows, released, told)
    known, drawn_tables = _counted(rows, names, stages, released, weights, secret, progress)
    table, drawn = known[0], drawn_tables[0] if drawn_tables else None
    if told is not None and table.n != told.rows:
        raise DataFileError("has-records-the-receipt-tells", rows=rows, n=table.n, told_rows=told.rows)
    meant = intruder or (ANY_LOOK.name if told is None else told.intruder)
    report = assess_risk(
        table,
        names,
        stages,
        released=drawn,
        threshold=_threshold(match),
        level=float(as_fraction(level, option("level"))),
        weights=weights is not None,
        intruder=intruder_named(meant).of_counts.name,  # counts do not measure one that uses all columns
        seen=None if drawn is None else [name for name in drawn.columns if name not in names],
        parities=parities,
    )
    if told is None and released is None:
        report = replace(report, flags=(*report.flags, *_taken_as([*names, *hidden], names, randomized)))

    def also(report: RiskReport) -> RiskReport:
        return _with_joint_table(report, stages, rows, released, told)

    report = _with_units(report, stages, unit, rows, released, drawn, also)
    before, after = (
        tuple(attribute_risk(one, names, name) for one, name in zip(counted[1:], secret, strict=False))
        for counted in (known, drawn_tables)
    )
    report, special = _with_special(report, table) if suda else (report, None)
    files = tuple(os.fspath(one) if isinstance(one, str | os.PathLike) else None for one in (released, receipt))
    return RiskResult(report, rows, table, tuple(stages), drawn, files, before, after, special, reported, parities)


AS_TRUE = "{values} taken as true answers; for randomized columns, give {option}"


def _randomized(assignments: Sequence[Assignment], keys: Sequence[str], secret: Sequence[str]) -> dict[str, Assignment]:
    """The design of each column that holds reports: one for all rows, of a key or of a sensitive column."""
    for one in assignments:
        if len(one.columns) > 1 or one.when:
            raise ParameterError("design-of-risk-needs-one-design", columns=", ".join(one.columns))
    by_column = {one.columns[0]: one for one in assignments}
    unused = [name for name in by_column if name not in (*keys, *secret)]
    if unused:
        raise ParameterError("design-names-which-is-neither", unused=unused[0])
    return by_column


def _check_alone(
    randomized: Mapping[str, Assignment], keys: Sequence[str], secret: Sequence[str], **others: Any
) -> None:
    """Raise where a design is combined with what needs true values."""
    if not randomized:
        return
    of_key = any(name in randomized for name in keys)
    refused = ("receipt", "released", "weights", "unit", "suda") if of_key else ("receipt", "released")
    given = [name for name in refused if others[name] is not None and others[name] is not False]
    if given:
        raise ParameterError(
            "cannot-be-combined-with-design",
            given_option=option(given[0]),
            ending=" of a key variable" if of_key else "",
        )
    if of_key and any(name not in randomized for name in secret):
        raise ParameterError("sensitive-without-a-design-cannot")


def _taken_as(columns: Sequence[str], keys: Sequence[str], randomized: Mapping[str, Assignment]) -> list[str]:
    """Which values are taken as true, and which as reports."""
    true = [name for name in columns if name not in randomized]
    values = f"the values of {', '.join(true)} are" if randomized else "values are"
    of_keys = [name for name in keys if name in randomized]
    written = in_language("--design COL=D", 'designs={"COL": design}')
    notes = [Note("the-values-of-are-reports-probabilities", of_keys=", ".join(of_keys))] if of_keys else []
    return notes + ([AS_TRUE.format(values=values, option=written)] if true else [])


def _checked_names(keys: Names) -> list[str]:
    names = [*names_of(keys, "keys")]
    typed = keys if isinstance(keys, str) else ",".join(map(str, names))
    if not any(names):
        raise ParameterError("keys-names-no-column", typed=typed)
    if not all(names) or len({*names}) < len(names):
        raise ParameterError("keys-a-column-is-empty", typed=typed)
    return names


def _threshold(match: Number | None) -> float | None:
    bound = None if match is None else as_fraction(match, option("match"))
    if bound is not None and not 0 < bound <= 1:
        raise ParameterError("match-is-not-above-0", match=match)
    return None if bound is None else float(bound)


def _with_special(report: RiskReport, table: CellTable) -> tuple[RiskReport, SpecialUniques]:
    """The report with the scores of special uniques, and these; weights give the sampled share."""
    people = 0.0 if table.weights is None else float(table.weights.sum())
    fraction = min(1.0, table.n / people) if people else FRACTION
    special = special_uniques(table, report.keys, fraction=fraction)
    place = cells_in(report.table, special.table)
    scores = {"suda": special.scores[place], "dis_suda": special.dis_scores[place]}
    return replace(report, per_cell={**report.per_cell, **scores}), special


def _with_joint_table(
    report: RiskReport, stages: Sequence[Stage], rows: Rows, released: Any, told: Receipt | None
) -> RiskReport:
    """The report with what the other randomized columns reveal, and units that are shown; of the drawn file, too."""
    others = others_randomized(stages, report.keys)
    if told is None:
        return report
    plan = told.plan.get("release", {})
    accept, unit = plan.get("accept", ()), plan.get("unit")
    needed = needed_columns(stages, (*report.keys, *others))
    shown = shown_unit(unit if unit in accept else None, stages, needed, others)
    named = next((stage.unit for stage in stages if stage.unit is not None), shown)
    if JOINT_TABLE in accept or not (others or shown):
        return with_joint_table(report, stages, JointTable(None, others, accepted=True, unit=shown))
    table, drawn, units = count_tables(rows, [needed])[0], None, None
    there = {*needed} if released is None else {*Rows.of(released).schema.names}
    visible = tuple(name for name in needed if name in there)
    if released is not None and {*report.keys, *others} <= there:
        drawn = count_tables(released, [visible])[0]
    if named is not None:
        members = read_units(rows, named, table)
        seen = None if drawn is None or shown is None else read_units(Rows.of(released), shown, drawn)
        units = SeenUnits(table, members, report.keys, visible, shown is not None, drawn, seen)
    return with_joint_table(report, stages, JointTable(table, others, visible, drawn, units=units, unit=shown))


def _with_units(
    report: RiskReport,
    stages: Sequence[Stage],
    unit: str | None,
    rows: Rows,
    released: Any,
    drawn: CellTable | None,
    also: Callable[[RiskReport], RiskReport],
) -> RiskReport:
    """The report with the risk of units, and for draws of whole units where a stage has these."""
    of_stage = next((stage.unit for stage in acting(stages, report.keys) if stage.unit is not None), None)
    if unit is not None and of_stage is not None and unit != of_stage:
        raise ParameterError(
            "unit-the-release-has-one-draw", unit=unit, of_stage=of_stage, option_name=option("unit", of_stage)
        )
    column = unit or of_stage
    if column is None:
        return also(report)
    shown = drawn is not None and column in Rows.of(released).schema.names
    both = shown and of_stage is not None
    units = DrawnUnits(
        report.table,
        read_units(rows, column, report.table),
        seen=unchanged_columns(stages, report.keys) if drawn is None else drawn.columns[len(report.keys) :],
        shown=shown,
        released=drawn,
        released_members=read_units(Rows.of(released), column, drawn) if drawn is not None and both else None,
    )
    seen_by, share = (column,) if shown else (), float(shown)
    return units_told(report, stages, units, seen_by=seen_by, seen_share=share, also=also)


def _prepared(rows: Rows, released: Any, told: Receipt) -> tuple[Rows, Any]:
    """The file as its release counted it, and the released file with the columns that rules ask."""
    plan = ReleasePlan.from_dict(told.plan)
    rows = prepared(rows, plan)[0]
    recoding = recoding_of(rows)
    if released is None or recoding is None:
        return rows, released
    drawn = Rows.of(released)
    there = {*drawn.schema.names}
    further = Recoding({}, {name: one for name, one in recoding.further.items() if one.column in there})
    return rows, recoded(drawn, further)


def _counted(
    rows: Rows,
    keys: Sequence[str],
    stages: Sequence[Stage],
    released: Any,
    weights: str | None,
    sensitive: Sequence[str],
    progress: Progress | None,
) -> tuple[list[CellTable], list[CellTable]]:
    """Counts of the file, and of the released file over the keys and the unchanged columns that it has.

    Behind them come those of the keys with each sensitive column.
    """
    further = [[*keys, name] for name in sensitive if name not in keys]
    if len(further) < len(sensitive):
        raise ParameterError("sensitive-names-a-key")
    first, second = (progress, None) if released is None else steps(progress, 2)
    known = count_tables(rows, [needed_columns(stages, keys), *further], weights=weights, progress=first)
    if released is None:
        return known, []
    drawn = Rows.of(released)
    there = {*drawn.schema.names}
    seen = [name for name in unchanged_columns(stages, keys) if name in there]
    return known, count_tables(drawn, [[*keys, *seen], *further], progress=second)
