"""``maskwell estimate --receipt``: tables of a released file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from maskwell.cli.options import split_list
from maskwell.cli.output import Progress, print_json, print_lines
from maskwell.cli.pictures import check_plot, plot_content, with_plot, write_plot
from maskwell.core.option_names import as_typed
from maskwell.core.phrases import Printed
from maskwell.errors import ParameterError

if TYPE_CHECKING:
    from maskwell.release.analysis.release_estimates import Analysis, ReleasedColumns
    from maskwell.release.analysis.table_routes import ReleasedSurvey
    from maskwell.reports.pictures.canvas import Picture
    from maskwell.reports.report import Report

Command = Callable[..., Any]
LEVEL = 0.95


def receipt_options(command: Command) -> Command:
    """Options about the receipt of a released file."""
    for option in reversed(
        [
            click.option("--receipt", metavar="R", help="receipt.json of a release, in place of designs."),
            click.option("--columns", metavar="COL,...", help="With --receipt: the columns of one table."),
            click.option(
                "--target",
                type=click.Choice(["population", "file"]),
                default="population",
                show_default=True,
                help="With --receipt: shares of the population, or of the original file itself.",
            ),
        ]
    ):
        command = option(command)
    return command


@dataclass(frozen=True)
class AskedOfRelease:
    """What is to be estimated from which released file."""

    file: str
    receipt: str
    columns: str | None
    by: str | None
    target: str
    missing: str | None
    level: float
    interval: str | None
    sampling: Mapping[str, Any]

    @property
    def options(self) -> dict[str, str | None]:
        """What was asked for, as options of the command; None for what was not."""
        return {
            "--columns": self.columns,
            "--by": self.by,
            "--weights": self.sampling["weights"],
            "--target": None if self.target == "population" else self.target,
            "--missing": self.missing,
            "--interval": self.interval,
            "--level": None if self.level == LEVEL else f"{Printed(self.level):g}",
        }

    @property
    def domains(self) -> list[str]:
        """The columns of --by."""
        return [] if self.by is None else split_list(self.by, "--by")


def check_options(receipt: str | None, columns: str | None, others: Mapping[str, Any]) -> None:
    """Raise where options of designs and of receipts are mixed."""
    if receipt is None and columns is not None:
        raise ParameterError("--columns without --receipt", hint="name the columns with --design, or give --receipt")
    given = [name for name, value in others.items() if value]
    if receipt is not None and given:
        raise ParameterError(
            f"--receipt and {given[0]}", hint="a receipt says how every column was randomized: leave the other out"
        )


def as_survey(asked: AskedOfRelease, method: str) -> ReleasedSurvey | None:
    """The table where a receipt holds designs for its columns, and the population is the target; None for others."""
    if asked.columns is None:
        return None
    from maskwell.release.analysis.table_routes import survey_of_release
    from maskwell.release.folder.receipt import load_receipt

    columns = _columns(asked.columns)
    with as_typed():
        return survey_of_release(
            asked.file,
            load_receipt(asked.receipt),
            columns,
            by=asked.domains,
            target=asked.target,
            missing=asked.missing,
            sampling=asked.sampling,
            method=method,
        )


def estimate_release(asked: AskedOfRelease, *, style: str, plot: str | None, force: bool, as_json: bool) -> None:
    """Estimate one table, or every randomized column on its own, and print it."""
    if plot is not None and asked.columns is None:
        raise ParameterError("--plot draws one table", hint="name its columns: --columns roof,region")
    check_plot(plot, force=force, inputs=[asked.file, asked.receipt])
    with Progress() as progress, as_typed():
        released = _estimated(asked, progress)
    tables, level, interval = released.tables, asked.level, asked.interval
    drawn = write_plot(plot, plot_content(plot, lambda: _picture(tables[0], asked)), force=force)
    if as_json:
        result = tables[0] if asked.columns else released
        print_json({**result.to_dict(level, interval), **drawn})
    elif style == "text":
        print_lines(with_plot(_report(released, asked), plot))
    else:
        print_lines(_published(released, asked, style))


def _estimated(asked: AskedOfRelease, progress: Progress) -> ReleasedColumns:
    from maskwell.release.analysis.release_estimates import ReleasedColumns, estimate_each_released, estimate_released
    from maskwell.release.analysis.table_routes import check_release_sampling
    from maskwell.release.folder.receipt import load_receipt

    receipt = load_receipt(asked.receipt)
    check_release_sampling(asked.sampling)
    options: dict[str, Any] = {"weights": asked.sampling["weights"], "target": asked.target, "missing": asked.missing}
    options |= {"by": asked.domains, "progress": progress}
    if not asked.columns:
        return estimate_each_released(asked.file, receipt, level=asked.level, interval=asked.interval, **options)
    table = estimate_released(asked.file, receipt, _columns(asked.columns), **options)
    table.estimate.intervals(asked.level, asked.interval)  # refused before anything is printed
    return ReleasedColumns((table,))


def _report(released: ReleasedColumns, asked: AskedOfRelease) -> Report:
    """What the tables say to people."""
    from maskwell.reports.report import GAP, Notes, Report
    from maskwell.reports.text.estimate_report import after_analysis, analysis_report

    reports = [
        analysis_report(table, asked.level, asked.interval, by=asked.by, domains=table.domains)
        for table in released.tables
    ]
    first = released.tables[0].route.groups
    pair = first[0].cells if first and not asked.columns else ()
    following = after_analysis(asked.file, asked.receipt, asked.options, pair if len(pair) > 1 else ())
    further = [block for report in reports[1:] for block in (GAP, *report.blocks)]
    body = [*reports[0].body, *further, Notes(released.not_estimated)]
    return Report(reports[0].headline, body, next_step=following)


def _picture(table: Analysis, asked: AskedOfRelease) -> Picture:
    """The estimates of the one table with their intervals."""
    from maskwell.plots import plot_learned

    return plot_learned(table.estimate, level=asked.level, interval=asked.interval)


def _published(released: ReleasedColumns, asked: AskedOfRelease, style: str) -> list[str]:
    """Lines of tables for a paper."""
    from maskwell.reports.text.estimate_report import analysis_table

    exact = style == "csv"
    made = [analysis_table(one, asked.level, asked.interval, exact=exact).lines(style) for one in released.tables]
    return [line for lines in made for line in (*lines, "")][:-1]


def _columns(text: str) -> list[str]:
    names = split_list(text, "--columns")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None or not all(names):
        raise ParameterError(f"--columns {text}: a column is empty or named twice", hint="name each column once")
    return names
