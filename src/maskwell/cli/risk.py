"""``maskwell risk``."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from maskwell.cli.options import FilePath, check_standard_output, example, json_option, show_values_option, split_list
from maskwell.cli.output import ANSWER_IS_NO, OK, Progress, print_json, print_lines
from maskwell.cli.pictures import check_plot, plot_content, plot_options, with_plot
from maskwell.errors import DataFileError, ParameterError
from maskwell.release.risk.intruders import INTRUDERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwell.core.cell_table import CellTable
    from maskwell.release.risk.file_risk import RiskReport
    from maskwell.release.stages.stage import Stage
    from maskwell.reports.picture import Picture


@click.command(
    epilog=example(
        "printf 'town,job\\nA,baker\\nA,clerk\\nA,clerk\\nB,clerk\\nB,clerk\\nB,smith\\n' > people.csv",
        "maskwell risk people.csv --keys town,job",
    )
)
@click.argument("file", type=FilePath())
@click.option("--keys", required=True, metavar="A,B,...", help="Columns that an intruder may know of a person.")
@click.option("--released", type=FilePath(), metavar="F2", help="The released file, counted as it came out.")
@click.option("--receipt", type=FilePath(), metavar="R", help="internal/receipt.json of the release: how it was made.")
@click.option("--weights", metavar="COL", help="Sampling weights: then the risk in the population is estimated, too.")
@click.option("--match", metavar="NU", help="A bound on the chance of a correct match; exit 1 if a record is above it.")
@click.option(
    "--intruder",
    type=click.Choice(INTRUDERS),
    help="Whom the chance is for; that of the receipt, or any-look, if left out.",
)
@click.option("--level", default="0.95", show_default=True, help="Probability of the range of released counts.")
@click.option("--contributions", is_flag=True, help="What each key, and each of its levels, adds to the risk.")
@click.option("--records", type=FilePath(), metavar="OUT", help="Where the risk of every record goes.")
@plot_options("the risk of records before and after a release")
@show_values_option
@json_option
def risk(file: str, keys: str, *, contributions: bool, records: str | None, as_json: bool, **options: Any) -> int:
    """Say how easily somebody who knows the keys of a person finds the person's record in FILE.

    With --receipt the same is said of the release: what is expected, and with --released what came out.
    """
    from maskwell.release.risk.contributions import level_contributions, variable_contributions
    from maskwell.reports.text_risk import risk_text

    check_standard_output(as_json=as_json, records=records)
    names = _names(keys)
    given = [path for path in (file, options["released"], options["receipt"]) if path is not None]
    _check_outputs(records, options, given)
    stages, rows, intruder = _stages(options["receipt"])
    table, released = _counted(file, names, stages, options)
    if rows is not None and table.n != rows:
        raise DataFileError(
            f"{file} has {table.n:,} records, the receipt tells of {rows:,}", hint="give the file that was released"
        )
    report = _report(table, names, stages, released, {**options, "intruder": options["intruder"] or intruder})
    added = variable_contributions(table, names, stages, level=report.level) if contributions else []
    levels = level_contributions(report) if contributions else []
    picture = plot_content(options["plot"], lambda: _picture(report))
    written = _write_outputs(records, picture, file, report, options, given)
    if as_json:
        content = report.to_dict() | _realised(report, released)
        if contributions:
            content["contributions"] = {
                "variables": [one.to_dict() for one in added],
                "levels": [one.to_dict() for one in levels],
            }
        print_json(content | written)
    else:
        lines = risk_text(report, file=file, released=released, names=options, added=added, levels=levels)
        print_lines(with_plot(lines, options["plot"]), err=records == "-")
    above = (report.before if report.after is None else report.after).records_above
    return ANSWER_IS_NO if above else OK


def _names(text: str) -> list[str]:
    names = split_list(text, "--keys")
    if not any(names):
        raise ParameterError(f"--keys {text!r} names no column", hint="name what an intruder knows: --keys town,job")
    if not all(names) or len({*names}) < len(names):
        raise ParameterError(f"--keys {text}: a column is empty or named twice", hint="name each column once")
    return names


def _check_outputs(records: str | None, options: dict[str, Any], inputs: Sequence[str]) -> None:
    from maskwell.core.atomic import check_output

    check_plot(options["plot"], force=options["force"], inputs=inputs)
    if options["plot"] is not None and options["receipt"] is None:
        raise ParameterError("--plot compares before and after", hint="add --receipt internal/receipt.json")
    if records is not None:
        check_output(records, force=options["force"], inputs=inputs)


def _stages(receipt: str | None) -> tuple[list[Stage], int | None, str]:
    """The stages of a receipt, the records of its file, and whom its limit is for."""
    from maskwell.release.folder.receipt import load_receipt, stages_of

    if receipt is None:
        return [], None, INTRUDERS[0]
    loaded = load_receipt(receipt)
    return stages_of(loaded), loaded.rows, loaded.intruder


def _counted(
    file: str, keys: list[str], stages: Sequence[Stage], options: dict[str, Any]
) -> tuple[CellTable, CellTable | None]:
    from maskwell.engines.cell_counting import count_tables
    from maskwell.engines.release_pass import file_columns
    from maskwell.release.risk.components import needed_columns
    from maskwell.release.risk.file_risk import unchanged_columns

    with Progress() as progress:
        wanted = needed_columns(stages, keys)
        (table,) = count_tables(file, [wanted], weights=options["weights"], progress=progress)
        if options["released"] is None:
            return table, None
        there = {column.name for column in file_columns(options["released"])}
        seen = [name for name in unchanged_columns(stages, keys) if name in there]
        return table, count_tables(options["released"], [[*keys, *seen]], progress=progress)[0]


def _report(
    table: CellTable, keys: list[str], stages: Sequence[Stage], released: CellTable | None, options: dict[str, Any]
) -> RiskReport:
    from maskwell.core.exact import as_fraction
    from maskwell.release.risk.file_risk import assess_risk

    match = None if options["match"] is None else as_fraction(options["match"], "--match")
    if match is not None and not 0 < match <= 1:
        raise ParameterError(f"--match {options['match']} is not above 0 and at most 1", hint="for instance 0.5")
    return assess_risk(
        table,
        keys,
        stages,
        released=released,
        threshold=None if match is None else float(match),
        level=float(as_fraction(options["level"], "--level")),
        weights=options["weights"] is not None,
        intruder=options["intruder"],
        seen=None if released is None else [name for name in released.columns if name not in keys],
    )


def _realised(report: RiskReport, released: CellTable | None) -> dict[str, Any]:
    """What a released file shows by itself, where no receipt tells how it was made."""
    if released is None or report.after is not None:
        return {}
    from maskwell.release.risk.file_risk import assess_risk
    from maskwell.reports.text_risk import NO_RECEIPT

    seen = assess_risk(released, report.keys).before
    unknown = dict.fromkeys(report.before.to_dict())
    known = {"records": seen.records, "cells": seen.cells, "k_anonymity": seen.k_anonymity, "uniques": seen.uniques}
    return {"after": unknown | known, "flags": [*report.flags, NO_RECEIPT]}


def _picture(report: RiskReport) -> Picture:
    from maskwell.reports.release_risk import plot_risk_report

    return plot_risk_report(report)


def _write_outputs(
    records: str | None,
    picture: bytes | None,
    file: str,
    report: RiskReport,
    options: dict[str, Any],
    inputs: Sequence[str],
) -> dict[str, str]:
    """Write what was asked for; the picture gets its name only when the records are written."""
    from maskwell.core.atomic import atomic_file
    from maskwell.engines.cell_values import write_cell_values

    force, written = options["force"], {}
    with ExitStack() as files:
        if picture is not None:
            plotted = files.enter_context(atomic_file(options["plot"], force=force, inputs=inputs))
            plotted.write(picture)
            plotted.flush()
            written["plot"] = options["plot"]
        if records is not None:
            write_cell_values(file, records, report.table, report.per_cell, force=force)
            written["records_file"] = records
    return written
